"""Real traffic, and the tables in docs/algorithms.md that come of it.

The traces are other people's and not in this repository; without them the
comparison is skipped. SLUICE_TRACES names their folder, BUILD the build folder.
"""

import gzip
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools/traces-table"
NO_TRACES = 3


def check(**environment):
    return subprocess.run([TOOL, "--check"], cwd=ROOT, env={**os.environ, **environment},
                          capture_output=True, text=True, check=False)


def test_real_traffic_is_decided_as_the_tables_say():
    result = check()
    if result.returncode == NO_TRACES:
        pytest.skip(result.stderr.strip())
    assert result.returncode == 0, result.stderr


def test_missing_traces_are_named(tmp_path):
    result = check(SLUICE_TRACES=str(tmp_path))
    assert result.returncode == NO_TRACES
    for part in (".log.gz", ".tsv.gz", ".csv.gz", str(tmp_path), "SLUICE_TRACES"):
        assert part in result.stderr


def test_another_file_in_place_of_a_trace_is_refused(tmp_path):
    for name in ("web_semicomplete_2015.log.gz", "web_nasa_19950701.tsv.gz",
                 "llm_azure_code_2023.csv.gz"):
        (tmp_path / name).write_bytes(gzip.compress(b"something else"))
    result = check(SLUICE_TRACES=str(tmp_path))
    assert result.returncode == 1
    assert "not the file" in result.stderr
