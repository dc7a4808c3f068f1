"""Access to the admin API: from this machine, with a token, with a tenant's key."""

import json

import pytest

from counting import strangers
from proxy_headers import LISTEN as PROXIED
from proxy_headers import v1, v2
from serving import Server, connect_unix
from tokens import bearer, key_of, setting

TOKEN, READER = "an-admin-of-the-tests", "a-reader-of-the-tests"
RULES = """\
tiers: { free: {}, pro: { scale: 10 } }
rules:
  - { name: api, resource: /api/*, per: user, algorithm: fixed_window, limit: 100/365d }
"""
RULE = {"resource": "/made", "per": "user", "limit": "5/1h"}


def is_problem(answer, status):
    assert answer.status == status, (answer.status, answer.body)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json["status"] == status
    return answer.json["detail"]


def away(fields=()):
    """From another machine, through the tests' proxy."""
    return {"X-Forwarded-For": next(strangers), **dict(fields)}


def rule_names(server):
    return [rule["name"] for rule in server.ask("GET", "/v1/rules").json["rules"]]


# ---- this machine -----------------------------------------------------------------------


@pytest.fixture(name="local", scope="module")
def without_tokens():
    with Server(RULES) as server:
        yield server


@pytest.mark.parametrize("host", ["localhost", "LocalHost", "localhost:{}", "127.0.0.1:{}",
                                  "127.9.8.7", "[::1]", "[::1]:{}", "[0:0:0:0:0:0:0:1]"])
def test_without_a_token_this_machine_is_the_admin(local, host):
    fields = {"Host": host.format(local.port)}
    assert local.ask("PUT", "/v1/rules/made", RULE, fields).status in (200, 201)
    assert local.ask("DELETE", "/v1/rules/made", headers=fields).status == 200
    assert local.ask("GET", "/v1/tenants", headers=fields).status == 200


NOT_LOCAL = [
    ("Forwarded", "for=127.0.0.1"), ("X-Forwarded-For", "127.0.0.1"), ("x-forwarded-for", "::1"),
    ("X-Real-IP", "127.0.0.1"), ("Via", "1.1 localhost"), ("Forwarded", ""), ("X-Real-IP", ""),
    ("X-Forwarded-For", ""), ("Via", ""),
    ("Host", "example.com"), ("Host", "localhost.example.com"), ("Host", "127.0.0.1.example.com"),
    ("Host", "10.0.0.1"), ("Host", "0.0.0.0"), ("Host", "[::2]"), ("Host", "[::ffff:10.0.0.1]"),
    ("Host", "128.0.0.1"), ("Host", "localhost."), ("Host", "xlocalhost"),
    ("Origin", "http://example.com"), ("Origin", "https://localhost.example.com"),
    ("Origin", "null"), ("Origin", "http://127.0.0.1:1"), ("Origin", ""),
    ("Origin", "http://example.com//127.0.0.1"),
]


@pytest.mark.parametrize("name, value", NOT_LOCAL)
def test_what_came_through_a_proxy_or_a_page_is_403(local, name, value):
    calls = [("GET", "/v1/rules", None), ("PUT", "/v1/rules/made", RULE),
             ("DELETE", "/v1/rules/api", None), ("POST", "/v1/reload", None),
             ("POST", "/v1/reset", {"rule": "api", "user": "u"}),
             ("PUT", "/v1/tenants/acme", {}), ("POST", "/v1/outcomes", {"user": "u",
                                                                        "success": True})]
    for method, path, body in calls:
        is_problem(local.ask(method, path, body, {name: value}), 403)
    assert rule_names(local) == ["api"]
    assert local.ask("GET", "/v1/tenants").json == {"tenants": []}


@pytest.mark.parametrize("host", ["", "127.0.0.1:80.example.com", "[::1].example.com",
                                  "[::1", "127.0.0.1:x", "localhost:1:2", "a@localhost",
                                  "localhost/x"])
def test_a_host_that_only_begins_like_this_machine_is_refused(local, host):
    assert local.ask("GET", "/v1/rules", headers={"Host": host}).status in (400, 403)


def test_a_page_of_its_own_may_ask(local):
    fields = {"Origin": f"http://127.0.0.1:{local.port}"}
    assert local.ask("GET", "/v1/rules", headers=fields).status == 200


def test_a_request_without_a_host_is_refused(local):
    with local.raw() as raw:
        raw.send(b"GET /v1/rules HTTP/1.0\r\n\r\n")
        is_problem(raw.response(), 403)


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded",
                                  "multipart/form-data; boundary=x"])
def test_what_a_page_can_send_unasked_is_415(local, kind):
    body = json.dumps(RULE).encode()
    field = f"Content-Type: {kind}\r\n" if kind else ""
    with local.raw() as raw:
        raw.send(f"PUT /v1/rules/made HTTP/1.1\r\nHost: localhost\r\n{field}"
                 f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        is_problem(raw.response(), 415)
    assert rule_names(local) == ["api"]


def test_a_token_where_there_is_none_is_401(local):
    assert local.ask("GET", "/v1/rules", headers=away(bearer(TOKEN))).status == 401


GET_RULES = b"GET /v1/rules HTTP/1.1\r\nHost: localhost\r\n%s\r\n"


@pytest.fixture(name="proxied", scope="module")
def with_proxy_protocol(tmp_path_factory):
    """Whose connection it is, the test says."""
    folder = tmp_path_factory.mktemp("proxied")
    with Server(RULES, listen=PROXIED, folder=folder) as server:
        yield server


@pytest.mark.parametrize("peer, status", [  # a proxy is in between, whatever the header says
    (v1("127.0.0.1"), 403), (v1("127.1.2.3"), 403), (v2("127.0.0.1"), 403), (v2("::1"), 403),
    (v2("::ffff:127.0.0.1"), 403), (v2(None), 403), (v1("203.0.113.1"), 403),
    (v2("203.0.113.1"), 403), (v2("2001:db8::1"), 403), (v2("10.0.0.1"), 403),
    (v2("192.168.1.1"), 403), (v2("0.0.0.0"), 403), (v2("::"), 403), (v2("128.0.0.1"), 403),
    (v2("::ffff:10.0.0.1"), 403), (v2("::127.0.0.1"), 403), (v2("fe80::1"), 403),
])
def test_another_machine_is_403(proxied, peer, status):
    with proxied.raw() as raw:
        raw.send(peer + GET_RULES % b"")
        assert raw.response().status == status


def test_a_client_of_a_unix_socket_is_local(tmp_path):
    path = tmp_path / "s"
    with Server(RULES, listen={"http": f"unix:{path}"}, folder=tmp_path):
        for field, status in ((b"", 200), (b"X-Forwarded-For: 127.0.0.1\r\n", 403),
                              (b"Via: 1.1 x\r\n", 403)):
            with connect_unix(path) as raw:
                raw.send(GET_RULES % field)
                assert raw.response().status == status


# ---- roles ------------------------------------------------------------------------------


@pytest.fixture(name="guarded", scope="module")
def with_tokens(tmp_path_factory):
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "token").write_text(f"\n \t{TOKEN}\r\n\n")
    (folder / "reader").write_text(READER)
    with Server(f"admin: {{ token_file: token, readonly_token_file: reader }}\n{RULES}",
                folder=folder) as server:
        yield server


@pytest.fixture(name="keys", scope="module")
def keys_of_tenants(guarded):
    """{tenant: key}"""
    made = {}
    for name in ("acme", "other"):
        guarded.ask("PUT", f"/v1/tenants/{name}", {}, bearer(TOKEN))
        made[name] = guarded.ask("POST", f"/v1/tenants/{name}/keys", {}, bearer(TOKEN)).json["key"]
    own = guarded.ask("PUT", "/v1/tenants/other/rules/secret", RULE, bearer(TOKEN))
    assert own.status == 201
    return made


DRY = "?dry_run=true"
# method, path, body, and the roles besides the admin's that may: r(eader), t(enant)
CALLS = [
    ("GET", "/v1/rules", None, "rt"), ("HEAD", "/v1/rules", None, "rt"),
    ("GET", "/v1/rules/api", None, "rt"), ("PUT", f"/v1/rules/new{DRY}", RULE, "t"),
    ("DELETE", f"/v1/rules/api{DRY}", None, "t"), ("POST", "/v1/reload", None, ""),
    ("GET", "/v1/tiers", None, "r"), ("GET", "/v1/tiers/pro", None, "r"),
    ("PUT", f"/v1/tiers/new{DRY}", {"scale": 2}, ""), ("DELETE", f"/v1/tiers/pro{DRY}", None, ""),
    ("GET", "/v1/exemptions", None, "r"),
    ("POST", f"/v1/exemptions{DRY}", {"kind": "ip", "value": "192.0.2.1"}, ""),
    ("DELETE", f"/v1/exemptions{DRY}&kind=ip&value=192.0.2.1", None, ""),
    ("GET", "/v1/users/u", None, "rt"),
    ("PUT", f"/v1/users/u{DRY}", {"email_verified": True}, "t"),
    ("PUT", f"/v1/users/u{DRY}", {"tier": "pro"}, ""),
    ("PUT", f"/v1/users/u{DRY}", {"limits": {"api": {"capacity": 5}}}, ""),
    ("PUT", f"/v1/users/u{DRY}", {"email_verified": True, "tier": None}, ""),
    ("DELETE", f"/v1/users/u{DRY}", None, "t"), ("GET", "/v1/users/u?tenant=acme", None, "rt"),
    ("GET", "/v1/users/u?tenant=other", None, "r"),
    ("PUT", f"/v1/users/u{DRY}&tenant=other", {"email_verified": True}, ""),
    ("DELETE", f"/v1/users/u{DRY}&tenant=other", None, ""),
    ("POST", "/v1/outcomes", {"user": "u", "success": True}, "t"),
    ("POST", "/v1/outcomes", {"user": "u", "tenant": "acme", "success": True}, "t"),
    ("POST", "/v1/outcomes", {"user": "u", "tenant": "other", "success": True}, ""),
    ("POST", "/v1/outcomes", [{"user": "u", "success": True},
                              {"user": "u", "tenant": "other", "success": True}], ""),
    ("GET", "/v1/tenants", None, "r"), ("GET", "/v1/tenants/acme", None, "rt"),
    ("PUT", f"/v1/tenants/acme{DRY}", {"tier": "pro"}, ""),
    ("DELETE", f"/v1/tenants/acme{DRY}", None, ""),
    ("POST", f"/v1/tenants/acme/keys{DRY}", {}, ""),
    ("DELETE", f"/v1/tenants/acme/keys/000000000000{DRY}", None, ""),
    ("GET", "/v1/tenants/acme/rules", None, "rt"),
    ("GET", "/v1/tenants/acme/rules/own", None, "rt"),
    ("PUT", f"/v1/tenants/acme/rules/own{DRY}", RULE, "t"),
    ("DELETE", f"/v1/tenants/acme/rules/own{DRY}", None, "t"),
    ("POST", "/v1/reset", {"rule": "api", "user": "nobody"}, "t"),  # 404: it is not its own
]


@pytest.mark.parametrize("method, path, body, who", CALLS)
def test_each_role_may_do_what_it_may(guarded, keys, method, path, body, who):
    """A caller that may is answered, whatever the answer is; all others get 403, without a hint."""
    roles = {"a": bearer(TOKEN), "r": bearer(READER), "t": {"X-API-Key": keys["acme"]}}
    for role, fields in roles.items():
        answer = guarded.ask(method, path, body, fields)
        if role in f"a{who}":
            assert answer.status in (200, 404), (role, answer.status, answer.body)
        else:
            is_problem(answer, 403)
    nobody = guarded.ask(method, path, body)
    assert (nobody.status, nobody.headers["WWW-Authenticate"]) == (401, "Bearer")


def test_another_tenants_things_are_as_if_they_were_not(guarded, keys):
    fields = {"X-API-Key": keys["acme"]}
    for path in ("/v1/tenants/other", "/v1/tenants/nobody", "/v1/rules/secret",
                 "/v1/tenants/other/rules", "/v1/tenants/other/rules/secret",
                 "/v1/tenants/nobody/rules", "/v1/rules/api"):
        answer = guarded.ask("GET", path, headers=fields)
        assert answer.status == 404, path
    theirs = guarded.ask("GET", "/v1/tenants/other/rules", headers=fields)
    nobodys = guarded.ask("GET", "/v1/tenants/nobody/rules", headers=fields)
    assert theirs.body.replace(b"other", b"nobody") == nobodys.body
    assert guarded.ask("GET", "/v1/rules", headers=fields).json["rules"] == []
    for method, body in (("PUT", RULE), ("DELETE", None)):
        answer = guarded.ask(method, "/v1/tenants/other/rules/secret", body, fields)
        assert answer.status in (403, 404)
    kept = guarded.ask("GET", "/v1/tenants/other/rules/secret", headers=bearer(TOKEN))
    assert kept.status == 200


def test_a_token_decides_over_a_key(guarded, keys):
    key = {"X-API-Key": keys["acme"]}
    assert guarded.ask("GET", "/v1/tiers", headers={**bearer(TOKEN), **key}).status == 200
    wrong = away({**bearer("another-admin-of-the-tests"), **key})
    assert guarded.ask("GET", "/v1/rules", headers=wrong).status == 401
    both = {**bearer(TOKEN), "X-API-Key": "wrong"}
    assert guarded.ask("GET", "/v1/tiers", headers=both).status == 200


@pytest.mark.parametrize("value", [
    f"Bearer {TOKEN}s", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN.upper()}", f"Basic {TOKEN}",
    "Bearer", f"Bearer {TOKEN} {TOKEN}", f'Bearer "{TOKEN}"', TOKEN,
])
def test_a_wrong_token_is_401(guarded, value):
    answer = guarded.ask("GET", "/v1/rules", headers=away({"Authorization": value}))
    is_problem(answer, 401)
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert TOKEN not in answer.body.decode()


def test_a_wrong_key_is_401(guarded):
    answer = guarded.ask("GET", "/v1/rules", headers=away({"X-API-Key": "wrong"}))
    is_problem(answer, 401)
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_a_token_for_decisions_is_none_for_changes(tmp_path):
    (tmp_path / "token").write_text(TOKEN)
    secret = key_of("HS256")
    with Server(f"admin: {{ token_file: token }}\nidentity: {{ jwt: "
                f"{setting(tmp_path, {None: secret})} }}\n{RULES}", folder=tmp_path) as server:
        for claims in ({"sub": "admin"}, {"sub": TOKEN, "role": "admin"}):
            token = bearer(secret.token(claims))
            assert server.check({"user": "u"}).status == 200
            is_problem(server.ask("GET", "/v1/rules", headers=token), 401)


def test_tokens_work_from_everywhere(guarded):
    for fields in (away(), {"Host": "example.com"}, {"Via": "1.1 proxy"},
                   {"Origin": "http://example.com"}):
        assert guarded.ask("GET", "/v1/rules", headers={**bearer(TOKEN), **fields}).status == 200
        assert guarded.ask("GET", "/v1/rules", headers={**bearer(READER), **fields}).status == 200


def test_a_reader_alone_leaves_this_machine_the_admin(tmp_path):
    (tmp_path / "reader").write_text(READER)
    with Server(f"admin: {{ readonly_token_file: reader }}\n{RULES}", folder=tmp_path) as server:
        assert server.ask("PUT", "/v1/rules/made", RULE).status == 201
        assert server.ask("GET", "/v1/rules", headers=bearer(READER)).status == 200
        is_problem(server.ask("DELETE", "/v1/rules/made", headers=bearer(READER)), 403)
        is_problem(server.ask("GET", "/v1/rules", headers=away()), 403)
