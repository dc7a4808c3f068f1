"""How a server ends: nobody new, everybody answered, and a second signal for the impatient."""

import signal
import socket
import time

import pytest

from serving import TIMEOUT_S, Server
from watching import wait_until

RULES = """
max_wait: 10m
rules:
  - { name: soon, resource: /soon, per: user, algorithm: leaky_bucket, capacity: 10, window: 10s }
  - { name: late, resource: /late, per: user, algorithm: leaky_bucket, capacity: 10, window: 50m }
"""
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


def post(body):
    return b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def wait(resource):
    """A request whose turn comes at once, and one whose does not."""
    return post(b'{"user": "u", "resource": "%s", "wait": true}' % resource) * 2


def refuses_connections(port):
    try:
        socket.create_connection(("127.0.0.1", port), TIMEOUT_S).close()
        return False
    except ConnectionError:
        return True


def signal_and_wait(server, number=signal.SIGTERM):
    """Until the signal is known to have arrived: nobody is let in any more."""
    server.process.send_signal(number)
    wait_until(lambda: refuses_connections(server.port), "the listeners to be closed")


def says_goodbye(answer):
    return answer.headers.get("connection", "").lower() == "close"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_connection_may_ask_once_more_and_is_then_closed(number):
    with Server(RULES) as server, server.raw() as asks, server.raw() as is_silent:
        for raw in (asks, is_silent):
            raw.send(HEALTH)
            answer = raw.response()
            assert answer.status == 200
            assert not says_goodbye(answer)
        signal_and_wait(server, number)
        asks.send(HEALTH)
        answer = asks.response()
        assert answer.status == 200
        assert says_goodbye(answer)
        asks.ended()
        is_silent.ended()
        assert server.wait() == 0


def test_a_pipeline_that_was_read_is_answered_to_its_end():
    with Server(RULES) as server, server.raw() as raw:
        raw.send(wait(b"/soon") + HEALTH * 20)  # the second holds back all behind it
        assert raw.response().json["delay_us"] == 0
        signal_and_wait(server)
        held = raw.response()
        assert held.json["delay_us"] > 0
        if says_goodbye(held):  # what stands behind a goodbye was not taken
            raw.ended()
        else:
            answers = [raw.response() for _ in range(20)]
            assert [answer.status for answer in answers] == [200] * 20
            assert says_goodbye(answers[-1])
        assert server.wait() == 0


def test_a_held_answer_is_given_when_it_is_due():
    with Server(RULES) as server, server.raw() as raw:
        start = time.monotonic()
        raw.send(wait(b"/soon"))
        assert raw.response().json["delay_us"] == 0
        signal_and_wait(server)
        held = raw.response()
        assert held.status == 200
        assert 0 < held.json["delay_us"] <= (time.monotonic() - start) * 1e6  # not early
        raw.ended()
        assert server.wait() == 0


def test_a_second_signal_ends_it_at_once():
    """The answer is due in minutes; nobody waits for it."""
    with Server(RULES) as server, server.raw() as raw:
        raw.send(wait(b"/late"))
        assert raw.response().json["delay_us"] == 0
        signal_and_wait(server)
        assert server.process.poll() is None
        server.process.send_signal(signal.SIGTERM)
        server.wait()  # in less time than it would be held
        raw.ended()


def test_half_a_request_does_not_keep_it():
    with Server(RULES) as server, server.raw() as head, server.raw() as body:
        head.send(HEALTH[:20])
        body.send(post(b'{"user": "u"}')[:-5])
        assert server.ask("GET", "/healthz").status == 200
        signal_and_wait(server)
        assert server.wait() == 0
        for raw in (head, body):
            while raw.socket.recv(65536):  # a complaint, if any
                pass


def test_nothing_is_printed_about_a_good_end():
    with Server(RULES) as server:
        server.ask("GET", "/healthz")
        assert server.stop() == 0
        assert server.stderr == ""


def test_counts_of_a_table_outlive_it(tmp_path):
    rules = ('store: "memory:limits.slu?size=1M"\nrules:\n'
             "  - { name: a, per: user, algorithm: fixed_window, limit: 5/365d }\n")
    for remaining in (4, 3, 2):
        with Server(rules, folder=tmp_path) as server:
            assert server.check({"user": "u"}).json["remaining"] == remaining
