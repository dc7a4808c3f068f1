"""Sluice over the Redis protocol beside the same decision as a script in Redis, redis-benchmark
asking both: a part of tools/bench.

    tools/bench resp --rounds 15

What is compared is decisions per second of the server's processor time, one by one and 16
pipelined. Redis runs tools/bench_resp_gcra.lua or tools/bench_resp_window.lua by EVALSHA, one call
for one decision, atomic as Sluice's is. Both get equally many commands on equally many
connections and take turns. Nothing is measured before each has shown that it counts down to a
denial, and no round counts in which one command was answered with an error, or another number of
them passed than should have, by the server's own count.
What stands beside what, and why it is fair: docs/benchmarks.md.
"""

import contextlib
import csv
import re
import shutil
import subprocess
import tempfile
from collections import namedtuple
from functools import partial
from pathlib import Path

import bench_http
import bench_redis
from bench_http import CONNECTIONS, DEPTH, KEYS, Sample, Unfit

AT_LEAST = {1: 1.6, DEPTH: 12}
REQUESTS = {("Sluice", 1): 80_000, ("Redis", 1): 60_000,  # about a second of each
            ("Sluice", DEPTH): 800_000, ("Redis", DEPTH): 100_000}

# How much passes: a bucket that no run empties and that is never full again during one, a window
# alike; and one a minute.
Numbers = namedtuple("Numbers", "capacity count period window")
OPEN, TIGHT = Numbers(100_000_000, 1000, 1, 3600), Numbers(1, 1, 60, 60)
PROOF = Numbers(3, 1, 60, 3600)

# `kind`: what is asked for. All of a row's requests are of one user, or of `keys` at random.
Row = namedtuple("Row", "name kind depth at_least numbers keys", defaults=(None, OPEN, 1))


def rows():
    return [row for depth in (1, DEPTH) for row in (
        Row("SLUICE.CHECK", "bucket", depth, AT_LEAST[depth]),
        Row("CL.THROTTLE", "throttle", depth, AT_LEAST[depth]),
        Row("fixed window", "window", depth),
        Row("100,000 keys", "bucket", depth, keys=KEYS),
        Row("denied", "bucket", depth, numbers=TIGHT),
        Row("denied, CL.", "throttle", depth, numbers=TIGHT))]


def name_of(row):
    """redis-benchmark puts a number at random, below -r, in place of __rand_int__."""
    denied = "denied" if row.numbers is TIGHT else "open"
    return f"{row.kind}-{denied}-{'__rand_int__' if row.keys > 1 else 'one'}"


# ---- the servers -----------------------------------------------------------


class Sluice(bench_http.Sluice):
    """One rule. CL.THROTTLE brings its own limit, and asks no rule."""

    def __init__(self, program, row, folder):
        self.row, self.resp_port = row, bench_http.free_port()
        super().__init__(program, bench_http.HOT, folder)

    def rules(self, setting):
        numbers = self.row.numbers
        limit = (f"algorithm: fixed_window, align: first_request, capacity: {numbers.capacity}, "
                 f"window: {numbers.window}s" if self.row.kind == "window" else
                 f"algorithm: token_bucket, capacity: {numbers.capacity}, "
                 f"refill_rate: {numbers.count / numbers.period:.9f}")
        return (f"workers: {setting.workers}\n"
                f"listen: {{ http: '127.0.0.1:0', resp: '127.0.0.1:{self.resp_port}' }}\n"
                f"rules:\n  - {{ name: api, resource: /api/*, per: user, {limit} }}\n")

    @staticmethod
    def words(row, name):
        if row.kind == "throttle":
            numbers = row.numbers
            return ["CL.THROTTLE", name, numbers.capacity - 1, numbers.count, numbers.period]
        return ["SLUICE.CHECK", "resource", "/api/videos", "user", name]

    def outcomes(self):
        """How many passed, and how many did not."""
        return self.counts()[1:]

    @staticmethod
    def said(row, lines):
        """(passed, left) of an answer as redis-cli prints it."""
        if row.kind == "throttle":
            return lines[0] == "0", int(lines[2])
        decision = dict(zip(lines[::2], lines[1::2]))
        return decision["allowed"] == "1", int(decision["remaining"])


class Redis(bench_redis.Redis):
    """The scripts are loaded once."""
    SCRIPTS = {"bucket": "gcra", "throttle": "gcra", "window": "window"}

    def __init__(self, folder):
        super().__init__(folder)
        self.resp_port = self.port
        self.digests = {kind: self.ask("SCRIPT", "LOAD", Path(__file__).with_name(
            f"bench_resp_{script}.lua").read_text(encoding="utf-8")).strip()
            for kind, script in self.SCRIPTS.items()}

    def words(self, row, name):
        numbers = row.numbers
        limit = ([numbers.capacity, numbers.window] if row.kind == "window" else
                 [numbers.capacity - 1, numbers.count, numbers.period, 1])
        return ["EVALSHA", self.digests[row.kind], 1, name, *limit]

    def outcomes(self):
        """Each request that passes writes once."""
        asked, failed = self.calls(["evalsha"])
        passed, _ = self.calls(["set", "incr"])
        if failed:
            raise Unfit(f"Redis failed {failed} commands")
        return [passed, asked - passed]

    @staticmethod
    def said(_, lines):
        return lines[0] == "0", int(lines[2])


def ask(server, row, name):
    """Sends one request by redis-cli, as text: whether it passed, and how many are left."""
    command = ["redis-cli", "-p", server.resp_port, *server.words(row, name)]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    return server.said(row, done.stdout.splitlines())


def prove(server, row):
    """Three pass and say how many are left, the fourth does not."""
    said = [ask(server, row, f"prove-{row.kind}") for _ in range(4)]
    if said != [(True, 2), (True, 1), (True, 0), (False, 0)]:
        raise Unfit(f"{server.name}, {row.name}: {said}")


class Field:
    """All servers: one Redis for everything, a Sluice for every rule."""

    def __init__(self, stack, program, folder):
        def opened(row):
            place = tempfile.mkdtemp(dir=folder)
            return stack.enter_context(Sluice(program, row, place))
        self.redis = stack.enter_context(Redis(folder))
        self.sluices = {}
        for row in rows():
            rule = row.kind.replace("throttle", "bucket"), row.numbers
            if rule not in self.sluices:
                self.sluices[rule] = opened(row)
        for kind in ("bucket", "throttle", "window"):
            row = Row("proof", kind, 1, numbers=PROOF)
            prove(self.redis, row)
            with contextlib.ExitStack() as while_proving:
                server = Sluice(program, row, tempfile.mkdtemp(dir=folder))
                prove(while_proving.enter_context(server), row)

    def measure(self, row, kept):
        """{name: sample}. Rows that differ only for Sluice stand beside the same turn of Redis."""
        rule = row.kind.replace("throttle", "bucket"), row.numbers
        same = (self.redis.SCRIPTS[row.kind], row.numbers, row.keys, row.depth)
        samples = {"Sluice": measure(self.sluices[rule], row)}
        if same not in kept:
            kept[same] = measure(self.redis, row)
        return {**samples, "Redis": kept[same]}


# ---- measuring -------------------------------------------------------------


def load(server, row):
    """What redis-benchmark says after one round: per second, and latencies in µs. It stops at the
    first answer that is an error."""
    _, others = bench_http.cores(1)
    requests = REQUESTS[server.name, row.depth]
    command = ["taskset", "-c", ",".join(map(str, others)), "redis-benchmark",
               "-p", server.resp_port, "-c", CONNECTIONS, "-P", row.depth, "-r", row.keys,
               "-n", requests, "--csv", *server.words(row, name_of(row))]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    said = list(csv.DictReader(done.stdout.splitlines()))
    if done.returncode != 0 or len(said) != 1 or re.search("rror", done.stdout + done.stderr):
        raise Unfit(f"redis-benchmark, of {server.name}: {done.stdout} {done.stderr}")
    return (float(said[0]["rps"]), *(float(said[0][f"{which}_latency_ms"]) * 1e3
                                     for which in ("p50", "p99")))


def judge(server, row, outcomes):
    """All passed, or all but the first of a minute did not; and all have come, besides what was
    under way when there were enough."""
    passed, denied = outcomes
    asked = REQUESTS[server.name, row.depth]
    good = passed <= 2 if row.numbers is TIGHT else denied == 0
    if not good or not asked <= passed + denied <= asked + CONNECTIONS * row.depth:
        raise Unfit(f"{server.name}, {row.name}, {row.depth} at once: of {asked} requests "
                    f"{passed} passed and {denied} did not")


def measure(server, row):
    outcomes, cpu_s = server.outcomes(), sum(server.cpu_each_s())
    per_s, p50, p99 = load(server, row)
    cpu_s = sum(server.cpu_each_s()) - cpu_s
    outcomes = bench_http.since(outcomes, server.outcomes())
    judge(server, row, outcomes)
    return Sample(sum(outcomes) / cpu_s, per_s, cpu_s * per_s / sum(outcomes), p50, p99)


# ---- printing --------------------------------------------------------------


def print_rows(depth, samples, verdict):
    latency = ", latency in µs as\nredis-benchmark has it" if depth == 1 else ""
    print(f"Over the Redis protocol beside a script in Redis, {bench_http.how_of(depth)}: thousands "
          "of decisions per\nsecond of the server's processor time, per second, how busy it was"
          f"{latency}:\n")
    pairs = ["per second", "busy", *(["p50", "p99"] if depth == 1 else [])]
    print(f"  {'':14}{'per CPU second':>15}{'':37}" + "".join(f"{over:>15}" for over in pairs))
    bench_http.print_beside(
        ("Sluice", "Redis"), {row: each for row, each in samples.items() if row.depth == depth},
        partial(bench_http.judged, verdict=verdict, beside="resp, beside Redis' EVALSHA"))
    print()


def print_conditions(rounds):
    version = bench_http.version_of(["redis-server", "--version"], r"v=(\S+)")
    print(f"Redis {version}, no persistence, and its redis-benchmark; Sluice with one worker; "
          f"{CONNECTIONS} connections;\n{bench_http.places()}; {rounds} rounds in turn after one to "
          "warm up, of\n" + ", ".join(f"{count:,} requests to {name} ({bench_http.how_of(depth)})"
                                      for (name, depth), count in REQUESTS.items()) + "\n")


def run(program, rounds, verdict, progress):
    """The whole section; `verdict` and `progress` are tools/bench's."""
    tools = ("redis-server", "redis-cli", "redis-benchmark", "taskset")
    if missing := [tool for tool in tools if not shutil.which(tool)]:
        print(f"Over the Redis protocol: left out, for want of {' and '.join(missing)}\n")
        return
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as folder:
        with contextlib.ExitStack() as stack:
            field = Field(stack, program, folder)
            samples = bench_http.take_turns(rows(), rounds, progress, field.measure)
    print_conditions(rounds)
    for depth in (1, DEPTH):
        print_rows(depth, samples, verdict)
