"""The audit log: what was changed by which caller, as lines of a file and at /v1/audit."""

import hashlib
import re
import signal

import pytest
from audit_log import RULES, audited, chained, events, last, lines_of
from admin_api import Caller, part
from redis_running import Redis
from serving import Server
from watching import wait_until

COMMON = {"at", "event", "severity", "tenant", "identifier", "limit_type", "resource", "rule"}


@pytest.fixture(name="path")
def _path(tmp_path):
    return tmp_path / "audit.jsonl"


@pytest.fixture(name="server")
def _server(path):
    with Server(audited(path)) as server:
        yield server


@pytest.fixture(name="admin")
def _admin(server):
    return Caller(server)


# ---- changes by the API ----


def test_a_rule_that_is_changed_is_a_line_with_what_it_was_and_is(admin, path):
    rule = {"per": "user", "limit": "7/1h"}
    admin.put("/v1/rules/new", rule, 201)
    first = last(path)
    assert COMMON < set(first)
    assert (first["event"], first["severity"]) == ("rate_limit_config_updated", "info")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", first["at"])
    assert (first["actor"], first["change"], first["subject"]) == ("local", "create", "rule")
    assert (first["rule"], first["tenant"], first["before"]) == ("new", None, None)
    assert first["after"] == admin.get("/v1/rules/new").json["rule"]
    admin.put("/v1/rules/new", {**rule, "limit": "8/1h"}, 200)
    second = last(path)
    assert (second["change"], second["before"]) == ("replace", first["after"])
    assert second["after"]["limit"] == "8/1h"
    admin.delete("/v1/rules/new")
    third = last(path)
    assert (third["change"], third["before"], third["after"]) == ("delete", second["after"], None)
    admin.delete("/v1/rules/api")
    assert (last(path)["change"], last(path)["rule"]) == ("hide", "api")
    admin.delete("/v1/rules/api?undo=true")
    assert (last(path)["change"], last(path)["rule"], last(path)["before"]) == ("undo", "api", None)
    assert last(path)["after"]["limit"] == "5/1h"
    assert chained(lines_of(path)) == len(lines_of(path)) == 5


def test_tiers_tenants_keys_and_users_are_noted(admin, path):
    admin.put("/v1/tiers/gold", {"scale": 3}, 201)
    tier = last(path)
    assert (tier["subject"], tier["name"], tier["rule"]) == ("tier", "gold", None)
    assert (tier["before"], tier["after"]) == (None, {"scale": 3})
    admin.put("/v1/tenants/acme", {"tier": "gold"}, 201)
    tenant = last(path)
    assert (tenant["subject"], tenant["tenant"], tenant["change"]) == ("tenant", "acme", "create")
    assert tenant["after"] == {"tier": "gold", "keys": 0}
    key = admin.post("/v1/tenants/acme/keys", {"label": "ci"}, 201).json
    made = last(path)
    assert (made["subject"], made["name"], made["tenant"]) == ("key", key["id"], "acme")
    assert (made["before"], made["after"]) == (None, {"label": "ci", "tier": None})
    assert key["key"] not in path.read_text()
    admin.put("/v1/users/u1?tenant=acme", {"tier": "gold", "limits": {"api": {"capacity": 9}}}, 201)
    user = last(path)
    assert (user["subject"], user["identifier"], user["tenant"]) == ("user", "u1", "acme")
    assert user["after"] == {"tier": "gold", "limits": {"api": {"capacity": 9}}}
    admin.delete("/v1/users/u1?tenant=acme")
    assert (last(path)["change"], last(path)["before"]) == ("delete", user["after"])
    admin.delete(f"/v1/tenants/acme/keys/{key['id']}")
    assert (last(path)["change"], last(path)["name"]) == ("delete", key["id"])
    admin.delete("/v1/tenants/acme")
    assert (last(path)["change"], last(path)["subject"]) == ("delete", "tenant")
    assert chained(lines_of(path)) == 7


def test_facts_of_users_are_no_change_of_the_configuration(admin, path):
    admin.put("/v1/users/u1", {"email_verified": True}, 201)
    admin.put("/v1/users/u1", {"created_at": 1700000000}, 200)
    admin.delete("/v1/users/u1")
    assert lines_of(path) == []


def test_exemptions_come_and_go(admin, path):
    body = {"kind": "user", "value": "acme/root", "until": "2126-01-01T00:00:00Z", "reason": "why"}
    admin.post("/v1/exemptions", body, 201)
    added = last(path)
    assert (added["event"], added["severity"]) == ("rate_limit_whitelist_added", "info")
    assert (added["kind"], added["value"], added["reason"]) == ("user", "acme/root", "why")
    assert (added["until"], added["actor"]) == ("2126-01-01T00:00:00.000000Z", "local")
    assert (added["tenant"], added["identifier"]) == ("acme", "root")
    admin.delete("/v1/exemptions?kind=user&value=acme/root")
    removed = last(path)
    assert removed["event"] == "rate_limit_whitelist_removed"
    assert (removed["kind"], removed["value"], removed["reason"]) == ("user", "acme/root", "why")
    admin.post("/v1/exemptions", {"kind": "ip", "value": "192.0.2.0/24"}, 201)
    assert (last(path)["value"], last(path)["until"], last(path)["tenant"]) == (
        "192.0.2.0/24", None, None)
    assert chained(lines_of(path)) == 3


def test_a_reset_is_noted_with_its_user_and_rule(admin, path):
    admin.spend(2, user="u1", resource="/api/x", ip="192.0.2.1")
    admin.post("/v1/reset", {"user": "u1", "resource": "/api//x"}, 200)
    reset = last(path)
    assert (reset["event"], reset["severity"]) == ("rate_limit_reset", "info")
    assert (reset["rules"], reset["user"], reset["ip"]) == (["api"], "u1", None)
    assert (reset["identifier"], reset["resource"], reset["rule"]) == ("u1", "/api/x", None)
    admin.post("/v1/reset", {"rule": "all", "ip": "192.0.2.1"}, 200)
    assert (last(path)["rule"], last(path)["rules"], last(path)["identifier"]) == (
        "all", ["all"], "192.0.2.1")
    admin.post("/v1/reset", {"client": "nobody"}, 200)  # no rule counts by that
    assert chained(lines_of(path)) == 2


def test_dry_runs_and_what_is_refused_leave_nothing(admin, path):
    admin.put("/v1/rules/new?dry_run=true", {"per": "user", "limit": "7/1h"}, 200)
    admin.post("/v1/exemptions?dry_run=true", {"kind": "ip", "value": "192.0.2.1"}, 200)
    admin.post("/v1/reset?dry_run=true", {"user": "u1", "resource": "/api/x"}, 200)
    admin.put("/v1/rules/new", {"per": "user", "limit": "x"}, 422)
    admin.put("/v1/rules/api", {"per": "user", "limit": "7/1h"}, 412, if_match='"other"')
    admin.delete("/v1/rules/none", 404)
    admin.delete("/v1/exemptions?kind=ip&value=192.0.2.1", 404)
    admin.post("/v1/reset", {"rule": "api"}, 422)
    assert lines_of(path) == []


def test_a_reset_that_fails_half_way_is_told_as_far_as_it_went(path):
    """Redis lets us at the keys of the first rule alone."""
    rules = "rules: [{ name: one, per: user, limit: 5/1h }, { name: two, per: user, limit: 5/1h }]\n"
    with Redis() as redis, redis.client() as client:
        with Server(audited(path, rules, f"store: {redis.url()}\nstore_deadline: 10s\n")) as server:
            client.execute_command("ACL", "SETUSER", "default", "resetkeys", "~rl:-:one:*", "~rl:~*")
            Caller(server).post("/v1/reset", {"user": "u1"}, 503)
            reset = [event for event in events(path) if event["event"] == "rate_limit_reset"]
            client.execute_command("ACL", "SETUSER", "default", "allkeys")
    assert [event["rules"] for event in reset] == [["one"]]


def test_identifiers_are_digests_where_they_have_to_be(path):
    with Server(audited(path, more="hash_identifiers: true\n")) as server:
        admin = Caller(server)
        admin.post("/v1/exemptions", {"kind": "user", "value": "acme/bob"}, 201)
        admin.post("/v1/exemptions", {"kind": "ip", "value": "192.0.2.77"}, 201)
        admin.post("/v1/reset", {"user": "bob", "ip": "192.0.2.77", "resource": "/api"}, 200)
        admin.put("/v1/users/bob", {"tier": "pro"}, 201)
    def digest(text):
        return hashlib.sha256(text.encode()).hexdigest()
    user, address, reset, changed = events(path)
    assert user["value"] == f"acme/{digest('bob')}"
    assert address["value"] == address["identifier"] == digest("192.0.2.77")
    assert (reset["user"], reset["ip"]) == (digest("bob"), digest("192.0.2.77"))
    assert changed["identifier"] == changed["name"] == digest("bob")
    assert "bob" not in path.read_text() and "192.0.2.77" not in path.read_text()


def test_the_caller_is_written_down(path, tmp_path):
    (tmp_path / "token").write_text("secret-token-of-the-admin\n")
    more = f"admin: {{ token_file: {tmp_path}/token }}\n"
    with Server(audited(path, more=more)) as server:
        admin = Caller(server, authorization="Bearer secret-token-of-the-admin")
        admin.put("/v1/tenants/acme", {"tier": "pro"}, 201)
        key = admin.post("/v1/tenants/acme/keys", {}, 201).json["key"]
        tenant = Caller(server, x_api_key=key)
        tenant.put("/v1/rules/own", {"per": "user", "limit": "3/1h"}, 201)
        tenant.post("/v1/reset", {"rule": "own", "user": "u1"}, 200)
        server.write_rules(audited(path, RULES.replace("5/1h", "6/1h"), more))
        admin.post("/v1/reload", None, 200)
    found = events(path)
    assert [event["actor"] for event in found] == ["admin", "admin", "tenant:acme", "tenant:acme",
                                                   "admin"]
    assert (found[2]["rule"], found[2]["tenant"]) == ("acme/own", "acme")
    assert (found[3]["rule"], found[3]["tenant"]) == ("acme/own", "acme")
    assert found[4]["change"] == "reload"
    assert chained(lines_of(path)) == 5


# ---- reloads ----


def test_a_reload_is_noted_with_every_rule_that_is_another(server, path):
    server.write_rules(audited(path, """
tiers: { pro: { scale: 3 } }
rules:
  - { name: api, resource: /api/*, per: user, limit: 6/1h }
  - { name: more, per: user, limit: 9/1h }
"""))
    wait_until(lambda: events(path), "the change of the file is seen")
    event = last(path)
    assert (event["actor"], event["change"], event["subject"]) == ("file", "reload", "rules")
    assert event["changes_total"] == 4
    changes = {(each["subject"], each["name"]): each for each in event["changes"]}
    assert changes["tier", "pro"]["change"] == "replace"
    assert changes["tier", "pro"]["after"] == {"scale": 3}
    assert changes["rule", "api"]["before"]["limit"] == "5/1h"
    assert changes["rule", "api"]["after"]["limit"] == "6/1h"
    assert changes["rule", "more"]["change"] == "create"
    assert (changes["rule", "all"]["change"], changes["rule", "all"]["after"]) == ("delete", None)
    text = open(server.rules_file, "rb").read()
    assert event["after"] == {"sha256": hashlib.sha256(text).hexdigest()}
    assert event["before"] != event["after"]


def test_a_reload_that_changes_nothing_or_fails_is_not(server, admin, path):
    admin.post("/v1/reload", None, 200)
    server.write_rules("rules: [ { name: broken } ]")
    wait_until(lambda: "not reloaded" in server.stderr, "the file is refused")
    admin.post("/v1/reload", None, 422)
    assert lines_of(path) == []


def test_ten_thousand_new_rules_are_one_line_of_bounded_length(server, path):
    many = "".join(f"  - {{ name: r{i}, per: user, limit: {i + 1}/1h }}\n" for i in range(10000))
    server.write_rules(audited(path, f"rules:\n{many}"))
    wait_until(lambda: events(path), "the change of the file is seen")
    event, = events(path)
    assert event["changes_total"] == 10000 + 3
    assert 100 < len(event["changes"]) < 1000
    assert len(lines_of(path)[0]) < 65536


def test_what_another_process_changed_is_noted(tmp_path, path):
    database = f"database: {tmp_path}/shared.db\n"
    other_path = tmp_path / "other.jsonl"
    with Server(audited(path, more=database)) as server, \
            Server(audited(other_path, more=database)) as other:
        Caller(other).put("/v1/rules/api", {"per": "user", "limit": "6/1h"}, 200)
        wait_until(lambda: events(path), "it is taken over")
        assert Caller(server).get("/v1/rules/api").json["rule"]["limit"] == "6/1h"
    event = last(path)
    assert (event["actor"], event["change"]) == ("other process", "reload")
    assert [each["name"] for each in event["changes"]] == ["api"]
    assert (last(other_path)["actor"], last(other_path)["change"]) == ("local", "replace")


# ---- whatever is in a name ----

ODD = ['"quotes" and \\ backslashes', "<script>alert(1)</script>", "\u2028\u2029 lines",
       "\u0085 next", "é€😀", "'; drop table--", '"}, "chain": {"n": 1}}']


@pytest.mark.parametrize("text", ODD)
def test_odd_texts_stay_what_they_are_on_one_line(admin, path, text):
    admin.post("/v1/exemptions", {"kind": "client", "value": text, "reason": text}, 201)
    admin.put(f"/v1/users/{part(text)}", {"tier": "pro"}, (201, 400))
    first = events(path)[0]
    assert (first["reason"], first["value"]) == (text, text)
    assert all(len(line.splitlines()) == 1 for line in lines_of(path))
    assert chained(lines_of(path)) == len(lines_of(path))
    asked = admin.get("/v1/audit?event=rate_limit_whitelist_added").json["events"]
    assert asked[0]["reason"] == text


def test_controls_get_into_a_reset_and_come_out_escaped(admin, path):
    user = "a\n\x1b[31m\x7f\x00b"
    admin.post("/v1/reset", {"user": user, "resource": "/api/x"}, 200)
    assert last(path)["identifier"] == last(path)["user"] == user
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", path.read_bytes())
    assert chained(lines_of(path)) == 1


def test_bytes_that_are_no_text_never_get_as_far(admin, path):
    admin.post("/v1/reset", b'{"user": "a\xff\xfeb", "resource": "/api/x"}', 400)
    admin.put("/v1/users/a%ff", {"tier": "pro"}, 400)
    assert lines_of(path) == []


# ---- /v1/audit ----


def test_recent_events_are_found_by_what_they_are_about(admin, path):
    admin.put("/v1/rules/one", {"per": "user", "limit": "7/1h"}, 201)
    admin.put("/v1/tenants/acme", {}, 201)
    admin.put("/v1/users/u1?tenant=acme", {"tier": "pro"}, 201)
    admin.post("/v1/exemptions", {"kind": "user", "value": "acme/u1"}, 201)

    def found(query):
        return [event["chain"]["n"] for event in admin.get(f"/v1/audit?{query}").json["events"]]

    assert found("") == [4, 3, 2, 1]  # the newest first
    assert found("event=rate_limit_config_updated") == [3, 2, 1]
    assert found("severity=info") == [4, 3, 2, 1]
    assert found("severity=error") == []
    assert found("rule=one") == [1]
    assert found("tenant=acme") == [4, 3, 2]
    assert found("identifier=u1") == [4, 3]
    assert found("identifier=u1&event=rate_limit_config_updated") == [3]
    assert found("limit=2") == [4, 3]
    at = events(path)[2]["at"]
    assert found(f"since={part(at)}") == [4, 3]
    assert found("since=2126-01-01T00:00:00Z") == []
    assert found("since=4922467200000000") == []
    assert found("since=1") == [4, 3, 2, 1]
    whole = admin.get("/v1/audit").json
    assert whole["events"] == list(reversed(events(path)))
    assert (whole["kept"], whole["written"], whole["dropped"], whole["failed"]) == (4, 4, 0, 0)
    assert whole["chain"] == {"n": 4, "hash": events(path)[3]["chain"]["hash"]}


@pytest.mark.parametrize("query", ["event=none", "severity=bad", "limit=0", "limit=1001", "limit=x",
                                   "since=yesterday", "since=-1", "other=1", "dry_run=true",
                                   "rule=a&rule=b", "rule=%ff", "since=99999999999999999999"])
def test_what_cannot_be_asked_for_is_refused(admin, query):
    admin.get(f"/v1/audit?{query}", 422)


def test_readers_may_look_and_tenants_may_not(path, tmp_path):
    (tmp_path / "token").write_text("secret-token-of-the-admin\n")
    (tmp_path / "reader").write_text("secret-token-of-a-reader\n")
    more = f"admin: {{ token_file: {tmp_path}/token, readonly_token_file: {tmp_path}/reader }}\n"
    with Server(audited(path, more=more)) as server:
        admin = Caller(server, authorization="Bearer secret-token-of-the-admin")
        admin.put("/v1/tenants/acme", {}, 201)
        key = admin.post("/v1/tenants/acme/keys", {}, 201).json["key"]
        reader = Caller(server, authorization="Bearer secret-token-of-a-reader")
        assert len(reader.get("/v1/audit").json["events"]) == 2
        Caller(server, x_api_key=key).get("/v1/audit", 403)
        Caller(server).get("/v1/audit", 401)
        admin.call("POST", "/v1/audit", {}, 405)


def test_without_a_log_recent_events_are_kept_all_the_same(tmp_path):
    with Server(RULES) as server:
        admin = Caller(server)
        admin.put("/v1/rules/one", {"per": "user", "limit": "7/1h"}, 201)
        whole = admin.get("/v1/audit").json
    assert [event["rule"] for event in whole["events"]] == ["one"]
    assert "chain" not in whole["events"][0]
    assert (whole["kept"], whole["written"], whole["chain"]) == (1, 0, None)
    assert not list(tmp_path.iterdir())


def test_the_chain_of_standard_output_begins_with_every_start():
    for _ in range(2):
        with Server("audit: stdout\n" + RULES) as server:
            admin = Caller(server)
            admin.put("/v1/rules/one", {"per": "user", "limit": "7/1h"}, 201)
            admin.delete("/v1/rules/one")
            lines = []
            while len(lines) < 2:
                line = server.lines.get(timeout=30)
                if line.startswith("{"):
                    lines.append(line + "\n")
            assert chained(lines) == 2
            assert admin.get("/v1/audit").json["chain"]["n"] == 2


def test_a_head_that_cannot_be_made_is_said_at_the_start(tmp_path):
    (tmp_path / "audit.jsonl.chain").mkdir()
    with pytest.raises(AssertionError, match="audit.jsonl.chain"):
        Server(audited(tmp_path / "audit.jsonl"))


def test_hangups_with_nothing_changed_say_nothing(server, admin, path):
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "reloaded" in server.stderr, "it is heard")
    assert admin.get("/v1/audit").json["events"] == []
    assert lines_of(path) == []
