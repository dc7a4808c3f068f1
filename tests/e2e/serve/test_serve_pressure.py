"""A server that is short of something: clients that do not read, memory, files, a turn.

Its send buffers are made as small as they can be (small_buffers.c), and clients come by a
Unix socket, whose other end has none at all: what they do not read stays with the server.
"""

import json
import os
import select
import socket
import subprocess
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from messages import is_served, post
from program import SLUICE
from serving import TIMEOUT_S, Server, connect_unix
from watching import is_sanitized, resident_bytes, wait_until

# One worker: its answer to one proves that it has looked at what others sent before.
RULES = """
workers: 1
rules:
  - { name: api, resource: /api/*, per: user, algorithm: fixed_window, limit: 1000000000/365d }
"""
LARGE = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
SOON = "timeouts: { head: 1s, body: 1s, idle: 1s, write: 1s }\n"
MIB = 1 << 20


@pytest.fixture(name="shim", scope="module")
def compiled_shim(tmp_path_factory):
    shim = tmp_path_factory.mktemp("shim") / "small_buffers.so"
    source = Path(__file__).parent / "small_buffers.c"
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-o", shim,
                    source, "-ldl"], check=True)
    return shim


@pytest.fixture(name="serve")
def server_with_small_buffers(shim, tmp_path, monkeypatch):
    """Starts it with these rules."""
    options = os.environ.get("ASAN_OPTIONS", "")

    def start(rules):
        with monkeypatch.context() as patch:
            patch.setenv("LD_PRELOAD", str(shim))
            patch.setenv("ASAN_OPTIONS", f"{options}:verify_asan_link_order=0:quarantine_size_mb=1")
            return Server(rules, folder=tmp_path, listen={"http": "unix:here.sock"})

    return start


def connect(server):
    return connect_unix(server.folder / "here.sock")


def is_cut(raw):
    poll = select.poll()
    poll.register(raw.socket, select.POLLHUP)
    return bool(poll.poll(0))


def test_the_buffers_are_small(serve):
    """Or all that follows would mean little: of an answer this long nearly all is still with
    the server, and goes with it."""
    with serve(SOON + RULES) as server, connect(server) as raw, connect(server) as whole:
        raw.send(LARGE)
        whole.send(LARGE)
        length = len(whole.response().body)
        assert length > 32 << 10
        wait_until(lambda: is_cut(raw), "the end of a client that does not read")
        came = 0
        while more := raw.socket.recv(65536):
            came += len(more)
        assert 0 < came < length // 2


# ---- clients that do not read -----------------------------------------------------------


def test_a_client_that_never_catches_up_gets_all_its_answers(serve):
    """More than a connection's answers may take at a time, without a moment in which nothing
    is left to be sent: requests lie ready all the time, and the reader is the slower one."""
    wanted, got = 40 * MIB, 0
    with serve(RULES) as server, connect(server) as raw:
        is_enough = threading.Event()

        def feed():
            while not is_enough.is_set() and raw.send(LARGE * 100):
                pass

        feeder = threading.Thread(target=feed)
        feeder.start()
        try:
            while got < wanted:
                answer = raw.response()
                assert answer.status == 200
                got += len(answer.body)
        finally:
            is_enough.set()
            raw.socket.shutdown(socket.SHUT_RDWR)  # it may be in the middle of sending
            feeder.join()


TRICKLES = {
    "a head": (b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ", b"a"),
    "a body": (b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n", b" "),
    "chunks": (b"POST /v1/check HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
               b"1\r\n \r\n"),
}


@pytest.mark.parametrize("what", TRICKLES)
def test_a_trickle_buys_no_time_for_reading(serve, what):
    """Less is unread than would keep the server from reading: it sees every byte that comes."""
    start, more = TRICKLES[what]
    with serve(SOON + RULES) as server, connect(server) as raw:
        raw.send(LARGE + start)
        wait_until(lambda: not raw.send(more), "the end of a client that does not read")
        with connect(server) as other:
            is_served(other)


@pytest.mark.parametrize("what", TRICKLES)
def test_a_client_that_has_read_has_no_longer_for_a_message(serve, what):
    """It began while an answer was unread; the time between messages is none of its own."""
    start, _ = TRICKLES[what]
    with serve(SOON.replace("idle: 1s", "idle: 10m") + RULES) as server, \
            connect(server) as raw:
        raw.send(LARGE + start)
        assert raw.response().status == 200
        assert raw.response().status == 408
        raw.ended()


def test_unread_answers_are_bounded_over_all_connections(serve, record_property):
    """A small question each, and 4 MiB to say to it: 160 MiB, if all were kept. What is let
    pass is half as much again as the bound, 64 MiB."""
    clients = 40
    rules = "workers: 1\ntimeouts: { head: 10m, write: 10m }\nrules:\n" + "".join(
        f"  - {{ name: rule-{i:02}, per: user, limit: {1_000_000 + i}/1m }}\n" for i in range(20))
    ask = post(json.dumps([{"user": "u", "explain": True}] * 1000).encode())
    with serve(rules) as server, ExitStack() as greedy, connect(server) as other:
        is_served(other)
        before = resident_bytes(server.pid)
        held = [greedy.enter_context(connect(server)) for _ in range(clients)]
        for raw in held:
            raw.send(ask)
            assert raw.socket.recv(1) == b"H"  # so its answer was made
        is_served(other)
        grown = resident_bytes(server.pid) - before
        cut = sum(map(is_cut, held))
        record_property("resident_bytes_for_unread_answers", grown)
        print(f"{grown >> 20} MiB more, {cut} of {clients} cut off")
        assert 0 < cut < clients
        if not is_sanitized():
            assert grown < 96 * MIB
        greedy.close()
        with connect(server) as raw:  # there is room again
            raw.send(ask)
            assert len(raw.response().json) == 1000
        is_served(other)


# ---- clients that do not send -----------------------------------------------------------


def test_bodies_that_are_only_announced_take_no_memory_from_others():
    """Twice as many bytes as all bodies of a worker may take, in long ones; and then in as
    many more that would fit into any gap."""
    body = json.dumps({"user": "u", "more": "x" * 100_000}).encode()
    with Server(RULES) as server, ExitStack() as silent, server.raw() as other:
        announced = []
        for length in [1 << 20] * 128 + [len(body)] * 20:
            announced.append(silent.enter_context(server.raw()))
            announced[-1].send(post(b"", b"Content-Length: %d" % length, length=False))
        is_served(other)
        other.send(post(body))
        answer = other.response()
        assert (answer.status, answer.json["allowed"]) == (200, True)
        answered = select.select([raw.socket for raw in announced], [], [], 0)[0]
        assert answered == [], "refused, before it has sent anything"
        announced[0].send(b"{}".ljust(1 << 20))
        assert announced[0].response().status == 200


# ---- files ------------------------------------------------------------------------------


@pytest.mark.parametrize("files", range(8, 41))
def test_too_few_files_to_start_with_are_said(tmp_path, files):
    """Whatever it is that cannot be opened any more: a listener's socket, a worker's loop."""
    rules = tmp_path / "rules.yaml"
    rules.write_text('listen: { http: "unix:here.sock" }\n'
                     + RULES.replace("workers: 1", "workers: 16"), encoding="utf-8")
    done = subprocess.run(["sh", "-c", 'ulimit -n "$0" && exec "$@"', str(files), SLUICE, "serve",
                           "-c", rules], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=TIMEOUT_S, check=False)
    said = done.stderr.decode()
    assert done.returncode == 2, said
    assert said.startswith("sluice: ")
    assert "listening on" not in done.stdout.decode()
    assert not (tmp_path / "here.sock").exists()
