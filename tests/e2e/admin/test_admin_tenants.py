"""Tenants: rules, users and counts of one's own, a tier, bounds, an end."""

import pytest

from admin_api import Caller
from serving import Server
from tenants import RULE, RULES, Tenant, two_of


@pytest.fixture(name="admin")
def admin_of_a_server():
    with Server(RULES) as server:
        yield Caller(server)


@pytest.fixture(name="both")
def two_tenants(admin):
    return two_of(admin)


# ---- what is one's own ------------------------------------------------------------------


def test_rules_of_one_name_count_apart(both, admin):
    acme, bravo = both
    for caller in acme.keys:
        caller.spend(1, user="shared", resource="/a")
    assert admin.remaining("acme/own", tenant="acme", user="shared", resource="/a") == 3
    assert admin.remaining("bravo/own", tenant="bravo", user="shared", resource="/a") == 5
    assert admin.remaining("acme/own", tenant="bravo", user="shared", resource="/a") is None
    assert admin.remaining("acme/own", user="shared", resource="/a") is None
    bravo.keys[1].put("/v1/rules/own", {**RULE, "limit": "20/365d"}, 200)
    assert admin.remaining("acme/own", tenant="acme", user="shared", resource="/a") == 3
    assert admin.remaining("bravo/own", tenant="bravo", user="shared", resource="/a") == 15


def test_a_rule_that_names_another_tenant_is_never_theirs(both, admin):
    acme, bravo = both
    before = bravo.seen()
    rule = {"per": "global", "when": {"tenant": "bravo"}, "limit": "1/1h"}
    acme.keys[0].put("/v1/rules/mean", rule, (201, 422))
    wide = {"per": "global", "limit": "1/1h", "on_missing": "deny"}
    acme.keys[0].put("/v1/rules/wide", wide, 201)
    bravo.keys[0].spend(2, user="else", resource="/b")
    admin.spend(2, user="else", resource="/b")
    assert bravo.seen() == before


def test_a_rule_named_as_everybodys_is_ones_own(both, admin):
    acme, bravo = both
    before, files = bravo.seen(), admin.get("/v1/rules/file").json
    made = acme.keys[0].put("/v1/rules/file", RULE, 201).json
    assert (made["tenant"], made["source"], made["replaces"]) == ("acme", "api", None)
    assert acme.keys[1].get("/v1/rules/file").json["rule"] == {"name": "file", **RULE}
    assert admin.get("/v1/rules/file").json == files
    assert admin.get("/v1/tenants/acme/rules/file").json["rule"] == {"name": "file", **RULE}
    acme.keys[0].delete("/v1/rules/file")
    acme.keys[0].delete("/v1/rules/file", 404)
    assert admin.get("/v1/rules/file").json == files
    assert bravo.seen() == before


def test_a_rule_about_the_tenant_is_seen_and_not_changed(both, admin):
    acme, _ = both
    shown = acme.keys[0].get("/v1/rules/of-acme").json
    assert shown == admin.get("/v1/rules/of-acme").json
    assert "of-acme" in acme.keys[0].rules()
    for name in ("file", "of-both", "of-bravo"):
        acme.keys[0].get(f"/v1/rules/{name}", 404)
        assert name not in acme.keys[0].rules()
    acme.keys[0].delete("/v1/rules/of-acme", 404)
    acme.keys[0].put("/v1/rules/of-acme", RULE, 201)  # one of its own, beside it
    assert admin.get("/v1/rules/of-acme").json == shown
    acme.keys[0].delete("/v1/rules/of-acme", 200)
    assert acme.keys[0].get("/v1/rules/of-acme").json == shown


def test_both_ways_to_ones_own_rules_are_one(both, admin):
    acme, _ = both
    key = acme.keys[0]
    made = key.put("/v1/tenants/acme/rules/new", RULE, 201)
    assert key.get("/v1/rules/new").json == key.get("/v1/tenants/acme/rules/new").json
    key.put("/v1/rules/new", RULE, 200, if_match=made.headers["etag"])
    key.put("/v1/tenants/acme/rules/new", RULE, 412, if_match=made.headers["etag"])
    key.put("/v1/rules/new", {"per": 7}, 422)
    key.delete("/v1/tenants/acme/rules/new", 200)
    admin.get("/v1/tenants/acme/rules/new", 404)
    assert key.put("/v1/rules/dry?dry_run=true", RULE, 200).json["dry_run"]
    key.get("/v1/rules/dry", 404)
    own = [rule["name"] for rule in key.get("/v1/tenants/acme/rules").json["rules"]]
    assert own == ["own", "acme-only"] == key.get("/v1/tenants/acme").json["rules"]


def test_a_reset_by_a_tenant_forgets_its_own_counts_alone(both, admin):
    acme, bravo = both
    key, who = acme.keys[0], {"tenant": "acme", "user": "shared"}
    key.put("/v1/rules/other", {**RULE, "resource": "/b"}, 201)
    key.spend(2, user="shared", resource="/b")
    before = bravo.seen()
    everybodys = admin.remaining("file", resource="/a", **who)
    assert len(key.post("/v1/reset", {"rule": "own", "user": "shared"}).json["reset"]) == 1
    assert admin.remaining("acme/own", resource="/a", **who) == 10
    assert admin.remaining("acme/acme-only", resource="/a", **who) == 5
    assert admin.remaining("file", resource="/a", **who) == everybodys
    key.post("/v1/reset", {"rule": "file", "user": "shared"}, 404)
    key.post("/v1/reset", {"user": "shared", "resource": "/a"})  # what matches that
    assert admin.remaining("acme/acme-only", resource="/a", **who) == 10
    assert admin.remaining("file", resource="/a", **who) == everybodys
    assert admin.remaining("acme/other", resource="/b", **who) == 8
    assert bravo.seen() == before


def test_a_tenants_users_are_found_with_and_without_its_name(both):
    acme, _ = both
    key = acme.keys[1]
    assert key.get("/v1/users/shared").body == key.get("/v1/users/shared?tenant=acme").body
    key.put("/v1/users/shared?tenant=acme", {"email_verified": False}, 200)
    assert key.get("/v1/users/shared").json["email_verified"] is False
    key.post("/v1/outcomes", [{"user": "shared", "tenant": "acme", "success": False},
                              {"user": "shared", "success": False}])
    assert key.get("/v1/users/shared").json["trust"]["success"]["calls"] == 5
    assert key.delete("/v1/users/shared").json["deleted"]
    assert key.get("/v1/users/shared").json["known"] is False


# ---- its tier, its bounds, its end ------------------------------------------------------

ALGORITHMS = {"token_bucket": True, "fixed_window": True, "leaky_bucket": False,
              "sliding_window_log": False, "sliding_window_counter": False, None: False}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_tier_says_which_algorithms_a_tenant_may_choose(admin, algorithm):
    rule = {"per": "user", "capacity": 5, "window": "1h", "algorithm": algorithm}
    rule = {key: value for key, value in rule.items() if value}
    limited, free = Tenant(admin, "limited", "pro"), Tenant(admin, "free", "free")
    status = 201 if ALGORITHMS[algorithm] else 422
    for caller, path in ((limited.keys[0], "/v1/rules/one"),
                         (limited.keys[1], "/v1/tenants/limited/rules/two"),
                         (admin, "/v1/tenants/limited/rules/three")):
        caller.put(f"{path}?dry_run=true", rule, 200 if status == 201 else 422)
        answer = caller.put(path, rule, status)
        assert status == 201 or (algorithm or "sliding_window_counter") in answer.json["detail"]
    assert len(admin.get("/v1/tenants/limited").json["rules"]) == (3 if status == 201 else 0)
    free.keys[0].put("/v1/rules/one", rule, 201)
    admin.put("/v1/rules/everybodys", rule, 201)


def test_rules_that_are_there_stay_when_the_tier_changes(admin):
    tenant = Tenant(admin, "acme", "free")
    rule = {"per": "user", "algorithm": "leaky_bucket", "capacity": 5, "window": "1h"}
    tenant.keys[0].put("/v1/rules/own", rule, 201)
    admin.put("/v1/tenants/acme", {"tier": "pro"}, 200)
    assert tenant.keys[0].get("/v1/tenants/acme").json["rules"] == ["own"]
    tenant.keys[0].put("/v1/rules/own", {**rule, "capacity": 6}, 422)
    tenant.keys[0].put("/v1/rules/own", {**rule, "algorithm": "token_bucket"}, 200)
    admin.put("/v1/tiers/pro", {"scale": 10, "algorithms": ["fixed_window"]}, 200)
    assert tenant.keys[0].get("/v1/rules/own").json["rule"]["algorithm"] == "token_bucket"


def test_a_tenant_has_a_hundred_rules_at_the_most(admin):
    full, other = Tenant(admin, "full"), Tenant(admin, "other")
    for number in range(100):
        full.keys[number % 2].put(f"/v1/rules/r{number}", RULE, 201)
    full.keys[0].put("/v1/rules/more", RULE, 409)
    admin.put("/v1/tenants/full/rules/more", RULE, 409)
    full.keys[0].put("/v1/rules/more?dry_run=true", RULE, 409)
    full.keys[0].put("/v1/rules/r7", {**RULE, "limit": "9/365d"}, 200)
    other.keys[0].put("/v1/rules/more", RULE, 201)
    full.keys[1].delete("/v1/rules/r7")
    full.keys[0].put("/v1/rules/more", RULE, 201)
    assert len(admin.get("/v1/tenants/full").json["rules"]) == 100
    assert {one["name"]: one["rules"] for one in admin.get("/v1/tenants").json["tenants"]} == {
        "full": 100, "other": 1}


def test_a_tenants_rule_is_small_and_has_no_tiers(both):
    """All callers pay for it; and a tier must be the operator's to take away."""
    key = both[0].keys[0]
    key.put("/v1/rules/small", {**RULE, "except": [f"/a/{i}" for i in range(64)]}, 201)
    key.put("/v1/rules/large", {**RULE, "except": [f"/a/{i}" for i in range(65)]}, 422)
    key.put("/v1/rules/large", {**RULE, "when": {"x": [str(i) for i in range(65)]}}, 422)
    key.put("/v1/rules/large", {**RULE, "except": ["/" + "a" * 17000]}, 413)
    key.put("/v1/rules/large", {**RULE, "tiers": {"pro": {"capacity": 3}}}, 422)
    key.get("/v1/rules/large", 404)


def test_a_tenant_has_a_hundred_keys_at_the_most(admin):
    full, other = Tenant(admin, "full"), Tenant(admin, "other")
    for number in range(98):
        admin.post("/v1/tenants/full/keys", {"sha256": f"{number:064x}"}, 201)
    admin.post("/v1/tenants/full/keys", {}, 409)
    admin.post("/v1/tenants/full/keys?dry_run=true", {}, 409)
    admin.post("/v1/tenants/other/keys", {}, 201)
    admin.delete(f"/v1/tenants/full/keys/{full.made[0]['id']}")
    admin.post("/v1/tenants/full/keys", {}, 201)
    assert len(admin.get("/v1/tenants/full").json["keys"]) == 100
    full.keys[0].get("/v1/rules", 401)
    full.keys[1].get("/v1/rules", 200)
    assert other.keys[0].get("/v1/tenants/other").json["keys"][0]["label"] == "other-0"


def test_a_tenant_that_is_gone_leaves_nothing(both, admin):
    acme, bravo = both
    before = bravo.seen()
    admin.delete("/v1/tenants/acme")
    for caller in acme.keys:
        caller.post("/v1/check", {}, 401)
        caller.get("/v1/rules", 401)
    admin.get("/v1/tenants/acme", 404)
    admin.get("/v1/tenants/acme/rules", 404)
    assert admin.remaining("acme/own", tenant="acme", user="shared", resource="/a") is None
    assert "acme" not in {rule["tenant"] for rule in admin.get("/v1/rules").json["rules"]}
    assert bravo.seen() == before
    again = Tenant(admin, "acme")
    assert again.keys[0].rules() == ["of-acme"]
    acme.keys[0].get("/v1/rules", 401)
