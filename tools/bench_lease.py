"""Leases on busy keys beside the memory store, and a flood that is denied from memory: a part of
tools/bench.

    tools/bench lease --rounds 15

Two servers with the same rules, one on a Redis of its own with `lease: auto`, one on `memory:`.
They get the same bytes from wrk and take turns, each behind a second of the same load that is not
measured: what is busy has a lease already. What is compared is decisions per second of
processor time; that of the first is its own and its Redis' together. Beside it stands how many
decisions there were for each command that Redis was sent.

The flood is 1,000,000 requests from redis-benchmark over Sluice's Redis protocol, of users that
have had their limit: which part of them does Redis see? No round counts in which one was answered
with an error, or let through.
What stands beside what, and why it is fair: docs/benchmarks.md.
"""

import contextlib
import re
import shutil
import statistics
import subprocess
import tempfile
from collections import namedtuple
from functools import partial

import bench_http
import bench_redis
from bench_http import CONNECTIONS, DEPTH, Unfit

SECONDS, BUSY_SECONDS = 2, 1  # of a round, and before it
AT_LEAST, PER_COMMAND = 0.8, 50  # of the memory store; decisions for a command
FLOOD, FLOOD_AT_MOST = 1_000_000, 0.01
BUSY_KEYS, FLOOD_KEYS = 100, 1000
SENT = ["eval", "evalsha", "fcall"]  # what else Redis counts is inside of them, or asks how it is

# What no run uses up, as rules have it. A lease is at most an eighth of what is left.
OPEN = {"fixed_window": "capacity: 1000000000, window: 1h",
        "token_bucket": "capacity: 10000000, refill_rate: 10000000"}
TIGHT = {"fixed_window": "capacity: 1, window: 1d",
         "token_bucket": "capacity: 1, refill_rate: 0.000011574"}

# With the fields that bench_http reads.
Setting = namedtuple("Setting", "algorithm keys workers denies", defaults=(1, 1, False))
Row = namedtuple("Row", "name setting depth call at_least seconds",
                 defaults=("authorize", None, SECONDS))
Sample = namedtuple("Sample", "per_cpu_s server_us redis_us per_command inside per_s p50 p99")


def rows():
    return [Row(name, Setting(algorithm, keys), depth, at_least=AT_LEAST)
            for depth in (1, DEPTH) for name, algorithm, keys in (
                ("fixed window", "fixed_window", 1), ("token bucket", "token_bucket", 1),
                (f"{BUSY_KEYS} keys", "token_bucket", BUSY_KEYS))]


def floods():
    return [Row(name, Setting(algorithm, keys, denies=True), DEPTH) for name, algorithm, keys in (
        ("fixed window", "fixed_window", 1), ("token bucket", "token_bucket", 1),
        (f"{FLOOD_KEYS:,} keys", "token_bucket", FLOOD_KEYS))]


# ---- the servers -----------------------------------------------------------


class Memory(bench_http.Sluice):
    name = "memory"
    redis = None

    def __init__(self, program, setting, folder):
        self.resp_port = bench_http.free_port()
        super().__init__(program, setting, folder)

    def store(self):
        return "store: 'memory:'\n"

    def rules(self, setting):
        """What Redis does not answer is denied, so that it shows."""
        numbers = (TIGHT if setting.denies else OPEN)[setting.algorithm]
        return (f"workers: {setting.workers}\n{self.store()}on_store_failure: deny\n"
                f"listen: {{ http: '127.0.0.1:0', resp: '127.0.0.1:{self.resp_port}' }}\n"
                "identity: { headers: { user: X-User } }\nrules:\n"
                f"  - {{ name: api, resource: /api/*, per: user, algorithm: {setting.algorithm}, "
                f"{numbers}, lease: {'off' if setting.denies else 'auto'} }}\n")


class Leased(Memory):
    name = "leased"

    def __init__(self, program, setting, folder):
        self.redis = bench_redis.Redis(folder)
        try:
            super().__init__(program, setting, folder)
        except BaseException:
            self.redis.__exit__()
            raise

    def store(self):
        return (f"store: redis://127.0.0.1:{self.redis.port}/0\n"
                f"store_deadline: {bench_redis.DEADLINE}\n")

    def pids(self):
        return [*super().pids(), *self.redis.pids()]

    def __exit__(self, *failure):
        super().__exit__(*failure)
        self.redis.__exit__(*failure)

    def sent(self):
        """Commands that Redis was sent, those that it ran in all, and how many failed."""
        sent, failed = self.redis.calls(SENT)
        ran = re.search(r"total_commands_processed:(\d+)", self.redis.ask("info", "stats"))
        return [sent, int(ran[1]), failed]


def opened(stack, kind, setting, folder):
    """It is what it should be: the second request of a day is denied where all are."""
    server = stack.enter_context(kind(setting, tempfile.mkdtemp(dir=folder)))
    server.prove(namedtuple("Proof", "denies rules")(setting.denies, 1))
    return server


# ---- measuring -------------------------------------------------------------


def measure(server, row):
    """Its keys are busy already: no instance leases a key without requests."""
    bench_http.load(server, row._replace(seconds=BUSY_SECONDS))
    before = server.sent() if server.redis else [0, 0, 0]
    said, each_s = bench_http.observe(server, row)
    sent, ran, failed = bench_http.since(before, server.sent()) if server.redis else [0, 0, 0]
    if failed:
        raise Unfit(f"{server.name}, {row.name}: Redis failed {failed} commands")
    requests = said["requests"]
    server_us, redis_us = (sum(part) / requests * 1e6 for part in (each_s[:1], each_s[1:]))
    return Sample(requests / sum(each_s), server_us, redis_us, requests / max(sent, 1),
                  ran / max(sent, 1), requests / said["seconds"], said["p50"], said["p99"])


def flood(server, row):
    """Which part of them Redis has seen."""
    keys, (_, others) = row.setting.keys, bench_http.cores(1)
    user = "flood-__rand_int__" if keys > 1 else "flood"
    before, outcomes = server.sent(), server.counts()[1:]
    command = ["taskset", "-c", ",".join(map(str, others)), "redis-benchmark",
               "-p", server.resp_port, "-c", CONNECTIONS, "-P", row.depth, "-r", keys,
               "-n", FLOOD, "--csv", "SLUICE.CHECK", "resource", "/api/videos", "user", user]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    sent, _, failed = bench_http.since(before, server.sent())
    passed, denied = bench_http.since(outcomes, server.counts()[1:])
    if (done.returncode or failed or re.search("rror", done.stdout + done.stderr)
            or passed > keys or not FLOOD <= passed + denied <= FLOOD + CONNECTIONS * row.depth):
        raise Unfit(f"of a flood of {FLOOD} {passed} passed and {denied} did not, Redis failed "
                    f"{failed}: {done.stdout} {done.stderr}")
    return sent / FLOOD


class Field:
    """For every setting a server on each store; for a flood, one on Redis."""

    def __init__(self, stack, program, folder):
        def pair(setting):
            kinds = [Leased] if setting.denies else [Leased, Memory]
            return [opened(stack, partial(kind, program), setting, folder) for kind in kinds]
        self.servers = {row.setting: pair(row.setting) for row in rows() + floods()}

    def measure(self, row, _):
        servers = self.servers[row.setting]
        if row.setting.denies:
            return flood(servers[0], row)
        return {server.name: measure(server, row) for server in servers}


# ---- printing --------------------------------------------------------------


def print_rows(depth, samples, verdict):
    how = bench_http.how_of(depth)
    print(f"Leases on busy keys beside the memory store, {how}: thousands of decisions per second "
          "of\nprocessor time, that of Redis included; µs of it for one in the server and in Redis; "
          "decisions for\na command that Redis is sent, which runs so many with it; per second:\n")
    print(f"  {'':14}{'leased':>8}{'memory':>8}{'ratio':>7}{'quartiles':>14}{'target':>8}{'':7}"
          f"{'server µs':>14}{'Redis µs':>9}{'per command':>12}{'target':>8}{'':7}{'runs':>6}"
          f"{'per second':>14}")
    for row, of_row in samples.items():
        if row.depth != depth or row.setting.denies:
            continue
        ratios = [sample["leased"].per_cpu_s / sample["memory"].per_cpu_s for sample in of_row]
        ratio, (low, high) = statistics.median(ratios), bench_http.spread(ratios)
        target, said = bench_http.judged(row, ratio, verdict, "lease, beside memory")
        leased = Sample(*(bench_http.median_of(of_row, "leased", name) for name in Sample._fields))
        memory = Sample(*(bench_http.median_of(of_row, "memory", name) for name in Sample._fields))
        enough = verdict(leased.per_command >= PER_COMMAND,
                         f"lease, decisions per command: {row.name}, {how}")
        print(f"  {row.name:14}{leased.per_cpu_s / 1e3:8.1f}{memory.per_cpu_s / 1e3:8.1f}"
              f"{ratio:7.2f}{low:6.2f} – {high:<5.2f}{target:>8} {said:6}"
              f"{leased.server_us:7.2f}{memory.server_us:7.2f}{leased.redis_us:9.3f}"
              f"{leased.per_command:12,.0f}{f'>= {PER_COMMAND}':>8} {enough:6}{leased.inside:6.1f}"
              f"{leased.per_s / 1e3:7.0f}{memory.per_s / 1e3:7.0f}")
    print()


def print_floods(samples, verdict):
    print(f"A flood of {FLOOD:,} requests of users beyond their limit, over the Redis "
          "protocol,\n16 pipelined: which part of them Redis is asked about:\n")
    print(f"  {'':14}{'part':>10}{'lowest – highest':>24}{'target':>8}")
    for row, parts in samples.items():
        if not row.setting.denies:
            continue
        part = statistics.median(parts)
        target, said = "", ""
        if row.setting.keys == 1:  # of many it depends on how long the flood lasts
            target = f"< {FLOOD_AT_MOST:.0%}"
            said = verdict(part < FLOOD_AT_MOST, f"lease, a flood: {row.name}")
        print(f"  {row.name:14}{part:10.4%}{min(parts):12.4%} – {max(parts):.4%}{target:>8} {said}")
    print()


def print_conditions(rounds):
    redis = bench_http.version_of(["redis-server", "--version"], r"v=(\S+)")
    print(f"Redis {redis}, no persistence, one for each server, wrk {bench_http.load_version()}; "
          f"Sluice with one worker;\n{CONNECTIONS} connections kept alive; "
          f"{bench_http.places('server and Redis')};\n{rounds} rounds of {SECONDS} s in turn after "
          f"one to warm up, each behind {BUSY_SECONDS} s of the same load\n")


def run(program, rounds, verdict, progress):
    """The whole section; `verdict` and `progress` are tools/bench's."""
    tools = ("redis-server", "redis-cli", "redis-benchmark", "wrk", "taskset")
    if missing := [tool for tool in tools if not shutil.which(tool)]:
        print(f"Leases: left out, for want of {' and '.join(missing)}\n")
        return
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as folder:
        with contextlib.ExitStack() as stack:
            field = Field(stack, program, folder)
            samples = bench_http.take_turns(rows() + floods(), rounds, progress, field.measure)
    print_conditions(rounds)
    for depth in (1, DEPTH):
        print_rows(depth, samples, verdict)
    print_floods(samples, verdict)
