"""One key of a fleet that leases (docs/leases.md), simulated call by call: tools/lease_sim.py.

Requests are a Poisson process at each instance, so the time until a lease of n is used up is drawn
at once, and an event is a call to Redis, or the end of something.
"""

import heapq
import math
import random

TINY = 1e-6             # seconds, and tokens: as good as nothing
TERM_S = 1.0            # terms end at whole seconds; a lease has one to two of them
RENEW_S = 0.25, 0.75    # before its end, at random: the terms of all holders end at once
SHARE = 8               # of what is left, a lease is an eighth at the most
LEAST, FEW, PART = 8, 96, 8  # auto: an eighth of a second's demand, or 96, at most all of it
LOW = 4                 # a quarter: asks again when it is left; is given less: asks later
PAUSE_S, DENIED_S = 0.1, 1.0  # a denial is remembered for so long: at least if it leases, at most


def batch(lease, demand):
    """How much to hold, for this demand in a second."""
    if lease == "off":
        return 0
    wanted = min(demand, max(FEW, demand / PART)) if lease == "auto" else min(int(lease), demand)
    return int(wanted) if wanted >= LEAST else 0


# ---- chance ----------------------------------------------------------------


def normal_count(rng, mean, variance):
    return max(0, round(rng.gauss(mean, math.sqrt(variance))))


def poisson(rng, mean):
    if mean > 30:
        return normal_count(rng, mean, mean)
    count, product, least = 0, rng.random(), math.exp(-mean)
    while product > least:
        count += 1
        product *= rng.random()
    return count


def binomial(rng, n, p):
    if n > 60:
        return min(n, normal_count(rng, n * p, n * p * (1 - p)))
    return sum(rng.random() < p for _ in range(n))


# ---- what Redis keeps of a key -----------------------------------------------


class Window:
    """A fixed window: what is leased is counted like what is spent."""

    def __init__(self, limit, length_s):
        self.limit, self.length_s, self.number, self.count = limit, length_s, -1, 0

    def at(self, now):
        number = int(now // self.length_s)
        if number > self.number:
            self.number, self.count = number, 0

    def room(self):
        return self.limit - self.count

    def take(self, units):
        self.count += units

    def lease(self, units):
        self.count += units

    def settle(self, spent, back, term):
        self.count -= back

    def retry(self, now):
        return self.last_end() - now

    def last_end(self):
        return (self.number + 1) * self.length_s

    def ends(self, now):
        return min((now // TERM_S + 2) * TERM_S, self.last_end())


class Bucket:
    """A debt that time pays, and beside it what is out, by the term in which it lapses."""

    def __init__(self, capacity, rate):
        self.limit, self.rate, self.debt, self.as_of, self.out = capacity, rate, 0.0, 0.0, {}

    def pay(self, until):
        self.debt = max(0.0, self.debt - (until - self.as_of) * self.rate)
        self.as_of = until

    def at(self, now):
        for term in sorted(term for term in self.out if term <= now):
            self.pay(term)
            self.debt += self.out.pop(term)
        self.pay(now)

    def room(self):
        return math.floor(self.limit - self.debt - sum(self.out.values()) + TINY)

    def take(self, units):
        self.debt += units

    def lease(self, units):
        term = self.ends(self.as_of)
        self.out[term] = self.out.get(term, 0) + units

    def settle(self, spent, back, term):
        if term in self.out:
            self.out[term] -= spent + back
            self.debt += spent

    def retry(self, _):
        return (1 - self.limit + self.debt + sum(self.out.values())) / self.rate

    def last_end(self):
        return math.inf

    def ends(self, now):
        return (now // TERM_S + 2) * TERM_S


# ---- holders -----------------------------------------------------------------


class Holder:
    """An instance, of one key: what it has, and what it waits for."""

    __slots__ = ("left", "granted", "spent", "term", "denied", "again",
                 "since", "arrivals", "comes")

    def __init__(self):
        self.since = self.arrivals = self.comes = self.again = 0.0
        self.drop()

    def drop(self):
        self.left = self.granted = self.spent = 0
        self.term, self.denied = 0.0, False


class Key:
    """One key, on some instances, for some seconds."""

    def __init__(self, state, rate, instances, settings):
        self.state, self.settings = state, settings
        self.rng = random.Random(f"{settings.seed}/{rate:.9g}/{instances}")
        self.each = rate / instances
        self.holders = [Holder() for _ in range(instances)]
        self.want = batch(settings.lease, self.each) if state.limit >= LEAST * SHARE else 0
        self.events = []
        self.calls = self.largest = self.out = self.lost = self.crashing = 0
        self.admitted, self.asked, self.busy = {}, {}, {}

    # Counting, by second.

    def called(self, now):
        self.calls += 1
        tenth = int(now * 10)
        self.busy[tenth] = self.busy.get(tenth, 0) + 1

    def passes(self, now, units):
        second = int(now)
        self.admitted[second] = self.admitted.get(second, 0) + units

    def came(self, now, units):
        second = int(now)
        self.asked[second] = self.asked.get(second, 0) + units

    # A holder's next event: after so many arrivals, or at a time, whichever is first.

    def plan(self, number, now, arrivals, by=math.inf):
        holder = self.holders[number]
        holder.since, holder.arrivals = now, arrivals
        holder.comes = now + self.rng.gammavariate(arrivals, 1 / self.each)
        heapq.heappush(self.events, (min(holder.comes, max(by, now + TINY)), number))

    def arrived(self, holder, now):
        """How many have come since it was planned."""
        if now >= holder.comes:
            return holder.arrivals
        share = (now - holder.since) / (holder.comes - holder.since)
        return binomial(self.rng, holder.arrivals - 1, share)

    def spend_on(self, number, now):
        """Until little is left, or the lease is to be renewed, or it ends."""
        holder = self.holders[number]
        low = holder.granted // LOW if now >= holder.again else 0
        by = holder.term
        if by < self.state.last_end() - TINY:
            by -= min(self.rng.uniform(*RENEW_S), (by - now) / 2)
        self.plan(number, now, max(holder.left - low, 1), by)

    def deny(self, number, now, until):
        holder = self.holders[number]
        holder.since, holder.denied = now, True
        heapq.heappush(self.events, (max(until, now + TINY), number))

    def denied_until(self, now):
        least = PAUSE_S if self.want else TINY
        return now + min(max(self.state.retry(now), least), DENIED_S)

    # Calls.

    def lease(self, number, now, need):
        """Tells what is spent, keeps what is left, takes more, and of that what is needed now."""
        holder, state = self.holders[number], self.state
        self.called(now)
        state.at(now)
        state.settle(holder.spent, holder.left, holder.term)
        kept, room = holder.left, max(state.room() - holder.left, 0)
        more = max(min(self.want - kept, room // SHARE), min(need, room), 0)
        state.lease(kept + more)
        passed = need if kept + more >= need else 0
        holder.left, holder.spent, holder.term = kept + more - passed, passed, state.ends(now)
        holder.granted = holder.left
        self.largest = max(self.largest, kept + more)
        self.passes(now, passed)
        if kept + more < max(LEAST, self.want // LOW):
            holder.again = now + PAUSE_S
        if passed < need:
            self.deny(number, now, self.denied_until(now))
        else:
            self.go_on(number, now)

    def go_on(self, number, now):
        holder = self.holders[number]
        if holder.left:
            self.spend_on(number, now)
        elif now < holder.again:
            self.deny(number, now, holder.again)
        else:
            self.plan(number, now, 1)

    def decide(self, number, now):
        """A request without a lease, of a key that is not worth one."""
        self.called(now)
        self.state.at(now)
        if self.state.room() < 1:
            self.deny(number, now, self.denied_until(now))
            return
        self.state.take(1)
        self.passes(now, 1)
        self.plan(number, now, 1)

    # Events.

    def on_denied(self, number, now):
        holder = self.holders[number]
        self.came(holder.since, poisson(self.rng, self.each * (now - holder.since)))
        holder.denied = False
        self.plan(number, now, 1)

    def on_spent(self, number, now):
        holder = self.holders[number]
        units = min(self.arrived(holder, now), holder.left)
        holder.left -= units
        holder.spent += units
        self.came(holder.since, units)
        self.passes(holder.since, units)
        if now >= holder.term - TINY:  # over
            holder.drop()
            self.plan(number, now, 1)
        elif now < holder.again:
            self.go_on(number, now)
        else:
            self.lease(number, now, 0)

    def on_request(self, number, now):
        self.came(now, 1)
        if self.want:
            self.lease(number, now, 1)
        else:
            self.decide(number, now)

    def crash(self, now):
        """The first of the instances, all at once: what they held is lost."""
        self.crashing = math.ceil(len(self.holders) * self.settings.crash)
        for number, holder in enumerate(self.holders):
            left = max(holder.left - self.arrived(holder, now), 0) if holder.left else 0
            self.out += left
            if number < self.crashing:
                self.lost += left
                holder.drop()

    def run(self):
        for number in range(len(self.holders)):
            self.plan(number, 0.0, 1)
        crash_at, crashed = self.settings.seconds * 0.7, False
        while self.events[0][0] < self.settings.seconds + 2 * TERM_S:  # the last ones are told late
            now, number = heapq.heappop(self.events)
            if not crashed and now >= crash_at:
                self.crash(now)
                crashed = True
            holder = self.holders[number]
            if holder.denied:
                self.on_denied(number, now)
            elif holder.left:
                self.on_spent(number, now)
            else:
                self.on_request(number, now)
        return self
