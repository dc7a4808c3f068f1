"""The examples: each passes the linter, decides its trace as written down, and
as the reference model does.

    SLUICE   the program (build/sluice)
"""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import yaml_subset

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
SLUICE = str(ROOT / os.environ.get("SLUICE", "build/sluice"))
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.yaml"))

sys.path.insert(0, str(ROOT / "tests/reference"))
from compare import reference, same  # noqa: E402

DOCUMENTED = {"192.0.2.", "198.51.100.", "203.0.113.", "2001:db8:", "127.0.0.1"}


def sluice(*words):
    return subprocess.run([SLUICE, *map(str, words)], cwd=ROOT, text=True, timeout=60,
                          stdin=subprocess.DEVNULL, capture_output=True, check=False)


def lines_of(name, kind):
    return (EXAMPLES / f"{name}.{kind}.jsonl").read_text(encoding="utf-8").splitlines()


def read(name):
    return (EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8")


def test_there_are_examples():
    assert "sluice" in NAMES and len(NAMES) >= 14


def test_files_come_in_threes():
    found = {path.name for path in EXAMPLES.iterdir() if path.is_file()} - {"README.md"}
    wanted = {f"{name}.{kind}" for name in NAMES
              for kind in ("yaml", "trace.jsonl", "expected.jsonl")}
    assert found == wanted


def test_readme_lists_every_example():
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| \[([\w-]+)\]\(\1\.yaml\)", text, re.M)) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_lint_has_nothing_to_say(name):
    done = sluice("lint", EXAMPLES / f"{name}.yaml")
    assert done.returncode == 0, done.stdout
    assert "warning: " not in done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_replay_decides_as_expected(name):
    done = sluice("replay", "-c", EXAMPLES / f"{name}.yaml", EXAMPLES / f"{name}.trace.jsonl")
    assert done.returncode == 0, done.stderr
    decided = [json.loads(line) for line in done.stdout.splitlines()]
    expected = [json.loads(line) for line in lines_of(name, "expected")]
    assert len(decided) == len(expected) == len(lines_of(name, "trace"))
    for number, (mine, theirs) in enumerate(zip(expected, decided), 1):
        assert mine == theirs, f"line {number}"


@pytest.mark.parametrize("name", NAMES)
def test_reference_decides_as_expected(name):
    trace = lines_of(name, "trace")
    for number, (request, mine, written) in enumerate(
            zip(trace, reference(yaml_subset.load(read(name)), trace),
                lines_of(name, "expected")), 1):
        assert same(mine, json.loads(written)), f"line {number}: {request}\n{mine}\n{written}"


@pytest.mark.parametrize("name", NAMES)
def test_trace_is_small_and_shows_both_verdicts(name):
    assert 8 <= len(lines_of(name, "trace")) <= 60
    verdicts = {json.loads(line)["allowed"] for line in lines_of(name, "expected")}
    assert verdicts == {True, False}


@pytest.mark.parametrize("name", NAMES)
def test_trace_runs_forward_on_documentation_addresses(name):
    requests = [json.loads(line) for line in lines_of(name, "trace")]
    times = [request["at_us"] for request in requests]
    assert times == sorted(times)
    addresses = {request["ip"] for request in requests if "ip" in request}
    assert [ip for ip in addresses if not any(map(ip.startswith, DOCUMENTED))] == []


@pytest.mark.parametrize("name", NAMES)
def test_command_to_try_shows_what_it_promises(name):
    """All of them end in a denial, but for the one that explains."""
    commands = re.findall(r"^#   sluice (check .*)", read(name), re.M)
    assert len(commands) == 1
    done = sluice(*shlex.split(commands[0]))
    assert done.returncode == (0 if "--explain" in commands[0] else 1), done.stdout + done.stderr
