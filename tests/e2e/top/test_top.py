"""sluice top: one picture of a server, as text; what is asked and what is refused. The terminal
is in test_top_terminal.py, tables in test_top_table.py."""

import json
import subprocess

import pytest

from admin_commands import Fake, answer, ask, environment, json_answer, problem
from stats_answers import THREE, rule, stats
from program import SLUICE, TIMEOUT_S
from terminal import Terminal

ESCAPES = "a\x1b[31m\x9b31m\u202e\x07\r\nb"


def once(served, *arguments, **variables):
    with Fake(served if isinstance(served, bytes) else json_answer(served)) as fake:
        done = ask("top", *arguments, server=fake.url, **variables)
    done.url, done.asked = fake.url, fake.asked
    return done


def names(done):
    """Of the rules, from top to bottom."""
    return [line.split()[0] for line in done.out.split("\n\n")[1].splitlines()[1:]]


# ---- the picture ----------------------------------------------------------------------------


def test_without_a_terminal_one_picture_is_printed():
    done = once(THREE)
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        f"{done.url}  up 2h 13m  last minute:  220 checks/s  9.1% denied  p50 1.0us  p99 4.1us"
        "  store memory:  table 25.0% full\n"
        "\n"
        "RULE    ALGORITHM                CHECKS/S   ALLOWED   DENIED     HIT     P50     P99"
        "  IN USE      CALLERS  MOST LIMITED\n"
        "api     token_bucket                  100      4800     1200   20.0%   1.0us   4.1us"
        "   41.0%         4/30  acme/u1\n"
        "~login  sliding_window_counter         10       570       30    5.0%    22us    90us"
        "   41.0%         4/30  192.0.2.1\n"
        "global  fixed_window                  110      6600        0      0%   0.2us   0.9us"
        "   41.0%         4/30  -\n"
        "\n"
        "     DENIED  RULE    LIMITED MOST, in the last hour\n"
        "        900  api     acme/u1\n"
        "        300  api     acme/u2\n"
        "         30  ~login  192.0.2.1\n")


@pytest.mark.parametrize("arguments, order", [
    ((), ["api", "~login", "global"]),
    (("--sort", "denied"), ["api", "~login", "global"]),
    (("--sort", "denied", "--reverse"), ["global", "~login", "api"]),
    (("--sort", "name"), ["api", "global", "~login"]),
    (("--sort", "checks"), ["global", "api", "~login"]),
    (("--sort", "allowed"), ["global", "api", "~login"]),
    (("--sort", "hit_rate"), ["api", "~login", "global"]),
    (("--sort", "p99"), ["~login", "api", "global"]),
    (("--sort=p99", "--reverse"), ["global", "api", "~login"]),
])
def test_rules_are_sorted_as_asked(arguments, order):
    assert names(once(THREE, *arguments)) == order


@pytest.mark.parametrize("name, seconds, checks", [
    ("minute", 60, 13200), ("hour", 3600, 132000), ("day", 86400, 1320000),
])
def test_a_window_is_asked_for(name, seconds, checks):
    done = once(stats(*THREE["rules"], uptime_s=10**6), "--window", name)
    assert done.asked[0].method == "GET"
    assert done.asked[0].target.startswith(f"/v1/stats?window={name}")
    assert f"  last {name}:  " in done.out
    shown = done.out.partition(" checks/s")[0].rpartition(" ")[2]
    assert abs(float(shown) - checks / seconds) <= 0.5


def test_an_idle_server_has_nothing_to_show():
    done = once(stats(rule("api", 0), uptime_s=0))
    assert done.code == 0
    assert "  0 checks/s  - denied  p50 -  p99 -  " in done.out
    assert done.out.splitlines()[-1].split()[:8] == ["api", "token_bucket", "0", "0", "0", "-",
                                                     "-", "-"]


def test_a_store_that_fails_is_told():
    store = {"name": "redis://x", "kind": "redis", "healthy": False, "why": "it is late\x1b[2J"}
    done = once(stats(rule("api"), store=store))
    assert "  store redis://x fails: it is late\\u001b[2J\n" in done.out
    assert "table" not in done.out


def test_json_is_the_answer_as_it_came():
    done = once(THREE, "--json", "--window", "hour")
    assert json.loads(done.out) == THREE
    assert done.asked[0].target == "/v1/stats?window=hour"
    assert once(answer('{"x" :\t1}  '), "--json").out == '{"x" :\t1}  '


# ---- on a terminal, once ----------------------------------------------------------------------


@pytest.mark.parametrize("columns", [200, 120, 80, 60])
def test_once_on_a_terminal_fits_it_and_escapes_nothing(columns):
    with Fake(json_answer(THREE)) as fake, \
         Terminal("top", "--once", "--server", fake.url, columns=columns) as terminal:
        assert terminal.end() == 0
    assert b"\033" not in terminal.bytes
    lines = terminal.bytes.decode().split("\r\n")
    assert max(map(len, lines)) <= columns
    assert any(line.startswith("api ") for line in lines)
    assert any(line.endswith("acme/u1") for line in lines)


def test_a_dumb_terminal_gets_one_picture():
    with Fake(json_answer(THREE)) as fake, \
         Terminal("top", "--server", fake.url, TERM="dumb") as terminal:
        assert terminal.end() == 0
    assert b"\033" not in terminal.bytes and b"~login" in terminal.bytes


# ---- hostile ----------------------------------------------------------------------------------


@pytest.mark.parametrize("escaped", [True, False], ids=["escaped in JSON", "raw in JSON"])
def test_nothing_that_a_server_sends_gets_out_raw(escaped):
    evil = rule(ESCAPES, denied=5, algorithm=ESCAPES, top=[(ESCAPES, ESCAPES, 5)])
    store = {"name": ESCAPES, "healthy": False, "why": ESCAPES}
    text = json.dumps(stats(evil, store=store), ensure_ascii=escaped)
    done = once(answer(text))
    assert done.code == 0
    assert all(character == "\n" or character.isprintable() for character in done.out), done.out
    assert len(done.out.splitlines()) == 7
    assert "a\\u001b[31m" in done.out


def test_a_long_identifier_is_cut():
    done = once(stats(rule("api", denied=1, top=[("t", "x" * 5000, 1)])))
    row = done.out.splitlines()[3]
    assert row.endswith("xxx…") and len(row) < 1200


@pytest.mark.parametrize("served", [
    {"decisions": {"minute": {}}, "rules": [None, 3, [], {"top_denied": 3, "minute": "x"}]},
    {"decisions": {"minute": {"checks": 1e300, "hit_rate": 1e300, "latency_us": []}},
     "rules": [rule("api", 1e300, 1e299)], "uptime_s": 1e300, "store": []},
    {"decisions": {"minute": {"checks": -1}}, "rules": [{}] * 5000, "uptime_s": -1},
])
def test_nonsense_is_shown_as_nothing(served):
    assert once(served).code == 0


# ---- no answer ----------------------------------------------------------------------------------


@pytest.mark.parametrize("served, code, said", [
    (problem(401, "Show a token."), 1, "the server said no (401): Show a token.\n"),
    (problem(403, "Not from here."), 1, "name its file with `--token-file FILE`"),
    (answer("<html>", 404, "text/html"), 2, "is not one of Sluice's: is it the right server?"),
    (answer("{}"), 2, "the answer (200) is about something else: is it the right server?"),
    (answer("no"), 2, "the answer (200) is no JSON: is it the right server?"),
])
def test_what_is_no_answer_is_said(served, code, said):
    done = once(served)
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith("sluice top: ") and said in done.err


def test_a_server_that_is_not_there_is_said():
    with Fake(b"") as fake:
        pass
    done = ask("top", server=fake.url)
    assert (done.code, done.out) == (2, "")
    assert done.err == (f"sluice top: no server can be reached at `{fake.url}`: "
                        "Connection refused\n")


def test_a_token_is_sent():
    done = once(THREE, SLUICE_TOKEN="secret")
    assert done.asked[0].fields["authorization"] == "Bearer secret"
    assert "secret" not in done.out


def test_a_picture_that_cannot_be_written_is_an_error():
    with Fake(json_answer(THREE)) as fake, open("/dev/full", "wb") as full:
        done = subprocess.run([SLUICE, "top", "--server", fake.url], stdout=full, check=False,
                              stderr=subprocess.PIPE, timeout=TIMEOUT_S, env=environment())
    assert done.returncode == 2
    assert b"No space left" in done.stderr


# ---- options ----------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments, said", [
    (("--sort", "denid"), "`--sort denid`: did you mean `denied`?"),
    (("--sort", "xyzzy"), "`--sort xyzzy` is none of them"),
    (("--window", "week"), "`--window week` is none of them"),
    (("--every", "99ms"), "`--every` is at least 100ms"),
    (("--every", "soon"), "`--every soon` is not a time from 1ms to 24h, such as 5s"),
    (("x.slu", "--json"), "`sluice table FILE --json`"),
    (("x.slu", "--sort", "name"), "a table has no rules to sort and no server"),
    (("x.slu", "--server", "http://x"), "a table has no rules to sort and no server"),
    (("a", "b"), "`b` is one argument too many"),
])
def test_a_bad_option_says_what_would_be_right(arguments, said):
    done = ask("top", *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err and done.err.endswith("try `sluice top --help`\n")


def test_help_names_keys_and_says_that_tables_hold_no_names():
    done = ask("top", "--help")
    assert done.code == 0
    for word in ("FILE", "--sort NAME", "--reverse", "--window NAME", "--every TIME", "--once",
                 "--json", "--server URL", "--token-file FILE", "q quit", "no names", "Exit: 0"):
        assert word in done.out, word
    assert max(map(len, done.out.splitlines())) <= 100
