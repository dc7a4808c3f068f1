"""In the steady state a request costs no allocation, and a million cost no memory.

count_allocations.c is preloaded into the server and counts; the test looks
before and after. The difference must be nothing at all, so there is one worker
and no other client asks. Those that are denied name no user: a user's violation is
written down, once a minute, by the main thread.
"""

import base64
import hashlib
import hmac
import mmap
import os
import struct
import subprocess
import time
from pathlib import Path

import pytest

from redis_running import Redis
from resp_talking import BOTH, command, talk
from serving import Server
from watching import forget_soon, is_sanitized, resident_bytes

RULES = """
workers: 1
identity:
  headers: { user: X-User, client: X-Client }
  jwt: { algorithms: [HS256], keys: [{ secret_file: secret }] }
rules:
  - { name: all, per: global, algorithm: fixed_window, limit: 1000000000/365d }
  - { name: few, resource: /few, per: client, algorithm: token_bucket, capacity: 3,
      refill_rate: 0.001 }
  - { name: api, resource: /api/*, per: user, algorithm: sliding_window_counter,
      limit: 1000000/1h }
"""


def post(body):
    return (b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (len(body), body))


def get(fields):
    return b"GET /v1/authorize HTTP/1.1\r\nHost: x\r\n" + fields + b"\r\n"


SECRET = b"a secret of thirty-two bytes: 32"


def token():
    """One that is verified once, and found in the cache from then on."""
    parts = [base64.urlsafe_b64encode(part).rstrip(b"=")
             for part in (b'{"alg":"HS256"}', b'{"sub":"u5"}')]
    digest = hmac.new(SECRET, b".".join(parts), hashlib.sha256).digest()
    return b".".join([*parts, base64.urlsafe_b64encode(digest).rstrip(b"=")])


ASK = {
    "check": post(b'{"user": "u1", "resource": "/api/videos", "ip": "192.0.2.1", "more": 1}'),
    "check, explained": post(b'{"user": "u1", "resource": "/api/videos", "explain": true}'),
    "check, denied": post(b'{"client": "c2", "resource": "/few"}'),
    "authorize": get(b"X-Forwarded-Method: GET\r\nX-Forwarded-Uri: /api/videos?page=2\r\n"
                     b"X-Forwarded-For: 192.0.2.1\r\nX-User: u3\r\n"),
    "authorize, denied": get(b"X-Original-URI: /few\r\nX-Client: c4\r\n"),
    "authorize, token": get(b"X-Original-URI: /api/a\r\nAuthorization: Bearer %s\r\n" % token()),
    "authorize, key": get(b"X-Original-URI: /api/a\r\nX-API-Key: none that we know\r\n"),
}
COMMANDS = {
    "throttle": command("CL.THROTTLE", "k1", 1000000, 1, 1),
    "throttle, denied": command("CL.THROTTLE", "k2", 0, 1, 7776000),
    "check": command("SLUICE.CHECK", "user", "u1", "resource", "/api/videos", "more", 1),
    "check, explained": command("SLUICE.CHECK", "user", "u1", "explain", 1),
    "check, by a line": b"sluice.check user u1 resource \"/api/videos\"\r\n",
    "echo": command("ECHO", "hello"),
    "info": command("INFO"),
    "unknown": command("GET", "a"),
}
REQUESTS = 5000
WARM = 500


class Counted:
    """The counts that the preloaded functions keep: of the threads that answer, or of all. The main
    thread sums up figures once a second, whatever is asked."""

    def __init__(self, path):
        path.write_bytes(bytes(32))
        with open(path, "r+b") as file:
            self.shared = mmap.mmap(file.fileno(), 32)

    def __call__(self):
        return struct.unpack("QQQQ", self.shared[:])[:2]

    def all(self):
        return sum(struct.unpack("QQQQ", self.shared[:]))


@pytest.fixture(name="shim", scope="module")
def compiled_shim(tmp_path_factory):
    if is_sanitized():
        pytest.skip("AddressSanitizer has its own malloc, which cannot be stood before")
    shim = tmp_path_factory.mktemp("shim") / "count.so"
    source = Path(__file__).parent / "count_allocations.c"
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-o", shim,
                    source], check=True)
    return shim


@pytest.fixture(name="counted")
def counted_server(shim, tmp_path, monkeypatch):
    counts = Counted(tmp_path / "counts")
    monkeypatch.setenv("LD_PRELOAD", str(shim))
    monkeypatch.setenv("SLUICE_ALLOCATIONS", str(tmp_path / "counts"))
    (tmp_path / "secret").write_bytes(SECRET)
    with Server(RULES, listen=BOTH, folder=tmp_path) as server:
        monkeypatch.delenv("LD_PRELOAD")
        assert counts.all() > 0, "nothing is counted"
        yield server, counts


def ask(raw, data, times, pipelined):
    """So many requests, so many of them at a time; the statuses that came."""
    statuses = set()
    for _ in range(times // pipelined):
        raw.send(data * pipelined)
        for _ in range(pipelined):
            statuses.add(raw.response().status)
    return statuses


@pytest.mark.parametrize("pipelined", [1, 16])
@pytest.mark.parametrize("what", ASK)
def test_a_request_allocates_nothing(counted, what, pipelined):
    server, counts = counted
    with server.raw() as raw:
        ask(raw, ASK[what], WARM * pipelined, pipelined)
        before = counts()
        statuses = ask(raw, ASK[what], REQUESTS, pipelined)
        after = counts()
    assert statuses == ({429} if "denied" in what else {200})
    assert after == before, f"{REQUESTS} requests: {[b - a for a, b in zip(before, after)]}"


@pytest.mark.parametrize("pipelined", [1, 16])
@pytest.mark.parametrize("what", ["check, denied", "authorize, denied"])
def test_what_is_denied_from_memory_allocates_nothing(shim, tmp_path, monkeypatch, what, pipelined):
    """But for a call of Redis a second, and what guards are told of."""
    counts = Counted(tmp_path / "counts")
    (tmp_path / "secret").write_bytes(SECRET)
    with Redis() as redis:
        monkeypatch.setenv("LD_PRELOAD", str(shim))
        monkeypatch.setenv("SLUICE_ALLOCATIONS", str(tmp_path / "counts"))
        rules = f"store: {redis.url()}\nstore_deadline: 10s\n{RULES}"
        with Server(rules, folder=tmp_path) as server, server.raw() as raw:
            monkeypatch.delenv("LD_PRELOAD")
            ask(raw, ASK[what], WARM * pipelined, pipelined)
            before, start = sum(counts()), time.monotonic()
            assert ask(raw, ASK[what], REQUESTS, pipelined) == {429}
            seconds = time.monotonic() - start
            # A handful each for a call; twenty where several requests found nothing known.
            assert sum(counts()) - before <= 100 * (seconds + 1)


@pytest.mark.parametrize("pipelined", [1, 16])
@pytest.mark.parametrize("what", COMMANDS)
def test_a_command_allocates_nothing(counted, what, pipelined):
    server, counts = counted
    with talk(server) as talking:
        def ask_all(times):
            for _ in range(times // pipelined):
                talking.send(COMMANDS[what] * pipelined)
                talking.replies(pipelined)

        talking.ask("HELLO", 3)
        ask_all(WARM * pipelined)
        before = counts()
        ask_all(REQUESTS)
        assert counts() == before


def test_other_users_and_resources_allocate_nothing(counted):
    server, counts = counted

    def requests(first):
        return [post(b'{"user": "user-%07d", "resource": "/api/%07d", "cost": 1}' % (i, i))
                for i in range(first, first + REQUESTS)]

    with server.raw() as raw:
        for data in requests(0)[:WARM]:
            ask(raw, data, 1, 1)
        before = counts()
        for data in requests(WARM):
            assert ask(raw, data, 1, 1) == {200}
        assert counts() == before


def test_the_count_sees_an_allocation(counted):
    """That nothing is counted means nothing unless something would be."""
    server, counts = counted
    before, all_before = counts(), counts.all()
    server.check({"resource": "/" + 5000 * "x"})  # longer than any before
    assert counts()[0] > before[0]
    server.write_rules(RULES.replace("all,", "every,"))
    os.kill(server.pid, 1)  # SIGHUP: reading rules allocates
    while server.check({"explain": True}).json["rule"] != "every":
        pass
    assert counts.all() > all_before


def test_two_hundred_thousand_requests_leave_memory_as_it_is(record_property, monkeypatch,
                                                             tmp_path):
    forget_soon(monkeypatch)
    (tmp_path / "secret").write_bytes(SECRET)
    count = 20_000 if is_sanitized() else 200_000
    with Server(RULES, folder=tmp_path) as server, server.raw() as raw:
        ask(raw, ASK["check"], 2000, 100)
        before = resident_bytes(server.pid)
        assert ask(raw, ASK["check"], count, 100) == {200}
        grown = resident_bytes(server.pid) - before
        record_property("resident_bytes_grown", grown)
        print(f"{count} requests: {grown} bytes more")
        assert grown < (4 << 20 if is_sanitized() else 256 << 10)
