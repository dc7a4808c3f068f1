"""The database: where it is, when it is made, and what happens when something is wrong with it."""

import mmap
import sqlite3
import struct
import subprocess
import threading
from pathlib import Path

import pytest

from admin_api import Caller, database_of, dumped, stopped
from program import run
from serving import Server
from watching import Started, is_sanitized

RULES = """
workers: 2
tiers: { pro: { scale: 10 } }
rules:
  - { name: file, resource: /file, per: user, algorithm: fixed_window, limit: 10/365d }
"""
RULE = {"resource": "/a", "per": "user", "algorithm": "fixed_window", "limit": "5/365d"}
LISTS = ("/v1/rules", "/v1/tiers", "/v1/exemptions", "/v1/tenants")

CHANGES = [
    ("PUT", "/v1/rules/made", RULE), ("PUT", "/v1/tiers/gold", {"scale": 2}),
    ("POST", "/v1/exemptions", {"kind": "user", "value": "e"}),
    ("POST", "/v1/exemptions", {"kind": "ip", "value": "192.0.2.1"}),
    ("PUT", "/v1/users/u", {"email_verified": True}), ("PUT", "/v1/tenants/acme", {}),
    ("POST", "/v1/tenants/acme/keys", {"sha256": "5f" * 32}),
    ("PUT", "/v1/tenants/acme/rules/own", RULE), ("DELETE", "/v1/tenants/acme/rules/own", None),
    ("DELETE", "/v1/tenants/acme/keys/5f5f5f5f5f5f", None), ("DELETE", "/v1/tenants/acme", None),
    ("DELETE", "/v1/users/u", None), ("DELETE", "/v1/exemptions?kind=user&value=e", None),
    ("DELETE", "/v1/tiers/gold", None), ("DELETE", "/v1/rules/made", None),
    ("DELETE", "/v1/rules/file", None), ("DELETE", "/v1/rules/file?undo=true", None),
]


def lists(admin):
    return [admin.get(path).body for path in LISTS]


# ---- where ------------------------------------------------------------------------------


@pytest.mark.parametrize("setting, name", [
    ("", None), ('store: "memory:limits.slu?size=1M"\n', None),
    ("database: mine.sqlite\n", "mine.sqlite"),
    ('database: mine.sqlite\nstore: "memory:limits.slu?size=1M"\n', "mine.sqlite")])
def test_it_is_where_the_settings_say_once_something_has_changed(tmp_path, setting, name):
    with Server(setting + RULES, folder=tmp_path, database=None) as server:
        admin = Caller(server)
        name = name or f"{Path(server.rules_file).name}.db"
        lists(admin)
        admin.get("/v1/users/u")
        admin.spend(1, user="u", resource="/file")
        assert not list(tmp_path.glob("*.db*")) + list(tmp_path.glob("*.sqlite*"))
        admin.put("/v1/rules/made", RULE)
        assert "made" in "".join(dumped(tmp_path / name))  # SQLite's own tools read it
        stopped(server)
    assert {path.name for path in tmp_path.iterdir() if path.suffix in (".db", ".sqlite")} == {name}


def test_without_a_rules_file_changes_end_with_the_process(tmp_path):
    for _ in range(2):
        with Started("--http", "127.0.0.1:0", cwd=tmp_path) as server:
            admin = Caller(server)
            assert "made" not in admin.rules()
            admin.put("/v1/rules/made", RULE, 201)
            admin.put("/v1/users/u", {"email_verified": True}, 201)
            assert "made" in admin.rules()
            assert server.stop() == 0
    assert not list(tmp_path.iterdir())


# ---- on disk before it is acknowledged --------------------------------------------------


@pytest.fixture(name="syncs")
def counted_syncs(tmp_path, monkeypatch):
    """How often the server has waited for the disk."""
    if is_sanitized():
        pytest.skip("AddressSanitizer wants to be the first that is preloaded")
    shim, path = tmp_path / "count.so", tmp_path / "syncs"
    source = Path(__file__).parent / "count_syncs.c"
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-o", shim,
                    source], check=True)
    path.write_bytes(bytes(8))
    with open(path, "r+b") as file:
        shared = mmap.mmap(file.fileno(), 8)
    monkeypatch.setenv("LD_PRELOAD", str(shim))
    monkeypatch.setenv("SLUICE_SYNCS", str(path))
    return lambda: struct.unpack("Q", shared[:])[0]


def test_every_change_waits_for_the_disk(syncs):
    with Server(RULES) as server:
        admin = Caller(server)
        for method, path, body in CHANGES:
            before = syncs()
            admin.call(method, path, body, (200, 201))
            assert syncs() > before, (method, path)
        before = syncs()
        lists(admin)
        admin.put("/v1/rules/made?dry_run=true", RULE)
        admin.put("/v1/rules/made", {"limit": "many"}, 422)
        assert syncs() == before


# ---- something is wrong with it ---------------------------------------------------------


def filled(folder):
    """What lists showed, of a server that has ended."""
    with Server(RULES, folder=folder) as server:
        admin = Caller(server)
        for number in range(40):
            admin.put(f"/v1/rules/r{number}", {**RULE, "resource": f"/{'x' * 300}/{number}"})
        admin.put("/v1/tenants/acme", {"tier": "pro"})
        admin.post("/v1/tenants/acme/keys", {"sha256": "5f" * 32})
        admin.post("/v1/exemptions", {"kind": "ip", "value": "192.0.2.1"})
        admin.put("/v1/tiers/gold", {"scale": 2})
        admin.put("/v1/users/u", {"email_verified": True})
        before = lists(admin)
        stopped(server)
    return before


def refusal(folder):
    """What a server says that does not start, or None: it would."""
    rules = folder / "rules.yaml"
    rules.write_text(f'listen: {{ http: "127.0.0.1:0" }}\ndatabase: sluice.db\n{RULES}')
    try:
        with Started("-c", rules):
            return None
    except AssertionError:
        done = run("serve", "-c", rules)
        assert done.code in (1, 2), (done.code, done.err)
        return done.err


@pytest.mark.parametrize("content", [
    b"this is no database, but a text that somebody has put here by mistake\n" * 100,
    b"SQLite format 3\0" + b"\xff" * 4080, b"\0" * 8192])
def test_what_is_no_database_is_refused_and_left_alone(tmp_path, content):
    (tmp_path / "sluice.db").write_bytes(content)
    assert "sluice.db" in refusal(tmp_path)
    assert (tmp_path / "sluice.db").read_bytes() == content


def test_a_foreign_database_is_refused_and_left_alone(tmp_path):
    with sqlite3.connect(tmp_path / "sluice.db") as other:
        other.execute("CREATE TABLE accounts (name TEXT)")
    other.close()
    before = dumped(tmp_path / "sluice.db")
    assert "sluice.db" in refusal(tmp_path)
    assert dumped(tmp_path / "sluice.db") == before


def test_a_later_layout_is_refused(tmp_path):
    filled(tmp_path)
    with sqlite3.connect(tmp_path / "sluice.db") as database:
        version = database.execute("PRAGMA user_version").fetchone()[0]
        database.execute(f"PRAGMA user_version = {version + 1}")
    database.close()
    assert "sluice.db" in refusal(tmp_path)


def test_a_folder_in_its_place_is_refused(tmp_path):
    (tmp_path / "sluice.db").mkdir()
    assert "sluice.db" in refusal(tmp_path)


def test_a_row_that_is_no_rule_is_refused_with_its_name(tmp_path):
    filled(tmp_path)
    other = '{"per": "user", "limit": "5/1h", "name": "other"}'
    for wrong in ("{", '{"per": "user"}', other, "[]"):
        with sqlite3.connect(tmp_path / "sluice.db") as database:
            database.execute("UPDATE rule SET json = ? WHERE name = 'r7'", (wrong,))
        database.close()
        assert "r7" in refusal(tmp_path), wrong


def test_damage_anywhere_is_refused_or_changes_nothing(tmp_path):
    """Each page in turn is overwritten. Limits must not vanish silently."""
    before = filled(tmp_path)
    path = tmp_path / "sluice.db"
    whole = path.read_bytes()
    size = struct.unpack(">H", whole[16:18])[0]
    assert len(whole) // size > 8
    refused = 0
    for start in range(0, len(whole), size):
        path.write_bytes(whole[:start] + b"\xff" * size + whole[start + size:])
        said = refusal(tmp_path)
        refused += said is not None
        if said is None:
            with Server(RULES, folder=tmp_path) as server:
                assert lists(Caller(server)) == before, f"page {start // size}"
        else:
            assert "sluice.db" in said
    assert refused > len(whole) // size // 2
    path.write_bytes(whole[:len(whole) // 2])
    assert "sluice.db" in refusal(tmp_path)
    path.write_bytes(whole)
    with Server(RULES, folder=tmp_path) as server:
        assert lists(Caller(server)) == before


# ---- later ------------------------------------------------------------------------------


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_database_that_was_taken_away_is_not_made_again(tmp_path, is_replaced):
    with Server(RULES, folder=tmp_path) as server:
        admin = Caller(server)
        admin.put("/v1/rules/made", RULE)
        path = database_of(server)
        for one in tmp_path.glob("sluice.db*"):
            one.rename(tmp_path / one.name.replace("sluice.db", "away.db"))
        if is_replaced:
            with sqlite3.connect(path) as other:
                other.execute("CREATE TABLE t (x)")
            other.close()
        for method, url, body in (("PUT", "/v1/rules/more", RULE), ("PUT", "/v1/users/u", {}),
                                  ("POST", "/v1/outcomes", {"user": "u", "success": True})):
            admin.call(method, url, body, 503)
        assert admin.rules() == ["file", "made"]
        admin.spend(1, user="u", resource="/a")
        assert path.exists() == is_replaced
        stopped(server)


def test_while_another_process_holds_it_changes_are_503_and_decisions_go_on(tmp_path):
    with Server(RULES, folder=tmp_path) as server:
        admin, answers = Caller(server), []
        admin.put("/v1/rules/made", RULE)
        before = lists(admin)
        other = sqlite3.connect(database_of(server), isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        change = threading.Thread(target=lambda: answers.append(
            admin.put("/v1/rules/more", RULE, (200, 201, 503)).status))
        change.start()
        count = 0
        while change.is_alive():
            admin.post("/v1/check", {"user": "u", "resource": "/a", "peek": True}, 200)
            count += 1
        change.join()
        assert (answers, count > 20) == ([503], True)
        other.execute("ROLLBACK")
        other.close()
        assert lists(admin) == before
        admin.put("/v1/rules/more", RULE, 201)
