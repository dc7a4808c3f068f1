"""sluice replay: a trace, decided at the times it gives."""

import json
import os
import pty
import re
import subprocess
import threading
import time

import pytest

from program import SLUICE, TIMEOUT_S, run

RULES = """\
rules:
  - { name: user, per: user, algorithm: fixed_window, limit: 3/10s }
  - { name: tried, per: user, algorithm: fixed_window, limit: 2/10s, shadow: true }
  - { name: unused, resource: /nowhere, per: user, limit: 1/s }
"""
LINE_MAX = 65536
NO_TIME = "`at_us` is missing: a replay decides at the times of its trace"


@pytest.fixture(name="rules")
def rules_file(tmp_path):
    path = tmp_path / "rules.yaml"
    path.write_text(RULES, encoding="utf-8")
    return path


def replay(rules, trace, *arguments):
    """The trace on standard input."""
    return run("replay", "-c", rules, *arguments, stdin=trace)


def line(at_us, user="u", **more):
    return json.dumps({"at_us": at_us, "user": user, **more}) + "\n"


def padded(length):
    """A good line of exactly this length, its newline not counted."""
    start, end = '{"at_us": 1, "user": "u", "x": "', '"}'
    return start + "x" * (length - len(start) - len(end)) + end


# ---- one line out per line in ----------------------------------------------------


def test_decisions_come_in_the_order_of_the_trace(rules):
    users = [f"u{i % 7}" for i in range(50)]
    done = replay(rules, "".join(line(5, user) for user in users))
    assert done.code == 0
    seen = {}
    for user, decision in zip(users, done.lines, strict=True):
        seen[user] = seen.get(user, 0) + 1
        assert decision["allowed"] == (seen[user] <= 3)
        assert decision["remaining"] == max(0, 3 - seen[user])


def test_time_is_what_the_trace_says(rules):
    done = replay(rules, line(9_999_999, cost=3) + line(9_999_999) + line(10_000_000) + line(0))
    assert [d["allowed"] for d in done.lines] == [True, False, True, True]
    assert [d["retry_after_us"] for d in done.lines] == [0, 1, 0, 0]
    assert [d["reset_at_us"] for d in done.lines] == [10**7, 10**7, 2 * 10**7, 2 * 10**7]


def test_denials_do_not_change_the_exit(rules):
    assert replay(rules, line(5) * 10).code == 0


def test_explain_is_asked_line_by_line(rules):
    done = replay(rules, line(5) + line(5, explain=True) + line(5, explain=False))
    assert ["rules" in d for d in done.lines] == [False, True, False]
    assert [row["rule"] for row in done.lines[1]["rules"]] == ["user", "tried"]


def test_peeks_and_costs_are_respected(rules):
    done = replay(rules, line(5, peek=True) + line(5, cost=0) + line(5, cost=2) + line(5, cost=2))
    assert [d["remaining"] for d in done.lines] == [3, 3, 1, 1]


@pytest.mark.parametrize("trace, count", [
    ("", 0),
    (line(5), 1),
    (line(5).rstrip("\n"), 1),
    (line(5) * 2 + line(5).rstrip("\n"), 3),
    (line(5).replace("\n", "\r\n") * 3, 3),
    ("  " + line(5), 1),
    ("\ufeff" + line(5) * 2, 2),
])
def test_the_end_of_a_line_is_a_newline_or_the_end_of_the_file(rules, trace, count):
    done = replay(rules, trace)
    assert done.code == 0
    assert len(done.lines) == count
    assert done.err.startswith(f"{count} line{'' if count == 1 else 's'} in ")


# ---- lines that are none ------------------------------------------------------------


MALFORMED = [
    ("", "byte 1: expected a JSON object"),
    (" ", "expected a JSON object"),
    ("\r", "expected a JSON object"),
    ("x", "byte 1: expected a JSON object"),
    ("[]", "byte 1: expected a JSON object"),
    ("null", "byte 1: expected a JSON object"),
    ('{"at_us": 1', "byte 12: expected `,` or `}`"),
    ('{"at_us": 1} x', "byte 14: there is something behind the object"),
    ('{"at_us": 1} {"at_us": 2}', "there is something behind the object"),
    ('{"at_us": 1,}', "expected a string"),
    ("{'at_us': 1}", "expected a string"),
    ('{"at_us": 01}', "not a number as JSON writes it"),
    ('{"at_us": NaN}', "expected a string, a number, true, false or null"),
    ("{}", NO_TIME),
    ('{"user": "u"}', NO_TIME),
    ('{"at_us": null}', NO_TIME),
    ('{"at_us": "1"}', "`at_us` must be a whole number of microseconds"),
    ('{"at_us": -1}', "`at_us` must be a whole number of microseconds"),
    ('{"at_us": 1.5}', "`at_us` must be a whole number of microseconds"),
    ('{"at_us": 4400000000000001}', "from 0 to 4400000000000000"),
    ('{"at_us": 1, "cost": -1}', "`cost` must be a whole number from 0 to 4294967295"),
    ('{"at_us": 1, "trust_score": 1.5}', "`trust_score` must be a number from 0 to 1"),
    ('{"at_us": 1, "peek": 1}', "`peek` must be true or false"),
    ('{"at_us": 1, "user": {}}', "`user` must be a string, a number, true or false"),
    ('{"at_us": 1, "at_us": 1}', "`at_us` is given twice"),
    ('{"at_us": 1, "user": "a\tb"}', "a control character in a string must be escaped"),
    ('{"at_us": 1, "user": "\\ud800"}', "half a surrogate pair is no character"),
    (b'{"at_us": 1, "user": "\xff"}', "a string is not valid UTF-8"),
    (b"\x00", "expected a JSON object"),
    ('{"at_us": 1, "' + "n" * 500 + '": []}', "must be a string, a number, true or false"),
    ("x" * (LINE_MAX + 1), "the line is longer than 65536 bytes"),
    (padded(LINE_MAX + 1), "the line is longer than 65536 bytes"),
    ("x" * 3_000_000, "the line is longer than 65536 bytes"),
]


@pytest.mark.parametrize("bad, error", MALFORMED, ids=[f"{bad[:40]!r}" for bad, _ in MALFORMED])
def test_a_malformed_line_has_its_error_in_its_place(rules, bad, error):
    bad = bad if isinstance(bad, bytes) else bad.encode()
    good = line(5).encode()
    done = replay(rules, good + bad + b"\n" + good * 3)
    first, second, *rest = done.lines
    assert done.code == 2
    assert list(second) == ["line", "error"]
    assert second["line"] == 2
    assert error in second["error"]
    assert [d["remaining"] for d in (first, *rest)] == [2, 1, 0, 0]  # the others are decided
    assert [d["allowed"] for d in (first, *rest)] == [True, True, True, False]
    assert "5 lines in " in done.err and " 1 malformed" in done.err


def test_all_malformed_lines_at_once(rules):
    lines = [bad if isinstance(bad, bytes) else bad.encode() for bad, _ in MALFORMED]
    done = replay(rules, b"\n".join(lines) + b"\n")
    assert done.code == 2
    assert [d["line"] for d in done.lines] == list(range(1, len(lines) + 1))


def test_an_error_is_json_whatever_the_line_held(rules):
    """Names are shown, cut if long, and never in the middle of a character."""
    names = ["\\u0000", '\\"', "\\n", "é" * 100, "a" + "é" * 100, "€" * 100, "ab" + "😀" * 100]
    done = replay(rules, "".join('{"at_us": 1, "%s": []}\n' % name for name in names))
    assert done.code == 2
    assert len(done.lines) == len(names)
    assert all("must be a string" in d["error"] for d in done.lines)


def test_the_longest_line_is_64_kib(rules):
    done = replay(rules, padded(LINE_MAX) + "\n" + line(5))
    assert done.code == 0
    assert [d["remaining"] for d in done.lines] == [2, 1]


def test_a_line_too_long_at_the_end_without_a_newline(rules):
    done = replay(rules, line(5) + "x" * (LINE_MAX + 1))
    assert done.code == 2
    assert done.lines[1]["line"] == 2


# ---- where the trace comes from ------------------------------------------------------


def test_a_file_and_standard_input_are_alike(rules, tmp_path):
    trace = tmp_path / "trace.jsonl"
    trace.write_text(line(5) * 5)
    named = run("replay", "-c", rules, trace)
    behind = run("replay", trace, "-c", rules)
    dashed = run("replay", "-c", rules, "--", trace)
    assert named.code == 0
    assert named.out == behind.out == dashed.out
    assert named.out == replay(rules, line(5) * 5).out == replay(rules, line(5) * 5, "-").out


@pytest.mark.parametrize("name, error", [("nowhere", "No such file or directory"),
                                         ("", "Is a directory")])
def test_a_trace_that_cannot_be_read(rules, tmp_path, name, error):
    done = run("replay", "-c", rules, tmp_path / name)
    assert done.code == 2
    assert done.out == ""
    path = str(tmp_path / name)
    assert done.err == f"sluice: cannot read the trace `{path}`: {error}\n"


def test_a_trace_that_breaks_off(rules):
    """A file that opens and whose first byte cannot be read, not by root either."""
    done = run("replay", "-c", rules, "/proc/self/mem")
    assert done.code == 2
    assert done.out == ""
    assert "sluice: reading the trace: Input/output error\n" in done.err


def test_a_private_memory_store_may_be_named(rules):
    plain = replay(rules, line(5) * 5)
    assert replay(rules, line(5) * 5, "--store", "memory:").out == plain.out
    assert replay(rules, line(5) * 5, "--store=memory:").out == plain.out


def test_the_store_of_the_rules_is_not_touched(rules):
    """A replay never counts on a live store by accident: not even the file's own."""
    rules.write_text("store: redis://localhost\n" + RULES)
    assert replay(rules, line(5)).code == 0
    rules.write_text("store: memory:limits.slu\n" + RULES)
    assert replay(rules, line(5)).code == 0
    assert not (rules.parent / "limits.slu").exists()


@pytest.mark.parametrize("store, error", [
    ("redis-sentinel://localhost", "master's name"), ("sqlite:x", "`--store`: "), ("", "`--store`: "),
])
def test_a_store_that_is_none_is_refused(rules, store, error):
    done = replay(rules, line(5), "--store", store)
    assert done.code == 2
    assert error in done.err
    assert done.out == ""


def test_a_password_is_not_repeated(rules):
    done = replay(rules, line(5), "--store", "redis://u:secret@host:99999/0")
    assert done.code == 2
    assert "secret" not in done.err


@pytest.mark.parametrize("arguments, error", [
    ((), "name the file with `-c FILE`"),
    (("-c",), "`-c` wants a value"),
    (("--stor", "x"), "did you mean `--store`?"),
    (("a", "b"), "`b` is one argument too many"),
])
def test_a_bad_option_says_what_would_be_right(arguments, error):
    done = run("replay", *arguments)
    assert done.code == 2
    assert error in done.err
    assert done.out == ""


# ---- what people see -------------------------------------------------------------------


def test_the_summary_counts_lines_and_rules(rules):
    done = replay(rules, line(5) * 4 + "x\n" + line(5, "v"))
    first, header, *rows = done.err.splitlines()
    assert re.fullmatch(r"6 lines in \d+\.\d\d s: 4 allowed, 1 denied, 1 malformed", first)
    assert header.split() == ["rule", "algorithm", "allows", "denies"]
    assert [row.split() for row in rows] == [["user", "fixed_window", "4", "1"],
                                             ["tried", "fixed_window", "3", "2", "shadow"]]


def test_output_that_cannot_be_written_is_an_error(rules):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([SLUICE, "replay", "-c", rules], input=line(5).encode(), stdout=full,
                              stderr=subprocess.PIPE, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 2
    assert b"No space left" in done.stderr


def slow_replay(rules, trace, stderr):
    """A replay whose output is not read for the first second."""
    with subprocess.Popen([SLUICE, "replay", "-c", rules, trace], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=stderr) as process:
        time.sleep(1)
        assert len(process.stdout.read().splitlines()) == 3000
        assert process.wait(TIMEOUT_S) == 0


@pytest.fixture(name="long_trace")
def long_trace_file(tmp_path):
    """More output than a pipe holds, several times over."""
    path = tmp_path / "trace.jsonl"
    path.write_text("".join(line(i) for i in range(3000)))
    return path


def on_a_terminal(work):
    """What a terminal shows of the standard error that `work` is handed."""
    leader, follower = pty.openpty()
    seen = []

    def watch():
        try:
            while piece := os.read(leader, 65536):
                seen.append(piece)
        except OSError:  # the other side is closed
            pass

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        work(follower)
    finally:
        os.close(follower)
        watcher.join(TIMEOUT_S)
        os.close(leader)
    return b"".join(seen).decode()


def test_a_bar_shows_on_a_terminal_and_is_wiped(rules, long_trace):
    shown = on_a_terminal(lambda stderr: slow_replay(rules, long_trace, stderr))
    assert re.search(r"\r\[#+\.+\] +\d+%  \d+ lines", shown)
    bar, _, summary = shown.rpartition("\r\033[K")
    assert bar
    assert summary.startswith("3000 lines in ")


def test_no_bar_without_a_terminal(rules, long_trace, tmp_path):
    with open(tmp_path / "stderr", "wb") as stderr:
        slow_replay(rules, long_trace, stderr)
    assert (tmp_path / "stderr").read_text().startswith("3000 lines in ")


def test_no_bar_for_short_work(rules, long_trace):
    shown = on_a_terminal(lambda stderr: subprocess.run(
        [SLUICE, "replay", "-c", rules, long_trace], stdout=subprocess.DEVNULL, stderr=stderr,
        timeout=TIMEOUT_S, check=True))
    assert shown.startswith("3000 lines in ")
