"""What the header fields of an answer say: the numbers of the decision, and nothing where there
is none."""

import time

import pytest

from serving import Server
from structured_fields import items

RULES = """\
tiers: { pro: { scale: 10 }, admin: { unlimited: true } }
exempt: { users: [root] }
rules:
  - { name: api, resource: /api/*, per: user, algorithm: fixed_window, limit: 3/365d }
  - { name: tried, resource: /api/*, per: user, algorithm: fixed_window, limit: 1/365d,
      shadow: true }
  - { name: bucket, resource: /bucket, per: user, algorithm: token_bucket, capacity: 2,
      refill_rate: 0.01, burst_allowance: 1.5 }
  - { name: log, resource: /log, per: user, algorithm: sliding_window_log, limit: 3/90m }
  - { name: counter, resource: /counter, per: user, limit: 3/365d }
  - { name: queue, resource: /queue, per: user, algorithm: leaky_bucket, capacity: 3,
      refill_rate: 0.011 }
  - { name: short, resource: /short, per: user, algorithm: fixed_window, limit: 3/999ms }
  - { name: half, resource: /half, per: user, algorithm: fixed_window, limit: 3/1001ms }
  - { name: missing, resource: /missing, per: user, limit: 5/m, on_missing: deny }
  - { name: A.b_c-1, resource: /name, per: user, algorithm: fixed_window, limit: 1/365d }
"""
X_FIELDS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
FIELDS = (*X_FIELDS, "RateLimit", "RateLimit-Policy", "Retry-After")
SECOND = 1_000_000


@pytest.fixture(name="server", scope="module")
def running():
    with Server(RULES) as server:
        yield server


def api(user, **more):
    return {"resource": "/api/x", "user": user, **more}


def fields_of(answer):
    return {name for name in FIELDS if name in answer.headers}


def only_item(field):
    """The one item of a field and its parameters; all of them whole numbers."""
    (item,) = items(field)
    assert isinstance(item.value, str)
    assert all(type(value) is int and value >= 0 for value in item.parameters.values())
    return item.value, item.parameters


# ---- fields ----------------------------------------------------------------------


@pytest.mark.parametrize("request_", [
    api("root"), api("x", tier="admin"), {"nobody": "x"}, {}, [api("batch")],
    [api("batch", cost=99)],
])
def test_where_no_rule_decided_and_on_batches_there_are_no_fields(server, request_):
    answer = server.check(request_)
    assert answer.status == 200
    assert fields_of(answer) == set()


def test_the_three_x_fields_are_the_decisions_numbers(server):
    for _ in range(5):
        answer = server.check(api("x-fields"))
        assert [answer.headers[name] for name in X_FIELDS] == \
            [str(answer.json[name]) for name in ("limit", "remaining", "reset_at")]


def test_retry_after_is_there_when_denied_and_only_then(server):
    for _ in range(5):
        answer = server.check(api("retry"))
        if answer.json["allowed"]:
            assert "Retry-After" not in answer.headers
        else:
            assert answer.headers["Retry-After"] == str(answer.json["retry_after"])


@pytest.mark.parametrize("chosen, fields", [
    ("[]", set()),
    ("[x-ratelimit]", set(X_FIELDS)),
    ("[ratelimit]", {"RateLimit", "RateLimit-Policy"}),
    ("[retry-after]", {"Retry-After"}),
    ("[x-ratelimit, retry-after]", {*X_FIELDS, "Retry-After"}),
])
def test_the_rules_choose_the_fields(chosen, fields):
    rules = "rules: [{ name: a, per: user, algorithm: fixed_window, limit: 1/365d }]\n"
    with Server(f"headers: {chosen}\n{rules}") as server:
        assert fields_of(server.check({"user": "u"})) == fields - {"Retry-After"}
        for path in ("/v1/check", "/v1/reserve"):
            answer = server.ask("POST", path, {"user": "u"})
            assert answer.status == 429
            assert fields_of(answer) == fields


# ---- RateLimit and RateLimit-Policy ------------------------------------------------


@pytest.mark.parametrize("resource, rule, limit, window", [
    ("/api/x", "api", 3, 365 * 24 * 3600),
    ("/bucket", "bucket", 3, 300),  # what it takes to fill
    ("/log", "log", 3, 90 * 60),
    ("/counter", "counter", 3, 365 * 24 * 3600),
    ("/queue", "queue", 3, 273),  # of 272.72…
    ("/half", "half", 3, 2),
    ("/short", "short", 3, None),
    ("/name", "A.b_c-1", 1, 365 * 24 * 3600),
])
def test_ratelimit_and_its_policy_are_the_decisions_numbers(server, resource, rule, limit, window):
    answers = []
    for _ in range(4):
        before_us = time.time_ns() // 1000
        answers.append(server.check({"resource": resource, "user": "policy"}))
        after_us = time.time_ns() // 1000
        answer, decision = answers[-1], answers[-1].json
        policy = {"q": limit} if window is None else {"q": limit, "w": window}
        assert only_item(answer.headers["RateLimit-Policy"]) == (rule, policy)
        assert list(policy) == ["q", "w"][:len(policy)]
        name, figures = only_item(answer.headers["RateLimit"])
        assert (name, list(figures), figures["r"]) == (rule, ["r", "t"], decision["remaining"])
        if not decision["allowed"]:
            assert figures["t"] == decision["retry_after"] == int(answer.headers["Retry-After"])
        else:
            earliest = -(-(decision["reset_at_us"] - after_us) // SECOND)
            latest = -(-(decision["reset_at_us"] - before_us) // SECOND)
            assert earliest <= figures["t"] <= latest
    if window is None or window > 60:  # else a window may have ended on the way
        assert answers[0].json["allowed"] and answers[0].json["limit"] == limit


def test_a_tier_has_a_policy_of_its_own(server):
    answer = server.check(api("policy", tier="pro"))
    assert only_item(answer.headers["RateLimit-Policy"])[1]["q"] == 30


def test_a_request_that_can_never_pass_is_not_told_when(server):
    answer = server.check(api("never", cost=4))
    assert (answer.status, answer.json["retry_after"]) == (429, -1)
    assert fields_of(answer) == set(FIELDS) - {"Retry-After"}
    assert only_item(answer.headers["RateLimit"]) == ("api", {"r": 3})


def test_a_decision_without_a_reset_has_none_in_its_fields(server):
    answer = server.check({"resource": "/missing"})
    assert (answer.status, answer.json["reset_at"]) == (429, None)
    assert answer.headers["X-RateLimit-Limit"] == "5"
    assert answer.headers["X-RateLimit-Reset"] is None
    assert only_item(answer.headers["RateLimit"]) == ("missing", {"r": 0})
    assert only_item(answer.headers["RateLimit-Policy"]) == ("missing", {"q": 5, "w": 60})
