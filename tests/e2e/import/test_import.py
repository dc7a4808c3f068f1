"""sluice import: configurations of others, and the rules they become.

tests/import/NAME holds a configuration, or several (*.yaml), the rules.yaml that it becomes, what
is told on the way (told), and maybe options. tests/import/bad are files that are refused, and say at
their top why, as tests/rules/bad do.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

from program import ROOT, SLUICE, run

IMPORT = ROOT / "tests" / "import"
EXPECT = re.compile(r"# expect: (file|\d+:\d+): (.+)")
LIMITED = "domain: d\ndescriptors: [{ key: a, rate_limit: { unit: day, requests_per_unit: 7 } }]\n"


def cases():
    return sorted(path.name for path in IMPORT.iterdir() if path.name != "bad")


def run_in(folder, *arguments):
    """Where its files are, so that no path of this machine is printed."""
    return subprocess.run([SLUICE, *arguments], cwd=folder, capture_output=True, text=True,
                          timeout=60, check=False)


def import_case(name):
    folder = IMPORT / name
    files = sorted(path.name for path in folder.glob("*.yaml") if path.name != "rules.yaml")
    options = folder / "options"
    words = options.read_text().split() if options.exists() else []
    return folder, run_in(folder, "import", "envoy", *files, *words)


def test_the_cases_are_there():
    assert len(cases()) >= 5 and len(list((IMPORT / "bad").glob("*.yaml"))) >= 8


@pytest.mark.parametrize("name", cases())
def test_a_configuration_becomes_these_rules(name):
    folder, done = import_case(name)
    if os.environ.get("SLUICE_WRITE"):
        (folder / "rules.yaml").write_text(done.stdout)
        (folder / "told").write_text(done.stderr)
    assert done.stdout == (folder / "rules.yaml").read_text()
    assert done.stderr == (folder / "told").read_text()
    assert done.returncode == ("could not be translated" in done.stderr)


@pytest.mark.parametrize("name", cases())
def test_the_rules_have_nothing_that_the_linter_would_say(name):
    done = run("lint", str(IMPORT / name / "rules.yaml"))
    assert (done.code, done.out) == (0, "")


@pytest.mark.parametrize("path", sorted((IMPORT / "bad").glob("*.yaml")), ids=lambda path: path.stem)
def test_a_wrong_configuration_is_refused_with_every_problem_in_its_place(path):
    expected = []
    for line in path.read_text().splitlines():
        match = EXPECT.fullmatch(line)
        if not match:
            break
        expected.append((match[1], match[2]))
    assert expected, "it does not say what is wrong with it"
    done = run_in(path.parent, "import", "envoy", path.name)
    assert (done.returncode, done.stdout) == (2, "")
    told = [re.fullmatch(rf"{path.name}(?::(\d+:\d+))?: (.*)", line).groups()
            for line in done.stderr.splitlines()]
    assert [place or "file" for place, _ in told] == [place for place, _ in expected], told
    for (_, text), (_, part) in zip(told, expected):
        assert part in text


def test_a_domain_is_in_one_file_unless_they_are_merged(tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(LIMITED.replace("key: a", f"key: {name}"))
    (tmp_path / "three.yaml").write_text(LIMITED.replace("key: a", "key: one"))
    done = run_in(tmp_path, "import", "envoy", "one.yaml", "two.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ("two.yaml:1:9: the domain `d` is also in one.yaml, line 1; merge them "
                           "with --merge-domains, or leave one out\n")
    done = run_in(tmp_path, "import", "envoy", "--merge-domains", "one.yaml", "two.yaml")
    assert done.returncode == 0 and done.stdout.count("- name:") == 2
    done = run_in(tmp_path, "import", "envoy", "--merge-domains", "one.yaml", "three.yaml")
    assert done.returncode == 2 and "three.yaml:2:15: `one` is here twice" in done.stderr


def test_problems_of_all_files_are_told_at_once(tmp_path):
    (tmp_path / "a.yaml").write_text("domain: a\nx: 1\n")
    (tmp_path / "b.yaml").write_text("domain: b\ny: 1\n")
    done = run_in(tmp_path, "import", "envoy", "a.yaml", "gone.yaml", "b.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    for part in ("a.yaml:2:1: unknown key `x`", "b.yaml:2:1: unknown key `y`",
                 "cannot read `gone.yaml`: No such file"):
        assert part in done.stderr


def test_standard_input_is_a_file_too():
    done = run("import", "envoy", "-", stdin=LIMITED)
    assert done.code == 0 and "# -:2: a\n" in done.out and "limit: 7/d" in done.out
    assert done.err == "sluice: 1 limit of 1 domain became 1 rule\n"


def test_a_file_is_not_overwritten_by_accident(tmp_path):
    (tmp_path / "in.yaml").write_text(LIMITED)
    done = run_in(tmp_path, "import", "envoy", "in.yaml", "-o", "out.yaml")
    assert (done.returncode, done.stdout) == (0, "")
    first = (tmp_path / "out.yaml").read_text()
    assert "limit: 7/d" in first
    (tmp_path / "in.yaml").write_text(LIMITED.replace("7", "8"))
    done = run_in(tmp_path, "import", "envoy", "in.yaml", "-o", "out.yaml")
    assert done.returncode == 2 and "`out.yaml` is there already" in done.stderr
    assert (tmp_path / "out.yaml").read_text() == first
    done = run_in(tmp_path, "import", "envoy", "in.yaml", "-o", "out.yaml", "--force")
    assert done.returncode == 0 and "limit: 8/d" in (tmp_path / "out.yaml").read_text()
    done = run_in(tmp_path, "import", "envoy", "in.yaml", "-o", "no/such/folder.yaml")
    assert done.returncode == 2 and "cannot write `no/such/folder.yaml`" in done.stderr


def test_nothing_is_written_where_something_is_wrong(tmp_path):
    (tmp_path / "in.yaml").write_text("domain:\n")
    done = run_in(tmp_path, "import", "envoy", "in.yaml", "-o", "out.yaml")
    assert done.returncode == 2 and not (tmp_path / "out.yaml").exists()


def test_an_address_to_listen_on_must_be_one():
    done = run("import", "envoy", "-", "--listen", "here", stdin=LIMITED)
    assert (done.code, done.out) == (2, "") and "`grpc` cannot be `here`" in done.err


def test_a_full_disk_is_told(tmp_path):
    (tmp_path / "in.yaml").write_text(LIMITED)
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    done = run_in(tmp_path, "import", "envoy", "in.yaml", "-o", "/dev/full", "--force")
    assert done.returncode == 2 and "cannot write `/dev/full`" in done.stderr
    assert Path("/dev/full").is_char_device()


def test_rules_that_cannot_be_written_whole_leave_the_old_ones(tmp_path):
    (tmp_path / "in.yaml").write_text(LIMITED)
    (tmp_path / "out.yaml").write_text("rules: []\n")
    command = f"ulimit -f 0; exec '{SLUICE}' import envoy in.yaml -o out.yaml --force"
    done = subprocess.run(["sh", "-c", f"trap '' XFSZ; {command}"], cwd=tmp_path, check=False,
                          capture_output=True, text=True, timeout=30)
    assert done.returncode == 2 and "cannot write `out.yaml`" in done.stderr
    assert (tmp_path / "out.yaml").read_text() == "rules: []\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.yaml", "out.yaml"]


def test_help_says_what_it_takes():
    for words in (("import",), ("import", "envoy")):
        done = run(*words, "--help")
        assert done.code == 0 and "envoy" in done.out
    assert run("import").code == 2
    assert run("import", "envoy").code == 2
    assert run("import", "nginx").code == 2
