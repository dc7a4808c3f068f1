"""tools/demo, which `make demo` calls: decisions beside their requests.

    SLUICE   the program (build/sluice)
"""

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SLUICE = str(ROOT / os.environ.get("SLUICE", "build/sluice"))


def demo(program, folder):
    return subprocess.run([ROOT / "tools/demo", program], cwd=folder, text=True, timeout=60,
                          stdin=subprocess.DEVNULL, capture_output=True, check=False)


def test_every_decision_is_shown_in_order():
    done = demo(SLUICE, ROOT)
    assert done.returncode == 0 and done.stderr == ""
    shown = re.findall(r" (allowed|denied) +(\S+)", done.stdout.split("\n\n", 1)[1])
    lines = (ROOT / "examples/sluice.expected.jsonl").read_text(encoding="utf-8").splitlines()
    expected = [json.loads(line) for line in lines]
    assert shown[:len(expected)] == [
        ("allowed" if d["allowed"] else "denied", d["rule"] or "-") for d in expected]
    allowed = sum(d["allowed"] for d in expected)
    assert f"{len(expected)} requests: {allowed} allowed, {len(expected) - allowed} denied" \
        in done.stdout


def test_output_is_short_and_plain_off_a_terminal():
    output = demo(SLUICE, ROOT).stdout
    assert len(output.splitlines()) < 40
    assert max(map(len, output.splitlines()[:-2])) <= 100   # the last two are commands
    assert "\033" not in output


def test_every_rule_is_introduced():
    rules = (ROOT / "examples/sluice.yaml").read_text(encoding="utf-8")
    introduction = demo(SLUICE, ROOT).stdout.split("\n\n", 1)[0]
    for name in re.findall(r"- name: (\S+)", rules):
        assert name in introduction


def test_works_from_any_folder(tmp_path):
    here, elsewhere = demo(SLUICE, ROOT).stdout, demo(SLUICE, tmp_path).stdout
    assert elsewhere.replace(f"  cd {ROOT}\n", "") == here


def test_commands_to_try_do_what_they_are_for():
    check, lint = demo(SLUICE, ROOT).stdout.splitlines()[-2:]
    tried = subprocess.run(shlex.split(check), cwd=ROOT, text=True, timeout=60,
                           capture_output=True, check=False)
    assert tried.returncode == 1                            # some are denied
    assert " allowed " in tried.stdout and " denied " in tried.stdout
    assert subprocess.run(shlex.split(lint), cwd=ROOT, timeout=60, capture_output=True,
                          check=False).returncode == 0


def test_says_what_is_missing(tmp_path):
    done = demo("build/no-such-program", tmp_path)
    assert done.returncode == 1 and done.stdout == ""
    assert "build/no-such-program" in done.stderr and "make" in done.stderr


def test_tells_the_programs_own_complaint(tmp_path):
    program = tmp_path / "broken"
    program.write_text("#!/bin/sh\necho what is wrong >&2\nexit 2\n", encoding="utf-8")
    program.chmod(0o755)
    done = demo(program, ROOT)
    assert done.returncode != 0 and done.stdout == "" and done.stderr == "what is wrong\n"
