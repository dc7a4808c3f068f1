"""Connections: requests in pieces, many at once, how they end, what they expect, paths and
methods."""

import os
import random
import subprocess
import threading

import pytest

from messages import HEALTH, PEEK, RULES, chunked, chunks, is_problem, is_served, post, refused
from serving import TIMEOUT_S, Server


@pytest.fixture(name="server", scope="module")
def running():
    with Server(RULES) as server:
        yield server


@pytest.fixture(name="other", scope="module")
def other_connection(server):
    """Another client, which nothing of all this may disturb."""
    with server.raw() as raw:
        yield raw


# ---- in pieces, and many at once ------------------------------------------------


def same(response):
    """What must not depend on how a request arrived."""
    fields = [field for field in response.fields if field[0] != "date"]
    return response.status, fields, response.body


@pytest.fixture(name="charged", scope="module")
def charged_user(server):
    """A caller that has used something up: when that ends is then a fixed moment."""
    server.check({"user": "split", "cost": 7})
    return b'{"user": "split", "peek": true, "explain": true}'


@pytest.mark.parametrize("is_chunked", [False, True], ids=["length", "chunked"])
def test_a_request_may_arrive_in_any_two_pieces(server, other, charged, is_chunked):
    message = chunked(chunks(charged[:5], charged[5:])) if is_chunked else post(charged)
    with server.raw() as raw:
        raw.send(message)
        whole = raw.response()
        assert (whole.status, whole.json["remaining"]) == (200, 93)
        for at in range(1, len(message)):
            raw.send(message[:at])
            is_served(other)  # so the first piece was read
            raw.send(message[at:])
            assert same(raw.response()) == same(whole), at


@pytest.mark.parametrize("is_chunked", [False, True], ids=["length", "chunked"])
def test_a_request_may_arrive_byte_by_byte(server, other, charged, is_chunked):
    message = chunked(chunks(charged[:5], charged[5:])) if is_chunked else post(charged)
    with server.raw() as raw:
        raw.send(message)
        whole = same(raw.response())
        for at in range(len(message)):
            raw.send(message[at:at + 1])
            is_served(other)
        assert same(raw.response()) == whole


def test_a_long_pipeline_may_arrive_in_any_pieces(server, other, charged):
    """Longer than a buffer: messages lie across its end wherever they like."""
    seed = int(os.environ.get("SLUICE_SEED", "1"))
    print(f"SLUICE_SEED={seed}")
    dice = random.Random(seed)
    large = charged.ljust(40000)
    kinds = [(post(charged), 93), (chunked(chunks(charged[:9], charged[9:])), 93), (HEALTH, None),
             (post(large), 93), (chunked(chunks(large[:30000], large[30000:])), 93)]
    with server.raw() as raw:
        for _ in range(10):
            sent = dice.choices(kinds, (30, 30, 30, 1, 1), k=300)
            stream = b"".join(message for message, _ in sent)
            sender = threading.Thread(target=send_in_pieces, args=(raw, other, stream, dice))
            sender.start()
            try:
                for number, (_, remaining) in enumerate(sent):
                    response = raw.response()
                    assert response.status == 200, (number, response.body)
                    assert response.json.get("remaining") == remaining, number
            finally:
                sender.join()
        is_served(raw)


def send_in_pieces(raw, other, left, dice):
    while left:
        size = dice.choice((1, 100, 5000, 16384, 50000))
        if not raw.send(left[:size]):
            return
        left = left[size:]
        is_served(other)


def test_a_refusal_does_not_depend_on_the_pieces(server, other):
    message = post(PEEK, b"Content-Length: 27")
    for at in range(1, len(message) - len(PEEK)):
        with server.raw() as raw:
            raw.send(message[:at])
            is_served(other)
            raw.send(message[at:])
            is_problem(raw.response(), 400)
            raw.ended()


def test_a_hundred_pipelined_requests_are_answered_in_order(server):
    user = b'{"user": "pipelined"}'
    with server.raw() as raw:
        raw.send(b"".join((post(user), HEALTH, chunked(chunks(user)), HEALTH) * 25))
        for left in range(99, 49, -1):
            assert raw.response().json["remaining"] == left
            assert raw.response().body == b'{"status": "ok"}'
        is_served(raw)


def test_pipelined_requests_are_answered_up_to_the_bad_one(server):
    user = b'{"user": "mixed"}'
    bad = b"GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"
    with server.raw() as raw:
        raw.send(post(user) + HEALTH + post(user) + bad + post(user) * 3)
        assert raw.response().json["remaining"] == 99
        assert raw.response().status == 200
        assert raw.response().json["remaining"] == 98
        is_problem(raw.response(), 400)
        raw.ended()
    assert server.check({"user": "mixed", "peek": True}).json["remaining"] == 98


def test_a_flood_of_pipelined_requests_is_answered_to_the_last(server):
    """More than buffers hold, and the client does not read until the server takes no more."""
    count = 20000
    with server.raw() as raw:
        left = memoryview(HEALTH * count)
        raw.socket.setblocking(False)
        try:
            while left:
                left = left[raw.socket.send(left):]
        except BlockingIOError:
            pass
        raw.socket.settimeout(TIMEOUT_S)
        sender = threading.Thread(target=raw.send, args=(left,))
        sender.start()
        for _ in range(count):
            assert raw.response().body == b'{"status": "ok"}'
        sender.join()
        is_served(raw)


# ---- how a connection ends --------------------------------------------------------


@pytest.mark.parametrize("message", [
    b"GET /healthz HTTP/1.0\r\n\r\n",
    b"GET /healthz HTTP/1.0\r\nHost: x\r\nConnection: close\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: x\r\nconnection: CLOSE\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: x, close ,y\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n",
])
def test_a_client_that_asks_for_it_is_answered_and_closed(server, message):
    with server.raw() as raw:
        raw.send(message + HEALTH)
        response = raw.response()
        assert (response.status, response.headers["connection"]) == (200, "close")
        raw.ended()


def test_http_1_0_may_ask_to_stay(server):
    with server.raw() as raw:
        for _ in range(2):
            raw.send(b"GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            response = raw.response()
            assert response.status == 200
            if response.headers["connection"] == "close":  # it need not be granted
                raw.ended()
                return
            assert response.headers["connection"] == "keep-alive"


def test_a_client_that_ends_its_side_is_still_answered(server):
    with server.raw() as raw:
        raw.send((post() + HEALTH) * 300)
        raw.finish()
        for _ in range(300):
            assert raw.response().json["remaining"] == 100
            assert raw.response().status == 200
        raw.ended()


@pytest.mark.parametrize("piece", [b"", b"GET /hea", post()[:-5], chunked(b"1b\r\n{"), b"\r\n"])
def test_a_client_that_leaves_in_the_middle_harms_no_other(server, other, piece):
    with server.raw() as raw:
        raw.send(piece)
        raw.finish()
        raw.socket.recv(65536)  # a 400 or nothing: there is no client to complain to
    is_served(other)


def test_head_is_get_without_the_body(server):
    for path in (b"/healthz", b"/readyz", b"/openapi.json"):
        with server.raw() as raw:
            raw.send(b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % path)
            got = raw.response()
            raw.send(b"HEAD %s HTTP/1.1\r\nHost: x\r\n\r\n" % path)
            assert same(raw.response(to="HEAD"))[:2] == same(got)[:2]
            is_served(raw)


def test_an_error_in_answer_to_head_has_no_body(server):
    with server.raw() as raw:
        raw.send(b"HEAD /nothing HTTP/1.1\r\nHost: x\r\n\r\n" + HEALTH)
        assert raw.response(to="HEAD").status == 404
        assert raw.response().body == b'{"status": "ok"}'


# ---- Expect ----------------------------------------------------------------------


@pytest.mark.parametrize("is_chunked", [False, True], ids=["length", "chunked"])
def test_a_client_that_waits_for_a_100_gets_it(server, is_chunked):
    body = chunks(PEEK) if is_chunked else PEEK
    build = chunked if is_chunked else post
    with server.raw() as raw:
        raw.send(build(body, b"Expect: 100-Continue")[:-len(body)])
        assert raw.response().status == 100
        raw.send(body)
        assert raw.response().json["remaining"] == 100
        is_served(raw)


def test_a_100_is_not_needed_once_the_body_is_there(server):
    with server.raw() as raw:
        raw.send(post(PEEK, b"Expect: 100-continue"))
        response = raw.response()
        if response.status == 100:
            response = raw.response()
        assert response.json["remaining"] == 100
        is_served(raw)


def test_http_1_0_never_gets_a_100(server):
    with server.raw() as raw:
        raw.send(post(PEEK, b"Expect: 100-continue", version=b"1.0"))
        assert raw.response().json["remaining"] == 100
        raw.ended()


def test_a_body_that_would_be_too_large_is_refused_instead_of_asked_for(server, other):
    head = post(b"", b"Content-Length: 1048577", b"Expect: 100-continue", length=False)
    refused(server, other, head, 413)


def test_another_expectation_fails(server):
    with server.raw() as raw:
        raw.send(post(PEEK, b"Expect: 200-maybe"))
        is_problem(raw.response(), 417)


def test_curl_sends_a_large_body(server, tmp_path):
    body = tmp_path / "body.json"
    body.write_bytes(PEEK + b" " * (1024 * 1024 - len(PEEK)))
    for encoding in ("Content-Length: 1048576", "Transfer-Encoding: chunked"):
        done = subprocess.run(
            ["curl", "-sS", "-H", "Expect: 100-continue", "-H", "Content-Type: application/json",
             "-H", encoding, "--data-binary", f"@{body}", "-w", " %{http_code}",
             f"http://127.0.0.1:{server.port}/v1/check"],
            capture_output=True, timeout=TIMEOUT_S, check=True)
        assert done.stdout.endswith(b"} 200"), done.stdout


# ---- paths and methods --------------------------------------------------------------


def with_body(method, path):
    return f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc".encode()


@pytest.mark.parametrize("path", [
    "/v1", "/v1/", "/v1/check/", "/v1/Check", "/v1/checks", "/v1/check/x", "//v1/check",
    "/v1/authorizes", "/healthz/", "/healthzz", "/metrics/x", "/../healthz", "/v1/../healthz",
])
def test_another_path_is_404(server, path):
    for method in ("GET", "POST"):
        with server.raw() as raw:
            raw.send(with_body(method, path))
            is_problem(raw.response(), 404)
            is_served(raw)


@pytest.mark.parametrize("path, allowed, others", [
    ("/v1/check", "POST", ("GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "CHECK")),
    ("/v1/reserve", "POST", ("GET", "PUT")),
    ("/v1/commit", "POST", ("GET", "PUT")),
    ("/v1/cancel", "POST", ("GET", "DELETE")),
    ("/healthz", "GET, HEAD", ("POST", "PUT", "OPTIONS", "TRACE")),
    ("/readyz", "GET, HEAD", ("POST",)),
    ("/metrics", "GET, HEAD", ("POST",)),
    ("/openapi.json", "GET, HEAD", ("POST",)),
])
def test_another_method_is_405_and_told_what_is_allowed(server, path, allowed, others):
    for method in others:
        with server.raw() as raw:
            raw.send(with_body(method, path))
            response = raw.response(to=method)
            assert (response.status, response.headers["allow"]) == (405, allowed)
            if method != "HEAD":
                is_problem(response, 405)
            is_served(raw)


def test_a_query_changes_nothing(server):
    answer = server.ask("POST", "/v1/check?user=somebody&cost=99", {"user": "q", "peek": True})
    assert answer.json["remaining"] == 100
