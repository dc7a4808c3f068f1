"""Sluice over gRPC beside a bare responder on the same library, h2load asking both: a part of
tools/bench.

    tools/bench grpc --rounds 15

The bare one (tests/bench/bare_grpc.c) is nghttp2 on sockets and nothing else: it sends what Sluice
has answered once, message for message, to whatever it is asked. What is compared is calls per
second of the server's processor time; h2load is often the one that cannot go faster. Both get the
same bytes on equally many connections and take turns. Nothing is measured before Sluice has shown
that it counts down to a denial, and no round counts in which a call failed, or another number of
them passed than should have, by the server's own count.
What stands beside what, and why it is fair: docs/benchmarks.md.
"""

import contextlib
import re
import shutil
import statistics
import subprocess
import tempfile
from collections import namedtuple
from pathlib import Path

import bench_http
from bench_http import CONNECTIONS, START_S, Unfit

AT_LEAST = 0.7
STREAMS = 16  # calls under way on a connection
REQUESTS = {1: 60_000, STREAMS: 300_000}  # about a second of each
METHOD = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
OVER_LIMIT = 2

# `numbers`: of the rule's bucket. `users`: of how many descriptors a call has one each.
Numbers = namedtuple("Numbers", "capacity refill_rate")
OPEN, TIGHT = Numbers(100_000_000, "1000"), Numbers(1, "0.016666667")
PROOF = Numbers(3, "0.016666667")
Row = namedtuple("Row", "name streams at_least numbers users", defaults=(None, OPEN, 1))
ROWS = [
    Row("allowed", STREAMS, AT_LEAST),
    Row("denied", STREAMS, numbers=TIGHT),
    Row("3 descriptors", STREAMS, users=3),
    Row("allowed", 1),
    Row("denied", 1, numbers=TIGHT),
]

Sample = namedtuple("Sample", "per_cpu_s per_s busy")


# ---- messages --------------------------------------------------------------


def field(number, content):
    """Of a protobuf message, one of bytes; short ones only."""
    if isinstance(content, str):
        content = content.encode("ascii")
    if len(content) > 127:
        raise ValueError("its length would take two bytes")
    return bytes([number << 3 | 2, len(content)]) + content


def question(users):
    """A RateLimitRequest: a descriptor (resource, user) for each of so many users."""
    def entry(key, value):
        return field(1, field(1, key) + field(2, value))
    return field(1, "bench") + b"".join(
        field(2, entry("resource", "/api/videos") + entry("user", f"user-{number}"))
        for number in range(users))


def with_prefix(message):
    """As it stands in DATA frames: not compressed, so many bytes."""
    return b"\0" + len(message).to_bytes(4, "big") + message


def ask(port, users):
    """What is answered to one call, as bytes, by gRPC's own client."""
    import grpc  # pylint: disable=import-outside-toplevel # run() says what is missing
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        call = channel.unary_unary(METHOD, request_serializer=bytes, response_deserializer=bytes)
        return call(question(users), timeout=START_S)


# ---- the servers -----------------------------------------------------------


class Sluice(bench_http.Sluice):
    def __init__(self, program, numbers, folder):
        self.numbers, self.grpc_port = numbers, bench_http.free_port()
        super().__init__(program, bench_http.HOT, folder)

    def rules(self, setting):
        return (f"workers: {setting.workers}\n"
                f"listen: {{ http: '127.0.0.1:0', grpc: '127.0.0.1:{self.grpc_port}' }}\n"
                "rules:\n  - { name: api, resource: /api/*, per: user, algorithm: token_bucket, "
                f"capacity: {self.numbers.capacity}, refill_rate: {self.numbers.refill_rate} }}\n")

    def judge(self, row, asked, before):
        """A descriptor is a decision."""
        _, passed, denied = bench_http.since(before, self.counts())
        good = passed <= 2 if row.numbers is TIGHT else denied == 0
        if not good or passed + denied != asked * row.users:
            raise Unfit(f"{row.name}, {row.streams} streams: of {asked} calls with {row.users} "
                        f"descriptors {passed} passed, {denied} did not")


class Bare(bench_http.Bare):
    """Says to everything what Sluice has said once."""

    def __init__(self, program, answer):  # pylint: disable=super-init-not-called
        self.answer = answer
        self.listen([program, with_prefix(answer).hex()], bench_http.HOT)
        self.grpc_port = self.port

    def prove(self):
        said = ask(self.port, 1)
        if said != self.answer:
            raise Unfit(f"the bare responder answered {said!r} in place of {self.answer!r}")

    def judge(self, row, asked, before):
        _, came = bench_http.since(before, self.counts())
        if came != asked:
            raise Unfit(f"{row.name}: of {asked} calls {came} came to the bare responder")


def prove(program, folder):
    """Three pass, the fourth does not: by the first field of the answer, overall_code."""
    with Sluice(program, PROOF, tempfile.mkdtemp(dir=folder)) as server:
        said = [ask(server.grpc_port, 1)[:2] for _ in range(4)]
    if said != [b"\x08\x01"] * 3 + [bytes([8, OVER_LIMIT])]:
        raise Unfit(f"Sluice answered {said}")


def pair_of(stack, programs, row, folder):
    """Sluice, and the bare one with its second answer: the first is not denied yet."""
    sluice = stack.enter_context(Sluice(programs[0], row.numbers, tempfile.mkdtemp(dir=folder)))
    ask(sluice.grpc_port, row.users)
    bare = stack.enter_context(Bare(programs[1], ask(sluice.grpc_port, row.users)))
    bare.prove()
    return sluice, bare


# ---- measuring -------------------------------------------------------------


def load(server, row, message):
    """Calls per second, as h2load has them. All were answered with 200: the rest is for the
    server's own count to say."""
    _, others = bench_http.cores(1)
    asked = REQUESTS[row.streams]
    command = ["taskset", "-c", ",".join(map(str, others)), "h2load", "-n", str(asked),
               "-c", str(CONNECTIONS), "-m", str(row.streams), "-d", message,
               "-H", "content-type: application/grpc", "-H", "te: trailers",
               f"http://127.0.0.1:{server.grpc_port}{METHOD}"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    done = re.search(r"(\d+) succeeded, 0 failed, 0 errored, 0 timeout\s*"
                     r"status codes: (\d+) 2xx", out)
    if not done or {int(done[1]), int(done[2])} != {asked}:
        raise Unfit(f"h2load, of {server.name}: {out}")
    return float(re.search(r"([\d.]+) req/s", out)[1])


def measure(server, row, message):
    counts, cpu_s = server.counts(), sum(server.cpu_each_s())
    per_s = load(server, row, message)
    cpu_s = sum(server.cpu_each_s()) - cpu_s
    asked = REQUESTS[row.streams]
    server.judge(row, asked, counts)
    return Sample(asked / cpu_s, per_s, cpu_s * per_s / asked)


class Field:
    """All servers, and the messages that they are sent."""

    def __init__(self, stack, programs, folder):
        self.pairs, self.messages = {}, {}
        for row in ROWS:
            if self.key(row) not in self.pairs:
                self.pairs[self.key(row)] = pair_of(stack, programs, row, folder)
                self.messages[row.users] = Path(folder, f"message-{row.users}")
                self.messages[row.users].write_bytes(with_prefix(question(row.users)))

    @staticmethod
    def key(row):
        return row.numbers, row.users

    def measure(self, row, _):
        return {server.name: measure(server, row, self.messages[row.users])
                for server in self.pairs[self.key(row)]}


# ---- printing --------------------------------------------------------------


def print_row(row, samples, verdict):
    ratios = [sample["Sluice"].per_cpu_s / sample["bare"].per_cpu_s for sample in samples]
    ratio, (low, high) = statistics.median(ratios), bench_http.spread(ratios)
    what = f"grpc, beside a bare nghttp2 responder: {row.name}, {row.streams} streams"
    target = f">= {row.at_least:g}" if row.at_least else ""
    said = verdict(ratio >= row.at_least, what) if row.at_least else ""
    pairs = [[bench_http.median_of(samples, name, of) for name in ("Sluice", "bare")]
             for of in Sample._fields]
    streams = f"{row.streams} stream" + ("s" if row.streams > 1 else "")
    print(f"  {row.name + ', ' + streams:26}{pairs[0][0] / 1e3:8.1f}{pairs[0][1] / 1e3:7.1f}"
          f"{ratio:8.2f}{low:6.2f} – {high:<5.2f}{target:>8} {said:6}"
          f"{pairs[1][0] / 1e3:8.0f}{pairs[1][1] / 1e3:7.0f}{pairs[2][0]:8.0%}{pairs[2][1]:7.0%}")


def print_rows(samples, rounds, verdict):
    version = bench_http.version_of(["h2load", "--version"], r"nghttp2/(\S+)")
    print("Over gRPC, ShouldRateLimit, beside a bare nghttp2 responder: thousands of calls per "
          "second of the\nserver's processor time, per second, how busy it was:\n")
    print(f"h2load {version}; Sluice with one worker; {CONNECTIONS} connections; "
          f"{bench_http.places()};\n{rounds} rounds in turn after one to warm up, of "
          + " or ".join(f"{count:,}" for count in REQUESTS.values()) + " calls each\n")
    print(f"  {'':26}{'per CPU second':>15}{'':37}{'per second':>15}{'busy':>15}")
    print(f"  {'':26}{'Sluice':>8}{'bare':>7}{'ratio':>8}{'quartiles':>14}{'target':>8}{'':7}"
          + f"{'Sluice':>8}{'bare':>7}" * 2)
    for row, of_row in samples.items():
        print_row(row, of_row, verdict)
    print()


def missing():
    try:
        import grpc  # pylint: disable=import-outside-toplevel,unused-import
        without = []
    except ImportError:
        without = ["python3-grpcio"]
    return [*(tool for tool in ("h2load", "taskset") if not shutil.which(tool)), *without]


def run(program, rounds, verdict, progress):
    """The whole section; `verdict` and `progress` are tools/bench's."""
    if wanted := missing():
        print(f"Over gRPC: left out, for want of {' and '.join(wanted)}\n")
        return
    programs = program, Path(program).with_name("bench-grpc-bare")
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as folder:
        prove(program, folder)
        with contextlib.ExitStack() as stack:
            servers = Field(stack, programs, folder)
            samples = bench_http.take_turns(ROWS, rounds, progress, servers.measure)
    print_rows(samples, rounds, verdict)
