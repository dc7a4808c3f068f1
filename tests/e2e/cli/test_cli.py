"""What every command has in common: help, version, mistakes."""

import re
import subprocess

import pytest

from program import ROOT, SLUICE, TIMEOUT_S, run

COMMANDS = ("serve", "check", "replay", "lint", "table", "top", "bench",
            "rules", "tier", "exempt", "user", "tenant", "reset", "reload")


@pytest.mark.parametrize("arguments", [("--help",), ("-h",), ("help",)])
def test_help_names_every_command(arguments):
    done = run(*arguments)
    assert done.code == 0
    assert done.err == ""
    for command in COMMANDS:
        assert re.search(rf"^  {command} +\S", done.out, re.M), command
    assert "usage: sluice COMMAND" in done.out


@pytest.mark.parametrize("command, words", [
    ("check", ["-c FILE", "--resource R", "--user U", "--ip I", "--client C", "--tenant T",
               "--method M", "--tier T", "--trust S", "--attr NAME=VALUE", "--cost N",
               "--times N", "--peek", "--explain", "--json", "Exit: 0"]),
    ("replay", ["-c FILE", "--store URL", "TRACE", "at_us", "standard error", "Exit: 0"]),
    ("lint", ["FILE", "Exit: 0"]),
    ("table", ["FILE", "--json", "Exit: 0"]),
])
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_a_commands_help_names_all_it_takes(command, words, flag):
    done = run(command, flag)
    assert done.code == 0
    assert done.err == ""
    assert done.out.startswith(f"usage: sluice {command} ")
    for word in words:
        assert word in done.out, word
    assert max(len(line) for line in done.out.splitlines()) <= 100


@pytest.mark.parametrize("command", COMMANDS)
def test_help_may_be_asked_for_first(command):
    assert run("help", command).out == run(command, "--help").out


def test_help_wins_over_what_is_missing():
    assert run("check", "--json", "--help", "--nonsense").code == 0


def test_the_version_is_that_of_the_header():
    header = (ROOT / "include" / "sluice.h").read_text(encoding="utf-8")
    version = re.search(r'#define SLUICE_VERSION "(.+)"', header)[1]
    done = run("--version")
    assert (done.code, done.out, done.err) == (0, f"sluice {version}\n", "")


@pytest.mark.parametrize("arguments", [(), ("",)])
def test_without_a_command_it_asks_which(arguments):
    done = run(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert done.err == "sluice: which command? try `sluice --help`\n"


@pytest.mark.parametrize("name, meant", [
    ("chek", "check"), ("checks", "check"), ("reply", "replay"), ("Lint", "lint"), ("lnit", "lint"),
])
def test_a_slip_of_the_fingers_is_recognised(name, meant):
    done = run(name)
    assert done.code == 2
    assert done.err == (f"sluice: unknown command `{name}` (did you mean `{meant}`?); "
                        "try `sluice --help`\n")


@pytest.mark.parametrize("name", ["frobnicate", "--chek", "-c", "--json"])
def test_what_is_no_command_is_refused(name):
    done = run(name)
    assert done.code == 2
    assert done.out == ""
    assert f"unknown command `{name}`" in done.err
    assert "try `sluice --help`" in done.err


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_option_names_the_command(command):
    done = run(command, "--nonsense")
    assert done.code == 2
    assert done.err == (f"sluice {command}: unknown option `--nonsense`; "
                        f"try `sluice {command} --help`\n")


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("check", "--help")])
def test_help_that_cannot_be_written_is_an_error(arguments):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([SLUICE, *arguments], stdout=full, stderr=subprocess.PIPE,
                              timeout=TIMEOUT_S, check=False)
    assert done.returncode == 2
    assert b"No space left" in done.stderr
