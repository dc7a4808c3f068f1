"""HTTP/1.1 as a stranger may send it, byte for byte. Whatever two readers could take for two
different messages is refused, and nothing of it is ever taken for the next request."""

import pytest

from messages import HEALTH, PEEK, RULES, SMUGGLED, chunked, chunks, is_problem, is_served, post, \
    refused
from serving import Server


@pytest.fixture(name="server", scope="module")
def running():
    with Server(RULES) as server:
        yield server


@pytest.fixture(name="other", scope="module")
def other_connection(server):
    """Another client, which nothing of all this may disturb."""
    with server.raw() as raw:
        yield raw


# ---- where a message ends -----------------------------------------------------


@pytest.mark.parametrize("fields, statuses", [
    ((b"Content-Length: 27", b"Transfer-Encoding: chunked"), (400,)),
    ((b"Transfer-Encoding: chunked", b"Content-Length: 27"), (400,)),
    ((b"Content-Length: 27", b"Content-Length: 27"), (400,)),
    ((b"Content-Length: 27", b"Content-Length: 0"), (400,)),
    ((b"Content-Length: 0", b"content-length: 27"), (400,)),
    ((b"Content-Length: 27, 27",), (400,)),
    ((b"Content-Length: 0, 27",), (400,)),
    ((b"Content-Length: +27",), (400,)),
    ((b"Content-Length: -1",), (400,)),
    ((b"Content-Length:",), (400,)),
    ((b"Content-Length: 2 7",), (400,)),
    ((b"Content-Length: 0x1b",), (400,)),
    ((b"Content-Length: 1b",), (400,)),
    ((b"Content-Length: 27.0",), (400,)),
    ((b"Content-Length: 27;",), (400,)),
    ((b'Content-Length: "27"',), (400,)),
    ((b"Content-Length: \xb227",), (400,)),
    ((b"Content-Length: 18446744073709551643",), (400, 413)),  # 2^64 + 27
    ((b"Content-Length: 4294967323",), (400, 413)),  # 2^32 + 27
    ((b"Content-Length : 27",), (400,)),
    ((b"Transfer-Encoding: chunked, chunked",), (400, 501)),
    ((b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"), (400, 501)),
    ((b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity"), (400, 501)),
    ((b"Transfer-Encoding: identity",), (501,)),
    ((b"Transfer-Encoding: identity, chunked",), (501,)),
    ((b"Transfer-Encoding: gzip",), (501,)),
    ((b"Transfer-Encoding: gzip, chunked",), (501,)),
    ((b"Transfer-Encoding: chunked, gzip",), (400, 501)),
    ((b"Transfer-Encoding: xchunked",), (501,)),
    ((b"Transfer-Encoding: chunkedx",), (501,)),
    ((b"Transfer-Encoding: chunked;q=1",), (400, 501)),
    ((b'Transfer-Encoding: "chunked"',), (400, 501)),
    ((b"Transfer-Encoding:",), (400, 501)),
    ((b"Transfer-Encoding:", b"Content-Length: 27"), (400, 501)),
    ((b"Transfer-Encoding : chunked",), (400,)),
    ((b"Transfer-Encoding: \x0bchunked",), (400,)),
    ((b"Transfer-Encoding: chunked\x00",), (400,)),
    ((b"X: y\r\n Transfer-Encoding: chunked", b"Content-Length: 27"), (400,)),
    ((b"X: y\rTransfer-Encoding: chunked", b"Content-Length: 27"), (400,)),
    ((b"X: y\nTransfer-Encoding: chunked", b"Content-Length: 27"), (400,)),
])
def test_a_length_in_doubt_is_refused_and_nothing_is_smuggled(server, other, fields, statuses):
    refused(server, other, post(PEEK + SMUGGLED, *fields, length=False), *statuses)
    refused(server, other, post(b"0\r\n\r\n" + SMUGGLED, *fields, length=False), *statuses)


def test_chunks_are_not_for_http_1_0(server, other):
    message = post(chunks(PEEK) + SMUGGLED, b"Transfer-Encoding: chunked", length=False,
                   version=b"1.0")
    refused(server, other, message, 400)


@pytest.mark.parametrize("body, statuses", [
    (b"\r\n" + PEEK, (400,)),
    (b"g\r\n", (400,)),
    (b"-1\r\n", (400,)),
    (b"+1b\r\n" + PEEK, (400,)),
    (b"0x1b\r\n" + PEEK, (400,)),
    (b" 1b\r\n" + PEEK, (400,)),
    (b"1b \r\n" + PEEK, (400,)),
    (b"1b\t\r\n" + PEEK, (400,)),
    (b"1 b\r\n" + PEEK, (400,)),
    (b"1b,\r\n" + PEEK, (400,)),
    (b"1b\x00\r\n" + PEEK, (400,)),
    (b"1b\n" + PEEK + b"\r\n0\r\n\r\n", (400,)),
    (b"1b\r" + PEEK + b"\r\n0\r\n\r\n", (400,)),
    (b"1b;a\nb\r\n" + PEEK, (400,)),
    (b"1b;a\rb\r\n" + PEEK, (400,)),
    (b"1b;a\x00b\r\n" + PEEK, (400,)),
    (b"1b;" + b"a" * 5000 + b"\r\n" + PEEK, (400, 431, 413)),
    (b"1b\r\n" + PEEK + b"0\r\n\r\n", (400,)),
    (b"1b\r\n" + PEEK + b"\n0\r\n\r\n", (400,)),
    (b"1b\r\n" + PEEK + b"X\r\n0\r\n\r\n", (400,)),
    (b"1a\r\n" + PEEK + b"\r\n0\r\n\r\n", (400,)),
    (b"1b\r\n" + PEEK + b"\r\n0\n\n", (400,)),
    (b"1b\r\n" + PEEK + b"\r\n0\r\nX\r\n\r\n", (400,)),
    (b"1b\r\n" + PEEK + b"\r\n0\r\nX : y\r\n\r\n", (400,)),
    (b"1b\r\n" + PEEK + b"\r\n0\r\nX: \x00\r\n\r\n", (400,)),
    (b"1b\r\n" + PEEK + b"\r\n0\r\nX: y\n\r\n", (400,)),
    (b"1b\r\n" + PEEK + b"\r\n0\r\n" + SMUGGLED, (400,)),
    (b"1b\r\n" + PEEK + b"\r\n0\r\n" + b"X: y\r\n" * 20000 + b"\r\n", (400, 413, 431)),
    (b"1000000000000001b\r\n" + PEEK, (400, 413)),
    (b"10000000000000000000000000000001b\r\n" + PEEK, (400, 413)),
    (b"ffffffffffffffff\r\n" + PEEK, (400, 413)),
    (b"7fffffffffffffff\r\n" + PEEK, (400, 413)),
    (b"10000001b\r\n" + PEEK, (400, 413)),
])
def test_a_bad_chunk_is_refused_and_nothing_is_smuggled(server, other, body, statuses):
    refused(server, other, chunked(body + SMUGGLED), *statuses)


@pytest.mark.parametrize("fields, body", [
    ((b"Transfer-Encoding: chunked",), chunks(PEEK)),
    ((b"transfer-encoding: CHUNKED",), chunks(PEEK[:1], PEEK[1:9], PEEK[9:])),
    ((b"Transfer-Encoding:\tchunked \t",), b"1B\r\n" + PEEK + b"\r\n0\r\n\r\n"),
    ((b"Transfer-Encoding: chunked",), b"0001b\r\n" + PEEK + b"\r\n00\r\n\r\n"),
    ((b"Transfer-Encoding: chunked",), b'1b;name=value;q="a;b"\r\n' + PEEK + b"\r\n0;x\r\n\r\n"),
    ((b"Transfer-Encoding: chunked",), b"1b\r\n" + PEEK + b"\r\n0\r\nX: y\r\nZ:\r\n\r\n"),
    ((b"Content-Length: 27",), PEEK),
    ((b"content-length:\t27 ",), PEEK),
])
def test_every_legal_way_to_say_where_a_body_ends_works(server, fields, body):
    with server.raw() as raw:
        raw.send(post(body, *fields, length=False))
        assert raw.response().json["remaining"] == 100
        is_served(raw)


# ---- heads --------------------------------------------------------------------


@pytest.mark.parametrize("message, statuses", [
    (b"GET /healthz HTTP/1.1\nHost: x\n\n", (400,)),
    (b"GET /healthz HTTP/1.1\r\nHost: x\n\r\n", (400,)),
    (b"GET /healthz HTTP/1.1\nHost: x\r\n\r\n", (400,)),
    (b"GET /healthz HTTP/1.1\r\nHost: x\r\n\n", (400,)),
    (b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\rc\r\n\r\n", (400,)),
    (b"GET /healthz HTTP/1.1\rHost: x\r\n\r\n", (400,)),
    (b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n", (400,)),
    (b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\r\n\tc\r\n\r\n", (400,)),
    (b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\r\n \r\n\r\n", (400,)),
    (b"GET /healthz HTTP/1.1\r\n Host: x\r\n\r\n", (400,)),
    (b"GET /healthz HTTP/1.1\r\nHost : x\r\n\r\n", (400,)),
    (b"GET /healthz HTTP/1.1\r\nHost\t: x\r\n\r\n", (400,)),
    (b"GET /healthz HTTP/1.1\r\nHost: x\r\nA\r\n\r\n", (400,)),
    (b"GET /healthz HTTP/1.1\r\nHost: x\r\n: b\r\n\r\n", (400,)),
    (b"GET /healthz HTTP/1.1\r\nHost: x\r\nA b: c\r\n\r\n", (400,)),
    (b"GET /healthz HTTP/1.1\r\nHost: x\r\nA(: c\r\n\r\n", (400,)),
    (b"GET /healthz HTTP/1.1\r\nHost: x\r\nA\xe9: c\r\n\r\n", (400,)),
    (b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\x00c\r\n\r\n", (400,)),
    (b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\x01c\r\n\r\n", (400,)),
    (b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\x1fc\r\n\r\n", (400,)),
    (b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\x7fc\r\n\r\n", (400,)),
    (b"GET /healthz HTTP/1.1\r\nHost: x\r\nA\x00: c\r\n\r\n", (400,)),
    (b"GET /healthz\x00 HTTP/1.1\r\nHost: x\r\n\r\n", (400,)),
    (b"GET /heal\tthz HTTP/1.1\r\nHost: x\r\n\r\n", (400,)),
    (b"GET /heal\x7fthz HTTP/1.1\r\nHost: x\r\n\r\n", (400,)),
    (b"GET /heal\xc3\xa9 HTTP/1.1\r\nHost: x\r\n\r\n", (400,)),
    (b"GET /healthz /x HTTP/1.1\r\nHost: x\r\n\r\n", (400,)),
    (b"GET  /healthz HTTP/1.1\r\nHost: x\r\n\r\n", (400,)),
    (b"GET /healthz  HTTP/1.1\r\nHost: x\r\n\r\n", (400,)),
    (b"GET\t/healthz\tHTTP/1.1\r\nHost: x\r\n\r\n", (400,)),
    (b" GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", (400,)),
    (b"GET /healthz HTTP/1.1 \r\nHost: x\r\n\r\n", (400, 505)),
    (b"GET healthz HTTP/1.1\r\nHost: x\r\n\r\n", (400,)),
    (b"G(T /healthz HTTP/1.1\r\nHost: x\r\n\r\n", (400,)),
    (b"G\x00T /healthz HTTP/1.1\r\nHost: x\r\n\r\n", (400,)),
    (b" / HTTP/1.1\r\nHost: x\r\n\r\n", (400,)),
    (b"\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", (400,)),
    (b"\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", (400,)),
    (b"GET /healthz HTTP/1.1\r\n\r\n", (400,)),
    (b"GET /healthz HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", (400,)),
    (b"GET /healthz HTTP/1.1\r\nHost: x\r\nhost: y\r\n\r\n", (400,)),
    (b"GET /healthz HTTP/1.1\r\nHost:\r\n\r\n", (400,)),  # RFC 9110, 4.2.1: no empty host
    (b"GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n", (400,)),
    (b"GET /healthz HTTP/1.1\r\nHost: a/b\r\n\r\n", (400,)),
    (b"GET /healthz HTTP/1.1\r\nHost: a, b\r\n\r\n", (400,)),
    (b"GET /healthz\r\n\r\n", (400,)),
    (b"GET /healthz HTTP/0.9\r\nHost: x\r\n\r\n", (505,)),
    (b"GET /healthz HTTP/1.2\r\nHost: x\r\n\r\n", (505,)),
    (b"GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n", (505,)),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", (505,)),
    (b"GET /healthz HTTP/1.10\r\nHost: x\r\n\r\n", (400, 505)),
    (b"GET /healthz HTTP/1\r\nHost: x\r\n\r\n", (400, 505)),
    (b"GET /healthz HTTP/11\r\nHost: x\r\n\r\n", (400, 505)),
    (b"GET /healthz http/1.1\r\nHost: x\r\n\r\n", (400, 505)),
    (b"GET /healthz HTTPS/1.1\r\nHost: x\r\n\r\n", (400, 505)),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", (400,)),
    (b"\x80\x81\x82\x83\r\n\r\n", (400,)),
    (b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n" + HEALTH, (400,)),
])
def test_a_malformed_head_is_refused(server, other, message, statuses):
    refused(server, other, message + HEALTH, *statuses)


@pytest.mark.parametrize("message", [
    b"\r\n" + HEALTH,
    b"GET /healthz HTTP/1.1\r\nhOsT:x\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost:\t[::1]:8080 \r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: caf\xc3\xa9\tb\r\nB:\r\n!#$%&'*+-.^_`|~: x\r\n\r\n",
    b"GET /healthz?x=1&y HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET http://example.com/healthz HTTP/1.1\r\nHost: example.com\r\n\r\n",
    b"GET HTTP://example.com:80/healthz?x HTTP/1.1\r\nHost: example.com:80\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: h2c\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabcde",
    b"GET /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks(b"abcde"),
])
def test_every_legal_head_is_served(server, message):
    with server.raw() as raw:
        raw.send(message)
        assert raw.response().body == b'{"status": "ok"}'
        is_served(raw)


def test_methods_are_compared_with_case(server):
    with server.raw() as raw:
        raw.send(b"get /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        response = raw.response()
        is_problem(response, 405)
        assert response.headers["allow"] == "GET, HEAD"
        is_served(raw)


def test_an_asterisk_names_nothing_here(server):
    with server.raw() as raw:
        raw.send(b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n")
        is_problem(raw.response(), 404)
        is_served(raw)


def head_of(size):
    """A legal head of just so many bytes."""
    start, end = b"GET /healthz HTTP/1.1\r\nHost: x\r\n", b"\r\n\r\n"
    lines, left = b"", size - len(start) - len(end)
    while left > 8000:
        lines += b"A: " + b"a" * 3995 + b"\r\n"
        left -= 4000
    return start + lines + b"B: " + b"b" * (left - 3) + end


def test_a_target_has_at_most_8_kib(server, other):
    with server.raw() as raw:
        raw.send(b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n" % (b"a" * 8191))
        is_problem(raw.response(), 404)
        is_served(raw)
        raw.send(b"GET /healthz?%s HTTP/1.1\r\nHost: x\r\n\r\n" % (b"a" * (8192 - 9)))
        assert raw.response().status == 200
    for length in (8193, 12000, 100000):
        refused(server, other, b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n" % (b"a" * (length - 1)), 414)


def test_a_head_has_at_most_16_kib(server, other):
    assert len(head_of(16384)) == 16384
    with server.raw() as raw:
        for size in (1000, 16382, 16383):
            raw.send(head_of(size))
            assert raw.response().status == 200
        is_served(raw)
    for size in (16385, 16400, 100000):
        refused(server, other, head_of(size), 431)


def test_a_head_without_an_end_is_refused_when_it_is_too_large(server, other):
    refused(server, other, b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 20000, 431)
    refused(server, other, b"GET /" + b"a" * 20000, 414)
    refused(server, other, b"G" * 20000, 400, 414, 431)


def test_a_head_has_at_most_100_fields(server, other):
    with server.raw() as raw:
        raw.send(b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 99 + b"\r\n")
        assert raw.response().status == 200
        is_served(raw)
    for count in (100, 500, 2000):
        refused(server, other,
                b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * count + b"\r\n", 431)
