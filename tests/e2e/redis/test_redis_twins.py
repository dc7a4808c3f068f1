"""The Lua twins decide as the C does: random traces through `sluice replay` on a private store,
on `memory:` and on Redis, where every line must be the same in every field.

    SLUICE_SEED   another seed
    SLUICE_LINES  how many lines in all (105000; sanitized 8000)
"""

import json
import os
import sys
from collections import Counter

import pytest

from program import ROOT, run
from redis_running import Redis
from redis_twins import ALGORITHMS, PATIENT, Twins, cases, mutated
from watching import is_sanitized

SEED = os.environ.get("SLUICE_SEED", "twins")
LINES = int(os.environ.get("SLUICE_LINES", "8000" if is_sanitized() else "105000"))
MOST_REPORTS = 3
FULL_RUN = 100_000  # from here on everything must have come up
TRACES = ROOT / "tests" / "traces"

KINDS = (*ALGORITHMS, "first_request")
BUCKETS = ("token_bucket", "leaky_bucket")
MUST_BE_SEEN = (
    [f"{what} {kind}" for kind in KINDS for what in ("rate_limit_exceeded", "cost_exceeds_limit",
                                                    "repaired")]
    + [f"believed {kind}" for kind in KINDS if kind not in BUCKETS]
    + [f"{how} {kind}" for kind in BUCKETS for how in ("converted", "carried")]
    + [f"reason {reason}" for reason in ("ok", "exempt", "no_rule", "burst_blocked",
                                         "missing_identity", "shadow")]
    + ["delay", "explained", "limit of zero", "peeks", "steps back", "follow-ups"])


@pytest.fixture(name="redis", scope="module")
def running_redis():
    with Redis() as redis:
        yield redis
        assert redis.keys_without_ttl() == []


@pytest.fixture(name="twins")
def of_redis(redis, tmp_path):
    return Twins(redis, tmp_path)


def fail_with(reports):
    if reports:
        pytest.fail(f"seed {SEED}: stores differ\n" + "\n".join(reports), pytrace=False)


def test_every_store_gives_the_same_decisions(redis, twins):
    print(f"SLUICE_SEED={SEED} SLUICE_LINES={LINES}", file=sys.stderr)
    seen, reports = Counter(), []
    for case in cases(SEED, LINES):
        seen["cases"] += 1
        seen["lines"] += len(case.lines)
        seen += Counter({name: n for name, n in case.seen.items() if name != "lines"})
        report = twins.compare(case)
        if report:
            reports.append(report)
            if len(reports) == MOST_REPORTS:
                break
        assert redis.keys_without_ttl() == []
    fail_with(reports)
    assert seen["lines"] >= LINES
    assert twins.excused <= 1 + seen["cases"] // 30
    if LINES >= FULL_RUN:
        assert [name for name in MUST_BE_SEEN if not seen[name]] == []


def test_rules_that_change_mean_the_same_on_every_store(redis, twins):
    """Half of a trace by one set of rules, half by another, with what was counted there."""
    reports, count = [], 0
    for count, case in enumerate(cases(f"{SEED}/changed", LINES // 5), 1):
        report = twins.changed(case, mutated(case, case.seed))
        if report:
            reports.append(report)
            if len(reports) == MOST_REPORTS:
                break
    fail_with(reports)
    assert twins.excused <= 1 + count // 10
    assert redis.keys_without_ttl() == []


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("name", sorted(path.parent.name for path in TRACES.glob("*/rules.yaml")))
def test_a_written_trace_is_decided_as_expected(redis, tmp_path, name, parts):
    """By one process, or by two one after the other."""
    folder, rules = TRACES / name, tmp_path / "rules.yaml"
    rules.write_text(PATIENT + (folder / "rules.yaml").read_text(encoding="utf-8"))
    requests = (folder / "trace.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    expected = (folder / "expected.jsonl").read_text(encoding="utf-8").splitlines()
    middle = len(requests) // parts
    redis.flush()
    answers = []
    for part in (requests[:middle], requests[middle:])[:parts]:
        done = run("replay", "-c", rules, "--store", redis.url(), stdin="".join(part))
        assert done.code == 0, done.err
        answers += done.lines
    assert len(answers) == len(expected)
    for number, (request, wanted, got) in enumerate(zip(requests, expected, answers), 1):
        assert got == json.loads(wanted), f"line {number}: {request}"
    assert redis.keys_without_ttl() == []
