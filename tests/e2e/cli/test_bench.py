"""sluice bench: every row is there and its figures fit together. No times: they
are the machine's."""

import json
from itertools import product

import pytest

from program import run

SHAPES = {(1, 1, 1), (1, 1, 16), (2, 1, 1), (2, 1, 16), (1, 2, 1), (1, 2, 16)}
SINGLE = {(1, 1, 1), (1, 1, 16)}
LOADS = {
    "hot": ("token_bucket", SHAPES),
    "hot-leaky": ("leaky_bucket", SINGLE),
    "hot-fixed": ("fixed_window", SINGLE),
    "hot-counter": ("sliding_window_counter", SINGLE),
    "hot-log": ("sliding_window_log", SINGLE),
    "denied": ("token_bucket", SHAPES),
    "rules": ("rules", SHAPES),
    "keys": ("token_bucket", SHAPES),
}
PERCENTILES = ("p50_ns", "p95_ns", "p99_ns", "p99_9_ns", "max_ns")


@pytest.fixture(scope="module", name="told")
def the_whole_run():
    done = run("bench", "--seconds", "0.02", "--keys", "20000", "--json")
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)


def test_conditions_are_told(told):
    assert told["cpu"] and told["kernel"].startswith("Linux")
    assert told["cores"] >= 1
    assert told["seconds"] == 0.02
    assert told["clock_ns"] > 0
    assert told["store"] == "memory:"
    assert told["left_out"] == []


def test_every_row_is_there_once(told):
    rows = [(row["name"], row["algorithm"], row["threads"], row["processes"], row["batch"])
            for row in told["rows"]]
    promised = [(name, algorithm, *shape)
                for name, (algorithm, shapes) in LOADS.items() for shape in shapes]
    assert sorted(rows) == sorted(promised)


def test_rows_of_many_keys_have_them(told):
    keys = {row["name"]: row["keys"] for row in told["rows"]}
    assert keys["keys"] == 20000
    assert keys["rules"] == 20000
    assert keys["hot"] == keys["denied"] == 1


def test_figures_fit_together(told):
    for row in told["rows"]:
        times = [row[name] for name in PERCENTILES]
        assert times == sorted(times), row
        assert times[0] > 0, row
        assert 0 <= row["admitted"] <= 1, row
        assert row["errors"] == 0, row
        assert row["latency_of"] == ("batch" if row["batch"] > 1 else "decision"), row
        assert row["decisions"] == row["samples"] * 127 * row["batch"], row
        if row["threads"] * row["processes"] == 1:
            assert row["mean_ns"] * row["decisions_per_second"] / 1e9 == pytest.approx(1, rel=0.02)


def test_what_shall_pass_passes_and_what_shall_not_does_not(told):
    for row in told["rows"]:
        if row["name"] == "denied":
            assert row["admitted"] < 0.001, row
        elif row["name"] != "rules":
            assert row["admitted"] == 1, row
        else:
            assert row["admitted"] > 0.5, row


def test_a_table_for_people():
    done = run("bench", "--seconds", "0.002", "--keys", "1000")
    assert (done.code, done.err) == (0, "")
    for name in LOADS:
        assert f"\n{name}: " in done.out, name
    for workers, batch in product(("1 thread", "2 threads", "2 processes"),
                                  ("", ", batches of 16")):
        assert f"\n  {workers}{batch} " in done.out
    assert "decisions/s" in done.out and "p99.9" in done.out
    assert "includes one reading of the clock" in done.out


def test_only_one_load():
    done = run("bench", "--only", "hot-log", "--seconds", "0.002", "--json")
    assert done.code == 0
    assert {row["name"] for row in json.loads(done.out)["rows"]} == {"hot-log"}


def test_on_a_file_that_is_kept(tmp_path):
    file = tmp_path / "bench.slu"
    done = run("bench", "--only", "keys", "--keys", "5000", "--seconds", "0.002", "--json",
               "--store", f"memory:{file}?size=2M")
    assert (done.code, done.err) == (0, "")
    told = json.loads(done.out)
    assert told["store"] == f"memory:{file}?size=2M"
    assert {row["table_bytes"] for row in told["rows"]} == {2 << 20}
    assert file.stat().st_size == 2 << 20


def test_what_a_table_does_not_hold_is_left_out(tmp_path):
    store = f"memory:{tmp_path}/bench.slu?size=1M"
    done = run("bench", "--only", "keys-1m", "--seconds", "0.002", "--store", store)
    assert (done.code, done.err) == (0, "")
    assert "keys-1m: left out, it needs " in done.out
    done = run("bench", "--only", "keys-1m", "--seconds", "0.002", "--store", store, "--json")
    told = json.loads(done.out)
    assert told["rows"] == []
    assert [load["name"] for load in told["left_out"]] == ["keys-1m"]
    assert told["left_out"][0]["needs_bytes"] > told["left_out"][0]["has_bytes"]


def test_a_million_and_ten_million_unless_it_says_how_many():
    assert "keys-10m" in run("bench", "--only", "nothing").err
    assert "keys-10m" not in run("bench", "--only", "nothing", "--keys", "100").err


@pytest.mark.parametrize("arguments, words", [
    (("--seconds", "0"), "`--seconds 0` is not from 0.001 to 3600"),
    (("--seconds", "soon"), "`--seconds soon` is not from 0.001 to 3600"),
    (("--seconds", "4000"), "`--seconds 4000` is not from 0.001 to 3600"),
    (("--keys", "0"), "`--keys 0` is not a whole number"),
    (("--keys", "15"), "`--keys` is from 16 to 100000000"),
    (("--keys", "100000001"), "`--keys` is from 16 to 100000000"),
    (("--only", "hott"), "there is no `--only hott` (did you mean `hot`?)"),
    (("--only", "nothing"), "there is no `--only nothing`; there are hot, "),
    (("hot",), "`hot` is one argument too many"),
    (("--store", "nowhere:"), "this is not where counts can live"),
])
def test_mistakes_are_named(arguments, words):
    done = run("bench", *arguments)
    assert done.code == 2
    assert done.out == ""
    assert words in done.err


def test_help_names_the_rows():
    done = run("bench", "--help")
    assert done.code == 0
    for word in (*LOADS, "keys-1m", "keys-10m", "--seconds S", "--keys N", "--only NAME",
                 "--store URL", "--json", "Exit: 0"):
        assert word in done.out, word
