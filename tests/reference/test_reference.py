"""The program against the reference, on random rules and traces.

    SLUICE        the program (build/sluice)
    SLUICE_SEED   another seed
    SLUICE_LINES  how many lines in all (210000)
"""

import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from compare import Program, Shrinker, find_mismatch, reference
from generate import random_case
from generate_rules import ALGORITHMS
from model_algorithms import FixedWindow

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("SLUICE", "build/sluice"))
SEED = os.environ.get("SLUICE_SEED", "one")
LINES = int(os.environ.get("SLUICE_LINES", "210000"))
LENGTHS = (100, 400, 700, 1300)
MOST_REPORTS = 3
FULL_RUN = 200_000   # from here on everything must have come up

KINDS = (*ALGORITHMS, "first_request")
BUCKETS = ("token_bucket", "leaky_bucket")
MUST_BE_SEEN = (
    [f"rate_limit_exceeded {kind}" for kind in KINDS]
    + [f"cost_exceeds_limit {kind}" for kind in KINDS]
    + [f"repaired {kind}" for kind in KINDS]
    + [f"believed {kind}" for kind in KINDS if kind not in BUCKETS]
    + [f"{how} {kind}" for kind in BUCKETS for how in ("converted", "carried")]
    + [f"reason {reason}" for reason in (
        "ok", "exempt", "no_rule", "rate_limit_exceeded", "burst_blocked",
        "cost_exceeds_limit", "missing_identity", "shadow")]
    + ["delay", "replaced", "explained", "limit of zero", "peeks", "steps back", "follow-ups"])


def cases(seed, lines):
    """Random cases of different lengths, until there are enough lines."""
    number = done = 0
    while done < lines:
        length = LENGTHS[number % len(LENGTHS)]
        yield random_case(f"{seed}/{number}", length)
        number, done = number + 1, done + length


def shrunk(program, case, mismatch):
    """A mismatch in its smallest form found, with the case's seed."""
    small = Shrinker(program, case.rules, case.lines, mismatch).shrink()
    return f"\n=== seed {case.seed}, {len(small.lines)} of {len(case.lines)} lines\n" \
           + small.report()


def test_program_agrees_with_reference(tmp_path):
    path = ROOT / PROGRAM
    if not path.exists():
        pytest.fail(f"{path} is missing: build it first, or set SLUICE")
    print(f"SLUICE_SEED={SEED} SLUICE_LINES={LINES}", file=sys.stderr)
    program = Program(path, tmp_path)
    seen, reports = Counter(), []
    for case in cases(SEED, LINES):
        seen["cases"] += 1
        seen += case.seen
        mismatch = find_mismatch(program, case.rules, case.lines, case.expected)
        if mismatch:
            reports.append(shrunk(program, case, mismatch))
            if len(reports) == MOST_REPORTS:
                break
    if reports:
        pytest.fail(f"seed {SEED}: the program and the reference differ\n" + "\n".join(reports),
                    pytrace=False)
    print(f"{seen['cases']} rule sets, {seen['lines']} lines alike", file=sys.stderr)
    assert seen["lines"] >= LINES
    if LINES >= FULL_RUN:
        assert [name for name in MUST_BE_SEEN if not seen[name]] == []


def test_comparison_finds_and_shrinks_a_fault(monkeypatch):
    """A program that waits one microsecond too long is caught in a few lines."""
    def late(self, view, now, limit, cost):
        wait = exact_wait(self, view, now, limit, cost)
        return wait + 1 if wait else 0

    exact_wait = FixedWindow.wait

    def faulty(rules, lines):
        with monkeypatch.context() as patch:
            patch.setattr(FixedWindow, "wait", late)
            return reference(rules, lines), None

    for case in cases("fault", 50000):
        mismatch = find_mismatch(faulty, case.rules, case.lines, case.expected)
        if mismatch:
            small = Shrinker(faulty, case.rules, case.lines, mismatch).shrink()
            assert small.mismatch.kind == "decision"
            assert len(small.rules["rules"]) == 1
            assert len(small.lines) <= 3
            assert "fixed_window" in small.report()
            return
    pytest.fail("the fault went unnoticed")


def test_a_failing_program_is_a_mismatch():
    case = random_case("failing", 10)
    found = find_mismatch(lambda rules, lines: (None, "exit 1"), case.rules, case.lines)
    assert found.kind == "failure"
