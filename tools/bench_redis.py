"""Sluice on Redis beside nginx with Lua on Redis, wrk asking both: a part of tools/bench.

    tools/bench redis --rounds 15

Each server has a Redis of its own, fresh, on the same core. What is compared is decisions per
second of processor time, the server's and its Redis' together: fewer calls to Redis, or larger
ones, save on both sides. nginx runs tools/bench_redis.lua, one atomic
script per request; in the main row also the same bucket in separate commands, as it is often
written. The end of the scale is redis-benchmark, which sends the very EVALSHA that Sluice sent
and does nothing else: there only Redis' time counts.
Nothing is measured before each has shown that it counts down to a denial, and no round counts
whose answers are not the ones expected (bench_http.py), or in which Redis failed a command or
was not asked. What stands beside what, and why it is fair: docs/benchmarks.md.
"""

import ast
import contextlib
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from collections import namedtuple
from functools import partial
from pathlib import Path

import bench_http
from bench_http import CONNECTIONS, DEPTH, PATH, Row, Server, Unfit

SECONDS = 2  # of a round
USERS, TENANTS = 10_000, 100
LUA = Path(__file__).with_suffix(".lua")
MODULES = [f"/usr/lib/nginx/modules/{name}_module.so" for name in ("ndk_http", "ngx_http_lua")]
LIBRARY = "/usr/share/lua/5.1/nginx/redis.lua"
DEADLINE = "1s"  # 1,024 requests under way take longer than the 20 ms of the default

# A rule counts `per` one of these, by names that nginx and Sluice have for them.
PER = {"user": "user", "tenant": "tenant", "tenant_user": "[tenant, user]", "ip": "ip"}
Rule = namedtuple("Rule", "per capacity refill_rate", defaults=(10_000, 100))
TIGHT = {"capacity": 1, "refill_rate": round(1 / 60, 9)}  # one a minute
PROOF = {"capacity": 3, "refill_rate": round(1 / 60, 9)}

# What servers are set to, with the fields that bench_http reads.
Setting = namedtuple("Setting", "rules algorithm keys denies workers",
                     defaults=("token_bucket", USERS, False, 1))
BUCKET = Setting((Rule("user"),))
COUNTER = BUCKET._replace(algorithm="sliding_window_counter")
DENIED = Setting((Rule("user", **TIGHT),), keys=1, denies=True)
THREE = Setting((Rule("ip"), Rule("tenant"), Rule("tenant_user")))

# A round of one server: decisions per second of all its processes' time, µs of it for a decision
# in the server and in Redis, commands that Redis was sent for one, and what wrk saw.
Sample = namedtuple("Sample", "per_cpu_s server_us redis_us commands per_s p50 p99")


def rows_of(fields):
    """`fields`: the file with the header fields of requests that have a tenant and an address."""
    row = partial(Row, seconds=SECONDS)
    return [each for depth, at_least in ((1, 1.8), (DEPTH, 3)) for each in (
        row("token bucket", BUCKET, depth, at_least=at_least),
        row("sliding counter", COUNTER, depth),
        row("denied", DENIED, depth),
        row("three rules", THREE, depth, str(fields)))]


def names_of(number):
    """What a user's requests say, as header fields; an address is one user's alone."""
    return {"X-User": f"user-{number:07}", "X-Tenant": f"tenant-{number % TENANTS:03}",
            "X-Forwarded-For": f"10.{number % 7}.{number // 250}.{number % 250}"}


def write_fields(path):
    lines = ("\t".join(f"{name}: {value}" for name, value in names_of(number).items())
             for number in range(USERS))
    path.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")


# ---- the servers -----------------------------------------------------------


class Redis(Server):
    name = "Redis"

    def __init__(self, folder):
        self.port = bench_http.free_port()
        self.process = bench_http.start(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
             "--appendonly", "no", "--dir", folder, "--logfile", Path(folder, "redis.log")], BUCKET)
        bench_http.wait_for(self.port, self.process)

    def pids(self):
        return [self.process.pid]

    def ask(self, *words):
        return subprocess.run(["redis-cli", "-p", str(self.port), *words], check=True,
                              capture_output=True, text=True).stdout

    def calls(self, commands):
        """How often these came so far; and how many errors there were, without those that ask for
        a script."""
        came = re.findall(r"cmdstat_(\S+?):calls=(\d+)", self.ask("info", "commandstats"))
        errors = re.findall(r"errorstat_(\S+?):count=(\d+)", self.ask("info", "errorstats"))
        return [sum(int(calls) for name, calls in came if name in commands),
                sum(int(count) for name, count in errors if name != "NOSCRIPT")]

    def overhear(self, ask, about):
        """The EVALSHA with `about` in a key that the server sends because of `ask`, as words."""
        command = ["redis-cli", "-p", str(self.port), "monitor"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as monitor:
            monitor.stdout.readline()  # OK
            ask()
            for line in monitor.stdout:
                words = [ast.literal_eval(f'b"{word}"') for word in
                         re.findall(r' "((?:[^"\\]|\\.)*)"', line)]
                if words and words[0].lower() == b"evalsha" and about in words[3]:
                    monitor.terminate()
                    return words
        raise Unfit("no EVALSHA was overheard")


class Sluice(bench_http.Sluice):
    SENDS = ["evalsha"]

    def __init__(self, program, setting, folder, redis):
        self.redis = redis
        super().__init__(program, setting, folder)

    def rules(self, setting):
        """What Redis does not answer is denied, so that it shows."""
        def numbers(rule):
            if setting.algorithm == "token_bucket":
                return f"capacity: {rule.capacity}, refill_rate: {rule.refill_rate}"
            return f"capacity: {rule.capacity}, window: 1m"
        return (f"workers: {setting.workers}\nlisten: {{ http: '127.0.0.1:0' }}\n"
                f"store: redis://127.0.0.1:{self.redis.port}/0\nstore_deadline: {DEADLINE}\n"
                "on_store_failure: deny\n"
                "identity: { headers: { user: X-User, tenant: X-Tenant } }\nrules:\n" + "".join(
                    f"  - {{ name: {rule.per}, resource: /api/*, per: {PER[rule.per]}, "
                    f"algorithm: {setting.algorithm}, {numbers(rule)} }}\n"
                    for rule in setting.rules))

    def pids(self):
        return [*super().pids(), *self.redis.pids()]


class Nginx(bench_http.Nginx):
    """One script per request."""
    SENDS = ["evalsha"]
    MODULES = "".join(f"load_module {module};\n" for module in MODULES)
    ASK = "ask_script"

    def __init__(self, setting, folder, redis):
        self.redis = redis
        super().__init__(setting, folder)

    def shared(self, setting):
        rules = ", ".join(f'{{ "{rule.per}", {rule.capacity}, {rule.refill_rate} }}'
                          for rule in setting.rules)
        return (f"    lua_package_path '{LUA.parent}/?.lua;/usr/share/lua/5.1/?.lua;;';\n"
                f"    init_by_lua_block {{\n        require('{LUA.stem}').configure("
                f"{self.redis.port}, {{ {rules} }})\n    }}\n")

    def locations(self, setting):
        return ("        location /v1/authorize {\n            access_by_lua_block { "
                f"require('{LUA.stem}').{self.ASK}() }}\n        }}\n")

    def pids(self):
        return [*super().pids(), *self.redis.pids()]


class Naive(Nginx):
    """In separate commands, which race."""
    name = "naive"
    SENDS = ["hmget", "hmset", "expire"]
    ASK = "ask_naive"


def open_server(stack, kind, setting, folder):
    """Beside a Redis of its own."""
    place = tempfile.mkdtemp(dir=folder)
    Path(place).chmod(0o755)  # as in bench_http.run
    redis = stack.enter_context(Redis(place))
    return stack.enter_context(kind(setting, place, redis))


def prove(kind, setting, folder):
    """The same with a limit of 3: three requests pass and say how many are left, the fourth is
    refused and told when to come back."""
    tight = setting._replace(rules=tuple(rule._replace(**PROOF) for rule in setting.rules))
    with contextlib.ExitStack() as stack:
        server = open_server(stack, kind, tight, folder)
        answers = [bench_http.get(server.port, PATH, names_of(1)) for _ in range(4)]
    said = [(status, fields["X-RateLimit-Limit"], fields["X-RateLimit-Remaining"],
             int(fields["Retry-After"] or 0) > 0) for status, fields, _ in answers]
    if said != [(200, "3", "2", False), (200, "3", "1", False), (200, "3", "0", False),
                (429, "3", "0", True)]:
        raise Unfit(f"{server.name}, {tight}: {said}")


# ---- measuring -------------------------------------------------------------


def measure(server, row):
    calls = server.redis.calls(server.SENDS)
    said, each_s = bench_http.observe(server, row)
    sent, failed = bench_http.since(calls, server.redis.calls(server.SENDS))
    requests, cpu_s = said["requests"], sum(each_s)
    if failed or (sent < requests and not row.setting.denies):
        raise Unfit(f"{server.name}, {row.name}: of {requests} requests Redis got {sent} "
                    f"commands, and failed {failed}")
    return Sample(requests / cpu_s, sum(each_s[:-1]) / requests * 1e6, each_s[-1] / requests * 1e6,
                  sent / requests, requests / said["seconds"], said["p50"], said["p99"])


def put_off(word):
    """A word that is a moment, in µs, as a day later: by then the call is to be made."""
    is_moment = word.isdigit() and abs(int(word) / 1e6 - time.time()) < 3600
    return str(int(word) + 86_400_000_000).encode() if is_moment else word


def script_of(name):
    return f"{name}'s script"


class Script:
    """The EVALSHA of a server, sent by redis-benchmark to the server's own Redis, on as many
    users."""

    def __init__(self, server):
        self.redis, self.name = server.redis, script_of(server.name)
        user = names_of(0)["X-User"]
        words = self.redis.overhear(
            lambda: bench_http.get(server.port, PATH, {"X-User": user}), user.encode())
        self.words = [put_off(word).replace(user.encode(), b"user-__rand_int__") for word in words]

    def measure(self, depth):
        """Calls per second of Redis' time. They must have written, as those that pass do; a few
        may be the server's own, which looks after Redis meanwhile."""
        before, cpu_s = self.counts(), self.redis.cpu_each_s()
        _, others = bench_http.cores(1)
        command = ["taskset", "-c", ",".join(map(str, others)), "redis-benchmark",
                   "-p", str(self.redis.port), "-c", str(CONNECTIONS), "-P", str(depth),
                   "-r", str(USERS), "-n", "1000000000", "-q", *self.words]
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(command, stdout=subprocess.DEVNULL, timeout=SECONDS, check=False)
            raise Unfit("redis-benchmark ended before its time")
        cpu_s = bench_http.since(cpu_s, self.redis.cpu_each_s())
        sent, failed, written = bench_http.since(before, self.counts())
        if failed or not sent or written < 0.99 * sent:
            raise Unfit(f"{self.name}: of {sent} calls {failed} failed, {written} wrote")
        return sent / sum(cpu_s)

    def counts(self):
        return [*self.redis.calls(["evalsha"]), self.redis.calls(["hset", "hmset"])[0]]


class Field:
    """All servers, and those that take part in a row."""

    def __init__(self, stack, kinds, folder):
        def opened(name, setting):
            prove(kinds[name], setting, folder)
            return open_server(stack, kinds[name], setting, folder)
        settings = (BUCKET, COUNTER, DENIED, THREE)
        self.sluices = {setting: opened("Sluice", setting) for setting in settings}
        self.nginxes = {setting: opened("nginx", setting) for setting in settings
                        if setting.algorithm == "token_bucket"}
        self.naive = opened("naive", BUCKET)
        self.scripts = [Script(self.sluices[BUCKET]), Script(self.nginxes[BUCKET])]

    def measure(self, row, kept):
        """{name: sample}. nginx has one algorithm only, so rows that differ by it stand beside
        the same turn of it; what takes part in one row only does so in the main one."""
        setting = row.setting._replace(algorithm="token_bucket")
        samples, same = {"Sluice": measure(self.sluices[row.setting], row)}, (setting, row.depth)
        if same not in kept:
            kept[same] = measure(self.nginxes[setting], row)
        samples["nginx"] = kept[same]
        if row.at_least:
            samples["naive"] = measure(self.naive, row)
            samples.update({script.name: script.measure(row.depth) for script in self.scripts})
        return samples


# ---- printing --------------------------------------------------------------


def print_row(row, samples, names, judge_ratio):
    pairs = {field: [bench_http.median_of(samples, name, field) for name in names]
             for field in Sample._fields}
    ratios = [sample[names[0]].per_cpu_s / sample[names[1]].per_cpu_s for sample in samples]
    ratio, (low, high) = statistics.median(ratios), bench_http.spread(ratios)
    target, said = judge_ratio(row, ratio)
    one, other = pairs["per_cpu_s"]
    print(f"  {row.name:16}{one / 1e3:8.1f}{other / 1e3:7.1f}{ratio:8.2f}{low:6.2f} – {high:<5.2f}"
          f"{target:>7} {said:6}"
          + "".join("{:8.1f}{:7.1f}".format(*pairs[field]) for field in ("server_us", "redis_us"))
          + "{:8.2f}{:7.2f}".format(*pairs["commands"])
          + "{:8.1f}{:7.1f}".format(*(per_s / 1e3 for per_s in pairs["per_s"]))
          + ("".join("{:8.1f}{:7.1f}".format(*(us / 1e3 for us in pairs[field]))
                     for field in ("p50", "p99")) if row.depth == 1 else ""))


def print_beside(names, samples, judge_ratio):
    depth = next(iter(samples)).depth
    one, other = names
    print(f"  {'':16}{one:>8}{other:>7}{'ratio':>8}{'quartiles':>14}{'target':>7}{'':7}"
          + f"{one:>8}{other:>7}" * (6 if depth == 1 else 4))
    for row, of_row in samples.items():
        print_row(row, of_row, names, judge_ratio)


def print_scripts(samples):
    """The scripts by themselves, and how near a server comes to its own with all it does."""
    print("\n  redis-benchmark with the same EVALSHA and nothing else: thousands of calls per "
          "second of Redis'\n  time, µs of it for a call, and what part of that the server reaches "
          "with its own time in it:\n")
    print(f"  {'':16}{'calls':>8}{'µs':>7}{'ratio':>8}{'quartiles':>14}")
    for server in ("Sluice", "nginx"):
        name = script_of(server)
        per_cpu_s = statistics.median(sample[name] for sample in samples)
        ratios = [sample[server].per_cpu_s / sample[name] for sample in samples]
        low, high = bench_http.spread(ratios)
        print(f"  {name:16}{per_cpu_s / 1e3:8.1f}{1e6 / per_cpu_s:7.1f}"
              f"{statistics.median(ratios):8.2f}{low:6.2f} – {high:<5.2f}")


def print_rows(depth, samples, verdict):
    samples = {row: of_row for row, of_row in samples.items() if row.depth == depth}
    main = {row: of_row for row, of_row in samples.items() if row.at_least}
    latency = ", latency in ms as wrk has it" if depth == 1 else ""
    print(f"On Redis, {bench_http.how_of(depth)}: thousands of decisions per second of processor "
          "time, the server's and\nits Redis' together; µs of each for a decision, commands that "
          f"Redis is sent for one, thousands\nper second{latency}:\n")
    over = ["server µs", "Redis µs", "commands", "per second",
            *(["p50", "p99"] if depth == 1 else [])]
    print(f"  {'':16}{'per CPU second':>15}{'':36}" + "".join(f"{name:>15}" for name in over))
    print_beside(("Sluice", "nginx"), samples, partial(
        bench_http.judged, verdict=verdict, beside="redis, beside nginx + Lua + Redis"))
    print("\n  separate commands in nginx, which race and admit too many:\n")
    for names in (("Sluice", "naive"), ("nginx", "naive")):
        print_beside(names, main, lambda row, ratio: ("none", ""))
    for of_row in main.values():
        print_scripts(of_row)
    print()


def print_conditions(rounds):
    redis = bench_http.version_of(["redis-server", "--version"], r"v=(\S+)")
    library = re.search(r"_VERSION = '(\S+)'", Path(LIBRARY).read_text(encoding="ascii"))[1]
    print(f"Redis {redis}, no persistence, one for each server; nginx {bench_http.nginx_version()} "
          f"with Lua and lua-resty-redis {library},\nwrk {bench_http.load_version()}; Sluice and "
          f"nginx with one worker; {CONNECTIONS} connections kept alive; {USERS:,} users in\nturn "
          f"(denied: one); {bench_http.places('server and Redis')};\n{rounds} rounds of {SECONDS} "
          "s in turn after one to warm up\n")


def missing():
    tools = ("redis-server", "redis-cli", "redis-benchmark", "nginx", "wrk", "taskset")
    return [*(tool for tool in tools if not shutil.which(tool)),
            *(file for file in (*MODULES, LIBRARY) if not Path(file).exists())]


def run(program, rounds, verdict, progress):
    """The whole section; `verdict` and `progress` are tools/bench's."""
    if wanted := missing():
        print(f"On Redis: left out, for want of {' and '.join(wanted)}\n")
        return
    kinds = {"Sluice": partial(Sluice, program), "nginx": Nginx, "naive": Naive}
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as folder:
        Path(folder).chmod(0o755)
        fields = Path(folder, "fields")
        write_fields(fields)
        with contextlib.ExitStack() as stack:
            field = Field(stack, kinds, folder)
            samples = bench_http.take_turns(rows_of(fields), rounds, progress, field.measure)
    print_conditions(rounds)
    for depth in (1, DEPTH):
        print_rows(depth, samples, verdict)
