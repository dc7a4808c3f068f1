"""sluice top FILE: a table looked at from outside, while others decide on it."""

import os
import re
import tempfile
import time
from pathlib import Path

import pytest

from admin_commands import ask
from stats_answers import table_rows, wait_for_row
from program import run
from terminal import Terminal

RULES = """\
store: memory:limits.slu?size=1M
rules:
  - { name: api, resource: /api, per: user, algorithm: fixed_window, limit: 3/365d }
  - { name: login, resource: /login, per: user, algorithm: sliding_window_log, limit: 5/365d }
"""


@pytest.fixture(name="rules")
def rules_file():
    """Tables are large: nothing of them is kept."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rules.yaml"
        path.write_text(RULES, encoding="utf-8")
        yield path


@pytest.fixture(name="table")
def table_file(rules):
    check(rules, "/api", "u")
    return rules.parent / "limits.slu"


def check(rules, resource, user, times=1):
    run("check", "-c", rules, "--resource", resource, "--user", user, "--times", str(times))


def test_once_shows_levels_and_rates(rules, table):
    check(rules, "/api", "v", 4)
    check(rules, "/login", "u")
    done = ask("top", table, "--every", "100ms")
    assert (done.code, done.err) == (0, "")
    assert "\033" not in done.out
    lines = done.out.splitlines()
    assert re.fullmatch(re.escape(str(table)) + r"  1M  \d+ slots  created \S+ ago", lines[0])
    assert lines[2].split() == ["NOW", "A", "SECOND"]
    seen = table_rows(lines[3:])
    assert seen["keys live"][:2] == ("2", "0")
    assert seen["keys live"][2].startswith("[#...................]  <0.1% of those")
    assert seen["limiting"] == ("1", "0", "[##########..........]  50.0% of the live ones")
    assert seen["insertions"][:2] == ("3", "0")
    assert seen["evictions"][:2] == seen["full answers"][:2] == ("0", "0")
    assert seen["reservations"][:2] == ("0", "0")
    assert seen["keys with logs"][:2] == ("1", "0")
    assert seen["log area"][2].endswith("% in use")


def test_it_is_drawn_again_as_it_changes(rules, table):
    with Terminal("top", table, "--every", "200ms", columns=100) as terminal:
        wait_for_row(terminal, "keys live", "1", "0")
        assert terminal.screen.in_front
        for user in "abc":
            check(rules, "/api", user)
        wait_for_row(terminal, "keys live", "4")
        wait_for_row(terminal, "insertions", "4", "0")
        check(rules, "/api", "a", 4)
        wait_for_row(terminal, "limiting", "1")
        terminal.press("q")
        assert terminal.end() == 0
        assert terminal.is_as_before()


def test_a_rate_is_what_changed_in_the_time_between(rules, table):
    with Terminal("top", table, "--every", "1s", columns=100) as terminal:
        wait_for_row(terminal, "insertions", "1", "0")
        trace = "".join(f'{{"at_us": {time.time_ns() // 1000}, "resource": "/api", '
                        f'"user": "n{number}"}}\n' for number in range(600))
        run("replay", "-c", rules, "--store", f"memory:{table}", stdin=trace)
        terminal.wait_until(lambda screen: table_rows(screen.lines)["insertions"][1].startswith("+"),
                            "a rate")
        level, rate, _ = table_rows(terminal.screen.lines)["insertions"]
        assert float(rate) == pytest.approx(int(level) - 1, rel=0.2)
        wait_for_row(terminal, "insertions", "601", "0")


@pytest.mark.parametrize("columns, rows", [(60, 16), (60, 6), (20, 4), (1, 1)])
def test_it_fits_every_terminal(table, columns, rows):
    with Terminal("top", table, "--every", "100ms", columns=columns, rows=rows) as terminal:
        first = str(table)[:columns - 1]
        terminal.wait_until(lambda screen: screen.lines[0].startswith(first), "drawn")
        terminal.read(0.3)
        terminal.press("?")
        terminal.press("q")
        terminal.press("q")
        assert terminal.end() == 0


def test_help_says_that_there_are_no_names(table):
    with Terminal("top", table) as terminal:
        terminal.wait_for("keys live")
        terminal.press("?")
        terminal.wait_for("holds digests and no names")
        terminal.press("x")
        terminal.wait_for("keys live")


def test_a_pause_is_a_pause(rules, table):
    with Terminal("top", table, "--every", "100ms") as terminal:
        wait_for_row(terminal, "keys live", "1", "0")
        terminal.press(" ")
        terminal.wait_for("paused")
        terminal.read(0.3)
        check(rules, "/api", "v")
        terminal.read(0.4)
        assert table_rows(terminal.screen.lines)["keys live"][0] == "1"
        terminal.press(" ")
        wait_for_row(terminal, "keys live", "2")


def test_a_table_made_anew_is_another(rules, table):
    for user in "abc":
        check(rules, "/api", user)
    with Terminal("top", table, "--every", "100ms", columns=200) as terminal:
        wait_for_row(terminal, "keys live", "4", "0")
        table.unlink()
        terminal.wait_for("there is no table")
        assert not table.exists()
        check(rules, "/api", "z")
        wait_for_row(terminal, "keys live", "1")
        terminal.wait_without("there is no table")


@pytest.mark.parametrize("arguments", [(), ("--once",)])
def test_a_table_that_is_not_there_is_not_made(tmp_path, arguments):
    path = tmp_path / "limits.slu"
    done = ask("top", path, *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"sluice top: there is no table `{path}`; ")
    assert os.listdir(tmp_path) == []


def test_a_folder_is_no_table(tmp_path):
    done = ask("top", tmp_path)
    assert (done.code, done.out) == (2, "")
    assert f"`{tmp_path}`: Is a directory" in done.err


def test_looking_changes_nothing(rules, table):
    check(rules, "/api", "u", 4)
    before = table.read_bytes()
    ask("top", table, "--every", "100ms")
    after = table.read_bytes()
    assert after[4096:] == before[4096:]
    assert after[:88] == before[:88]


def test_too_small_a_table_stands_out(rules, table):
    """More keys than slots, none of them limiting: some are given up."""
    del rules
    now_us = time.time_ns() // 1000
    small = table.with_name("small.slu")
    other = table.with_name("other.yaml")
    other.write_text("rules: [{ name: api, per: user, algorithm: fixed_window, limit: 9/365d }]")
    trace = "".join(f'{{"at_us": {now_us}, "user": "{user}"}}\n' for user in range(5000))
    run("replay", "-c", other, "--store", f"memory:{small}?size=1M&log=1000K", stdin=trace)
    seen = table_rows(ask("top", small, "--every", "100ms").out.splitlines())
    assert int(seen["evictions"][0]) > 0
    assert seen["keys live"][2].startswith("[####################]")
    with Terminal("top", small, "--every", "100ms") as terminal:
        terminal.wait_for("evictions")
        assert "31" in terminal.screen.styles
