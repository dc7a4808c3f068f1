"""sluice check: one request, decided here and now."""

import json
import os
import pty
import re
import subprocess

import pytest

from program import SLUICE, TIMEOUT_S, run

RULES = """\
tiers: { pro: { scale: 10 }, admin: { unlimited: true } }
exempt: { users: [root] }
rules:
  - { name: api, resource: /api/*, per: user, algorithm: fixed_window, limit: 3/365d }
  - { name: ip, per: ip, algorithm: fixed_window, limit: 100/365d }
  - { name: trusted, resource: /trusted, per: user, algorithm: fixed_window, limit: 100/365d,
      adaptive: true }
  - { name: queue, resource: /queue, per: user, algorithm: leaky_bucket, capacity: 5,
      refill_rate: 1 }
  - { name: posts, when: { method: POST }, per: client, algorithm: fixed_window, limit: 7/365d }
  - { name: plan, when: { plan: gold }, per: [tenant, plan], algorithm: fixed_window,
      limit: 9/365d }
  - { name: missing, resource: /missing, per: user, limit: 5/m, on_missing: deny }
  - { name: tried, resource: /api/*, per: user, algorithm: fixed_window, limit: 1/365d,
      shadow: true }
"""


@pytest.fixture(name="rules")
def rules_file(tmp_path):
    path = tmp_path / "rules.yaml"
    path.write_text(RULES, encoding="utf-8")
    return path


def check(rules, *arguments):
    return run("check", "-c", rules, *arguments)


API = ("--resource", "/api/x", "--user", "u")


# ---- verdicts and exits -------------------------------------------------------


@pytest.mark.parametrize("arguments, code", [
    (("--times", "3"), 0),
    (("--times", "4"), 1),
    (("--cost", "3"), 0),
    (("--cost", "4"), 1),
    (("--cost", "0", "--times", "9"), 0),
    (("--times", "9", "--peek"), 0),
    (("--tier", "pro", "--times", "30"), 0),
    (("--tier", "pro", "--times", "31"), 1),
    (("--tier", "admin", "--times", "99"), 0),
])
def test_the_exit_says_whether_all_were_allowed(rules, arguments, code):
    assert check(rules, *API, *arguments).code == code
    assert check(rules, *API, *arguments, "--json").code == code


def test_json_is_one_line_per_decision(rules):
    done = check(rules, *API, "--json", "--times", "5")
    assert [line["allowed"] for line in done.lines] == [True, True, True, False, False]
    assert [line["remaining"] for line in done.lines] == [2, 1, 0, 0, 0]
    assert done.err == ""
    first = done.lines[0]
    assert list(first) == ["allowed", "rule", "algorithm", "reason", "limit", "remaining",
                           "reset_at_us", "retry_after_us", "delay_us", "reset_at", "retry_after"]
    assert (first["rule"], first["algorithm"], first["limit"]) == ("api", "fixed_window", 3)


def test_counts_are_the_runs_own(rules):
    """Without a shared store each run starts afresh."""
    for _ in range(2):
        assert check(rules, *API, "--times", "3").code == 0


def test_a_peek_takes_nothing(rules):
    done = check(rules, *API, "--peek", "--json", "--times", "3")
    assert [line["remaining"] for line in done.lines] == [3, 3, 3]


def test_explain_lists_every_rule_that_matched(rules):
    done = check(rules, *API, "--ip", "192.0.2.1", "--explain", "--json", "--times", "2")
    rows = done.lines[1]["rules"]
    assert [row["rule"] for row in rows] == ["api", "ip", "tried"]
    assert [row["remaining"] for row in rows] == [1, 98, 0]
    assert [row["allowed"] for row in rows] == [True, True, False]
    assert [row["shadow"] for row in rows] == [False, False, True]
    assert done.lines[1]["reason"] == "shadow"
    assert "rules" not in check(rules, *API, "--json").lines[0]


@pytest.mark.parametrize("arguments, rule, limit, reason", [
    (("--resource", "/api/x", "--user", "u"), "api", 3, "ok"),
    (("--resource=/api/x", "--user=u"), "api", 3, "ok"),
    (("--resource", "//api/./%78?q", "--user", "u"), "api", 3, "ok"),
    (("--ip", "192.0.2.1"), "ip", 100, "ok"),
    (("--method", "POST", "--client", "c"), "posts", 7, "ok"),
    (("--method", "GET", "--client", "c"), None, None, "no_rule"),
    (("--attr", "plan=gold", "--tenant", "t"), "plan", 9, "ok"),
    (("--attr=plan=gold", "--tenant=t", "--attr", "x=a=b"), "plan", 9, "ok"),
    (("--attr", "plan=silver", "--tenant", "t"), None, None, "no_rule"),
    (("--attr", "plan=", "--tenant", "t"), None, None, "no_rule"),
    (("--user", "root", "--resource", "/api/x"), None, None, "exempt"),
    (("--tier", "admin", "--ip", "192.0.2.1"), None, None, "exempt"),
    (("--resource", "/trusted", "--user", "u", "--trust", "0.5"), "trusted", 150, "ok"),
    (("--resource", "/trusted", "--user", "u", "--trust", "0.9999"), "trusted", 199, "ok"),
    (("--resource", "/trusted", "--user", "u", "--trust", "1"), "trusted", 200, "ok"),
    (("--resource", "/trusted", "--user", "u"), "trusted", 100, "ok"),
    (("--resource", "/missing"), "missing", 5, "missing_identity"),
    (("--resource", "/api/x", "--user", ""), None, None, "no_rule"),
    (("--resource", "/api/x", "--user", "u", "--cost", "4"), "api", 3, "cost_exceeds_limit"),
    ((), None, None, "no_rule"),
])
def test_every_option_reaches_the_decision(rules, arguments, rule, limit, reason):
    line, = check(rules, *arguments, "--json").lines
    assert (line["rule"], line["limit"], line["reason"]) == (rule, limit, reason)


# ---- for people -----------------------------------------------------------------


def test_the_table_has_a_row_per_decision(rules):
    done = check(rules, *API, "--times", "4")
    header, *rows = done.out.splitlines()
    assert header.split() == ["#", "verdict", "rule", "algorithm", "limit", "remaining", "retry",
                              "after", "reset", "in", "reason"]
    cells = [row.split() for row in rows]
    assert [row[:6] for row in cells] == [
        ["1", "allowed", "api", "fixed_window", "3", "2"],
        ["2", "allowed", "api", "fixed_window", "3", "1"],
        ["3", "allowed", "api", "fixed_window", "3", "0"],
        ["4", "denied", "api", "fixed_window", "3", "0"]]
    assert cells[0][6] == "-" and cells[0][-1] == "ok"
    assert cells[1][-1] == "shadow"
    assert cells[3][-1] == "rate_limit_exceeded"
    assert "\033" not in done.out


def test_the_table_explains_below_each_row(rules):
    done = check(rules, *API, "--explain", "--times", "2")
    rows = [row.split() for row in done.out.splitlines()[1:]]
    assert [row[:2] for row in rows] == [["1", "allowed"], ["allows", "api"], ["allows", "tried"],
                                         ["2", "allowed"], ["allows", "api"], ["denies", "tried"]]
    assert rows[2][-1] == rows[5][-1] == "shadow"


def test_an_untouched_key_needs_no_reset(rules):
    row = check(rules, *API, "--peek").out.splitlines()[1].split()
    assert row[1:] == ["allowed", "api", "fixed_window", "3", "3", "-", "-", "ok"]


def test_a_shadow_alone_is_explained_with_its_reset(rules):
    rules.write_text("rules: [{ name: tried, per: user, algorithm: fixed_window, limit: 5/10s,\n"
                     "          shadow: true }]\n")
    shadow = check(rules, "--user", "u", "--explain").out.splitlines()[2]
    assert re.search(r" \d+(\.\d+)?m?s  shadow$", shadow), shadow


def test_what_no_rule_decides_has_dashes(rules):
    row = check(rules, "--resource", "/nowhere").out.splitlines()[1].split()
    assert row == ["1", "allowed", "-", "-", "-", "-", "-", "-", "no_rule"]


def test_what_never_passes_says_so(rules):
    row = check(rules, *API, "--cost", "4").out.splitlines()[1].split()
    assert row[1] == "denied" and row[6] == "never" and row[-1] == "cost_exceeds_limit"


def test_a_delay_is_told(rules):
    rows = check(rules, "--resource", "/queue", "--user", "u", "--times", "2").out.splitlines()
    assert "send after" not in rows[1]
    assert "ok, send after " in rows[2]


def on_a_terminal(*arguments, **environment):
    """Standard output as a terminal would see it."""
    leader, follower = pty.openpty()
    env = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "TERM")}
    subprocess.run([SLUICE, *arguments], stdin=subprocess.DEVNULL, stdout=follower,
                   stderr=subprocess.PIPE, env={**env, "TERM": "xterm", **environment},
                   timeout=TIMEOUT_S, check=False)
    os.close(follower)
    seen = b""
    try:
        while piece := os.read(leader, 65536):
            seen += piece
    except OSError:  # the other side is closed, and all is read
        pass
    os.close(leader)
    return seen.decode()


def test_colour_is_for_terminals_that_want_it(rules):
    arguments = ("check", "-c", rules, *API, "--times", "4")
    seen = on_a_terminal(*arguments)
    assert "\033[32m" in seen and "\033[31m" in seen and "\033[0m" in seen
    assert "\033" not in on_a_terminal(*arguments, NO_COLOR="1")
    assert "\033" not in on_a_terminal(*arguments, TERM="dumb")
    assert "\033" in on_a_terminal(*arguments, NO_COLOR="")


# ---- what is wrong ----------------------------------------------------------------


@pytest.mark.parametrize("arguments, message", [
    (("--cost", "-1"), "`--cost -1` is not a whole number from 0 to 4294967295"),
    (("--cost", "1.5"), "`--cost 1.5` is not a whole number"),
    (("--cost", "4294967296"), "is not a whole number from 0 to 4294967295"),
    (("--cost", ""), "is not a whole number"),
    (("--cost",), "`--cost` wants a value"),
    (("--times", "0"), "`--times 0` is not a whole number from 1"),
    (("--times", "many"), "`--times many` is not a whole number from 1"),
    (("--times", "1000000001"), "is not a whole number from 1 to 1000000000"),
    (("--trust", "1.1"), "`--trust 1.1` is not a decimal from 0 to 1"),
    (("--trust", "1.0001"), "is not a decimal from 0 to 1"),
    (("--trust", "-0.5"), "is not a decimal from 0 to 1"),
    (("--trust", "50%"), "is not a decimal from 0 to 1"),
    (("--trust", ".5"), "is not a decimal from 0 to 1"),
    (("--trust", ""), "is not a decimal from 0 to 1"),
    (("--attr", "plan"), "is not NAME=VALUE"),
    (("--attr", "=gold"), "is not NAME=VALUE"),
    (tuple(f"--attr=a{i}=1" for i in range(65)), "at most 64 times"),
    (("--attr", "a=1", "--attr", "a=2"), "`--attr a` is given twice"),
    (("--attr", "user=u"), "`user` is not an attribute for `--attr`"),
    (("--attr", "cost=1"), "`cost` is not an attribute for `--attr`"),
    (("--attr", "trust_score=1"), "`trust_score` is not an attribute for `--attr`"),
    (("--peek=true",), "`--peek` takes no value"),
    (("--user",), "`--user` wants a value"),
    (("--usr", "u"), "unknown option `--usr` (did you mean `--user`?)"),
    (("--zzzzzzzz",), "unknown option `--zzzzzzzz`"),
    (("-x",), "unknown option `-x`"),
    (("extra",), "`extra` is one argument too many"),
    (("--", "--json"), "`--json` is one argument too many"),
])
def test_a_bad_option_says_what_would_be_right(rules, arguments, message):
    done = check(rules, *arguments)
    assert done.code == 2
    assert message in done.err
    assert done.err.startswith("sluice check: ")
    assert done.err.endswith("try `sluice check --help`\n")
    assert done.err.count("\n") == 1
    assert done.out == ""


def test_rules_must_be_named():
    done = run("check", "--user", "u")
    assert done.code == 2
    assert "name the file with `-c FILE`" in done.err


def test_rules_that_are_not_there(tmp_path):
    done = check(tmp_path / "nowhere.yaml")
    assert done.code == 2
    assert done.err == (f"sluice: cannot read the rules file `{tmp_path}/nowhere.yaml`: "
                        "No such file or directory\n")


def test_rules_that_are_a_folder(tmp_path):
    done = check(tmp_path)
    assert done.code == 2
    assert "Is a directory" in done.err


def test_rules_that_break_off():
    """A file that opens and whose first byte cannot be read, not by root either."""
    done = check("/proc/self/mem")
    assert done.code == 2
    assert "cannot read the rules file `/proc/self/mem`: Input/output error\n" in done.err


def test_bad_rules_are_reported_whole(rules):
    rules.write_text("rulez: []\nrules:\n  - { name: a, per: user, limit: none }\n")
    done = check(rules, *API)
    assert done.code == 2
    assert done.out == ""
    places = [line.split(": ")[0] for line in done.err.splitlines()]
    assert places == [f"{rules}:1:1", f"{rules}:3:34"]


def test_rules_may_come_from_standard_input():
    done = run("check", "-c", "-", "--json", *API, stdin=RULES)
    assert done.code == 0
    assert done.lines[0]["rule"] == "api"


def test_output_that_cannot_be_written_is_an_error(rules):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([SLUICE, "check", "-c", rules, *API], stdout=full,
                              stderr=subprocess.PIPE, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 2
    assert b"No space left" in done.stderr


def test_a_line_of_json_is_json_whatever_the_names(tmp_path):
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules: [{ name: a.b_c-D9, per: user, limit: 5/s }]\n")
    done = check(rules, "--user", "ü\n\"", "--json")
    assert json.loads(done.out)["rule"] == "a.b_c-D9"
