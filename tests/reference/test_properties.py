"""The six properties every algorithm promises, on the reference itself."""

import random
from fractions import Fraction

import pytest

from generate import random_case
from model import Limiter, read_line
from model_algorithms import (
    BELIEVED, CARRIED, PLAIN, Bucket, Limit, SlidingWindowCounter, ceil_div, short_token_time)

CASES = 60
RULES = {
    "fixed_window": {"window": "10ms"},
    "first_request": {"window": "10ms"},
    "sliding_window_log": {"window": "10ms"},
    "sliding_window_counter": {"window": "10ms"},
    "token_bucket": {"refill_rate": "300"},
    "leaky_bucket": {"refill_rate": "300"},
}
CAPACITY = 7


def single(kind):
    """A limiter of one rule."""
    rule = {"name": "r", "per": "global", "algorithm": kind, "capacity": CAPACITY, **RULES[kind]}
    if kind == "first_request":
        rule.update(algorithm="fixed_window", align="first_request")
    return Limiter({"rules": [rule]})


def unguarded(count):
    """Random cases without burst guards, which count even what is denied."""
    number = 0
    while count:
        case = random_case(f"properties/{number}", 250)
        number += 1
        if not any("burst_guard" in rule for rule in case.rules["rules"]):
            count -= 1
            yield case


def replayed():
    """Every step of many cases: limiter, request, decision, states before."""
    for case in unguarded(CASES):
        limiter = Limiter(case.rules)
        for line in case.lines:
            request, before = read_line(line), limiter.snapshot()
            decision = limiter.decide(request)
            yield limiter, request, decision, before


def saved(limiter, request):
    """Was everything this decision rests on written down?

    A peek writes nothing, and a denial does not write a debt down that was
    carried over from a token time known only roughly.
    """
    if any(claim.how == CARRIED for claim in limiter.claims):
        return False
    return not request.get("peek") or all(
        claim.how in (PLAIN, BELIEVED, None) for claim in limiter.claims)


def at(limiter, request, time):
    """The same request at another time, leaving no trace."""
    states, claims = limiter.snapshot(), limiter.claims
    decision = limiter.decide({**request, "at_us": time})
    limiter.restore(states)
    limiter.claims = claims
    return decision


def test_exact_retry():
    checked = 0
    for limiter, request, decision, _ in replayed():
        wait = decision["retry_after_us"]
        if wait > 0 and saved(limiter, request):
            assert not at(limiter, request, request["at_us"] + wait - 1)["allowed"]
            assert at(limiter, request, request["at_us"] + wait)["allowed"]
            checked += 1
    assert checked > 500


def test_exact_reset():
    """Also of rules that an answer does not name.  A limit of 0 is always full."""
    checked = 0
    for limiter, request, _, _ in replayed():
        if not saved(limiter, request):
            continue
        look = {**request, "peek": True, "explain": True}
        for number, claim in enumerate(limiter.claims):
            if claim.reset is None or claim.limit.units == 0:
                continue
            row = at(limiter, look, claim.reset)["rules"][number]
            assert row["remaining"] == row["limit"]
            if claim.reset > request["at_us"]:
                row = at(limiter, look, claim.reset - 1)["rules"][number]
                assert row["remaining"] < row["limit"]
                checked += 1
    assert checked > 1000


def test_remaining_is_what_passes_now():
    for limiter, request, _, _ in replayed():
        if len(limiter.claims) != 1 or limiter.claims[0].rule.shadow:
            continue
        claim = limiter.claims[0]
        if claim.reason == "missing_identity":
            continue
        now, left = request["at_us"], claim.remaining
        request = {**request, "wait": False}  # remaining speaks of requests that do not wait
        if left:
            assert at(limiter, {**request, "cost": left}, now)["allowed"]
        assert not at(limiter, {**request, "cost": left + 1}, now)["allowed"]


def test_denial_and_peek_are_free():
    for limiter, request, decision, before in replayed():
        if request.get("peek"):
            assert limiter.snapshot() == before
        elif not decision["allowed"] and all(
                claim.how in (PLAIN, BELIEVED, None) for claim in limiter.claims):
            assert limiter.snapshot() == before


def admissions(kind, seed):
    """(time, units) let through by random requests at times that only rise."""
    rng, limiter, now = random.Random(seed), single(kind), 0
    for _ in range(3000):
        now += rng.choice((0, 0, 1, rng.randint(0, 3000), rng.randint(0, 12000)))
        cost = rng.choice((1, 1, 2, rng.randint(1, CAPACITY)))
        if limiter.decide({"at_us": now, "cost": cost})["allowed"]:
            yield now, cost


def test_safety_of_the_aligned_windows():
    for kind in ("fixed_window", "sliding_window_counter"):
        windows = {}
        for time, units in admissions(kind, "aligned"):
            windows[time // 10000] = windows.get(time // 10000, 0) + units
        assert max(windows.values()) == CAPACITY


@pytest.mark.parametrize("kind, most", [("sliding_window_log", 1), ("first_request", 2)])
def test_safety_of_any_window(kind, most):
    admitted = list(admissions(kind, "any"))
    for time, _ in admitted:
        assert sum(u for t, u in admitted if time - 10000 < t <= time) <= most * CAPACITY


@pytest.mark.parametrize("kind", ["token_bucket", "leaky_bucket"])
def test_safety_of_buckets(kind):
    admitted = list(admissions(kind, "bucket"))[:600]
    token_us = Fraction(ceil_div(10**9, 300), 1000)
    for first in range(len(admitted)):
        total = 0
        for time, units in admitted[first:first + 80]:
            total += units
            assert total <= CAPACITY + (time - admitted[first][0]) / token_us


@pytest.mark.parametrize("kind", sorted(RULES))
def test_a_clock_that_trembles(kind):
    """To and fro within half a window: windows admit what they would in order.

    A bucket drains with every microsecond that passes, also with one that
    passes twice; more than that it must not hand out.
    """
    rng, limiter = random.Random(kind), single(kind)
    now, total, passed = 20_000_000, 0, 0
    for _ in range(2000):
        before, now = now, 20_000_000 + rng.randint(0, 4999)
        passed += max(0, now - before)
        total += limiter.decide({"at_us": now})["allowed"]
    drained = passed * 1000 // ceil_div(10**9, 300) if "bucket" in kind else 0
    assert total <= CAPACITY + drained


@pytest.mark.parametrize("kind", sorted(RULES))
def test_a_clock_that_leapt_ahead_locks_no_key_out(kind):
    """Back from the future: at most one span believed, and one to leave it."""
    for ahead in (0, 1, 9_999, 10_000, 10_001, 20_000, 20_001, 23_334, 10**12):
        limiter = single(kind)
        now = 20_000_000
        limiter.decide({"at_us": now + ahead, "cost": CAPACITY})
        wait = limiter.decide({"at_us": now})["retry_after_us"]
        algorithm = limiter.rules[0].algorithm
        span = algorithm.span(limiter.rules[0].limit_for(None, 0))
        assert 0 < wait <= (1 if "bucket" in kind else 2) * span
        assert limiter.decide({"at_us": now + wait})["allowed"]


def test_counter_by_search():
    """Its formulas find what a search over the definition finds."""
    rng = random.Random("search")
    counter = SlidingWindowCounter(1000)
    for _ in range(3000):
        units = rng.choice((rng.randint(1, 9), rng.randint(1, 5000)))
        limit = Limit(units, None)
        view = (5, rng.randint(0, 2 * units), rng.randint(0, 2 * units))
        now = rng.choice((4800, rng.randint(5000, 5999)))
        cost = rng.randint(1, units)
        wanted = first(now, lambda t: by_definition(view, t) + cost <= units)
        assert now + counter.wait(view, now, limit, cost) == wanted
        assert counter.figures(view, now, limit)[1] == first(
            now, lambda t: by_definition(view, t) == 0)


def by_definition(view, time):
    """The weighted count of windows of 1000, in fractions."""
    index, previous, count = view
    time = max(time, index * 1000)
    while index < time // 1000:
        index, previous, count = index + 1, count, 0
    return Fraction(previous * (index * 1000 + 1000 - time), 1000) // 1 + count


def first(start, holds):
    """The first time from `start` on at which a lasting condition holds."""
    low, high = start, start + 4000
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def test_a_change_of_rate_keeps_the_debt_in_tokens():
    """Never less, and at most the precision of the short form more."""
    rng = random.Random("rounding")
    for _ in range(3000):
        token = rng.randint(1, 10 ** rng.randint(1, 16))
        short, exact = short_token_time(token)
        assert short == token if exact else token * (1 - Fraction(1, 2**15)) < short <= token
        other = rng.randint(1, 10**9)
        debt = rng.randint(1, 5 * token)
        if (short, exact) == short_token_time(other):
            continue
        carried, _ = Bucket().look((debt, (short, exact)), 0, Limit(10**12, other))
        worth = Fraction(debt, token) * other
        assert worth <= carried <= worth * (1 if exact else 1 + Fraction(1, 2**15)) + 1
