"""How much less a fleet that leases lets pass (docs/leases.md): what others hold, and no more; nothing
of it is lost but what a killed instance held; and no request is kept from what is plainly there.

    SLUICE_LEASE_RUNS  how many runs of each algorithm (1)
"""

import os
import time
from contextlib import ExitStack

import pytest

from lease_script import LEASING
from redis_requests import numbers, on
from redis_running import Redis, client_of, empty_redis  # noqa: F401 (fixtures)
from serving import Server
from test_lease import ask_many, keep_busy, leased_now, metric
from watching import is_sanitized, wait_until

# The same ways are gone by test_lease.py, which a sanitizer watches.
pytestmark = pytest.mark.skipif(is_sanitized(), reason="about how many pass alone")

RUNS = int(os.environ.get("SLUICE_LEASE_RUNS", "1"))
INSTANCES, LIMIT = 4, 4000
LARGEST = LIMIT // 8  # a lease


@pytest.fixture(name="running", scope="module")
def running_redis():
    with Redis() as redis:
        yield redis


class Few:
    """A few instances, and how many have passed; of a limit of which nothing comes back meanwhile."""

    def __init__(self, stack, redis, algorithm):
        rules = on(redis, f"  - {{ name: world, per: global, algorithm: {algorithm}, "
                          f"{numbers(algorithm, LIMIT)}, lease: auto }}\n")
        self.servers = [stack.enter_context(Server(rules)) for _ in range(INSTANCES)]
        self.passed = sum(keep_busy(server, 64) for server in self.servers)

    def exhaust(self, servers):
        """Asks these until Redis has nothing left for any instance: the wait is a long one then."""
        def is_exhausted(server):
            answers = server.check([{"user": "u"}] * 64).json
            self.passed += sum(answer["allowed"] for answer in answers)
            return min(answer["retry_after_us"] for answer in answers) > 10 ** 9

        for server in servers:
            wait_until(lambda server=server: is_exhausted(server), "nothing is left")

    def units(self, end, servers=None):
        return sum(metric(server, "sluice_lease_units_total", rule="world", end=end)
                   for server in servers or self.servers)


@pytest.mark.parametrize("run", range(RUNS))
@pytest.mark.parametrize("algorithm", LEASING)
def test_what_others_hold_is_all_that_is_missing(redis, db, algorithm, run):
    with ExitStack() as stack:
        few = Few(stack, redis, algorithm)
        few.exhaust(few.servers[:1])
        # M: what the others' leases may be.
        assert LIMIT - (INSTANCES - 1) * LARGEST <= few.passed <= LIMIT
        wait_until(lambda: leased_now(db) == 0, "unspent units are given back")
        few.exhaust(few.servers)
        # Of what was not given back in time by an instance that could not run.
        assert LIMIT - few.units("dropped") <= few.passed <= LIMIT
        assert few.units("dropped") <= INSTANCES * LARGEST


@pytest.mark.parametrize("algorithm", ("fixed_window", "token_bucket"))
def test_what_a_killed_instance_held_is_all_that_is_lost(redis, db, algorithm):
    with ExitStack() as stack:
        few = Few(stack, redis, algorithm)
        killed, *others = few.servers
        killed.kill()
        few.exhaust(others)
        wait_until(lambda: leased_now(db) == 0, "it has lapsed")
        few.exhaust(others)
        assert LIMIT - LARGEST - few.units("dropped", others) <= few.passed <= LIMIT


# ---- no request is kept from what is plainly there -----------------------------------------


@pytest.mark.parametrize("capacity", (64, 70, 100))
def test_a_small_bucket_admits_requests_for_less_than_comes_back(redis, capacity):
    """An eighth, and then for as long as it takes to be full again four times."""
    rules = on(redis, f"  - {{ name: world, per: global, algorithm: token_bucket, capacity: {capacity}, "
                      "refill_rate: 20000, lease: auto }\n")
    with Server(rules) as server:
        for _ in range(60):
            assert ask_many(server, 8) == 8
            time.sleep(capacity / 5000)
        assert metric(server, "sluice_lease_units_total", rule="world", end="granted") > 0


@pytest.mark.parametrize("align", ("epoch", "first_request"))
def test_the_start_of_a_window_denies_no_request(redis, align):
    """Of a limit that is never reached."""
    rules = on(redis, f"  - {{ name: world, per: global, algorithm: fixed_window, align: {align}, "
                      "limit: 1000000/200ms, lease: auto }\n")
    with Server(rules) as server:
        for _ in range(100):
            assert ask_many(server, 8) == 8
            time.sleep(0.01)
        assert metric(server, "sluice_lease_units_total", rule="world", end="granted") > 0
