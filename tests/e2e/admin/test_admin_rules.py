"""Rules over the API: what is listed, what a change does to the list, and how it is refused.

Windows are so long that nothing comes back while a test looks.
"""

import json

import pytest

from admin_api import Caller, database_of, dumped, part
from serving import Server

RULES = """
workers: 2
tiers: { free: { scale: 1 }, pro: { scale: 10 } }
rules:
  - { name: first, resource: /first, per: user, algorithm: fixed_window, limit: 5/365d }
  - name: second
    resource: /second
    per: [tenant, user]
    algorithm: token_bucket
    capacity: 10
    refill_rate: 0.0830
  - { name: third, resource: /third, per: user, algorithm: fixed_window, limit: 5/365d }
"""
RULE = {"resource": "/made", "per": "user", "algorithm": "fixed_window", "limit": "5/365d"}


def limited(limit, **more):
    return {**RULE, "limit": limit, **more}


@pytest.fixture(name="admin")
def admin_of_a_server():
    with Server(RULES) as server:
        yield Caller(server)


@pytest.fixture(name="steady", scope="module")
def admin_of_a_server_that_stays_as_it_is():
    with Server(RULES) as server:
        yield Caller(server)


# ---- the list ---------------------------------------------------------------------------


def test_rules_are_listed_in_order_with_what_the_file_says(admin):
    listed = admin.get("/v1/rules").json
    assert listed["hidden"] == []
    assert [rule["name"] for rule in listed["rules"]] == ["first", "second", "third"]
    for rule in listed["rules"]:
        assert (rule["source"], rule["replaces"], rule["tenant"]) == ("file", None, None)
        assert admin.get(f"/v1/rules/{rule['name']}").json == rule
    assert listed["rules"][1]["rule"] == {
        "name": "second", "resource": "/second", "per": ["tenant", "user"],
        "algorithm": "token_bucket", "capacity": 10, "refill_rate": 0.083}


def test_new_rules_come_behind_the_files_in_the_order_in_which_they_were_made(admin):
    for name in ("z", "m", "a"):
        made = admin.put(f"/v1/rules/{name}", RULE, 201).json
        assert (made["source"], made["replaces"], made["counts"]) == ("api", None, "new")
        assert made["rule"] == {"name": name, **RULE}
    assert admin.rules() == ["first", "second", "third", "z", "m", "a"]
    admin.put("/v1/rules/z", limited("6/365d"), 200)  # made first, changed last
    assert admin.rules() == ["first", "second", "third", "z", "m", "a"]
    admin.delete("/v1/rules/z")
    admin.put("/v1/rules/z", RULE, 201)
    assert admin.rules() == ["first", "second", "third", "m", "a", "z"]


def test_a_replacement_has_the_place_of_what_it_replaces(admin):
    changed = admin.put("/v1/rules/second", RULE, 200).json
    assert (changed["source"], changed["replaces"]) == ("api", "file")
    assert admin.rules() == ["first", "second", "third"]
    assert admin.get("/v1/rules").json["rules"][1]["rule"] == {"name": "second", **RULE}
    again = admin.put("/v1/rules/second", limited("6/365d"), 200).json
    assert (again["source"], again["replaces"]) == ("api", "file")
    assert admin.rules() == ["first", "second", "third"]


def test_the_answer_to_a_change_is_what_a_look_shows(admin):
    made = admin.put("/v1/rules/made", RULE, 201)
    shown = admin.get("/v1/rules/made")
    assert shown.headers["etag"] == made.headers["etag"] == shown.json["etag"]
    assert {**shown.json, "counts": "new", "warnings": made.json["warnings"]} == made.json


# What was done to `second`, a rule of the file, or to `made`, one of the API: what is there after
# DELETE, and after DELETE?undo=true. None: nothing; "file": the file's.
ENDS = [
    ("second", [], "hidden", 404),
    ("second", ["PUT"], "hidden", "file"),
    ("second", ["DELETE"], 404, "file"),
    ("second", ["PUT", "DELETE"], 404, "file"),
    ("second", ["DELETE", "PUT"], "hidden", "file"),
    ("made", ["PUT"], None, None),
    ("made", [], 404, 404),
    ("made", ["PUT", "DELETE"], 404, 404),
]


@pytest.mark.parametrize("undo", [False, True])
@pytest.mark.parametrize("name, steps, deleted, undone", ENDS)
def test_a_deletion_hides_and_an_undoing_brings_back(admin, name, steps, deleted, undone, undo):
    files = admin.get(f"/v1/rules/{name}", (200, 404)).json
    for step in steps:
        admin.call(step, f"/v1/rules/{name}", RULE if step == "PUT" else None, (200, 201))
    before, end = admin.get("/v1/rules").json, undone if undo else deleted
    query = "?undo=true" if undo else ""
    answer = admin.delete(f"/v1/rules/{name}{query}", 404 if end == 404 else 200)
    after = admin.get("/v1/rules").json
    if end == 404:
        assert after == before
        return
    now = files if end == "file" else None
    assert answer.json == {"name": name, "deleted": True, "hidden": end == "hidden", "now": now}
    assert after["hidden"] == (["second"] if end == "hidden" else [])
    assert [rule["name"] for rule in after["rules"]] == (
        ["first", "second", "third"] if name == "made" or end == "file" else ["first", "third"])
    assert admin.get(f"/v1/rules/{name}", 200 if now else 404).status
    decided = admin.remaining("second", tenant="t", user="u", resource="/second")
    assert decided == (10 if name == "made" or end == "file" else None)


def test_numbers_are_kept_as_they_were_written(admin):
    body = (b'{"per": "user", "algorithm": "token_bucket",  "capacity": 7, "refill_rate": 0.083,'
            b' "burst_allowance": 1.50, "tiers": {"pro": {"capacity": 70, "refill_rate": 0.830}}}')
    kept = (b'{"name": "made", "per": "user", "algorithm": "token_bucket", "capacity": 7, '
            b'"refill_rate": 0.083, "burst_allowance": 1.50, '
            b'"tiers": {"pro": {"capacity": 70, "refill_rate": 0.830}}}')
    assert kept in admin.put("/v1/rules/made", body, 201).body
    assert kept in admin.get("/v1/rules/made").body
    assert kept in admin.get("/v1/rules").body
    assert b'"refill_rate": 0.0830' in admin.get("/v1/rules/second").body


def test_what_is_read_can_be_written_back(admin):
    """Every rule's own JSON makes the same rule."""
    for name in admin.rules():
        rule = admin.get(f"/v1/rules/{name}").json["rule"]
        changed = admin.put(f"/v1/rules/{name}", rule, 200).json
        assert (changed["rule"], changed["counts"], changed["warnings"]) == (rule, "kept", [])


# ---- what is refused --------------------------------------------------------------------

WRONG = b"""{"per": 7,
  "limit": "many", "nonsense": 1,
     "shadow": "yes", "tiers":
 {"gold": {"capacity": 3}}}"""
PLACES = [("7", "attribute's name"), ('"many"', "limit"), ('"nonsense"', "unknown key"),
          ('"yes"', "shadow"), ('"gold"', "tier")]


def place_of(text, word):
    """Line and column, from 1."""
    before = text[:text.index(word)]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def test_every_problem_is_told_with_its_place(admin):
    answer = admin.put("/v1/rules/wrong", WRONG, 422)
    assert answer.headers["content-type"] == "application/problem+json"
    errors = answer.json["errors"]
    told = {(error["line"], error["column"]): error["detail"] for error in errors}
    assert len(told) == len(PLACES) == len(errors), errors
    for word, says in PLACES:
        assert says in told[place_of(WRONG.decode(), word)], (word, told)
    assert admin.rules() == ["first", "second", "third"]


@pytest.mark.parametrize("body, says", [
    ({**RULE, "name": "other"}, "name"),
    ([RULE], "object"), ("text", "object"), (7, "object"), (None, ""), ({}, "per"),
    ({**RULE, "tiers": {"gold": {"capacity": 1}}}, "gold"),
    ({**RULE, "limit": "0/1m"}, "limit"),
    ({**RULE, "capacity": 5}, "limit"),
    ({**RULE, "source": "api"}, "source"),
    (b'{"per": "user", "limit": "5/1h", "per": "ip"}', "per"),
    (b'{"per": "user", "algorithm": "fixed_window", "limit": "5/1h", "refill_rate": 1e999}', ""),
])
def test_a_rule_that_is_none_is_refused_and_nothing_changes(steady, body, says):
    before = steady.get("/v1/rules").body
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = steady.put("/v1/rules/first", data, 422)
    assert says in json.dumps(answer.json), answer.body
    assert steady.get("/v1/rules").body == before


@pytest.mark.parametrize("name", ["a b", "ü", "x/y", "a+b", "x" * 65, "%25"])
def test_a_name_that_no_rule_can_have_is_refused(admin, name):
    admin.put(f"/v1/rules/{part(name)}", RULE, 422)
    admin.get(f"/v1/rules/{part(name)}", 404)
    admin.delete(f"/v1/rules/{part(name)}", 404)
    longest = "x" * 64
    admin.put(f"/v1/rules/{longest}", RULE, 201)
    assert admin.rules()[-1] == longest


# ---- a dry run --------------------------------------------------------------------------

DRY = [
    ("PUT", "/v1/rules/made", RULE, "create"),
    ("PUT", "/v1/rules/first", limited("9/1h"), "replace"),
    ("DELETE", "/v1/rules/first", None, "hide"), ("DELETE", "/v1/rules/kept", None, "delete"),
    ("DELETE", "/v1/rules/kept?undo=true", None, "undo"),
    ("PUT", "/v1/tiers/gold", {"scale": 2}, "create"),
    ("PUT", "/v1/tiers/free", {"scale": 2}, "replace"), ("DELETE", "/v1/tiers/pro", None, "hide"),
    ("POST", "/v1/exemptions", {"kind": "user", "value": "u"}, "create"),
    ("POST", "/v1/exemptions", {"kind": "ip", "value": "192.0.2.0/24"}, "create"),
    ("POST", "/v1/exemptions", {"kind": "user", "value": "exempt"}, "replace"),
    ("DELETE", "/v1/exemptions", {"kind": "user", "value": "exempt"}, "delete"),
    ("PUT", "/v1/users/u", {"email_verified": True, "tier": "pro"}, "create"),
    ("PUT", "/v1/users/known", {"email_verified": False}, "replace"),
    ("DELETE", "/v1/users/known", None, "delete"),
    ("POST", "/v1/outcomes", [{"user": "known", "success": True}] * 3, None),
    ("PUT", "/v1/tenants/more", {}, "create"),
    ("PUT", "/v1/tenants/acme", {"tier": "pro"}, "replace"),
    ("DELETE", "/v1/tenants/acme", None, "delete"), ("POST", "/v1/tenants/acme/keys", {}, "create"),
    ("PUT", "/v1/tenants/acme/rules/own", limited("1/1h"), "replace"),
    ("DELETE", "/v1/tenants/acme/rules/own", None, "delete"),
    ("POST", "/v1/reset", {"rule": "first", "user": "u"}, None),
    ("POST", "/v1/reset", {"resource": "/first", "user": "u"}, None),
]


def dry(path):
    return f"{path}&dry_run=true" if "?" in path else f"{path}?dry_run=true"


def everything(admin):
    """All that lists show and decisions say."""
    looked = [admin.get(path).body for path in (
        "/v1/rules", "/v1/tiers", "/v1/exemptions", "/v1/tenants", "/v1/tenants/acme",
        "/v1/users/u", "/v1/users/known")]
    counts = [admin.remaining(rule, tenant="acme", user=user, resource=resource)
              for rule, user, resource in (("first", "u", "/first"), ("acme/own", "u", "/made"),
                                           ("first", "exempt", "/first"))]
    return looked, counts, dumped(database_of(admin.server))


def test_a_dry_run_changes_nothing(admin):
    admin.put("/v1/rules/kept", RULE)
    admin.put("/v1/users/known", {"email_verified": True})
    admin.put("/v1/tenants/acme", {})
    admin.put("/v1/tenants/acme/rules/own", RULE)
    admin.post("/v1/exemptions", {"kind": "user", "value": "exempt"})
    admin.spend(3, tenant="acme", user="u", resource="/first")
    admin.spend(2, tenant="acme", user="u", resource="/made")
    before = everything(admin)
    assert before[1][:2] == [2, 3]
    for method, path, body, would in DRY:
        answer = admin.call(method, dry(path), body, 200)
        assert (answer.json["dry_run"], answer.json.get("would")) == (True, would), path
        assert answer.headers["etag"] is None
        assert everything(admin) == before, (method, path)


def test_a_dry_run_makes_no_database(admin):
    for method, path, body, _ in DRY:
        admin.call(method, dry(path), body, (200, 404))
    assert not database_of(admin.server).exists()
    admin.put("/v1/rules/made", RULE)
    assert database_of(admin.server).exists()


def test_a_dry_run_says_what_would_happen(admin):
    answer = admin.put("/v1/rules/first?dry_run=true", limited("9/365d"), 200).json
    assert (answer["counts"], answer["replaces"]) == ("kept", "file")
    assert answer["rule"]["limit"] == "9/365d"
    assert admin.put("/v1/rules/new?dry_run=true", RULE, 200).json["counts"] == "new"
    assert admin.delete("/v1/rules/first?dry_run=true").json["now"] is None
    refused = admin.put("/v1/rules/wrong?dry_run=true", WRONG, 422).json
    assert refused["errors"] == admin.put("/v1/rules/wrong", WRONG, 422).json["errors"]
    admin.put("/v1/rules/first?dry_run=true", RULE, 412, if_match='"other"')
    admin.post("/v1/reset?dry_run=true", {"rule": "nobody", "user": "u"}, 404)
    admin.post("/v1/reset?dry_run=true", {"rule": "first"}, 422)  # counts by something not given


# ---- conditions -------------------------------------------------------------------------


def test_a_change_is_made_only_of_what_was_seen(admin):
    seen = admin.get("/v1/rules/first").headers["etag"]
    admin.put("/v1/rules/first", RULE, 412, if_match='"r99"')
    admin.put("/v1/rules/first", RULE, 412, if_none_match="*")
    admin.put("/v1/rules/new", RULE, 412, if_match="*")
    assert admin.get("/v1/rules/first").headers["etag"] == seen
    changed = admin.put("/v1/rules/first", RULE, 200, if_match=seen).headers["etag"]
    assert changed != seen
    admin.put("/v1/rules/first", limited("6/365d"), 412, if_match=seen)
    admin.delete("/v1/rules/first", 412, if_match=seen)
    admin.put("/v1/rules/first", limited("6/365d"), 412, if_match=f"W/{changed}")  # weak: never
    admin.put("/v1/rules/first", limited("6/365d"), 200, if_match=f'"x" , {changed}')
    admin.put("/v1/rules/first", limited("7/365d"), 200, if_match="*")
    admin.put("/v1/rules/new", RULE, 201, if_none_match="*")
    admin.put("/v1/rules/new", RULE, 412, if_none_match="*")
    assert admin.get("/v1/rules/first").json["rule"]["limit"] == "7/365d"


def test_a_tag_is_never_used_twice(admin):
    seen = set()
    for limit in range(1, 6):
        for step in ("PUT", "DELETE"):
            body = limited(f"{limit}/365d") if step == "PUT" else None
            answer = admin.call(step, "/v1/rules/made", body, (200, 201))
            if step == "PUT":
                assert answer.headers["etag"] not in seen
                seen.add(answer.headers["etag"])
        admin.put("/v1/rules/made", WRONG, 422)


# ---- what all rules of the linter say ---------------------------------------------------


def test_warnings_are_those_that_were_not_there_before(admin):
    admin.put("/v1/rules/anybody", {"per": "ip", "limit": "1000/1m"}, 201)
    twice = {"resource": "/first", "per": "user", "algorithm": "fixed_window", "limit": "50/365d"}
    told = admin.put("/v1/rules/twice", twice, 201).json["warnings"]
    assert len(told) == 1
    assert "`twice` never decides anything" in told[0]
    assert admin.put("/v1/rules/twice", twice, 200).json["warnings"] == []
    assert admin.put("/v1/rules/more", RULE, 201).json["warnings"] == []
    assert admin.put("/v1/rules/dry?dry_run=true", twice).json["warnings"] != []
