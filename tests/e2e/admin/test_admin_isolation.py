"""Nothing of a tenant's can be seen or touched by another.

There are `acme` and `bravo`, each with two keys, rules, users, counts and a reservation.
`acme` tries every call there is on what is `bravo`'s. What it is answered is compared with the
answer to the same call about a name that is not there: not a byte may tell them apart.
"""

import hashlib

import pytest

from admin_api import Caller
from serving import Server
from tenants import RULE, RULES, two_of


@pytest.fixture(name="admin")
def admin_of_a_server():
    with Server(RULES) as server:
        yield Caller(server)


@pytest.fixture(name="both")
def two_tenants(admin):
    return two_of(admin)


# ---- every call, by the one on what is the other's --------------------------------------

# {T}: the tenant, {R}: a rule of its own, {U}: a user, {K}: a key's id, {D}: a key's digest,
# {V}: a reservation. Behind it, what it is answered.
OF_ANOTHER = [
    ("POST", "/v1/check", {"tenant": "{T}", "user": "shared", "resource": "/a"}, 403),
    ("POST", "/v1/check", {"tenant": "{T}", "peek": True, "explain": True}, 403),
    ("POST", "/v1/check", {"api_key": "{D}", "user": "shared"}, 403),
    ("POST", "/v1/check", [{"user": "shared", "resource": "/a"},
                           {"tenant": "{T}", "user": "shared", "resource": "/a"}], 403),
    ("POST", "/v1/reserve", {"tenant": "{T}", "user": "shared", "resource": "/a"}, 403),
    ("POST", "/v1/commit", {"reservation": "{V}", "cost": 1}, 404),
    ("POST", "/v1/cancel", {"reservation": "{V}"}, 404),
    ("GET", "/v1/rules/{R}", None, 404),
    ("GET", "/v1/rules/{T}%2Fown", None, 404),
    ("GET", "/v1/rules/of-{T}", None, 404),
    ("PUT", "/v1/rules/{T}%2Fown", RULE, 422),
    ("DELETE", "/v1/rules/{R}", None, 404),
    ("DELETE", "/v1/rules/{R}?undo=true", None, 404),
    ("DELETE", "/v1/rules/{T}%2Fown", None, 404),
    ("DELETE", "/v1/rules/of-{T}", None, 404),
    ("GET", "/v1/tenants/{T}", None, 404),
    ("HEAD", "/v1/tenants/{T}", None, 404),
    ("PUT", "/v1/tenants/{T}", {"tier": None}, 403),
    ("DELETE", "/v1/tenants/{T}", None, 403),
    ("POST", "/v1/tenants/{T}/keys", {}, 403),
    ("DELETE", "/v1/tenants/{T}/keys/{K}", None, 403),
    ("GET", "/v1/tenants/{T}/rules", None, 404),
    ("GET", "/v1/tenants/{T}/rules/own", None, 404),
    ("PUT", "/v1/tenants/{T}/rules/own", RULE, 404),
    ("PUT", "/v1/tenants/{T}/rules/own?dry_run=true", RULE, 404),
    ("PUT", "/v1/tenants/{T}/rules/own", {"limit": "many"}, 404),
    ("PUT", "/v1/tenants/{T}/rules/new", RULE, 404),
    ("DELETE", "/v1/tenants/{T}/rules/own", None, 404),
    ("DELETE", "/v1/tenants/{T}/rules/own?dry_run=true", None, 404),
    ("GET", "/v1/users/shared?tenant={T}", None, 403),
    ("PUT", "/v1/users/shared?tenant={T}", {"email_verified": False}, 403),
    ("DELETE", "/v1/users/shared?tenant={T}", None, 403),
    ("GET", "/v1/users/{U}", None, 200),  # a user of that name, in acme: none
    ("GET", "/v1/users/{T}%2Fshared", None, 200),
    ("DELETE", "/v1/users/{U}", None, 404),
    ("POST", "/v1/outcomes", {"tenant": "{T}", "user": "shared", "success": False}, 403),
    ("POST", "/v1/outcomes", [{"user": "shared", "success": False},
                              {"tenant": "{T}", "user": "shared", "success": False}], 403),
    ("POST", "/v1/reset", {"tenant": "{T}", "rule": "own", "user": "shared"}, 403),
    ("POST", "/v1/reset", {"tenant": "{T}", "user": "shared", "resource": "/a"}, 403),
    ("POST", "/v1/reset", {"rule": "{T}/own", "user": "shared"}, 404),
    ("POST", "/v1/reset", {"rule": "{R}", "user": "shared"}, 404),
    ("POST", "/v1/reset", {"rule": "of-{T}", "user": "shared"}, 404),
]
# Calls for the operator alone.
OF_THE_OPERATOR = [
    ("GET", "/v1/tenants", None), ("GET", "/v1/tiers", None), ("GET", "/v1/tiers/pro", None),
    ("PUT", "/v1/tiers/pro", {"scale": 100}), ("DELETE", "/v1/tiers/free", None),
    ("GET", "/v1/exemptions", None),
    ("POST", "/v1/exemptions", {"kind": "user", "value": "acme/shared"}),
    ("DELETE", "/v1/exemptions", {"kind": "user", "value": "acme/shared"}),
    ("POST", "/v1/reload", None), ("PUT", "/v1/tenants/acme", {"tier": "pro"}),
    ("DELETE", "/v1/tenants/acme", None), ("POST", "/v1/tenants/acme/keys", {}),
    ("DELETE", "/v1/tenants/acme/keys/0123456789ab", None),
    ("PUT", "/v1/users/shared", {"tier": "pro"}), ("PUT", "/v1/users/shared", {"tier": None}),
    ("PUT", "/v1/users/shared", {"limits": {"own": {"capacity": 1000}}}),
    ("PUT", "/v1/users/shared", {"limits": None}),
    ("POST", "/v1/check", {"tier": "pro"}), ("POST", "/v1/check", {"trust_score": 1}),
    ("POST", "/v1/reserve", {"tier": "pro"}), ("POST", "/v1/reserve", {"trust_score": 1}),
]


def filled(value, words):
    """The template with its places filled."""
    if isinstance(value, str):
        for place, word in words.items():
            value = value.replace(place, word)
        return value
    if isinstance(value, list):
        return [filled(one, words) for one in value]
    if isinstance(value, dict):
        return {key: filled(one, words) for key, one in value.items()}
    return value


def words_of(one):
    return {"{T}": one.name, "{R}": f"{one.name}-only", "{U}": f"{one.name}-user",
            "{K}": one.made[0]["id"], "{D}": one.made[0]["sha256"], "{V}": one.reservation}


def words_of_absent_names(like):
    """Of the same lengths and forms."""
    name = "nobod"
    changed = like.reservation[:-1] + ("0" if like.reservation[-1] != "0" else "1")
    return {"{T}": name, "{R}": f"{name}-only", "{U}": f"{name}-user", "{K}": "0123456789ab",
            "{D}": hashlib.sha256(b"nobody").hexdigest(), "{V}": changed}


def told(answer, words):
    """What an answer says, with the names that were asked for taken out."""
    text = answer.body.decode()
    for place, word in words.items():
        text = text.replace(word, place)
    fields = {name: value for name, value in answer.headers.items() if name.lower() != "date"}
    return answer.status, fields, text


def test_nothing_of_another_can_be_seen_or_touched(both):
    acme, bravo = both
    theirs, nobodys = words_of(bravo), words_of_absent_names(bravo)
    assert {len(word) for word in theirs.values()} == {len(word) for word in nobodys.values()}
    before = bravo.seen()
    for number, (method, path, body, status) in enumerate(OF_ANOTHER):
        caller = acme.keys[number % 2]
        about_them = caller.call(method, filled(path, theirs), filled(body, theirs), status)
        about_nobody = caller.call(method, filled(path, nobodys), filled(body, nobodys), status)
        assert told(about_them, theirs) == told(about_nobody, nobodys), (method, path)
        for secret in (bravo.made[0]["key"], bravo.made[1]["key"], bravo.made[1]["sha256"]):
            assert secret not in about_them.body.decode()
        assert bravo.seen() == before, (method, path, body)
    settle = {"reservation": bravo.reservation, "cost": 1}
    assert bravo.keys[0].post("/v1/commit", settle, 200).json["committed"]


def test_lists_show_nothing_of_another(both):
    acme, _ = both
    for path in ("/v1/rules", "/v1/rules/own", "/v1/tenants/acme", "/v1/tenants/acme/rules",
                 "/v1/users/shared"):
        for caller in acme.keys:
            assert b"bravo" not in caller.get(path).body, path
    assert "hidden" not in acme.keys[0].get("/v1/rules").json
    twice = {**RULE, "limit": "2000/365d"}  # the linter would name the file's rule
    assert not acme.keys[0].put("/v1/rules/twice?dry_run=true", twice).json.get("warnings")
    explained = acme.keys[0].post("/v1/check", {"user": "shared", "resource": "/a",
                                                "explain": True}, 200)
    rules = {row["rule"] for row in explained.json["rules"]}
    assert rules == {"file", "of-acme", "of-both", "acme/own", "acme/acme-only"}
    assert b"bravo" not in explained.body


def test_what_is_the_operators_is_refused(both, admin):
    acme, _ = both
    paths = ("/v1/tiers", "/v1/exemptions", "/v1/tenants", "/v1/users/shared?tenant=acme")
    before = [admin.get(path).body for path in paths], acme.seen()
    for method, path, body in OF_THE_OPERATOR:
        answer = acme.keys[0].call(method, path, body, 403)
        assert b"bravo" not in answer.body
        assert ([admin.get(path).body for path in paths], acme.seen()) == before, (method, path)


def test_a_proxy_that_names_another_tenant_asks_for_the_keys_own(both, admin):
    acme, bravo = both
    before = bravo.seen()
    fields = {"X-Tenant": "bravo", "X-User": "shared"}
    left = admin.remaining("acme/own", tenant="acme", user="shared", resource="/a")
    for caller in acme.keys:
        caller.call("GET", "/v1/authorize/a", None, 200, **fields)
    assert bravo.seen() == before
    assert admin.remaining("acme/own", tenant="acme", user="shared", resource="/a") == left - 2
