"""Callers over the Redis protocol: API keys, the admin's token, JSON Web Tokens, strangers."""

import pytest

from admin_api import Caller
from resp_talking import BOTH, USUAL, Problem, command, pairs, talk
from serving import Server
from tokens import key_of

NOAUTH = Problem("NOAUTH Authentication required.")
STALE = Problem("NOAUTH This connection's password is not good for this, or not any more. "
                "AUTH again.")
WRONG = Problem("WRONGPASS invalid username-password pair or user is disabled.")
TOKEN = "the-token-of-the-admin"
RULES = """
tiers: { free: {}, pro: { scale: 10 } }
rules:
  - { name: api, per: user, algorithm: fixed_window, limit: 5/365d }
"""
REQUIRED = "admin: { token_file: admin }\nidentity: { api_keys: required }\n" + RULES


@pytest.fixture(name="server", scope="module")
def guarded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "admin").write_text(TOKEN, encoding="ascii")
    with Server("workers: 2\n" + REQUIRED, listen=BOTH, folder=folder) as server:
        yield server


@pytest.fixture(name="admin", scope="module")
def caller(server):
    return Caller(server, authorization=f"Bearer {TOKEN}")


def key_of_tenant(admin, name, tier=None):
    admin.put(f"/v1/tenants/{name}", {"tier": tier}, (200, 201))
    return admin.post(f"/v1/tenants/{name}/keys", {}).json["key"]


def test_strangers_may_only_authenticate(server):
    with talk(server) as talking:
        for words in (("PING",), ("INFO",), ("CL.THROTTLE", "k", 4, 1, 1), ("HELLO", 3),
                      ("SLUICE.CHECK", "user", "u"), ("COMMAND",), ("CLIENT", "ID")):
            assert talking.ask(*words) == NOAUTH
        assert talking.ask("RESET") == "RESET"
        assert talking.ask("QUIT") == "OK"
        assert talking.ended()


def test_a_stranger_has_little_room(server):
    with talk(server) as talking:
        talking.send(b"*11\r\n")
        assert talking.reply() == Problem("ERR Protocol error: unauthenticated multibulk length")
        assert talking.ended()
    with talk(server) as talking:
        talking.send(b"*2\r\n$4\r\nAUTH\r\n$16385\r\n")
        assert talking.reply() == Problem("ERR Protocol error: unauthenticated bulk length")
        assert talking.ended()


def test_a_key_is_its_tenant(server, admin):
    acme, bolt = key_of_tenant(admin, "acme", "pro"), key_of_tenant(admin, "bolt")
    with talk(server) as talking:
        assert talking.ask("AUTH", acme) == "OK"
        assert pairs(talking.ask("SLUICE.CHECK", "user", "u"))["limit"] == 50
        assert talking.ask("CL.THROTTLE", "k", 4, 1, 1) == USUAL
        assert talking.ask("HELLO", 3, "AUTH", "default", bolt, "SETNAME", "b")["proto"] == 3
        assert talking.ask("SLUICE.CHECK", "user", "u")["limit"] == 5
        assert talking.ask("CL.THROTTLE", "k", 4, 1, 1) == USUAL  # another tenant's key
        assert talking.ask("SLUICE.CHECK", "user", "u", "tenant", "acme").startswith("NOPERM ")
        assert talking.ask("CLIENT", "GETNAME") == "b"


def test_a_key_counts_from_where_it_stands_in_a_pipeline(server, admin):
    key = key_of_tenant(admin, "carl")
    with talk(server) as talking:
        talking.send(command("PING") + command("AUTH", key) + command("PING") + command("RESET")
                     + command("PING"))
        assert talking.replies(5) == [NOAUTH, "OK", "PONG", "RESET", NOAUTH]


def test_a_key_that_is_taken_back_is_refused_on_open_connections(server, admin):
    admin.put("/v1/tenants/dora", {}, (200, 201))
    made = admin.post("/v1/tenants/dora/keys", {}).json
    with talk(server) as talking:
        assert talking.ask("AUTH", made["key"]) == "OK"
        assert pairs(talking.ask("SLUICE.CHECK", "user", "u"))["allowed"] == 1
        admin.delete(f"/v1/tenants/dora/keys/{made['id']}")
        for _ in range(12):
            assert talking.ask("SLUICE.CHECK", "user", "u") == STALE
        assert talking.ask("CL.THROTTLE", "k", 4, 1, 1) == STALE
    with talk(server) as talking:  # and its address is not barred for that
        assert talking.ask("AUTH", TOKEN) == "OK"


def test_the_admin_may_reset_and_a_stranger_may_not(server, admin):
    key = key_of_tenant(admin, "emil")
    with talk(server) as talking:
        assert talking.ask("SLUICE.RESET", "user", "u", "tenant", "emil") == NOAUTH
        assert talking.ask("AUTH", "admin", TOKEN) == "OK"
        for _ in range(5):
            assert pairs(talking.ask("SLUICE.CHECK", "user", "u", "tenant", "emil"))["allowed"]
        assert not pairs(talking.ask("SLUICE.CHECK", "user", "u", "tenant", "emil"))["allowed"]
        assert talking.ask("SLUICE.RESET", "user", "u", "tenant", "emil") == ["api"]
        assert pairs(talking.ask("SLUICE.CHECK", "user", "u", "tenant", "emil"))["remaining"] == 4
        assert talking.ask("AUTH", key) == "OK"
        assert talking.ask("SLUICE.RESET", "user", "u") == []  # of its own rules there are none


def test_a_token_is_its_claims(tmp_path):
    key = key_of("HS256")
    key.write(tmp_path / "secret")
    rules = ("identity: { jwt: { algorithms: [HS256], keys: [{ secret_file: secret }], "
             "required: true, claims: { user: sub } } }\n" + RULES)
    with Server(rules, listen=BOTH, folder=tmp_path) as server, talk(server) as talking:
        assert talking.ask("PING") == NOAUTH
        assert talking.ask("AUTH", "any", key.token({"sub": "u1"}) + "x") == WRONG
        assert talking.ask("AUTH", "any", key.token({"sub": "u1"})) == "OK"
        for remaining in range(4, -1, -1):
            answer = pairs(talking.ask("SLUICE.CHECK", "resource", "/"))
            assert (answer["rule"], answer["remaining"]) == ("api", remaining)
        assert talking.ask("SLUICE.CHECK", "user", "u2").startswith("NOPERM ")
        assert talking.ask("AUTH", "any", key.token({"sub": "u2"})) == "OK"
        assert pairs(talking.ask("SLUICE.CHECK", "resource", "/"))["remaining"] == 4


def test_guesses_are_limited_however_often_a_client_connects(tmp_path):
    (tmp_path / "admin").write_text(TOKEN, encoding="ascii")
    with Server("workers: 2\n" + REQUIRED, listen=BOTH, folder=tmp_path) as server:
        heard = []
        for number in range(15):
            with talk(server) as talking:
                heard.append(talking.ask("AUTH", f"guess-{number}"))
        assert heard[:10] == [WRONG] * 10
        assert all(one.startswith("ERR Too many wrong tokens or keys") for one in heard[10:])
        with talk(server) as talking:
            assert talking.ask("AUTH", TOKEN).startswith("ERR Too many wrong")
        Caller(server, authorization=f"Bearer {TOKEN}").get("/v1/rules")  # keys, not the admin's


def test_without_passwords_one_is_a_mistake():
    with Server(RULES, listen=BOTH) as server, talk(server) as talking:
        heard = talking.ask("AUTH", "a")
        assert heard.startswith("ERR AUTH <password> called without any password configured")
        assert talking.ask("PING") == "PONG"
