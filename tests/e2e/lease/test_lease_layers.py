"""Several rules on one request, some of them leased, costs of 1 to 20, instances killed at random:
each rule's own bound holds (docs/leases.md, L10).

    SLUICE_SEED        another seed
    SLUICE_LEASE_RUNS  how many runs (1)
"""

import json
import os
import random
import sys
from collections import Counter

import pytest

from lease_fleet import SECOND_US, Fleet, now_us
from redis_requests import PATIENT
from redis_running import Redis

SEED = os.environ.get("SLUICE_SEED", str(random.SystemRandom().randrange(10 ** 6)))
RUNS = int(os.environ.get("SLUICE_LEASE_RUNS", "1"))
WORLD, TENANT, USER = 8000, 2500, 300
RULES = """workers: 2
rules:
  - { name: world, per: global, algorithm: token_bucket, limit: %d/s }
  - { name: tenant, per: tenant, algorithm: fixed_window, limit: %d/s, lease: auto }
  - { name: user, per: user, algorithm: sliding_window_counter, limit: %d/s, lease: %s }
"""


class Layers(Fleet):
    """Asks for many at once, and knows what passed: (start, end, [(tenant, user, cost)])."""

    def __init__(self, redis, seed):
        super().__init__(redis, "token_bucket", WORLD, seed)
        rules = RULES % (WORLD, TENANT, USER, self.rng.choice(("off", "auto", "50")))
        self.rules, self.passed = f"store: {redis.url()}\n{PATIENT}{rules}", []

    def request(self):
        rng = self.rng
        return {"tenant": f"t{rng.randrange(3)}", "user": f"u{int(rng.paretovariate(0.6)) % 40}",
                "cost": rng.choice((1, 1, 1, 2, 5, 20))}

    def ask(self, each, victim=None):
        start, asked, passed = now_us(), [], []
        for number, raws in enumerate(self.connections):
            for raw in raws:
                requests = [self.request() for _ in range(each)]
                body = json.dumps(requests).encode()
                raw.send(b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                         b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
                asked.append((number, raw, requests))
        if victim is not None:
            self.servers[victim].kill()
        for number, raw, requests in asked:
            try:
                answers = raw.response().json
            except (OSError, AssertionError, ValueError):
                assert number == victim
                continue
            passed += [(request["tenant"], request["user"], request["cost"])
                       for request, answer in zip(requests, answers) if answer["allowed"]]
        self.passed.append((start, now_us(), passed))

    def beyond_world(self):
        """Over every interval."""
        sums = [(start, end, sum(row[2] for row in rows)) for start, end, rows in self.passed]
        found = []
        for first, (start, _, _) in enumerate(sums):
            units = 0
            for _, end, more in sums[first:]:
                units += more
                if units > WORLD + (end - start) * WORLD // SECOND_US:
                    found.append((units, end - start))
        return found

    def beyond_windows(self):
        """In every second, of every tenant and user, what passed in it for certain."""
        tenants, users = Counter(), Counter()
        for start, end, rows in self.passed:
            if start // SECOND_US == end // SECOND_US:
                for tenant, user, cost in rows:
                    tenants[start // SECOND_US, tenant] += cost
                    users[start // SECOND_US, tenant, user] += cost
        return [row for counts, limit in ((tenants, TENANT), (users, USER))
                for row in counts.items() if row[1] > limit]


@pytest.fixture(name="redis", scope="module")
def running_redis():
    with Redis() as redis:
        yield redis
        assert redis.keys_without_ttl() == []


@pytest.mark.parametrize("run", range(RUNS))
def test_each_rule_of_a_request_keeps_its_bound(redis, run):
    print(f"SLUICE_SEED={SEED}", file=sys.stderr)
    redis.flush()
    with Layers(redis, f"{SEED}/layers/{run}") as fleet:
        for _ in range(20):  # a busy machine asks less in that time
            fleet.run(3, kills=True, each=8)
            if sum(len(rows) for _, _, rows in fleet.passed) > 1000:
                break
    assert fleet.beyond_world() == []
    assert fleet.beyond_windows() == []
    assert sum(len(rows) for _, _, rows in fleet.passed) > 1000
