"""Every folder of tests/traces, decided by `sluice replay`.

    rules.yaml      the rules
    trace.jsonl     requests, one a line
    expected.jsonl  the decisions, one a line

A decision must be equal in every field; the first line that is not is shown
with its request.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SLUICE = os.environ.get("SLUICE", str(ROOT / "build" / "sluice"))
TRACES = ROOT / "tests" / "traces"


def names():
    return sorted(path.parent.name for path in TRACES.glob("*/rules.yaml"))


def replay(folder):
    return subprocess.run([SLUICE, "replay", "-c", folder / "rules.yaml", folder / "trace.jsonl"],
                          capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("name", names())
def test_a_trace_is_decided_as_expected(name):
    folder = TRACES / name
    requests = (folder / "trace.jsonl").read_text(encoding="utf-8").splitlines()
    expected = (folder / "expected.jsonl").read_text(encoding="utf-8").splitlines()
    done = replay(folder)
    actual = done.stdout.splitlines()
    for number, (request, wanted, got) in enumerate(zip(requests, expected, actual), 1):
        wanted, got = json.loads(wanted), json.loads(got)
        assert got == wanted, f"{name}, line {number}: {request}"
        assert isinstance(got["allowed"], bool)
    assert len(requests) == len(expected) == len(actual)
    assert done.returncode == 0, done.stderr


def test_there_are_traces():
    assert len(names()) >= 9
