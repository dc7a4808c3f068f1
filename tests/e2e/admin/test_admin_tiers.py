"""Tiers over the API: as rules, but for what refers to them."""

import pytest

from admin_api import Caller, stopped
from serving import Server

RULES = """
workers: 2
tiers:
  free: {}
  pro: { scale: 10.0, algorithms: [token_bucket, fixed_window] }
  named: { unlimited: true }
rules:
  - { name: api, per: user, algorithm: fixed_window, limit: 10/365d,
      tiers: { named: { capacity: 3 } } }
"""
RULE = {"per": "user", "algorithm": "fixed_window", "limit": "5/365d"}


@pytest.fixture(name="admin")
def admin_of_a_server():
    with Server(RULES) as server:
        yield Caller(server)


def tiers(admin):
    return [tier["name"] for tier in admin.get("/v1/tiers").json["tiers"]]


def limit_of(admin, tier):
    return admin.post("/v1/check", {"user": "u", "tier": tier, "peek": True}, 200).json["limit"]


def test_tiers_are_listed_with_what_the_file_says(admin):
    assert tiers(admin) == ["free", "pro", "named"]
    for tier in admin.get("/v1/tiers").json["tiers"]:
        assert (tier["source"], tier["replaces"]) == ("file", None)
        one = admin.get(f"/v1/tiers/{tier['name']}")
        assert one.json == tier
        assert one.headers["etag"] == tier["etag"]
    answer = admin.get("/v1/tiers/pro")
    assert b'"tier": {"scale": 10.0, "algorithms": ["token_bucket", "fixed_window"]}' in answer.body
    admin.get("/v1/tiers/nobody", 404)


def test_a_tier_is_made_changed_and_in_force_at_once(admin):
    made = admin.put("/v1/tiers/gold", b'{"scale": 2.50}', 201)
    assert b'"tier": {"scale": 2.50}' in made.body
    assert (made.json["source"], made.json["replaces"]) == ("api", None)
    assert (tiers(admin)[-1], limit_of(admin, "gold")) == ("gold", 25)
    changed = admin.put("/v1/tiers/gold", {"scale": 3}, 200)
    assert changed.headers["etag"] != made.headers["etag"]
    assert limit_of(admin, "gold") == 30
    admin.put("/v1/tiers/gold", {"unlimited": True}, 200)
    assert limit_of(admin, "gold") is None
    admin.put("/v1/tiers/gold", {}, 200)
    assert limit_of(admin, "gold") == 10


def test_a_tier_of_the_file_is_replaced_and_comes_back(admin):
    replaced = admin.put("/v1/tiers/pro", {"scale": 2}, 200).json
    assert (replaced["source"], replaced["replaces"]) == ("api", "file")
    assert (tiers(admin), limit_of(admin, "pro")) == (["free", "pro", "named"], 20)
    undone = admin.delete("/v1/tiers/pro?undo=true").json
    assert (undone["deleted"], undone["now"]["source"]) == (True, "file")
    assert limit_of(admin, "pro") == 100
    admin.delete("/v1/tiers/pro?undo=true", 404)


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_tier_of_the_file_is_hidden_and_comes_back(admin, is_replaced):
    if is_replaced:
        admin.put("/v1/tiers/pro", {"scale": 2}, 200)
    assert admin.delete("/v1/tiers/pro").json == {
        "name": "pro", "deleted": True, "hidden": True, "now": None}
    assert admin.get("/v1/tiers").json["hidden"] == ["pro"]
    assert (tiers(admin), limit_of(admin, "pro")) == (["free", "named"], 10)
    admin.get("/v1/tiers/pro", 404)
    admin.delete("/v1/tiers/pro", 404)
    admin.put("/v1/rules/made", {**RULE, "tiers": {"pro": {"capacity": 1}}}, 422)
    admin.put("/v1/tenants/acme", {"tier": "pro"}, 422)
    admin.put("/v1/users/u", {"tier": "pro"}, 422)
    assert admin.delete("/v1/tiers/pro?undo=true").json["now"]["tier"]["scale"] == 10
    assert (tiers(admin), limit_of(admin, "pro")) == (["free", "pro", "named"], 100)


def test_a_tier_of_the_api_goes(admin):
    admin.put("/v1/tiers/gold", {"scale": 2}, 201)
    assert admin.delete("/v1/tiers/gold").json == {
        "name": "gold", "deleted": True, "hidden": False, "now": None}
    admin.delete("/v1/tiers/gold", 404)
    admin.delete("/v1/tiers/gold?undo=true", 404)
    assert limit_of(admin, "gold") == 10


# What names a tier, and how that ends.
USES = {
    "a rule": (("PUT", "/v1/rules/made", {**RULE, "tiers": {"TIER": {"capacity": 3}}}),
               ("PUT", "/v1/rules/made", RULE)),
    "a tenant": (("PUT", "/v1/tenants/acme", {"tier": "TIER"}),
                 ("PUT", "/v1/tenants/acme", {"tier": None})),
    "a key": (("POST", "/v1/tenants/keyed/keys", {"tier": "TIER", "sha256": "5f" * 32}),
              ("DELETE", "/v1/tenants/keyed/keys/5f5f5f5f5f5f", None)),
    "a user": (("PUT", "/v1/users/u", {"tier": "TIER"}), ("PUT", "/v1/users/u", {"tier": None})),
    "a tenant's user": (("PUT", "/v1/users/u?tenant=t", {"tier": "TIER"}),
                        ("DELETE", "/v1/users/u?tenant=t", None)),
}


def with_tier(body, tier):
    if body is None:
        return None
    return {key: tier if value == "TIER" else {tier: value["TIER"]}
            if isinstance(value, dict) and "TIER" in value else value
            for key, value in body.items()}


@pytest.mark.parametrize("tier", ["gold", "pro"])
@pytest.mark.parametrize("use", USES)
def test_a_tier_in_use_cannot_be_deleted(admin, use, tier):
    begin, end = USES[use]
    admin.put("/v1/tenants/keyed", {})
    admin.put(f"/v1/tiers/{tier}", {"scale": 2})
    admin.call(begin[0], begin[1], with_tier(begin[2], tier), (200, 201))
    before = admin.get("/v1/tiers").body
    admin.delete(f"/v1/tiers/{tier}", 409)
    admin.delete(f"/v1/tiers/{tier}?dry_run=true", 409)
    if tier == "gold":
        admin.delete("/v1/tiers/gold?undo=true", 409)
    assert admin.get("/v1/tiers").body == before
    admin.put(f"/v1/tiers/{tier}", {"scale": 3}, 200)  # changed it can be
    admin.call(end[0], end[1], with_tier(end[2], tier), 200)
    admin.delete(f"/v1/tiers/{tier}", 200)


def test_a_tier_that_a_rule_of_the_file_names_cannot_be_deleted(admin):
    admin.delete("/v1/tiers/named", 409)
    assert tiers(admin) == ["free", "pro", "named"]
    admin.delete("/v1/rules/api")
    admin.delete("/v1/tiers/named", 200)
    answer = admin.delete("/v1/rules/api?undo=true", (409, 422))  # it would name a hidden tier
    assert "named" in answer.body.decode()
    assert admin.rules() == []


def test_every_problem_of_a_tier_is_told_with_its_place(admin):
    body = b'{"scale": -1,\n "speed": 2,\n "algorithms": ["nonsense"]}'
    errors = admin.put("/v1/tiers/wrong", body, 422).json["errors"]
    assert [(error["line"], error["column"]) for error in errors] == [(1, 11), (2, 2), (3, 17)]
    admin.put("/v1/tiers/wrong", {"scale": 1, "unlimited": True}, 422)
    admin.put("/v1/tiers/wrong", [], 422)
    assert tiers(admin) == ["free", "pro", "named"]


def test_a_tier_is_changed_only_if_it_is_what_was_seen(admin):
    tag = admin.get("/v1/tiers/pro").headers["etag"]
    admin.put("/v1/tiers/pro", {}, 412, if_match='"other"')
    admin.put("/v1/tiers/pro", {}, 412, if_none_match="*")
    admin.put("/v1/tiers/gold", {}, 412, if_match="*")
    changed = admin.put("/v1/tiers/pro", {}, 200, if_match=tag).headers["etag"]
    admin.delete("/v1/tiers/pro", 412, if_match=tag)
    admin.delete("/v1/tiers/pro", 200, if_match=changed)
    admin.put("/v1/tiers/pro", {}, 201, if_none_match="*")


def test_a_change_that_does_not_fit_the_rest_is_refused_whole(admin):
    """A larger scale would take a rule's limit past what its algorithm can count."""
    admin.put("/v1/rules/large", {**RULE, "limit": "400000000/365d"}, 201)
    before = [admin.get(path).body for path in ("/v1/rules", "/v1/tiers")]
    answer = admin.put("/v1/tiers/free", {"scale": 11}, 422).json
    assert any("large" in error["subject"] for error in answer["errors"]), answer
    assert [admin.get(path).body for path in ("/v1/rules", "/v1/tiers")] == before


def test_tiers_survive_a_restart(tmp_path):
    with Server(RULES, folder=tmp_path) as server:
        admin = Caller(server)
        admin.put("/v1/tiers/gold", {"scale": 2})
        admin.put("/v1/tiers/pro", {"scale": 3})
        admin.delete("/v1/tiers/free")
        before = admin.get("/v1/tiers").body
        stopped(server)
    with Server(RULES, folder=tmp_path) as server:
        admin = Caller(server)
        assert admin.get("/v1/tiers").body == before
        assert [limit_of(admin, tier) for tier in ("gold", "pro", "free")] == [20, 30, 10]
