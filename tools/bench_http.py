"""Sluice over HTTP beside nginx with limit_req and beside a bare loop, wrk asking all of
them: a part of tools/bench.

    tools/bench http --rounds 15

They get the same bytes on equally many connections and take turns, second by second.
What is compared is requests per second of the server's processor time: the load
generator is often the one that cannot go faster, and throughput would then be its own.
The bare loop (tests/bench/bare_http.c) only receives, and sends what Sluice would say:
the end of the scale. Nothing is measured before Sluice and nginx have shown that they
admit and deny as they should, and a round counts only if all its answers are as expected,
by the server's own count too. What is compared, and why it is fair: docs/benchmarks.md.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections import defaultdict, namedtuple
from functools import partial
from pathlib import Path

CONNECTIONS = 64
DEPTH = 16  # requests in flight on a connection, where they are pipelined
KEYS = 100_000
SECONDS = 1  # of a round; wrk counts in whole ones
START_S = 10
OPEN, TIGHT = 10_000_000, 1  # requests a second that pass; a minute where nearly none does
PATH = "/v1/authorize/api/videos"
LUA = Path(__file__).with_name("bench_http.lua")

# What a pair of servers is set to. `denies`: all but the first request of a minute.
Setting = namedtuple("Setting", "keys rules workers denies", defaults=(1, 1, 1, False))
HOT, DENIED = Setting(), Setting(denies=True)
MANY, RULES, WORKERS = Setting(keys=KEYS), Setting(rules=10), Setting(workers=2)

# One row of the table. `at_least` is the target of its ratio; `bare`: stands beside the
# bare loop too.
Row = namedtuple("Row", "name setting depth call at_least bare seconds",
                 defaults=("authorize", None, False, SECONDS))
ROWS = [
    Row("/v1/authorize", HOT, 1, at_least=1.2, bare=True),
    Row("/v1/check", HOT, 1, "check"),
    Row("100,000 keys", MANY, 1),
    Row("denied", DENIED, 1),
    Row("10 rules", RULES, 1),
    Row("2 workers", WORKERS, 1),
    Row("/v1/authorize", HOT, DEPTH, at_least=8, bare=True),
    Row("/v1/check", HOT, DEPTH, "check"),
    Row("100,000 keys", MANY, DEPTH),
    Row("denied", DENIED, DEPTH),
    Row("10 rules", RULES, DEPTH),
    Row("2 workers", WORKERS, DEPTH),
]

# One second of wrk on one server.
Sample = namedtuple("Sample", "per_cpu_s per_s busy p50 p99")


class Unfit(Exception):
    """It did not do what was to be measured."""


# ---- the servers -----------------------------------------------------------


def cores(workers):
    """Processors for the server, and for the load; the same ones if there are too few."""
    all_of_them = sorted(os.sched_getaffinity(0))
    return all_of_them[:workers], all_of_them[workers:] or all_of_them


def start(command, setting, **options):
    ours, _ = cores(setting.workers)
    pin = ["taskset", "-c", ",".join(map(str, ours))]
    return subprocess.Popen([*pin, *command], stdin=subprocess.DEVNULL, **options)


def get(port, path, headers=None):
    """Status, fields and text of an answer, whatever its status."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=START_S) as answer:
            return answer.status, answer.headers, answer.read().decode("latin-1")
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.headers, refusal.read().decode("latin-1")


class Server:
    """A process that is stopped when its block is left."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate()

    def cpu_each_s(self):
        """Processor time so far, of each process. Its clock (clock_getcpuclockid makes these
        numbers) counts nanoseconds and all threads; /proc/PID/stat counts hundredths of a
        second."""
        return [time.clock_gettime(~pid << 3 | 2) for pid in self.pids()]

    def listen(self, command, setting):
        """Starts it, and reads from it where it listens."""
        self.process = start(command, setting, stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if found := re.search(r"listening on http://127.0.0.1:(\d+)", line):
                self.port = int(found[1])
                return
        raise Unfit(f"{self.name} ended with {self.process.wait()} before it listened")


class Sluice(Server):
    name = "Sluice"

    def __init__(self, program, setting, folder):
        rules = Path(folder, "rules.yaml")
        rules.write_text(self.rules(setting), encoding="utf-8")
        self.listen([program, "serve", "-c", rules], setting)

    @staticmethod
    def rules(setting):
        numbers = (f"capacity: {TIGHT}, refill_rate: {TIGHT / 60:.9f}" if setting.denies else
                   f"capacity: {OPEN}, refill_rate: {OPEN}")
        rule = "resource: /api/*, per: user, algorithm: token_bucket, " + numbers
        return (f"workers: {setting.workers}\nlisten: {{ http: '127.0.0.1:0' }}\n"
                "identity: { headers: { user: X-User } }\nrules:\n"
                + "".join(f"  - {{ name: rule-{i}, {rule} }}\n" for i in range(setting.rules)))

    def pids(self):
        return [self.process.pid]

    def counts(self):
        """By its own count: connections, then requests that passed and that did not."""
        text = get(self.port, "/metrics")[2]
        return [sum(map(int, re.findall(rf"^{name}\S* (\d+)", text, re.M))) for name in (
            "sluice_connections_accepted_total",
            'sluice_decisions_total\\S*outcome="allowed"',
            'sluice_decisions_total\\S*outcome="denied"')]

    @staticmethod
    def same_of(said):
        return [said["requests"] - said["refused"], said["refused"]]

    def prove(self, setting):
        """Every rule is asked, and the second request of a minute is denied where all are."""
        get(self.port, PATH, {"X-User": "prove"})
        status = get(self.port, PATH, {"X-User": "prove"})[0]
        outcome = "denied" if setting.denies else "allowed"
        asked = re.findall(rf'^sluice_rule_decisions_total.*"{outcome}"}} [1-9]',
                           get(self.port, "/metrics")[2], re.M)
        if status != (429 if setting.denies else 200) or len(asked) != setting.rules:
            raise Unfit(f"Sluice answered {status}, and {len(asked)} rules had {outcome} it")


class Nginx(Server):
    """Its answer is a picture of 43 bytes from memory: `return` would answer before anything
    is limited."""
    name = "nginx"
    PROVE = "/prove"

    def __init__(self, setting, folder):
        self.port, self.asked = free_port(), 0
        conf = Path(folder, "nginx.conf")
        conf.write_text(self.conf(setting, folder), encoding="utf-8")
        self.process = start(["nginx", "-c", conf, "-e", Path(folder, "error.log")], setting)
        wait_for(self.port, self.process)

    MODULES = ""

    def conf(self, setting, folder):
        temporary = "".join(f"    {of}_temp_path {folder}/{of};\n"
                            for of in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        return (f"{self.MODULES}daemon off;\npid {folder}/nginx.pid;\n"
                f"worker_processes {setting.workers};\nerror_log {folder}/error.log crit;\n"
                "events { worker_connections 1024; }\nhttp {\n" + temporary +
                "    access_log off;\n    server_tokens off;\n    keepalive_timeout 75s;\n"
                "    keepalive_requests 1000000000;\n" + self.shared(setting) +
                f"    server {{\n        listen 127.0.0.1:{self.port} reuseport;\n"
                + self.locations(setting) +
                "        location /counts { stub_status; }\n    }\n}\n")

    @staticmethod
    def shared(setting):
        """What stands outside of a server."""
        rate = f"{TIGHT}r/m" if setting.denies else f"{OPEN}r/s"
        return "    limit_req_status 429;\n" + "".join(
            f"    limit_req_zone $http_x_user zone=zone{i}:32m rate={rate};\n"
            for i in range(setting.rules))

    def locations(self, setting):
        burst = "" if setting.denies else f" burst={OPEN} nodelay"
        limits = "".join(f"limit_req zone=zone{i}{burst}; " for i in range(setting.rules))
        return (f"        location /v1/authorize {{ {limits}empty_gif; }}\n"
                f"        location {self.PROVE} {{ {limits}"
                "add_header Limit $limit_req_status always; empty_gif; }\n")

    def pids(self):
        """The master and its workers."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
        return [pid, *map(int, children.split())]

    def counts(self):
        """Connections, then requests, whatever was answered, without those for this count."""
        self.asked += 1
        found = re.search(r"\n (\d+) \d+ (\d+)", get(self.port, "/counts")[2])
        return [int(found[1]), int(found[2]) - self.asked]

    @staticmethod
    def same_of(said):
        return [said["requests"]]

    def prove(self, setting):
        """nginx says itself that it limits: at the same limits, in a location beside."""
        get(self.port, PATH, {"X-User": "prove"})
        status, fields, _ = get(self.port, self.PROVE, {"X-User": "prove"})
        said = "REJECTED" if setting.denies else "PASSED"
        if status != (429 if setting.denies else 200) or fields["Limit"] != said:
            raise Unfit(f"nginx answered {status} and says of limit_req: {fields['Limit']}")


class Bare(Server):
    """Says to everything what Sluice has said once."""
    name = "bare"

    def __init__(self, program, sluice):
        self.answer = raw_answer(sluice.port)
        self.listen([program, self.answer], HOT)

    def pids(self):
        return [self.process.pid]

    def counts(self):
        """Connections and requests."""
        self.process.send_signal(signal.SIGUSR1)
        counts = self.process.stdout.readline().split()
        if not counts:
            raise Unfit(f"the bare loop ended with {self.process.wait()}")
        return [int(count) for count in counts]

    @staticmethod
    def same_of(said):
        return [said["requests"]]

    def prove(self):
        """What it says is Sluice's to the byte, and is a yes."""
        said = raw_answer(self.port)
        if said != self.answer or not said.startswith("HTTP/1.1 200 "):
            raise Unfit(f"the bare loop answered {said!r} in place of {self.answer!r}")


def raw_answer(port):
    """What stands on the wire, up to the empty line: such an answer has no body."""
    ask = f"GET {PATH} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX-User: prove\r\n\r\n"
    said = b""
    with socket.create_connection(("127.0.0.1", port), START_S) as conn:
        conn.sendall(ask.encode("ascii"))
        while not said.endswith(b"\r\n\r\n"):
            if not (more := conn.recv(4096)):
                raise Unfit(f"an answer ended within its head: {said!r}")
            said += more
    return said.decode("ascii")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def wait_for(port, process):
    deadline = time.monotonic() + START_S
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), START_S):
            return
        time.sleep(0.01)
    process.terminate()
    raise Unfit(f"nothing listens on port {port}: {process.args}")


# ---- measuring -------------------------------------------------------------


def load(server, row):
    """What wrk says after one round."""
    _, others = cores(row.setting.workers)
    command = ["taskset", "-c", ",".join(map(str, others)), "wrk", "-t1", f"-c{CONNECTIONS}",
               f"-d{row.seconds}s", "--timeout=10s", "-s", LUA, f"http://127.0.0.1:{server.port}", "--",
               row.call, str(row.depth), str(row.setting.keys)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(out.splitlines()[-1])


def judge(server, row, said, counted):
    """Nothing broke; all passed, or all were refused but for the first of each minute; the
    server counted what wrk did, besides what was under way when wrk stopped; and connections
    were kept: wrk says nothing of those it had to open again."""
    what = f"{server.name}, {row.name}, {row.depth} at once: wrk says {said}, it says {counted}"
    passed = said["requests"] - said["refused"]
    good = passed <= 1 + row.seconds // 60 if row.setting.denies else said["refused"] == 0
    connections, *requests = counted
    same = all(wrks <= mine <= wrks + CONNECTIONS * row.depth
               for mine, wrks in zip(requests, server.same_of(said)))
    if (said["broken"] or not good or said["requests"] == 0 or not same
            or not CONNECTIONS <= connections <= CONNECTIONS + 2):  # wrk's first try, and ours
        raise Unfit(what)


def since(then, now):
    return [after - before for before, after in zip(then, now)]


def observe(server, row):
    """What wrk says after one round, and how much processor time each of the server's
    processes took meanwhile."""
    counts, each_s = server.counts(), server.cpu_each_s()
    said = load(server, row)
    each_s = since(each_s, server.cpu_each_s())
    judge(server, row, said, since(counts, server.counts()))
    return said, each_s


def measure(server, row):
    said, each_s = observe(server, row)
    cpu_s = sum(each_s)
    return Sample(said["requests"] / cpu_s, said["requests"] / said["seconds"],
                  cpu_s / said["seconds"], said["p50"], said["p99"])


def pairs_of(stack, program, folder):
    """{setting: (Sluice, nginx)}, all running and found to be what they should be."""
    pairs = {}
    for number, setting in enumerate(dict.fromkeys(row.setting for row in ROWS)):
        place = Path(folder, str(number))
        place.mkdir()
        pairs[setting] = (stack.enter_context(Sluice(program, setting, place)),
                          stack.enter_context(Nginx(setting, place)))
        for server in pairs[setting]:
            server.prove(setting)
    return pairs


def bare_of(stack, program, pairs):
    bare = stack.enter_context(Bare(program, pairs[HOT][0]))
    bare.prove()
    return bare


def take_turns(rows, rounds, progress, measure_row):
    """{row: its samples}; the first round warms up and is dropped. `measure_row` also gets what
    it has kept of this round."""
    samples = defaultdict(list)
    for turn in range(rounds + 1):
        kept = {}
        for number, row in enumerate(rows):
            progress(turn * len(rows) + number, (rounds + 1) * len(rows))
            sample = measure_row(row, kept)
            if turn > 0:
                samples[row].append(sample)
    progress(1, 1)
    return samples


def measure_row(pairs, bare, row, kept):
    """{name of a server: its sample}. nginx knows one call only, so rows of the same setting and
    depth stand beside the same second of it."""
    sluice, nginx = pairs[row.setting]
    sample, same = {sluice.name: measure(sluice, row)}, (row.setting, row.depth)
    if same not in kept:
        kept[same] = measure(nginx, row)
    sample[nginx.name] = kept[same]
    if row.bare:
        sample[bare.name] = measure(bare, row)
    return sample


# ---- printing --------------------------------------------------------------


def median_of(samples, name, field):
    return statistics.median(getattr(sample[name], field) for sample in samples)


def spread(ratios):
    """Quartiles, or the ends where there are too few for them."""
    if len(ratios) < 4:
        return min(ratios), max(ratios)
    low, _, high = statistics.quantiles(ratios, method="inclusive")
    return low, high


def how_of(depth):
    return "one per read" if depth == 1 else f"{depth} pipelined"


def judged(row, ratio, verdict, beside="http, beside nginx limit_req"):
    """The target of Sluice beside nginx, and whether it held."""
    if not row.at_least:
        return "", ""
    what = f"{beside}: {row.name}, {how_of(row.depth)}"
    return f">= {row.at_least:g}", verdict(ratio >= row.at_least, what)


def print_row(row, samples, names, judge_ratio):
    one, other = names
    ratios = [sample[one].per_cpu_s / sample[other].per_cpu_s for sample in samples]
    ratio, (low, high) = statistics.median(ratios), spread(ratios)
    target, said = judge_ratio(row, ratio)
    per_cpu_s, per_s, busy, p50, p99 = (
        [median_of(samples, name, field) for name in names] for field in Sample._fields)
    print(f"  {row.name:14}{per_cpu_s[0] / 1e3:8.1f}{per_cpu_s[1] / 1e3:7.1f}{ratio:8.2f}"
          f"{low:6.2f} – {high:<5.2f}{target:>8} {said:6}{per_s[0] / 1e3:8.0f}{per_s[1] / 1e3:7.0f}"
          f"{busy[0]:8.0%}{busy[1]:7.0%}"
          + (f"{p50[0]:8.0f}{p50[1]:7.0f}{p99[0]:8.0f}{p99[1]:7.0f}" if row.depth == 1 else ""))


def print_beside(names, samples, judge_ratio):
    """A line of names, and the rows of `samples`, all of one depth, as one server beside the
    other."""
    pairs = 4 if next(iter(samples)).depth == 1 else 2
    one, other = names
    print(f"  {'':14}{one:>8}{other:>7}{'ratio':>8}{'quartiles':>14}{'target':>8}{'':7}"
          + f"{one:>8}{other:>7}" * pairs)
    for row, of_row in samples.items():
        print_row(row, of_row, names, judge_ratio)


def print_rows(depth, samples, verdict):
    latency = ", latency in µs as wrk has it" if depth == 1 else ""
    print(f"Over HTTP beside nginx's limit_req, {how_of(depth)}: thousands per second of the\n"
          f"server's processor time, per second, how busy it was{latency}:\n")
    pairs = ["per second", "busy", *(["p50", "p99"] if depth == 1 else [])]
    print(f"  {'':14}{'per CPU second':>15}{'':37}" + "".join(f"{over:>15}" for over in pairs))
    samples = {row: of_row for row, of_row in samples.items() if row.depth == depth}
    print_beside(("Sluice", "nginx"), samples, lambda row, ratio: judged(row, ratio, verdict))
    print("\n  a bare loop, which only receives, and sends Sluice's answer; Sluice beside it:\n")
    for names in (("bare", "nginx"), ("Sluice", "bare")):
        print_beside(names, {row: of_row for row, of_row in samples.items() if row.bare},
                     lambda row, ratio: ("none", ""))
    print()


def version_of(command, pattern):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return re.search(pattern, done.stdout + done.stderr)[1]


def nginx_version():
    return version_of(["nginx", "-v"], r"nginx/(\S+)")


def load_version():
    return version_of(["wrk", "-v"], r"wrk (?:debian/)?([\d.]+)")


def places(what="server"):
    """The cores of server and load, with one worker."""
    ours, others = cores(1)
    if ours == others:
        return f"{what} and load share one core"
    return f"{what} on core {ours[0]}, load on {', '.join(map(str, others))}"


def print_conditions(rounds):
    ours, others = cores(1)
    shared = "; with 2 workers all share both" if len(others) == 1 and ours != others else ""
    print(f"nginx {nginx_version()}, wrk {load_version()}; {CONNECTIONS} connections kept alive; "
          f"{places()}{shared};\n{rounds} rounds of {SECONDS} s in turn after one to warm up\n")


def run(program, rounds, verdict, progress):
    """The whole section; `verdict` and `progress` are tools/bench's."""
    missing = [tool for tool in ("nginx", "wrk", "taskset") if not shutil.which(tool)]
    if missing:
        print(f"Over HTTP: left out, for want of {' and '.join(missing)}\n")
        return
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as folder:
        Path(folder).chmod(0o755)  # nginx's workers are another user, if root started them
        with contextlib.ExitStack() as stack:
            pairs = pairs_of(stack, program, folder)
            bare = bare_of(stack, Path(program).with_name("bench-http-bare"), pairs)
            samples = take_turns(ROWS, rounds, progress, partial(measure_row, pairs, bare))
    print_conditions(rounds)
    for depth in (1, DEPTH):
        print_rows(depth, samples, verdict)
