"""Random cases: a rules file, a trace, and what the reference decides.

The trace is drawn while the reference runs, for the instants that matter are
its own answers: a microsecond before a wait ends and when it ends, before and
at a reset, at the edges of windows.
"""

import json
import random
from collections import Counter, namedtuple

from generate_rules import random_rules, to_yaml
from model import Limiter, attributes_of, read_line

Case = namedtuple("Case", "seed rules lines expected seen")

LAST_US = 4 * 10**15
YEAR_US = 366 * 86400 * 10**6

IPS = ("192.0.2.7", "::ffff:192.0.2.7", "192.0.2.8", "192.0.2.9", "10.1.2.3",
       "2001:db8::7", "2001:DB8:0:0::7", "2001:db8::8", "2001:db8:0:1::8", "2001:0db8::1:8",
       "fd00::1", "::1", "0:0:0:0:0:0:0:1", "not-an-address", "::ffff:c000:208", "")
RESOURCES = ("/api/videos", "/api//videos/", "/api/./videos?page=2", "/api/x/../videos",
             "/api/%76ideos", "/api", "/api/", "/api/7/items", "/api/a/b/items", "/login",
             "/%6Cogin", "/", "/apix", "/API/videos", "api.payment.create",
             "api.payment", "api", "apis.payment.create", "/../login", "/api/%2e%2e/login", "")
POOLS = {
    "user": ("u1", "u1", "u2", "root", 7, ""),
    "tenant": ("acme", "acme", "beta", ""),
    "client": ("c1", "c1", "c2", "billing"),
    "plan": ("gold", 7, True, "7", ""),
    "method": ("GET", "GET", "POST", "PUT"),
    "ip": IPS,
    "resource": RESOURCES,
}
TRUSTS = ("0", "1", "0.5", "0.999", "0.9999999", "0.001", "0.0009", "0.333333333",
          "0.25", "7.5e-1", "1.0", "0.0")


def random_case(seed, length):
    """A case of `length` lines, fully determined by its seed."""
    rng = random.Random(seed)
    guarded = rng.random() < 0.2
    rules = random_rules(rng, guarded)
    limiter = Limiter(rules)
    writer = Writer(rng, limiter, guarded)
    lines, expected = [], []
    for _ in range(length):
        line = writer.next_line()
        decision = limiter.decide(read_line(line))
        writer.learn(decision)
        lines.append(line)
        expected.append(decision)
    return Case(seed, rules, lines, expected, limiter.seen + writer.seen)


class Trust(str):
    """A decimal that is written to JSON as it stands, without quotes."""


def to_json(request):
    """A trace line.  Decimals are written by hand: a float would lose them."""
    return "{" + ", ".join(
        f'"{name}": {value if isinstance(value, Trust) else json.dumps(value)}'
        for name, value in request.items()) + "}"


class Writer:
    """Writes a trace, looking at every answer before the next line."""

    def __init__(self, rng, limiter, guarded):
        self.rng = rng
        self.limiter = limiter
        self.guarded = guarded
        self.home = self.now = self.first_instant()
        self.tiers = self.known_tiers()
        self.people = [self.person() for _ in range(rng.choice((1, 1, 2, 3)))]
        self.restless = rng.choice((0, 0, 0.02, 0.3))
        self.disloyal = rng.choice((0, 0, 0.05, 0.5))
        self.trusting = rng.choice((0, 0, 0.1, 0.6))
        self.request = {}
        self.followups = []
        self.hot = []
        self.seen = Counter()
        self.moves = self.weighted_moves()

    def known_tiers(self):
        """The file's tiers and one unknown; often none is ever named."""
        tiers = {tier for rule in self.limiter.rules for tier in rule.file_tiers}
        if not tiers or self.rng.random() < 0.2:
            return [None]
        tiers = sorted(tiers) + [None, "nonesuch"]
        return self.rng.sample(tiers, self.rng.randint(1, len(tiers)))

    def first_instant(self):
        rng = self.rng
        return rng.choice((0, 0, 1, rng.randint(0, 10**7), 1_700_000_000_000_000,
                            1_700_000_000_000_000 + rng.randint(0, 10**12),
                            rng.randint(0, LAST_US), LAST_US - rng.randint(0, 10**9)))

    def person(self):
        """One caller, most often one that the rules concern."""
        for _ in range(30):
            person = self.random_caller()
            if self.rng.random() < 0.03 or self.concerned(person):
                break
        return person

    def random_caller(self):
        """The attributes of one caller; some leave something out."""
        rng = self.rng
        person = {name: rng.choice(values) for name, values in POOLS.items()
                  if rng.random() < (0.9 if name in ("user", "ip", "resource") else 0.55)}
        tier = rng.choice(self.tiers)
        return person if tier is None else {**person, "tier": tier}

    def concerned(self, person):
        """Does an enforced rule count this caller?"""
        limiter, attributes = self.limiter, attributes_of(person)
        tenant = attributes.get("tenant", "")
        return not limiter.exemptions.holds(tenant, attributes) and any(
            not rule.shadow and rule.matches(attributes)
            and rule.limit_for(attributes.get("tier"), 0)
            and rule.key(tenant, attributes, limiter.identity)
            for rule in limiter.rules)

    def next_line(self):
        """The next request: a follow-up of an answer, or a new one."""
        if self.followups and self.rng.random() < 0.85:
            self.now, request = self.followups.pop(0)
            self.request = dict(request, at_us=self.now)
            self.seen["follow-ups"] += 1
        else:
            self.followups.clear()
            self.move()
            self.request = self.new_request()
        return to_json(self.request)

    def new_request(self):
        rng = self.rng
        request = {"at_us": self.now, **rng.choice(self.people)}
        if rng.random() < self.restless:
            name = rng.choice(sorted(POOLS))
            request[name] = rng.choice(POOLS[name])
        if rng.random() < 0.02 and len(request) > 1:
            del request[rng.choice([name for name in request if name != "at_us"])]
        if rng.random() < self.disloyal:
            tier = rng.choice(self.tiers)
            request.pop("tier", None)
            request.update({} if tier is None else {"tier": tier})
        if rng.random() < self.trusting:
            request["trust_score"] = Trust(rng.choice(TRUSTS))
        if rng.random() < 0.6:
            request["cost"] = self.cost()
        if rng.random() < 0.08:
            request["peek"] = rng.random() < 0.9
            self.seen["peeks"] += 1
        if rng.random() < 0.1:
            request["wait"] = rng.random() < 0.9
        if rng.random() < 0.15:
            request["explain"] = rng.random() < 0.95
        return request

    def cost(self):
        """Costs around what the last answers said was left, or the limit."""
        rng = self.rng
        numbers = [n for claim in self.limiter.claims
                   for n in (claim.limit.units, claim.remaining)] or [1]
        near = rng.choice(numbers)
        cost = rng.choice((0, 1, 1, 1, 2, rng.randint(0, 4), near, near, near - 1, near + 1,
                           rng.randint(0, near), near // 2, rng.randint(0, 2**32 - 1)
                           if rng.random() < 0.05 else 1))
        return min(max(cost, 0), 2**32 - 1)

    def learn(self, decision):
        """Note the instants this answer makes interesting."""
        rng, now = self.rng, self.now
        self.hot = []
        for claim in self.limiter.claims:
            if claim.retry > 0:
                self.hot += (now + claim.retry - 1, now + claim.retry)
            if claim.reset is not None:
                self.hot += (claim.reset - 1, claim.reset)
            if claim.block_end is not None:
                self.hot += (claim.block_end - 1, claim.block_end)
        if self.followups or rng.random() > 0.25:
            return
        wait = decision["retry_after_us"]
        if wait > 0:
            self.follow(now + wait - 1, now + wait)
        elif decision["reset_at_us"] is not None and rng.random() < 0.3:
            self.follow(decision["reset_at_us"] - 1, decision["reset_at_us"])

    def follow(self, *instants):
        if all(self.now <= instant <= LAST_US for instant in instants):
            self.followups = [(instant, self.request) for instant in instants]

    def weighted_moves(self):
        weights = {self.stand: 26, self.tick: 6, self.stroll: 14, self.stride: 5,
                   self.edge: 9, self.to_hot: 20, self.back_a_bit: 4}
        if self.guarded:
            weights[self.back_a_bit] = 0.3
            weights[self.stride] = 3
        else:
            weights.update({self.back_within: 3, self.back_a_span: 2, self.back_far: 2,
                            self.leap: 1.5, self.leap_years: 0.7, self.go_home: 1.5})
        return list(weights), list(weights.values())

    def move(self):
        """Choose the next instant."""
        before = self.now
        moved = self.rng.choices(*self.moves)[0]()
        self.now = min(max(moved, 0), LAST_US)
        if self.now < before:
            self.seen["steps back"] += 1

    def span(self):
        """How long one of the rules at hand remembers."""
        claims = self.limiter.claims
        claim = self.rng.choice(claims) if claims else None
        if claim is None or claim.reason == "missing_identity":
            return 1000
        return max(1, claim.rule.algorithm.span(claim.limit))

    def width(self):
        """The width of one of the windows at hand, the guards' included."""
        rule = self.rng.choice(self.limiter.rules)
        if rule.guard and self.rng.random() < 0.5:
            return rule.guard.window
        return rule.window or self.span()

    def stand(self):
        return self.now

    def tick(self):
        return self.now + self.rng.randint(1, 3)

    def stroll(self):
        return self.now + self.rng.randint(0, max(1, self.span() // 6))

    def stride(self):
        return self.now + self.rng.randint(0, 2 * self.span())

    def edge(self):
        width = self.width()
        return max(self.now if self.guarded else 0,
                   (self.now // width + 1) * width + self.rng.choice((-1, 0, 1)))

    def to_hot(self):
        instants = [t for t in self.hot if t >= self.now]
        return self.rng.choice(instants) if instants else self.now

    def back_a_bit(self):
        reach = 1000
        if self.guarded:
            reach = min([r.guard.window for r in self.limiter.rules if r.guard] or [1000]) - 1
        return self.now - self.rng.randint(1, reach)

    def back_within(self):
        return self.now - self.rng.randint(1, self.span())

    def back_a_span(self):
        return self.now - self.span() + self.rng.choice((-1, 0, 0, 1))

    def back_far(self):
        return self.now - self.rng.randint(1, 3) * self.span() - self.rng.randint(0, self.span())

    def leap(self):
        return self.now + self.rng.randint(2, 10**self.rng.randint(1, 6)) * self.span()

    def leap_years(self):
        return self.now + self.rng.randint(1, 20) * YEAR_US

    def go_home(self):
        return self.home + self.rng.randint(0, self.span())


def main():
    """Write one case: generate.py SEED LINES RULES_FILE TRACE_FILE."""
    import sys
    seed, length, rules_path, trace_path = sys.argv[1:]
    case = random_case(seed, int(length))
    with open(rules_path, "w", encoding="utf-8") as rules_file:
        rules_file.write(to_yaml(case.rules))
    with open(trace_path, "w", encoding="utf-8") as trace_file:
        trace_file.writelines(line + "\n" for line in case.lines)


if __name__ == "__main__":
    main()
