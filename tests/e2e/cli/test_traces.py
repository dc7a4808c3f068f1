"""Every folder of tests/traces, decided by `sluice replay` on each store.

    rules.yaml      the rules
    trace.jsonl     requests, one a line
    expected.jsonl  the decisions, one a line

A decision must be equal in every field; the first line that is not is shown
with its request.
"""

import json
import tempfile

import pytest

from program import ROOT, run

TRACES = ROOT / "tests" / "traces"


def names():
    return sorted(path.parent.name for path in TRACES.glob("*/rules.yaml"))


def private(rules, requests):
    """On the replay's own store."""
    return [run("replay", "-c", rules, stdin="".join(requests))]


def on_a_table(rules, *parts):
    """On a new table, one process after the other."""
    with tempfile.TemporaryDirectory() as folder:
        store = f"memory:{folder}/limits.slu?size=16M"
        return [run("replay", "-c", rules, "--store", store, stdin="".join(part))
                for part in parts]


def shared(rules, requests):
    """On a table that two processes use, one for each half of the trace."""
    half = len(requests) // 2
    return on_a_table(rules, requests[:half], requests[half:])


@pytest.mark.parametrize("store", [private, on_a_table, shared])
@pytest.mark.parametrize("name", names())
def test_a_trace_is_decided_as_expected(name, store):
    folder = TRACES / name
    requests = (folder / "trace.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    expected = (folder / "expected.jsonl").read_text(encoding="utf-8").splitlines()
    runs = store(folder / "rules.yaml", requests)
    actual = [line for done in runs for line in done.lines]
    for number, (request, wanted, got) in enumerate(zip(requests, expected, actual), 1):
        assert got == json.loads(wanted), f"{name}, line {number}: {request}"
        assert isinstance(got["allowed"], bool)
    assert len(requests) == len(expected) == len(actual)
    assert [done.code for done in runs] == [0] * len(runs), runs[-1].err


def test_there_are_traces():
    assert len(names()) >= 9
