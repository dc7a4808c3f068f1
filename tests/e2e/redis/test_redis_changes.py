"""What changes counts besides a request, on Redis: reservations and their end, and resets.

Servers share the Redis, and what one did another undoes.
"""

import contextlib

import pytest

from admin_api import Caller
from program import run
from redis_requests import ALGORITHMS, ANY, PATIENT, on, one
from redis_running import Redis, client_of, empty_redis  # noqa: F401
from serving import Server
from watching import wait_until

ALL = pytest.mark.parametrize("algorithm", ALGORITHMS)
LIMIT = 1000
QUEUE = "rl:~reservations"
GUARD = ", burst_guard: { window: 1ms, threshold: 1, penalty: 1h }"


def rules_text():
    rules = [one(algorithm, algorithm, LIMIT) for algorithm in ALGORITHMS]
    layers = [one(f"layer-{algorithm}", algorithm, LIMIT, resource="/layers")
              for algorithm in ALGORITHMS]
    return "".join([*rules, *layers, one("guarded", "fixed_window", LIMIT, GUARD),
                    one("everybody", "fixed_window", LIMIT, per="ip")])


@pytest.fixture(name="running", scope="module")
def running_redis():
    with Redis() as redis:
        yield redis


@pytest.fixture(name="servers", scope="module")
def two_servers(running):
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Server(on(running, rules_text()))) for _ in range(2)]


@pytest.fixture(autouse=True)
def nothing_is_remembered(redis, servers):
    """A caller that was denied before Redis was emptied would be denied for a second more."""
    for server in servers:
        assert Caller(server).post("/v1/reset", {"rule": "guarded", "user": "nobody"}).status == 200


def reserve(server, path, cost=500, user="u", **more):
    return server.ask("POST", "/v1/reserve",
                      {"user": user, "resource": path, "cost": cost, **more})


def commit(server, reservation, cost):
    return server.ask("POST", "/v1/commit", {"reservation": reservation, "cost": cost})


def cancel(server, reservation):
    return server.ask("POST", "/v1/cancel", {"reservation": reservation})


def left(server, path, user="u"):
    answer = server.check({"user": user, "resource": path, "peek": True})
    assert answer.json["reason"] != "store_unavailable", answer.body
    return answer.json["remaining"]


# ---- reservations ---------------------------------------------------------------------------


@ALL
@pytest.mark.parametrize("real", [0, 1, 320, 500, 501, 1000, 1500])
def test_a_commit_charges_the_real_cost(servers, db, algorithm, real):
    a, b = servers
    answer = reserve(a, f"/{algorithm}")
    assert (answer.status, answer.json["remaining"]) == (200, 500)
    reservation = answer.json["reservation"]
    assert left(b, f"/{algorithm}") == 500
    done = commit(b, reservation, real)
    assert (done.status, done.json) == (200, {"reservation": reservation, "committed": True,
                                              "cost": real})
    assert left(a, f"/{algorithm}") == max(0, LIMIT - real)
    assert not [key for key in db.keys() if "~reservation:" in key]
    assert db.zcard(QUEUE) == 0


@ALL
def test_a_cancel_gives_all_of_it_back(servers, algorithm):
    a, b = servers
    a.check({"user": "u", "resource": f"/{algorithm}", "cost": 7})
    answer = reserve(a, f"/{algorithm}")
    assert answer.json["reservation"], answer.body
    reservation = answer.json["reservation"]
    assert cancel(b, reservation).status == 200
    assert left(a, f"/{algorithm}") == LIMIT - 7
    assert [call.status for call in (cancel(a, reservation), commit(b, reservation, 1))] \
        == [404, 404]
    assert left(b, f"/{algorithm}") == LIMIT - 7


def test_a_reservation_that_is_not_settled_comes_back_from_redis(servers, db):
    a, b = servers
    held = [reserve(a, f"/{algorithm}", expires_in=0.05).json["reservation"]
            for algorithm in ALGORITHMS]
    for algorithm in ALGORITHMS:
        wait_until(lambda path=f"/{algorithm}": left(b, path) == LIMIT, "it comes back")
    assert [commit(a, reservation, 5).status for reservation in held] == [404] * len(held)
    wait_until(lambda: db.zcard(QUEUE) == 0, "it is gone")
    assert [left(a, f"/{algorithm}") for algorithm in ALGORITHMS] == [LIMIT] * len(ALGORITHMS)


def test_what_a_dead_server_had_reserved_comes_back(redis, servers):
    with Server(on(redis, rules_text())) as doomed:
        assert reserve(doomed, "/fixed_window", expires_in=0.5).status == 200
        doomed.kill()
    wait_until(lambda: left(servers[0], "/fixed_window") == LIMIT, "it comes back")


def test_every_rule_of_a_request_is_held_and_given_back(servers):
    def rows(server):
        answer = server.check({"user": "u", "resource": "/layers", "peek": True, "explain": True})
        return [row["remaining"] for row in answer.json["rules"]]

    a, b = servers
    reservation = reserve(a, "/layers").json["reservation"]
    assert rows(b) == [500] * len(ALGORITHMS)
    assert commit(b, reservation, 300).status == 200
    assert rows(a) == [700] * len(ALGORITHMS)
    reservation = reserve(b, "/layers", 100).json["reservation"]
    assert cancel(a, reservation).status == 200
    assert rows(b) == [700] * len(ALGORITHMS)


def test_a_reservation_is_a_key_and_a_place_in_the_queue(servers, db):
    answer = reserve(servers[0], "/token_bucket", 300, expires_in=600)
    reservation, expires_us = answer.json["reservation"], answer.json["expires_at_us"]
    held = [key for key in db.keys() if key.startswith("rl:~reservation:{")]
    assert len(held) == 1
    assert held[0][len("rl:~reservation:{"):-1] in reservation
    fields = db.hgetall(held[0])
    assert (fields["cost"], int(fields["expires"])) == ("300", expires_us)
    assert db.zrange(QUEUE, 0, -1, withscores=True)[0][1] == expires_us
    for key in (held[0], QUEUE):
        assert 600 < db.ttl(key) <= 661
    reserve(servers[0], "/token_bucket", 300, expires_in=60)
    assert db.ttl(QUEUE) > 600  # the longest counts
    reserve(servers[0], "/token_bucket", 300, expires_in=6000)
    assert db.ttl(QUEUE) > 6000


def test_what_is_denied_or_costs_nothing_holds_nothing(servers, db):
    for cost in (0, 1001):
        assert reserve(servers[0], "/fixed_window", cost).json["reservation"] is None
    assert db.keys() == []


def test_a_stranger_cannot_settle(servers):
    reservation = reserve(servers[0], "/fixed_window").json["reservation"]
    front, _, secret = reservation.partition("-")
    guess = f"{front}-{int(secret, 16) ^ 1:016x}"
    assert [call.status for call in (commit(servers[0], guess, 0), cancel(servers[1], guess))] \
        == [404, 404]
    assert left(servers[0], "/fixed_window") == 500
    assert cancel(servers[1], reservation).status == 200


# ---- resets ---------------------------------------------------------------------------------


@ALL
def test_a_reset_forgets_one_identifier(servers, db, algorithm):
    a, b = servers
    for user in ("u", "another"):
        assert a.check({"user": user, "resource": f"/{algorithm}", "cost": 400}).status == 200
    answer = Caller(b).post("/v1/reset", {"rule": algorithm, "user": "u"})
    assert answer.json == {"reset": [algorithm]}
    assert db.keys() == [f"rl:-:{algorithm}:{{another}}"]
    assert [left(a, f"/{algorithm}", user) for user in ("u", "another")] == [LIMIT, LIMIT - 400]


def test_a_reset_goes_by_tenant(servers, db):
    for tenant in ("t1", "t2"):
        servers[0].check({"user": "u", "resource": "/fixed_window", "tenant": tenant})
    Caller(servers[1]).post("/v1/reset", {"rule": "fixed_window", "user": "u", "tenant": "t1"})
    assert db.keys() == ["rl:{t2}:fixed_window:u"]


def test_a_reset_of_every_rule_that_matches(servers, db):
    servers[0].check({"user": "u", "resource": "/layers"})
    assert len(db.keys()) == len(ALGORITHMS)
    answer = Caller(servers[1]).post("/v1/reset", {"user": "u", "resource": "/layers"})
    assert len(answer.json["reset"]) == len(ALGORITHMS)
    assert db.keys() == []


def test_a_reset_lifts_a_block(servers, db):
    def ask(times):
        return [servers[0].check({"user": "u", "resource": "/guarded"}).json["reason"]
                for _ in range(times)]

    def is_blocked():
        array = [{"user": "u", "resource": "/guarded"}] * 20  # together, so within a millisecond
        servers[0].ask("POST", "/v1/check", array)
        return ask(1) == ["burst_blocked"]

    wait_until(is_blocked, "blocked")
    Caller(servers[1]).post("/v1/reset", {"rule": "guarded", "user": "u"})
    assert db.keys() == []
    wait_until(lambda: ask(1) == ["ok"], "elsewhere that is seen within a second")


# ---- users ----------------------------------------------------------------------------------


@ALL
def test_trust_raises_a_limit_under_a_live_key(redis, tmp_path, algorithm):
    """2 of 10 are counted; with a trust of 0.5 the limit is 15, and what was counted stays. A
    bucket's rate is another then, and what it has is rounded, never in favour of the caller."""
    is_bucket = algorithm.endswith("bucket")
    numbers = "capacity: 10, refill_rate: 0.00001" if is_bucket else "limit: 10/365d"
    path = tmp_path / "rules.yaml"
    path.write_text(on(redis, f"  - {{ name: api, per: user, algorithm: {algorithm}, {numbers}, "
                              "adaptive: true }\n"), encoding="utf-8")

    def gives(limit, left, *options):
        done = run("check", "-c", path, "--user", "u", "--json", *options)
        answer = done.lines[0]
        assert answer["limit"] == limit
        assert left - is_bucket <= answer["remaining"] <= left

    gives(10, 8, "--cost", "2")
    gives(15, 13, "--trust", "0.5", "--peek")
    gives(15, 12, "--trust", "0.5")
    gives(10, 7, "--peek")


def test_limits_of_a_user_count_on_redis(redis):
    with Server(on(redis, one("api", "fixed_window", 10, resource=ANY), PATIENT)) as server:
        assert server.check({"user": "u"}).json["remaining"] == 9
        Caller(server).put("/v1/users/u", {"limits": {"api": {"capacity": 50}}})
        assert server.check({"user": "u"}).json["remaining"] == 48
        assert server.check({"user": "other"}).json["remaining"] == 9
