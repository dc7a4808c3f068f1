"""An exact reference for the decisions of a rate limiter.

Written from the specification of the algorithms and from nothing else, in
whole numbers and fractions, to be compared with the real thing line by line.

    limiter = Limiter(rules)          # a dict in the shape of the rules file
    limiter.decide(request)           # a dict in the shape of a trace line
"""

import json
from collections import Counter
from fractions import Fraction

from model_algorithms import CONVERTED, REPAIRED, ceil_div
from model_rules import Exemptions, Identity, Rule, duration, exact, normalise, text

NEVER = -1
RESERVED = {"at_us", "cost", "trust_score", "peek", "wait", "explain"}


def read_line(line):
    """A trace line; its decimals stay exact."""
    return json.loads(line, parse_float=Fraction)


def attributes_of(request):
    """The attributes of a request as text, its resource in normal form."""
    attributes = {name: text(value) for name, value in request.items()
                  if name not in RESERVED}
    if attributes.get("resource"):
        attributes["resource"] = normalise(attributes["resource"])
    return attributes


class Claim:
    """What one rule says to one request."""

    __slots__ = ("rule", "key", "limit", "view", "how", "reason", "retry",
                 "block_end", "remaining", "reset", "delay")

    def __init__(self, rule, limit):
        self.rule = rule
        self.limit = limit
        self.reason = None
        self.how = self.block_end = None
        self.delay = 0

    @property
    def allowed(self):
        return self.reason is None

    def rank(self):
        """Order of denials: the longest wait first, never above all."""
        return (1, 0) if self.retry == NEVER else (0, self.retry)

    def row(self):
        """The line of this rule in an explanation."""
        return {
            "rule": self.rule.name, "algorithm": self.rule.algorithm_name,
            "shadow": self.rule.shadow, "allowed": self.allowed,
            "limit": self.limit.units, "remaining": self.remaining,
            "reset_at_us": self.reset, "retry_after_us": self.retry}


class Limiter:
    """Decides requests one after the other, each at the time it carries."""

    def __init__(self, rules):
        self.exemptions = Exemptions(rules.get("exempt", {}))
        self.identity = Identity(rules.get("identity", {}))
        self.max_wait = duration(rules.get("max_wait", "30s"))
        tiers = rules.get("tiers", {})
        self.rules = [Rule(source, tiers) for source in rules["rules"]]
        self.seen = Counter()
        self.claims = []

    def decide(self, request):
        """The decision, with the contract's fields."""
        attributes = attributes_of(request)
        tenant = attributes.get("tenant", "")
        self.claims = []
        if self.exemptions.holds(tenant, attributes):
            decision = unruled("exempt")
        else:
            unlimited = self.collect(request, tenant, attributes)
            self.settle(request)
            decision = self.combine(unlimited)
        if request.get("explain"):
            decision["rules"] = [claim.row() for claim in self.claims]
        self.note(decision)
        return decision

    def collect(self, request, tenant, attributes):
        """Ask every rule that applies; was one left out as unlimited?"""
        thousandths = int(exact(request.get("trust_score", 0)) * 1000)
        unlimited, counting = False, []
        for rule in self.rules:
            if not rule.matches(attributes):
                continue
            limit = rule.limit_for(attributes.get("tier"), thousandths)
            if limit is None:
                unlimited = unlimited or not rule.shadow
                continue
            key = rule.key(tenant, attributes, self.identity)
            if key is not None or rule.denies_missing:
                counting.append((rule, key, limit))
        for rule, key, limit in self.without_replaced(counting):
            self.claims.append(missing(rule, limit) if key is None
                               else self.ask(rule, key, limit, request))
        return unlimited

    def without_replaced(self, counting):
        """A rule that counts replaces others, also where it is itself replaced."""
        replaced = {name for rule, _, _ in counting for name in rule.replaces}
        left = [row for row in counting if row[0].name not in replaced]
        self.seen["replaced"] += len(counting) - len(left)
        return left

    def ask(self, rule, key, limit, request):
        """One rule's verdict, before anything is charged."""
        now, cost = request["at_us"], request.get("cost", 1)
        claim = Claim(rule, limit)
        claim.key = key
        claim.view, claim.how = rule.algorithm.look(rule.states.get(key), now, limit)
        if cost == 0:
            claim.retry = 0
        elif cost > limit.units:
            claim.retry, claim.reason = NEVER, "cost_exceeds_limit"
        else:
            claim.retry = rule.algorithm.wait(claim.view, now, limit, cost)
            if claim.retry:
                claim.reason = "rate_limit_exceeded"
        if request.get("wait") and rule.leaky and cost:
            self.ask_wait(claim)
        if rule.guard:
            self.ask_guard(claim, now, cost, bool(request.get("peek")))
        if rule.leaky and claim.allowed:
            claim.delay = ceil_div(claim.view, 1000)
        return claim

    def ask_wait(self, claim):
        """A request that waits to be sent on is denied where that would take too long."""
        longer = ceil_div(claim.view, 1000) - self.max_wait
        if longer > 0 and claim.retry != NEVER:
            claim.retry = max(claim.retry, longer)
            claim.reason = "rate_limit_exceeded"

    def ask_guard(self, claim, now, cost, peek):
        """A block denies, for as long as it lasts or the limit itself does."""
        end = claim.rule.guard.ask(claim.key, now, cost > 0 and not peek)
        if end is not None and not claim.rule.shadow:
            claim.block_end, claim.reason = end, "burst_blocked"
            if claim.retry != NEVER:
                claim.retry = max(claim.retry, end - now)

    def settle(self, request):
        """Charge all or nothing, save repairs, and fill in the figures."""
        now, peek = request["at_us"], bool(request.get("peek"))
        cost = request.get("cost", 1)
        charging = cost > 0 and not peek and all(
            claim.allowed or claim.rule.shadow for claim in self.claims)
        for claim in self.claims:
            if claim.reason == "missing_identity":
                continue
            rule, limit = claim.rule, claim.limit
            algorithm = rule.algorithm
            charged = charging and claim.allowed
            if charged:
                claim.view = algorithm.add(claim.view, now, limit, cost)
            if charged or (not peek and claim.how in (REPAIRED, CONVERTED)):
                rule.states[claim.key] = algorithm.save(claim.view, now, limit)
            claim.remaining, claim.reset = algorithm.figures(claim.view, now, limit)
            if claim.block_end is not None:
                claim.remaining, claim.reset = 0, max(claim.reset, claim.block_end)

    def combine(self, unlimited):
        """One answer from every rule's."""
        enforced = [claim for claim in self.claims if not claim.rule.shadow]
        denying = [claim for claim in enforced if not claim.allowed]
        if denying:
            worst = max(denying, key=Claim.rank)
            return ruled(worst, worst.reason, 0)
        shadowed = any(not claim.allowed for claim in self.claims)
        if not enforced:
            return unruled("shadow" if shadowed else "exempt" if unlimited else "no_rule")
        tightest = min(enforced, key=lambda claim: claim.remaining)
        return ruled(tightest, "shadow" if shadowed else "ok",
                     max(claim.delay for claim in enforced))

    def note(self, decision):
        """Keep count of what happened, for tests that ask what they covered."""
        seen = self.seen
        seen["lines"] += 1
        seen["reason " + decision["reason"]] += 1
        if decision["delay_us"]:
            seen["delay"] += 1
        if "rules" in decision:
            seen["explained"] += 1
        for claim in self.claims:
            name = claim.rule.label
            if claim.limit.units == 0:
                seen["limit of zero"] += 1
            if claim.how is not None:
                seen[f"{claim.how} {name}"] += 1
            if claim.reason is not None:
                seen[f"{claim.reason} {name}"] += 1

    def snapshot(self):
        """All states, to come back to with restore()."""
        return [(dict(rule.states), dict(rule.guard.states) if rule.guard else None)
                for rule in self.rules]

    def restore(self, states):
        for rule, (limits, guards) in zip(self.rules, states):
            rule.states = dict(limits)
            if rule.guard:
                rule.guard.states = dict(guards)


def missing(rule, limit):
    """The verdict of a rule that insists on an identity and got none."""
    claim = Claim(rule, limit)
    claim.reason, claim.retry = "missing_identity", NEVER
    claim.remaining, claim.reset = 0, None
    return claim


def ruled(claim, reason, delay):
    """A decision with the numbers of one rule."""
    return decision(claim.allowed, claim.rule.name, claim.rule.algorithm_name, reason,
                    claim.limit.units, claim.remaining, claim.reset, claim.retry, delay)


def unruled(reason):
    """A decision that no rule made."""
    return decision(True, None, None, reason, None, -1, None, 0, 0)


def decision(allowed, rule, algorithm, reason, limit, remaining, reset, retry, delay):
    return {
        "allowed": allowed, "rule": rule, "algorithm": algorithm, "reason": reason,
        "limit": limit, "remaining": remaining, "reset_at_us": reset,
        "retry_after_us": retry, "delay_us": delay,
        "reset_at": None if reset is None else ceil_div(reset, 10**6),
        "retry_after": NEVER if retry == NEVER else ceil_div(retry, 10**6)}
