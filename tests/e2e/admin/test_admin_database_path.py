"""Where the database is if the rules do not name it, and which calls make it.

A rules file has a database of its own; one of an earlier version, which several files shared, is
used where that is absent.
"""

import pytest

from admin_api import Caller
from program import run
from watching import Started, wait_until

RULES = """
listen: { http: "127.0.0.1:0" }
rules:
  - { name: file, resource: /file, per: user, algorithm: fixed_window, limit: 1/365d%s }
"""
ADAPTIVE = ", adaptive: true"
RULE = {"resource": "/a", "per": "user", "algorithm": "fixed_window", "limit": "5/365d"}


def written(folder, name="rules.yaml", more="", head=""):
    path = folder / name
    path.write_text(head + RULES % more, encoding="utf-8")
    return path


def databases(folder):
    """Names of the files there that are databases, without SQLite's own beside them."""
    return sorted(path.name for path in folder.iterdir() if path.suffix == ".db")


def notes(server):
    return [line for line in server.stderr.splitlines() if "earlier version" in line]


def rules_of(rules):
    with Started("-c", rules) as server:
        return Caller(server).rules()


def deny(admin, user="u"):
    admin.spend(1, user=user, resource="/file")
    while admin.post("/v1/check", {"user": user, "resource": "/file"}, (200, 429)).status == 200:
        pass  # an adaptive rule may grant more


# ---- which file -------------------------------------------------------------------------


def test_two_rules_files_of_a_folder_do_not_see_each_others_changes(tmp_path):
    files = [written(tmp_path, name) for name in ("a.yaml", "b.yaml")]
    with Started("-c", files[0]) as one, Started("-c", files[1]) as other:
        Caller(one).put("/v1/rules/made", RULE, 201)
        assert databases(tmp_path) == ["a.yaml.db"]
        Caller(other).put("/v1/rules/more", RULE, 201)
        assert Caller(one).rules() == ["file", "made"]
        assert Caller(other).rules() == ["file", "more"]
    assert databases(tmp_path) == ["a.yaml.db", "b.yaml.db"]
    assert [rules_of(file) for file in files] == [["file", "made"], ["file", "more"]]


def test_two_rules_files_on_one_table_have_a_database_each(tmp_path):
    store = 'store: "memory:limits.slu?size=1M"\n'
    files = [written(tmp_path, name, head=store) for name in ("a.yaml", "b.yaml")]
    with Started("-c", files[0]) as one, Started("-c", files[1]) as other:
        Caller(one).put("/v1/rules/made", RULE, 201)
        assert Caller(other).rules() == ["file"]
    assert databases(tmp_path) == ["a.yaml.db"]


def test_processes_on_one_rules_file_share_it_whichever_makes_it(tmp_path):
    rules = written(tmp_path)
    with Started("-c", rules) as one, Started("-c", rules) as other:
        Caller(one).put("/v1/rules/made", RULE, 201)
        wait_until(lambda: "made" in Caller(other).rules(), "the other process's rule")
        Caller(other).put("/v1/rules/made", RULE, 412, if_none_match="*")
        Caller(other).put("/v1/rules/more", RULE, 201)
        wait_until(lambda: "more" in Caller(one).rules(), "the other process's rule")
    assert databases(tmp_path) == ["rules.yaml.db"]


def test_under_systemd_it_is_in_the_state_directory(tmp_path, monkeypatch):
    state, folder = tmp_path / "state", tmp_path / "etc"
    state.mkdir()
    folder.mkdir()
    monkeypatch.setenv("STATE_DIRECTORY", f"{state}:{tmp_path}/another")
    rules = written(folder)
    with Started("-c", rules) as server:
        Caller(server).put("/v1/rules/made", RULE, 201)
    assert (databases(state), databases(folder)) == (["rules.yaml.db"], [])
    assert rules_of(rules) == ["file", "made"]


def test_check_reads_the_same_one(tmp_path, monkeypatch):
    state = tmp_path / "state"
    state.mkdir()
    rules, other = written(tmp_path), written(tmp_path, "other.yaml")
    for variable in (None, str(state)):
        if variable:
            monkeypatch.setenv("STATE_DIRECTORY", variable)
        assert [one["rule"] for one in checked(rules)] == []
        with Started("-c", rules) as server:
            Caller(server).put("/v1/rules/made", RULE, 201)
        assert [one["rule"] for one in checked(rules)] == ["made"]
        assert [one["rule"] for one in checked(other)] == []


def checked(rules):
    """The rules that `sluice check` finds for a request."""
    done = run("check", "-c", str(rules), "--user", "u", "--resource", "/a", "--explain", "--json")
    assert done.code == 0, done.err
    return done.lines[0]["rules"]


# ---- one of an earlier version ----------------------------------------------------------


@pytest.mark.parametrize("old, head", [
    ("sluice.db", ""), ("limits.slu.db", 'store: "memory:limits.slu?size=1M"\n')])
def test_an_old_one_is_used_and_said_where_the_files_own_is_absent(tmp_path, old, head):
    rules = written(tmp_path, head=f"database: {old}\n{head}")
    with Started("-c", rules) as server:
        Caller(server).put("/v1/rules/made", RULE, 201)
        assert notes(server) == []
    written(tmp_path, head=head)
    with Started("-c", rules) as server:
        assert Caller(server).rules() == ["file", "made"]
        (line,) = notes(server)
        assert f"{tmp_path}/{old}" in line and f"{rules}.db" in line
        Caller(server).put("/v1/rules/more", RULE, 201)
    assert databases(tmp_path) == [old]
    (tmp_path / old).rename(f"{rules}.db")
    with Started("-c", rules) as server:
        assert Caller(server).rules() == ["file", "made", "more"]
        assert notes(server) == []


def test_an_old_one_is_left_alone_where_the_files_own_is_there(tmp_path):
    rules = written(tmp_path)
    with Started("-c", rules) as server:
        Caller(server).put("/v1/rules/made", RULE, 201)
    (tmp_path / "sluice.db").write_bytes(b"not a database at all, and nothing reads it\n" * 100)
    with Started("-c", rules) as server:
        assert (Caller(server).rules(), notes(server)) == (["file", "made"], [])


# ---- when it is made --------------------------------------------------------------------


def test_a_denial_makes_none_where_no_rule_is_adaptive(tmp_path):
    with Started("-c", written(tmp_path)) as server:
        admin = Caller(server)
        deny(admin)
        wait_until(lambda: admin.get("/v1/users/u").json["trust"]["violations"]["count"] == 1,
                   "the violation")
        assert server.stop() == 0  # what is left is written then
    assert databases(tmp_path) == []


def test_a_denial_makes_one_where_a_rule_is_adaptive(tmp_path):
    rules = written(tmp_path, more=ADAPTIVE)
    with Started("-c", rules) as server:
        deny(Caller(server))
        wait_until(lambda: databases(tmp_path) == ["rules.yaml.db"], "the database")
        assert server.stop() == 0
    with Started("-c", rules) as server:
        assert Caller(server).get("/v1/users/u").json["trust"]["violations"]["count"] >= 1


def test_a_rule_that_becomes_adaptive_keeps_violations_from_then_on(tmp_path):
    with Started("-c", written(tmp_path)) as server:
        admin = Caller(server)
        deny(admin, "early")
        admin.put("/v1/rules/made", {**RULE, "adaptive": True}, 201)
        deny(admin, "late")
        assert server.stop() == 0
    with Started("-c", tmp_path / "rules.yaml") as server:
        counts = [Caller(server).get(f"/v1/users/{user}").json["trust"]["violations"]["count"]
                  for user in ("early", "late")]
    assert counts[1] >= 1


def test_a_user_with_nothing_but_violations_can_be_deleted(tmp_path):
    with Started("-c", written(tmp_path)) as server:
        admin = Caller(server)
        admin.delete("/v1/users/u", 404)
        deny(admin)
        assert admin.delete("/v1/users/u?dry_run=true").json["deleted"]
        assert admin.delete("/v1/users/u").json["deleted"]
        assert not admin.get("/v1/users/u").json["known"]
        admin.delete("/v1/users/u", 404)
    assert databases(tmp_path) == []


def test_neither_looking_nor_a_refused_change_makes_one(tmp_path):
    with Started("-c", written(tmp_path)) as server:
        admin = Caller(server)
        for path in ("/v1/rules", "/v1/exemptions", "/v1/tenants", "/v1/tiers", "/v1/users/u"):
            admin.get(path)
        admin.put("/v1/rules/made?dry_run=true", RULE)
        admin.put("/v1/rules/made", {"limit": "many"}, 422)
        admin.put("/v1/rules/file", RULE, 412, if_none_match="*")
        admin.delete("/v1/rules/none", 404)
        admin.put("/v1/users/u", {"tier": "none"}, 422)
        admin.put("/v1/tenants/acme", {"tier": "none"}, 422)
        admin.post("/v1/exemptions", {"kind": "ip", "value": "x"}, 422)
        admin.post("/v1/outcomes", {"user": "u"}, 422)
        assert databases(tmp_path) == []


@pytest.mark.parametrize("method, path, body", [
    ("PUT", "/v1/rules/made", RULE), ("DELETE", "/v1/rules/file", None),
    ("PUT", "/v1/users/u", {"email_verified": True}), ("PUT", "/v1/tenants/acme", {}),
    ("PUT", "/v1/tiers/gold", {"scale": 2}),
    ("POST", "/v1/exemptions", {"kind": "ip", "value": "192.0.2.1"}),
    ("POST", "/v1/exemptions", {"kind": "user", "value": "e"}),
    ("POST", "/v1/outcomes", {"user": "u", "success": True})])
def test_the_first_change_makes_it_and_outlives_the_process(tmp_path, method, path, body):
    looks = ("/v1/rules", "/v1/exemptions", "/v1/tenants", "/v1/tiers", "/v1/users/u")
    rules = written(tmp_path)
    with Started("-c", rules) as server:
        admin = Caller(server)
        before = [admin.get(look).body for look in looks]
        admin.call(method, path, body, (200, 201))
        after = [admin.get(look).body for look in looks]
        assert databases(tmp_path) == ["rules.yaml.db"]
        assert after != before
    with Started("-c", rules) as server:
        assert [Caller(server).get(look).body for look in looks] == after


def test_a_named_one_is_used_by_every_file_that_names_it(tmp_path):
    files = [written(tmp_path, name, head="database: ours.db\n") for name in ("a.yaml", "b.yaml")]
    with Started("-c", files[0]) as one, Started("-c", files[1]) as other:
        Caller(one).put("/v1/rules/made", RULE, 201)
        wait_until(lambda: "made" in Caller(other).rules(), "the other process's rule")
    assert databases(tmp_path) == ["ours.db"]
