"""Whatever callers call themselves, what is told of them is JSON; and a million denials by a
hundred thousand of them are counted in as much memory, and as many lines, as a few."""

import json
import socket
import threading
import time

from messages import post
from serving import Server
from stats_reader import counts_of, denied_in, events_of, names_of, rule_of, seen, stats, told_of
from watching import is_sanitized, is_watched_for_races, resident_bytes, wait_until

ONE = "{ name: api, per: user, algorithm: fixed_window, limit: 1/365d }"
AUDITED = f"""\
audit: file:audit.jsonl
workers: 2
rules: [{ONE}]
"""


# ---- names ------------------------------------------------------------------------------

HOSTILE = ['"', "\\", '"}]}, {"a": "', "</script><script>alert(1)</script>", "a\nb\r\n\tc", "\x00",
           "a\x00b", "\x1b[31m\x7f", "\u2028\u2029\ufeff\uffff", "😀" * 100, "x" * 10000,
           "😀" * 3000, "%", "%00", "{}:", "-", " ", "null"]
BYTES = [b"\xff\xfe", b"\xc0\x80", b"\xed\xa0\x80", b"\xe2\x82", b"<b>\xff\"\\", b"\x80" * 300,
         b"x" * 4000]
AUTHORIZE = b"GET /v1/authorize/%%ff%%00%%22%%0a HTTP/1.1\r\nHost: x\r\nX-User: %s\r\n\r\n"


def test_hostile_names_are_valid_json_everywhere():
    rules = ("identity: { trusted_proxies: [127.0.0.1], headers: { user: X-User } }\n" + AUDITED)
    with Server(rules) as server:
        for name in HOSTILE:
            request = {"user": name, "tenant": name, "resource": f"/{name}"}
            said = [server.check(request).json["allowed"] for _ in range(3)]
            assert said == [True, False, False], name[:20]
        for name in BYTES:
            with server.raw() as raw:
                raw.send(AUTHORIZE % name * 3)
                statuses = [raw.response().status for _ in range(3)]
            assert statuses == [200, 429, 429], name[:20]
        named = len(HOSTILE) + len(BYTES)
        seen(server, 3 * named)
        told = told_of(server, lambda told: len(stats(server, "top=64")["rules"][0]["top_denied"])
                       == named, "everybody is told")
        assert counts_of(rule_of(told, "api")["minute"]) == (3 * named, named, 2 * named)
        names = names_of(stats(server, "top=64")["rules"][0]["top_denied"])
        assert '"}]}, {"a": "' in names
        assert "\ufffd\ufffd" in names
        assert all(len(name.encode()) <= 1024 for name in names)
        path = server.folder / "audit.jsonl"
        wait_until(lambda: denied_in(path) == 2 * named, "all denials are in the file")
        assert all(event["rule"] == "api" for event in events_of(path))
        recent = server.ask("GET", "/v1/audit")
        assert json.loads(recent.body.decode("utf-8"))
        assert max(map(len, path.read_bytes().splitlines())) < 16384


def test_hidden_identifiers_are_nowhere():
    rules = f"hash_identifiers: true\n{AUDITED}"
    with Server(rules) as server:
        for _ in range(3):
            server.check({"user": "alice@example.com", "resource": "/x/alice"})
        seen(server, 3)
        told = told_of(server, lambda told: told["rules"][0]["top_denied"], "whom")
        digest = told["rules"][0]["top_denied"][0]["identifier"]
        assert len(digest) == 64 and int(digest, 16)
        path = server.folder / "audit.jsonl"
        wait_until(lambda: denied_in(path) == 2, "it is in the file")
        for page in ("/v1/stats", "/v1/audit", "/metrics"):
            assert b"alice" not in server.ask("GET", page).body
        assert b"alice" not in path.read_bytes()
        assert {event["identifier"] for event in events_of(path)} == {digest}


def test_hiding_identifiers_does_not_end_before_a_restart():
    with Server(f"hash_identifiers: true\n{AUDITED}") as server:
        more = f"[{ONE}, {{ name: more, per: ip, limit: 9/m }}]"
        server.write_rules(f"hash_identifiers: false\n{AUDITED}".replace(f"[{ONE}]", more))
        wait_until(lambda: stats(server)["rules_total"] == 2, "it is reloaded")
        assert "`hash_identifiers` needs a restart" in server.stderr
        for _ in range(3):
            server.check({"user": "alice@example.com", "resource": "/x"})
        path = server.folder / "audit.jsonl"
        wait_until(lambda: denied_in(path) == 2, "it is in the file")
        assert b"alice" not in path.read_bytes()
        assert stats(server)["identifiers_hashed"] is True


# ---- the flood --------------------------------------------------------------------------

SMALL = is_sanitized() or is_watched_for_races()
CALLERS = 10_000 if SMALL else 100_000
ROUNDS = 10  # denials of each
BATCH, AHEAD, CONNECTIONS = 1000, 4, 2


def batches(first, count):
    for start in range(first, first + count, BATCH):
        yield post(json.dumps([{"user": f"u{number}"}
                               for number in range(start, start + BATCH)]).encode())


class Flood:
    """Sends batches, a few ahead of their answers, and only counts what is said."""

    def __init__(self, server, messages):
        self.connection = socket.create_connection(("127.0.0.1", server.port), 60)
        self.messages, self.unread = messages, b""
        self.allowed = self.denied = 0
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        for number, message in enumerate(self.messages):
            self.connection.sendall(message)
            if number >= AHEAD:
                self.take_answer()
        for _ in range(min(AHEAD, len(self.messages))):
            self.take_answer()
        self.connection.close()

    def take_answer(self):
        while b"\r\n\r\n" not in self.unread:
            self.unread += self.connection.recv(1 << 20)
        head, _, rest = self.unread.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        parts = [rest]
        while length > (have := sum(map(len, parts))):
            parts.append(self.connection.recv(min(1 << 20, length - have)))
        body = b"".join(parts)
        body, self.unread = body[:length], body[length:]
        self.allowed += body.count(b'"allowed": true')
        self.denied += body.count(b'"allowed": false')


def pour(server, rounds):
    """Every caller asks so often: how many were allowed and denied."""
    each = CALLERS // CONNECTIONS
    floods = [Flood(server, list(batches(place * each, each)) * rounds)
              for place in range(CONNECTIONS)]
    for flood in floods:
        flood.thread.join(300)
        assert not flood.thread.is_alive()
    return sum(flood.allowed for flood in floods), sum(flood.denied for flood in floods)


def sums_at_metrics(server):
    """Decisions, allowed and denied."""
    page = server.ask("GET", "/metrics").body.decode()
    sums = {"allowed": 0, "denied": 0}
    for line in page.splitlines():
        if line.startswith("sluice_decisions_total{"):
            name, value = line.rsplit(" ", 1)
            sums["allowed" if 'outcome="allowed"' in name else "denied"] += int(value)
    return sums["allowed"], sums["denied"]


def test_a_million_denials_are_bounded_and_add_up(tmp_path):
    path, denials = tmp_path / "audit.jsonl", ROUNDS * CALLERS
    with Server(AUDITED, folder=tmp_path) as server:
        assert pour(server, 1) == (CALLERS, 0)
        resident, start = resident_bytes(server.pid), time.monotonic()
        assert pour(server, ROUNDS) == (0, denials)
        grown = resident_bytes(server.pid) - resident
        told = seen(server, CALLERS + denials)
        wait_until(lambda: denied_in(path) == denials, "the file knows of all of them")
        seconds = time.monotonic() - start
        assert counts_of(told["decisions"]["hour"]) == (CALLERS + denials, CALLERS, denials)
        api = rule_of(told, "api")
        assert counts_of(api["hour"]) == (CALLERS + denials, CALLERS, denials)
        assert sums_at_metrics(server) == (CALLERS, denials)
        assert 0.75 * CALLERS < api["hour"]["callers_limited"] < 1.25 * CALLERS
        assert grown < 64 << 20 or SMALL, f"{grown >> 20} MiB more"
        lines = len(events_of(path))
        assert lines <= 1001 * (seconds + 2), (lines, seconds)
        assert path.stat().st_size < 400 * lines
        told = stats(server)
        assert (told["audit"]["dropped"], told["audit"]["failed"]) == (0, 0)
        assert told["audit"]["written"] == lines
        known = sum(entry["count"] - entry["error"]
                    for entry in stats(server, "top=64")["rules"][0]["top_denied"])
        assert known + rule_of(told, "api")["top_unseen"]["denied"] <= denials
        assert rule_of(told, "api")["top_unseen"]["denied"] > 0


def test_what_was_denied_last_is_in_the_file_when_it_ends(tmp_path):
    path = tmp_path / "audit.jsonl"
    with Server(AUDITED, folder=tmp_path) as server:
        with server.raw() as raw:
            raw.send(post(json.dumps([{"user": f"u{n % 300}"} for n in range(900)]).encode()))
            assert raw.response().body.count(b'"allowed": false') == 600
        assert server.stop() == 0
        assert denied_in(path) == 600


def test_a_caller_without_a_name_is_told_as_such(tmp_path):
    rules = AUDITED.replace("limit: 1/365d", "limit: 1/365d, on_missing: deny")
    with Server(rules, folder=tmp_path) as server:
        for _ in range(3):
            assert not server.check({"resource": "/x"}).json["allowed"]
        told = seen(server, 3)
        assert counts_of(rule_of(told, "api")["minute"]) == (3, 0, 3)
        assert rule_of(told, "api")["top_denied"] == []
        assert rule_of(told, "api")["minute"]["callers"] == 0
        wait_until(lambda: denied_in(tmp_path / "audit.jsonl") == 3, "it is in the file")
        event = events_of(tmp_path / "audit.jsonl")[0]
        assert (event["identifier"], event["retry_after"]) == (None, -1)
