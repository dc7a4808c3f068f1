"""Redis fails in every way there is (redis_faults.py), and one driver goes through all of them.

While it lasts every request is decided in time, by the policy of its rule, and says so. When it is
over the counts are Redis' again, and what a policy answered was not counted behind our back.
"""

import re
import statistics
import time

import pytest

from program import run
from redis_requests import Crowd, on, one, reasons
from redis_faults import FAULTS, SLOW_S, World
from serving import Server
from watching import is_sanitized, resident_bytes, wait_until

LIMIT, SHARE, BEFORE, MEANWHILE = 10, 0.5, 3, 2
DEADLINE = "store_deadline: 1500ms\n"  # a healthy Redis on a busy machine must not miss it
BOUND_S = SLOW_S / 10  # of a whole round of requests, together: none waited for the wire
ROUNDS, CONNECTIONS, EACH = 8, 8, 16
GROWTH_BYTES = 8 << 20
POLICIES = ("allow", "deny", "local")
LATE = "store_unavailable"


def rules(store, deadline=DEADLINE):
    """A rule for each policy; `deny` is the file's."""
    rows = "".join(one(policy, "fixed_window", LIMIT,
                       "" if policy == "deny" else f", on_store_failure: {policy}")
                   for policy in POLICIES)
    more = f"workers: 2\n{deadline}on_store_failure: deny\nlocal_share: {SHARE}\n"
    return on(store, rows, more)


def asked(policy, user, **more):
    return {"resource": f"/{policy}", "user": user, **more}


class Ledger:
    """What a user was told, by policy: how often `ok`, how often by the policy."""

    def __init__(self):
        self.counted = dict.fromkeys(POLICIES, 0)
        self.unsure = dict.fromkeys(POLICIES, 0)

    def add(self, policy, decision):
        if decision["reason"] == LATE:
            self.unsure[policy] += 1
        elif decision["allowed"]:
            self.counted[policy] += 1


def is_by_policy(policy, answer):
    """An answer as the policy gives it, which no client can take for a refusal of Redis'."""
    decision = answer.json
    assert decision["reason"] == LATE, answer.body
    if policy == "allow":
        assert (answer.status, decision["allowed"], decision["remaining"]) == (200, True, -1)
    elif policy == "deny":
        assert (answer.status, decision["allowed"]) == (503, False)
    else:
        assert answer.status == (200 if decision["allowed"] else 429)
        assert decision["limit"] == LIMIT * SHARE
        assert 0 <= decision["remaining"] < LIMIT * SHARE
    assert decision["rule"] == (None if policy == "allow" else policy)


# ---- the phases ------------------------------------------------------------------------------


def counts_before(server, ledger):
    """A few requests while all is well."""
    for policy in POLICIES:
        for _ in range(BEFORE):
            answer = server.check(asked(policy, "u"))
            assert answer.json["reason"] == "ok", answer.body
            ledger.add(policy, answer.json)


def asks_meanwhile(server, fault, ledger):
    """The same users, one by one."""
    for policy in POLICIES:
        for _ in range(MEANWHILE):
            start = time.monotonic()
            answer = server.check(asked(policy, "u"))
            assert time.monotonic() - start < BOUND_S
            ledger.add(policy, answer.json)
            if not fault.sometimes or answer.json["reason"] == LATE:
                is_by_policy(policy, answer)


def storms(server, fault):
    """Many users at once, pipelined, again and again; memory stays what it is."""
    with Crowd(CONNECTIONS, server) as crowd:
        before = 0
        for number in range(ROUNDS):
            start = time.monotonic()
            answers = crowd.ask(*(asked(policy, f"storm-{number}") for policy in POLICIES),
                                each=EACH)
            assert time.monotonic() - start < BOUND_S
            for place, answer in enumerate(answers):
                if not fault.sometimes or answer.json["reason"] == LATE:
                    is_by_policy(POLICIES[place % len(POLICIES)], answer)
            if not fault.sometimes:  # the local table counts, for both workers
                assert sum(answer.json["allowed"] for answer in answers[2::3]) == LIMIT * SHARE
            before = before or resident_bytes(server.pid)
        if not is_sanitized():
            assert resident_bytes(server.pid) - before < GROWTH_BYTES


def check_answers_too(world, tmp_path):
    """`sluice check` on the same store: in time, by the policy, and 2 is no refusal."""
    path = tmp_path / "check.yaml"
    path.write_text(rules(world.url), encoding="utf-8")
    for policy, code in (("deny", 2), ("allow", 0)):
        start = time.monotonic()
        done = run("check", "-c", path, "--resource", f"/{policy}", "--user", "checks", "--json")
        assert time.monotonic() - start < BOUND_S
        assert (done.code, done.lines[0]["reason"]) == (code, LATE), done.err
        assert done.err.startswith("sluice: "), done.err


def recovers(server):
    """Every worker: all requests are counted by Redis again."""
    def is_well():
        with Crowd(CONNECTIONS, server) as crowd:
            answers = crowd.ask(*(asked(policy, f"after-{time.monotonic_ns()}")
                                  for policy in POLICIES))
        return reasons(answers) == {"ok"}

    wait_until(is_well, "it recovers")
    assert server.ask("GET", "/healthz").status == 200


def has_said_more(server, words):
    """Asks once more: the server says nothing without calls, nor where the last failure and the first
    success came in one look of its."""
    server.check(asked(POLICIES[0], f"again-{time.monotonic_ns()}"))
    return len(said(server)) > words


def peek_in_time(server, policy):
    """None: a busy machine missed the deadline."""
    decision = server.check(asked(policy, "u", peek=True)).json
    return None if decision["reason"] == LATE else decision


def is_what_was_counted(world, server, fault, ledger):
    """Of users whom the policy answered, Redis knows what it has said itself."""
    for policy in POLICIES:
        peeked = wait_until(lambda policy=policy: peek_in_time(server, policy), "Redis answers")
        used = LIMIT - peeked["remaining"]
        least = ledger.counted[policy] if fault.kept else 0
        most = least if fault.exact else least + ledger.unsure[policy]
        assert least <= used <= most, (policy, used, ledger.counted, ledger.unsure)
    with world.redis.client() as client:
        if fault.exact:
            assert client.keys("*storm*") == [] == client.keys("*checks*")
    assert world.redis.keys_without_ttl() == []


def said(server):
    """What it has said of its store, a line each."""
    return [line for line in server.stderr.splitlines() if re.search(r"(?i)redis|store", line)]


# ---- the table -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAULTS)
def test_redis_fails_and_the_policies_decide(name, tmp_path):
    fault, ledger = FAULTS[name], Ledger()
    with fault.world() as world:
        if fault.absent:
            fault.begin(world)
        with Server(rules(world.url)) as server:
            if not fault.absent:
                counts_before(server, ledger)
                assert said(server) == []
                fault.begin(world)
            asks_meanwhile(server, fault, ledger)
            storms(server, fault)
            if not fault.sometimes:
                check_answers_too(world, tmp_path)
            wait_until(lambda: said(server), "it says that its store fails")
            words = len(said(server))
            fault.end(world)
            recovers(server)
            wait_until(lambda: has_said_more(server, words), "it says that its store is back")
            assert len(said(server)) < 40, "not a line for every request"
            is_what_was_counted(world, server, fault, ledger)


# ---- what is no failure ----------------------------------------------------------------------


def test_scripts_that_are_forgotten_are_no_failure():
    with World() as world, Server(rules(world.url)) as server, Crowd(8, server) as crowd:
        for number in range(5):
            world.tell("SCRIPT", "FLUSH", "SYNC")
            answers = crowd.ask(*(asked(policy, f"u{number}") for policy in POLICIES), each=2)
            assert reasons(answers) <= {"ok", "rate_limit_exceeded"}
            for place, _ in enumerate(POLICIES):
                mine = answers[place::len(POLICIES)]
                assert sum(answer.json["allowed"] for answer in mine) == LIMIT
        assert said(server) == []
        assert world.redis.keys_without_ttl() == []


def test_a_restart_with_nothing_begins_anew():
    with World() as world, Server(rules(world.url)) as server:
        def one_more():
            return server.check(asked("deny", "u")).json["remaining"]

        for _ in range(3):
            wait_until(lambda: one_more() == LIMIT - 1, "who was denied is not for a second")
            assert [one_more() for _ in range(LIMIT - 1)] == list(reversed(range(LIMIT - 1)))
            assert server.check(asked("deny", "u")).status == 429
            world.redis.restart()
            recovers(server)
        assert world.redis.keys_without_ttl() == []


def test_connections_that_are_closed_are_made_again():
    """What is asked right then may fail, but not for long."""
    with World() as world, Server(rules(world.url)) as server:
        for _ in range(5):
            world.disconnect()
            recovers(server)
        connections = world.tell("CLIENT", "LIST", "TYPE", "normal")
        assert len(connections.splitlines()) < 20


# ---- what belongs to it ----------------------------------------------------------------------


def test_the_default_deadline_is_kept_while_redis_is_stopped():
    """20 ms, before the breaker opens and after: far less than a second, if not to the letter. Of
    many it is the one in the middle, for a busy machine may hold up any of them."""
    with World() as world, Server(rules(world.url, deadline="")) as server:
        recovers(server)
        world.redis.stop()
        took_s = []
        for _ in range(20):
            for policy in POLICIES:
                start = time.monotonic()
                is_by_policy(policy, server.check(asked(policy, f"u{start}")))
                took_s.append(time.monotonic() - start)
        assert statistics.median(took_s) < 1, took_s
        world.redis.cont()
        recovers(server)


def test_it_is_not_back_before_it_is():
    """A request now and then, each of them answered by the policy: no word of a recovery."""
    with World() as world, Server(rules(world.url)) as server:
        recovers(server)
        world.redis.stop()
        for _ in range(8):
            assert server.check(asked("deny", "u")).status == 503
            time.sleep(0.5)  # it is not said at once, if it is
        assert said(server)
        assert not [line for line in said(server) if "back" in line]
        world.redis.cont()
        recovers(server)
        wait_until(lambda: "back" in said(server)[-1], "it says that its store is back")


@pytest.mark.parametrize("name", ["killed", "stopped", "held back on the way", "busy"])
def test_a_server_ends_while_its_store_fails(name):
    fault = FAULTS[name]
    with fault.world() as world:
        with Server(rules(world.url)) as server:
            fault.begin(world)
            server.check(asked("deny", "u"))
            start = time.monotonic()
            assert server.stop() == 0, server.stderr
            assert time.monotonic() - start < BOUND_S
        fault.end(world)


def test_rules_with_other_policies_on_one_request_are_as_strict_as_the_strictest():
    rows = "".join(one(policy, "fixed_window", LIMIT, f", on_store_failure: {policy}",
                       resource="/all") for policy in POLICIES)
    with World() as world, Server(on(world.url, rows, f"{DEADLINE}local_share: 0.5\n")) as server:
        world.redis.kill()
        answer = server.check({"resource": "/all", "user": "u"})
        assert (answer.status, answer.json["rule"]) == (503, "deny")


def metric(server, name):
    """Of /metrics: {labels: value}."""
    text = server.ask("GET", "/metrics").body.decode()
    return {found[1]: float(found[2]) for found in
            re.finditer(rf"^{name}(\{{[^}}]*\}})? (\S+)$", text, re.M)}


def test_metrics_tell_of_calls_and_of_the_breaker():
    def breakers(state):
        return metric(server, "sluice_store_breaker").get(f'{{state="{state}"}}')

    with World() as world, Server(rules(world.url)) as server:
        recovers(server)
        calls = metric(server, "sluice_store_calls_total")
        assert sum(calls.values()) >= CONNECTIONS * len(POLICIES)
        assert breakers("closed") >= 1 and not breakers("open")
        world.redis.kill()
        with Crowd(CONNECTIONS, server) as crowd:
            wait_until(lambda: crowd.ask(asked("allow", "u")) and breakers("open"), "it opens")
        failed = metric(server, "sluice_store_calls_total")
        assert sum(failed.values()) > sum(calls.values())
        world.redis.start()
        recovers(server)
        wait_until(lambda: not breakers("open") and not breakers("half_open"), "it closes")
