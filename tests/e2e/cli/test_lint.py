"""sluice lint over files that are right and files that are not.

A bad file says at its top what is wrong with it, one line per problem:

    # expect: LINE:COLUMN: a part of the message
    # expect: file: a part of a message about the file as a whole

and the linter must say exactly that: no problem more, none less, in the order
of the file.
"""

import re
import subprocess

import pytest

from program import ROOT, SLUICE

RULES = ROOT / "tests" / "rules"
EXPECT = re.compile(rb"# expect: (file|\d+:\d+): (.+)")


def names(folder):
    return sorted(path.name for path in (RULES / folder).glob("*.yaml"))


def lint(path):
    return subprocess.run([SLUICE, "lint", str(path)], capture_output=True, timeout=60, check=False)


def problems(path, stdout):
    """(place, text) of every line, warnings aside."""
    found = []
    for line in stdout.decode().splitlines():
        assert line.startswith(f"{path}:"), line
        rest = line[len(str(path)) + 1 :]
        place, colon, text = rest.partition(": ")
        if not re.fullmatch(r"\d+:\d+", place):
            place, text = "file", rest.strip()
        if not text.startswith("warning: "):
            found.append((place, text))
    return found


def test_the_corpus_is_there():
    """An empty folder would make the tests below pass by doing nothing."""
    assert len(names("bad")) >= 200 and len(names("good")) >= 20


@pytest.mark.parametrize("name", names("bad"))
def test_a_bad_file_is_refused_with_every_problem_in_its_place(name):
    path = RULES / "bad" / name
    expected = []
    for line in path.read_bytes().splitlines():
        match = EXPECT.fullmatch(line)
        if not match:
            break
        expected.append((match[1].decode(), match[2].decode()))
    assert expected, f"{name} does not say what is wrong with it"

    result = lint(path)
    found = problems(path, result.stdout)
    assert [place for place, _ in found] == [place for place, _ in expected], found
    for (_, text), (_, part) in zip(found, expected):
        assert part in text
    assert result.returncode == 1


@pytest.mark.parametrize("name", names("good"))
def test_a_good_file_is_accepted(name):
    path = RULES / "good" / name
    result = lint(path)
    assert problems(path, result.stdout) == []
    assert result.returncode == 0, result.stderr


def test_a_file_that_is_not_there_is_unreadable(tmp_path):
    assert lint(tmp_path / "missing.yaml").returncode == 2


def test_a_file_without_end_is_told_how_large_it_may_be(tmp_path):
    path = tmp_path / "large.yaml"
    path.write_text("# " + "x" * (17 * 1024 * 1024))
    for command in ([SLUICE, "lint", str(path)], [SLUICE, "check", "-c", str(path)]):
        result = subprocess.run(command, capture_output=True, timeout=60, check=False, text=True)
        assert result.returncode == 2
        assert f"`{path}` is too large: it can have at most 16777216 bytes" in result.stderr


def test_directives_behind_any_line_break_take_no_squares(tmp_path):
    path = tmp_path / "tags.yaml"
    for line_break in ("\n", "\r", "\u0085", "\u2028", "\u2029"):
        lines = ["#", *(f"%TAG !{i}! tag:{i}:" for i in range(40000)), "---", "rules: []", ""]
        path.write_bytes(line_break.join(lines).encode())
        result = subprocess.run([SLUICE, "lint", str(path)], capture_output=True, timeout=60,
                                check=False)
        assert result.returncode == 1
        assert [place for place, _ in problems(path, result.stdout)] == ["2:1"]


def test_ten_thousand_rules_are_no_trouble(tmp_path):
    path = tmp_path / "many.yaml"
    rule = "  - {{ name: rule-{0}, resource: /api/{0}/*, per: user, limit: {0}/m }}\n"
    path.write_text("rules:\n" + "".join(rule.format(i + 1) for i in range(10000)))
    result = subprocess.run([SLUICE, "lint", str(path)], capture_output=True, timeout=60,
                            check=False)
    assert result.returncode == 0
    lines = result.stdout.decode().splitlines()
    assert len(lines) == 11  # ten that say it, and how many more would
    assert lines[-1].startswith(f"{path}: warning: 9990 more warnings about ")


def test_every_key_is_printed_with_its_default():
    result = subprocess.run([SLUICE, "lint", "--keys"], capture_output=True, timeout=60,
                            check=False)
    keys = {line.split()[0]: line for line in result.stdout.decode().splitlines()}
    assert result.returncode == 0
    assert "127.0.0.1:8080" in keys["listen.http"]
    assert "sliding_window_counter" in keys["rules[].algorithm"]
    assert "required" in keys["rules[].name"]
    assert "109.5" in keys["trust.age_full_days"]
    assert keys["store"].split()[1] == "memory"  # can be pasted as it is


def keys_in(path):
    """The words before a colon: enough to tell whether a key is used."""
    return set(re.findall(rb"([A-Za-z0-9_]+)\"?:", path.read_bytes()))


def test_every_key_is_used_by_some_good_file():
    result = subprocess.run([SLUICE, "lint", "--keys"], capture_output=True, timeout=60,
                            check=False)
    used = set().union(*(keys_in(RULES / "good" / name) for name in names("good")))
    for line in result.stdout.splitlines()[1:]:
        key = re.split(rb"[.\]]+", line.split()[0])[-1]
        assert key in used, f"no good file has {line.split()[0].decode()}"
