"""Rules that say what a request is not, and that stand in for others, over the API.

Windows are so long that nothing comes back while a test looks.
"""

import pytest

from admin_api import Caller
from serving import Server
from tenants import RULES as TENANTS_RULES
from tenants import two_of

RULES = """
rules:
  - { name: all, per: user, algorithm: fixed_window, limit: 100/365d }
  - name: better
    when: { plan: gold }
    per: user
    replaces: all
    algorithm: fixed_window
    limit: 500/365d
"""
MADE = {"per": "user", "algorithm": "fixed_window", "limit": "7/365d"}


@pytest.fixture(name="admin")
def admin_of_a_server():
    with Server(RULES) as server:
        yield Caller(server)


def counted(admin, **request):
    """The rules that count a request."""
    answer = admin.server.check({"user": "u1", "explain": True, **request})
    return [row["rule"] for row in answer.json["rules"]]


def test_a_condition_is_kept_as_it_was_written(admin):
    when = {"plan": {"is": ["gold", 7], "not": "tin", "like": ["*"], "unlike": "s*"},
            "method": {"not": ["GET", "HEAD"]}, "tenant": "acme"}
    made = admin.put("/v1/rules/made", {**MADE, "when": when}, 201).json
    assert made["rule"]["when"] == when
    assert admin.get("/v1/rules/made").json["rule"] == {"name": "made", **MADE, "when": when}
    assert counted(admin, tenant="acme", plan="7", method="PUT") == ["all", "made"]
    assert counted(admin, tenant="acme", plan="7", method="GET") == ["all"]


def test_a_rule_counts_in_place_of_those_it_names(admin):
    assert counted(admin) == ["all"]
    assert counted(admin, plan="gold") == ["better"]
    made = {**MADE, "when": {"plan": {"like": "g*"}}, "replaces": ["all", "better"]}
    assert admin.put("/v1/rules/made", made, 201).json["rule"]["replaces"] == ["all", "better"]
    assert counted(admin, plan="gold") == ["made"]
    assert counted(admin, plan="green") == ["made"]
    assert counted(admin, plan="tin") == ["all"]


def test_a_name_that_no_rule_has_is_refused(admin):
    refused = admin.put("/v1/rules/made", {**MADE, "replaces": "al"}, 422).json
    assert "no rule is called `al`" in str(refused)
    assert "cannot replace itself" in str(admin.put("/v1/rules/made",
                                                    {**MADE, "replaces": "made"}, 422).json)
    admin.get("/v1/rules/made", 404)


def test_what_is_named_is_hidden_and_not_deleted(admin):
    admin.put("/v1/rules/made", MADE, 201)
    admin.put("/v1/rules/next", {**MADE, "replaces": "made"}, 201)
    assert "no rule is called `made`" in str(admin.delete("/v1/rules/made", 422).json)
    assert counted(admin) == ["all", "next"]
    admin.delete("/v1/rules/all", 200)  # the file's, which `better` names
    assert counted(admin, plan="gold") == ["better", "next"]
    admin.delete("/v1/rules/next", 200)
    admin.delete("/v1/rules/made", 200)
    assert counted(admin) == []


def test_a_tenants_rule_takes_nothing_of_others_away():
    with Server(TENANTS_RULES) as server:
        admin = Caller(server)
        acme, bravo = two_of(admin)
        key = acme.keys[0]
        for name in [rule["name"] for rule in admin.get("/v1/rules").json["rules"]
                     if not rule["tenant"]]:
            refused = key.put("/v1/rules/mine", {**MADE, "replaces": name}, 422).json
            assert "no rule of tenant `acme` is called" in str(refused)
        key.put("/v1/rules/first", MADE, 201)
        bravo.keys[0].put("/v1/rules/mine", {**MADE, "replaces": "first"}, 422)
        key.put("/v1/rules/mine", {**MADE, "replaces": "first"}, 201)
        rows = server.check({"tenant": "acme", "user": "u", "explain": True}).json["rules"]
        names = {row["rule"] for row in rows}
        assert "acme/mine" in names and "acme/first" not in names
        many = {"plan": {"not": [f"p{number}" for number in range(65)]}}
        refused = key.put("/v1/rules/large", {**MADE, "when": many}, 422).json
        assert "at most 64 entries" in str(refused)
