"""The five algorithms, written from their meaning.

Each class answers the same five questions about one identifier's state; None
is the state of a key that was never charged.  Times are integer microseconds, a
bucket's debts integer nanoseconds.  Nothing is packed and nothing rounds, but
for what the specification itself rounds.

    look(state, now, limit)        what counts at `now`: (view, how)
    wait(view, now, limit, cost)   microseconds until the cost fits; 0: now
    figures(view, now, limit)      (remaining, reset)
    add(view, now, limit, cost)    the view after a charge
    save(view, now, limit)         the state to keep for a view

`how` tells how a stored state was read: PLAIN, BELIEVED (it lies ahead of now
by at most one span), REPAIRED (farther: the fullest legal state takes its
place), CONVERTED (a bucket's debt was carried to another token time, from one
that is known exactly) or CARRIED (from one that is known roughly).  REPAIRED
and CONVERTED are saved even by a denial.
"""

from collections import namedtuple

PLAIN, BELIEVED, REPAIRED = "plain", "believed", "repaired"
CONVERTED, CARRIED = "converted", "carried"

Limit = namedtuple("Limit", "units token_ns")
"""The effective limit: L or C, and for buckets the time T of one token."""


def ceil_div(a, b):
    """The quotient rounded up, for whole numbers."""
    return -(-a // b)


class FixedWindow:
    """A count that restarts with every window.  State: (start, count)."""

    def __init__(self, window, from_first_request=False):
        self.window = window
        self.from_first_request = from_first_request

    def span(self, limit):
        return self.window

    def start_of_fresh(self, now):
        return now if self.from_first_request else now - now % self.window

    def look(self, state, now, limit):
        if state is None or state[1] == 0:
            return (self.start_of_fresh(now), 0), PLAIN
        start = state[0]
        if start - now > self.window:
            return (self.start_of_fresh(now), limit.units), REPAIRED
        if start + self.window <= now:
            return (self.start_of_fresh(now), 0), PLAIN
        return state, BELIEVED if start > now else PLAIN

    def wait(self, view, now, limit, cost):
        start, count = view
        return 0 if count + cost <= limit.units else start + self.window - now

    def figures(self, view, now, limit):
        start, count = view
        return max(0, limit.units - count), start + self.window if count else now

    def add(self, view, now, limit, cost):
        return view[0], view[1] + cost

    def save(self, view, now, limit):
        return view


class SlidingWindowLog:
    """Every admission by its time.  State: [(time, units), ...], oldest first.

    An admission of several units is one pair, so that large costs stay cheap.
    Only a charge forgets what has left the window: a denial at a later time
    must not, or a clock that then steps back would hand out more.
    """

    def __init__(self, window):
        self.window = window

    def span(self, limit):
        return self.window

    def look(self, state, now, limit):
        if not state:
            return [], PLAIN
        newest = state[-1][0]
        if newest - now > self.window:
            return [(now, limit.units)] if limit.units else [], REPAIRED
        horizon = max(now, newest) - self.window
        live = [entry for entry in state if entry[0] > horizon]
        return live, BELIEVED if newest > now else PLAIN

    def wait(self, view, now, limit, cost):
        excess = sum(units for _, units in view) + cost - limit.units
        if excess <= 0:
            return 0
        for time, units in view:
            excess -= units
            if excess <= 0:
                return time + self.window - now
        raise AssertionError("a cost above the limit has no wait")

    def figures(self, view, now, limit):
        live = sum(units for _, units in view)
        return max(0, limit.units - live), view[-1][0] + self.window if view else now

    def add(self, view, now, limit, cost):
        return view + [(max(now, view[-1][0]) if view else now, cost)]

    def save(self, view, now, limit):
        return view


class SlidingWindowCounter:
    """Counts of the previous and the current window.  State: (i, p, n)."""

    def __init__(self, window):
        self.window = window

    def span(self, limit):
        return 2 * self.window

    def look(self, state, now, limit):
        current = now // self.window
        if state is None or (state[1] == 0 and state[2] == 0):
            return (current, 0, 0), PLAIN
        index, _, count = state
        if index * self.window - now > 2 * self.window:
            return (current, limit.units, limit.units), REPAIRED
        if index >= current:
            return state, BELIEVED if index > current else PLAIN
        return (current, count if index + 1 == current else 0, 0), PLAIN

    def estimate(self, view, now):
        """The weighted count; a window still ahead is seen from its start."""
        index, previous, count = view
        elapsed = max(0, now - index * self.window)
        return previous * (self.window - elapsed) // self.window + count

    def first_at_most(self, count, most):
        """How far into a window ⌊count·(W−e)/W⌋ has come down to `most`.

        ⌊x⌋ ≤ most means x < most + 1, so count·(W−e) ≤ (most+1)·W − 1.
        """
        if count <= most:
            return 0
        return self.window - ((most + 1) * self.window - 1) // count

    def first_time(self, view, now, most):
        """The first instant from now on at which the estimate is <= most."""
        if self.estimate(view, now) <= most:
            return now
        index, previous, count = view
        if count <= most:
            return index * self.window + self.first_at_most(previous, most - count)
        return (index + 1) * self.window + self.first_at_most(count, most)

    def wait(self, view, now, limit, cost):
        return self.first_time(view, now, limit.units - cost) - now

    def figures(self, view, now, limit):
        remaining = max(0, limit.units - self.estimate(view, now))
        return remaining, self.first_time(view, now, 0)

    def add(self, view, now, limit, cost):
        return view[0], view[1], view[2] + cost

    def save(self, view, now, limit):
        return view


def short_token_time(token_ns):
    """What a bucket's state remembers of a token time: (value, is it exact?).

    Exact if m·10^k says it with m in 17 bits; else its 16 highest bits, rounded
    down, so that a conversion rounds against the caller.
    """
    mantissa = token_ns
    while mantissa >= 1 << 17 and mantissa % 10 == 0:
        mantissa //= 10
    if mantissa < 1 << 17:
        return token_ns, True
    cut = token_ns.bit_length() - 16
    return token_ns >> cut << cut, False


class Bucket:
    """Token and leaky bucket.  State: (when it is full in ns, token time).

    The view is the debt: nanoseconds of refilling (or work queued) ahead.
    """

    def span(self, limit):
        return ceil_div(limit.units * limit.token_ns, 1000)

    def look(self, state, now, limit):
        if state is None or state[0] <= now * 1000:
            return 0, PLAIN
        full_at, written_under = state
        debt, how = full_at - now * 1000, PLAIN
        if short_token_time(limit.token_ns) != written_under:
            token, exact = written_under
            debt, how = ceil_div(debt * limit.token_ns, token), CONVERTED if exact else CARRIED
        fullest = limit.units * limit.token_ns
        return (fullest, REPAIRED) if debt > fullest else (debt, how)

    def wait(self, view, now, limit, cost):
        missing = view + (cost - limit.units) * limit.token_ns
        return ceil_div(missing, 1000) if missing > 0 else 0

    def figures(self, view, now, limit):
        free = limit.units * limit.token_ns - view
        return free // limit.token_ns, now + ceil_div(view, 1000)

    def add(self, view, now, limit, cost):
        return view + cost * limit.token_ns

    def save(self, view, now, limit):
        return now * 1000 + view, short_token_time(limit.token_ns)
