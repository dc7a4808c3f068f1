"""The scripts that lease (docs/leases.md), called directly at times of our own, beside a model of
them that was written from the document.

    scripts = Scripts(client)
    key = Key(scripts, "token_bucket", capacity=100, span=10_000_000)
    answer = key.lease(now, Lease(...), want=20)      # raises if Redis and the model differ

A script is put together here as src/store/redis/lua/scripts.c does it; a test sees that Redis knows
the very same one after a server has leased.
"""

import hashlib
import re
import struct
from dataclasses import dataclass
from fractions import Fraction

from program import ROOT

SECOND = 1_000_000
LEASING = ("fixed_window", "sliding_window_counter", "token_bucket")
LATEST = 9999999999999999
LONGEST_NS = 90 * 86400 * 10 ** 9  # a span


# ---- scripts ----------------------------------------------------------------


def text_of(name):
    return (ROOT / "src" / name).read_text(encoding="utf-8")


def section(file, name):
    found = re.search(rf"^---- {name} ----\n(.*?)(?=\n---- |\Z)", file, re.S | re.M)
    if not found:
        return ""
    return found.group(1) if found.end() == len(file) else found.group(1) + "\n"


class Composer:
    """Of one algorithm; `change` edits a text before it is filled in."""

    def __init__(self, algorithm, change=lambda text: text):
        self.change = change
        self.own = text_of(f"algo/{algorithm}.lua")
        self.shared = text_of("algo/bucket.lua") if algorithm.endswith("bucket") else ""

    def filled(self, text):
        return re.sub(r"--@(\w+)\n", lambda mark: self.part(mark.group(1)), self.change(text))

    def part(self, name):
        if name in ("foreign", "expire", "terms"):
            return self.change(text_of(f"store/redis/lua/{name}.lua"))
        if name in ("functions", "hold"):
            return ""
        if name == "converted":
            return self.change(section(self.shared, name))
        if name in ("shown", "weight"):
            return self.change(section(self.own, name))
        return self.filled(section(self.shared, name)) + self.filled(section(self.own, name))

    def script(self, name):
        return text_of("store/redis/lua/frame.lua") + self.filled(text_of(f"store/redis/lua/{name}.lua"))


def sha1(text):
    return hashlib.sha1(text.encode()).hexdigest()


class Scripts:
    """Called by their kind and algorithm."""

    def __init__(self, client, change=lambda text: text):
        self.client, self.change, self.loaded = client, change, {}

    def call(self, name, algorithm, key, *words):
        if (name, algorithm) not in self.loaded:
            text = Composer(algorithm, self.change).script(name)
            self.loaded[name, algorithm] = self.client.script_load(text)
        reply = self.client.evalsha(self.loaded[name, algorithm], 1, key, *words)
        if isinstance(reply, bytes):
            return struct.unpack(f"<{len(reply) // 8}q", reply)
        return reply


# ---- the model ----------------------------------------------------------------


@dataclass
class Lease:
    """Of one holder: what it says of it in a call."""

    term: int = 0
    window: int = 0
    spent: int = 0
    kept: int = 0
    back: int = 0


@dataclass
class Answer:
    """What the script says; `told` is the state."""

    known: int  # 2: what was given back, of a window that is over
    granted: int
    term: int
    end: int
    out: int
    told: tuple

    @classmethod
    def of(cls, reply):
        return cls(*reply[1:6], tuple(reply[6:9]))


def weight_of(previous, rest, span):
    return previous * rest // span


class Terms:
    """What is out, by the term in which it lapses."""

    def __init__(self):
        self.out, self.newest = {}, 0

    def move(self, now):
        """Terms that are over, oldest first, with what was out of them; and whether some were too
        far ahead."""
        newest = now // SECOND * SECOND + 2 * SECOND
        if not self.total():
            self.newest = 0
        ahead = self.newest > newest + SECOND
        if ahead:
            self.out, self.newest = {newest + SECOND: self.total()}, newest + SECOND
        self.newest = max(self.newest, newest)
        over = sorted(term for term in self.out if term < self.newest - SECOND)
        return [(term, self.out.pop(term)) for term in over], ahead

    def total(self):
        return sum(self.out.values())

    def take(self, term, units):
        """Are there so many?"""
        if self.out.get(term, 0) < units or term not in (self.newest, self.newest - SECOND):
            return False
        if units:
            self.out[term] -= units
        return True

    def add(self, units):
        self.out[self.newest] = self.out.get(self.newest, 0) + units


class Window:
    """Fixed, or with `slides` the counter."""

    def __init__(self, capacity, span, slides):
        self.capacity, self.span, self.slides = capacity, span, slides
        self.start = self.count = self.previous = 0
        self.terms, self.settled = Terms(), False

    def at(self, now, leases=False):
        """As of now; is it a repair, which is written whatever else is? Only holders look at
        terms."""
        repair = self.terms.move(now)[1] if leases else False
        aligned = now // self.span * self.span
        if not self.count and not self.previous:
            self.start = aligned
        elif self.start > now and self.start - now > (2 if self.slides else 1) * self.span:
            self.start, self.count = aligned, self.capacity
            self.previous = self.capacity if self.slides else 0
            repair = True
        elif self.start < aligned:
            beside = self.slides and aligned - self.start == self.span
            self.start, self.count, self.previous = aligned, 0, self.count if beside else 0
        return repair

    def room(self, now):
        rest = self.span - max(now - self.start, 0)
        return max(self.capacity - self.count - weight_of(self.previous, rest, self.span), 0)

    def settle(self, lease):
        self.settled = self.terms.take(lease.term, lease.spent + lease.kept + lease.back)
        if not self.settled:
            return False
        if lease.window == self.start and (self.count or self.previous):
            self.count = max(self.count - lease.back, 0)
            self.terms.add(lease.kept)
            return True
        if lease.window == self.start - self.span:
            self.previous = max(self.previous - lease.back, 0)
            return 2 if self.slides else 0
        return 0

    def charge(self, cost):
        self.count += cost

    def lend(self, units):
        self.count += units
        self.terms.add(units)

    def end(self, now):
        return min(self.terms.newest, self.start + self.span, now + 2 * SECOND)

    def told(self, _):
        return (self.start, self.previous, self.count) if self.slides else \
            (self.start, self.count, 0)

    def reset(self, now):
        self.at(now, True)
        self.previous = 0
        if not self.count:
            self.terms = Terms()  # the window is over
        self.count = self.terms.total()


class Bucket:
    """A debt in nanoseconds, in tokens of the size that it was written under, which time pays; and
    what is out, which it does not. `capacity` and `span` are of the limit that asks."""

    def __init__(self, capacity, span):
        self.capacity, self.span = capacity, span
        self.debt = self.as_of = 0
        self.token = span
        self.terms, self.settled = Terms(), False

    def pay(self, until):
        self.debt = max(self.debt - max(until - self.as_of, 0) * 1000, 0)
        self.as_of = max(self.as_of, until)

    def at(self, now, _=True, decides=True):
        """Only a caller that decides sees it by its own numbers from now on."""
        had_terms, is_new = self.terms.total() > 0, self.as_of == 0
        lapsed, repair = self.terms.move(now)
        for term, units in lapsed:
            if units:
                self.pay(term)
                self.debt += units * self.token
        # A clock that stepped back: the debt is as of a time that is yet to come.
        self.debt = max(self.debt - (now - self.as_of) * 1000, 0)
        self.as_of = now
        if is_new:
            self.token = self.span
        if not decides:
            self.debt = min(self.debt, LONGEST_NS)
            return repair
        found, is_other = self.found(), self.token != self.span and (had_terms or self.debt > 0)
        repair |= is_other or self.debt > found
        self.debt, self.token = found, self.span
        return repair

    def found(self):
        """The debt that a request of this limit finds."""
        converted = -(-self.debt * self.span // self.token)
        return min(converted, self.capacity * self.span)

    def sum(self):
        return min(self.found() + self.terms.total() * self.span, self.capacity * self.span)

    def room(self, _):
        return (self.capacity * self.span - self.sum()) // self.span

    def settle(self, lease):
        self.settled = self.terms.take(lease.term, lease.spent + lease.kept + lease.back)
        if not self.settled:
            return False
        self.debt = min(self.debt + lease.spent * self.token, LONGEST_NS)
        self.terms.add(lease.kept)
        return True

    def charge(self, cost):
        self.debt += cost * self.span

    def lend(self, units):
        self.terms.add(units)

    def end(self, now):
        return min(self.terms.newest, now + 2 * SECOND)

    def told(self, now):
        return (self.sum(), now, self.span)

    def reset(self, now):
        self.at(now)
        self.debt = 0
        if not self.terms.total():
            self.as_of = 0

    def refund(self, now, cost, charged_at):
        """How much, in nanoseconds: nothing where the size of a token is another."""
        self.at(now, decides=False)
        paid = max(now - charged_at, 0) * 1000
        back = min(min(cost, self.capacity) * self.span - paid, self.found())
        back = max(back, 0) if self.token == self.span else 0
        self.debt -= back
        return back

    def overcharge(self, now, cost):
        """Past the limit, up to one span of debt, and never to less than there was."""
        self.at(now, decides=False)
        if not self.debt:
            self.token = self.span
        most = min(self.capacity, LONGEST_NS // self.token)
        self.debt = max(self.debt, min(self.debt + min(cost, most) * self.token, most * self.token))


def model_of(algorithm, capacity, span):
    if algorithm == "token_bucket":
        return Bucket(capacity, span)
    return Window(capacity, span, algorithm == "sliding_window_counter")


class Key:
    """A key in Redis and its model, asked side by side."""

    name = "rl:-:lease:{k}"
    compares = True

    def __init__(self, scripts, algorithm, capacity, span):
        self.scripts, self.algorithm = scripts, algorithm
        self.model = model_of(algorithm, capacity, span)

    @property
    def limit(self):
        """Of the next request."""
        return self.model.capacity, self.model.span

    @limit.setter
    def limit(self, numbers):
        self.model.capacity, self.model.span = numbers

    def numbers(self):
        kind = self.algorithm
        if kind != "token_bucket":
            kind += f"/{self.model.span}"
        return kind, self.model.capacity, self.model.span, ""

    def same(self, now, what, got, wanted):
        assert not self.compares or got == wanted, f"{self.algorithm} at {now}: {what}: Redis {got}, model {wanted}"

    def decide(self, now, cost, peek=False):
        """Does it pass?"""
        reply = self.scripts.call("one", self.algorithm, self.name, now, LATEST, cost,
                                  "p" if peek else "", "", "", *self.numbers())
        model = self.model
        before = copy_of(model)
        repair = model.at(now)
        allowed = cost <= model.capacity and cost <= model.room(now)
        self.same(now, f"cost {cost}", bool(reply[1]), allowed)
        if allowed and cost and not peek:
            model.charge(cost)
        elif peek or not repair:
            self.model = before  # nothing was written
        return bool(reply[1])

    def lease(self, now, lease, want, need=0):
        reply = self.scripts.call("lease", self.algorithm, self.name, now, LATEST, *self.numbers(),
                                  lease.term, lease.window, lease.spent, lease.kept, lease.back,
                                  want, need)
        model, before = self.model, copy_of(self.model)
        repair = model.at(now, True) if self.algorithm != "token_bucket" else \
            model.at(now, decides=need > 0)
        model.settled = False
        known = int(not lease.term or model.settle(lease))
        room, told = model.room(now), model.told(now)
        granted = max(min(want, room // 8), need if need <= room else 0)
        model.lend(granted)
        end, out, term = model.end(now), model.terms.total(), model.terms.newest
        if not (repair or granted or model.settled):
            self.model = before
        self.same(now, f"{lease} wants {want}", Answer.of(reply),
                  Answer(known, granted, term, end, out, told))
        return Answer.of(reply)

    def reset(self, now):
        self.scripts.call("forget", self.algorithm, self.name, now, LATEST, self.model.capacity)
        self.model.reset(now)

    # Only for buckets:

    def change(self, now, what, cost, charged_at):
        kind, capacity, span, _ = self.numbers()
        self.scripts.call("change", self.algorithm, self.name, now, LATEST, "", self.algorithm, kind,
                          capacity, span, 0, what, cost, charged_at)

    def refund(self, now, cost, charged_at):
        """How much came back, in tokens."""
        self.change(now, "refund", cost, charged_at)
        before = copy_of(self.model)
        back = self.model.refund(now, cost, charged_at)
        if not back:
            self.model = before  # nothing was written
        return Fraction(back, self.model.span)

    def overcharge(self, now, cost):
        self.change(now, "overcharge", cost, now)
        self.model.overcharge(now, cost)


def copy_of(model):
    other = object.__new__(type(model))
    other.__dict__.update(model.__dict__)
    other.terms = Terms()
    other.terms.out, other.terms.newest = dict(model.terms.out), model.terms.newest
    return other
