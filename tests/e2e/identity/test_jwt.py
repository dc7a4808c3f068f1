"""JSON Web Tokens that are good, and what is made of them; and how a request without one, or
with one that says something else than its body, is answered."""

import json
import re
import time

import pytest

import counting
from counting import WAYS, ask, counted, used
from messages import post
from serving import Server
from tokens import ALGORITHMS, bearer, jwks, key_of, setting
from watching import wait_until

SECRET = key_of("HS256")
CLAIMS = """{ user: sub, tenant: org, client: azp, tier: plan, created_at: created,
              email_verified: email_verified, country: address.country, level: a.b.c }"""
TIERED = """\
  - { name: tiered, resource: /by/tier, per: user, algorithm: fixed_window, limit: 10/365d }
  - { name: trusted, resource: /by/trust, per: user, algorithm: fixed_window, limit: 1000/365d,
      adaptive: true }
"""
DAY_S = 86400


def limit_of(answer):
    assert answer.status == 200, answer.body
    return int(answer.headers["X-RateLimit-Limit"])


def is_refused(answer, phrase):
    """401, and says why, in the one form."""
    assert answer.status == 401, (answer.status, answer.body)
    field = answer.headers["WWW-Authenticate"]
    why = re.fullmatch(r'Bearer error="invalid_token", error_description="([^"\\]+)"', field)
    assert why and phrase in why[1], field
    assert answer.headers["Content-Type"] == "application/problem+json"
    problem = answer.json
    assert (problem["status"], problem["title"]) == (401, "Unauthorized")
    assert why[1] in problem["detail"]


def is_asked_for(answer):
    """401 for want of a token."""
    assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Bearer"), answer.body


# ---- every algorithm --------------------------------------------------------------------


@pytest.fixture(name="by_source", scope="module")
def servers_by_source(tmp_path_factory):
    """The same keys as files, and as a JSON Web Key Set; no `claims` are configured."""
    folder = tmp_path_factory.mktemp("keys")
    keys = {algorithm: key_of(algorithm) for algorithm in ALGORITHMS}
    members = [key.jwk(kid=kid, use="sig", alg=kid) for kid, key in keys.items()]
    (folder / "jwks.json").write_text(jwks(*members))
    sources = {"files": setting(folder, keys),
               "jwks": f"{{ algorithms: {json.dumps(ALGORITHMS)}, jwks_file: jwks.json }}"}
    rules = counting.rules("user")
    with Server(f"identity: {{ jwt: {sources['files']} }}\n{rules}", folder=folder) as files, \
            Server(f"identity: {{ jwt: {sources['jwks']} }}\n{rules}", folder=folder) as a_set:
        yield {"files": files, "jwks": a_set}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("source", ["files", "jwks"])
def test_a_good_token_names_its_subject(by_source, source, algorithm, way):
    server, key, user = by_source[source], key_of(algorithm), f"{algorithm}-{way}"
    for header in ({"kid": algorithm}, {}):
        token = bearer(key.token({"sub": user, "exp": time.time() + 60}, **header))
        for _ in range(2):  # the second time it is known already
            assert counted(server, "user", [user, "somebody"],
                           lambda: ask(server, way, "user", token)) == [user]
    other = key_of(algorithm, "other").token({"sub": user}, kid=algorithm)
    is_refused(ask(server, way, "user", bearer(other)), "the signature is wrong")
    assert used(server, "user", user) == 4


@pytest.mark.parametrize("source", ["files", "jwks"])
@pytest.mark.parametrize("scheme", ["bearer", "BEARER", "Bearer "])
def test_a_scheme_is_told_in_any_case(by_source, source, scheme):
    token = key_of("HS256").token({"sub": "case"})
    fields = {"Authorization": f"{scheme} {token}"}
    assert counted(by_source[source], "user", ["case"],
                   lambda: ask(by_source[source], "authorize", "user", fields)) == ["case"]


# ---- claims -----------------------------------------------------------------------------


@pytest.fixture(name="server", scope="module")
def with_claims(tmp_path_factory):
    """With claims of every kind, and headers for the same attributes. One worker, so that what
    is sent in one piece is decided in one round."""
    folder = tmp_path_factory.mktemp("claims")
    jwt = setting(folder, {None: SECRET}, more=f", claims: {CLAIMS}")
    rules = counting.rules("user", "tenant", "client", "country", "level", more=TIERED)
    with Server("workers: 1\ntiers: { free: { scale: 1 }, pro: { scale: 10 } }\n"
                "identity:\n  headers: { user: X-User, tenant: X-Tenant, tier: X-Tier, "
                f"client: X-Client, country: X-Country }}\n  jwt: {jwt}\n{rules}",
                folder=folder) as server:
        yield server


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("attribute, claims, value", [
    ("user", {"sub": "u1"}, "u1"), ("tenant", {"org": "acme"}, "acme"),
    ("client", {"azp": "app"}, "app"), ("user", {"sub": 42}, "42"), ("user", {"sub": -1}, "-1"),
    ("user", {"sub": 1.5}, "1.5"), ("user", {"sub": 9007199254740993}, "9007199254740993"),
    ("user", {"sub": True}, "true"), ("user", {"sub": False}, "false"),
    ("user", {"sub": "Zoë \U0001f600 \"quoted\" \\"}, "Zoë \U0001f600 \"quoted\" \\"),
    ("country", {"address": {"country": "nz"}}, "nz"),
    ("country", {"address.country": "whole", "address": {"country": "part"}}, "whole"),
    ("level", {"a": {"b": {"c": 3}}}, "3"), ("level", {"a.b.c": "top"}, "top"),
])
def test_a_claim_is_an_attribute(server, way, attribute, claims, value):
    token = bearer(SECRET.token(claims))
    assert counted(server, attribute, [value, "somebody", "part"],
                   lambda: ask(server, way, attribute, token)) == [value]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("claims", [
    {}, {"address": "nz"}, {"address": {}}, {"address": {"country ": "nz"}},
    {"address": ["country"]},
])
def test_a_claim_that_is_missing_is_a_missing_attribute(server, way, claims):
    answer = ask(server, way, "country", bearer(SECRET.token(claims)))
    assert (answer.status, answer.headers["RateLimit-Policy"]) == (200, None)


@pytest.mark.parametrize("way", WAYS)
def test_a_tier_and_trust_come_from_claims(server, way):
    old = time.time() - 200 * DAY_S
    for claims, limit in (({"plan": "pro"}, 100), ({"plan": "free"}, 10), ({}, 10)):
        token = bearer(SECRET.token({"sub": f"tier-{way}", **claims}))
        assert limit_of(ask(server, way, "tier", token)) == limit
    for claims, limit in (({}, 1000), ({"email_verified": True}, 1200),
                          ({"created": old}, 1300), ({"created": int(old)}, 1300),
                          ({"created": "2001-01-01T00:00:00Z", "email_verified": True}, 1500),
                          ({"created": "long ago", "email_verified": False}, 1000)):
        token = bearer(SECRET.token({"sub": f"trust-{way}", **claims}))
        assert limit_of(ask(server, way, "trust", token)) == limit


# ---- what contradicts a token -----------------------------------------------------------


FULL = {"sub": "con-u", "org": "con-t", "azp": "con-c", "plan": "pro", "created": 1000,
        "email_verified": True, "address": {"country": "con-nz"}}
SAME = {"user": "con-u", "tenant": "con-t", "client": "con-c", "tier": "pro",
        "created_at": "1000", "email_verified": "true", "country": "con-nz"}


@pytest.mark.parametrize("name", SAME)
def test_a_body_that_contradicts_the_token_is_403(server, name):
    token = bearer(SECRET.token(FULL))
    assert ask(server, "check", "user", token, **SAME).status == 200
    before = used(server, "user", "con-u", tenant="con-t")
    other = {name: "free" if name == "tier" else "other"}
    for body in ({**SAME, **other}, other):
        answer = ask(server, "check", "user", token, **body)
        assert (answer.status, answer.json["title"]) == (403, "Forbidden")
        assert "contradicts" in answer.json["detail"]
        reserved = server.ask("POST", "/v1/reserve", {"resource": "/by/user", **body}, token)
        assert reserved.status == 403
        array = [{"resource": "/by/user"}, {"resource": "/by/user", **body}]
        assert server.ask("POST", "/v1/check", array, token).status == 403
    assert used(server, "user", "con-u", tenant="con-t") == before
    assert used(server, "user", "other", tenant="con-t") == 0


def test_what_a_token_could_have_said_a_body_may_not(server):
    token = bearer(SECRET.token({"org": "free-t"}))
    assert ask(server, "check", "user", token, user="said").status == 403
    assert ask(server, "check", "user", token, trust_score=1).status == 403
    assert used(server, "user", "said", tenant="free-t") == 0
    assert ask(server, "check", "user", token).status == 200


def test_every_request_of_an_array_is_the_tokens(server):
    token = bearer(SECRET.token({"sub": "array"}))
    array = [{"resource": "/by/user", "cost": 2}, {"resource": "/by/user", "user": "array"}]
    answer = server.ask("POST", "/v1/check", array, token)
    assert [one["remaining"] for one in answer.json] == [998, 997]
    assert used(server, "user", "array") == 3


def test_tokens_that_come_in_one_piece_are_told_apart(server):
    users = [f"apart-{number}" for number in range(40)]
    body = b'{"resource":"/by/user","cost":3}'
    with server.raw() as raw:
        raw.send(b"".join(post(body, b"Authorization: Bearer "
                               + SECRET.token({"sub": user}).encode()) for user in users))
        assert [raw.response().json["remaining"] for _ in users] == [997] * len(users)
    assert [used(server, "user", user) for user in users] == [3] * len(users)


@pytest.mark.parametrize("before", [0, 30, 1100])
def test_an_array_is_its_tokens_whatever_came_in_the_same_piece(server, before):
    """A round that has no room for it is finished first, and forgets what it had."""
    user = f"piece-{before}"
    token = SECRET.token({"sub": user, "org": "mine"}).encode()
    single = post(b'{"resource":"/none"}')
    array = [{"resource": "/by/user", f"forged-{number}": "forged"} for number in range(3)]
    with server.raw() as raw:
        raw.send(single * before + post(json.dumps(array).encode(),
                                        b"Authorization: Bearer " + token))
        assert [raw.response().status for _ in range(before + 1)] == [200] * (before + 1)
    assert used(server, "user", user, tenant="mine") == 3
    assert [used(server, "user", name) for name in ("forged", "forged-0", "forged-1")] == [0] * 3


def test_a_token_wins_over_headers(server):
    said = {"X-User": "said-u", "X-Tenant": "said-t", "X-Tier": "free", "X-Client": "said-c",
            "X-Country": "said-nz"}
    token = bearer(SECRET.token({"sub": "won-u", "org": "won-t", "plan": "pro", "azp": "won-c",
                                 "address": {"country": "won-nz"}}))
    for attribute, word in (("user", "u"), ("tenant", "t"), ("client", "c"), ("country", "nz")):
        for fields, who in ((said, "said"), ({**said, **token}, "won")):
            tenant = {} if attribute == "tenant" else {"tenant": f"{who}-t"}
            assert counted(server, attribute, [f"said-{word}", f"won-{word}"], lambda: ask(
                server, "authorize", attribute, fields), **tenant) == [f"{who}-{word}"]
    assert limit_of(ask(server, "authorize", "tier", said)) == 10
    assert limit_of(ask(server, "authorize", "tier", {**said, **token})) == 100


def test_what_a_token_does_not_say_headers_may(server):
    fields = {**bearer(SECRET.token({"org": "t"})), "X-User": "by-header"}
    assert counted(server, "user", ["by-header"],
                   lambda: ask(server, "authorize", "user", fields),
                   tenant="t") == ["by-header"]


# ---- issuer, audience, times ------------------------------------------------------------


@pytest.fixture(name="strict", scope="module")
def with_issuer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("strict")
    jwt = setting(folder, {None: SECRET},
                  more=", issuer: https://login.example.com, audience: api, required: true")
    with Server(f"identity: {{ jwt: {jwt} }}\n{counting.rules('user')}", folder=folder) as server:
        yield server


GOOD = {"sub": "strict", "iss": "https://login.example.com", "aud": "api"}


def good(**claims):
    return {name: value for name, value in {**GOOD, **claims}.items() if value is not ...}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("claims", [
    {}, {"aud": ["api"]}, {"aud": ["other", "api"]}, {"exp": 60}, {"exp": -30}, {"exp": 0.5},
    {"nbf": -60}, {"nbf": 30}, {"iat": 30}, {"iat": -10 ** 9}, {"exp": 1e15},
    {"exp": 60, "nbf": -60, "iat": -60},
], ids=str)
def test_a_token_for_us_and_for_now_is_good(strict, way, claims):
    """Times are from now; a minute is the leeway."""
    now = time.time()
    moved = {name: now + value if name in ("exp", "nbf", "iat") else value
             for name, value in claims.items()}
    assert ask(strict, way, "user", bearer(SECRET.token(good(**moved)))).status == 200


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("claims, phrase", [
    ({"iss": ...}, "no iss"), ({"iss": "https://login.example.com/"}, "another issuer"),
    ({"iss": "https://LOGIN.example.com"}, "another issuer"), ({"iss": ""}, "another issuer"),
    ({"iss": ["https://login.example.com"]}, "iss is not a string"),
    ({"aud": ...}, "no aud"), ({"aud": "API"}, "another audience"), ({"aud": "ap"}, "another"),
    ({"aud": []}, "another audience"), ({"aud": ["other"]}, "another audience"),
    ({"aud": ["api", 1]}, "aud is not a string"), ({"aud": {"api": 1}}, "aud is not a string"),
    ({"exp": -90}, "expired"), ({"exp": -61.5}, "expired"), ({"nbf": 90}, "not valid yet"),
    ({"iat": 90}, "issued in the future"), ({"exp": -90, "nbf": 90}, "expired"),
], ids=str)
def test_a_token_for_others_or_for_another_time_is_refused(strict, way, claims, phrase):
    now = time.time()
    moved = {name: now + value if name in ("exp", "nbf", "iat") else value
             for name, value in claims.items()}
    before = used(strict, "user", "strict", bearer(SECRET.token(GOOD)))
    is_refused(ask(strict, way, "user", bearer(SECRET.forged(good(**moved)))), phrase)
    assert used(strict, "user", "strict", bearer(SECRET.token(GOOD))) == before


def test_the_leeway_is_the_operators(tmp_path):
    jwt = setting(tmp_path, {None: SECRET}, more=", leeway: 0s")
    with Server(f"identity: {{ jwt: {jwt} }}\n{counting.rules('user')}",
                folder=tmp_path) as server:
        late = SECRET.token({"sub": "u", "exp": time.time() - 1})
        is_refused(ask(server, "check", "user", bearer(late)), "expired")


def is_over(answer):
    return answer.status != 200 and answer


def test_a_token_that_is_known_ends_when_it_expires(tmp_path):
    jwt = setting(tmp_path, {None: SECRET}, more=", leeway: 0s")
    with Server(f"workers: 1\nidentity: {{ jwt: {jwt} }}\n{counting.rules('user')}",
                folder=tmp_path) as server:
        end = time.time() + 1
        token = bearer(SECRET.token({"sub": "u", "exp": end}))
        assert ask(server, "check", "user", token).status == 200
        answer = wait_until(lambda: is_over(ask(server, "check", "user", token)), "its end")
        assert time.time() >= end
        is_refused(answer, "expired")


# ---- none, another, two -----------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_where_a_token_is_required_none_is_401(strict, way):
    is_asked_for(ask(strict, way, "user"))
    is_asked_for(ask(strict, way, "user", {"Authorization": "Basic dXNlcjpwYXNz"}))
    assert ask(strict, way, "user", bearer(SECRET.token(GOOD))).status == 200


def test_it_is_required_of_every_call_that_decides(strict):
    calls = {"reserve": {"user": "u"}, "commit": {"reservation": "00c0ffee00000001", "cost": 1},
             "cancel": {"reservation": "00c0ffee00000001"}}
    for name, body in calls.items():
        is_asked_for(strict.ask("POST", f"/v1/{name}", body))
    is_asked_for(strict.ask("POST", "/v1/check", [{"user": "u"}]))
    for path in ("/healthz", "/readyz", "/metrics", "/openapi.json"):
        assert strict.ask("GET", path).status == 200


@pytest.mark.parametrize("way", WAYS)
def test_where_it_is_not_required_another_scheme_is_ignored(server, way):
    for scheme in ("Basic dXNlcjpwYXNz", "Digest a=b", "Bearerish x.y.z", "Bearer, x"):
        assert ask(server, way, "user", {"Authorization": scheme}).status == 200, scheme


@pytest.mark.parametrize("way", WAYS)
def test_a_token_that_is_empty_is_no_way_to_be_anonymous(server, way):
    answer = ask(server, way, "user", {"Authorization": "Bearer"})
    assert answer.status == 401


@pytest.mark.parametrize("target", [b"POST /v1/check", b"GET /v1/authorize/by/user"])
def test_two_authorizations_are_400_and_nothing_is_charged(server, target):
    good_one = SECRET.token({"sub": "two"}).encode()
    for other in (good_one, SECRET.token({"sub": "another"}).encode(), b"x"):
        fields = b"".join(b"Authorization: Bearer %s\r\n" % one for one in (good_one, other))
        body = b'{"resource": "/by/user"}' if target.startswith(b"POST") else b""
        with server.raw() as raw:
            raw.send(b"%s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s"
                     % (target, fields, len(body), body))
            assert raw.response().status == 400
    assert used(server, "user", "two") == used(server, "user", "another") == 0
