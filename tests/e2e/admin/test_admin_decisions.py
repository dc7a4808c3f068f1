"""What a changed rule does to decisions: at once, for all callers, and to what was counted."""

import threading
from pathlib import Path

import pytest

from admin_api import Caller, stopped
from program import run
from serving import Server
from watching import wait_until

WINDOW = {"resource": "/a", "per": "user", "algorithm": "fixed_window", "capacity": 10,
          "window": "365d"}
BUCKET = {"resource": "/a", "per": "user", "algorithm": "token_bucket", "capacity": 10,
          "refill_rate": 0.0001}
RULES = """
workers: 3
tiers: { free: {}, pro: { scale: 10 } }
rules:
  - { name: file, resource: /file, per: user, algorithm: fixed_window, limit: 10/365d }
"""


@pytest.fixture(name="admin")
def admin_of_a_server():
    with Server(RULES) as server:
        yield Caller(server)


# ---- what was counted -------------------------------------------------------------------

# A rule, what it is changed to, and how many of the 10 or 20 remain after 3 were taken.
EDITS = [
    (WINDOW, {}, "kept", 7),
    (WINDOW, {"capacity": 20}, "kept", 17),
    (WINDOW, {"capacity": 2}, "kept", 0),
    (WINDOW, {"resource": "/*"}, "kept", 7),
    (WINDOW, {"shadow": True}, "kept", 7),
    (WINDOW, {"tiers": {"pro": {"capacity": 9}}}, "kept", 7),
    (WINDOW, {"window": "364d"}, "afresh", 10),
    (WINDOW, {"align": "first_request"}, "afresh", 10),
    (WINDOW, {"algorithm": "sliding_window_counter"}, "afresh", 10),
    (WINDOW, {"algorithm": "sliding_window_log"}, "afresh", 10),
    ({**WINDOW, "algorithm": "sliding_window_log"}, {"capacity": 8}, "kept", 5),
    ({**WINDOW, "algorithm": "sliding_window_counter"}, {"capacity": 20}, "kept", 17),
    ({**WINDOW, "algorithm": "sliding_window_counter"}, {"window": "360d"}, "afresh", 10),
    (BUCKET, {"capacity": 20}, "kept", 17),
    (BUCKET, {"refill_rate": 0.0002}, "kept", None),  # time is kept, and a token takes less of it
    (BUCKET, {"algorithm": "leaky_bucket"}, "afresh", 10),
]


@pytest.mark.parametrize("rule, edit, counts, remains", EDITS)
def test_counts_are_kept_or_begin_afresh_as_the_answer_says(admin, rule, edit, counts, remains):
    assert admin.put("/v1/rules/made", rule, 201).json["counts"] == "new"
    admin.spend(3, user="u", resource="/a")
    assert admin.remaining("made", user="u", resource="/a") == 7
    for dry in ("?dry_run=true", ""):
        answer = admin.put(f"/v1/rules/made{dry}", {**rule, **edit}, 200)
        assert answer.json["counts"] == counts
    now = admin.remaining("made", user="u", resource="/a")
    assert 7 <= now < 10 if remains is None else now == remains
    again = admin.put("/v1/rules/made", {**rule, **edit}, 200)
    assert again.json["counts"] == "kept"
    assert admin.remaining("made", user="u", resource="/a") == now


def test_a_rule_that_was_hidden_counts_on(admin):
    admin.spend(3, user="u", resource="/file")
    admin.delete("/v1/rules/file")
    assert admin.remaining("file", user="u", resource="/file") is None
    admin.spend(20, user="u", resource="/file")  # no rule counts it
    admin.delete("/v1/rules/file?undo=true")
    assert admin.remaining("file", user="u", resource="/file") == 7


# ---- at once ----------------------------------------------------------------------------


def connections(server, count):
    """So many, all of them used before, on whatever workers they were given to."""
    made = [server.connection() for _ in range(count)]
    for connection in made:
        assert server.check({}, connection).status == 200
    return made


def test_the_next_request_anywhere_is_decided_by_the_new_rule(admin):
    server = admin.server
    others = connections(server, 8)
    for round_ in range(100):
        admin.put("/v1/rules/made", {**WINDOW, "capacity": 1000 + round_})
        for connection in others:
            answer = server.check({"user": "u", "resource": "/a", "peek": True}, connection)
            assert answer.json["limit"] == 1000 + round_
        admin.delete("/v1/rules/made")
        for connection in others:
            answer = server.check({"user": "u", "resource": "/a", "peek": True}, connection)
            assert answer.json["rule"] is None
    for connection in others:
        connection.close()


def test_a_user_a_key_and_an_exemption_are_in_force_at_once_too(admin):
    server = admin.server
    others = connections(server, 6)
    admin.put("/v1/tenants/acme", {})
    for round_ in range(20):
        who = {"user": f"u{round_}", "resource": "/file", "peek": True}
        admin.put(f"/v1/users/u{round_}", {"limits": {"file": {"capacity": 77}}}, 201)
        assert [server.check(who, other).json["limit"] for other in others] == [77] * 6
        admin.post("/v1/exemptions", {"kind": "user", "value": f"u{round_}"}, 201)
        assert {server.check(who, other).json["reason"] for other in others} == {"exempt"}
        admin.delete("/v1/exemptions", 200, {"kind": "user", "value": f"u{round_}"})
        admin.delete(f"/v1/users/u{round_}")
        assert [server.check(who, other).json["limit"] for other in others] == [10] * 6
        made = admin.post("/v1/tenants/acme/keys", {}, 201).json
        fields = {"X-API-Key": made["key"]}
        told = [server.ask("POST", "/v1/check", who, fields, other).status for other in others]
        assert told == [200] * 6
        admin.delete(f"/v1/tenants/acme/keys/{made['id']}")
        assert server.ask("POST", "/v1/check", who, fields, others[round_ % 6]).status == (
            401 if round_ < 10 else 429)  # Sluice limits guessing
    for connection in others:
        connection.close()


def test_deciding_goes_on_while_rules_change(admin):
    """By the rules before or after; no request waits for ever, and none is lost."""
    server, found, is_over = admin.server, [], threading.Event()

    def ask():
        connection = server.connection()
        while not is_over.is_set():
            answer = server.check({"user": "u", "resource": "/a", "peek": True}, connection)
            found.append((answer.status, answer.json["limit"]))
        connection.close()

    asking = [threading.Thread(target=ask) for _ in range(3)]
    for thread in asking:
        thread.start()
    limits = range(1000, 1060)
    try:
        for limit in limits:
            admin.put("/v1/rules/made", {**WINDOW, "capacity": limit})
    finally:
        is_over.set()
        for thread in asking:
            thread.join()
    assert {status for status, _ in found} == {200}
    assert {limit for _, limit in found} <= {*limits, None}
    assert len(found) > 60


# ---- restarts and reloads ---------------------------------------------------------------


def change_much(admin):
    admin.put("/v1/tiers/gold", {"scale": 3})
    admin.put("/v1/tiers/pro", {"scale": 20})
    admin.put("/v1/rules/made", {**WINDOW, "tiers": {"gold": {"capacity": 44}}})
    admin.put("/v1/rules/other", BUCKET)
    admin.delete("/v1/rules/file")
    admin.put("/v1/tenants/acme", {"tier": "gold"})
    admin.put("/v1/tenants/acme/rules/own", WINDOW)
    admin.post("/v1/tenants/acme/keys", {"label": "ci", "sha256": "5f" * 32})
    admin.put("/v1/users/u?tenant=acme", {"created_at": 5, "limits": {"made": {"capacity": 6}}})
    admin.post("/v1/exemptions", {"kind": "ip", "value": "192.0.2.0/24", "reason": "a test"})
    admin.post("/v1/outcomes", [{"user": "u", "tenant": "acme", "success": True}] * 4)


LISTS = ("/v1/rules", "/v1/tiers", "/v1/exemptions", "/v1/tenants", "/v1/tenants/acme",
         "/v1/tenants/acme/rules", "/v1/users/u?tenant=acme")


def seen(admin):
    """Lists, but for the age of an account, which goes on."""
    found = [admin.get(path).json for path in LISTS]
    del found[-1]["trust"]["age"]
    return found


def test_changes_survive_a_restart(tmp_path):
    with Server(RULES, folder=tmp_path) as server:
        change_much(Caller(server))
        before = seen(Caller(server))
        stopped(server)
    with Server(RULES, folder=tmp_path) as server:
        admin = Caller(server)
        assert seen(admin) == before
        assert admin.remaining("made", resource="/a", user="u", tenant="acme") == 6
        assert admin.remaining("made", resource="/a", user="x", tier="gold") == 44
        admin.put("/v1/rules/last", WINDOW, 201)
        assert admin.rules() == ["made", "other", "own", "last"]


def test_changes_survive_a_reload_of_the_file(tmp_path):
    with Server(RULES, folder=tmp_path) as server:
        admin = Caller(server)
        change_much(admin)
        before = seen(admin)
        server.write_rules(RULES + "  - { name: second, per: ip, limit: 5/1h }\n")
        assert admin.post("/v1/reload", None).json == {"reloaded": True, "rules": 4}
        listed = admin.get("/v1/rules").json
        assert [rule["name"] for rule in listed["rules"]] == ["second", "made", "other", "own"]
        assert listed["hidden"] == ["file"]
        assert seen(admin)[1:] == before[1:]


def test_a_replacement_stays_where_the_file_loses_its_rule_and_finds_its_place_again(tmp_path):
    head, rule = RULES.split("rules:\n")
    other = "  - { name: second, per: ip, limit: 5/1h }\n"
    with Server(f"{head}rules:\n{rule}{other}", folder=tmp_path) as server:
        admin = Caller(server)
        admin.put("/v1/rules/file", WINDOW)
        assert admin.rules() == ["file", "second"]
        server.write_rules(f"{head}rules:\n{other}")
        admin.post("/v1/reload", None)
        assert admin.rules() == ["second", "file"]
        alone = admin.get("/v1/rules/file").json
        assert (alone["source"], alone["replaces"]) == ("api", None)
        server.write_rules(f"{head}rules:\n{rule}{other}")
        admin.post("/v1/reload", None)
        assert admin.rules() == ["file", "second"]
        admin.delete("/v1/rules/file")
        server.write_rules(f"{head}rules:\n{other}")
        admin.post("/v1/reload", None)
        assert admin.get("/v1/rules").json["hidden"] == []  # nothing of the file's is hidden


def test_a_file_that_lost_a_tier_in_use_is_refused(tmp_path):
    less = RULES.replace(", pro: { scale: 10 }", "")
    with Server(RULES, folder=tmp_path) as server:
        admin = Caller(server)
        admin.put("/v1/rules/made", {**WINDOW, "tiers": {"pro": {"capacity": 44}}})
        server.write_rules(less)
        answer = admin.post("/v1/reload", None, 422).json
        assert any("pro" in error["detail"] for error in answer["errors"])
        assert any("made" in error["subject"] for error in answer["errors"])
        wait_until(lambda: "`pro`" in server.stderr, "the reason")
        assert admin.remaining("made", resource="/a", user="x", tier="pro") == 44
        stopped(server)
        done = run("serve", "-c", server.rules_file)
        assert done.code not in (0, None)
        assert "`pro`" in done.err
        assert "made" in done.err
        server.write_rules(RULES)
    with Server(RULES, folder=tmp_path) as server:
        assert Caller(server).remaining("made", resource="/a", user="x", tier="pro") == 44


def test_a_reload_of_a_wrong_file_tells_every_problem_and_leaves_the_rules(admin):
    server = admin.server
    before = admin.get("/v1/rules").body
    server.write_rules(RULES + "  - { name: more, per: user, limit: many }\n  - { per: user }\n")
    answer = admin.post("/v1/reload", None, 422).json
    told = run("lint", server.rules_file).out
    assert len(answer["errors"]) >= 2
    for error in answer["errors"]:
        assert f":{error['line']}:{error['column']}: " in told
        assert error["detail"] in told
    assert admin.get("/v1/rules").body == before
    assert admin.remaining("file", user="u", resource="/file") == 10
    server.write_rules(RULES + "  - { name: more, per: user, limit: 5/1h }\n")
    assert admin.post("/v1/reload", None).json == {"reloaded": True, "rules": 2}
    assert admin.rules() == ["file", "more"]


def test_a_reload_of_a_file_that_is_gone_leaves_the_rules(admin):
    Path(admin.server.rules_file).unlink()
    answer = admin.post("/v1/reload", None, 422).json
    assert admin.server.rules_file in str(answer)
    assert admin.rules() == ["file"]


# ---- reset ------------------------------------------------------------------------------


def test_a_reset_forgets_the_counts_of_those_identifiers_alone(admin):
    admin.put("/v1/rules/made", {**WINDOW, "resource": "/file"})
    for user in ("u1", "u2"):
        admin.spend(3, user=user, resource="/file")
    assert admin.post("/v1/reset", {"rule": "file", "user": "u1"}).json == {"reset": ["file"]}
    left = {(rule, user): admin.remaining(rule, user=user, resource="/file")
            for rule in ("file", "made") for user in ("u1", "u2")}
    assert left == {("file", "u1"): 10, ("file", "u2"): 7, ("made", "u1"): 7, ("made", "u2"): 7}
    both = admin.post("/v1/reset", {"user": "u2", "resource": "/file"}).json["reset"]
    assert sorted(both) == ["file", "made"]
    assert admin.remaining("made", user="u2", resource="/file") == 10
    assert admin.post("/v1/reset", {"user": "u2", "resource": "/none"}).json == {"reset": []}
    admin.post("/v1/reset", {"rule": "nobody", "user": "u1"}, 404)
    admin.post("/v1/reset", {"rule": "file"}, 422)
    admin.post("/v1/reset", {"rule": "file", "ip": "192.0.2.1"}, 422)


def test_a_user_that_is_exempt_by_now_can_be_reset(admin):
    admin.spend(3, user="u1", resource="/file")
    admin.post("/v1/exemptions", {"kind": "user", "value": "u1"}, 201)
    assert admin.post("/v1/reset", {"user": "u1", "resource": "/file"}).json == {"reset": ["file"]}
    admin.delete("/v1/exemptions?kind=user&value=u1")
    assert admin.remaining("file", user="u1", resource="/file") == 10


def test_a_reset_ends_a_block(admin):
    guard = {"window": "100ms", "threshold": 2, "penalty": "1h"}
    admin.put("/v1/rules/made", {**WINDOW, "capacity": 1000000, "burst_guard": guard})
    who = {"user": "u", "resource": "/a"}
    wait_until(lambda: admin.post("/v1/check", who, (200, 429)).status == 429, "a block")
    assert admin.post("/v1/check", who, 429).json["reason"] == "burst_blocked"
    assert admin.post("/v1/reset", {"rule": "made", **who}).json == {"reset": ["made"]}
    assert admin.post("/v1/check", who, 200).json["remaining"] == 999999
