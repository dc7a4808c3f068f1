"""The cost of a JSON Web Token, or of a tenant's API key, beside no token: a part of
tools/bench.

    tools/bench jwt --rounds 15

Twice, with the same keys, tokens and rules. In process (tests/bench/bench_token.c): only the
decision, and what the server does about a token before it. Over HTTP: Sluice alone, wrk
asking, by the server's processor time. A token is *cached* if the same few come again and
again, and *not cached* if so many take turns that each has been driven out of the cache
before it comes back: what has to be verified is then verified every time. All stand for the
same few users, so behind the token the same work is done. Tokens are signed before a clock
runs. How rounds are counted, and which count: bench_http.py; why this way: docs/benchmarks.md.
"""

import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
import urllib.request
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import bench_http
from bench_http import CONNECTIONS, DEPTH, OPEN, PATH, SECONDS, START_S, Row, Setting, Unfit

try:
    import jwt
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
except ImportError:
    jwt = None

USERS = 16  # and cached tokens: FEW in bench_token.c
FEW, MANY = 2_000, 20_000  # tokens of an algorithm in process, and over HTTP too
ISSUER, AUDIENCE = "https://login.example.com", "api"
BASE = "no token"

MAKERS = {
    "HS256": lambda: os.urandom(32).hex(),
    "RS256": lambda: rsa.generate_private_key(65537, 2048),
    "PS256": lambda: rsa.generate_private_key(65537, 2048),
    "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate,
} if jwt else {}
OVER_HTTP = ["HS256", "ES256", "RS256"]

# What tools/bench has: where programs are, whether perf counts, its functions to count
# instructions and to show how far it is.
Bench = namedtuple("Bench", "build use_perf instructions progress")


# ---- what both get ---------------------------------------------------------


def user(number):
    return f"user-{number % USERS:07}"


def sign(algorithm, key, count):
    """Tokens as login servers make them, all different by their `jti`."""
    now = int(time.time())
    claims = {"iss": ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + 86400}

    def one(number):
        return jwt.encode({**claims, "sub": user(number), "jti": f"{number:032x}"}, key,
                          algorithm, headers={"kid": algorithm})

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(one, range(count)))


def write_key(folder, algorithm, key):
    """What the server gets of it, and the line in the rules file that says so."""
    name = f"{algorithm}.key"
    if isinstance(key, str):
        Path(folder, name).write_text(key, encoding="ascii")
        return f"      - {{ kid: {algorithm}, secret_file: {name} }}\n"
    Path(folder, name).write_bytes(key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo))
    return f"      - {{ kid: {algorithm}, pem_file: {name} }}\n"


def write_lines(path, lines):
    Path(path).write_text("".join(f"{line}\n" for line in lines), encoding="ascii")


def prepare(folder, progress):
    """Rules, keys, users and tokens, as bench_token.c wants them; {algorithm: tokens}."""
    tokens, lines = {}, ""
    for number, (algorithm, make) in enumerate(MAKERS.items()):
        progress(number, len(MAKERS))
        key = make()
        lines += write_key(folder, algorithm, key)
        tokens[algorithm] = sign(algorithm, key, MANY if algorithm in OVER_HTTP else FEW)
        write_lines(Path(folder, algorithm), tokens[algorithm])
    progress(1, 1)
    write_lines(Path(folder, "users"), map(user, range(USERS)))
    Path(folder, "rules.yaml").write_text(
        "workers: 1\nlisten: { http: '127.0.0.1:0' }\n"
        "identity:\n  headers: { user: X-User }\n  jwt:\n"
        f"    algorithms: [{', '.join(MAKERS)}]\n    issuer: {ISSUER}\n    audience: {AUDIENCE}\n"
        f"    keys:\n{lines}"
        "rules:\n  - { name: api, resource: /api/*, per: user, algorithm: token_bucket, "
        f"capacity: {OPEN}, refill_rate: {OPEN} }}\n", encoding="ascii")
    return tokens


# ---- in process ------------------------------------------------------------


def instructions(bench, command, side):
    """Of one decision. Where there is a signature in it, a few of them are enough."""
    span = (32, 160) if side.startswith("new-") else (2048, 12288)
    return bench.instructions(lambda count: [*command, "count", side, str(count)],
                              bench.use_perf, *span)


def in_process(bench, folder):
    command = [Path(bench.build, "bench-token"), folder]
    out = subprocess.run([*command, "time"], check=True, capture_output=True, text=True).stdout
    print("A token before a decision, in process, beside no token; instructions by "
          + ("perf" if bench.use_perf else "callgrind\n(more than there are: its processor has "
             "none for SHA-256)") + ":\n")
    print(f"  {'':22}{'ns':>9}{'ratio':>9}{'quartiles':>19}{'instructions':>14}{'ratio':>9}")
    bare = None
    for row in map(json.loads, out.splitlines()):
        counted = instructions(bench, command, row["section"])
        bare = bare or counted
        print(f"  {row['name']:22}{row['ns']:9.0f}{row['ratio']:9.2f}"
              f"{row['low']:10.2f} – {row['high']:<6.2f}{counted:14,.0f}{counted / bare:9.2f}")
    print()


# ---- the server ------------------------------------------------------------


class Sluice(bench_http.Sluice):
    """With keys for tokens, and a tenant."""

    def __init__(self, program, folder):
        self.listen([program, "serve", "-c", Path(folder, "rules.yaml")], Setting())
        self.change("PUT", "/v1/tenants/acme", {})
        self.key = self.change("POST", "/v1/tenants/acme/keys", {})["key"]

    def change(self, method, path, body):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", json.dumps(body).encode(),
            {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=START_S) as answer:
            return json.loads(answer.read())

    def says(self, line):
        fields = dict(field.split(": ") for field in line.split("\t"))
        return bench_http.get(self.port, PATH, fields)[0]


def lines_of(tokens, key):
    """{a row's name: the header fields of its requests}. Those that are cached have been driven
    out between two turns; to verify so few again is a thousandth of a second."""
    named = [f"X-User: {user(number)}" for number in range(USERS)]
    rows = {BASE: named, "X-API-Key": [f"{line}\tX-API-Key: {key}" for line in named]}
    for algorithm in OVER_HTTP:
        bearers = [f"Authorization: Bearer {token}" for token in tokens[algorithm]]
        rows[f"{algorithm}, cached"] = bearers[:USERS]
        rows[f"{algorithm}, not cached"] = bearers
    unread = [f"{line}\tX-Unread: Bearer {token}"
              for line, token in zip(named, tokens[OVER_HTTP[-1]])]
    rows[f"{OVER_HTTP[-1]}, unread"] = unread
    return rows


def prove(server, rows):
    """A good one is let in; whatever is read is refused if it is wrong by its last letter but
    one (of the last, some bits are no part of a signature)."""
    for name, lines in rows.items():
        good = lines[0]
        wrong = f"{good[:-2]}{'A' if good[-2] != 'A' else 'B'}{good[-1]}"
        said = [server.says(good), server.says(wrong)]
        if said != [200, 200 if name == BASE or "unread" in name else 401]:
            raise Unfit(f"{name}: a good one and a wrong one are answered {said}")


def prove_new(program, folder):
    for algorithm in OVER_HTTP:
        kept = subprocess.run([program, folder, "kept", algorithm], check=True,
                              capture_output=True, text=True).stdout
        if int(kept) != 0:
            raise Unfit(f"{algorithm}: of {MANY} tokens in turn {kept.strip()} were in the cache")


class Fields:
    """What a row asks with, in a file for wrk. Each turn goes on where the last one ended: so
    between two uses of a token lie all others of its algorithm, however short a turn was."""

    def __init__(self, path, lines):
        self.path, self.lines, self.next = path, lines, 0

    def row(self, name, depth):
        return Row(name, Setting(keys=len(self.lines)), depth, str(self.path))

    def measure(self, server, row):
        write_lines(self.path, self.lines[self.next:] + self.lines[:self.next])
        before = server.counts()[1]
        sample = bench_http.measure(server, row)
        self.next = (self.next + server.counts()[1] - before) % len(self.lines)
        return sample


def over_http(bench, folder, tokens, rounds):
    prove_new(Path(bench.build, "bench-token"), folder)
    with Sluice(Path(bench.build, "sluice"), folder) as server:
        lines = lines_of(tokens, server.key)
        prove(server, lines)
        fields = {name: Fields(Path(folder, f"fields-{number}"), lines[name])
                  for number, name in enumerate(lines)}
        rows = {of.row(name, depth): of for depth in (1, DEPTH) for name, of in fields.items()}
        samples = bench_http.take_turns(rows, rounds, bench.progress,
                                        lambda row, _: rows[row].measure(server, row))
    print(f"Over HTTP: Sluice alone, one worker; {CONNECTIONS} connections kept alive; {USERS} "
          f"users; {MANY:,} tokens\nin turn where they are not cached, {USERS} where they are; "
          f"medians of {rounds} rounds\nof {SECONDS} s after one to warm up, and of the ratios within a round\n")
    for depth in (1, DEPTH):
        print_rows(depth, samples)


# ---- printing --------------------------------------------------------------


def print_row(row, samples, bases):
    """Ratios are of the same round's cost per request."""
    ratios = [base.per_cpu_s / sample.per_cpu_s for sample, base in zip(samples, bases)]
    low, high = bench_http.spread(ratios)
    per_cpu_s, per_s, busy, p50, p99 = map(statistics.median, zip(*samples))
    print(f"  {row.name:20}{1e6 / per_cpu_s:9.2f}{statistics.median(ratios):9.2f}"
          f"{low:8.2f} – {high:<6.2f}{per_cpu_s / 1e3:11.1f}{per_s / 1e3:11.1f}{busy:8.0%}"
          + (f"{p50:8.0f}{p99:8.0f}" if row.depth == 1 else ""))


def print_rows(depth, samples):
    samples = {row: of_row for row, of_row in samples.items() if row.depth == depth}
    bases = next(of_row for row, of_row in samples.items() if row.name == BASE)
    latency = ", latency in µs as wrk has it" if depth == 1 else ""
    print(f"/v1/authorize, {bench_http.how_of(depth)}: µs of the server's processor time for a "
          "request, beside no token;\nthousands per second of that time, per second, how busy "
          f"the server was{latency}:\n")
    print(f"  {'':20}{'µs':>9}{'ratio':>9}{'quartiles':>17}{'per CPU s':>11}{'per s':>11}"
          f"{'busy':>8}" + (f"{'p50':>8}{'p99':>8}" if depth == 1 else ""))
    for row, of_row in samples.items():
        print_row(row, of_row, bases)
    print()


def run(bench, rounds):
    """The whole section."""
    if not jwt:
        print("Tokens: left out, for want of python3-jwt and python3-cryptography\n")
        return
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as folder:
        tokens = prepare(folder, bench.progress)
        in_process(bench, folder)
        missing = [tool for tool in ("wrk", "taskset") if not shutil.which(tool)]
        if missing:
            print(f"Tokens over HTTP: left out, for want of {' and '.join(missing)}\n")
            return
        over_http(bench, folder, tokens, rounds)
