"""The script that leases does what docs/leases.md says: random calls of several holders, at times
of our own and on a clock that steps back, each compared with a model of the script; and of what
the holders then really admit, nothing is more than the limit allows.

    SLUICE_SEED    another seed
    SLUICE_LEASES  how many steps in all (18000)
"""

import os
import random
import sys
from collections import Counter
from fractions import Fraction

import pytest

from lease_script import LEASING, SECOND, Key, Lease, Scripts
from redis_running import Redis

SEED = os.environ.get("SLUICE_SEED", "leases")
STEPS = int(os.environ.get("SLUICE_LEASES", "18000"))
LENGTH = 300
START = 1_700_000_000_000_000


@pytest.fixture(name="redis", scope="module")
def running_redis():
    with Redis() as redis:
        yield redis
        assert redis.keys_without_ttl() == []


@pytest.fixture(name="client")
def raw_client(redis):
    redis.flush()
    with redis.client(decode_responses=False) as client:
        yield client


class Truth:
    """What was really admitted: the debt of a bucket that is charged at the very instant, or how
    many in each window."""

    def __init__(self, key):
        self.key, self.debt, self.as_of, self.windows = key, Fraction(0), 0, Counter()
        self.token, self.lives, self.last = key.model.span, 0, 0

    def at(self, real):
        self.debt = max(self.debt - Fraction((real - self.as_of) * 1000, self.token), 0)
        self.as_of = real

    def window(self):
        """The one that is open. After a step back windows may come again, and count anew."""
        if self.key.algorithm == "token_bucket":
            return None
        start = self.key.model.start
        self.lives += start < self.last
        self.last = start
        return self.lives, start

    def admit(self, real, units, window):
        model = self.key.model
        if self.key.algorithm == "token_bucket":
            self.at(real)
            self.debt += units
            assert self.debt <= model.capacity, f"{float(self.debt)} of {model.capacity}"
        else:
            self.windows[window] += units
            assert self.windows[window] <= model.capacity, (window, self.windows[window])

    def reset(self):
        self.debt, self.windows = Fraction(0), Counter()


class Holder:
    """Spends until its end, by its own clock; says what it does in calls. What it leased under
    another limit than the one in force it does not spend (L1): it gives that back, or has not heard
    yet and renews it."""

    def __init__(self):
        self.left = self.spent = self.term = self.window = self.end = 0
        self.label = self.limit = None

    def drop(self):
        self.__init__()

    def spend(self, real, units, truth):
        if real >= self.end or units > self.left or self.limit != truth.key.limit:
            return
        self.left -= units
        self.spent += units
        truth.admit(real, units, self.label)

    def call(self, now, real, truth, want, gives_back):
        key, in_force = truth.key, truth.key.limit
        lease = Lease(self.term, self.window, self.spent)
        lease.back, lease.kept = (self.left, 0) if gives_back else (0, self.left)
        key.limit = limit = self.limit or in_force
        answer = key.lease(now, lease, 0 if gives_back else want)
        key.limit = in_force
        left = lease.kept if answer.known == 1 and lease.term else 0
        self.drop()
        self.left = left + answer.granted
        if not self.left:
            return answer
        self.limit = limit
        self.term, self.label = answer.term, truth.window()
        self.window = answer.told[0] if key.algorithm != "token_bucket" else 0
        to_go = answer.end - now
        self.end = real + to_go - to_go // 512
        return answer


class Run:
    """One key, a few holders, a clock."""

    WAITS_US = 1000, 100_000, 500_000, 2 * SECOND, 5 * SECOND

    def __init__(self, scripts, algorithm, rng, seen):
        self.rng, self.seen, self.algorithm = rng, seen, algorithm
        self.key = Key(scripts, algorithm, *self.numbers())
        self.truth = Truth(self.key)
        self.holders = [Holder() for _ in range(rng.randint(1, 4))]
        self.real, self.offset = START + rng.randrange(10 * SECOND), 0
        self.charges = []

    def numbers(self):
        capacity = self.rng.choice((8, 64, 100, 1000, 50_000))
        if self.algorithm == "token_bucket":
            return capacity, self.rng.choice((1_000_000, 7_000_000, 333_000_000, 40_000))
        return capacity, self.rng.choice((100_000, SECOND, 1_500_000, 10 * SECOND, 3600 * SECOND))

    @property
    def now(self):
        return self.real + self.offset

    def wait(self):
        longest = self.rng.choice(self.WAITS_US)
        self.real += self.rng.randrange(longest)
        if self.rng.random() < 0.01:
            self.seen["stepped back"] += 1
            self.offset -= self.rng.choice((300_000, SECOND, 1_700_000, 20 * SECOND, 7300 * SECOND))

    def step(self):
        rng, key = self.rng, self.key
        self.wait()
        holder, kind = rng.choice(self.holders), rng.random()
        if kind < 0.45:
            holder.spend(self.real, rng.randint(1, max(holder.left, 1)), self.truth)
        elif kind < 0.75:
            self.call(holder)
        elif kind < 0.9:
            capacity = key.model.capacity
            cost = rng.choice((1, 1, 2, rng.randint(1, capacity + 1), capacity * 7 // 8))
            if key.decide(self.now, cost):
                self.seen["passed"] += 1
                self.charges.append((self.now, cost, key.limit))
                self.truth.admit(self.real, cost, self.truth.window())
        elif kind < 0.93:
            key.decide(self.now, rng.randint(0, 3), peek=True)
        elif kind < 0.96:
            self.seen["lost"] += holder.left > 0
            holder.drop()
        elif kind < 0.97:
            key.reset(self.now)
            self.truth.reset()
            self.charges = []
        elif self.algorithm == "token_bucket" and kind < 0.985:
            self.refund()
        elif self.algorithm == "token_bucket" and kind > 0.995:
            self.change()

    def refund(self):
        """Of a charge that another capacity may have let pass."""
        key, in_force = self.key, self.key.limit
        if self.charges and key.model.as_of <= self.now:
            at, cost, key.limit = self.charges.pop()
            self.truth.at(self.real)
            self.truth.debt = max(self.truth.debt - key.refund(self.now, cost, at), 0)
            key.limit = in_force

    def call(self, holder):
        rng, before = self.rng, Lease(holder.term, holder.window)
        total = self.key.model.terms.total()
        answer = holder.call(self.now, self.real, self.truth, rng.choice((0, 8, 96, 10_000)),
                             rng.random() < 0.25)
        self.seen["granted"] += answer.granted > 0
        self.seen["known"] += bool(before.term) and answer.known
        self.seen["unknown"] += not answer.known
        self.seen["late"] += answer.known == 2
        self.seen["lapsed"] += total > answer.out

    def change(self):
        """Other numbers, or only another capacity, from the next request on."""
        capacity, span = self.numbers()
        if self.rng.random() < 0.5:
            span = self.key.model.span
        if span != self.key.model.span:
            self.charges = []  # it is not known how much of them is paid
        self.seen["changed"] += 1
        self.key.limit = capacity, span
        self.truth.at(self.real)
        self.truth.token, self.truth.debt = span, min(self.truth.debt, capacity)
        self.key.lease(self.now, Lease(), 0, need=1)  # so that Redis knows them too
        if self.rng.random() < 0.5:
            for holder in self.holders:
                self.seen["told by another limit"] += holder.spent > 0
                holder.call(self.now, self.real, self.truth, 8, self.rng.random() < 0.5)


def play(client, steps, seed, change=lambda text: text):
    seen = Counter()
    scripts = Scripts(client, change)
    for number in range(steps // LENGTH):
        algorithm = LEASING[number % len(LEASING)]
        rng = random.Random(f"{seed}/{number}")
        run = Run(scripts, algorithm, rng, seen)
        client.flushdb()
        try:
            for _ in range(LENGTH):
                run.step()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}/{number} {algorithm}: {error}") from error
    return seen


def test_random_calls_are_as_the_document_says_and_nothing_passes_beyond_the_limit(client):
    print(f"SLUICE_SEED={SEED} SLUICE_LEASES={STEPS}", file=sys.stderr)
    seen = play(client, STEPS, SEED)
    print(dict(seen), file=sys.stderr)
    for what in ("passed", "granted", "known", "unknown", "lapsed", "lost", "changed",
                 "stepped back", "told by another limit", "late"):
        assert seen[what], what


BROKEN = {
    "what is out is not counted": [("y = math.min(y + z * span, capacity * span)", "y = y + 0")],
    "time pays what is out": [("'debt_ns', owed,", "'debt_ns', owed + granted * span,"),
                              ("'lease_end', stored_end", "'lease_end', 0")],
    "what lapses was not spent": [("lapsed * c", "0")],
    "what was spent is not charged": [("owed = owed + spent * token", "owed = owed + 0")],
    "a lease cuts the debt to its own limit": [("if need == 0 and how == 'add' then",
                                                "if need < 0 then")],
    "a term that is over is settled": [("term == ends - 1000000 and units <= older",
                                        "term < ends and known ~= 1")],
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_bucket_whose_script_is_broken_lets_too_much_pass(client, monkeypatch, what):
    """So the bound is one that can be missed, and that is seen."""
    def broken(text):
        for right, wrong in BROKEN[what]:
            text = text.replace(right, wrong)
        return text

    monkeypatch.setattr(Key, "compares", False)
    monkeypatch.setattr(f"{__name__}.LEASING", ("token_bucket",))
    with pytest.raises(AssertionError, match="seed .* of"):
        play(client, 40 * LENGTH, what, broken)
        monkeypatch.setattr(Run, "WAITS_US", Run.WAITS_US[:3])
        play(client, 40 * LENGTH, what, broken)
