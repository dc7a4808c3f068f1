"""How a server ends: no new clients, all requests answered; a second signal ends it at once."""

import signal
import socket
import ssl
import time

import pytest

import certificates
from serving import TIMEOUT_S, Raw, Server, is_listening
from watching import Notified, wait_until

RULES = """
max_wait: 10m
rules:
  - { name: soon, resource: /soon, per: user, algorithm: leaky_bucket, capacity: 10, window: 10s }
  - { name: late, resource: /late, per: user, algorithm: leaky_bucket, capacity: 10, window: 50m }
"""
# The half a second of the default may pass before a test has asked once more.
PATIENT = "timeouts: { drain: 5s }\n" + RULES
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
    """Until the signal is known to have arrived: no client is let in any more."""
    server.process.send_signal(number)
    wait_until(lambda: refuses_connections(server.port), "the listeners to be closed")


def says_goodbye(answer):
    return answer.headers.get("connection", "").lower() == "close"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_connection_may_ask_once_more_and_is_then_closed(number):
    with Server(PATIENT) as server, server.raw() as asks, server.raw() as is_silent:
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


LARGE = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
PIPELINES = {  # and how many messages
    "a few": (HEALTH * 20, 20),
    "more than a buffer of them": (HEALTH * 1000, 1000),
    "long answers": (HEALTH + LARGE * 50 + HEALTH, 52),
    "whole ones that fill a buffer": (HEALTH.replace(b"x", b"x" * (65 - len(HEALTH))) * 1000, 1000),
    "of different lengths": (b"".join(HEALTH.replace(b"x", b"x" * (i % 97 + 1))
                                      for i in range(600)), 600),
}


def are_answered(raw, count):
    """All of them, a goodbye in the last one alone, and then an end that is no reset."""
    goodbyes = []
    for _ in range(count):
        answer = raw.response()
        assert answer.status == 200
        goodbyes.append(says_goodbye(answer))
    assert goodbyes == [False] * (count - 1) + [True]
    assert raw.socket.recv(1) == b""
    raw.socket.close()  # or the server would see to it for a while that it was heard


@pytest.mark.parametrize("what", PIPELINES)
def test_what_was_sent_before_is_answered_to_its_end(what):
    """An answer that is held keeps the server from it until after the signal."""
    data, count = PIPELINES[what]
    with Server(RULES) as server, server.raw() as raw:
        raw.send(wait(b"/soon") + data)
        assert raw.response().json["delay_us"] == 0
        signal_and_wait(server)
        held = raw.response()
        assert held.json["delay_us"] > 0
        assert not says_goodbye(held)
        are_answered(raw, count)
        assert server.wait() == 0


def test_a_last_pipeline_is_answered_to_its_end():
    with Server(PATIENT) as server, server.raw() as raw, server.raw() as other:
        for idle in (raw, other):
            idle.send(HEALTH)
            assert idle.response().status == 200
        signal_and_wait(server)
        raw.send(HEALTH * 3)
        other.send(HEALTH + LARGE + HEALTH)
        are_answered(raw, 3)
        are_answered(other, 3)
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
    """The answer is due in minutes; the server does not wait for it."""
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


def test_a_reload_is_nothing_to_a_server_that_ends(tmp_path, monkeypatch):
    """systemd would take it for one that has started again."""
    notified = Notified(str(tmp_path / "notify"))
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    rules = RULES.replace("window: 10s", "window: 20s")  # the held answer is due in two seconds
    with Server(rules) as server, server.raw() as raw:
        assert notified.next() == {"READY": "1"}
        raw.send(wait(b"/soon"))
        assert raw.response().json["delay_us"] == 0
        server.process.send_signal(signal.SIGTERM)
        assert notified.next() == {"STOPPING": "1"}
        server.write_rules(rules.replace("name: late", "name: later"))
        server.process.send_signal(signal.SIGHUP)
        assert raw.response().json["delay_us"] > 0
        assert server.wait() == 0
        notified.socket.setblocking(False)
        with pytest.raises(BlockingIOError):
            notified.next()
        assert server.stderr == ""
    notified.socket.close()


def bind_as(path, inode):
    """A socket there whose file has this number; None where numbers are not given again."""
    for _ in range(100):
        bound = socket.socket(socket.AF_UNIX)
        bound.bind(str(path))
        if path.stat().st_ino == inode:
            return bound
        path.unlink()
        bound.close()
    return None


def test_the_socket_of_a_successor_is_left_to_it(tmp_path):
    """The old one still has an answer to give, and a new one listens in its place: on a file
    that looks the same, since it has the number of the one that is gone."""
    path, pair = tmp_path / "here.sock", certificates.self_signed(tmp_path)
    context = ssl.create_default_context(cafile=pair.certificate)
    with Server(f"tls: {pair.listed}\n{RULES}", folder=tmp_path,
                listen={"http": "unix:here.sock", "https": "127.0.0.1:0"}) as server, \
            Raw(context.wrap_socket(socket.create_connection(("127.0.0.1", server.port), TIMEOUT_S),
                                    server_hostname="127.0.0.1")) as raw:
        raw.send(wait(b"/soon"))
        assert raw.response().json["delay_us"] == 0
        inode = path.stat().st_ino
        server.process.send_signal(signal.SIGTERM)
        wait_until(lambda: not is_listening(path), "the listener to be closed")
        path.unlink(missing_ok=True)
        if (successor := bind_as(path, inode)) is None:
            pytest.skip("this file system does not give a number again")
        with successor:
            assert raw.response().json["delay_us"] > 0
            assert server.wait() == 0
            assert path.exists()


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
