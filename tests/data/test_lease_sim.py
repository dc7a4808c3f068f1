"""The simulated fleet of tools/lease_sim.py: small ones, where the outcome is known."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"
SMALL = ["--instances", "20", "--decisions", "20000", "--keys", "1000", "--window", "5",
         "--seconds", "10"]


def run(*options):
    return subprocess.run([TOOLS / "lease_sim.py", *SMALL, *options], capture_output=True,
                          text=True, timeout=120, check=False)


def simulate(*options):
    done = run("--json", *options)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # no bar without a terminal
    return json.loads(done.stdout)


@pytest.fixture(name="sim")
def fixture_sim(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    for name in ("lease_key", "lease_sim"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    spec = importlib.util.spec_from_file_location("lease_sim", TOOLS / "lease_sim.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop("lease_key", None)


def test_the_same_seed_gives_the_same_table():
    first, other = run("--seed", "7"), run("--seed", "8")
    assert first.stdout == run("--seed", "7").stdout != other.stdout
    assert "decisions" in first.stdout and first.returncode == 0


def test_without_leases_every_decision_that_is_not_denied_from_memory_is_a_call():
    fleet = simulate("--lease", "off", "--limit", "5")
    for key in fleet["keys"][:4]:
        assert key["lease"] == 0 and key["lost"] == 0
        assert key["calls"] == pytest.approx(key["rate"], rel=0.1)


@pytest.mark.parametrize("algorithm", ["fixed_window", "token_bucket"])
@pytest.mark.parametrize("limit", ["0.5", "5"])
def test_busy_keys_need_few_calls(algorithm, limit):
    key = simulate("--algorithm", algorithm, "--limit", limit)["keys"][0]
    assert key["lease"] > 0
    assert key["calls"] < key["rate"] / 10
    assert key["short"] <= key["instances"] * key["lease"]
    assert (limit == "5") <= key["lost"] <= key["lost_bound"]


def test_what_is_below_the_limit_is_not_held_back():
    assert simulate("--limit", "5")["fleet"]["short"] == 0


def test_keys_on_few_instances_need_fewer_calls():
    assert simulate("--affinity", "2")["fleet"]["calls"] < 0.8 * simulate()["fleet"]["calls"]


def test_a_lease_of_a_number_is_not_larger():
    assert {key["lease"] for key in simulate("--lease", "10")["keys"]} <= {0, *range(8, 11)}


def test_more_masters_share_the_load():
    few, many = (simulate("--masters", str(count))["fleet"] for count in (2, 8))
    assert few["mean_master"] == pytest.approx(4 * many["mean_master"])
    assert few["mean_master"] < few["top_master"]


@pytest.mark.parametrize("options", [["--lease", "some"], ["--window", "3"], ["--instances", "0"],
                                     ["--crash", "2"], ["--algorithm", "sliding_window_log"]])
def test_what_makes_no_sense_is_refused(options):
    done = run(*options)
    assert done.returncode == 2 and "error" in done.stderr


def test_leases_that_are_not_counted_are_noticed(sim, monkeypatch):
    monkeypatch.setattr(sim.Window, "lease", lambda state, units: None)
    monkeypatch.setattr(sys, "argv", ["lease_sim.py", *SMALL])
    with pytest.raises(SystemExit, match="more passed than the limit"):
        sim.main()


def test_a_bar_shows_on_a_terminal_after_two_seconds(sim, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    sim.progress(0.25, sim.time.monotonic())
    assert capsys.readouterr().err == ""
    sim.progress(0.5, sim.time.monotonic() - 3)
    assert f"[{'#' * 20}{' ' * 20}]  50%" in capsys.readouterr().err


def rows_of_the_document():
    """Those that take a second."""
    text = (TOOLS.parent / "docs/scaling.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| `--keys")]
    rows = [[cells[0].split("`")[1].split(), *(cell.strip(" |") for cell in cells[1:])]
            for cells in rows]
    assert len(rows) == 13
    return [row for row in rows if row[0][:4] == ["--keys", "10000", "--affinity", "4"]
            and "token_bucket" not in row[0]]


@pytest.mark.parametrize("row", rows_of_the_document(), ids=lambda row: " ".join(row[0]))
def test_the_document_tells_what_comes_out(row):
    options, *told = row
    done = subprocess.run([TOOLS / "lease_sim.py", "--json", *options], capture_output=True,
                          text=True, timeout=120, check=True)
    fleet = json.loads(done.stdout)["fleet"]
    assert told == [f"{fleet['calls']:,.0f}", f"{1 / fleet['per_decision']:,.1f}",
                    str(fleet["needed"]), f"{fleet['short']:.3%}", f"{fleet['worst']:.2%}",
                    f"{fleet['lost']:.2%}"]
