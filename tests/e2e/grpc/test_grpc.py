"""ShouldRateLimit as Envoy asks it, on both stores; and what happens to calls that are under way."""

import contextlib
import socket
import ssl
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

import certificates
from grpc_messages import (OK, OVER_LIMIT, channel_to, fields_of, request, rls, should_rate_limit,
                           units)
from h2_talking import LIMIT, Talk, frame, framed
from redis_running import Redis
from serving import TIMEOUT_S, Server

LISTEN = {"http": "127.0.0.1:0", "grpc": "127.0.0.1:0"}
RULES = """
exempt: { users: [shop/root] }
tiers: { pro: { scale: 10 }, free: { scale: 1 } }
rules:
  - { name: user, when: { descriptor: user }, per: user, algorithm: fixed_window, limit: 2/365d }
  - { name: path, when: { descriptor: "path" }, resource: /api/*, per: resource,
      algorithm: fixed_window, limit: 1/365d }
  - { name: address, when: { descriptor: remote_address }, per: ip, algorithm: fixed_window,
      limit: 1/365d }
  - { name: twice, when: { descriptor: "a,a" }, per: [a, a.2], algorithm: fixed_window,
      limit: 1/365d }
  - { name: shape, when: { tenant: shop, descriptor: "a,b", a: x }, per: b,
      algorithm: fixed_window, limit: 1/365d }
  - { name: tried, when: { descriptor: shadow }, per: shadow, algorithm: fixed_window,
      limit: 1/365d, shadow: true }
  - { name: tier, when: { descriptor: "user,tier" }, per: user, algorithm: fixed_window,
      limit: 1/365d }
  - { name: bucket, when: { descriptor: bucket }, per: bucket, algorithm: token_bucket,
      limit: 2/60d }
  - { name: hour, when: { descriptor: hour }, per: hour, limit: 5/1h, algorithm: fixed_window }
"""
SECOND, MINUTE, HOUR, DAY, MONTH, YEAR = (getattr(units, name) for name in (
    "SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "YEAR"))


def port_of(server):
    return next(int(address.rpartition(":")[2]) for address in server.addresses
                if address.startswith("grpc"))


@pytest.fixture(name="running_redis", scope="module")
def one_redis():
    with Redis() as redis:
        yield redis


@pytest.fixture(name="ask", params=["memory", "redis"])
def asking(request, running_redis):
    running_redis.flush()
    store = '"memory:"' if request.param == "memory" else running_redis.url()
    with Server(f"store: {store}\nstore_deadline: 5s\n{RULES}", listen=LISTEN) as server, \
            channel_to(port_of(server)) as channel:
        call = should_rate_limit(channel)
        yield lambda asked: call(asked, timeout=TIMEOUT_S)
    assert running_redis.keys_without_ttl() == []


class Of:
    """A descriptor: pairs, and what stands beside them."""

    def __init__(self, *pairs, cost=None, limit=None):
        self.pairs, self.cost, self.limit = pairs, cost, limit

    def put(self, asked):
        made = asked.descriptors.add()
        for key, value in self.pairs:
            made.entries.add(key=key, value=value)
        if self.cost is not None:
            made.hits_addend.value = self.cost
        if self.limit:
            made.limit.requests_per_unit, made.limit.unit = self.limit


def made_of(domain, *descriptors, cost=0):
    asked = rls.RateLimitRequest(domain=domain, hits_addend=cost)
    for descriptor in descriptors:
        descriptor.put(asked)
    return asked


def user(name, **more):
    return Of(("user", name), **more)


SHADOW = Of(("shadow", "s"))
TWICE = Of(("a", "1"), ("a", "2"))
OVERRIDE = Of(("user", "u"), ("x", "y"), limit=(1, HOUR))

# Calls, one after the other, and of each what its descriptors are told: O(K), D(enied), and how
# many remain.
TABLE = {
    "counts down": [([user("u")], "O1"), ([user("u")], "O0"), ([user("u")], "D0"),
                    ([user("v")], "O1")],
    "the call's cost": [([user("u")], "O0", 2), ([user("u")], "D0", 1), ([user("v")], "D2", 3)],
    "a descriptor's own cost": [([user("u", cost=2), user("v")], "O0 O1", 1)],
    "an explicit zero": [([user("u", cost=0)], "O2"), ([user("u", cost=0)], "O2"),
                         ([user("u", cost=2)], "O0"), ([user("u", cost=0)], "D0")],
    "a large cost": [([user("u", cost=2**32 - 1)], "D2")],
    "large costs on one bucket": [([Of(("bucket", "b"))] * 2, "O0 O0"),
                                  ([Of(("bucket", "b"), cost=2**32 - 1)] * 2, "D0 D0"),
                                  ([Of(("bucket", "b"))], "D0")],
    "all or nothing": [([user("u"), user("v")], "O1 O1"), ([user("u")], "O0"),
                       ([user("v"), user("u")], "O1 D0"), ([user("v")], "O0")],
    "the same twice in one call": [([user("u"), user("u")], "O0 O0"), ([user("u")], "D0")],
    "no rule": [([Of(("other", "x"))], "O0"), ([Of(("other", "x"))], "O0")],
    "exempt": [([user("root")] * 3, f"O{2**32 - 1} O{2**32 - 1} O{2**32 - 1}")],
    "shadow": [([SHADOW], "O0"), ([SHADOW], "O0"), ([SHADOW], "O0")],
    "a path and an address": [([Of(("path", "/api/a"))], "O0"), ([Of(("path", "/api/a?q"))], "D0"),
                              ([Of(("path", "/api/b"))], "O0"),
                              ([Of(("remote_address", "192.0.2.1"))], "O0"),
                              ([Of(("remote_address", "192.0.2.1"))], "D0")],
    "a key twice": [([TWICE], "O0"), ([TWICE], "D0"), ([Of(("a", "2"), ("a", "1"))], "O0")],
    "a shape": [([Of(("a", "x"), ("b", "1"))], "O0"), ([Of(("a", "x"), ("b", "1"))], "D0"),
                ([Of(("a", "y"), ("b", "1"))], "O0"), ([Of(("b", "1"), ("a", "x"))], "O0"),
                ([Of(("a", "y"), ("b", "1"))], "O0")],
    "a tier": [([Of(("user", "u"), ("tier", "pro"))], "O9"),
               ([Of(("user", "v"), ("tier", "free"))], "O0")],
    "an override": [([OVERRIDE], "O0"), ([OVERRIDE], "D0"),
                    ([Of(("user", "u"), ("x", "z"), limit=(1, HOUR))], "O0"),
                    ([Of(("user", "u,x=y"), limit=(1, HOUR))], "O0"),
                    ([Of(("user", "u"), ("x", "y"), limit=(1, DAY))], "O0")],
    "an override of nothing": [([user("u", limit=(0, YEAR))], "D0")],
    "overrides of every unit": [([user("u", limit=(3, unit)) for unit in
                                  (MINUTE, HOUR, DAY, MONTH, YEAR)], "O2 O2 O2 O2 O2")],
    "an override and a rule": [([user("u"), OVERRIDE], "O1 O0"), ([user("u"), OVERRIDE], "O1 D0"),
                               ([user("u")], "O0")],
    "names with a NUL": [([user("u\0a")], "O1"), ([user("u\0b")], "O1"), ([user("u")], "O1")],
    "an empty value": [([user("")], "O0"), ([user("")], "O0"), ([user("")], "O0")],
}


def told(response):
    codes = {OK: "O", OVER_LIMIT: "D"}
    return " ".join(f"{codes[status.code]}{status.limit_remaining}" for status in response.statuses)


@pytest.mark.parametrize("name", TABLE)
def test_calls_are_told_what_the_table_says(ask, name):
    for number, (descriptors, wanted, *cost) in enumerate(TABLE[name]):
        response = ask(made_of("shop", *descriptors, cost=cost[0] if cost else 0))
        assert told(response) == wanted, f"call {number + 1}"
        assert response.overall_code == (OVER_LIMIT if "D" in wanted else OK)


def test_domains_are_tenants(ask):
    for domain in ("a", "b"):
        assert told(ask(made_of(domain, user("u", cost=2)))) == "O0"
        assert told(ask(made_of(domain, user("u")))) == "D0"


def test_statuses_have_limits_and_exact_times(ask):
    before = time.time()
    response = ask(made_of("shop", Of(("hour", "h")), user("u", limit=(7, MINUTE))))
    after = time.time()
    hour, minute = response.statuses
    limits = [(one.current_limit.requests_per_unit, one.current_limit.unit, one.current_limit.name)
              for one in (hour, minute)]
    assert limits == [(5, HOUR, "hour"), (7, MINUTE, "")]
    for status, unit_s in ((hour, 3600), (minute, 60)):
        left = status.duration_until_reset.seconds + status.duration_until_reset.nanos / 1e9
        ends = (unit_s - moment % unit_s for moment in (before, after))
        assert any(abs(left - end) < 5 for end in ends)


def test_a_denial_has_a_body_and_fields_for_the_client(ask):
    ask(made_of("shop", user("u", cost=2)))
    response = ask(made_of("shop", Of(("hour", "h")), user("u")))
    fields = fields_of(response)
    assert fields["content-type"] == "application/json"
    assert fields["x-ratelimit-limit"] == "2" and int(fields["retry-after"]) > 0
    assert fields["ratelimit-policy"].startswith('"user";q=2;')
    assert b'"error": "rate_limit_exceeded"' in response.raw_body
    assert fields_of(ask(made_of("shop", Of(("other", "x"))))) == {}


def test_a_tenants_own_rule_is_told_however_long_its_name_is():
    tenant, rule = "t" * 64, "r" * 64
    with Server("rules: []\n", listen=LISTEN) as server, channel_to(port_of(server)) as channel:
        assert server.ask("PUT", f"/v1/tenants/{tenant}", {}).status == 201
        assert server.ask("PUT", f"/v1/tenants/{tenant}/rules/{rule}",
                              {"per": "user", "limit": "5/1h"}).status == 201
        response = should_rate_limit(channel)(made_of(tenant, user("u")), timeout=TIMEOUT_S)
        assert response.statuses[0].current_limit.name == f"{tenant}/{rule}"
        assert fields_of(response)["ratelimit-policy"] == f'"{tenant}/{rule}";q=5;w=3600'


# ---- calls under way ------------------------------------------------------------------------


@pytest.fixture(name="slow")
def with_a_store_that_can_be_stopped(running_redis):
    running_redis.flush()
    rules = f"store: {running_redis.url()}\nstore_deadline: 20s\non_store_failure: deny\n{RULES}"
    with Server(rules, listen=LISTEN) as server:
        with contextlib.ExitStack() as stack:
            stack.callback(running_redis.cont)
            yield server, running_redis


def test_what_was_cancelled_under_way_leaves_the_connection_as_it_was(slow):
    server, redis = slow
    one = made_of("shop", user("u")).SerializeToString()
    with Talk(port_of(server)) as talk:
        assert talk.answer(talk.ask(LIMIT, one)).status == 0
        redis.stop()
        for _ in range(20):
            gone = talk.ask(LIMIT, one)
            talk.h2.reset_stream(gone, 8)
            talk.flush()
        late = talk.ask(LIMIT, made_of("shop", user("v")).SerializeToString())
        redis.cont()
        heard = talk.answer(late)
        assert heard.status == 0
        assert told(rls.RateLimitResponse.FromString(heard.message)) == "O1"


def test_a_connection_that_is_gone_under_way_is_forgotten(slow):
    server, redis = slow
    one = made_of("shop", user("u")).SerializeToString()
    redis.stop()
    for _ in range(20):
        with Talk(port_of(server)) as talk:
            talk.ask(LIMIT, one)
    redis.cont()
    with Talk(port_of(server)) as talk:
        assert talk.answer(talk.ask(LIMIT, one)).status == 0


def test_calls_under_way_are_answered_before_the_server_ends(slow):
    server, redis = slow
    with channel_to(port_of(server)) as channel, ThreadPoolExecutor(4) as pool:
        call = should_rate_limit(channel)
        call(made_of("shop", user("first")), timeout=TIMEOUT_S)
        redis.stop()
        asked = [pool.submit(call, made_of("shop", user(f"u{number}")), timeout=TIMEOUT_S)
                 for number in range(4)]
        with Talk(port_of(server)) as talk:
            stream = talk.ask(LIMIT, made_of("shop", user("last")).SerializeToString())
            time.sleep(1)  # all are read: nothing is answered on these connections meanwhile
            server.process.terminate()
            while talk.goaway is None:
                assert talk.read()
            redis.cont()
            assert talk.answer(stream).status == 0
            assert talk.ended() == "NO_ERROR"
        assert [told(one.result(TIMEOUT_S)) for one in asked] == ["O1"] * 4
    assert server.wait() == 0


def test_an_answer_that_comes_too_late_is_a_deadline_that_was_exceeded(slow):
    server, redis = slow
    with Talk(port_of(server)) as talk:
        redis.stop()
        stream = talk.ask(LIMIT, made_of("shop", user("u")).SerializeToString(),
                          ("grpc-timeout", "50m"))
        time.sleep(1)  # it is read, and its time is over
        redis.cont()
        assert talk.answer(stream).status == grpc.StatusCode.DEADLINE_EXCEEDED.value[0]


def test_a_failing_store_is_unavailable_where_the_rules_deny(running_redis):
    rules = f"store: {running_redis.url()}\nstore_deadline: 50ms\non_store_failure: %s\n{RULES}"
    for policy, status in (("deny", grpc.StatusCode.UNAVAILABLE), ("allow", None)):
        with Server(rules % policy, listen=LISTEN) as server, \
                channel_to(port_of(server)) as channel:
            running_redis.stop()
            try:
                response = should_rate_limit(channel)(made_of("shop", user("u")),
                                                      timeout=TIMEOUT_S)
                assert status is None and told(response) == "O0"
            except grpc.RpcError as error:
                assert error.code() == status
            finally:
                running_redis.cont()


# ---- connections ----------------------------------------------------------------------------


def test_two_connections_share_their_counts():
    with Server(RULES, listen=LISTEN) as server, Talk(port_of(server)) as one, \
            Talk(port_of(server)) as two:
        asked = made_of("shop", user("u")).SerializeToString()
        heard = [talk.answer(talk.ask(LIMIT, asked)) for talk in (one, two, one)]
        assert [told(rls.RateLimitResponse.FromString(each.message)) for each in heard] == \
            ["O1", "O0", "D0"]


def test_a_message_may_come_in_any_pieces():
    with Server(RULES, listen=LISTEN) as server, Talk(port_of(server)) as talk:
        data = framed(made_of("shop", user("u", cost=0)).SerializeToString())
        for piece in (1, 2, 4, 5, 6, 7, len(data) - 1):
            stream = talk.begin(LIMIT)
            for start in range(0, len(data), piece):
                talk.say(stream, data[start:start + piece])
            talk.say(stream, b"", end=True)
            assert talk.answer(stream).status == 0


def test_one_too_many_is_told_by_a_goaway():
    with Server(f"max_connections: 1\nworkers: 1\n{RULES}", listen=LISTEN) as server, \
            Talk(port_of(server)) as talk:
        asked = made_of("shop", user("u")).SerializeToString()
        assert talk.answer(talk.ask(LIMIT, asked)).status == 0
        with Talk(port_of(server)) as other:
            assert other.ended() == "NO_ERROR"
        assert talk.answer(talk.ask(LIMIT, asked)).status == 0


def test_over_tls_it_is_http2_or_nothing(tmp_path):
    pair = certificates.self_signed(tmp_path)
    listen = {"http": "127.0.0.1:0", "grpc": {"address": "127.0.0.1:0", "tls": True}}
    context = ssl.create_default_context(cafile=pair.certificate)
    with Server(f"tls: {pair.listed}\n{RULES}", listen=listen, folder=tmp_path) as server:
        def connect(*protocols):
            context.set_alpn_protocols(protocols)
            plain = socket.create_connection(("127.0.0.1", port_of(server)), TIMEOUT_S)
            return context.wrap_socket(plain, server_hostname="localhost")

        with connect("h2") as connected, Talk(None, connected) as talk:
            assert connected.selected_alpn_protocol() == "h2"
            asked = made_of("shop", user("u")).SerializeToString()
            for _ in range(50):
                assert talk.answer(talk.ask(LIMIT, asked)).status == 0
        with pytest.raises(ssl.SSLError):
            connect("http/1.1")


# ---- seeing it ------------------------------------------------------------------------------


def test_it_is_counted_apart_from_http():
    with Server(RULES, listen=LISTEN) as server:
        with Talk(port_of(server)) as talk:
            for cost, status in ((1, 0), (1, 0), (2**32, 3)):
                asked = made_of("shop", user("u", cost=cost)).SerializeToString()
                assert talk.answer(talk.ask(LIMIT, asked)).status == status
            assert talk.answer(talk.begin(LIMIT, kind="text/plain")).http == 415
            talk.send(frame(0, 0, 0, b"x"))
            assert talk.ended() == "PROTOCOL_ERROR"
        page = server.ask("GET", "/metrics").body.decode()
        counts = {"OK": 2, "INVALID_ARGUMENT": 1, "UNKNOWN": 1, "UNAVAILABLE": 0}
        for status, count in counts.items():
            assert f'\nsluice_grpc_responses_total{{status="{status}"}} {count}\n' in page
        assert "\nsluice_grpc_malformed_total 1\n" in page
        assert "\nsluice_http_malformed_total 0\n" in page
        assert '\nsluice_http_responses_total{code="2xx"} 0\n' in page
        assert '\nsluice_http_responses_total{code="4xx"} 0\n' in page
