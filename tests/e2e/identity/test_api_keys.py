"""API keys: whose they are, what they give and forbid, and that they are kept nowhere."""

import hashlib
import itertools
import json
import re

import pytest

import counting
from counting import LIMIT, WAYS, ask, counted, strangers, used
from messages import post
from serving import Server
from tokens import bearer, key_of, setting

EXEMPT = "an-exempt-key"
TOKEN = "an-admin-of-the-tests"
SECRET = key_of("HS256")
TIERS = "tiers: { free: { scale: 1 }, pro: { scale: 10 }, gold: { scale: 100 } }\n"
RULES = counting.rules("user", "tenant", "api_key")

names = (f"tenant-{number}" for number in itertools.count())


def digest(key):
    return hashlib.sha256(key.encode()).hexdigest()


def with_key(key):
    return {"X-API-Key": key}


def make_tenant(server, tier=None, fields=(), key=()):
    """A new one, and a key of it."""
    name = next(names)
    assert server.ask("PUT", f"/v1/tenants/{name}", {"tier": tier}, fields).status == 201
    return name, make_key(server, name, fields, **dict(key))


def make_key(server, name, fields=(), **more):
    answer = server.ask("POST", f"/v1/tenants/{name}/keys", more, fields)
    assert answer.status == 201, answer.body
    return answer.json["key"]


@pytest.fixture(name="server", scope="module")
def with_tenants(tmp_path_factory):
    """There is a tenant, so that unknown keys are known to be wrong."""
    folder = tmp_path_factory.mktemp("tenants")
    headers = "identity: { headers: { tenant: X-Tenant, tier: X-Tier, user: X-User } }\n"
    with Server(f"workers: 2\n{TIERS}{headers}exempt: {{ api_keys: [{digest(EXEMPT)}] }}\n{RULES}",
                folder=folder) as server:
        make_tenant(server)
        yield server


@pytest.fixture(name="empty", scope="module")
def without_tenants():
    with Server(f"{TIERS}exempt: {{ api_keys: [{digest(EXEMPT)}] }}\n{RULES}") as server:
        yield server


# ---- unknown keys -----------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_where_there_is_no_tenant_a_key_is_an_attribute(empty, way):
    key = f"somebodys-{way}"
    assert counted(empty, "api_key", [digest(key), key],
                   lambda: ask(empty, way, "api_key", with_key(key))) == [digest(key)]


def test_a_body_may_name_a_key_by_its_digest(empty):
    name = digest("named")
    assert counted(empty, "api_key", [name],
                   lambda: ask(empty, "check", "api_key", api_key=name)) == [name]
    assert counted(empty, "api_key", [name], lambda: ask(
        empty, "check", "api_key", with_key("named"), api_key=name)) == [name]


@pytest.mark.parametrize("way", WAYS)
def test_once_there_is_a_tenant_an_unknown_key_is_401(way):
    with Server(RULES) as server:
        assert ask(server, way, "user", with_key("nobodys")).status == 200
        server.ask("PUT", "/v1/tenants/acme", {})  # it has no key
        for key in ("nobodys", "x", "sk_" + "0" * 64, ""):
            answer = ask(server, way, "api_key", with_key(key))
            assert answer.status == 401, key
            assert "www-authenticate" in answer.headers
            assert answer.json["title"] == "Unauthorized"
            assert used(server, "api_key", digest(key)) == 0
        assert ask(server, way, "user").status == 200
        assert server.ask("DELETE", "/v1/tenants/acme").status == 200
        assert ask(server, way, "user", with_key("nobodys")).status == 200


def test_after_ten_wrong_keys_the_next_is_429(server):
    address = next(strangers)
    for number in range(10):
        answer = ask(server, "check", "user", with_key(f"wrong-{number}"), address=address)
        assert answer.status == 401
    answer = ask(server, "check", "user", with_key("wrong"), address=address)
    assert answer.status == 429
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    assert ask(server, "check", "user", address=address).status == 200
    assert ask(server, "check", "user", with_key("wrong")).status == 401  # from elsewhere


def test_two_keys_are_400(server):
    for path, body in (("POST /v1/check", b'{"resource": "/by/user"}'),
                       ("GET /v1/authorize/by/user", b""), ("GET /v1/rules", b"")):
        with server.raw() as raw:
            raw.send(b"%s HTTP/1.1\r\nHost: localhost\r\nX-API-Key: a\r\nx-api-key: a\r\n"
                     b"Content-Length: %d\r\n\r\n%s" % (path.encode(), len(body), body))
            assert raw.response().status == 400


# ---- exempt keys ------------------------------------------------------------------------


def is_exempt(server, way, key):
    answer = ask(server, way, "user", with_key(key), user="u")
    assert answer.status == 200, answer.body
    if way == "check":
        return answer.json["reason"] == "exempt"
    return answer.headers["RateLimit-Policy"] is None


@pytest.mark.parametrize("way", WAYS)
def test_a_key_that_the_file_exempts_is_exempt(server, empty, way):
    assert is_exempt(server, way, EXEMPT)  # though it is no tenant's
    assert is_exempt(empty, way, EXEMPT)
    if way == "check":
        assert not is_exempt(empty, way, f"{EXEMPT}s")
        assert not is_exempt(empty, way, digest(EXEMPT))


def test_a_key_that_the_api_exempts_is_exempt_until_it_says_otherwise(server):
    _, key = make_tenant(server)
    row = {"kind": "api_key", "value": digest(key)}
    assert not is_exempt(server, "check", key)
    assert server.ask("POST", "/v1/exemptions", row).status == 201
    assert is_exempt(server, "check", key)
    assert server.ask("DELETE", "/v1/exemptions", row).status == 200
    assert not is_exempt(server, "check", key)
    nobodys = {"kind": "api_key", "value": digest("exempt-nobodys").upper()}
    assert server.ask("POST", "/v1/exemptions", nobodys).status == 201
    assert is_exempt(server, "check", "exempt-nobodys")
    assert server.ask("POST", "/v1/exemptions", {"kind": "api_key", "value": key}).status == 422


# ---- a tenant's key ---------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_a_tenants_key_gives_its_tenant_and_itself(server, way):
    name, key = make_tenant(server)
    assert counted(server, "tenant", [name],
                   lambda: ask(server, way, "tenant", with_key(key))) == [name]
    assert counted(server, "api_key", [digest(key)], lambda: ask(
        server, way, "api_key", with_key(key)), tenant=name) == [digest(key)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("tenants, own, scale", [
    (None, None, 1), ("pro", None, 10), (None, "gold", 100), ("pro", "gold", 100),
    ("pro", "free", 1),
])
def test_the_tier_is_the_keys_own_else_the_tenants(server, way, tenants, own, scale):
    _, key = make_tenant(server, tenants, key={"tier": own} if own else {})
    answer = ask(server, way, "tenant", with_key(key))
    assert answer.headers["X-RateLimit-Limit"] == str(LIMIT * scale)


def test_another_tier_counts_at_once(server):
    name, key = make_tenant(server, "free")
    connections = [server.connection() for _ in range(6)]
    for tier, scale in (("pro", 10), ("gold", 100), (None, 1)):
        assert server.ask("PUT", f"/v1/tenants/{name}", {"tier": tier}).status == 200
        for connection in connections:
            answer = ask(server, "check", "tenant", with_key(key), connection)
            assert answer.json["limit"] == LIMIT * scale
    for connection in connections:
        connection.close()


def test_a_key_by_its_digest_is_its_owners(server):
    name, _ = make_tenant(server)
    answer = server.ask("POST", f"/v1/tenants/{name}/keys", {"sha256": digest("my own")})
    assert answer.status == 201
    assert not answer.json.get("key")
    assert counted(server, "tenant", [name],
                   lambda: ask(server, "check", "tenant", with_key("my own"))) == [name]
    assert ask(server, "check", "tenant", with_key(digest("my own"))).status == 401


@pytest.mark.parametrize("tier", [None, "pro"])
def test_a_body_cannot_say_otherwise(server, tier):
    name, key = make_tenant(server, tier)
    mine = {"tenant": name, "api_key": digest(key), **({"tier": tier} if tier else {})}
    assert ask(server, "check", "tenant", with_key(key), **mine).status == 200
    nothing = {"tenant": None, "tier": None, "trust_score": None, "api_key": None}
    assert ask(server, "check", "tenant", with_key(key), **nothing).status == 200
    before = used(server, "tenant", name)
    for more in ({"tenant": "other"}, {"tenant": name.upper()}, {"tier": "gold"}, {"tier": "free"},
                 {"tier": "unheard-of"}, {"trust_score": 1}, {"trust_score": 0},
                 {"api_key": digest("other")}):
        body = {"resource": "/by/tenant", **more}
        good = {"resource": "/by/tenant"}
        for path, sent in (("check", body), ("reserve", body), ("check", [body]),
                           ("check", [good, body]), ("check", [good] * 500 + [body])):
            answer = server.ask("POST", f"/v1/{path}", sent, with_key(key))
            assert (answer.status, answer.json["title"]) == (403, "Forbidden"), (path, sent)
            assert key not in answer.body.decode()
    assert used(server, "tenant", name) == before
    assert used(server, "tenant", "other") == 0


def test_an_array_is_its_keys_whatever_came_in_the_same_piece(server):
    """A round that has no room for it is finished first, and forgets what it had."""
    name, key = make_tenant(server)
    array = [{"resource": "/by/api_key", f"forged-{number}": "forged"} for number in range(3)]
    with server.raw() as raw:
        raw.send(post(b'{"resource":"/none"}') * 30
                 + post(json.dumps(array).encode(), b"X-API-Key: " + key.encode()))
        assert [raw.response().status for _ in range(31)] == [200] * 31
    assert used(server, "api_key", digest(key), tenant=name) == 3


def test_headers_cannot_either(server):
    name, key = make_tenant(server, "pro")
    fields = {**with_key(key), "X-Tenant": "other", "X-Tier": "gold", "X-User": "u"}
    assert counted(server, "tenant", [name, "other"],
                   lambda: ask(server, "authorize", "tenant", fields)) == [name]
    answer = ask(server, "authorize", "tenant", fields)
    assert answer.headers["X-RateLimit-Limit"] == str(LIMIT * 10)
    assert counted(server, "user", ["u"], lambda: ask(server, "authorize", "user", fields),
                   tenant=name, tier="pro") == ["u"]


@pytest.mark.parametrize("way", WAYS)
def test_a_key_that_is_deleted_ends_at_once(server, way):
    name, key = make_tenant(server)
    other = make_key(server, name)
    connections = [server.connection() for _ in range(6)]  # of both workers, and kept alive
    for connection in connections:
        assert ask(server, way, "tenant", with_key(key), connection).status == 200
    assert server.ask("DELETE", f"/v1/tenants/{name}/keys/{digest(key)[:12]}").status == 200
    for connection in connections:
        assert ask(server, way, "tenant", with_key(key), connection).status == 401
        assert ask(server, way, "tenant", with_key(other), connection).status == 200
    assert server.ask("DELETE", f"/v1/tenants/{name}").status == 200
    for connection in connections:
        assert ask(server, way, "tenant", with_key(other), connection).status == 401
        connection.close()


def test_a_new_key_counts_at_once_everywhere(server):
    connections = [server.connection() for _ in range(6)]
    for _ in range(5):
        _, key = make_tenant(server)
        for connection in connections:
            assert ask(server, "check", "tenant", with_key(key), connection).status == 200
    for connection in connections:
        connection.close()


# ---- required ---------------------------------------------------------------------------


@pytest.fixture(name="required", scope="module")
def with_keys_required(tmp_path_factory):
    folder = tmp_path_factory.mktemp("required")
    (folder / "token").write_text(TOKEN)
    jwt = setting(folder, {None: SECRET}, more=", claims: { user: sub, tenant: org }")
    with Server(f"admin: {{ token_file: token }}\n{TIERS}"
                f"identity:\n  api_keys: required\n  headers: {{ tenant: X-Tenant }}\n"
                f"  jwt: {jwt}\n{RULES}",
                folder=folder) as server:
        yield server


CALLS = {"check": {"resource": "/by/user", "user": "u"}, "array": [{"resource": "/by/user"}],
         "reserve": {"resource": "/by/user", "user": "u"},
         "commit": {"reservation": "00c0ffee00000001", "cost": 1},
         "cancel": {"reservation": "00c0ffee00000001"}}


@pytest.mark.parametrize("name", CALLS)
def test_where_keys_are_required_a_caller_without_one_is_401(required, name):
    path = "/v1/check" if name == "array" else f"/v1/{name}"
    answered = (404,) if name in ("commit", "cancel") else (200,)
    _, key = make_tenant(required, fields=bearer(TOKEN))
    for fields in ({}, {"Authorization": "Basic dXNlcjpwYXNz"}, {"X-Forwarded-For": "192.0.2.1"}):
        answer = required.ask("POST", path, CALLS[name], fields)
        assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    for fields in (with_key(key), bearer(TOKEN), bearer(SECRET.token({"sub": "u"}))):
        assert required.ask("POST", path, CALLS[name], fields).status in answered
    away = {"X-Forwarded-For": next(strangers)}
    for fields in (with_key("wrong"), bearer(f"{TOKEN}s"), bearer(SECRET.token({}) + "x"),
                   {**bearer(SECRET.token({"sub": "u"})), **with_key("wrong")}):
        assert required.ask("POST", path, CALLS[name], {**away, **fields}).status == 401


def test_where_keys_are_required_a_proxy_may_ask_without(required):
    assert ask(required, "authorize", "user").status == 200
    for path in ("/healthz", "/readyz", "/metrics", "/openapi.json"):
        assert required.ask("GET", path).status == 200


def test_without_an_admin_token_this_machine_is_the_admin():
    with Server(f"identity: {{ api_keys: required }}\n{RULES}") as server:
        assert server.check({"user": "u"}).status == 200
        for fields in ({"X-Forwarded-For": "192.0.2.1"}, {"Forwarded": "for=192.0.2.1"},
                       {"X-Real-IP": "192.0.2.1"}, {"Via": "1.1 proxy"}, {"Host": "example.com"},
                       {"Origin": "http://example.com"}):
            assert server.ask("POST", "/v1/check", {"user": "u"}, fields).status == 401, fields


# ---- a token and a key ------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_a_token_and_a_key_must_agree(required, way):
    name, key = make_tenant(required, fields=bearer(TOKEN))
    for claims, status in (({"org": name}, 200), ({"org": "other"}, 403), ({}, 200)):
        fields = {**bearer(SECRET.token({"sub": "u", **claims})), **with_key(key)}
        assert ask(required, way, "tenant", fields).status == status
    assert used(required, "tenant", name, bearer(TOKEN)) == 2
    assert used(required, "tenant", "other", bearer(TOKEN)) == 0


def test_a_header_contradicts_neither_of_them(required):
    name, key = make_tenant(required, fields=bearer(TOKEN))
    for claims in ({}, {"org": name}):
        fields = {**bearer(SECRET.token(claims)), **with_key(key), "X-Tenant": "said"}
        assert ask(required, "authorize", "tenant", fields).status == 200
    assert used(required, "tenant", name, bearer(TOKEN)) == 2
    assert used(required, "tenant", "said", bearer(TOKEN)) == 0


# ---- reservations -----------------------------------------------------------------------


def reserve(server, fields):
    body = {"resource": "/by/tenant", "cost": 100}
    return server.ask("POST", "/v1/reserve", body, fields).json["reservation"]


def settle(server, fields, name):
    """By both calls; their statuses."""
    return [server.ask("POST", "/v1/cancel", {"reservation": name}, fields).status,
            server.ask("POST", "/v1/commit", {"reservation": name, "cost": 1}, fields).status]


def test_a_reservation_is_its_tenants_alone(server):
    (mine, key), (_, others) = make_tenant(server), make_tenant(server)
    one, two = reserve(server, with_key(key)), reserve(server, with_key(key))
    theirs = reserve(server, with_key(others))
    number, _, tag = one.partition("-")
    changed = f"{number}-{int(tag, 16) ^ 1:016x}"
    crossed = f"{number}-{theirs.partition('-')[2]}"
    for name in (one, number, changed, crossed, f"{number}-{'0' * 16}"):
        assert settle(server, with_key(others), name) == [404, 404], name
    for name in (number, changed, crossed, theirs, f"{two.partition('-')[0]}-{tag}"):
        assert settle(server, with_key(key), name) == [404, 404], name
    assert used(server, "tenant", mine) == 200
    assert server.ask("POST", "/v1/cancel", {"reservation": one}, with_key(key)).status == 200
    assert server.ask("POST", "/v1/commit", {"reservation": two, "cost": 30},
                      with_key(key)).json["reservation"] == two
    assert used(server, "tenant", mine) == 30


def test_another_key_of_the_tenants_settles_it_too(server):
    name, key = make_tenant(server)
    one = reserve(server, with_key(key))
    other = make_key(server, name)
    assert server.ask("POST", "/v1/cancel", {"reservation": one}, with_key(other)).status == 200


def test_a_token_of_another_tenants_settles_it_neither(required):
    name, key = make_tenant(required, fields=bearer(TOKEN))
    one = reserve(required, with_key(key))
    other = bearer(SECRET.token({"sub": "u", "org": "other"}))
    for guess in (one.partition("-")[0], f"{one.partition('-')[0]}-{'0' * 16}"):
        assert settle(required, other, guess) == [404, 404]
    assert used(required, "tenant", name, bearer(TOKEN)) == 100


# ---- kept nowhere -----------------------------------------------------------------------


def test_a_key_is_shown_once_and_kept_nowhere(tmp_path):
    with Server(f"{TIERS}{RULES}", folder=tmp_path) as server:
        server.ask("PUT", "/v1/tenants/acme", {"tier": "pro"})
        made = server.ask("POST", "/v1/tenants/acme/keys", {"label": "ci", "tier": "free"}).json
        key = made["key"]
        assert re.fullmatch(r"sk_[0-9a-f]{64}", key)
        assert (made["sha256"], made["id"]) == (digest(key), digest(key)[:12])
        said = []
        for fields in (with_key(key), with_key(f"{key}-wrong")):
            for way in WAYS:
                said.append(ask(server, way, "tenant", fields).body)
            for path in ("/v1/tenants/acme", "/v1/rules", "/v1/users/u", "/v1/exemptions"):
                fields = {"X-Forwarded-For": next(strangers), **fields}
                said.append(server.ask("GET", path, headers=fields).body)
        for path in ("/v1/tenants", "/v1/tenants/acme", "/v1/exemptions", "/metrics"):
            said.append(server.ask("GET", path).body)
        assert digest(key) in said[-3].decode()
        assert not [one for one in said if key.encode() in one]
        said.append(server.ask("DELETE", f"/v1/tenants/acme/keys/{made['id']}").body)
        files = [path for path in tmp_path.iterdir() if path.name != "sluice.db-shm"]
        assert {"sluice.db", "sluice.db-wal"} <= {path.name for path in files}
        for path in files:
            assert key.encode() not in path.read_bytes(), path
        assert key not in server.stderr
        assert server.stop() == 0
        for path in tmp_path.iterdir():
            assert key.encode() not in path.read_bytes(), path
