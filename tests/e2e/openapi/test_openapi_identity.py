"""What tokens and keys do to decisions, held against the OpenAPI description.

401, 403 and 429 of every call that decides, provoked, and the answer read by the
description. What is believed and what is not has tests of its own; here it is how
the server says so.
"""

import hashlib
import time

import jwt
import pytest

from description import DOCUMENT, check_answer_of, operation_of, operations, target_of
from serving import Server

SECRET = "a secret of thirty-two bytes or more"
TOKEN, READER = "an-admin-of-the-tests", "a-reader-of-the-tests"
RULES = """
admin: { token_file: token, readonly_token_file: reader }
identity:
  jwt: { algorithms: [HS256], keys: [{ secret_file: secret }], claims: { user: sub, tenant: org } }
  headers: { tenant: X-Tenant }
rules:
  - { name: api, resource: /api/*, per: user, limit: 1000/1h }
"""
REQUIRED = RULES.replace("HS256],", "HS256], required: true,")
KEYS_REQUIRED = RULES.replace("identity:", "identity:\n  api_keys: required")
RESERVATION = "00c0ffee00000001"
BODIES = {"check": {"resource": "/api/a"}, "reserve": {"resource": "/api/a"},
          "commit": {"reservation": RESERVATION, "cost": 1},
          "cancel": {"reservation": RESERVATION}}
PROXYS = [operation["operationId"] for path, _, operation in operations() if "authorize" in path]
DECIDING = [*BODIES, *PROXYS]


def token(secret=SECRET, **claims):
    return {"Authorization": f"Bearer {jwt.encode({'sub': 'u1', **claims}, secret, 'HS256')}"}


def ask(server, name, fields=(), body=None):
    """The answer, read by the description."""
    path, method, operation = operation_of(name)
    body = {**BODIES[name], **(body or {})} if name in BODIES else None
    answer = server.ask(method.upper(), target_of(path), body, fields)
    check_answer_of(operation, answer, method.upper())
    return answer


@pytest.fixture(name="start")
def ways_to_start(tmp_path):
    for name, text in (("secret", SECRET), ("token", TOKEN), ("reader", READER)):
        (tmp_path / name).write_text(text)
    return lambda rules=RULES: Server(rules, folder=tmp_path)


def give_key(server, tenant):
    """A key of a new tenant's, in plain."""
    admin = {"Authorization": f"Bearer {TOKEN}"}
    assert server.ask("PUT", f"/v1/tenants/{tenant}", {}, admin).status == 201
    answer = server.ask("POST", f"/v1/tenants/{tenant}/keys", {}, admin)
    assert answer.status == 201
    return answer.json["key"]


def test_every_call_that_decides_says_how_it_refuses():
    for name in DECIDING:
        assert {"401", "403", "429"} <= set(operation_of(name)[2]["responses"]), name


def test_a_wrong_token_is_answered_as_described(start):
    with start() as server:
        for name in DECIDING:
            answer = ask(server, name, token("another secret of thirty-two bytes"))
            assert answer.status == 401
            assert answer.headers["www-authenticate"].startswith('Bearer error="invalid_token", ')
            good = ask(server, name, token())
            assert good.status == (404 if name in ("commit", "cancel") else 200)


@pytest.mark.parametrize("rules", [REQUIRED, KEYS_REQUIRED])
def test_a_missing_credential_is_answered_as_described(start, rules):
    with start(rules) as server:
        for name in DECIDING:
            if rules is KEYS_REQUIRED and name in PROXYS:
                continue  # it is the proxy that asks
            answer = ask(server, name)
            assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
            assert ask(server, name, token()).status in (200, 404)


def test_a_key_that_is_nobodys_is_answered_as_described(start):
    with start() as server:
        key = give_key(server, "acme")
        for name in BODIES:
            assert ask(server, name, {"X-API-Key": "wrong"}).status == 401
            assert ask(server, name, {"X-API-Key": key}).status in (200, 404)
        assert ask(server, "authorize_get", {"X-API-Key": "wrong"}).status == 401


@pytest.mark.parametrize("name", ["check", "reserve"])
def test_a_body_that_contradicts_is_answered_as_described(start, name):
    with start() as server:
        key = {"X-API-Key": give_key(server, "acme")}
        assert ask(server, name, token(), {"user": "u1"}).status == 200
        assert ask(server, name, token(), {"user": "u2"}).status == 403
        assert ask(server, name, key, {"tenant": "acme"}).status == 200
        for claim in ({"tenant": "other"}, {"tier": "pro"}, {"trust_score": 1},
                      {"api_key": hashlib.sha256(b"other").hexdigest()}):
            assert ask(server, name, key, claim).status == 403, claim


def test_a_token_that_may_only_look_may_not_decide(start):
    with start() as server:
        for name in BODIES:
            assert ask(server, name, {"Authorization": f"Bearer {READER}"}).status == 403
            assert ask(server, name, {"Authorization": f"Bearer {TOKEN}"}).status in (200, 404)


def test_a_token_and_a_key_that_contradict_each_other_are_answered_as_described(start):
    with start() as server:
        key = {"X-API-Key": give_key(server, "acme")}
        for name in ("check", "reserve", *PROXYS):
            assert ask(server, name, {**token(org="acme"), **key}).status == 200
            assert ask(server, name, {**token(org="other"), **key}).status == 403


def test_a_tenants_reservation_is_settled_as_described_and_by_this_tenant_alone(start):
    with start() as server:
        acme, other = ({"X-API-Key": give_key(server, name)} for name in ("acme", "other"))
        for name, more in (("commit", {"cost": 2}), ("cancel", {})):
            made = ask(server, "reserve", acme, {"user": "u1", "cost": 5}).json["reservation"]
            assert len(made) == 33
            assert ask(server, name, other, {"reservation": made, **more}).status == 404
            assert ask(server, name, acme, {"reservation": made[:16], **more}).status == 404
            settled = ask(server, name, acme, {"reservation": made, **more})
            assert (settled.status, settled.json["reservation"]) == (200, made)


def test_after_too_many_wrong_tokens_known_ones_still_pass_as_described(start):
    with start("workers: 1\n" + RULES) as server:  # what was verified, a worker knows
        known = token(jti="known")
        for name in ("check", "authorize_get"):
            assert ask(server, name, known).status == 200
        for number in range(30):
            wrong = token("another secret of thirty-two bytes", jti=str(number))
            assert ask(server, "check", wrong).status == 401
        for name in DECIDING:
            answer = ask(server, name, token(iat=int(time.time()), jti=name))
            assert answer.status == 429, answer.body
            assert 1 <= int(answer.headers["retry-after"]) <= 60
            if operation_of(name)[1] != "head":
                assert answer.json["title"] == "Too Many Requests"
            assert ask(server, name, known).status in (200, 404)


def test_a_message_that_names_its_caller_twice_is_answered_as_described(start):
    lines = ["Host: localhost", "Content-Type: application/json", "Content-Length: 2"]
    with start() as server:
        for name in DECIDING:
            path, method, operation = operation_of(name)
            for field in ("Authorization: Bearer x", "X-API-Key: x"):
                head = [f"{method.upper()} {target_of(path)} HTTP/1.1", *lines, field, field]
                with server.raw() as raw:
                    raw.send(("\r\n".join(head) + "\r\n\r\n{}").encode())
                    answer = raw.response(to=method.upper())
                    assert answer.status == (422 if name in ("commit", "cancel") else 400)
                    check_answer_of(operation, answer, method.upper())


def test_the_schemes_are_the_fields_that_are_read():
    schemes = DOCUMENT["components"]["securitySchemes"]
    assert {name: (one["type"], one.get("name")) for name, one in schemes.items()} == {
        "admin_token": ("http", None), "jwt": ("http", None), "api_key": ("apiKey", "X-API-Key")}
