"""The same trace on every store, line by line: a private one, the table, Redis.

    twins = Twins(redis, folder)
    difference = twins.compare(case)    # None, or a text with the smallest case that was found

The table forgets what time has made fresh, so a trace that leaps ahead and comes back may find
less there than on a store that keeps all: at once, or when it has leapt ahead again. That alone is
excused: a line that differs on the table after time went back. Such lines are counted, for there
are few.

A case is the reference's (tests/reference): a rules file, a trace whose instants are drawn from
the answers, and what the reference decides. What differs is made small by its shrinker.
"""

import json
import random
import subprocess
import sys
from pathlib import Path

from program import ROOT, SLUICE

sys.path.append(str(ROOT / "tests" / "reference"))

# pylint: disable=wrong-import-position
from compare import Shrinker, find_mismatch  # noqa: E402
from generate import random_case  # noqa: E402
from generate_rules import ALGORITHMS, acceptable, to_yaml  # noqa: E402

PATIENT = "store_deadline: 10s\non_store_failure: deny\n"  # whatever else the machine does
LENGTHS = (100, 400, 700, 1300)
TIMEOUT_S = 120


def cases(seed, lines):
    """Random cases of different lengths, until there are enough lines."""
    number = done = 0
    while done < lines:
        length = LENGTHS[number % len(LENGTHS)]
        yield random_case(f"{seed}/{number}", length)
        number, done = number + 1, done + length


class Twins:
    """One Redis and one folder for files, used again by every case."""

    def __init__(self, redis, folder):
        self.redis, self.folder = redis, Path(folder)
        self.excused = 0

    def replay(self, rules, lines, store=None):
        """What it printed, a line each; (None, why) if it did not come to its end."""
        path = self.folder / "rules.yaml"
        path.write_text(PATIENT + to_yaml(rules), encoding="utf-8")
        where = ("--store", store) if store else ()
        done = subprocess.run([SLUICE, "replay", "-c", path, *where], timeout=TIMEOUT_S,
                              input="".join(f"{line}\n" for line in lines), text=True,
                              capture_output=True, check=False)
        answers = done.stdout.splitlines()
        if done.returncode != 0 or len(answers) != len(lines):
            return None, (f"exit {done.returncode}, {len(answers)} answers to {len(lines)} lines\n"
                          f"{done.stderr.strip()}")
        return answers, None

    def on_redis(self, rules, lines):
        self.redis.flush()
        return self.replay(rules, lines, self.redis.url())

    def compare(self, case):
        """None if all stores agree on every line."""
        private, failure = self.replay(case.rules, case.lines)
        assert failure is None, failure
        _, found = difference(private, self.on_redis(case.rules, case.lines))
        if found:
            return f"=== seed {case.seed}: Redis {found}\n{self.shrunk(case)}"
        number, found = difference(private, self.replay(case.rules, case.lines, "memory:"))
        if found and (number is None or not self.excuse(case.lines, number)):
            return f"=== seed {case.seed}: memory: {found}"
        return None

    def excuse(self, lines, number):
        """Has time gone back, up to this line?"""
        instants = [json.loads(line)["at_us"] for line in lines[:number + 1]]
        excused = instants != sorted(instants)
        self.excused += excused
        return excused

    def shrunk(self, case):
        """By what the reference says, which is what the private store says."""
        def program(rules, lines):
            answers, failure = self.on_redis(rules, lines)
            return (None, failure) if answers is None else (parsed(answers), None)

        mismatch = find_mismatch(program, case.rules, case.lines, case.expected)
        if not mismatch:
            return "(the reference sees no difference)\n" + to_yaml(case.rules)
        return Shrinker(program, case.rules, case.lines, mismatch).shrink().report()

    def changed(self, case, other_rules):
        """Half of the trace by its rules and half by others, on a table and on Redis: what
        differs first, or None."""
        half = len(case.lines) // 2
        table = self.folder / "table.slu"
        table.unlink(missing_ok=True)
        self.redis.flush()
        for rules, start, end in ((case.rules, 0, half), (other_rules, half, len(case.lines))):
            lines = case.lines[start:end]
            wanted, failure = self.replay(rules, lines, f"memory:{table}?size=16M")
            assert failure is None, failure
            number, found = difference(wanted, self.replay(rules, lines, self.redis.url()))
            if number is not None and self.excuse(case.lines, start + number):
                return None
            if found:
                return (f"=== seed {case.seed}: Redis {found}\n--- rules before\n"
                        f"{to_yaml(case.rules)}--- after\n{to_yaml(other_rules)}")
        return None


def parsed(answers):
    return [json.loads(answer, parse_float=str) for answer in answers]


def difference(wanted, outcome):
    """(number, text) of the first line that differs, (None, text) of a failure, or two None."""
    answers, failure = outcome
    if failure is not None:
        return None, failure
    for number, (mine, theirs) in enumerate(zip(wanted, answers)):
        if mine != theirs:
            return number, f"differs in line {number + 1}\nwanted {mine}\ngot    {theirs}"
    return None, None


def mutated(case, seed):
    """The same rules with other numbers; some start afresh, with another algorithm or window."""
    rng = random.Random(seed)
    rules = dict(case.rules, rules=[dict(rule) for rule in case.rules["rules"]])
    for number, rule in enumerate(rules["rules"]):
        for _ in range(50):
            other = mutated_rule(rng, rule)
            if acceptable(other, rules.get("tiers", {})):
                rules["rules"][number] = other
                break
    return rules


def mutated_rule(rng, rule):
    other = dict(rule)
    if "capacity" in other:
        other["capacity"] = max(1, other["capacity"] * rng.choice((1, 2, 3, 10, 100)) //
                                rng.choice((1, 2, 3, 10)))
    if "refill_rate" in other:
        other["refill_rate"] = rng.choice(("0.013", "0.333333333", "1", "7", "33.3", "1000"))
    kind = rng.random()
    if kind < 0.2 and "window" in other:
        other["window"] = rng.choice(("7ms", "1s", "59s", "15m"))
    elif kind < 0.4 and "window" in other and "refill_rate" not in other:
        for name in ("align", "burst_allowance", "tiers"):
            other.pop(name, None)
        other["algorithm"] = rng.choice(ALGORITHMS)
    return other
