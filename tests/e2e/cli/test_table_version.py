"""A table file of an earlier release is opened, and its counts go on.

table_version_1.slu.gz was written by release 0.1.0 at RECORDED: seven requests of one user under
each rule below. The clock stands a minute later, on the same machine or on another one.
"""

import gzip
import json
import os
from pathlib import Path
from unittest import mock

import pytest

from clocks import DAY, MINUTE, Clock
from program import run

TABLE = Path(__file__).parent / "table_version_1.slu.gz"
RECORDED, BOOTED = 1795034624, 1795027781
RULES = """
store: memory:table.slu?size=1M
rules:
  - { name: fixed, resource: /fixed, per: user, algorithm: fixed_window, limit: 10/365d }
  - { name: log, resource: /log, per: user, algorithm: sliding_window_log, limit: 10/30d }
  - { name: counter, resource: /counter, per: user, algorithm: sliding_window_counter, limit: 10/365d }
  - { name: bucket, resource: /bucket, per: user, algorithm: token_bucket, capacity: 10, refill_rate: 0.00002 }
  - { name: leaky, resource: /leaky, per: user, algorithm: leaky_bucket, capacity: 10, refill_rate: 0.00002 }
"""
NAMES = ["fixed", "log", "counter", "bucket", "leaky"]


@pytest.fixture
def old_table(tmp_path):
    (tmp_path / "rules.yaml").write_text(RULES, encoding="utf-8")
    (tmp_path / "table.slu").write_bytes(gzip.decompress(TABLE.read_bytes()))
    clock = Clock(tmp_path)
    clock._set(2, BOOTED + DAY)  # pylint: disable=protected-access # clock.c starts a day early
    clock.stand(RECORDED + MINUTE)
    variables = {"LD_PRELOAD": str(clock.shim), "SLUICE_CLOCK": str(clock.path)}
    with mock.patch.dict(os.environ, variables):
        yield tmp_path / "rules.yaml", clock


def check(rules, name, *more):
    result = run("check", "-c", rules, "--resource", f"/{name}", "--user", "u1", "--json", *more)
    assert result.code in (0, 1), result.err
    return [json.loads(line) for line in result.out.splitlines()]


@pytest.mark.parametrize("name", NAMES)
def test_what_was_counted_in_an_old_table_still_counts(old_table, name):
    rules, _ = old_table
    assert check(rules, name, "--peek")[0]["remaining"] == 3
    decisions = check(rules, name, "--times", "4")
    assert [decision["allowed"] for decision in decisions] == [True, True, True, False]


@pytest.mark.parametrize("name", NAMES)
def test_an_old_table_forgets_when_its_time_has_come(old_table, name):
    rules, clock = old_table
    clock.stand(RECORDED + 800 * DAY)
    assert check(rules, name, "--peek")[0]["remaining"] == 10
