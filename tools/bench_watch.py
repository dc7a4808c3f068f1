"""The cost of statistics and an audit log: decisions with them beside the same without, a part of
tools/bench.

    tools/bench watch --rounds 15

In process (tests/bench/bench_watch.c): limiters with and without an observer, in turn. Over HTTP: two
servers, one with `statistics: false` and `audit: off`, the other with both on and the log in a
file, in turn; by their processor time, that of all threads. Plain counts are on in both: a server
cannot be had without. How rounds are counted, and which count: bench_http.py.
"""

import json
import os
import shutil
import statistics
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path

import bench_http
from bench_http import CONNECTIONS, DENIED, DEPTH, HOT, MANY, SECONDS, Row

ROWS = [Row(name, setting, depth) for depth in (1, DEPTH)
        for name, setting in (("allowed", HOT), ("100,000 keys", MANY), ("denied", DENIED))]
MOST_IN_PROCESS, MOST_OVER_HTTP = 1.05, 1.02


# ---- in process ------------------------------------------------------------


def in_process(program, verdict):
    out = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    print("In process: ns for a decision, with a sight beside without, what is noted summed up "
          "included:\n")
    print(f"  {'':40}{'without':>9}{'with':>9}{'ratio':>8}")
    rows = [json.loads(line) for line in out.splitlines()]
    for row in rows:
        print(f"  {row['text']:40}{row['off_ns']:9.1f}{row['on_ns']:9.1f}{row['ratio']:8.3f}")
    good = all(row["ratio"] <= MOST_IN_PROCESS for row in rows)
    print(f"\n  target: each at most {MOST_IN_PROCESS} x: {verdict(good, 'watching, in process')}\n")


# ---- over HTTP -------------------------------------------------------------


class Watched(bench_http.Sluice):
    name = "with"
    settings = "audit: file:audit.log\n"

    @classmethod
    def rules(cls, setting):
        return cls.settings + bench_http.Sluice.rules(setting)


class Unwatched(Watched):
    name = "without"
    settings = "audit: off\nstatistics: false\n"


def start_pairs(stack, program, folder):
    pairs = {}
    for number, setting in enumerate(dict.fromkeys(row.setting for row in ROWS)):
        pairs[setting] = []
        for kind in (Watched, Unwatched):
            place = Path(folder, f"{number}-{kind.name}")
            place.mkdir()
            server = stack.enter_context(kind(program, setting, place))
            server.prove(setting)
            pairs[setting].append(server)
    return pairs


def measure_row(pairs, row):
    """Each goes first in every other round."""
    servers = pairs[row.setting]
    servers.reverse()
    return {server.name: bench_http.measure(server, row) for server in servers}


def print_row(row, samples, verdict):
    ratios = [sample["without"].per_cpu_s / sample["with"].per_cpu_s for sample in samples]
    low, high = bench_http.spread(ratios)
    ratio = statistics.median(ratios)
    cost = {name: 1e6 / bench_http.median_of(samples, name, "per_cpu_s")
            for name in ("without", "with")}
    held = verdict(ratio <= MOST_OVER_HTTP, f"watching, over HTTP: {row.name}, {row.depth} at once")
    print(f"  {row.name + ', ' + bench_http.how_of(row.depth):40}{cost['without']:9.2f}"
          f"{cost['with']:9.2f}{ratio:8.3f}{low:9.3f} – {high:<6.3f}  {held}")


def over_http(program, rounds, verdict, progress):
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as folder, ExitStack() as stack:
        pairs = start_pairs(stack, program, folder)
        samples = bench_http.take_turns(ROWS, rounds, progress,
                                        lambda row, _: measure_row(pairs, row))
    print(f"Over HTTP, /v1/authorize: µs of the server's processor time for a request, with statistics "
          f"and an audit\nfile beside without; one worker, {CONNECTIONS} connections, medians of "
          f"{rounds} rounds of {SECONDS} s after one to\nwarm up, and of the ratios within a round; "
          f"target: at most {MOST_OVER_HTTP} x\n")
    print(f"  {'':40}{'without':>9}{'with':>9}{'ratio':>8}{'quartiles':>16}")
    for row, of_row in samples.items():
        print_row(row, of_row, verdict)
    print()


def run(build, rounds, verdict, progress):
    """The whole section."""
    in_process(os.path.join(build, "bench-watch"), verdict)
    missing = [tool for tool in ("wrk", "taskset") if not shutil.which(tool)]
    if missing:
        print(f"Watching over HTTP: left out, for want of {' and '.join(missing)}\n")
        return
    over_http(os.path.join(build, "sluice"), rounds, verdict, progress)
