"""Clients that are many, slow, greedy or rude; and that all others are served meanwhile."""

import json
import re
import resource
import select
import socket
import struct
import subprocess
import sys
import time
from contextlib import ExitStack

import pytest

from program import SUPPORT
from serving import TIMEOUT_S, Raw, Server, connect_unix
from watching import is_sanitized, open_files, resident_bytes, wait_until

RULES = """
rules:
  - { name: api, resource: /api/*, per: user, algorithm: fixed_window, limit: 1000000000/365d }
  - { name: queue, resource: /queue, per: user, algorithm: leaky_bucket, capacity: 100,
      window: 100s }
  - { name: lane, resource: /lane, per: user, algorithm: leaky_bucket, capacity: 200, window: 2s }
"""
SOON = "timeouts: { head: 1s, body: 1s, idle: 1s, write: 1s }\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
BODY = b'{"user": "u", "resource": "/api/a"}'
CHECK = (b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
         b"Content-Length: %d\r\n\r\n%s" % (len(BODY), BODY))
WAIT = b'{"user": "w", "resource": "/queue", "wait": true}'
HELD = b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(WAIT), WAIT)
SHORTLY = HELD.replace(b"/queue", b"/lane ").replace(b' ", "wait"', b'", "wait" ')
LARGE = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"  # a small question, a long answer


def serves(server, times=20):
    """Others are: on connections of their own and on one that stays."""
    connection = server.connection()
    for _ in range(times):
        assert server.check({"user": "other", "resource": "/api/a"}, connection).status == 200
    assert server.ask("GET", "/healthz").status == 200
    connection.close()
    return True


def problem(answer, status):
    assert answer.status == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json["status"] == status
    assert answer.json["detail"]
    return answer


# ---- many -------------------------------------------------------------------------------


IDLE = 10_000
SPARE = 100  # files that client and server need besides


class Idle:
    """Idle connections of another process."""

    def __init__(self, server, count, kind):
        self.process = subprocess.Popen(
            [sys.executable, SUPPORT / "idle_client.py", str(server.port),
             str(count), kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self):
        assert self.process.stdout.readline() == b"open\n"
        return self

    def still_open(self):
        self.process.stdin.write(b"?\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def __exit__(self, *_):
        self.process.communicate(timeout=TIMEOUT_S)


@pytest.mark.parametrize("kind", ["fresh", "used"])
def test_ten_thousand_idle_connections_are_no_burden(kind, record_property):
    """Each took about half a KiB when this was written."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    count = min(IDLE, hard - SPARE)
    with Server(f"max_connections: {IDLE + SPARE}\ntimeouts: {{ idle: 10m }}\n{RULES}") as server:
        serves(server)
        before = resident_bytes(server.pid)
        with Idle(server, count, kind) as idle:
            serves(server)
            assert idle.still_open() == count
            each = (resident_bytes(server.pid) - before) / count
            record_property("bytes_per_idle_connection", round(each))
            print(f"{count} {kind} connections: {each:.0f} bytes each")
            if not is_sanitized():
                assert each < 2048
        wait_until(lambda: open_files(server.pid) < count, "the connections to be closed")
        serves(server)
    if count < IDLE:
        pytest.skip(f"only {count} connections: the hard limit of open files is {hard}")


def test_a_connection_too_many_is_told_and_there_is_room_again_later():
    with Server(f"max_connections: 3\n{RULES}") as server:
        held = [server.raw() for _ in range(3)]
        for raw in held:
            raw.send(HEALTH)
            assert raw.response().status == 200
        for data in (HEALTH, CHECK, b""):  # it asks at once, or it does not
            with server.raw() as refused:
                refused.send(data)
                answer = problem(refused.response(), 503)
                assert answer.headers["connection"].lower() == "close"
                assert "max_connections" in answer.json["detail"]
                refused.ended()
        for raw in held:
            raw.send(HEALTH)
            assert raw.response().status == 200
        held.pop().socket.close()

        def is_let_in():
            with server.raw() as raw:
                raw.send(HEALTH)
                return raw.response().status == 200

        wait_until(is_let_in, "room for one more")
        for raw in held:
            raw.socket.close()


@pytest.mark.parametrize("kind", ["tcp", "unix"])
def test_a_client_that_is_refused_may_finish_its_request_and_then_hears_it(tmp_path, kind):
    """Most clients write a request whole before they listen: an error there, and the answer
    would never be read."""
    listen = {"http": "127.0.0.1:0" if kind == "tcp" else "unix:here.sock"}
    with Server(f"max_connections: 1\n{RULES}", folder=tmp_path, listen=listen) as server:
        def connect():
            return server.raw() if kind == "tcp" else connect_unix(tmp_path / "here.sock")

        with connect() as held:
            held.send(HEALTH)
            assert held.response().status == 200
            for _ in range(20):
                with connect() as refused:
                    assert select.select([refused.socket], [], [], TIMEOUT_S)[0]
                    for at in range(0, len(CHECK), 20):
                        refused.socket.sendall(CHECK[at:at + 20])
                    answer = problem(refused.response(), 503)
                    assert "max_connections" in answer.json["detail"]
                    assert refused.socket.recv(1) == b""  # and no reset
            for _ in range(20 if kind == "tcp" else 0):  # head and body apart, as they come
                assert server.check({"user": "u"}).status == 503


def test_a_client_that_is_refused_is_not_counted_as_accepted():
    with Server(f"max_connections: 2\n{RULES}") as server, server.raw() as first, \
            server.raw() as second:
        for raw in (first, second):
            raw.send(HEALTH)
            assert raw.response().status == 200
        for _ in range(5):
            with server.raw() as refused:
                assert refused.response().status == 503
        first.send(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        told = re.findall(r"^sluice_connections_(accepted|refused)_total (\d+)$",
                          first.response().body.decode(), re.M)
        assert dict(told) == {"accepted": "2", "refused": "5"}


def test_rude_ends_give_their_room_back():
    with Server(f"max_connections: 5\n{RULES}") as server:
        for i in range(50):
            wait_until(lambda: is_taken(server, [CHECK, CHECK[:20], HELD, b""][i % 4]),
                       "room after a reset")
        wait_until(lambda: all(is_taken(server, HEALTH) for _ in range(5)), "room for five")


def is_taken(server, data):
    """Sends this, sees whether it was refused, and resets the connection."""
    with server.raw() as raw:
        raw.send(data)
        raw.socket.settimeout(0.05)
        try:
            return not raw.socket.recv(100).startswith(b"HTTP/1.1 503")
        except TimeoutError:
            return True
        finally:
            reset(raw)


# ---- slow -------------------------------------------------------------------------------


SLOW = {
    "nothing of the target": b"GET /hea",
    "half a field": b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Sl",
    "all but the last byte": HEALTH[:-1],
    "half a body": CHECK[:-5],
    "no body": CHECK[:-len(BODY)],
    "half a chunk": b"POST /v1/check HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                    b"20\r\n{\"user\"",
    "no last chunk": b"POST /v1/check HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                     b"2\r\n{}\r\n",
    "a body to ignore": b"GET /v1/authorize HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabc",
}


@pytest.mark.parametrize("what", SLOW)
def test_a_slow_message_is_told_and_closed(what):
    with Server(SOON + RULES) as server, server.raw() as slow, server.raw() as behind:
        slow.send(SLOW[what])
        behind.send(HEALTH + SLOW[what])  # behind one that was in time
        assert behind.response().status == 200
        serves(server)
        for raw in (slow, behind):
            answer = problem(raw.response(), 408)
            assert answer.headers["connection"].lower() == "close"
            raw.ended()


def test_a_trickle_does_not_buy_time():
    with Server(SOON + RULES) as server, server.raw() as raw:
        raw.send(b"GET /healthz HTTP/1.1\r\nX-Slow: ")
        raw.socket.settimeout(0.05)
        end = time.monotonic() + TIMEOUT_S
        while time.monotonic() < end:
            if not raw.send(b"a"):
                break
            try:
                raw.unread = raw.socket.recv(65536)
                break
            except TimeoutError:
                pass
        raw.socket.settimeout(TIMEOUT_S)
        problem(raw.response(), 408)


def test_idle_connections_are_closed_without_a_word():
    with Server(SOON + RULES) as server, server.raw() as fresh, server.raw() as used:
        used.send(HEALTH + CHECK)
        assert [used.response().status for _ in range(2)] == [200, 200]
        used.ended()
        fresh.ended()
        serves(server)


def test_an_answer_that_is_held_is_not_idle():
    """Its turn comes in a second; all time-outs are shorter."""
    with Server(SOON.replace("1s", "600ms") + RULES) as server, server.raw() as raw:
        raw.send(HELD + HELD)
        assert [raw.response().json["delay_us"] > 0 for _ in range(2)] == [False, True]


# ---- greedy -----------------------------------------------------------------------------


def stuff(raw, data, most_bytes, stall_s=0.5):
    """Sends without reading until nothing is taken any more; how much was, or None if it was
    cut off before."""
    sent = 0
    raw.socket.setblocking(False)
    while sent < most_bytes:
        if not select.select([], [raw.socket], [], stall_s)[1]:
            break
        try:
            sent += raw.socket.send(data)
        except BlockingIOError:
            pass
        except ConnectionError:
            return None
    raw.socket.settimeout(TIMEOUT_S)
    return sent


def small_window(server):
    """A connection whose own buffers take little."""
    connected = socket.socket()
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connected.settimeout(TIMEOUT_S)
    connected.connect(("127.0.0.1", server.port))
    return Raw(connected)


def is_cut(raw):
    poll = select.poll()
    poll.register(raw.socket, select.POLLERR | select.POLLHUP)
    return bool(poll.poll(0))


@pytest.mark.parametrize("ask", [LARGE, CHECK], ids=["long answers", "short answers"])
def test_a_client_that_does_not_read_is_cut_off(ask):
    with Server(SOON + RULES) as server, small_window(server) as greedy:
        def is_over():
            stuff(greedy, ask * 100, 1 << 20, stall_s=0.05)
            return is_cut(greedy)

        wait_until(is_over, "the end of a client that asks and does not read")
        serves(server)


def test_a_client_that_stops_asking_and_does_not_read_is_cut_off_too():
    """All it asked has been read, so only a reset reaches it: its own window is full."""
    with Server(SOON + RULES) as server, small_window(server) as silent:
        silent.send(LARGE * 200)
        wait_until(lambda: is_cut(silent), "the end of a client that does not read")
        serves(server)


@pytest.mark.parametrize("ask", [LARGE, CHECK], ids=["long answers", "short answers"])
def test_a_pipeline_without_end_takes_bounded_memory(ask, record_property):
    """Half a GiB of answers, if they were all made; what is let pass is 1 MiB a connection."""
    clients = 8
    with Server(f"timeouts: {{ write: 10m }}\n{RULES}") as server, ExitStack() as greedy:
        serves(server)
        before = resident_bytes(server.pid)
        taken = [stuff(greedy.enter_context(small_window(server)), ask * 100, 256 << 20,
                       stall_s=0.2) for _ in range(clients)]
        assert None not in taken, "cut off, long before its time"
        assert max(taken) < 256 << 20, "it took all of it"
        serves(server)
        each = (resident_bytes(server.pid) - before) // clients
        record_property("bytes_per_greedy_connection", each)
        print(f"{each >> 10} KiB a connection, which had sent {max(taken) >> 10} KiB")
        if not is_sanitized():
            assert each < 1 << 20
        greedy.close()
        serves(server)


def test_a_client_that_reads_late_gets_every_answer():
    count = 1000
    with Server(RULES) as server, small_window(server) as raw:
        raw.send(LARGE * count)  # small enough to lie in buffers until we read
        bodies = {raw.response().body for _ in range(count)}
        assert len(bodies) == 1
        assert json.loads(bodies.pop())["openapi"]


# ---- rude -------------------------------------------------------------------------------


def reset(raw):
    """Ends a connection with RST."""
    raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raw.socket.close()


MIDDLE = {
    "nothing": b"",
    "half a head": HEALTH[:20],
    "half a body": CHECK[:-5],
    "a request": CHECK,
    "a pipeline": CHECK * 100,
    "a long answer": LARGE * 20,
    "an answer held for long": HELD * 3,
    "an answer held for a moment": SHORTLY * 3,
    "an expectation": CHECK.replace(b"\r\n\r\n" + BODY, b"\r\nExpect: 100-continue\r\n\r\n"),
    "nonsense": b"\0\1\2\r\n\r\n",
}


ANSWERED = ("a request", "a pipeline", "a long answer", "an expectation", "nonsense")
# A client that closes may only have sent all it has, and still wait for an answer.
ENDS = [(what, end) for what in MIDDLE for end in ("reset", "close")
        if (what, end) != ("an answer held for long", "close")]


@pytest.mark.parametrize("what, end", ENDS)
def test_connections_end_in_the_middle_of_anything(what, end):
    with Server(RULES) as server:
        serves(server)
        before = open_files(server.pid)
        for i in range(40):
            raw = server.raw()
            raw.send(MIDDLE[what])
            if i % 2 and what in ANSWERED:
                assert raw.socket.recv(10)  # after the first bytes of an answer
            if end == "reset":
                reset(raw)
            else:
                raw.socket.close()
        serves(server)
        wait_until(lambda: open_files(server.pid) <= before, "its files to be closed")


@pytest.mark.parametrize("data, count", [(CHECK, 1), (CHECK * 50, 50), (LARGE * 20, 20),
                                         (HELD * 2, 2), (HEALTH + CHECK + LARGE, 3)])
def test_a_client_that_ends_its_side_and_waits_gets_its_answers(data, count):
    with Server(RULES) as server, server.raw() as raw:
        raw.send(data)
        raw.finish()
        for _ in range(count):
            assert raw.response().status == 200
        raw.ended()


@pytest.mark.parametrize("what", ["half a head", "half a body", "nothing"])
def test_a_client_that_ends_in_the_middle_of_a_message_is_let_go(what):
    with Server(RULES) as server, server.raw() as raw:
        raw.send(HEALTH + MIDDLE[what])
        raw.finish()
        assert raw.response().status == 200
        while raw.socket.recv(65536):  # a complaint, if any; then the end
            pass
        assert serves(server)
