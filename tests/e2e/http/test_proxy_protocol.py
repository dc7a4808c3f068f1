"""A listener with `proxy_protocol: true`: whose connection it is stands before the first byte,
and is believed from trusted proxies only."""

import itertools
import json
import socket

import pytest

from messages import post
from proxy_headers import LISTEN, V2, v1, v2
from serving import Server

RULES = """\
tiers: { pro: { scale: 10 } }
rules:
  - { name: count, resource: /count, per: ip, algorithm: fixed_window, limit: 100/365d }
"""

addresses = (f"203.0.113.{number}" for number in itertools.count(1))
networks = (f"2001:db8:0:{number:x}" for number in itertools.count(1))  # a /64 each


@pytest.fixture(name="proxied", scope="module")
def with_proxy_protocol():
    """One worker: an answer that came later was sent later."""
    with Server(f"workers: 1\nidentity: {{ headers: {{ tier: X-Tier }} }}\n{RULES}",
                listen=LISTEN) as server:
        yield server


COUNT = b"GET /v1/authorize/count HTTP/1.1\r\nHost: x\r\n%s\r\n"


def remaining_after(server, *pieces):
    """What is left of the count after this was sent, each piece at a time."""
    with server.raw() as raw:
        for piece in pieces:
            raw.send(piece)
        response = raw.response()
        assert response.status == 200
        return int(response.headers["x-ratelimit-remaining"])


def remaining_of(server, address):
    """Asked with a PROXY header too: there is no other way in."""
    body = json.dumps({"resource": "/count", "ip": address, "peek": True}).encode()
    with server.raw() as raw:
        raw.send(b"PROXY UNKNOWN\r\n" + post(body))
        return raw.response().json["remaining"]


@pytest.mark.parametrize("make", [
    v1, v2, lambda address: v2(address, b"\x04\x00\x03abc\xea\x00\x00"),
    lambda address: v1(f"::ffff:{address}", "TCP6", "::1"), lambda address: v2(f"::ffff:{address}"),
], ids=["v1", "v2", "v2 with more", "v1 mapped", "v2 mapped"])
def test_the_proxy_header_says_whose_connection_it_is(proxied, make):
    address = next(addresses)
    assert remaining_after(proxied, make(address) + COUNT % b"") == 99
    assert remaining_of(proxied, address) == 99


@pytest.mark.parametrize("make", [lambda one: v1(one, "TCP6", "::1"), v2], ids=["v1", "v2"])
def test_ipv6_comes_through_too(proxied, make):
    net = next(networks)
    for number, left in ((1, 99), (2, 98)):
        assert remaining_after(proxied, make(f"{net}::{number}") + COUNT % b"") == left
    assert remaining_of(proxied, f"{net}::3") == 98


@pytest.mark.parametrize("header", [
    b"PROXY UNKNOWN\r\n", b"PROXY UNKNOWN ff:: ff:: 1 2\r\n", v2(), v2(None, b"\x04\x00\x01x"),
])
def test_a_proxy_that_speaks_for_itself_is_the_peer(proxied, header):
    before = remaining_of(proxied, "127.0.0.1")
    assert remaining_after(proxied, header + COUNT % b"") == before - 1


@pytest.mark.parametrize("make", [v1, v2], ids=["v1", "v2"])
def test_the_header_may_arrive_in_pieces(proxied, make):
    address = next(addresses)
    header = make(address)
    message = header + COUNT % b""
    for left, at in zip(range(99, 0, -1), range(1, len(header) + 2)):
        with proxied.raw() as raw:
            raw.send(message[:at])
            remaining_of(proxied, address)
            raw.send(message[at:])
            assert raw.response().headers["x-ratelimit-remaining"] == str(left)


def test_it_speaks_for_the_connection_not_for_one_request(proxied):
    address = next(addresses)
    with proxied.raw() as raw:
        raw.send(v1(address))
        for left in (99, 98, 97):
            raw.send(COUNT % b"")
            assert raw.response().headers["x-ratelimit-remaining"] == str(left)


def test_behind_it_only_trusted_proxies_are_believed(proxied):
    """The source it names is the peer now, and a stranger."""
    address = next(addresses)
    forged = COUNT % b"X-Forwarded-For: 9.9.9.9\r\nX-Tier: pro\r\n"
    assert remaining_after(proxied, v1(address) + forged) == 99
    assert remaining_of(proxied, "9.9.9.9") == 100
    other = next(addresses)
    believed = COUNT % b"X-Forwarded-For: %s\r\n" % other.encode()
    assert remaining_after(proxied, v1("127.0.0.1") + believed) == 99
    assert remaining_of(proxied, other) == 99


@pytest.mark.parametrize("start", [
    COUNT % b"", b"\r\n" + COUNT % b"", b"PROXY\r\n" + COUNT % b"", b"proxy UNKNOWN\r\n",
    b"PROXY TCP4 999.1.1.1 127.0.0.1 1 2\r\n", b"PROXY TCP4 192.0.2.1 127.0.0.1 1\r\n",
    b"PROXY TCP4 192.0.2.1 127.0.0.1 1 65536\r\n", b"PROXY TCP4 ::1 ::1 1 2\r\n",
    b"PROXY TCP6 192.0.2.1 192.0.2.2 1 2\r\n", b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\n",
    b"PROXY TCP4  192.0.2.1 192.0.2.2 1 2\r\n", b"PROXY TCP4 192.0.2.1 192.0.2.2 01 2\r\n",
    b"PROXY UDP4 192.0.2.1 192.0.2.2 1 2\r\n", b"PROXY UNKNOWN " + b"x" * 200 + b"\r\n",
    V2 + b"\x31\x11\x00\x00", V2 + b"\x22\x11\x00\x0c" + b"\x00" * 12,
    V2 + b"\x21\x11\x00\x0b" + b"\x00" * 11, V2 + b"\x21\x21\x00\x0c" + b"\x00" * 12,
    V2 + b"\x21\x11\xff\xff", V2[:-1] + b"X",
])
def test_a_connection_without_a_good_one_is_closed_without_a_word(proxied, start):
    before = remaining_of(proxied, "127.0.0.1")
    with proxied.raw() as raw:
        raw.send(start + COUNT % b"")
        raw.ended()
    assert remaining_of(proxied, "127.0.0.1") == before


def test_a_second_header_is_no_request(proxied):
    with proxied.raw() as raw:
        raw.send(v1(next(addresses)) + v1("9.9.9.9") + COUNT % b"")
        assert raw.response().status == 400
        raw.ended()
    assert remaining_of(proxied, "9.9.9.9") == 100


@pytest.mark.parametrize("make", [v1, v2], ids=["v1", "v2"])
def test_a_strangers_header_is_not_believed(make):
    """Closed, or counted as the stranger it is."""
    with Server(f"identity: {{ trusted_proxies: [10.0.0.0/8] }}\n{RULES}",
                listen=LISTEN) as server:
        with server.raw() as raw:
            raw.send(make("9.9.9.9") + COUNT % b"")
            if not closed(raw):
                assert raw.response().headers["x-ratelimit-remaining"] == "99"
                body = b'{"resource": "/count", "ip": "9.9.9.9", "peek": true}'
                raw.send(post(body))
                assert raw.response().json["remaining"] == 100


def closed(raw):
    try:
        return raw.socket.recv(1, socket.MSG_PEEK) == b""
    except ConnectionResetError:
        return True
