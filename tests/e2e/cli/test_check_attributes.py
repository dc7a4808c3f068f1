"""sluice check --attr: names that are something else, or there twice, are refused."""

import subprocess

import pytest

from program import SLUICE


@pytest.fixture
def check(tmp_path):
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules:\n  - { name: plans, per: plan, limit: 1/m }\n")

    def run(*arguments):
        return subprocess.run([SLUICE, "check", "-c", str(rules), *arguments], capture_output=True,
                              timeout=60, check=False, text=True)

    return run


def test_any_other_name_is_an_attribute(check):
    result = check("--attr", "plan=pro", "--attr", "plan2=pro", "--times", "2")
    assert result.returncode == 1
    assert "plans" in result.stdout


@pytest.mark.parametrize("name", ["tenant", "resource", "method", "user", "ip", "client", "tier",
                                  "cost", "peek", "wait", "explain", "at_us", "trust_score"])
def test_a_name_with_a_meaning_of_its_own_is_refused(check, name):
    result = check("--attr", f"{name}=1")
    assert result.returncode == 2
    assert f"`{name}` is not an attribute for `--attr`" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("second", ["plan=pro", "plan=free", "plan="])
def test_one_name_twice_is_refused(check, second):
    result = check("--attr", "plan=pro", "--attr", "other=1", "--attr", second)
    assert result.returncode == 2
    assert "`--attr plan` is given twice" in result.stderr
    assert result.stdout == ""
