"""The examples of docs/algorithms.md, row by row, against the program.

An example is a block of rules followed by a table whose first column is `at`.
Times are seconds after a full minute; a row is a request, and what is said of
it. The columns named in GIVEN are asked with, the others must come out.

    SLUICE   the program (build/sluice)
"""

import json
import os
import re
import subprocess
from decimal import Decimal
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / os.environ.get("SLUICE", "build/sluice")
DOCUMENT = ROOT / "docs/algorithms.md"
FULL_MINUTE_US = 1_700_000_040_000_000
MICRO = 1_000_000

GIVEN = {
    "at": lambda cell: ("at_us", FULL_MINUTE_US + int(Decimal(cell.replace("−", "-")) * MICRO)),
    "cost": lambda cell: ("cost", int(cell)),
    "tier": lambda cell: ("tier", cell),
    "user": lambda cell: ("user", cell),
    "trust_score": lambda cell: ("trust_score", float(cell)),
    "peek": lambda cell: ("peek", cell == "yes"),
}


def seconds(us):
    text = f"{Decimal(us) / MICRO:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")


FOUND = {
    "allowed": lambda decision: "yes" if decision["allowed"] else "no",
    "reason": lambda decision: decision["reason"],
    "rule": lambda decision: decision["rule"],
    "limit": lambda decision: str(decision["limit"]),
    "remaining": lambda decision: str(decision["remaining"]),
    "reset_at": lambda decision: seconds(decision["reset_at_us"] - FULL_MINUTE_US),
    "retry_after": lambda decision: ("never" if decision["retry_after_us"] == -1
                                     else seconds(decision["retry_after_us"])),
    "delay": lambda decision: seconds(decision["delay_us"]),
}


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def examples():
    """(line number, rules, columns, rows) of every example."""
    pattern = r"```yaml\n(.*?)```\n\n(\| at \|[^\n]*\n)\|[-: |]+\|\n((?:\|[^\n]*\n)+)"
    text = DOCUMENT.read_text()
    for match in re.finditer(pattern, text, flags=re.S):
        line = text.count("\n", 0, match.start(2)) + 1
        yield line, match[1], cells(match[2]), [cells(row) for row in match[3].splitlines()]


def request_of(columns, row):
    named = dict(zip(columns, row))
    request = dict(GIVEN[name](cell) for name, cell in named.items() if name in GIVEN and cell)
    return {"user": "u1", **request}


def replay(rules, columns, rows, folder):
    path = folder / "rules.yaml"
    path.write_text(rules)
    trace = "".join(json.dumps(request_of(columns, row)) + "\n" for row in rows)
    result = subprocess.run([PROGRAM, "replay", "-c", path], input=trace, capture_output=True,
                            text=True, check=False)
    assert result.returncode == 0, result.stderr + result.stdout
    return [json.loads(line) for line in result.stdout.splitlines()]


def answered(columns, row, decision):
    return [cell if name in GIVEN else FOUND[name](decision) for name, cell in zip(columns, row)]


@pytest.mark.parametrize("line, rules, columns, rows", [
    pytest.param(*example, id=f"line {example[0]}") for example in examples()])
def test_example(line, rules, columns, rows, tmp_path):
    decisions = replay(rules, columns, rows, tmp_path)
    ours = [answered(columns, *pair) for pair in zip(rows, decisions)]
    assert rows == ours, f"{DOCUMENT.name}, the table at line {line}"


def test_every_algorithm_has_an_example():
    shown = {name for _, rules, _, _ in examples()
             for name in re.findall(r"algorithm: (\w+)", rules)}
    rows = re.findall(r"^SL_ALGO\((\w+)\)", (ROOT / "src/algo/list.def").read_text(), flags=re.M)
    assert set(rows) <= shown
