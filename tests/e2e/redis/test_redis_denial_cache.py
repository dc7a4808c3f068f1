"""Denied callers are denied again from memory: a flood costs Redis nearly nothing, and is counted,
written down and blocked as if every request of it had been asked."""

import json
import os
import random
import re
import time

import pytest

from admin_api import Caller
from grpc_messages import OVER_LIMIT, channel_to, request, should_rate_limit
from messages import HEALTH
from program import ROOT, run
from redis_requests import ALGORITHMS, PATIENT, asking, on, one
from redis_running import Redis, client_of, empty_redis  # noqa: F401
from resp_talking import command, talk
from serving import Server
from stats_reader import denied_in, names_of, rule_of, told_of
from watching import is_sanitized, wait_until

ALL = pytest.mark.parametrize("algorithm", ALGORITHMS)
FLOOD = int(os.environ.get("SLUICE_FLOOD", 100_000 if is_sanitized() else 1_000_000))
AT_ONCE = 500
SEED = int(os.environ.get("SLUICE_SEED") or time.time_ns())
LIMIT = 5
EVERYWHERE = {"http": "127.0.0.1:0", "resp": "127.0.0.1:0", "grpc": "127.0.0.1:0"}
TIERS = "tiers: { free: { scale: 1 }, pro: { scale: 10 } }\n"


@pytest.fixture(name="running", scope="module")
def running_redis():
    with Redis() as redis:
        yield redis


def rules_text():
    return "".join([*(one(name, name, LIMIT) for name in ALGORITHMS),
                    one("tried", "fixed_window", LIMIT, ", shadow: true"),
                    one("outer", "fixed_window", 1_000_000, resource="/layers"),
                    one("inner", "token_bucket", LIMIT, resource="/layers")])


@pytest.fixture(name="servers", scope="module")
def two_servers(running):
    text = on(running, rules_text(), PATIENT + TIERS + "workers: 2\n")
    with Server(text, listen=EVERYWHERE) as a, Server(text) as b:
        yield a, b


@pytest.fixture(name="server")
def with_nothing_remembered(redis, servers):  # pylint: disable=unused-argument
    """A caller that was denied before Redis was emptied would be denied for a second more."""
    for server in servers:
        Caller(server).post("/v1/reset", {"rule": "tried", "user": "nobody"})
    return servers[0]


class Calls:
    """How many scripts Redis has run since: also those that no request waits for."""

    def __init__(self, db):
        self.db, self.before = db, 0
        self.before = self()

    def __call__(self):
        stats = self.db.info("commandstats")
        return sum(stats.get(f"cmdstat_{name}", {"calls": 0})["calls"]
                   for name in ("evalsha", "eval")) - self.before


class Asked:
    """How many calls of the server's Redis has answered since."""

    def __init__(self, server):
        self.server, self.start, self.before = server, time.monotonic(), 0
        self.before = self()

    def __call__(self):
        return samples(self.server)['sluice_store_calls_total{result="ok"}'] - self.before

    def is_hardly(self):
        """Not at all; but once a second, where the machine is slow."""
        return self() <= int(time.monotonic() - self.start + 0.5)


def of(user, path, **more):
    return {"user": user, "resource": path, **more}


def fill(server, path, user="u", limit=LIMIT):
    """Nothing is left, and that is known: the next one will not be asked for."""
    reasons = [server.check(of(user, path)).json["reason"] for _ in range(limit + 1)]
    assert reasons == ["ok"] * limit + ["rate_limit_exceeded"]


def flood(server, message, times):
    """So many, a few hundred at a time, on one connection: how many were allowed and denied."""
    allowed = denied = 0
    with server.raw() as raw:
        for _ in range(times // AT_ONCE):
            raw.socket.sendall(message * AT_ONCE)
            got, rest = 0, b""
            while got < AT_ONCE:
                rest += raw.socket.recv(1 << 20)
                bodies = rest.count(b'"retry_after": ')
                if bodies < AT_ONCE or not rest.endswith(b"}"):
                    continue
                got = bodies
                allowed += rest.count(b"HTTP/1.1 200 ")
                denied += rest.count(b"HTTP/1.1 429 ")
    return allowed, denied


def samples(server):
    text = server.ask("GET", "/metrics").body.decode()
    return {name: int(value) for name, value in re.findall(r"^(sluice_\S+) (\d+)$", text, re.M)}


# ---- floods ---------------------------------------------------------------------------------


def test_of_a_flood_redis_sees_less_than_one_in_a_hundred(running, tmp_path):
    """And all of it is in every count."""
    path = tmp_path / "audit.jsonl"
    text = on(running, one("api", "token_bucket", 10), PATIENT + f"workers: 2\naudit: file:{path}\n")
    running.flush()
    with running.client() as db, Server(text) as server:
        calls = Calls(db)
        allowed, denied = flood(server, asking(of("u", "/api")), FLOOD)
        assert (allowed, denied) == (10, FLOOD - 10)
        assert 10 < calls() < FLOOD / 100
        told_of(server, lambda told: names_of(rule_of(told, "api")["top_denied"]) ==
                {"u": FLOOD - 10}, "whom, and how often")
        counted = samples(server)
        asked = counted['sluice_store_calls_total{result="ok"}']
        assert counted['sluice_decisions_total{reason="rate_limit_exceeded",outcome="denied"}'] \
            == FLOOD - 10
        assert counted['sluice_rule_decisions_total{rule="api",algorithm="token_bucket",'
                       'outcome="denied"}'] == FLOOD - 10
        assert counted['sluice_decisions_from_memory_total{outcome="denied"}'] == FLOOD - asked
        assert counted["sluice_denials_held"] <= 1
        assert asked < FLOOD / 100
        wait_until(lambda: denied_in(path) == FLOOD - 10, "all of it is written down")
        trust = Caller(server).get("/v1/users/u").json["trust"]
        assert 1 <= trust["violations"]["count"] <= 3  # minutes in which it was denied


def test_a_flood_over_each_protocol(server, db):
    fill(server, "/fixed_window")
    calls = Calls(db)
    with talk(server) as talking:
        talking.send(command("SLUICE.CHECK", "user", "u", "resource", "/fixed_window") * 2000)
        assert all(reply[1] == 0 for reply in talking.replies(2000))
        talking.send(command("CL.THROTTLE", "k", 4, 1, 1_000_000) * 1000)
        assert [reply[0] for reply in talking.replies(1000)] == [0] * 5 + [1] * 995
    port = next(address for address in server.addresses if address.startswith("grpc"))
    with channel_to(int(port.rpartition(":")[2])) as channel:
        ask = should_rate_limit(channel)
        message = request("envoy", [("user", "u"), ("resource", "/fixed_window")])
        futures = [ask.future(message) for _ in range(500)]
        codes = [future.result(30).overall_code for future in futures]
        assert codes.count(OVER_LIMIT) == 500 - LIMIT
    assert calls() < 1200  # what of CL.THROTTLE came together was asked together


def test_a_shadow_rule_denies_no_request_and_is_not_asked(server, db):
    assert [server.check(of("u", "/tried")).json["reason"] for _ in range(LIMIT + 2)] \
        == ["no_rule"] * LIMIT + ["shadow"] * 2
    calls = Calls(db)
    assert flood(server, asking(of("u", "/tried")), 5000) == (5000, 0)
    assert calls() < 50


# ---- what it says ---------------------------------------------------------------------------


@ALL
def test_the_answer_is_the_one_that_redis_would_give(server, algorithm):
    path = f"/{algorithm}"
    fill(server, path)
    calls = Asked(server)
    known = [server.check(of("u", path)).json for _ in range(3)]
    assert calls.is_hardly()
    asked = server.check(of("u", path, peek=True)).json
    assert calls() > 0
    for answer in known:
        for field in ("rule", "algorithm", "reason", "limit", "remaining"):
            assert answer[field] == asked[field]
        assert abs(answer["reset_at_us"] - asked["reset_at_us"]) <= 1
    waits = [answer["retry_after_us"] for answer in known]
    assert waits[0] > waits[1] > waits[2] > asked["retry_after_us"] - 1_000_000


@ALL
def test_when_its_wait_is_over_it_passes(running, algorithm):
    numbers = ("capacity: 2, refill_rate: 5" if algorithm.endswith("bucket")
               else "limit: 2/400ms")
    rule = f"  - {{ name: api, per: user, algorithm: {algorithm}, {numbers} }}\n"
    running.flush()
    with Server(on(running, rule)) as server:
        for _ in range(3):
            answers = [server.check(of("u", "/")).json for _ in range(6)]
            if answers[-1]["allowed"]:
                continue  # the machine was slow
            time.sleep(answers[-1]["retry_after_us"] / 1e6)
            assert server.check(of("u", "/")).json["allowed"]


def test_a_larger_cost_is_denied_too_and_a_smaller_one_is_asked(server):
    assert server.check(of("u", "/fixed_window", cost=2)).json["remaining"] == 3
    assert not server.check(of("u", "/fixed_window", cost=4)).json["allowed"]
    calls = Asked(server)
    for cost, reason in ((4, "rate_limit_exceeded"), (5, "rate_limit_exceeded"),
                         (6, "cost_exceeds_limit")):
        answer = server.check(of("u", "/fixed_window", cost=cost)).json
        assert (answer["reason"], answer["remaining"]) == (reason, 3)
        assert (answer["retry_after"] == -1) == (cost > LIMIT)
    assert calls.is_hardly()
    assert server.check(of("u", "/fixed_window", cost=3)).json["allowed"]
    assert calls() >= 1


@pytest.mark.parametrize("more", [{"peek": True}, {"explain": True}, {"cost": 0}])
def test_some_things_are_asked_of_redis_each_time(server, more):
    fill(server, "/layers")
    calls = Asked(server)
    for number in range(1, 4):
        answer = server.check(of("u", "/layers", **more)).json
        assert calls() >= number
        assert answer["remaining"] == 0
        assert len(answer.get("rules", ())) == (2 if "explain" in more else 0)


def test_a_queue_and_a_reservation_are_asked_of_redis_each_time(server):
    fill(server, "/leaky_bucket")
    calls = Asked(server)
    assert not server.check(of("u", "/leaky_bucket", wait=True)).json["allowed"]
    assert calls() >= 1
    assert server.ask("POST", "/v1/reserve", of("u", "/leaky_bucket")).status == 429
    assert calls() >= 2


def test_one_rule_that_is_known_is_enough(server):
    """Of the other nothing is known, and nothing counted, unless Redis was asked again."""
    fill(server, "/layers")
    calls, before = Asked(server), samples(server)
    answers = [server.check(of("u", "/layers")).json for _ in range(10)]
    assert {answer["rule"] for answer in answers} == {"inner"}
    assert calls.is_hardly()
    grown = {re.search('rule="([^"]+)"', name)[1]: value - before[name]
             for name, value in samples(server).items()
             if name.startswith("sluice_rule_decisions_total{") and value != before[name]}
    assert grown.pop("inner") == 10
    assert grown == ({"outer": calls()} if calls() else {})


def test_answers_stay_in_order(server):
    """Those that are known, those that are not, and those that need no store, on one connection."""
    fill(server, "/fixed_window")
    with server.raw() as raw:
        for number in range(20):
            raw.send(asking(of("u", "/fixed_window")) + asking(of(f"v{number}", "/token_bucket")) +
                     HEALTH + asking(of("u", "/fixed_window")) + asking(of("u", "/nothing")) +
                     asking([of("u", "/fixed_window"), of(f"w{number}", "/token_bucket")]) +
                     asking(of("u", "/fixed_window")))
            answers = [raw.response() for _ in range(7)]
            assert [answer.status for answer in answers] == [429, 200, 200, 429, 200, 200, 429]
            assert answers[1].json["remaining"] == LIMIT - 1
            assert answers[4].json["reason"] == "no_rule"
            assert [one["allowed"] for one in answers[5].json] == [False, True]


# ---- until when -----------------------------------------------------------------------------


def reset(server):
    Caller(server).post("/v1/reset", of("u", "/fixed_window"))


def reset_over_resp(server):
    with talk(server) as talking:
        talking.ask("SLUICE.RESET", "user", "u", "resource", "/fixed_window")


def exempt(server):
    Caller(server).post("/v1/exemptions", {"kind": "user", "value": "u"})


def raise_tier(server):
    Caller(server).put("/v1/users/u", {"tier": "pro"})


def change_rule(server):
    Caller(server).put("/v1/rules/fixed_window", {
        "resource": "/fixed_window", "per": "user", "algorithm": "fixed_window",
        "limit": f"{LIMIT + 1}/365d"})


CHANGES = [reset, reset_over_resp, exempt, raise_tier, change_rule]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_change_through_this_instance_is_in_force_at_once(change):
    """On a Redis of its own: it is replicated to all that share it."""
    with Redis() as redis, Server(on(redis, rules_text(), PATIENT + TIERS),
                                  listen=EVERYWHERE) as server:
        fill(server, "/fixed_window")
        fill(server, "/token_bucket")
        assert not server.check(of("u", "/fixed_window")).json["allowed"]
        change(server)
        assert server.check(of("u", "/fixed_window")).json["allowed"]
        assert server.check(of("u", "/token_bucket")).json["allowed"] \
            == (change in (exempt, raise_tier))


@pytest.mark.parametrize("end", ["cancel", "commit"])
def test_what_is_given_back_is_there_at_once(server, end):
    body = of("u", "/fixed_window", cost=LIMIT)
    reservation = server.ask("POST", "/v1/reserve", body).json["reservation"]
    assert [server.check(of("u", "/fixed_window")).status for _ in range(3)] == [429] * 3
    done = server.ask("POST", f"/v1/{end}", {"reservation": reservation, **(
        {"cost": 1} if end == "commit" else {})})
    assert done.status == 200
    assert server.check(of("u", "/fixed_window")).json["allowed"]


def test_a_change_elsewhere_is_seen_soon(server, servers):
    fill(server, "/fixed_window")
    Caller(servers[1]).post("/v1/reset", of("u", "/fixed_window"))
    assert servers[1].check(of("u", "/fixed_window")).json["allowed"]
    wait_until(lambda: server.check(of("u", "/fixed_window")).json["allowed"], "it is seen")


def test_it_stays_so_for_a_while_when_redis_is_gone():
    with Redis() as redis, Server(on(redis, one("api", "fixed_window", LIMIT))) as server:
        fill(server, "/api")
        redis.kill()
        reasons = set()

        def is_over():
            reasons.add(server.check(of("u", "/api")).json["reason"])
            return "store_unavailable" in reasons

        wait_until(is_over, "what was known is over")
        assert reasons <= {"rate_limit_exceeded", "store_unavailable"}


# ---- guards ---------------------------------------------------------------------------------


def guarded(text):
    return one("api", "token_bucket", LIMIT, f", burst_guard: {{ {text} }}")


def test_a_guard_counts_every_request_of_a_flood(running):
    """In the end, to the last one."""
    times = 20_000
    running.flush()
    with running.client() as db, Server(on(
            running, guarded("window: 24h, threshold: 1000000, penalty: 1s"))) as server:
        calls = Calls(db)
        assert flood(server, asking(of("u", "/api")), times) == (LIMIT, times - LIMIT)
        key = "rl:-:api~guard:{u}"
        wait_until(lambda: int(db.hget(key, "count")) >= times, "all of them are counted")
        assert int(db.hget(key, "count")) == times
        assert (db.hget(key, "warned_until"), db.ttl(key) > 0) == ("0", True)
        assert calls() < times / 10


def test_a_guard_warns_of_a_flood_and_blocks_it(running, tmp_path):
    path = tmp_path / "audit.jsonl"
    running.flush()
    with running.client() as db, Server(on(
            running, guarded("window: 1s, threshold: 200, penalty: 1h"),
            PATIENT + f"audit: file:{path}\n")) as server:
        calls = Calls(db)

        def is_blocked():
            flood(server, asking(of("u", "/api")), AT_ONCE)
            return server.check(of("u", "/api")).json["reason"] == "burst_blocked"

        wait_until(is_blocked, "it is blocked")
        answer = server.check(of("u", "/api")).json
        assert (answer["reason"], answer["remaining"]) == ("burst_blocked", 0)
        before = calls()
        flood(server, asking(of("u", "/api")), 5000)
        assert calls() - before < 100

        def events():
            lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
            return [json.loads(line)["event"] for line in lines]

        wait_until(lambda: "burst_detected_blocked" in events(), "it is written down")
        assert events().count("burst_detected_warning") == 1
        assert events().count("burst_detected_blocked") == 1
        counted = samples(server)
        assert counted['sluice_burst_warnings_total{rule="api"}'] == 1
        assert counted['sluice_burst_blocks_total{rule="api"}'] == 1


def test_a_guard_is_not_told_of_a_window_that_is_over(running):
    """So a burst that has ended warns no caller of the next one."""
    running.flush()
    with running.client() as db, Server(on(
            running, guarded("window: 1s, threshold: 300, penalty: 1h"))) as server:
        for _ in range(2):
            flood(server, asking(of("u", "/api")), AT_ONCE)
            time.sleep(1)
        state = db.hgetall("rl:-:api~guard:{u}")
        assert int(state["count"]) <= AT_ONCE


def count_script():
    """What Redis is sent, put together by hand."""
    store, algo = ROOT / "src" / "store" / "redis" / "lua", ROOT / "src" / "algo"
    functions = (algo / "guard.lua").read_text().partition("---- function ----\n")[2]
    functions = functions.replace("--@foreign\n", (store / "foreign.lua").read_text())
    return ((store / "frame.lua").read_text() +
            (store / "count.lua").read_text().replace("--@functions\n", functions))


def test_a_sum_and_a_request_leave_what_so_many_requests_leave(running, db, tmp_path):
    """At any time, of a trace that stays within windows, goes on to later ones, and steps back."""
    window, penalty, threshold = 1_000_000, 3_000_000, 20
    rng, now = random.Random(SEED), 1_700_000_000_000_000
    path = tmp_path / "rules.yaml"
    guard = f"burst_guard: {{ window: 1s, threshold: {threshold}, penalty: 3s }}"
    path.write_text(f"{PATIENT}rules:\n  - {{ name: api, per: user, limit: 100000000/1h, {guard} }}\n")
    script = db.register_script(count_script())
    db.flushall()

    def play(user, times):
        line = json.dumps({"at_us": now, "user": user}) + "\n"
        done = run("replay", "-c", path, "--store", running.url(), stdin=line * times)
        assert done.code == 0, done.err

    def state(user):
        return db.hgetall(f"rl:-:api~guard:{{{user}}}")

    print(f"SLUICE_SEED={SEED}")
    for _ in range(40):
        times = rng.choice((1, 2, 5, threshold - 1, threshold, 3 * threshold))
        now += rng.choice((0, 1, window // 3, window, penalty, 7 * penalty, -window // 2))
        play("each", times + 1)
        start = now - now % window
        script(keys=["rl:-:api~guard:{sum}"], args=[
            now, "9" * 16, f"{window}/{penalty}/{threshold}", window, penalty, threshold, start,
            times])
        play("sum", 1)
        assert state("sum") == state("each"), (now, times)


@pytest.mark.parametrize("what", ["a window that is over", "another guard", "a block"])
def test_a_sum_that_comes_too_late_changes_nothing(db, what):
    now, key = 1_700_000_000_500_000, "rl:-:api~guard:{u}"
    script = db.register_script(count_script())
    stored = {"guard": "1000000/3000000/20", "window": 1_700_000_000_000_000, "count": 3,
              "warned_until": 0, "blocked_until": now + 1 if what == "a block" else 0}
    if what == "another guard":
        stored["guard"] = "1000000/3000000/21"
    db.hset(key, mapping=stored)
    db.expire(key, 100)
    start = stored["window"] - 1_000_000 * (what == "a window that is over")
    said = script(keys=[key], args=[now, "9" * 16, "1000000/3000000/20", 1_000_000, 3_000_000, 20,
                                    start, 50])
    assert said == [now, 0]
    assert db.hgetall(key) == {name: str(value) for name, value in stored.items()}
