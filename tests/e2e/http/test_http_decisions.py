"""Decisions over HTTP: the same as `sluice check` gives, with the status and the fields that say
so to a client."""

import json
import subprocess
import threading
import time

import pytest

from messages import HEALTH, post
from program import run
from serving import TIMEOUT_S, Server

RULES = """\
max_wait: 10s
tiers: { pro: { scale: 10 }, admin: { unlimited: true } }
exempt: { users: [root] }
rules:
  - { name: api, resource: /api/*, per: user, algorithm: fixed_window, limit: 3/365d }
  - { name: ip, per: ip, algorithm: fixed_window, limit: 100/365d }
  - { name: tried, resource: /api/*, per: user, algorithm: fixed_window, limit: 1/365d,
      shadow: true }
  - { name: trusted, resource: /trusted, per: user, algorithm: fixed_window, limit: 100/365d,
      adaptive: true }
  - { name: queue, resource: /queue, per: user, algorithm: leaky_bucket, capacity: 50,
      refill_rate: 8 }
  - { name: slow, resource: /slow, per: user, algorithm: leaky_bucket, capacity: 50,
      refill_rate: 0.25 }
  - { name: missing, resource: /missing, per: user, limit: 5/m, on_missing: deny }
  - { name: load, resource: /load, per: user, algorithm: fixed_window, limit: 500/365d }
"""

MEMBERS = ["allowed", "rule", "algorithm", "reason", "limit", "remaining", "reset_at_us",
           "retry_after_us", "delay_us", "reset_at", "retry_after"]
ERRORS = ["error", "error_description"]


@pytest.fixture(name="server", scope="module")
def running():
    with Server(RULES) as server:
        yield server


def api(user, **more):
    return {"resource": "/api/x", "user": user, **more}


# ---- the answer ------------------------------------------------------------------


@pytest.mark.parametrize("request_, options", [
    (api("same"), ("--resource", "/api/x", "--user", "same")),
    (api("tiered", tier="pro"), ("--resource", "/api/x", "--user", "tiered", "--tier", "pro")),
    (api("never", cost=4), ("--resource", "/api/x", "--user", "never", "--cost", "4")),
    (api("root"), ("--resource", "/api/x", "--user", "root")),
    ({"resource": "/missing"}, ("--resource", "/missing")),
    ({"nobody": "x"}, ("--attr", "nobody=x")),
    ({"ip": "192.0.2.77"}, ("--ip", "192.0.2.77")),
    (api("explained", ip="192.0.2.78", explain=True),
     ("--resource", "/api/x", "--user", "explained", "--ip", "192.0.2.78", "--explain")),
])
def test_a_decision_is_the_one_that_check_prints(server, tmp_path, request_, options):
    rules = tmp_path / "rules.yaml"
    rules.write_text(RULES, encoding="utf-8")
    printed = run("check", "-c", rules, "--json", "--times", "5", *options).lines
    for line in printed:
        answer = server.check(request_)
        decision = answer.json
        assert answer.headers["Content-Type"] == "application/json"
        assert list(decision) == (list(line) if line["allowed"] else [*ERRORS, *line])
        for row, mine in zip((line, *line.get("rules", ())),
                             (decision, *decision.get("rules", ()))):
            for name in set(row) - {"rules"}:
                if name.startswith(("retry_after", "reset_at")) and mine[name] not in (None, 0, -1):
                    continue  # depend on when
                assert mine[name] == row[name], name
        assert answer.status == (200 if line["allowed"] else 429)


def test_a_decision_is_printed_as_check_prints_it(server):
    """Byte for byte the layout of `check --json`: one line, a blank behind `:` and `,`."""
    answer = server.check(api("layout", explain=True))
    assert answer.body.rstrip(b"\n") == json.dumps(answer.json).encode()


def test_allowed_until_the_limit_then_429(server):
    answers = [server.check(api("limit")) for _ in range(5)]
    assert [answer.status for answer in answers] == [200, 200, 200, 429, 429]
    assert [answer.json["remaining"] for answer in answers] == [2, 1, 0, 0, 0]
    assert list(answers[0].json) == MEMBERS
    denied = answers[3].json
    assert list(denied) == [*ERRORS, *MEMBERS]
    assert denied["error"] == denied["reason"] == "rate_limit_exceeded"
    assert denied["retry_after"] > 0
    assert denied["error_description"] == \
        f"Too many requests. Please retry after {denied['retry_after']} seconds."


def test_what_can_never_pass_is_429_and_does_not_ask_to_come_back(server):
    answer = server.check(api("never", cost=4))
    assert (answer.status, answer.json["error"]) == (429, "cost_exceeds_limit")
    assert answer.json["error_description"] == \
        "This request can never pass: its cost exceeds the limit."
    assert answer.json["retry_after"] == -1
    assert "Retry-After" not in answer.headers
    assert server.check(api("never", peek=True)).json["remaining"] == 3


def test_a_request_without_what_a_rule_counts_by_is_told(server):
    answer = server.check({"resource": "/missing"})
    assert (answer.status, answer.json["error"]) == (429, "missing_identity")
    assert answer.json["error_description"] == \
        "This request lacks an attribute that the rule counts by."
    assert "Retry-After" not in answer.headers


def test_a_peek_takes_nothing(server):
    for _ in range(5):
        answer = server.check(api("peek", peek=True))
        assert (answer.status, answer.json["remaining"]) == (200, 3)
    server.check(api("peek", cost=3))
    answer = server.check(api("peek", peek=True))
    assert (answer.status, answer.json["error"]) == (429, "rate_limit_exceeded")


def test_explain_lists_every_rule_that_matched(server):
    server.check(api("explain"))
    decision = server.check(api("explain", ip="192.0.2.1", explain=True)).json
    assert list(decision) == [*MEMBERS, "rules"]
    rows = decision["rules"]
    assert [row["rule"] for row in rows] == ["api", "ip", "tried"]
    assert [row["allowed"] for row in rows] == [True, True, False]
    assert [row["remaining"] for row in rows] == [1, 99, 0]
    assert decision["reason"] == "shadow"
    assert server.check({"nobody": "x", "explain": True}).json["rules"] == []


@pytest.mark.parametrize("request_, limit", [
    (api("t"), 3), (api("t", tier="pro"), 30), (api("t", tier="undeclared"), 3),
    ({"resource": "/trusted", "user": "t"}, 100),
    ({"resource": "/trusted", "user": "t", "trust_score": 0.5}, 150),
    ({"resource": "/trusted", "user": "t", "trust_score": 1}, 200),
])
def test_tier_and_trust_reach_the_limit(server, request_, limit):
    assert server.check({**request_, "peek": True}).json["limit"] == limit


def test_the_address_is_the_one_in_the_body(server):
    with_headers = server.ask("POST", "/v1/check", {"peek": True},
                              {"X-Forwarded-For": "192.0.2.9", "Forwarded": "for=192.0.2.9"})
    assert with_headers.json["reason"] == "no_rule"


def test_a_shadow_rule_never_denies(server):
    answers = [server.check(api("shadow")) for _ in range(3)]
    assert [answer.status for answer in answers] == [200] * 3
    assert [answer.json["reason"] for answer in answers] == ["ok", "shadow", "shadow"]
    assert [answer.json["limit"] for answer in answers] == [3] * 3


# ---- batches ---------------------------------------------------------------------


def test_a_batch_is_decided_one_by_one_in_order(server):
    answer = server.check([api("b1"), api("b2", cost=3), api("b1"), api("b2"), api("b1", cost=9),
                           api("b1", peek=True), {}, api("root"), api("b1", explain=True)])
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/json"
    decisions = answer.json
    assert [one["allowed"] for one in decisions] == [True] * 3 + [False] * 2 + [True] * 4
    assert [one["remaining"] for one in decisions] == [2, 0, 1, 0, 1, 1, -1, -1, 0]
    assert [one.get("error") for one in decisions] == \
        [None] * 3 + ["rate_limit_exceeded", "cost_exceeds_limit"] + [None] * 4
    assert list(decisions[3]) == [*ERRORS, *MEMBERS]
    assert list(decisions[0]) == MEMBERS
    assert [row["rule"] for row in decisions[8]["rules"]] == ["api", "tried"]


# ---- waiting ---------------------------------------------------------------------


SECOND = 8  # of cost, at that rule's rate


def queue(user, **more):
    return {"resource": "/queue", "user": user, **more}


def timed(ask):
    """What it gave, and how long it took by this side's clock, in microseconds."""
    start = time.monotonic_ns()
    answer = ask()
    return answer, (time.monotonic_ns() - start) / 1000


def test_a_queued_request_that_waits_is_answered_when_its_turn_has_come(server):
    server.check(queue("wait", cost=SECOND))
    for at_least_us in (1, 0, 0):
        answer, took_us = timed(lambda: server.check(queue("wait", wait=True)))
        assert (answer.status, answer.json["allowed"]) == (200, True)
        assert at_least_us <= answer.json["delay_us"] <= took_us


def test_a_batch_waits_for_its_longest(server):
    requests = [queue("batch"), queue("batch", wait=True), queue("batch", wait=True), {}]
    answer, took_us = timed(lambda: server.check(requests))
    delays = [one["delay_us"] for one in answer.json]
    assert delays[0] == 0 < delays[1] < delays[2] <= took_us


def test_no_other_waits_with_it(server):
    slow = {"resource": "/slow", "user": "held", "wait": True}
    assert server.check(slow).json["delay_us"] == 0
    with server.raw() as held:
        held.send(post(json.dumps(slow).encode()))
        end = time.monotonic() + TIMEOUT_S
        while server.check({**slow, "peek": True, "wait": False}).json["remaining"] != 48:
            assert time.monotonic() < end  # the held one is not decided yet
        del slow["wait"]
        assert server.check(slow).json["delay_us"] > 4_000_000
        held.socket.setblocking(False)
        with pytest.raises(BlockingIOError):
            held.socket.recv(1)


def test_answers_stay_in_order_behind_one_that_waits(server):
    server.check(queue("order", cost=SECOND))
    message = post(json.dumps(queue("order", wait=True)).encode())
    with server.raw() as raw:
        raw.send(message + HEALTH + message)
        assert raw.response().json["delay_us"] > 0
        assert raw.response().body == b'{"status": "ok"}'
        assert raw.response().json["allowed"]


def test_a_client_that_ends_its_side_still_gets_the_answer_it_waits_for(server):
    server.check(queue("half", cost=SECOND))
    with server.raw() as raw:
        raw.send(post(json.dumps(queue("half", wait=True)).encode()))
        raw.finish()
        assert raw.response().json["delay_us"] > 0
        raw.ended()


def test_a_longer_wait_than_max_wait_is_a_denial_uncharged(server):
    slow = {"resource": "/slow", "user": "long"}
    for _ in range(3):
        assert server.check(slow).status == 200
    before = server.check({**slow, "peek": True}).json["remaining"]
    assert before == 47
    answer = server.check({**slow, "wait": True})
    assert (answer.status, answer.json["allowed"]) == (429, False)
    assert answer.json["error"] == "rate_limit_exceeded"
    assert answer.json["retry_after_us"] > 0
    assert server.check({**slow, "peek": True}).json["remaining"] == before
    assert server.check(slow).json["allowed"]  # a request that does not wait may queue up


# ---- many at once ----------------------------------------------------------------


def flood(servers, threads=8, each=200):
    """How many of threads × each requests were allowed, over the servers in turn."""
    allowed, failures = [], []

    def ask(number):
        server = servers[number % len(servers)]
        connection = server.connection()
        try:
            answers = [server.check({"resource": "/load", "user": "flood"}, connection)
                       for _ in range(each)]
            assert {answer.status for answer in answers} <= {200, 429}
            allowed.append(sum(answer.json["allowed"] for answer in answers))
        except Exception as failure:  # pylint: disable=broad-except
            failures.append(failure)
        finally:
            connection.close()

    started = [threading.Thread(target=ask, args=(number,)) for number in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    assert not failures
    return sum(allowed)


def test_eight_clients_get_exactly_the_limit(server):
    assert flood([server]) == 500


def test_two_servers_on_one_table_share_the_counts_exactly(tmp_path):
    rules = f"store: memory:limits.slu?size=1M\n{RULES}"
    with Server(rules, folder=tmp_path) as one, Server(rules, folder=tmp_path) as two:
        assert flood([one, two]) == 500
        for server in (one, two):
            assert server.check({"resource": "/load", "user": "flood"}).status == 429


def test_counts_and_reservations_survive_a_kill(tmp_path):
    rules = f"store: memory:limits.slu?size=1M\n{RULES}"
    with Server(rules, folder=tmp_path) as server:
        server.check(api("survivor", cost=2))
        reserved = server.ask("POST", "/v1/reserve", {"resource": "/load", "user": "s", "cost": 50})
        server.kill()
    with Server(rules, folder=tmp_path) as server:
        assert [server.check(api("survivor")).status for _ in range(2)] == [200, 429]
        settled = server.ask("POST", "/v1/commit",
                             {"reservation": reserved.json["reservation"], "cost": 20})
        assert settled.status == 200
        peek = server.check({"resource": "/load", "user": "s", "peek": True})
        assert peek.json["remaining"] == 480


# ---- a Unix socket ----------------------------------------------------------------


def test_a_unix_socket_is_asked_alike(tmp_path_factory):
    folder = tmp_path_factory.mktemp("s")  # short: a socket's path has at most 107 bytes
    path = folder / "h"
    with Server(RULES, listen={"http": f"unix:{path}"}, folder=folder) as server:
        assert server.addresses == [f"unix:{path}"]
        printed = [curl(path, json.dumps(api("unix"))) for _ in range(4)]
        assert [status for _, status in printed] == [200, 200, 200, 429]
        assert [decision["remaining"] for decision, _ in printed] == [2, 1, 0, 0]
    assert not path.exists()


def curl(path, body):
    done = subprocess.run(
        ["curl", "-sS", "--unix-socket", path, "-H", "Content-Type: application/json", "-d", body,
         "-w", "\n%{http_code}", "http://localhost/v1/check"],
        capture_output=True, timeout=TIMEOUT_S, check=True)
    decision, _, status = done.stdout.decode().rpartition("\n")
    return json.loads(decision), int(status)
