"""New rules while it serves: what is noticed, what is kept, and that no request is lost.

Two sets of rules have no rule in common, so that the rules an answer names tell
by which set it was decided. Limits are so long that nothing comes back.
"""

import collections
import json
import os
import re
import shutil
import signal
import ssl
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import certificates
from program import SUPPORT, run
from serving import TIMEOUT_S, Raw, Server
from watching import (forget_soon, hang_up, https_port, is_sanitized, is_watched_for_races,
                      resident_bytes, wait_until)

LOAD_SECONDS = float(os.environ.get("SLUICE_LOAD_SECONDS", "10"))


def rules(*names, limit=1_000_000_000, more=""):
    rows = "".join(f"  - {{ name: {name}, per: user, algorithm: fixed_window, "
                   f"limit: {limit}/365d }}\n" for name in names)
    return f"{more}rules:\n{rows}"


A, B = rules("a1", "a2"), rules("b1", "b2")


def in_force(server, connection=None):
    """The names of the rules that decide now."""
    answer = server.check({"user": "looking", "explain": True, "peek": True}, connection)
    assert answer.status == 200
    return {row["rule"] for row in answer.json["rules"]}


def becomes(server, *names):
    wait_until(lambda: in_force(server) == set(names), f"{names} in force")


def text_of(server, text):
    return f"listen: {json.dumps(server.listen)}\n{text}"


# ---- what is noticed --------------------------------------------------------------------


def write_in_place(server, text):
    Path(server.rules_file).write_text(text_of(server, text), encoding="utf-8")


def rename_over(server, text):
    server.write_rules(text)


def remove_and_create(server, text):
    os.unlink(server.rules_file)
    write_in_place(server, text)


@pytest.mark.parametrize("change", [write_in_place, rename_over, remove_and_create])
def test_a_change_of_the_file_is_noticed(change):
    with Server(A) as server:
        assert in_force(server) == {"a1", "a2"}
        change(server, B)
        becomes(server, "b1", "b2")
        change(server, A)  # the file that is there now is watched as well
        becomes(server, "a1", "a2")


def test_a_file_behind_a_symbolic_link_is_noticed(tmp_path):
    """As Kubernetes mounts them: rules.yaml -> ..data/rules.yaml, ..data -> a folder."""
    with Server(A, folder=tmp_path) as server:
        path = Path(server.rules_file)
        for name, text in (("first", A), ("second", B), ("third", A)):
            (tmp_path / name).mkdir()
            (tmp_path / name / "rules.yaml").write_text(text_of(server, text), encoding="utf-8")

        def point(link, to):
            (tmp_path / "link.new").symlink_to(to)
            (tmp_path / "link.new").rename(link)

        point(path, "first/rules.yaml")
        hang_up(server)
        becomes(server, "a1", "a2")
        point(path, "second/rules.yaml")  # the link itself
        becomes(server, "b1", "b2")
        (tmp_path / "..data").symlink_to("second")
        point(path, "..data/rules.yaml")
        hang_up(server)
        becomes(server, "b1", "b2")
        point(tmp_path / "..data", "third")  # a folder on the way
        becomes(server, "a1", "a2")


def test_a_signal_reads_the_file_again():
    with Server(A) as server:
        server.write_rules(B)
        hang_up(server)
        becomes(server, "b1", "b2")
        for _ in range(20):  # in a row, faster than it can
            hang_up(server)
        assert in_force(server) == {"b1", "b2"}


# ---- a file that is wrong ---------------------------------------------------------------


def test_a_wrong_file_is_told_whole_and_the_rules_stay():
    wrong = "nonsense: 1\nrules:\n  - { name: c, per: user, limit: 0/1s }\n  - { per: user }\n"
    with Server(A) as server:
        server.write_rules(wrong)
        hang_up(server)
        problems = run("lint", server.rules_file).out.splitlines()
        assert len(problems) >= 3
        for problem in problems:
            wait_until(lambda: problem in server.stderr, problem)
        assert in_force(server) == {"a1", "a2"}
        server.write_rules(B)
        becomes(server, "b1", "b2")


def test_a_file_that_is_gone_leaves_the_rules():
    with Server(A) as server:
        os.unlink(server.rules_file)
        hang_up(server)
        wait_until(lambda: "cannot read" in server.stderr, "the problem")
        assert server.rules_file in server.stderr
        assert in_force(server) == {"a1", "a2"}
        server.write_rules(B)
        becomes(server, "b1", "b2")


def test_an_empty_file_of_no_rules_is_a_good_one():
    with Server(A) as server:
        server.write_rules("rules: []\n")
        becomes(server)


# ---- what is kept -----------------------------------------------------------------------


def test_counts_carry_over():
    with Server(rules("a", limit=5)) as server:
        assert [server.check({"user": "u"}).json["remaining"] for _ in range(3)] == [4, 3, 2]
        server.write_rules(rules("a", "more", limit=5))
        becomes(server, "a", "more")
        answer = server.check({"user": "u", "explain": True}).json
        assert {row["rule"]: row["remaining"] for row in answer["rules"]} == {"a": 1, "more": 4}
        server.write_rules(rules("a", limit=10))
        becomes(server, "a")
        assert server.check({"user": "u"}).json["remaining"] == 5


def test_a_reservation_is_settled_by_later_rules():
    with Server(rules("a", limit=10)) as server:
        reserved = server.ask("POST", "/v1/reserve", {"user": "u", "cost": 7}).json
        server.write_rules(rules("a", "b", limit=10))
        becomes(server, "a", "b")
        answer = server.ask("POST", "/v1/commit",
                            {"reservation": reserved["reservation"], "cost": 2})
        assert answer.status == 200
        rows = server.check({"user": "u", "explain": True, "peek": True}).json["rules"]
        assert {row["rule"]: row["remaining"] for row in rows} == {"a": 8, "b": 10}


def test_connections_and_requests_under_way_go_on():
    queue = ("rules:\n  - { name: q, per: user, algorithm: leaky_bucket, capacity: 10, "
             "window: 10s }\n")
    with Server(queue) as server, server.raw() as half, server.raw() as held:
        body = b'{"user": "looking", "explain": true}'
        head = b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
        half.send(head + body[:10])
        wait = b'{"user": "u", "wait": true}'
        ask = b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s"
        for _ in range(2):  # the second has a turn to wait for
            held.send(ask % (len(wait), wait))
        assert held.response().json["delay_us"] == 0
        server.write_rules(B)
        becomes(server, "b1", "b2")
        half.send(body[10:])
        assert {row["rule"] for row in half.response().json["rules"]} == {"b1", "b2"}
        answer = held.response()
        assert (answer.status, answer.json["rule"]) == (200, "q")
        assert answer.json["delay_us"] > 0


def test_settings_take_effect():
    with Server("deny_status: 429\n" + rules("a", limit=1)) as server:
        server.check({})  # without a user: not counted
        fields = {"X-Forwarded-Uri": "/x"}
        server.write_rules("deny_status: 403\nheaders: [retry-after]\n"
                           "rules:\n  - { name: g, per: global, algorithm: fixed_window, "
                           "limit: 1/365d }\n")
        becomes(server, "g")
        assert server.ask("GET", "/v1/authorize", headers=fields).status == 200
        denied = server.ask("GET", "/v1/authorize", headers=fields)
        assert denied.status == 403
        assert "Retry-After" in denied.headers
        assert "RateLimit" not in denied.headers


@pytest.mark.parametrize("data, statuses", [
    (b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", [200]),
    (b"GET /healthz HTTP/1.1\r\nHost: x\r\n", [408]),
    (b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{", [408]),
    (b"", []),
], ids=["idle", "head", "body", "the first byte"])
def test_shorter_time_outs_hold_for_clients_that_wait_already(data, statuses):
    """And for later ones, though a client with more time stands before them."""
    alone = "workers: 1\n"
    with Server(alone + "timeouts: { head: 10m, body: 10m, idle: 10m }\n" + A) as server, \
            server.raw() as waits:
        waits.send(data)
        becomes(server, "a1", "a2")  # it was read before this is answered
        server.write_rules(alone + "timeouts: { head: 1s, body: 1s, idle: 1s }\n" + B)
        becomes(server, "b1", "b2")
        with server.raw() as comes:
            comes.send(data)
            for raw in (comes, waits):
                assert [raw.response().status for _ in statuses] == statuses
                assert raw.ended()


@pytest.mark.parametrize("store", ["memory:", "memory:?size=8M&log=0",
                                   "memory:limits.slu?size=8M&log=0"])
def test_a_log_in_a_store_that_was_opened_for_none_is_noted(tmp_path, store):
    log = "  - { name: log, per: user, algorithm: sliding_window_log, limit: 3/1m }\n"
    with Server(f'store: "{store}"\n{A}', folder=tmp_path) as server:
        server.write_rules(f'store: "{store}"\n{B}')
        becomes(server, "b1", "b2")
        assert "sliding" not in server.stderr
        server.write_rules(f'store: "{store}"\n{A}{log}')
        becomes(server, "a1", "a2", "log")
        said = wait_until(lambda: re.search(r".*sliding.*", server.stderr), "a note")[0]
        assert said.startswith("sluice: note: ")
        assert "restart" in said


@pytest.mark.parametrize("key, value", [
    ("listen", "{ http: 127.0.0.1:1 }"), ("workers", "7"),
    ("store", '"memory:other.slu?size=1M"')])
def test_what_is_fixed_at_the_start_is_said_to_need_a_restart(key, value):
    with Server(A) as server:
        if key == "listen":
            server.listen = {"http": "127.0.0.1:1"}
            server.write_rules(B)
        else:
            server.write_rules(f"{key}: {value}\n{B}")
        becomes(server, "b1", "b2")  # the rest is taken
        said = wait_until(lambda: re.search(r".*restart.*", server.stderr), "a restart")[0]
        assert key in said
        assert not (server.folder / "other.slu").exists()


# ---- certificates -----------------------------------------------------------------------


def tls(port):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connected = socket.create_connection(("127.0.0.1", port), TIMEOUT_S)
    return Raw(context.wrap_socket(connected))


def is_shown(port, pair):
    with tls(port) as raw:
        shown = raw.socket.getpeercert(binary_form=True)
    return shown == ssl.PEM_cert_to_DER_cert(pair.certificate.read_text(encoding="ascii"))


HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize("by", ["signal", "change"])
def test_a_new_certificate_is_shown_to_new_connections(tmp_path, by):
    used = certificates.self_signed(tmp_path, "used")
    old, new = (certificates.self_signed(tmp_path, name) for name in ("old", "new"))

    def put(certificate, key):
        for source, place in ((key, used.key), (certificate, used.certificate)):
            shutil.copy(source, tmp_path / "copy")
            (tmp_path / "copy").rename(place)
        if by == "signal":
            hang_up(server)

    for source, place in ((old.key, used.key), (old.certificate, used.certificate)):
        shutil.copy(source, place)
    with Server(f"tls: {used.listed}\n{A}", folder=tmp_path,
                listen={"http": "127.0.0.1:0", "https": "127.0.0.1:0"}) as server:
        assert is_shown(https_port(server), old)
        with tls(https_port(server)) as before:
            put(new.certificate, new.key)
            wait_until(lambda: is_shown(https_port(server), new), "the new certificate")
            before.send(HEALTH)
            assert before.response().status == 200
            put(old.certificate, new.key)  # they do not belong together
            if by == "signal":
                wait_until(lambda: str(used.certificate) in server.stderr
                           or str(used.key) in server.stderr, "the problem")
            assert is_shown(https_port(server), new)
            put(old.certificate, old.key)
            wait_until(lambda: is_shown(https_port(server), old), "the old certificate")
            before.send(HEALTH)
            assert before.response().status == 200


# ---- under load -------------------------------------------------------------------------


def start_client(mode, port):
    return subprocess.Popen([sys.executable, SUPPORT / "load_client.py", mode,
                             str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def tallies(clients):
    """What they found; each is waited for."""
    found = []
    for client in clients:
        out, _ = client.communicate(timeout=TIMEOUT_S)
        assert client.returncode == 0
        found.append(json.loads(out))
    return found


def charged(server, text, names):
    """By how much each rule's count has grown, looked up in the table that is left."""
    server.write_rules(text)
    done = run("check", "-c", server.rules_file, "--user", "u", "--peek", "--explain", "--json")
    rows = done.lines[0]["rules"]
    assert {row["rule"] for row in rows} == set(names)
    return {row["rule"]: row["limit"] - row["remaining"] for row in rows}


def has_answered(server, rule):
    page = server.ask("GET", "/metrics").body.decode()
    return re.search(rf'rule="{rule}",.*outcome="allowed"\}} [1-9]', page)


def test_load_with_reloads_and_an_end_loses_no_request(tmp_path):
    # A client that is kept waiting by the machine must not find its connection closed as idle.
    store = 'timeouts: { drain: 20s }\nstore: "memory:limits.slu?size=1M"\n'
    with Server(store + A, folder=tmp_path) as server:
        steady = [start_client(mode, server.port) for mode in ("keep", "keep", "pipeline",
                                                               "pipeline")]
        coming = [start_client("fresh", server.port)]
        everybody = steady + coming
        try:
            reloads = 0
            wait_until(lambda: has_answered(server, "a1"), "the first answers")
            end = time.monotonic() + LOAD_SECONDS
            while time.monotonic() < end or reloads < 3:
                time.sleep(1)  # the load is what is tested
                reloads += 1
                server.write_rules(store + (B if reloads % 2 else A))
                hang_up(server)
            found = tallies(coming)
            server.process.send_signal(signal.SIGTERM)
            found += tallies(steady)
            assert server.wait() == 0
        finally:
            for client in everybody:
                if client.poll() is None:
                    client.kill()
                    client.wait()
        for tally in found:
            assert tally["wrong"] == []
            assert tally["end"] == "told"
        answers = sum((collections.Counter(tally["sets"]) for tally in found),
                      collections.Counter())
        assert set(answers) == {"a1,a2", "b1,b2"}, "decided by half of each"
        # And none was decided that was not answered.
        assert charged(server, store + A, ("a1", "a2")) == dict.fromkeys(("a1", "a2"),
                                                                         answers["a1,a2"])
        assert charged(server, store + B, ("b1", "b2")) == dict.fromkeys(("b1", "b2"),
                                                                         answers["b1,b2"])
        print(f"{sum(answers.values())} answers, {reloads} reloads")


def many_rules(prefix, count=2000):
    return "rules:\n" + "".join(
        f"  - {{ name: {prefix}{i}, resource: /{prefix}/{i}/*, per: user, limit: 5/1m }}\n"
        for i in range(count)) + f"  - {{ name: {prefix}, per: user, limit: 5/1m }}\n"


def test_memory_does_not_grow_with_the_number_of_reloads(monkeypatch):
    """2,000 rules take more than half a MiB: forty sets that are not given back would be
    more than twice what is let pass."""
    forget_soon(monkeypatch)
    sets = {"x": many_rules("x"), "y": many_rules("y")}
    with Server(sets["x"]) as server:
        def reload(times):
            for i in range(times):
                name = "xy"[i % 2]
                server.write_rules(sets[name])
                hang_up(server)
                becomes(server, name)
            return resident_bytes(server.pid)

        early = reload(6)
        late = reload(40)
        print(f"resident after 6 reloads {early >> 10} KiB, after 46 {late >> 10} KiB")
        slack = (64 if is_sanitized() or is_watched_for_races() else 8) << 20
        assert late - early < slack
