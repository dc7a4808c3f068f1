"""A fleet that leases never lets more pass than the limit (docs/leases.md): 4 servers on one Redis,
64 clients, servers killed at random; every algorithm that leases.

    SLUICE_SEED        another seed
    SLUICE_LEASE_RUNS  how many runs of each algorithm (1)
"""

import os
import random
import re
import signal
import sys
import threading
import time
from collections import Counter

import pytest

from description import check_answer_of, operation_of
from lease_script import LEASING, Composer, sha1
from lease_fleet import CLIENTS, INSTANCES, Fleet
from redis_requests import on
from redis_running import Redis, client_of, empty_redis  # noqa: F401 (fixtures)
from serving import Server
from watching import is_sanitized, wait_until

SEED = os.environ.get("SLUICE_SEED", str(random.SystemRandom().randrange(10 ** 6)))
RUNS = int(os.environ.get("SLUICE_LEASE_RUNS", "1"))
KEY = "rl:-:world:{-}"


@pytest.fixture(name="running", scope="module")
def running_redis():
    with Redis() as redis:
        yield redis


def evals(client):
    return client.info("commandstats").get("cmdstat_evalsha", {}).get("calls", 0)


HOUR = "algorithm: fixed_window, limit: 100000/h"


def leased(client, key=KEY):
    """Units that Redis knows to be out."""
    state = client.hgetall(key)
    return int(state["leased"]) + int(state["leased_before"]) if int(state["lease_end"]) else 0


@pytest.mark.parametrize("run", range(RUNS))
@pytest.mark.parametrize("algorithm", LEASING)
def test_nothing_passes_beyond_the_limit_while_instances_are_killed(redis, algorithm, run):
    print(f"SLUICE_SEED={SEED}", file=sys.stderr)
    limit = random.Random(f"{SEED}/{run}").choice((600, 2000, 6000))
    with Fleet(redis, algorithm, limit, f"{SEED}/{algorithm}/{run}") as fleet:
        fleet.run(1.8, kills=True)
        fleet.run(1)
    assert fleet.beyond() == []
    assert fleet.kills or is_sanitized()
    assert sum(told.admitted for told in fleet.rounds) > limit


@pytest.mark.parametrize("algorithm", LEASING)
def test_a_busy_key_costs_redis_little_and_little_is_missed(redis, db, algorithm):
    limit = 20_000
    with Fleet(redis, algorithm, limit) as fleet:
        fleet.run(0.4)
        before, asked = evals(db), fleet.asked()
        fleet.run(2.2)
        calls, asked = evals(db) - before, fleet.asked() - asked
        assert db.script_exists(sha1(Composer(algorithm).script("lease"))) == [True]
    assert calls * 50 <= asked, f"{calls} calls for {asked} decisions"
    assert fleet.beyond() == []
    if algorithm != "token_bucket":  # M: what 4 leases may be, and what is not asked for
        for admitted in fleet.possible().values():
            assert admitted >= min(limit, asked // 3) - INSTANCES * limit // 8 - CLIENTS


def test_what_is_held_is_given_back_in_the_end(redis, db):
    with Fleet(redis, "fixed_window", 10 ** 9, window="h") as fleet:
        fleet.run(0.5)
        assert leased(db) > 0
        time.sleep(0.2)  # until calls that are under way have their answers
    assert leased(db) == 0
    assert int(db.hget(KEY, "count")) == sum(told.admitted for told in fleet.rounds)


def metric(server, name, **labels):
    page = server.ask("GET", "/metrics").body.decode()
    wanted = ",".join(f'{label}="{value}"' for label, value in labels.items())
    found = re.search(rf"^{name}{{{wanted}}} (\d+)$", page, re.M)
    return int(found[1])


def leases_of(server):
    """What /v1/stats says of them."""
    answer = server.ask("GET", "/v1/stats")
    check_answer_of(operation_of("stats")[2], answer)
    return answer.json["store"]["leases"]


def ask_many(server, count, request=None):
    """How many of them pass."""
    answers = server.check([request or {"user": "u"}] * count).json
    return sum(answer["allowed"] for answer in answers)


def keep_busy(server, each=100):
    """Asks until it holds something: how many have passed."""
    passed = held = 0
    for _ in range(100):
        passed += ask_many(server, each)
        for _ in range(100):  # until no call is under way
            before, held = held, metric(server, "sluice_lease_held_units", rule="world")
            if before == held:
                break
            time.sleep(0.02)
        if held > 0:
            return passed
    raise AssertionError("nothing is leased")


def test_a_lease_that_is_not_used_any_more_is_given_back(redis, db):
    rules = on(redis, f"  - {{ name: world, per: global, {HOUR} }}\n")
    with Server(rules) as server:
        passed = keep_busy(server)
        assert metric(server, "sluice_lease_units_total", rule="world", end="granted") > 0
        wait_until(lambda: leased(db) == 0, "the lease is given back")
        assert int(db.hget(KEY, "count")) == passed
        ends = {end: metric(server, "sluice_lease_units_total", rule="world", end=end)
                for end in ("granted", "spent", "returned", "dropped")}
        assert ends["granted"] == ends["spent"] + ends["returned"] + ends["dropped"]
        assert ends["dropped"] == 0 and ends["returned"] > 0
        assert leases_of(server)["units"] == ends
        assert metric(server, "sluice_lease_held_units", rule="world") == 0


@pytest.mark.parametrize("algorithm", LEASING)
def test_whatever_was_granted_is_spent_returned_or_dropped_when_windows_are_over(redis, algorithm):
    rules = on(redis, f"  - {{ name: world, per: global, algorithm: {algorithm}, limit: 5000/500ms }}\n")
    with Server(rules) as server:
        for _ in range(150):
            ask_many(server, 10)
            time.sleep(0.01)
        wait_until(lambda: metric(server, "sluice_lease_most_units", rule="world") == 0,
                   "nothing is held any more")
        ends = {end: metric(server, "sluice_lease_units_total", rule="world", end=end)
                for end in ("granted", "spent", "returned", "dropped")}
        assert ends["granted"] == ends["spent"] + ends["returned"] + ends["dropped"]
        assert ends["granted"] > 0
        assert metric(server, "sluice_lease_held_units", rule="world") == 0


def test_other_rules_have_leases_given_back_and_count_on(redis, db):
    rules = on(redis, f"  - {{ name: world, per: global, {HOUR} }}\n")
    with Server(rules) as server:
        passed = keep_busy(server)
        assert leased(db)
        server.write_rules(rules.replace("100000/h", "12000/h"))
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: leased(db) == 0, "the lease is given back")
        passed += sum(ask_many(server, 500) for _ in range(26))
        assert passed <= 12000
    assert int(db.hget(KEY, "count")) == passed


def test_a_reset_gives_back_what_is_held_here_and_counts_what_is_held_elsewhere(redis, db):
    rules = on(redis, f"  - {{ name: world, per: global, {HOUR} }}\n")
    with Server(rules) as here, Server(rules) as elsewhere:
        keep_busy(here)
        keep_busy(elsewhere)
        assert here.ask("POST", "/v1/reset", {"rule": "world"}).status == 200
        assert int(db.hget(KEY, "count") or 0) == leased(db)
        assert metric(here, "sluice_lease_held_units", rule="world") == 0


TWO = """  - { name: world, per: global, algorithm: token_bucket, capacity: 100000, refill_rate: 0.1 }
  - { name: each, per: user, algorithm: fixed_window, limit: 120/h }
"""


def test_a_request_is_charged_to_all_its_rules_or_to_none(redis, db):
    """One of which is leased, and one denies often (L10)."""
    rng, passed = random.Random(SEED), Counter()
    with Server(on(redis, TWO)) as server:
        for _ in range(40):
            users = [f"u{rng.randrange(6)}" for _ in range(50)]
            answers = server.check([{"user": user} for user in users]).json
            passed.update(user for user, answer in zip(users, answers) if answer["allowed"])
        assert metric(server, "sluice_lease_units_total", rule="world", end="granted") > 0
    assert all(count <= 120 for count in passed.values())
    assert len(passed) == 6 and max(passed.values()) == 120
    total = sum(passed.values())
    tokens = int(db.hget(KEY, "tokens"))
    # What was put back after a call had told of it stays spent.
    assert total <= 100_000 - tokens <= total + 100


def test_who_only_looks_is_told_what_is_left_here_too_and_reservations_see_it_counted(redis):
    rules = on(redis, f"  - {{ name: world, per: global, {HOUR} }}\n")
    with Server(rules) as server:
        passed = keep_busy(server)
        held = metric(server, "sluice_lease_held_units", rule="world")
        told = leases_of(server)
        assert (told["held_units"], told["short"]) == (held, 0)
        assert held <= told["most_units"] <= 100_000 // 8
        assert told["calls"]["granted"] > 0
        looked = server.check({"user": "u", "peek": True}).json
        assert looked["remaining"] == 100_000 - passed
        assert held > 0
        reserved = server.ask("POST", "/v1/reserve", {"user": "u", "cost": 5}).json
        assert reserved["remaining"] == 100_000 - passed - held - 5


def test_without_redis_leases_are_spent_until_they_end(redis):
    rules = on(redis, f"  - {{ name: world, per: global, {HOUR}, lease: 3000 }}\n")
    with Server(rules) as server:
        keep_busy(server)
        redis.kill()
        answers = server.check([{"user": "u"}] * 20).json
        wait_until(lambda: server.check({"user": "u"}).json["reason"] == "store_unavailable",
                   "the lease has ended")
        redis.restart()
    assert {answer["reason"] for answer in answers} <= {"ok", "store_unavailable"}


@pytest.mark.parametrize("algorithm", ("fixed_window", "token_bucket"))
def test_a_redis_that_forgets_what_is_out_lets_too_much_pass(redis, db, algorithm):
    """So that the judge is one who can say no."""
    done = threading.Event()

    def forget():
        while not done.is_set():
            if db.hget(KEY, "lease_end"):
                db.hset(KEY, mapping={"lease_end": 0, "leased": 0, "leased_before": 0, "count": 0})
            time.sleep(0.01)

    other = threading.Thread(target=forget)
    with Fleet(redis, algorithm, 2000) as fleet:
        other.start()
        try:
            fleet.run(2)
        finally:
            done.set()
            other.join()
    assert fleet.beyond()
