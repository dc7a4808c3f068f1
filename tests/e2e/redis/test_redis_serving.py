"""A server whose answers come later, from Redis: in order, each on its connection, whatever happens
to clients, rules and the wire meanwhile."""

import json
import signal
import time

import pytest

from admin_api import Caller
from messages import HEALTH, post
from redis_requests import ALGORITHMS, Crowd, asking, on, one, reasons
from redis_faults import World
from serving import Server
from watching import open_files, wait_until

LIMIT = 1000
RULES = "".join(one(name, name, LIMIT) for name in ALGORITHMS) + (
    "  - { name: queue, resource: /queue, per: user, algorithm: leaky_bucket, capacity: 50, "
    "refill_rate: 10 }\n"
    "  - { name: tried, resource: /fixed_window, per: user, algorithm: fixed_window, "
    "limit: 1/365d, shadow: true }\n")
BOUND_S = 60


@pytest.fixture(name="world", scope="module")
def with_a_wire():
    with World() as world:
        yield world
        assert world.redis.keys_without_ttl() == []


@pytest.fixture(name="server", scope="module")
def running(world):
    with Server("workers: 2\n" + on(world.url, RULES)) as server:
        yield server


@pytest.fixture(name="hurried", scope="module")
def with_a_deadline(world):
    more = "workers: 2\nstore_deadline: 1s\non_store_failure: deny\n"
    with Server(on(world.url, RULES, more)) as server:
        yield server


def fixed(user, **more):
    return {"resource": "/fixed_window", "user": user, **more}


def is_well(server):
    """All of its workers."""
    with Crowd(8, server) as crowd:
        return reasons(crowd.ask(fixed(f"{time.monotonic_ns()}"))) <= {"ok", "shadow"}


# ---- order ----------------------------------------------------------------------------------


def test_answers_stay_in_order_behind_one_that_waits(server):
    """What needs no store is not sent before what was asked earlier."""
    with server.raw() as raw:
        raw.send(b"".join([asking(fixed("order")), HEALTH, asking(fixed("order")),
                           post(b'[{"nobody": "x"}]'), asking({"user": 7.5, "cost": "x"}), HEALTH,
                           asking({"nobody": "counts"}), asking(fixed("order"))]))
        answers = [raw.response() for _ in range(8)]
    assert answers[0].json["remaining"] == LIMIT - 1
    assert answers[1].json == {"status": "ok"}
    assert answers[2].json["remaining"] == LIMIT - 2
    assert [decision["reason"] for decision in answers[3].json] == ["no_rule"]
    assert answers[4].status == 422
    assert answers[5].json == {"status": "ok"}
    assert answers[6].json["reason"] == "no_rule"
    assert answers[7].json["remaining"] == LIMIT - 3


def test_each_client_gets_its_own_answer(server):
    """Users of many connections, interleaved; each has a count of its own. Scripts that Redis does
    not know yet would be asked for again, and so decide later than what was sent behind them."""
    with Crowd(16, server) as crowd:
        crowd.ask(*({"resource": f"/{name}", "user": "first"} for name in ALGORITHMS))
        for number, raw in enumerate(crowd.raws):
            raw.send(b"".join(asking({"resource": f"/{name}", "user": f"own-{number}",
                                      "cost": number + 1}) for name in ALGORITHMS) * 3)
        for number, raw in enumerate(crowd.raws):
            for turn in range(3):
                for name in ALGORITHMS:
                    answer = raw.response().json
                    assert (answer["algorithm"], answer["remaining"]) == \
                        (name, LIMIT - (turn + 1) * (number + 1))


def test_an_array_behind_other_requests_waits_for_them(server):
    """There is no room for it beside them: what was asked before it goes off first, alone."""
    request = {"resource": "/fixed_window", "user": "array-behind"}
    with server.raw() as raw:
        raw.send(asking(request) * 40 + post(json.dumps([request] * 900).encode()) +
                 asking(request) * 5)
        before = [raw.response().json["remaining"] for _ in range(40)]
        array = [decision["remaining"] for decision in raw.response().json]
        after = [raw.response().json["remaining"] for _ in range(5)]
    assert before + array + after == list(range(LIMIT - 1, LIMIT - 946, -1))


def test_an_array_is_answered_in_order(server):
    requests = [{"resource": f"/{ALGORITHMS[i % 5]}", "user": "array"} for i in range(1000)]
    answer = server.ask("POST", "/v1/check", requests)
    assert answer.status == 200
    for i, decision in enumerate(answer.json):
        assert decision["algorithm"] == ALGORITHMS[i % 5]
        assert decision["remaining"] == LIMIT - 1 - i // 5


def test_a_burst_whose_scripts_redis_has_forgotten(world, server):
    """A thousand at once, of five kinds by turns: each script is loaded once or twice, and no
    request is lost by it."""
    assert is_well(server)
    for turn in range(3):
        world.tell("SCRIPT", "FLUSH")
        requests = [{"resource": f"/{ALGORITHMS[i % 5]}", "user": f"forgot{turn}"}
                    for i in range(1000)]
        answer = server.ask("POST", "/v1/check", requests)
        assert {decision["reason"] for decision in answer.json} <= {"ok", "shadow"}


def test_waiting_explaining_peeking_and_shadows(server):
    rows = server.check(fixed("shadow", explain=True)).json["rules"]
    assert [(row["rule"], row["remaining"]) for row in rows] == [("fixed_window", LIMIT - 1),
                                                                 ("tried", 0)]
    assert server.check(fixed("shadow")).json["reason"] == "shadow"
    for _ in range(3):
        assert server.check(fixed("shadow", peek=True)).json["remaining"] == LIMIT - 2
    start = time.monotonic()
    delays = [server.check({"resource": "/queue", "user": "wait", "wait": True}).json["delay_us"]
              for _ in range(4)]
    assert delays[0] == 0
    assert time.monotonic() - start >= 0.25  # the last three were held, for 100 ms each


def test_a_proxy_is_answered_too(server):
    first, second = (server.ask("GET", "/v1/authorize/x", headers={
        "X-Forwarded-Uri": "/fixed_window", "X-Forwarded-Method": "GET"}) for _ in range(2))
    assert first.status == second.status == 200


# ---- clients that leave, and rules that change ----------------------------------------------


def test_clients_that_leave_before_their_answer(world, hurried):
    """They are gone when it comes; others are served, and nothing is left open."""
    wait_until(lambda: is_well(hurried), "well")
    files = open_files(hurried.pid)
    for _ in range(5):
        world.wire.hold()
        crowd = Crowd(16, hurried)
        for raw in crowd.raws:
            raw.send(asking(fixed("gone")) * 3)
        crowd.__exit__()
        world.wire.heal()
        assert hurried.ask("GET", "/healthz").status == 200
    wait_until(lambda: is_well(hurried), "well again")
    wait_until(lambda: open_files(hurried.pid) <= files, "all are closed")


def test_rules_that_are_reloaded_while_answers_are_on_their_way(world):
    rules = on(world.url, RULES)
    with Server(rules) as server, Crowd(4, server) as crowd:
        world.wire.slow(0.02)
        try:
            for number in range(10):
                for raw in crowd.raws:
                    raw.send(asking(fixed("reloaded")) * 5)
                server.write_rules(rules.replace(f"limit: {LIMIT}/", f"limit: {LIMIT + number}/"))
                server.process.send_signal(signal.SIGHUP)
                for raw in crowd.raws:
                    for _ in range(5):
                        answer = raw.response()
                        assert answer.status == 200, answer.body
        finally:
            world.wire.heal()
        used = 10 * 4 * 5
        wait_until(lambda: Caller(server).remaining("fixed_window", **fixed("reloaded"))
                   == LIMIT + 9 - used, "the last rules are in force, with every count")


def test_another_store_needs_a_restart(world):
    with Server(on(world.url, RULES)) as server:
        assert server.check(fixed("another")).json["remaining"] == LIMIT - 1
        server.write_rules(on("memory:", RULES))
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "`store` needs a restart" in server.stderr, "it says so")
        assert server.check(fixed("another")).json["remaining"] == LIMIT - 2


# ---- while Redis is away --------------------------------------------------------------------


@pytest.fixture(name="away")
def without_redis(world, hurried):
    """`hurried`, whose wire leads nowhere."""
    wait_until(lambda: is_well(hurried), "well")
    world.wire.refuse()
    yield hurried
    world.wire.heal()
    wait_until(lambda: is_well(hurried), "well again")


def test_reservations_fail_as_such(world, hurried):
    """A reservation whose store is away is not unknown."""
    wait_until(lambda: is_well(hurried), "well")
    held = hurried.ask("POST", "/v1/reserve", fixed("away", cost=9)).json["reservation"]
    world.wire.refuse()
    try:
        answer = hurried.ask("POST", "/v1/reserve", fixed("away", cost=9))
        assert (answer.status, answer.json["reservation"]) == (503, None)
        for call, body in (("commit", {"reservation": held, "cost": 3}),
                           ("cancel", {"reservation": held})):
            assert hurried.ask("POST", f"/v1/{call}", body).status == 503
    finally:
        world.wire.heal()
    wait_until(lambda: is_well(hurried), "well again")
    assert hurried.ask("POST", "/v1/commit", {"reservation": held, "cost": 3}).status == 200
    assert hurried.check(fixed("away", peek=True)).json["remaining"] == LIMIT - 3


def test_a_reset_fails_as_such(away):
    start = time.monotonic()
    answer = away.ask("POST", "/v1/reset", fixed("away", rule="fixed_window"))
    assert (answer.status, answer.headers["Content-Type"]) == (503, "application/problem+json")
    assert time.monotonic() - start < BOUND_S


def test_what_needs_no_store_is_answered(away):
    assert away.ask("GET", "/healthz").status == 200
    assert away.check({"nobody": "counts"}).json["reason"] == "no_rule"
    assert Caller(away).get("/v1/rules").json["rules"]
    array = away.ask("POST", "/v1/check", [fixed("a"), {"nobody": "counts"}, fixed("b")])
    assert array.status == 200
    assert [decision["reason"] for decision in array.json] == ["store_unavailable", "no_rule",
                                                               "store_unavailable"]


def test_others_are_served_while_one_waits_for_redis(world, hurried):
    """Nothing blocks the loop: with one worker's requests held back, health is answered."""
    wait_until(lambda: is_well(hurried), "well")
    world.wire.hold()
    try:
        with Crowd(8, hurried) as crowd, Crowd(8, hurried) as others:
            for raw in crowd.raws:
                raw.send(asking(fixed("held")))
            start = time.monotonic()
            for raw in others.raws:
                raw.send(HEALTH)
                assert raw.response().status == 200
            assert time.monotonic() - start < BOUND_S
            for raw in crowd.raws:
                answer = raw.response()
                assert (answer.status, answer.json["reason"]) == \
                    (503, "store_unavailable")
    finally:
        world.wire.heal()
    wait_until(lambda: is_well(hurried), "well again")
