"""The systemd unit: that systemd understands every line of it, and that what it starts is there."""

import re
import shutil
import subprocess

import pytest

from program import ROOT, SLUICE, TIMEOUT_S, run

UNIT = ROOT / "packaging/sluice.service"
INSTALLED = "/usr/local/bin/sluice"
EXPOSURE_MAX = 20  # tenths: of 0 to 100

systemd = pytest.mark.skipif(not shutil.which("systemd-analyze"),
                             reason="systemd-analyze is not installed")


def analyze(*words):
    return subprocess.run(["systemd-analyze", *map(str, words)], capture_output=True, text=True,
                          timeout=TIMEOUT_S, check=False, stdin=subprocess.DEVNULL)


def verify(folder, text):
    """What systemd has to say about a unit that starts the program under test."""
    assert text.count(INSTALLED) == 1
    copy = folder / "sluice.service"
    copy.write_text(text.replace(INSTALLED, str(SLUICE)), encoding="utf-8")
    done = analyze("verify", "--man=no", copy)
    return done.returncode, done.stderr


def settings():
    lines = UNIT.read_text(encoding="utf-8").splitlines()
    return [tuple(line.split("=", 1)) for line in lines if re.match(r"\w+=", line)]


@systemd
def test_systemd_understands_every_line(tmp_path):
    assert verify(tmp_path, UNIT.read_text(encoding="utf-8")) == (0, "")


@systemd
@pytest.mark.parametrize("line", ["ProtectSytem=strict", "ProtectSystem=strictly",
                                  "SystemCallFilter=@no-such-set", "Type=notified"])
def test_a_wrong_line_would_be_noticed(tmp_path, line):
    text = UNIT.read_text(encoding="utf-8").replace("[Install]", f"{line}\n[Install]")
    code, said = verify(tmp_path, text)
    assert code != 0 or said != ""


@systemd
def test_it_is_locked_up():
    done = analyze("security", "--offline=true", f"--threshold={EXPOSURE_MAX}", UNIT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_it_starts_takes_these_words():
    program, *words = dict(settings())["ExecStart"].split()
    assert program == INSTALLED
    assert words == ["serve", "-c", "/etc/sluice/rules.yaml"]
    assert run(words[0], "--help").code == 0


def test_it_may_hold_more_connections_than_the_default_allows():
    assert int(dict(settings())["LimitNOFILE"]) >= 2 * 10_000


def test_it_may_see_which_pages_are_in_memory():
    """Or the whole table would be given memory by being looked at."""
    lines = [value for name, value in settings() if name == "SystemCallFilter"]
    assert "mincore" in lines[lines.index("~@privileged @resources") + 1:]


def test_every_section_is_there():
    sections = re.findall(r"^\[(\w+)\]$", UNIT.read_text(encoding="utf-8"), flags=re.M)
    assert sections == ["Unit", "Service", "Install"]
