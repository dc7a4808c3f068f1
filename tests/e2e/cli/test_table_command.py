"""sluice table: what it says of a shared table, and that looking changes nothing."""

import json
import os
import pty
import re
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from program import ROOT, SLUICE, TIMEOUT_S, run

HEADER = 4096
RULES = """\
store: memory:limits.slu?size=1M
rules:
  - { name: api, resource: /api, per: user, algorithm: fixed_window, limit: 3/365d }
  - { name: login, resource: /login, per: user, algorithm: sliding_window_log, limit: 5/365d }
  - { name: short, resource: /short, per: user, algorithm: fixed_window, limit: 3/1ms }
  - { name: guarded, resource: /guarded, per: user, algorithm: fixed_window, limit: 9/365d,
      burst_guard: { window: 1h, threshold: 100, penalty: 1h } }
"""


@pytest.fixture(name="tmp_path")
def vanishing_folder():
    """Tables are large: nothing of them is kept."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.fixture(name="rules")
def rules_file(tmp_path):
    path = tmp_path / "rules.yaml"
    path.write_text(RULES, encoding="utf-8")
    return path


@pytest.fixture(name="table")
def table_file(rules):
    """A table that nothing was counted in."""
    check(rules, "/nowhere", "u")
    return rules.parent / "limits.slu"


def check(rules, resource, user, *arguments):
    done = run("check", "-c", rules, "--resource", resource, "--user", user, *arguments)
    assert done.err == ""


def figures(table):
    done = run("table", table, "--json")
    assert (done.code, done.err) == (0, "")
    assert done.out.count("\n") == 1
    return json.loads(done.out)


# ---- figures ------------------------------------------------------------------------------


def test_json_has_the_fields_of_the_header(table):
    header = (ROOT / "include" / "sluice.h").read_text(encoding="utf-8")
    body = re.search(r"struct sluice_stats \{(.+?)\};", header, re.S)[1]
    names = re.findall(r"^ *uint64_t (\w+);", body, re.M)
    assert len(names) > 10
    assert list(figures(table)) == names + ["now_us", "created_at_us"]


def test_an_untouched_table_is_empty(table):
    seen = figures(table)
    assert seen["size_bytes"] == 1 << 20 == table.stat().st_size
    assert seen["slots"] * 16 + seen["log_bytes"] <= seen["size_bytes"]
    assert seen["slots"] * 16 + seen["log_bytes"] > seen["size_bytes"] * 0.98
    for name in ("live", "limiting", "insertions", "evictions", "full", "log_used_bytes",
                 "log_live", "reservations"):
        assert seen[name] == 0, name


def test_keys_are_counted(rules, table):
    for user in range(5):
        check(rules, "/api", f"u{user}", "--times", "3" if user < 3 else "4")
    seen = figures(table)
    assert (seen["live"], seen["limiting"], seen["insertions"]) == (5, 2, 5)
    assert (seen["evictions"], seen["full"], seen["log_live"]) == (0, 0, 0)


def test_a_guard_has_a_key_of_its_own(rules, table):
    check(rules, "/guarded", "u")
    assert figures(table)["live"] == 2


def test_what_has_expired_does_not_count(rules, table):
    check(rules, "/short", "u")
    seen = figures(table)  # a program takes longer to start
    assert (seen["live"], seen["insertions"]) == (0, 1)


def test_logs_are_counted(rules, table):
    check(rules, "/login", "u", "--times", "6")
    check(rules, "/login", "v")
    seen = figures(table)
    assert seen["log_live"] == 2
    assert 0 < seen["log_used_bytes"] <= seen["log_bytes"]
    assert seen["limiting"] == 1


def test_times_are_the_walls(table):
    seen = figures(table)
    now_us = time.time_ns() // 1000
    assert now_us - TIMEOUT_S * 10**6 < seen["created_at_us"] <= seen["now_us"] + 10**6
    assert abs(now_us - seen["now_us"]) < TIMEOUT_S * 10**6


def test_looking_changes_nothing(rules, table):
    check(rules, "/api", "u", "--times", "4")
    before = table.read_bytes()
    figures(table)
    run("table", table)
    after = table.read_bytes()
    assert after[HEADER:] == before[HEADER:]
    assert after[:88] == before[:88]


# ---- for people ---------------------------------------------------------------------------


def test_people_see_the_same(rules, table):
    for user in "abc":
        check(rules, "/api", user, "--times", "4" if user == "c" else "1")
    check(rules, "/login", "u")
    seen = figures(table)
    done = run("table", table)
    assert (done.code, done.err) == (0, "")
    title, *rows = done.out.splitlines()
    assert title == str(table)
    texts = {row[2:16].strip(): row[17:] for row in rows}
    assert texts["size"] == "1M"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, \S+ ago", texts["created"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", texts["its time"])
    assert texts["slots"] == f"{seen['slots']}, meant for {seen['slots'] // 2} keys"
    assert texts["live keys"] == f"{seen['live']}, below 0.1% of these"
    assert texts["limiting now"] == "1"
    assert texts["insertions"] == str(seen["insertions"])
    assert texts["evictions"].startswith("0 ")
    assert texts["full answers"].startswith("0 ")
    assert re.fullmatch(r"\S+ of \S+, 1 key", texts["log area"])
    assert texts["reservations"] == "0 held"
    assert "too small" not in done.out


def test_a_table_that_is_too_small_says_so(tmp_path):
    """More keys than slots, none of them limiting: some are given up."""
    rules = tmp_path / "rules.yaml"
    rules.write_text("store: memory:limits.slu?size=1M&log=1000K\nrules:\n"
                     "  - { name: api, per: user, algorithm: fixed_window, limit: 9/365d }\n")
    now_us = time.time_ns() // 1000
    trace = "".join(f'{{"at_us": {now_us}, "user": "{user}"}}\n' for user in range(5000))
    done = run("replay", "-c", rules, "--store", f"memory:{tmp_path}/limits.slu?size=1M&log=1000K",
               stdin=trace)
    assert done.code == 0
    assert all(line["allowed"] for line in done.lines)
    seen = figures(tmp_path / "limits.slu")
    assert seen["slots"] < 2000
    assert seen["evictions"] > 0 and seen["full"] == 0
    assert seen["insertions"] == 5000
    assert seen["live"] + seen["evictions"] == 5000
    said = run("table", tmp_path / "limits.slu").out
    assert said.endswith("\nthe table is too small: create it anew with a larger `size=`\n")


def test_nothing_is_drawn_for_a_small_table(table):
    leader, follower = pty.openpty()
    done = subprocess.run([SLUICE, "table", table], stdin=subprocess.DEVNULL, stderr=follower,
                          stdout=subprocess.PIPE, timeout=TIMEOUT_S, check=False)
    os.write(follower, b"end")
    os.close(follower)
    assert os.read(leader, 1000) == b"end"
    os.close(leader)
    assert done.returncode == 0


# ---- what is wrong --------------------------------------------------------------------------


@pytest.mark.parametrize("option", [(), ("--json",)])
def test_a_table_that_is_not_there_is_not_made(tmp_path, option):
    path = tmp_path / "limits.slu"
    done = run("table", path, *option)
    assert (done.code, done.out) == (2, "")
    assert done.err == (f"sluice: there is no table `{path}`; "
                        f"the first to use `memory:{path}` creates it\n")
    assert os.listdir(tmp_path) == []


def test_a_path_through_a_file_is_none(table):
    done = run("table", table / "x")
    assert (done.code, done.out) == (2, "")
    assert done.err == f"sluice: cannot open the table `{table}/x`: Not a directory\n"


def test_a_folder_is_no_table(tmp_path):
    done = run("table", tmp_path)
    assert (done.code, done.out) == (2, "")
    assert f"`{tmp_path}`: Is a directory" in done.err


@pytest.mark.parametrize("arguments, error", [
    ((), "which table? name its file"),
    (("a", "b"), "`b` is one argument too many"),
    (("--jsn",), "did you mean `--json`?"),
])
def test_a_bad_option_says_what_would_be_right(arguments, error):
    done = run("table", *arguments)
    assert (done.code, done.out) == (2, "")
    assert error in done.err


@pytest.mark.parametrize("option", [(), ("--json",)])
def test_output_that_cannot_be_written_is_an_error(table, option):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([SLUICE, "table", table, *option], stdout=full,
                              stderr=subprocess.PIPE, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 2
    assert b"No space left" in done.stderr
