"""What is known of a user: changed by name, kept, and in force in decisions."""

import time

import pytest

from admin_api import Caller, stopped
from clocks import DAY
from serving import Server

RULES = """
workers: 2
tiers: { free: {}, pro: { scale: 10 }, named: { scale: 2 }, full: { unlimited: true } }
rules:
  - { name: fixed, resource: /fixed, per: user, algorithm: fixed_window, limit: 10/365d }
  - { name: log, resource: /log, per: user, algorithm: sliding_window_log, limit: 10/365d }
  - { name: counter, resource: /counter, per: user, limit: 10/365d }
  - { name: token, resource: /token, per: user, algorithm: token_bucket, capacity: 10,
      refill_rate: 0.001 }
  - { name: leaky, resource: /leaky, per: user, algorithm: leaky_bucket, capacity: 10,
      refill_rate: 0.001 }
  - { name: numbered, resource: /numbered, per: user, algorithm: fixed_window, limit: 10/365d,
      tiers: { named: { capacity: 7 } } }
  - { name: adaptive, resource: /adaptive, per: user, algorithm: fixed_window, limit: 10/365d,
      adaptive: true }
"""
ALGORITHMS = ["fixed", "log", "counter", "token", "leaky"]
BUCKETS = ["token", "leaky"]


@pytest.fixture(name="admin")
def admin_of_a_server():
    with Server(RULES) as server:
        yield Caller(server)


@pytest.fixture(name="steady", scope="module")
def admin_of_a_server_that_stays_as_it_is():
    with Server(RULES) as server:
        yield Caller(server)


def limit_of(admin, rule, user="u", **more):
    body = {"user": user, "resource": f"/{rule}", "peek": True, **more}
    return admin.post("/v1/check", body, (200, 429)).json["limit"]


# ---- the record -------------------------------------------------------------------------


def test_an_unknown_user_is_answered(admin):
    shown = admin.get("/v1/users/u?tenant=acme").json
    etag = shown.pop("etag")
    assert etag == admin.get("/v1/users/u?tenant=acme").headers["etag"]
    nothing = {"score": 0, "age": {"days": 0, "value": 0}, "email": {"verified": False, "value": 0},
               "success": {"calls": 0, "successes": 0, "value": 0},
               "violations": {"count": 0, "value": 0}}
    assert shown == {"user": "u", "tenant": "acme", "known": False, "created_at": None,
                     "email_verified": None, "tier": None, "limits": {}, "trust": nothing}
    admin.delete("/v1/users/u?tenant=acme", 404)


def test_what_is_not_given_stays_and_null_takes_it_away(admin):
    def record():
        shown = admin.get("/v1/users/u").json
        return [shown[key] for key in ("created_at", "email_verified", "tier", "limits")]

    whole = [1735689600, True, "pro", {"fixed": {"capacity": 5}}]
    admin.put("/v1/users/u", {"created_at": whole[0]}, 201)
    admin.put("/v1/users/u", {"email_verified": True}, 200)
    admin.put("/v1/users/u", {"tier": "pro", "limits": whole[3]}, 200)
    assert record() == whole
    admin.put("/v1/users/u", {}, 200)
    assert record() == whole
    for place, name in enumerate(("created_at", "email_verified", "tier", "limits")):
        admin.put("/v1/users/u", {name: None}, 200)
        whole[place] = {} if name == "limits" else None
        assert record() == whole
    assert admin.get("/v1/users/u").json["known"] is True
    assert admin.delete("/v1/users/u").json == {"user": "u", "tenant": None, "deleted": True}
    assert admin.get("/v1/users/u").json["known"] is False


@pytest.mark.parametrize("given, kept", [
    (0, 0), (1735689600, 1735689600), (1735689600.25, 1735689600.25),
    ("2025-01-01T00:00:00Z", 1735689600), ("2025-01-01T01:30:00+01:30", 1735689600),
    ("2024-12-31t16:00:00.5-08:00", 1735689600.5), ("1735689600", 1735689600),
])
def test_a_moment_is_seconds_or_rfc_3339(steady, given, kept):
    assert steady.put("/v1/users/u", {"created_at": given}).json["created_at"] == kept
    assert steady.get("/v1/users/u").json["created_at"] == kept


@pytest.mark.parametrize("body", [
    {"created_at": "yesterday"}, {"created_at": True}, {"created_at": [1]},
    {"created_at": "2025-02-30T00:00:00Z"}, {"created_at": "2025-01-01"}, {"created_at": ""},
    {"email_verified": "true"}, {"email_verified": 1}, {"tier": "nobody"}, {"tier": 7},
    {"limits": []}, {"limits": {"nobody": {"capacity": 1}}}, {"limits": {"fixed": {}}},
    {"limits": {"fixed": 5}}, {"limits": {"fixed": {"capacity": 0}}},
    {"limits": {"fixed": {"capacity": -1}}}, {"limits": {"fixed": {"capacity": 1.5}}},
    {"limits": {"fixed": {"capacity": "5"}}}, {"limits": {"fixed": {"refill_rate": 1}}},
    {"limits": {"log": {"capacity": 5, "refill_rate": 1}}},
    {"limits": {"fixed": {"capacity": 4294967296}}}, {"limits": {"log": {"capacity": 16777217}}},
    {"limits": {"token": {"refill_rate": 0}}}, {"limits": {"token": {"window": "1s"}}},
    {"limits": {"fixed": {"capacity": 5}, "nobody": {"capacity": 1}}},
    {"name": "u"}, [], "u",
])
def test_a_record_that_is_none_is_refused_whole(steady, body):
    steady.put("/v1/users/u", {"created_at": 5, "limits": {"fixed": {"capacity": 3}}})
    before = steady.get("/v1/users/u").json
    with_more = {"created_at": 6, **body} if isinstance(body, dict) else body
    steady.put("/v1/users/u", with_more, 422)
    after = steady.get("/v1/users/u").json
    assert [after[key] for key in ("etag", "created_at", "limits")] == [
        before[key] for key in ("etag", "created_at", "limits")]
    assert limit_of(steady, "fixed") == 3


def test_a_user_has_limits_in_sixteen_rules_at_the_most(admin):
    for number in range(17):
        admin.put(f"/v1/rules/r{number}", {"per": "user", "resource": "/r", "limit": "5/1h"})
    limits = {f"r{number}": {"capacity": number + 1} for number in range(17)}
    admin.put("/v1/users/u", {"limits": limits}, 422)
    limits.pop("r16")
    assert admin.put("/v1/users/u", {"limits": limits}, 201).json["limits"] == limits


def test_a_tag_is_of_a_record_that_was_seen(admin):
    """A user of which only outcomes are known has no record yet."""
    admin.post("/v1/outcomes", {"user": "told", "success": True})
    for user in ("nobody", "told"):
        path = f"/v1/users/{user}"
        seen = admin.get(path)
        assert (seen.headers["etag"], seen.json["etag"]) == (None, None)
        admin.put(path, {}, 412, if_match="*")
        first = admin.put(path, {"email_verified": True}, 201, if_none_match="*").headers["etag"]
        admin.put(path, {}, 412, if_none_match="*")
        changed = admin.put(path, {"email_verified": False}, 200, if_match=first).headers["etag"]
        assert changed != first
        admin.put(path, {"email_verified": True}, 412, if_match=first)
        admin.delete(path, 412, if_match=first)
        assert admin.get(path).headers["etag"] == admin.get(path).json["etag"] == changed
        admin.delete(path, 200, if_match=changed)
        assert admin.get(path).json["known"] is False


def test_a_user_is_forgotten_whole(admin):
    """Also what was not yet written: a violation of this moment."""
    admin.put("/v1/users/u", {"email_verified": True, "limits": {"fixed": {"capacity": 1}}})
    admin.post("/v1/outcomes", [{"user": "u", "success": True}] * 5)
    admin.spend(1, user="u", resource="/fixed")
    admin.post("/v1/check", {"user": "u", "resource": "/fixed"}, 429)
    admin.delete("/v1/users/u")
    unknown = admin.get("/v1/users/u").json
    assert (unknown["known"], unknown["trust"]["score"]) == (False, 0)
    admin.put("/v1/users/other", {})  # behind whatever was on its way
    assert admin.get("/v1/users/u").json == unknown


def test_a_user_that_was_only_denied_can_be_forgotten_at_once(admin):
    admin.spend(10, user="u", resource="/fixed")
    admin.post("/v1/check", {"user": "u", "resource": "/fixed"}, 429)
    assert admin.get("/v1/users/u").json["known"] is True
    admin.delete("/v1/users/u", 200)
    assert admin.get("/v1/users/u").json["known"] is False


def test_a_user_and_one_of_that_name_in_a_tenant_are_two(admin):
    admin.put("/v1/users/u", {"limits": {"fixed": {"capacity": 1}}}, 201)
    admin.put("/v1/users/u?tenant=a", {"limits": {"fixed": {"capacity": 2}}}, 201)
    admin.put("/v1/users/u?tenant=b", {"limits": {"fixed": {"capacity": 3}}}, 201)
    admin.post("/v1/outcomes", {"user": "u", "tenant": "a", "success": True})
    assert [limit_of(admin, "fixed", tenant=tenant) for tenant in (None, "a", "b", "c")] == [
        1, 2, 3, 10]
    calls = [admin.get(f"/v1/users/u{query}").json["trust"]["success"]["calls"]
             for query in ("", "?tenant=a", "?tenant=b")]
    assert calls == [0, 1, 0]
    admin.delete("/v1/users/u?tenant=a")
    assert [limit_of(admin, "fixed", tenant=tenant) for tenant in (None, "a", "b")] == [1, 10, 3]


def test_outcomes_are_recorded_all_or_none(admin):
    good, bad = {"user": "u", "success": True}, {"user": "u", "success": "yes"}
    admin.post("/v1/outcomes", [good] * 999 + [bad], 422)
    admin.post("/v1/outcomes", [], 422)
    admin.post("/v1/outcomes", [good] * 1001, 413)
    assert admin.get("/v1/users/u").json["known"] is False
    assert admin.post("/v1/outcomes", [good] * 1000).json == {"recorded": 1000}
    assert admin.post("/v1/outcomes", {**good, "tenant": None, "success": False}).json == {
        "recorded": 1}
    success = admin.get("/v1/users/u").json["trust"]["success"]
    assert (success["calls"], success["successes"]) == (1001, 1000)


# ---- a user's tier ----------------------------------------------------------------------


def test_a_users_tier_is_used_where_the_request_names_none(admin):
    admin.put("/v1/users/u", {"tier": "pro"})
    assert limit_of(admin, "fixed") == 100
    assert limit_of(admin, "fixed", tier="free") == 10
    assert limit_of(admin, "fixed", tier="named") == 20
    admin.put("/v1/users/u", {"tier": "full"})
    assert limit_of(admin, "fixed") is None
    assert limit_of(admin, "fixed", tier="free") == 10
    admin.put("/v1/users/u", {"tier": "named"})
    assert limit_of(admin, "numbered") == 7
    admin.put("/v1/users/u", {"tier": None})
    assert limit_of(admin, "fixed") == 10


def test_a_keys_tier_goes_before_the_users(admin):
    admin.put("/v1/tenants/acme", {"tier": "named"})
    admin.put("/v1/users/u?tenant=acme", {"tier": "pro"})
    plain = admin.post("/v1/tenants/acme/keys", {}).json["key"]
    free = admin.post("/v1/tenants/acme/keys", {"tier": "free"}).json["key"]
    assert limit_of(Caller(admin.server, x_api_key=plain), "fixed") == 20
    assert limit_of(Caller(admin.server, x_api_key=free), "fixed") == 10
    admin.put("/v1/tenants/acme", {"tier": None})
    assert limit_of(Caller(admin.server, x_api_key=plain), "fixed") == 100


# ---- a user's own limits ----------------------------------------------------------------


@pytest.mark.parametrize("rule", ALGORITHMS)
def test_own_limits_decide_in_every_algorithm(admin, rule):
    who = {"user": "u", "resource": f"/{rule}"}
    admin.spend(4, **who)
    for capacity in (25, 4, 30):  # more, no more than is used, and more again
        admin.put("/v1/users/u", {"limits": {rule: {"capacity": capacity}}})
        assert limit_of(admin, rule) == capacity
        assert admin.remaining(rule, **who) == capacity - 4
    admin.spend(26, **who)
    denied = admin.post("/v1/check", who, 429).json
    assert (denied["rule"], denied["limit"], denied["remaining"]) == (rule, 30, 0)
    assert limit_of(admin, rule, "other") == 10
    admin.put("/v1/users/u", {"limits": None})
    assert limit_of(admin, rule) == 10


@pytest.mark.parametrize("rule", BUCKETS)
def test_an_own_rate_refills_a_bucket(admin, rule):
    """A bucket is full again after capacity / rate seconds."""
    who = {"user": "u", "resource": f"/{rule}"}

    def fills_in_s():
        body = admin.post("/v1/check", {**who, "peek": True}, 200)
        policy = dict(pair.split("=") for pair in body.headers["ratelimit-policy"].split(";")[1:])
        return int(policy["w"])

    assert fills_in_s() == 10 / 0.001
    admin.put("/v1/users/u", {"limits": {rule: {"refill_rate": 0.002}}})
    assert (limit_of(admin, rule), fills_in_s()) == (10, 10 / 0.002)
    admin.put("/v1/users/u", {"limits": {rule: {"capacity": 40, "refill_rate": 0.004}}})
    assert (limit_of(admin, rule), fills_in_s()) == (40, 40 / 0.004)


def test_own_limits_stand_in_place_of_the_tiers(admin):
    admin.put("/v1/users/u", {"tier": "named", "limits": {"numbered": {"capacity": 55},
                                                          "fixed": {"capacity": 56}}})
    assert (limit_of(admin, "numbered"), limit_of(admin, "fixed")) == (55, 56)
    assert limit_of(admin, "numbered", tier="pro") == 55
    assert limit_of(admin, "counter") == 20


def test_own_limits_of_a_rule_that_goes_away_are_left_unused(admin):
    admin.put("/v1/users/u", {"limits": {"fixed": {"capacity": 55}, "token": {"refill_rate": 1}}})
    admin.delete("/v1/rules/fixed")
    assert admin.get("/v1/users/u").json["limits"]["fixed"] == {"capacity": 55}
    assert limit_of(admin, "fixed") is None
    admin.delete("/v1/rules/fixed?undo=true")
    assert limit_of(admin, "fixed") == 55
    window = {"resource": "/token", "per": "user", "algorithm": "fixed_window", "limit": "9/365d"}
    admin.put("/v1/rules/token", window)  # where a refill rate means nothing
    assert limit_of(admin, "token") == 9
    admin.put("/v1/users/u", {"email_verified": True}, 200)  # its limits are as they were


def test_trust_multiplies_ones_own_limit(admin):
    admin.put("/v1/users/u", {"email_verified": True, "limits": {"adaptive": {"capacity": 33}}})
    assert limit_of(admin, "adaptive") == 39  # floor(33 · 1.2)


# ---- what a request says of its user ----------------------------------------------------


def old(days):
    return time.time() - days * DAY - 60


def test_a_requests_word_goes_before_the_record(admin):
    admin.put("/v1/users/u", {"created_at": old(400), "email_verified": True})
    assert limit_of(admin, "adaptive") == 15
    assert limit_of(admin, "adaptive", trust_score=1) == 20
    assert limit_of(admin, "adaptive", trust_score=0) == 10
    assert limit_of(admin, "adaptive", email_verified=False) == 13
    assert limit_of(admin, "adaptive", email_verified="false") == 13
    assert limit_of(admin, "adaptive", created_at=time.time()) == 12
    assert limit_of(admin, "adaptive", created_at="2999-01-01T00:00:00Z") == 12
    assert limit_of(admin, "adaptive", created_at=time.time(), email_verified=False) == 10
    for rubbish in ("soon", "", True):
        assert limit_of(admin, "adaptive", created_at=rubbish, email_verified="maybe") == 15


def test_a_requests_word_counts_for_an_unknown_user(admin):
    assert limit_of(admin, "adaptive", "x") == 10
    assert limit_of(admin, "adaptive", "x", email_verified=True) == 12
    assert limit_of(admin, "adaptive", "x", created_at=old(400)) == 13
    assert limit_of(admin, "adaptive", "x", created_at="2001-01-01T00:00:00Z",
                    email_verified="true") == 15
    assert limit_of(admin, "fixed", "x", email_verified=True) == 10  # a rule that is not adaptive
    assert admin.get("/v1/users/x").json["known"] is False  # a request's word is not kept


def test_records_survive_a_restart(tmp_path):
    with Server(RULES, folder=tmp_path) as server:
        admin = Caller(server)
        admin.put("/v1/users/u", {"created_at": old(400), "email_verified": True, "tier": "pro",
                                  "limits": {"fixed": {"capacity": 55}}})
        admin.post("/v1/outcomes", [{"user": "u", "success": True}] * 3)
        before = admin.get("/v1/users/u").json
        stopped(server)
    with Server(RULES, folder=tmp_path) as server:
        admin = Caller(server)
        assert admin.get("/v1/users/u").json == before
        assert (limit_of(admin, "fixed"), limit_of(admin, "adaptive")) == (55, 200)
