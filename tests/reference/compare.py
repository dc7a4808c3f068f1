"""Runs a limiter and the reference on the same case, and shrinks what differs."""

import json
import subprocess
import time
from collections import namedtuple

from generate import Trust, to_json
from generate_rules import to_yaml
from model import Limiter, read_line

Mismatch = namedtuple("Mismatch", "kind line expected actual")
"""kind `decision`: line number `line` is decided differently; kind `failure`:
the program did not decide the trace at all, `actual` says how it ended."""


class Program:
    """The program under test, by way of its command `replay`."""

    def __init__(self, path, folder):
        self.path = path
        self.rules = folder / "rules.yaml"
        self.trace = folder / "trace.jsonl"

    def __call__(self, rules, lines):
        """(decisions, None), or (None, what went wrong)."""
        self.rules.write_text(to_yaml(rules), encoding="utf-8")
        self.trace.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        try:
            done = subprocess.run(
                [self.path, "replay", "-c", self.rules, self.trace], text=True, timeout=30,
                stdin=subprocess.DEVNULL, capture_output=True, check=False)
        except subprocess.TimeoutExpired:
            return None, "no end after 30 seconds"
        answers = done.stdout.splitlines()
        malformed = any('"error"' in answer for answer in answers)
        if len(answers) != len(lines) or (done.returncode != 0 and not malformed):
            return None, (f"exit {done.returncode}, {len(answers)} answers to "
                          f"{len(lines)} lines\n{done.stderr.strip()}")
        return [json.loads(answer, parse_float=str) for answer in answers], None


def reference(rules, lines):
    """The reference's decisions on a trace, from its text."""
    limiter = Limiter(rules)
    return [limiter.decide(read_line(line)) for line in lines]


def same(expected, actual):
    """Equal in every field of the contract; other fields may stand beside."""
    if expected == actual:
        return isinstance(actual["allowed"], bool)
    if not isinstance(actual, dict) or ("rules" in actual) != ("rules" in expected):
        return False
    return all(name in actual and same_field(value, actual[name])
               for name, value in expected.items())


def same_field(expected, actual):
    if isinstance(expected, list):
        return isinstance(actual, list) and len(actual) == len(expected) and all(
            isinstance(row, dict) and all(
                name in row and same_field(value, row[name]) for name, value in wanted.items())
            for wanted, row in zip(expected, actual))
    return expected == actual and isinstance(expected, bool) == isinstance(actual, bool)


def find_mismatch(program, rules, lines, expected=None):
    """The first line on which the program disagrees, or None."""
    actual, failure = program(rules, lines)
    if failure is not None:
        return Mismatch("failure", len(lines) - 1, None, failure)
    expected = reference(rules, lines) if expected is None else expected
    for number, (mine, theirs) in enumerate(zip(expected, actual)):
        if not same(mine, theirs):
            return Mismatch("decision", number, mine, theirs)
    return None


class Shrinker:
    """Takes away lines, rules and settings while a mismatch of its kind stays."""

    def __init__(self, program, rules, lines, mismatch, seconds=8):
        self.program = program
        self.rules = rules
        self.lines = lines[:mismatch.line + 1]
        self.mismatch = mismatch
        self.deadline = time.monotonic() + seconds

    def shrink(self):
        """Once round everything, and again while that still helps."""
        before = None
        while before != (self.rules, self.lines) and time.monotonic() < self.deadline:
            before = self.rules, self.lines
            self.drop_lines()
            self.drop_rules()
            self.drop_settings()
            self.drop_attributes()
        return self

    def attempt(self, rules, lines):
        """Keep the smaller case if it still differs in the same way."""
        if not lines or not rules["rules"] or time.monotonic() > self.deadline:
            return False
        try:
            found = find_mismatch(self.program, rules, lines)
        except (KeyError, ValueError, TypeError):
            return False
        if found is None or found.kind != self.mismatch.kind:
            return False
        self.rules, self.lines, self.mismatch = rules, lines[:found.line + 1], found
        return True

    def drop_lines(self):
        """Halves first, then ever smaller pieces."""
        size = max(1, len(self.lines) // 2)
        while True:
            start = 0
            while start < len(self.lines):
                if not self.attempt(self.rules, self.lines[:start] + self.lines[start + size:]):
                    start += size
            if size == 1:
                return
            size = max(1, size // 2)

    def drop_rules(self):
        for rule in list(self.rules["rules"]):
            rest = [other for other in self.rules["rules"] if other is not rule]
            self.attempt({**self.rules, "rules": rest}, self.lines)

    def drop_settings(self):
        """Sections of the file, then optional keys of its rules."""
        for section in [name for name in self.rules if name != "rules"]:
            self.attempt(without(self.rules, section), self.lines)
        for number in range(len(self.rules["rules"])):
            for key in list(self.rules["rules"][number]):
                if key in ("name", "per", "capacity", "limit", "algorithm"):
                    continue
                rules = list(self.rules["rules"])
                rules[number] = without(rules[number], key)
                self.attempt({**self.rules, "rules": rules}, self.lines)

    def drop_attributes(self):
        """What all lines carry, attribute by attribute."""
        requests = [json.loads(line, parse_float=Trust) for line in self.lines]
        for name in sorted({name for request in requests for name in request} - {"at_us"}):
            fewer = [without(request, name) for request in requests]
            if self.attempt(self.rules, [to_json(request) for request in fewer]):
                requests = fewer[:len(self.lines)]

    def report(self):
        """Rules, trace and both decisions, ready to be replayed by hand."""
        found = self.mismatch
        return "\n".join([
            "--- rules", to_yaml(self.rules).rstrip(), "--- trace", *self.lines,
            f"--- expected, line {found.line + 1}", json.dumps(found.expected),
            "--- got", found.actual if found.kind == "failure" else json.dumps(found.actual)])


def without(mapping, name):
    return {key: value for key, value in mapping.items() if key != name}
