"""A limit that is changed while units of it are leased, or reserved: only a request under the new one
cuts what is owed to that. What comes back under the old one lets nothing pass twice
(docs/leases.md, L1).
"""

import signal

import pytest

from lease_script import SECOND, Key, Lease, Scripts
from redis_requests import ALGORITHMS, numbers, on
from redis_running import Redis, client_of, empty_redis  # noqa: F401 (fixtures)
from serving import Server
from test_lease import keep_busy, leased_now
from watching import wait_until

START = 1_700_000_000_000_000
TOKEN = 1000 * 10 ** 6  # ns
KEY = "rl:-:world:{-}"


@pytest.fixture(name="running", scope="module")
def running_redis():
    with Redis() as redis:
        yield redis


@pytest.fixture(name="client")
def raw_client(redis):
    with redis.client(decode_responses=False) as client:
        yield client


# ---- the scripts ------------------------------------------------------------


class Leased:
    """A bucket of 400 tokens, 47 of them leased; then a limit of 4000 is in force, and 3500 of it are
    asked for."""

    def __init__(self, client, span=TOKEN):
        self.key = Key(Scripts(client), "token_bucket", 400, TOKEN)
        assert self.key.decide(START, 10)
        self.lease = self.key.lease(START, Lease(), 47)
        assert self.lease.granted == 47
        self.key.limit = 4000, span
        assert self.key.decide(START, 3500)
        assert not self.key.decide(START, 500)

    def under(self, capacity, span=TOKEN):
        self.key.limit = capacity, span
        return self.key

    def left(self, span=TOKEN):
        """How many pass under the limit in force."""
        key = self.under(4000, span)
        least = next(cost for cost in range(4000, -1, -1) if key.decide(START, cost, peek=True))
        return least


@pytest.mark.parametrize("spent", (0, 12, 47))
@pytest.mark.parametrize("want", (0, 50))
def test_a_lease_of_a_lower_capacity_that_comes_back_cuts_no_debt(client, spent, want):
    leased = Leased(client)
    leased.under(400).lease(START, Lease(leased.lease.term, 0, spent, 0, 47 - spent), want)
    assert leased.left() == 4000 - 10 - 3500 - spent


@pytest.mark.parametrize("rate", (1000, 7, 3))
def test_a_lease_of_a_higher_rate_that_comes_back_has_no_debt_paid_faster(client, rate):
    leased = Leased(client, TOKEN * rate)
    leased.under(400).lease(START, Lease(leased.lease.term, 0, 7, 0, 40), 0)
    assert leased.left(TOKEN * rate) == 4000 - 10 - 3500 - 7
    assert int(client.hget(Key.name, "token_ns")) == TOKEN * rate


def test_what_is_owed_stays_a_number_however_dear_the_tokens_are(client):
    """A million of the old ones are more than any span of the new."""
    key = Key(Scripts(client), "token_bucket", 8_000_000, 1000)
    lease = key.lease(START, Lease(), 1_000_000)
    assert lease.granted == 1_000_000
    key.limit = 90, 86400 * 10 ** 9
    assert not key.decide(START, 1)
    assert key.lease(START, Lease(), 0, need=1).granted == 0
    key.limit, key.compares = (8_000_000, 1000), False
    key.lease(START, Lease(lease.term, 0, 1_000_000, 0, 0), 0)
    assert int(client.hget(Key.name, "debt_ns")) <= 90 * 86400 * 10 ** 9
    key.limit = 90, 86400 * 10 ** 9
    assert not key.decide(START, 1)


def test_a_refund_under_a_lower_capacity_gives_back_only_what_it_is(client):
    leased = Leased(client)
    assert leased.under(400).refund(START, 10, START) == 10
    assert leased.left() == 4000 - 3500 - 47


@pytest.mark.parametrize("span", (TOKEN, 3 * TOKEN, TOKEN // 2))
def test_an_overcharge_under_a_lower_capacity_cuts_no_debt(client, span):
    leased = Leased(client)
    leased.under(400, span).overcharge(START, 5)
    assert leased.left() == 4000 - 10 - 3500 - 47


@pytest.mark.parametrize("span", (TOKEN, 3 * TOKEN, TOKEN // 2))
def test_an_overcharge_under_any_rate_is_charged(client, span):
    leased = Leased(client)
    leased.under(4000, span).overcharge(START, 5)
    assert leased.left() == 4000 - 10 - 3500 - 47 - 5


@pytest.mark.parametrize("algorithm", ("fixed_window", "sliding_window_counter"))
def test_a_call_that_needs_nothing_starts_no_key_of_another_window_afresh(client, algorithm):
    scripts = Scripts(client)
    old, new = (Key(scripts, algorithm, 4000, span) for span in (10 * SECOND, 20 * SECOND))
    lease = old.lease(START, Lease(), 100)
    assert new.decide(START, 3900)
    old.compares = False
    window = lease.told[0]
    for call in (Lease(lease.term, window, 10, 90, 0), Lease(lease.term, window, 10, 0, 90), Lease()):
        assert old.lease(START, call, 100).granted == 0
    assert not new.decide(START, 101)
    assert old.lease(START, Lease(), 100, need=1).granted > 0  # which is a request of the old one


# ---- servers ----------------------------------------------------------------


def change(server, rules):
    before = server.check({"user": "u", "peek": True}).json["limit"]
    server.write_rules(rules)
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.check({"user": "u", "peek": True}).json["limit"] != before,
               "other rules are in force")


def passes(server, cost):
    return server.check({"user": "u", "cost": cost}).json["allowed"]


def bucket(redis, capacity):
    """Of which nothing comes back meanwhile."""
    return on(redis, f"  - {{ name: world, per: global, algorithm: token_bucket, capacity: {capacity}, "
                     f"refill_rate: 0.001, lease: auto }}\n")


def test_a_capacity_that_is_raised_is_not_spent_twice(redis, db):
    with Server(bucket(redis, 400)) as server:
        keep_busy(server, 8)
        change(server, bucket(redis, 4000))
        assert passes(server, 3500)
        wait_until(lambda: leased_now(db) == 0, "the lease is given back")
        assert not passes(server, 3500)


@pytest.mark.parametrize("end", ("cancel", "commit"))
def test_the_end_of_a_reservation_does_not_forget_what_others_owe(redis, db, end):
    with Server(bucket(redis, 400)) as server:
        held = server.ask("POST", "/v1/reserve", {"user": "u", "cost": 10}).json["reservation"]
        change(server, bucket(redis, 4000))
        assert passes(server, 3000)
        wait_until(lambda: keep_busy(server, 8) and db.hget(KEY, "lease_end") != "0",
                   "something is out")
        assert server.ask("POST", f"/v1/{end}", {"reservation": held, "cost": 20} if end == "commit"
                          else {"reservation": held}).status == 200
        assert not passes(server, 3000)


# ---- another window or algorithm ----------------------------------------------


def rule(redis, algorithm, other=False):
    """The other is one of the same algorithm, in another window; of a bucket, a window."""
    text = numbers(algorithm, 100)
    if other:
        algorithm = "fixed_window" if algorithm.endswith("bucket") else algorithm
        text = "limit: 101/300d"
    return on(redis, f"  - {{ name: world, per: global, algorithm: {algorithm}, {text} }}\n")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_what_a_reservation_used_is_not_charged_where_another_window_counts(redis, db, algorithm):
    with Server(rule(redis, algorithm)) as server:
        held = server.ask("POST", "/v1/reserve", {"user": "u", "cost": 1}).json["reservation"]
        change(server, rule(redis, algorithm, other=True))
        assert passes(server, 95)
        assert server.ask("POST", "/v1/commit", {"reservation": held, "cost": 2}).status == 200
        assert not passes(server, 7)
        assert passes(server, 6)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_what_a_reservation_used_is_charged_where_nothing_counts_any_more(redis, db, algorithm):
    with Server(rule(redis, algorithm)) as server:
        held = server.ask("POST", "/v1/reserve", {"user": "u", "cost": 1}).json["reservation"]
        db.delete(KEY)
        assert server.ask("POST", "/v1/commit", {"reservation": held, "cost": 4}).status == 200
        assert server.check({"user": "u", "peek": True}).json["remaining"] == 97
