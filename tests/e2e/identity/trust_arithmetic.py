"""The document's arithmetic of trust, in fractions, and a user whose days it follows.

    WEIGHTS.score(Facts(age=40 * DAY, verified=True, calls=10, successes=8, violations=1))
"""

from dataclasses import dataclass, field
from fractions import Fraction
from math import floor

from clocks import DAY, MINUTE


@dataclass
class Facts:
    age: Fraction = Fraction(0)  # in seconds; what is not known is 0
    verified: bool = False
    calls: int = 0
    successes: int = 0
    violations: int = 0


@dataclass
class Weights:
    age_max: Fraction = Fraction("0.3")
    age_full_days: Fraction = Fraction("109.5")
    email: Fraction = Fraction("0.2")
    success: Fraction = Fraction("0.5")
    violation: Fraction = Fraction("0.05")
    violation_max: Fraction = Fraction("0.2")

    def parts(self, facts):
        days = max(Fraction(facts.age), Fraction(0)) / DAY
        share = Fraction(facts.successes, facts.calls) if facts.calls else 0
        return (self.age_max * min(days / self.age_full_days, 1),
                self.email if facts.verified else Fraction(0), self.success * share,
                -min(self.violation * facts.violations, self.violation_max))

    def score(self, facts):
        """Floored to thousandths, once, at the end."""
        clamped = min(max(sum(self.parts(facts)), Fraction(0)), Fraction(1))
        return Fraction(floor(clamped * 1000), 1000)

    def shown(self, facts):
        """As GET /v1/users/ID has it: values cut to nine decimals towards zero."""
        age, email, success, violations = (cut(part) for part in self.parts(facts))
        return {"score": float(self.score(facts)),
                "age": {"days": floor(max(facts.age, 0) / DAY), "value": age},
                "email": {"verified": facts.verified, "value": email},
                "success": {"calls": facts.calls, "successes": facts.successes, "value": success},
                "violations": {"count": facts.violations, "value": violations}}

    def as_yaml(self):
        return "trust: { " + ", ".join(
            f"{name}: {float(value)}" for name, value in vars(self).items()) + " }\n"


def cut(value):
    whole = floor(abs(value) * 10**9)
    return float(Fraction(whole if value > 0 else -whole, 10**9))


WEIGHTS = Weights()


@dataclass
class Life:
    """What has happened to a user, and what of it counts at a moment."""

    created: Fraction | None = None
    verified: bool = False
    outcomes: dict = field(default_factory=dict)  # day: [calls, successes]
    denied: set = field(default_factory=set)      # minutes

    def called(self, now, successes, failures):
        day = self.outcomes.setdefault(now // DAY, [0, 0])
        day[0] += successes + failures
        day[1] += successes

    def was_denied(self, now):
        self.denied.add(now // MINUTE)

    def facts(self, now):
        """Days are UTC days: today and the 6 before, or the 29."""
        today = now // DAY
        week = [self.outcomes.get(today - back, (0, 0)) for back in range(7)]
        days = [minute * MINUTE // DAY for minute in self.denied]
        return Facts(0 if self.created is None else now - self.created, self.verified,
                     sum(calls for calls, _ in week), sum(successes for _, successes in week),
                     sum(1 for day in days if today - 30 < day <= today))
