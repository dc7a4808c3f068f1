"""The descriptors of one call are charged together or not at all: random calls, on a table and on a
real Redis, against a few lines of Python that say the same.

Windows are so long that nothing comes back while a test runs, so counts are all there is to know.
"""

import os
import random
from collections import Counter

import pytest

from grpc_messages import OK, OVER_LIMIT, request, should_rate_limit, units
from redis_running import Redis
from fronts import TIMEOUT_S, Ways

CALLS = 400
SEED = int(os.environ.get("SLUICE_SEED", 8))
LIMITS = {  # rule: what it counts by, how many, how
    "fixed": ("user", 6, "algorithm: fixed_window, align: first_request, window: 90d"),
    "log": ("client", 7, "algorithm: sliding_window_log, window: 1d"),
    "counter": ("team", 9, "window: 90d"),
    "bucket": ("user", 8, "algorithm: token_bucket, refill_rate: 0.0001"),
    "queue": ("client", 9, "algorithm: leaky_bucket, refill_rate: 0.0001"),
    "guarded": ("team", 30, "window: 90d, burst_guard: { window: 1s, threshold: 100000 }"),
}
RULES = "store_deadline: 10s\nrules:\n" + "".join(
    f"  - {{ name: {name}, per: {per}, capacity: {limit}, {numbers} }}\n"
    for name, (per, limit, numbers) in LIMITS.items()
) + "  - { name: tried, per: user, limit: 2/1d, shadow: true }\n"


OVERRIDES = [(limit, unit) for limit in (3, 5) for unit in (units.MONTH, units.YEAR)]


class Model:
    """What is counted, by rule and by user."""

    def __init__(self):
        self.counts = Counter()

    def claims(self, entries, override):
        """What is counted, and its limit."""
        if override:
            limit, unit = override
            return {("override", unit, tuple(entries.items())): limit}
        return {(rule, entries[per]): limit for rule, (per, limit, _) in LIMITS.items()
                if per in entries}

    def decide(self, descriptors):
        """Of each descriptor: is it over its limit?"""
        taken, limits = Counter(), {}
        for entries, cost, override in descriptors:
            for claim, limit in self.claims(entries, override).items():
                taken[claim] += cost
                limits[claim] = min(limit, limits.get(claim, limit))  # of two the lesser
        over = {claim for claim, limit in limits.items()
                if self.counts[claim] + (taken[claim] or 1) > limit}
        verdicts = [any(claim in over for claim in self.claims(entries, override))
                    for entries, _, override in descriptors]
        if not over:
            self.counts.update(taken)
        return verdicts


def draw(rng):
    descriptors = []
    for _ in range(rng.choice((1, 2, 2, 3, 5))):
        names = rng.sample(("user", "client", "team"), rng.randint(1, 3))
        entries = {name: f"{name}{rng.randint(1, 6)}" for name in names}
        override = rng.choice(OVERRIDES) if rng.random() < 0.25 else None
        descriptors.append((entries, rng.choice((0, 1, 1, 1, 2, 3)), override))
    return descriptors


def made_of(descriptors):
    asked = request("shop", *(list(entries.items()) for entries, _, _ in descriptors))
    for made, (_, cost, override) in zip(asked.descriptors, descriptors):
        made.hits_addend.value = cost
        if override:
            made.limit.requests_per_unit, made.limit.unit = override
    return asked


@pytest.fixture(name="server", params=["memory", "redis"])
def running(request, tmp_path):
    if request.param == "memory":
        with Ways(f"store: memory:limits.slu?size=8M\n{RULES}", folder=tmp_path) as server:
            yield server
        return
    with Redis() as redis, Ways(f"store: {redis.url()}\n{RULES}", folder=tmp_path) as server:
        yield server
        assert redis.keys_without_ttl() == []


def test_every_call_is_charged_whole_or_not_at_all(server):
    ask, model, rng = should_rate_limit(server.channel), Model(), random.Random(SEED)
    passed = 0
    for number in range(CALLS):
        descriptors = draw(rng)
        expected = model.decide(descriptors)
        said = ask(made_of(descriptors), timeout=TIMEOUT_S)
        told = f"call {number} of seed {SEED}: {descriptors}\n{said}"
        assert [status.code == OVER_LIMIT for status in said.statuses] == expected, told
        assert said.overall_code == (OVER_LIMIT if any(expected) else OK), told
        passed += not any(expected)
    assert 0.1 < passed / CALLS < 0.9  # else it shows nothing
