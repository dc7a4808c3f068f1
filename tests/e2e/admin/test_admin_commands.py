"""The admin commands against the real server: a change by a command is a change in decisions.

What they do with servers that are none: test_admin_client.py. Windows are so long that nothing
comes back while a test looks.
"""

import json
import re

import pytest

import certificates
from admin_commands import ask
from serving import ANY_PORT, Server
from watching import https_port

TOKEN = "the-admin-s-token-0123456789"
READER = "the-reader-s-token-0123456789"
RULES = """
tiers: { pro: { scale: 10 } }
exempt: { ips: [192.0.2.0/24] }
rules:
  - { name: api, resource: /api/*, per: user, algorithm: fixed_window, limit: 2/365d }
  - { name: login, resource: /login, per: ip, algorithm: fixed_window, limit: 1/365d }
"""
THREE = '{"resource": "/api/*", "per": "user", "algorithm": "fixed_window", "limit": "3/365d"}'


class Admin:
    """Commands to one server."""

    def __init__(self, server, **variables):
        self.server, self.variables = server, variables

    def __call__(self, *arguments, code=0, **more):
        done = ask(*arguments, server=self.server.addresses[0], **{**self.variables, **more})
        assert done.code == code, done.out + done.err
        assert code == 0 or done.err.startswith(f"sluice {' '.join(arguments[:1])}")
        return done

    def json(self, *arguments):
        return json.loads(self(*arguments, "--json").out)

    def allowed(self, **request):
        return self.server.check(request).json["allowed"]


@pytest.fixture(name="server")
def a_server():
    with Server(RULES) as server:
        yield server


@pytest.fixture(name="admin")
def an_admin(server):
    return Admin(server)


def with_tokens(folder):
    (folder / "token").write_text(f"{TOKEN}\n", encoding="ascii")
    (folder / "reader").write_text(f"{READER}\n", encoding="ascii")
    return f"admin: {{ token_file: token, readonly_token_file: reader }}\n{RULES}"


def names(text):
    """The first column of a table, without its heading."""
    return [line.split()[0] for line in text.splitlines()[1:] if line]


def etag(admin, name):
    return admin.json("rules", "get", name)["etag"]


# ---- rules ------------------------------------------------------------------------------


def test_rules_are_listed_got_set_and_deleted(admin):
    assert names(admin("rules", "list").out) == ["api", "login"]
    assert admin("rules", "set", "more", '{"per": "user", "limit": "9/365d"}').out.startswith(
        "rule `more` created (etag ")
    assert names(admin("rules", "list").out) == ["api", "login", "more"]
    got = json.loads(admin("rules", "get", "more").out)
    assert (got["source"], got["rule"]["limit"]) == ("api", "9/365d")
    assert admin("rules", "delete", "more").out == "rule `more` deleted\n"
    assert names(admin("rules", "list").out) == ["api", "login"]
    admin("rules", "get", "more", code=1)
    admin("rules", "delete", "more", code=1)


def test_a_rule_is_in_force_when_the_command_ends(admin):
    request = {"resource": "/api/x", "user": "u1"}
    assert [admin.allowed(**request) for _ in range(3)] == [True, True, False]
    assert "counts are kept" in admin("rules", "set", "api", THREE).out
    assert [admin.allowed(**request) for _ in range(2)] == [True, False]
    assert "its counts start afresh" in admin("rules", "set", "api",
                                              THREE.replace("365d", "364d")).out
    assert [admin.allowed(**request) for _ in range(4)] == [True, True, True, False]


def test_a_rule_of_the_file_is_hidden_and_brought_back(admin):
    admin("rules", "delete", "api")
    listed = admin("rules", "list").out
    assert names(listed)[:1] == ["login"] and "hidden, of the file: api (" in listed
    assert admin("rules", "delete", "api", "--undo").out == (
        "change of rule `api` taken back; now the file's is in force\n")
    assert names(admin("rules", "list").out) == ["api", "login"]
    admin("rules", "set", "api", THREE)
    assert "api, replaces file" in admin("rules", "list").out
    admin("rules", "delete", "api", "--undo")
    assert "replaces" not in admin("rules", "list").out


def test_a_dry_run_changes_nothing(admin):
    before = admin("rules", "list", "--json").out
    assert admin("rules", "set", "api", THREE, "--dry-run").out == (
        "dry run: rule `api` would be replaced; it would stand in for the file's; "
        "counts would be kept\n")
    assert admin("rules", "set", "more", THREE, "--dry-run").out == (
        "dry run: rule `more` would be created\n")
    assert admin("rules", "delete", "api", "--dry-run").out == (
        "dry run: rule `api` would be deleted; it is the file's, and would be hidden: "
        "`--undo` brings it back\n")
    admin("rules", "set", "more", '{"per": 7}', "--dry-run", code=1)
    assert admin("tier", "set", "gold", '{"scale": 2}', "--dry-run").out == (
        "dry run: tier `gold` would be created\n")
    assert admin("exempt", "add", "user", "root", "--dry-run").out == (
        "dry run: user root would be exempt\n")
    assert admin("user", "set", "u1", '{"email_verified": true}', "--dry-run").out == (
        "dry run: user `u1` would be created\n")
    assert admin("tenant", "set", "acme", "--no-tier", "--dry-run").out == (
        "dry run: tenant `acme` would be created\n")
    assert admin("rules", "list", "--json").out == before
    assert names(admin("tier", "list").out) == ["pro"]
    assert names(admin("exempt", "list").out) == ["ip"]
    assert admin.json("user", "show", "u1")["known"] is False
    assert names(admin("tenant", "list").out) == []


def test_every_problem_of_a_rule_is_said(admin, tmp_path):
    wrong = '{"per": "user",\n "limit": "7/x",\n "foo": 1}'
    said = admin("rules", "set", "more", wrong, code=1).err.splitlines()
    assert said[0] == "sluice rules set: the server said no (422)"
    assert re.match(r"  rule `more`, line 2, column \d+: .*limit", said[1])
    assert re.match(r"  rule `more`, line 3, column \d+: .*foo", said[2])
    file = tmp_path / "rule.json"
    file.write_text(wrong, encoding="utf-8")
    said = admin("rules", "set", "more", "--file", file, code=1).err.splitlines()
    assert [line.partition(": ")[0].rpartition(":")[0] for line in said[1:]] == [
        f"{file}:2", f"{file}:3"]
    assert "(400)" in admin("rules", "set", "more", '{"per": ', code=1).err
    assert "(422)" in admin("rules", "set", "mo re", THREE, code=1).err


def test_of_two_edits_at_once_the_second_is_refused(admin):
    seen_by_both = etag(admin, "api")
    admin("rules", "set", "api", THREE, "--if-match", seen_by_both)
    late = admin("rules", "set", "api", THREE.replace("3/", "4/"), "--if-match", seen_by_both,
                 code=1)
    assert "(412)" in late.err
    assert admin.json("rules", "get", "api")["rule"]["limit"] == "3/365d"
    admin("rules", "delete", "api", "--if-match", seen_by_both, code=1)
    again = etag(admin, "api").strip('"')  # as a shell hands it on
    admin("rules", "set", "api", THREE.replace("3/", "4/"), "--if-match", again)
    assert admin.json("rules", "get", "api")["rule"]["limit"] == "4/365d"
    admin("rules", "set", "api", THREE, "--new", code=1)
    admin("rules", "set", "more", THREE, "--if-match", "*", code=1)
    admin("rules", "set", "more", THREE, "--new")


def test_what_will_surprise_is_said_and_done(admin):
    done = admin("rules", "set", "more", '{"per": "user", "limit": "9/365d", "resource": "/api/*",'
                 ' "shadow": true, "when": {"tier": "no-such-tier"}}')
    assert done.out.startswith("rule `more` created")
    assert done.err.startswith("warning: ") and "no-such-tier" in done.err


# ---- tiers, exemptions, users, tenants --------------------------------------------------


def test_a_tier_is_set_and_used(admin):
    admin("tier", "set", "gold", '{"scale": 1.50}')
    assert json.loads(admin("tier", "get", "gold").out)["tier"] == {"scale": 1.5}
    assert '"scale": 1.50' in admin("tier", "get", "gold").out
    assert names(admin("tier", "list").out) == ["pro", "gold"]
    request = {"resource": "/api/x", "user": "u1", "tier": "gold"}
    assert [admin.allowed(**request) for _ in range(4)] == [True, True, True, False]
    admin("user", "set", "u1", '{"tier": "gold"}')
    assert "(409)" in admin("tier", "delete", "gold", code=1).err
    admin("user", "forget", "u1")
    admin("tier", "delete", "gold")
    assert names(admin("tier", "list").out) == ["pro"]


def test_an_exemption_is_added_listed_and_removed(admin):
    request = {"resource": "/login", "ip": "203.0.113.7"}
    assert [admin.allowed(**request) for _ in range(2)] == [True, False]
    added = admin("exempt", "add", "ip", "203.0.113.0/24", "--until", "2099-12-01T00:00:00Z",
                  "--reason", "load test")
    assert added.out == "ip 203.0.113.0/24 is exempt until 2099-12-01 00:00:00 UTC\n"
    assert admin.allowed(**request)
    assert re.search(r"^ip +203\.0\.113\.0/24 +2099-12-01 00:00:00 UTC +load test +api$",
                     admin("exempt", "list").out, re.M)
    assert "in place of" in admin("exempt", "add", "ip", "203.0.113.0/24").out
    assert admin("exempt", "remove", "ip", "203.0.113.0/24").out == (
        "ip 203.0.113.0/24 is not exempt any more\n")
    assert not admin.allowed(**request)
    assert "(404)" in admin("exempt", "remove", "ip", "203.0.113.0/24", code=1).err
    assert "(409)" in admin("exempt", "remove", "ip", "192.0.2.0/24", code=1).err
    assert "(422)" in admin("exempt", "add", "user", "root", "--until", "soon", code=1).err
    assert "(422)" in admin("exempt", "add", "who", "root", code=1).err


@pytest.mark.parametrize("until", ["4102444800", "2100-01-01T00:00:00Z"])
@pytest.mark.parametrize("user", ["acme/root", "röot", "a&b=c", "100%", "#1 ?"])
def test_any_name_can_be_exempt_and_removed_again(admin, user, until):
    admin("exempt", "add", "user", user, "--until", until)
    assert [(row["value"], row["until"]) for row in admin.json("exempt", "list")["exemptions"]
            if row["kind"] == "user"] == [(user, 4102444800)]
    admin("exempt", "remove", "user", user)
    assert [row["kind"] for row in admin.json("exempt", "list")["exemptions"]] == ["ip"]


def test_a_user_is_set_shown_and_forgotten(admin):
    facts = '{"created_at": "2020-01-01T00:00:00Z", "email_verified": true, ' \
            '"limits": {"api": {"capacity": 1}}}'
    assert "which the server does not know" in admin("user", "show", "u/1", "--tenant", "acme").out
    assert admin("user", "set", "u/1", facts, "--tenant", "acme").out.startswith(
        "user `u/1` created (etag ")
    assert admin("user", "set", "u/1", '{"tier": "pro"}', "--tenant", "acme").out.startswith(
        "user `u/1` changed (etag ")
    shown = admin("user", "show", "u/1", "--tenant", "acme").out
    assert shown.startswith("user `u/1` of tenant `acme`\n  created      2020-01-01 00:00:00 UTC\n")
    for line in ("  tier         pro", "  own limit    api: capacity 1", "trust 0.5",
                 "  together      0.5"):
        assert f"{line}\n" in shown
    request = {"resource": "/api/x", "user": "u/1", "tenant": "acme"}
    assert [admin.allowed(**request) for _ in range(2)] == [True, False]
    assert "which the server does not know" in admin("user", "show", "u/1").out  # of no tenant
    assert admin("user", "forget", "u/1", "--tenant", "acme").out == "user `u/1` forgotten\n"
    assert "(404)" in admin("user", "forget", "u/1", "--tenant", "acme", code=1).err


def test_trust_adds_up_with_outcomes_and_violations(server, admin):
    admin("user", "set", "u1", '{"email_verified": true}')
    outcomes = [{"user": "u1", "success": number < 2} for number in range(3)]
    assert server.ask("POST", "/v1/outcomes", outcomes).json == {"recorded": 3}
    assert [admin.allowed(resource="/api/x", user="u1") for _ in range(3)] == [True, True, False]
    shown = admin("user", "show", "u1").out.partition("\n\n")[2]
    values = [float(value) for value in re.findall(r"^  (?:age|email|success|violations) +(\S+)",
                                                   shown, re.M)]
    together = float(re.search(r"^  together +(\S+?),? ?(floored.*)?$", shown, re.M)[1])
    assert values == [0, 0.2, 0.333333333, -0.05]
    assert together == pytest.approx(sum(values), abs=1e-12)
    assert "2 of 3 calls succeeded in 7 days" in shown
    assert "trust 0.483\n" in shown and "floored to thousandths" in shown


def test_a_tenant_has_keys_and_rules_of_its_own(server, admin):
    assert admin("tenant", "set", "acme", "--tier", "pro").out.startswith("tenant `acme` created")
    assert admin("tenant", "set", "acme", "--no-tier").out.startswith("tenant `acme` changed")
    made = dict(line.split() for line in admin("tenant", "key", "add", "acme", "--label",
                                               "ci").out.splitlines())
    assert made["label"] == "ci" and made["id"] == made["sha256"][:12]
    own = Admin(server, SLUICE_API_KEY=made["key"])
    own("rules", "set", "own", '{"per": "user", "limit": "1/365d"}')
    assert names(own("rules", "list").out) == ["acme/own"]
    assert names(admin("rules", "list", "--tenant", "acme").out) == ["acme/own"]
    assert json.loads(admin("rules", "get", "own", "--tenant", "acme").out)["tenant"] == "acme"
    assert "(403)" in own("exempt", "list", code=1).err
    shown = admin("tenant", "show", "acme").out
    assert made["sha256"] in shown and made["key"] not in shown
    assert re.search(r"^acme +- +1 +1 ", admin("tenant", "list").out, re.M)
    assert admin("tenant", "key", "remove", "acme", made["id"]).out == (
        f"key `{made['id']}` removed\n")
    assert "(401)" in own("rules", "list", code=1).err
    admin("rules", "delete", "own", "--tenant", "acme")
    assert admin("tenant", "delete", "acme").out == "tenant `acme` deleted\n"
    assert "(404)" in admin("tenant", "show", "acme", code=1).err


# ---- reset and reload -------------------------------------------------------------------


def test_counts_are_forgotten(admin):
    request = {"resource": "/api/x", "user": "u1"}
    assert [admin.allowed(**request) for _ in range(3)] == [True, True, False]
    assert admin("reset", "--rule", "api", "--user", "u1", "--dry-run").out == (
        "dry run: would be reset: api\n")
    assert not admin.allowed(**request)
    assert admin("reset", "--rule", "api", "--user", "u1").out == "reset: api\n"
    assert [admin.allowed(**request) for _ in range(3)] == [True, True, False]
    assert admin("reset", "--resource", "/api/x", "--user", "u1").out == "reset: api\n"
    assert admin.allowed(**request)
    assert "nothing to reset" in admin("reset", "--resource", "/elsewhere", "--user", "u1").out
    assert "(404)" in admin("reset", "--rule", "nope", "--user", "u1", code=1).err
    assert "(422)" in admin("reset", "--rule", "api", code=1).err


def test_the_files_are_read_again(server, admin):
    server.write_rules(RULES + "  - { name: more, per: user, limit: 9/365d }\n")
    assert admin("reload").out == "the files are read again; 3 rules\n"
    assert names(admin("rules", "list").out) == ["api", "login", "more"]
    server.write_rules(RULES + "  - { name: more, per: user }\n  - 7\n")
    said = admin("reload", code=1).err.splitlines()
    assert said[0] == "sluice reload: the server said no (422)"
    assert len(said) > 2
    assert all(re.match(r"\S*rules-\S+\.yaml:\d+:\d+: ", line) for line in said[1:])
    assert names(admin("rules", "list").out) == ["api", "login", "more"]


# ---- tokens and addresses ---------------------------------------------------------------


def test_a_token_is_needed_where_one_is_configured(tmp_path):
    with Server(with_tokens(tmp_path), folder=tmp_path) as server:
        nobody = Admin(server)
        said = nobody("rules", "list", code=1).err
        assert "(401)" in said and "--token-file FILE" in said
        for variables in ({"SLUICE_TOKEN": "wrong-0123456789-0123456789"},
                          {"SLUICE_API_KEY": TOKEN}):
            said = nobody("rules", "list", code=1, **variables).err
            assert "(401)" in said and TOKEN not in said
        assert names(nobody("rules", "list", SLUICE_TOKEN=TOKEN).out) == ["api", "login"]
        nobody("rules", "set", "api", THREE, "--token-file", str(tmp_path / "token"))
        reader = Admin(server, SLUICE_TOKEN=READER)
        assert names(reader("rules", "list").out) == ["api", "login"]
        assert "(403)" in reader("rules", "delete", "api", code=1).err
        assert names(reader("rules", "list").out) == ["api", "login"]


def test_a_unix_socket_will_do(tmp_path):
    with Server(RULES, listen={"http": f"unix:{tmp_path}/s"}) as server:
        admin = Admin(server)
        assert server.addresses[0].startswith("unix:")
        assert names(admin("rules", "list").out) == ["api", "login"]
        admin("rules", "set", "more", THREE)
        assert names(admin("rules", "list").out) == ["api", "login", "more"]


def test_over_tls_the_certificate_must_be_trusted(tmp_path):
    pair = certificates.self_signed(tmp_path)
    rules = f"tls: {pair.listed}\n{with_tokens(tmp_path)}"
    with Server(rules, {**ANY_PORT, "https": "127.0.0.1:0"}, tmp_path) as server:
        url = f"https://127.0.0.1:{https_port(server)}"
        ca = ("--ca-file", pair.certificate)
        done = ask("rules", "list", *ca, server=url, SLUICE_TOKEN=TOKEN)
        assert (done.code, names(done.out)) == (0, ["api", "login"])
        done = ask("rules", "list", server=url, SLUICE_TOKEN=TOKEN)
        assert (done.code, done.out) == (2, "")
        assert "is not trusted" in done.err and "--ca-file" in done.err
        done = ask("rules", "list", "--ca-file", "/nonexistent", server=url, SLUICE_TOKEN=TOKEN)
        assert (done.code, done.out) == (2, "")


def test_json_is_what_the_server_answers(server, admin):
    assert admin("rules", "list", "--json").out.encode() == server.ask("GET", "/v1/rules").body
    said = admin("rules", "get", "nope", "--json", code=1)
    assert json.loads(said.out)["status"] == 404
