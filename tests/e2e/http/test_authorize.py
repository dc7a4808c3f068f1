"""/v1/authorize, as a proxy asks it: what the original request was, whose address it has, and
whose word is taken for that."""

import itertools
import json
import re

import pytest

from messages import TITLES
from serving import Server

# Each request matches one rule, so the rule's name in RateLimit-Policy tells what was understood.
RULES = """\
tiers: { pro: { scale: 10 } }
rules:
  - { name: get, resource: /api/*, when: { method: GET }, per: ip, algorithm: fixed_window,
      limit: 100/365d }
  - { name: post, resource: /api/*, when: { method: POST }, per: ip, algorithm: fixed_window,
      limit: 100/365d }
  - { name: odd, resource: /api/*, when: { method: BREW }, per: ip, algorithm: fixed_window,
      limit: 100/365d }
  - { name: other, resource: /else, per: ip, algorithm: fixed_window, limit: 100/365d }
  - { name: count, resource: /count, per: ip, algorithm: fixed_window, limit: 100/365d }
  - { name: two, resource: /two, per: ip, algorithm: fixed_window, limit: 2/365d }
  - { name: person, resource: /person, per: [tenant, user], algorithm: fixed_window,
      limit: 100/365d }
  - { name: adaptive, resource: /adaptive, per: ip, algorithm: fixed_window, limit: 100/365d,
      adaptive: true }
"""
HEADERS = "headers: { user: X-User, tenant: X-Tenant, tier: X-Tier }"

addresses = (f"203.0.{number // 250}.{number % 250 + 1}" for number in itertools.count(113 * 250))
networks = (f"2001:db8:0:{number:x}" for number in itertools.count(1))  # a /64 each


@pytest.fixture(name="server", scope="module")
def nothing_configured():
    """Loopback is trusted."""
    with Server(f"identity: {{ {HEADERS} }}\n{RULES}") as server:
        yield server


@pytest.fixture(name="behind", scope="module")
def behind_proxies():
    """Loopback and 10.0.0.0/8 are trusted."""
    with Server("identity: { trusted_proxies: [127.0.0.1, 10.0.0.0/8, 'fd00::/8'], "
                f"{HEADERS} }}\n{RULES}") as server:
        yield server


@pytest.fixture(name="exposed", scope="module")
def exposed_to_strangers():
    """We are strangers: only 10.0.0.0/8 is trusted. Denials are 403."""
    with Server(f"deny_status: 403\nidentity: {{ trusted_proxies: [10.0.0.0/8], {HEADERS} }}\n"
                f"{RULES}") as server:
        yield server


def authorize(server, *headers, method="GET", path="/v1/authorize", body=None):
    """`headers` are pairs, and may repeat a name."""
    connection = server.connection()
    connection.putrequest(method, path)
    for name, value in headers:
        connection.putheader(name, value)
    if body is not None:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    response = connection.getresponse()
    response.text = response.read()
    connection.close()
    return response


def rule_of(response):
    """The rule that decided, None: no rule did."""
    policy = response.headers["RateLimit-Policy"]
    return policy and re.match(r'"([a-z]+)"', policy)[1]


def is_problem(response, status):
    kind = response.headers["Content-Type"]
    assert (response.status, kind) == (status, "application/problem+json")
    problem = json.loads(response.text)
    assert (problem["title"], problem["status"]) == (TITLES[status], status)


def used(server, address):
    """How many of its hundred this address has used up at /count."""
    peek = server.check({"resource": "/count", "ip": address, "peek": True})
    return 100 - peek.json["remaining"]


def counted(server, candidates, *headers):
    """Which of the candidates is charged for a request with these headers."""
    before = {address: used(server, address) for address in candidates}
    assert authorize(server, *headers, path="/v1/authorize/count").status == 200
    return [address for address in candidates if used(server, address) > before[address]]


# ---- what was asked --------------------------------------------------------------


@pytest.mark.parametrize("method, path, headers, rule", [
    ("GET", "/v1/authorize/api/videos", (), "get"),
    ("POST", "/v1/authorize/api/videos", (), "post"),
    ("BREW", "/v1/authorize/api/videos", (), "odd"),
    ("PUT", "/v1/authorize/api/videos", (), None),
    ("GET", "/v1/authorize/api", (), "get"),
    ("GET", "/v1/authorize/api/videos?id=/else", (), "get"),
    ("GET", "/v1/authorize/else", (), "other"),
    ("GET", "/v1/authorize//else/", (), "other"),
    ("GET", "/v1/authorize/x/../%65lse", (), "other"),
    ("GET", "/v1/authorize", (), None),
    ("GET", "/v1/authorize/", (), None),
    ("GET", "/v1/authorize", (("X-Forwarded-Uri", "/api/x"),), "get"),
    ("GET", "/v1/authorize", (("X-Original-URI", "/api/x?y=z"),), "get"),
    ("GET", "/v1/authorize", (("x-original-uri", "/else"),), "other"),
    ("GET", "/v1/authorize/else", (("X-Forwarded-Uri", "/api/x"),), "get"),
    ("GET", "/v1/authorize?x=1", (("X-Forwarded-Uri", "/api/x"),), "get"),
    ("GET", "/v1/authorize", (("X-Forwarded-Uri", "/api"), ("X-Forwarded-Method", "POST")), "post"),
    ("GET", "/v1/authorize", (("X-Original-URI", "/api"), ("X-Original-Method", "POST")), "post"),
    ("POST", "/v1/authorize/api", (("X-Forwarded-Method", "GET"),), "get"),
    ("GET", "/v1/authorize", (("X-Forwarded-Uri", "/api"), ("X-Original-URI", "/api")), "get"),
    ("GET", "/v1/authorize", (("X-Forwarded-Uri", "/api"), ("X-Forwarded-Uri", "/api")), "get"),
    ("PUT", "/v1/authorize/api",
     (("X-Forwarded-Method", "POST"), ("X-Original-Method", "POST")), "post"),
])
def test_method_and_resource_are_the_original_ones(server, method, path, headers, rule):
    response = authorize(server, *headers, method=method, path=path)
    assert (response.status, rule_of(response)) == (200, rule)


@pytest.mark.parametrize("headers", [
    (("X-Forwarded-Uri", "/api"), ("X-Original-URI", "/else")),
    (("X-Forwarded-Uri", "/api"), ("X-Forwarded-Uri", "/else")),
    (("X-Original-URI", "/api"), ("X-Original-URI", "/else")),
    (("X-Forwarded-Uri", "/api"), ("X-Forwarded-Uri", "/api"), ("X-Original-URI", "/else")),
    (("X-Forwarded-Method", "GET"), ("X-Original-Method", "POST")),
    (("X-Forwarded-Method", "GET"), ("X-Forwarded-Method", "POST")),
    (("X-Original-Method", "GET"), ("x-original-method", "POST")),
])
def test_headers_that_contradict_each_other_are_400_and_nothing_is_charged(server, headers):
    address = next(addresses)
    response = authorize(server, ("X-Forwarded-For", address), *headers, path="/v1/authorize/api")
    is_problem(response, 400)
    peek = server.check({"resource": "/api", "method": "GET", "ip": address, "peek": True})
    assert peek.json["remaining"] == 100


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"])
def test_any_method_is_answered_alike(server, method):
    caller = ("X-Forwarded-For", next(addresses))
    ask = {"method": method, "path": "/v1/authorize/two"}
    answers = [authorize(server, caller, **ask) for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 429]
    assert [answer.headers["X-RateLimit-Remaining"] for answer in answers] == ["1", "0", "0"]
    assert [answer.text for answer in answers[:2]] == [b"", b""]
    denied = json.loads(answers[2].text)
    assert list(denied)[:3] == ["error", "error_description", "allowed"]
    assert (denied["error"], denied["rule"]) == ("rate_limit_exceeded", "two")
    assert answers[2].headers["Retry-After"] == str(denied["retry_after"])
    assert answers[2].headers["Content-Type"] == "application/json"


def test_head_is_denied_without_a_body(server):
    caller = ("X-Forwarded-For", next(addresses))
    ask = {"method": "HEAD", "path": "/v1/authorize/two"}
    answers = [authorize(server, caller, **ask) for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 429]
    assert [answer.text for answer in answers] == [b""] * 3


def test_the_rules_choose_the_status_of_a_denial(exposed):
    answers = [authorize(exposed, path="/v1/authorize/two") for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 403]
    assert json.loads(answers[2].text)["error"] == "rate_limit_exceeded"
    denied = exposed.check({"resource": "/two", "ip": "127.0.0.1"})
    assert denied.status == 429  # there it is the interface's own


@pytest.mark.parametrize("body, kind", [
    (b"{", "application/json"), (b"anything", "text/plain"), (b"", "application/json"),
    (b'{"resource": "/else", "cost": 50, "at_us": 1, "ip": "192.0.2.1"}', "application/json"),
    (b"x" * 100000, "application/octet-stream"),
])
def test_the_body_is_ignored(server, body, kind):
    caller = ("X-Forwarded-For", next(addresses))
    response = authorize(server, caller, ("Content-Type", kind), method="POST", body=body,
                         path="/v1/authorize/count")
    assert (response.status, rule_of(response)) == (200, "count")
    assert response.headers["X-RateLimit-Remaining"] == "99"


def test_cost_and_trust_never_come_from_the_caller(server):
    address = next(addresses)
    response = authorize(
        server, ("X-Forwarded-For", address), ("Cost", "50"), ("X-Cost", "50"),
        ("Trust-Score", "1"), ("X-Trust-Score", "1"), ("trust_score", "1"),
        ("Content-Type", "application/json"),
        method="POST", body=b'{"cost": 50, "trust_score": 1, "peek": true}',
        path="/v1/authorize/adaptive?cost=50&trust_score=1&peek=true")
    assert response.headers["X-RateLimit-Limit"] == "100"
    assert response.headers["X-RateLimit-Remaining"] == "99"


# ---- whose address ---------------------------------------------------------------


def test_without_a_header_it_is_the_peers(server):
    assert counted(server, ["127.0.0.1", "192.0.2.1"]) == ["127.0.0.1"]


@pytest.mark.parametrize("shape", [
    "{}", "{}:4711", " {} ", "::ffff:{}", "[::ffff:{}]:80", "9.9.9.9, {}", "9.9.9.9,{}",
    "127.0.0.1, {}", "garbage, {}", ", ,{}", "unknown, {},", "{}, 127.0.0.1", "{}, 127.0.0.1, ::1",
    "8.8.8.8, {}, 127.0.0.1:1234",
])
def test_x_forwarded_for_is_read_from_the_right_to_the_first_stranger(server, shape):
    address = next(addresses)
    candidates = [address, "9.9.9.9", "8.8.8.8", "127.0.0.1"]
    assert counted(server, candidates, ("X-Forwarded-For", shape.format(address))) == [address]


@pytest.mark.parametrize("shape", [
    "for={}", "For={}", 'for="{}"', 'for="{}:4711"', "proto=https;for={};by=127.0.0.1",
    "for={};host=\"a,b;c\"", "for=9.9.9.9, for={}", "for=9.9.9.9,for={} ; proto=http",
    "for=_hidden, for={}", "for={}, for=127.0.0.1", 'for={}, for="[::1]:80"',
    'for="[::ffff:{}]"',
])
def test_forwarded_is_read_alike(server, shape):
    address = next(addresses)
    candidates = [address, "9.9.9.9", "127.0.0.1"]
    assert counted(server, candidates, ("Forwarded", shape.format(address))) == [address]


def test_an_address_in_both_headers_is_believed(server):
    address = next(addresses)
    headers = (("X-Forwarded-For", f"9.9.9.9, {address}"), ("Forwarded", f"for={address}"))
    assert counted(server, [address, "9.9.9.9", "127.0.0.1"], *headers) == [address]


def test_where_they_differ_neither_is_believed(server):
    """One of them came from the client, which must not choose between two counts, nor pass for the
    proxy: that one may be exempt."""
    one, two = next(addresses), next(addresses)
    headers = (("X-Forwarded-For", one), ("Forwarded", f"for={two}"))
    assert counted(server, [one, two, "127.0.0.1", "0.0.0.0"], *headers) == ["0.0.0.0"]


def test_lines_of_one_name_are_one_list(server):
    one, two = next(addresses), next(addresses)
    headers = (("X-Forwarded-For", one), ("X-Forwarded-For", two))
    assert counted(server, [one, two, "127.0.0.1"], *headers) == [two]
    headers = (("X-Forwarded-For", one), ("X-Forwarded-For", "127.0.0.1"))
    assert counted(server, [one, "127.0.0.1"], *headers) == [one]


@pytest.mark.parametrize("header", [
    ("X-Forwarded-For", "{}, unknown"), ("X-Forwarded-For", "{}, 1.2.3"),
    ("X-Forwarded-For", "{}, 1.2.3.4.5"), ("X-Forwarded-For", "{} 127.0.0.1"),
    ("X-Forwarded-For", "{}, 127.0.0.1/8"), ("X-Forwarded-For", "{}, 0127.0.0.1"),
    ("X-Forwarded-For", ""), ("Forwarded", "for={}, for=_hidden"),
    ("Forwarded", "for={}, for=unknown"), ("Forwarded", "for={}, proto=http"),
    ("Forwarded", 'for={}, for="127.0.0.1'), ("Forwarded", "nonsense"),
])
def test_behind_what_is_no_address_none_is_believed(server, header):
    address = next(addresses)
    name, shape = header
    assert counted(server, [address, "127.0.0.1"], (name, shape.format(address))) == ["127.0.0.1"]


@pytest.mark.parametrize("shape", [
    "{}", "9.9.9.9, {}", "{}, 10.1.2.3", "9.9.9.9, {}, 10.1.2.3, 10.255.255.255",
    "10.0.0.1, {}, 10.0.0.2", "{}, fd00::1", "127.0.0.1, {}, 127.0.0.1",
])
def test_trusted_proxies_are_passed_over_and_no_further(behind, shape):
    address = next(addresses)
    candidates = [address, "9.9.9.9", "10.0.0.1", "127.0.0.1"]
    assert counted(behind, candidates, ("X-Forwarded-For", shape.format(address))) == [address]


def test_where_all_are_trusted_it_is_the_farthest(behind):
    forwarded = ("X-Forwarded-For", "10.0.0.9, 10.0.0.8")
    assert counted(behind, ["10.0.0.9", "10.0.0.8", "127.0.0.1"], forwarded) == ["10.0.0.9"]


def test_with_proxies_configured_other_loopback_addresses_are_strangers(behind):
    forwarded = ("X-Forwarded-For", "9.9.9.9, 127.0.0.2")
    assert counted(behind, ["9.9.9.9", "127.0.0.2", "127.0.0.1"], forwarded) == ["127.0.0.2"]


@pytest.mark.parametrize("name, value", [
    ("X-Forwarded-For", "9.9.9.9"), ("X-Forwarded-For", "9.9.9.9, 10.0.0.1"),
    ("Forwarded", "for=9.9.9.9"), ("X-Real-IP", "9.9.9.9"), ("Client-IP", "9.9.9.9"),
])
def test_a_strangers_word_counts_for_nothing(exposed, name, value):
    assert counted(exposed, ["9.9.9.9", "10.0.0.1", "127.0.0.1"], (name, value)) == ["127.0.0.1"]


def test_a_64_of_ipv6_counts_together(server):
    net, other = next(networks), next(networks)
    for address in (f"{net}::1", f"{net}:ffff:ffff:ffff:ffff", f"[{net}::2]:443", f"{net}:0:0:0:3"):
        authorize(server, ("X-Forwarded-For", address), path="/v1/authorize/count")
    authorize(server, ("Forwarded", f'for="[{net}::4]:1"'), path="/v1/authorize/count")
    assert used(server, f"{net}:1:2:3:4") == 5
    assert used(server, f"{other}::1") == 0


def test_the_rules_say_how_many_bits_count():
    identity = "identity: { ipv4_prefix: 24, ipv6_prefix: 48 }\n"
    with Server(identity + RULES) as server:
        for address in ("203.0.113.1", "203.0.113.2", "203.0.112.255"):
            authorize(server, ("X-Forwarded-For", address), path="/v1/authorize/count")
        assert used(server, "203.0.113.99") == 2
        assert used(server, "203.0.112.1") == 1
        authorize(server, ("X-Forwarded-For", "2001:db8:7:1::1"), path="/v1/authorize/count")
        assert used(server, "2001:db8:7:ffff::2") == 1
        assert used(server, "2001:db8:8::") == 0


# ---- whose name ------------------------------------------------------------------


def test_the_headers_named_are_attributes_if_the_peer_is_trusted(server):
    for tenant, user in (("a", "u"), ("a", "u"), ("b", "u")):
        response = authorize(server, ("X-User", user), ("X-Tenant", tenant),
                             path="/v1/authorize/person")
        assert rule_of(response) == "person"
    for tenant, remaining in (("a", 98), ("b", 99), ("c", 100)):
        peek = server.check({"resource": "/person", "tenant": tenant, "user": "u", "peek": True})
        assert peek.json["remaining"] == remaining


def test_the_tier_too(server):
    response = authorize(server, ("X-Tier", "pro"), path="/v1/authorize/count")
    assert response.headers["X-RateLimit-Limit"] == "1000"


def test_a_strangers_headers_are_not_believed(exposed):
    response = authorize(exposed, ("X-User", "u"), ("X-Tenant", "a"), path="/v1/authorize/person")
    assert (response.status, rule_of(response)) == (200, None)
    response = authorize(exposed, ("X-Tier", "pro"), path="/v1/authorize/count")
    assert response.headers["X-RateLimit-Limit"] == "100"


def test_two_names_for_one_caller_are_400(server):
    response = authorize(server, ("X-User", "u"), ("X-Tenant", "t"), ("X-User", "v"),
                         path="/v1/authorize/person")
    is_problem(response, 400)
