"""However a server is asked, there is one count: over HTTP, gRPC and the Redis protocol, and by
`sluice check` beside it; on a table and on a real Redis; in two servers on one table.

Windows are so long that nothing comes back while a test runs. Moments are compared, not waited
for: what gRPC says as a duration must fit what the others say as a moment.
"""

import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest

from grpc_messages import OVER_LIMIT, fields_of, request, should_rate_limit
from redis_running import Redis
from fronts import TIMEOUT_S, WAYS, Ways

LIMIT = 8
SLACK_US = 1_000_000  # between the clock of the store and ours
ALGORITHMS = {
    "fixed_window": "capacity: 8, window: 90d, align: first_request",
    "sliding_window_log": "capacity: 8, window: 1d",
    "sliding_window_counter": "capacity: 8, window: 90d",
    "token_bucket": "capacity: 8, refill_rate: 0.0001",
    "leaky_bucket": "capacity: 8, refill_rate: 0.0001",
}
users = (f"user-{number}" for number in itertools.count())


def rules_on(store):
    return f"store: {store}\nstore_deadline: 10s\nworkers: 2\nrules:\n" + "".join(
        f"  - {{ name: {name}, when: {{ kind: {name} }}, per: user, algorithm: {name}, {numbers} }}\n"
        for name, numbers in ALGORITHMS.items())


@pytest.fixture(name="server", params=["memory", "redis"], scope="module")
def running(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("count")
    if request.param == "memory":
        with Ways(rules_on("memory:limits.slu?size=8M"), folder=folder) as server:
            yield server
        return
    with Redis() as redis, Ways(rules_on(redis.url()), folder=folder) as server:
        yield server
        assert redis.keys_without_ttl() == []


@pytest.fixture(name="user")
def unique_user():
    return next(users)


@pytest.fixture(name="algorithm", params=ALGORITHMS)
def one_of_five(request):
    return request.param


def fits(one, other):
    """Two ranges of moments have one in common."""
    return one[0] <= other[1] + SLACK_US and other[0] <= one[1] + SLACK_US


# ---- one server ----


@pytest.mark.parametrize("first", range(len(WAYS)), ids=WAYS)
def test_each_way_counts_what_the_others_have(server, algorithm, user, first):
    order = WAYS[first:] + WAYS[:first]
    said = [server.by(way, user=user, kind=algorithm) for way in order * 3]
    assert [each.allowed for each in said] == [True] * LIMIT + [False] * 4
    assert [each.remaining for each in said] == [*range(LIMIT - 1, -1, -1), 0, 0, 0, 0]
    assert {(each.rule, each.limit) for each in said} == {(algorithm, LIMIT)}


def test_a_denial_is_told_alike(server, algorithm, user):
    for _ in range(LIMIT):
        assert server.by("resp", user=user, kind=algorithm).allowed
    said = [server.by(way, user=user, kind=algorithm) for way in WAYS + WAYS]
    assert not any(each.allowed for each in said)
    retries = [each.retry_after for each in said]
    assert retries == sorted(retries, reverse=True) and retries[-1] > 0
    assert retries[0] - retries[-1] <= TIMEOUT_S
    assert all(fits(each.reset_at_us, said[0].reset_at_us) for each in said)


def test_moments_are_the_same_to_the_microsecond(server, algorithm, user):
    """Where both name one, and nothing is charged in between."""
    server.by("grpc", user=user, kind=algorithm, cost=3)
    over_http, over_resp = (server.by(way, user=user, kind=algorithm, peek=True)
                            for way in ("http", "resp"))
    if algorithm != "sliding_window_counter":  # whose estimate moves with every moment
        assert over_http.reset_at_us == over_resp.reset_at_us
    assert fits(over_http.reset_at_us, over_resp.reset_at_us)


@pytest.mark.parametrize("way", WAYS)
def test_a_peek_is_told_what_others_left_and_takes_nothing(server, algorithm, user, way):
    server.by("http", user=user, kind=algorithm, cost=2)
    server.by("grpc", user=user, kind=algorithm, cost=1)
    said = [server.by(way, user=user, kind=algorithm, peek=True) for _ in range(2)]
    assert [(each.allowed, each.remaining) for each in said] == [(True, LIMIT - 3)] * 2


@pytest.mark.parametrize("way", WAYS)
def test_costs_are_the_same_by_every_way(server, algorithm, user, way):
    assert server.by(way, user=user, kind=algorithm, cost=5).remaining == LIMIT - 5
    assert not server.by(way, user=user, kind=algorithm, cost=4).allowed
    assert [server.by(other, user=user, kind=algorithm, cost=1).remaining
            for other in WAYS[:3]] == [2, 1, 0]


def test_tenants_are_apart_by_every_way(server, algorithm, user):
    for way in WAYS:
        server.by(way, user=user, kind=algorithm, tenant="one", cost=2)
    assert [server.by(way, user=user, kind=algorithm, tenant="two", peek=True).remaining
            for way in WAYS] == [LIMIT] * len(WAYS)


def test_all_at_once_pass_exactly_as_often_as_there_is_room(server, algorithm, user):
    """From threads of their own, over three protocols."""
    with ThreadPoolExecutor(12) as pool:
        said = list(pool.map(lambda way: server.by(way, user=user, kind=algorithm),
                             WAYS[:3] * 12))
    assert sum(each.allowed for each in said) == LIMIT
    assert sorted(each.remaining for each in said if each.allowed) == list(range(LIMIT))


def test_a_pipeline_is_answered_in_order_on_any_store(server, algorithm, user):
    """Also where the store answers later, with commands in between that need none."""
    pipeline = server.redis.pipeline(transaction=False)
    for number in range(2 * LIMIT):
        pipeline.execute_command("SLUICE.CHECK", "user", user, "kind", algorithm, "tenant", "shop")
        pipeline.execute_command("ECHO", f"word-{number}")
        pipeline.execute_command("CL.THROTTLE", user + algorithm, LIMIT - 1, 1, 3600)
    replies = pipeline.execute()
    left = [*range(LIMIT - 1, -1, -1), *[0] * LIMIT]
    assert [dict(zip(reply[::2], reply[1::2]))["remaining"] for reply in replies[::3]] == left
    assert replies[1::3] == [f"word-{number}" for number in range(2 * LIMIT)]
    assert [reply[2] for reply in replies[2::3]] == left


def test_header_fields_over_grpc_are_those_over_http(server, algorithm, user):
    body = {"tenant": "shop", "resource": "/api/videos", "user": user, "kind": algorithm}
    for _ in range(LIMIT):
        server.check(body)
    over_http = server.check(body).headers
    entries = [(name, value) for name, value in body.items() if name != "tenant"]
    response = should_rate_limit(server.channel)(request("shop", entries), timeout=TIMEOUT_S)
    assert response.overall_code == OVER_LIMIT
    over_grpc = fields_of(response)
    for name in ("x-ratelimit-limit", "x-ratelimit-remaining", "ratelimit-policy"):
        assert over_grpc[name] == over_http[name]
    for name in ("ratelimit", "retry-after", "x-ratelimit-reset"):  # these name times
        assert name in over_grpc and name in over_http


# ---- two servers ----


@pytest.fixture(name="pair", scope="module")
def two_on_one_table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pair")
    rules = rules_on("memory:shared.slu?size=8M")
    with Ways(rules, folder=folder) as one, Ways(rules, folder=folder) as other:
        yield one, other


def test_two_servers_on_one_table_have_one_count(pair, algorithm, user):
    order = [(server, way) for way in WAYS for server in pair]
    said = [server.by(way, user=user, kind=algorithm) for server, way in order]
    assert [each.remaining for each in said] == list(range(LIMIT - 1, -1, -1))
    assert [server.by(way, user=user, kind=algorithm).allowed
            for server, way in order] == [False] * len(order)


def test_a_limit_that_a_command_brings_is_one_count_in_two_servers(pair, user):
    replies = [server.redis.execute_command("CL.THROTTLE", user, 4, 1, 86400)
               for server in pair * 3]
    assert [reply[:3] for reply in replies] == [[0, 5, left] for left in (4, 3, 2, 1, 0)] + [
        [1, 5, 0]]


def test_an_envoy_override_is_one_count_in_two_servers(pair, user):
    made = request("shop", [("key", user)])
    made.descriptors[0].limit.requests_per_unit = 3
    made.descriptors[0].limit.unit = 6  # a year
    said = [should_rate_limit(server.channel)(made, timeout=TIMEOUT_S) for server in pair * 2]
    assert [each.statuses[0].limit_remaining for each in said] == [2, 1, 0, 0]
    assert [each.overall_code == OVER_LIMIT for each in said] == [False, False, False, True]
