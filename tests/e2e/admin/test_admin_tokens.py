"""The admin's tokens: how long a client may guess, where they are kept, that none is shown."""

import itertools
import json
import os

import pytest

from counting import strangers
from program import run
from serving import ANY_PORT, Server
from test_admin_access import CALLS, READER, RULE, RULES, TOKEN, away, is_problem
from tokens import bearer, key_of, setting
from watching import Started, wait_until

MOST = 10


@pytest.fixture(name="guarded", scope="module")
def with_tokens(tmp_path_factory):
    folder = tmp_path_factory.mktemp("guessed")
    (folder / "token").write_text(TOKEN)
    with Server(f"admin: {{ token_file: token }}\n{RULES}", folder=folder) as server:
        assert server.ask("PUT", "/v1/tenants/acme", {}, bearer(TOKEN)).status == 201
        yield server


# ---- guessing ---------------------------------------------------------------------------


guesses = itertools.count()


def guess(server, address, by="token"):
    """A wrong credential, from there."""
    value = f"guess-{next(guesses)}-of-somebody"
    fields = bearer(value) if by == "token" else {"X-API-Key": value}
    return server.ask("GET", "/v1/rules", headers={"X-Forwarded-For": address, **fields})


def is_barred(answer):
    is_problem(answer, 429)
    assert 1 <= int(answer.headers["Retry-After"]) <= 60


@pytest.mark.parametrize("kinds", [["token"], ["key"], ["token", "key"]], ids=str)
def test_after_ten_wrong_ones_even_the_right_one_is_429(guarded, kinds):
    address, other = next(strangers), next(strangers)
    right = {"X-Forwarded-For": address, **bearer(TOKEN)}
    for number in range(MOST):
        assert guarded.ask("GET", "/v1/rules", headers=right).status == 200
        assert guess(guarded, address, kinds[number % len(kinds)]).status == 401
    is_barred(guess(guarded, address))
    is_barred(guess(guarded, address, "key"))
    is_barred(guarded.ask("GET", "/v1/rules", headers=right))
    is_barred(guarded.ask("PUT", "/v1/rules/made", RULE, right))
    key = guarded.ask("POST", "/v1/tenants/acme/keys", {}, bearer(TOKEN)).json["key"]
    is_barred(guarded.ask("GET", "/v1/rules", headers={"X-Forwarded-For": address,
                                                       "X-API-Key": key}))
    elsewhere = {**right, "X-Forwarded-For": other}
    assert guarded.ask("GET", "/v1/rules", headers=elsewhere).status == 200
    rules = guarded.ask("GET", "/v1/rules", headers=bearer(TOKEN)).json["rules"]
    assert [rule["name"] for rule in rules] == ["api"]


def test_none_at_all_is_no_guess(guarded):
    address = next(strangers)
    for _ in range(2 * MOST):
        answer = guarded.ask("GET", "/v1/rules", headers={"X-Forwarded-For": address})
        assert answer.status == 401
    right = {"X-Forwarded-For": address, **bearer(TOKEN)}
    assert guarded.ask("GET", "/v1/rules", headers=right).status == 200


@pytest.mark.parametrize("path, body", [
    ("/v1/check", {"user": "u"}), ("/v1/check", [{"user": "u"}]), ("/v1/reserve", {"user": "u"}),
    ("/v1/commit", {"reservation": "00c0ffee00000001", "cost": 1}),
])
def test_guessing_the_admins_token_on_a_decision_is_guessing(tmp_path, path, body):
    """Where a right one would be told from a wrong one, it is counted as a wrong one."""
    (tmp_path / "token").write_text(TOKEN)
    with Server("admin: { token_file: token }\nidentity: { api_keys: required }\n" + RULES,
                folder=tmp_path) as server:
        address = next(strangers)
        for number in range(MOST):
            fields = {"X-Forwarded-For": address, **bearer(f"guess-{number}-of-somebody")}
            assert server.ask("POST", path, body, fields).status == 401
        is_barred(server.ask("POST", path, body, fields))


@pytest.mark.parametrize("path, body", [
    ("/v1/check", {"user": "u", "ip": "{}"}), ("/v1/reserve", {"user": "u", "ip": "{}"}),
])
def test_an_address_in_a_body_is_not_locked_out(guarded, path, body):
    """Or any client could keep the admin away: the address there is what a decision counts by."""
    admins = next(strangers)
    sent = {name: value.format(admins) for name, value in body.items()}
    for number in range(2 * MOST):
        fields = away({"X-API-Key": f"wrong-{number}"})
        assert guarded.ask("POST", path, sent, fields).status == 401
    right = {"X-Forwarded-For": admins, **bearer(TOKEN)}
    assert guarded.ask("GET", "/v1/rules", headers=right).status == 200


def test_keys_that_pass_through_the_admins_service_lock_no_address_out(guarded):
    """A service that has the admin's token passes on whatever its callers send as keys."""
    for number in range(2 * MOST):
        fields = {**bearer(TOKEN), "X-API-Key": f"wrong-{number}"}
        assert guarded.ask("POST", "/v1/check", {"user": "u"}, fields).status == 200
    assert guarded.ask("GET", "/v1/rules", headers=bearer(TOKEN)).status == 200


def test_the_admins_token_is_good_for_decisions_too(tmp_path):
    """Whatever else is required. It is no token of a user's, though."""
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "reader").write_text(READER)
    jwt = setting(tmp_path, {None: key_of("HS256")}, more=", required: true")
    with Server("admin: { token_file: token, readonly_token_file: reader }\n"
                f"identity: {{ api_keys: required, jwt: {jwt} }}\n{RULES}",
                folder=tmp_path) as server:
        for path, body, status in (
                ("check", {"user": "u", "resource": "/api/x"}, 200), ("reserve", {"user": "u"}, 200),
                ("check", [{"user": "u"}], 200),
                ("commit", {"reservation": "00c0ffee00000001", "cost": 1}, 404),
                ("cancel", {"reservation": "00c0ffee00000001"}, 404)):
            assert server.ask("POST", f"/v1/{path}", body, bearer(TOKEN)).status == status
            is_problem(server.ask("POST", f"/v1/{path}", body, bearer(READER)), 403)
            is_problem(server.ask("POST", f"/v1/{path}", body), 401)
        is_problem(server.ask("GET", "/v1/authorize", headers=bearer(TOKEN)), 401)


# ---- tokens' files ----------------------------------------------------------------------


def test_the_environment_may_hold_the_token(tmp_path):
    (tmp_path / "token").write_text(TOKEN)
    other = "another-admin-of-the-tests"
    rules = tmp_path / "rules.yaml"
    for admin, good in (("token_env: MY_TOKEN", [other]),
                        ("token_env: MY_TOKEN, token_file: token", [other, TOKEN])):
        rules.write_text(f"listen: {json.dumps(ANY_PORT)}\nadmin: {{ {admin} }}\n{RULES}")
        environment = {**os.environ, "MY_TOKEN": f" {other}\n"}
        with Started("-c", str(rules), env=environment) as server:
            for token in (other, TOKEN):
                answer = server.ask("PUT", "/v1/rules/made", RULE, bearer(token))
                assert (answer.status in (200, 201)) == (token in good)
            assert server.ask("GET", "/v1/rules").status == 401
            assert other not in server.stderr + "".join(server.out)


@pytest.mark.parametrize("setting_of", ["token_file", "readonly_token_file"])
@pytest.mark.parametrize("content, phrase", [
    (b"swordfish-fifte", "16"), (b"  swordfish-fifte\n\n", "16"), (b"", "16"), (b" \n" * 20, "16"),
    (b"swordfish swordfish swordfish", "byte"), (b"swordfish\xc3\xa9-swordfish", "byte"),
    (b"swordfish-swordfish\0x", "byte"), (b"swordfish-" * 1000, "large"), (None, "read"),
], ids=["15 bytes", "15 bytes and white space", "empty", "blank", "a space", "not ASCII", "a NUL",
        "10 KB", "not there"])
def test_a_token_that_is_none_keeps_the_server_from_starting(tmp_path, setting_of, content, phrase):
    if content is not None:
        (tmp_path / "token").write_bytes(content)
    refuses_to_start(tmp_path, f"{setting_of}: token", str(tmp_path / "token"), phrase)


def refuses_to_start(folder, admin, name, phrase):
    (folder / "rules.yaml").write_text(
        f"listen: {json.dumps(ANY_PORT)}\nadmin: {{ {admin} }}\n{RULES}")
    done = run("serve", "-c", str(folder / "rules.yaml"))
    assert (done.code, done.out) == (2, "")
    assert name in done.err and phrase in done.err, done.err
    assert "swordfish" not in done.err


def test_a_variable_that_is_none_keeps_the_server_from_starting(tmp_path, monkeypatch):
    monkeypatch.delenv("MY_TOKEN", raising=False)
    refuses_to_start(tmp_path, "token_env: MY_TOKEN", "MY_TOKEN", "no environment variable")
    monkeypatch.setenv("MY_TOKEN", "swordfish-fifte")
    refuses_to_start(tmp_path, "token_env: MY_TOKEN", "MY_TOKEN", "16")


def test_sixteen_bytes_are_enough(tmp_path):
    (tmp_path / "token").write_text("swordfish-sixtee\n")
    with Server(f"admin: {{ token_file: token }}\n{RULES}", folder=tmp_path) as server:
        fields = bearer("swordfish-sixtee")
        assert server.ask("GET", "/v1/rules", headers=fields).status == 200


def test_a_token_that_changed_counts_and_the_old_one_does_not(tmp_path):
    new = "the-next-admin-of-the-tests"

    def put(name, text):
        (tmp_path / "new").write_text(text)
        (tmp_path / "new").rename(tmp_path / name)

    def asked(token, method="GET"):
        return server.ask(method, "/v1/rules/api", headers=away(bearer(token))).status

    put("token", TOKEN)
    put("reader", READER)
    with Server(f"admin: {{ token_file: token, readonly_token_file: reader }}\n{RULES}",
                folder=tmp_path) as server:
        assert [asked(token) for token in (TOKEN, READER, new)] == [200, 200, 401]
        put("token", new)
        wait_until(lambda: asked(new) == 200, "the new token")
        assert asked(TOKEN) == 401
        put("token", "short")
        wait_until(lambda: "token" in server.stderr, "the problem")
        assert [asked(token) for token in (new, "short")] == [200, 401]
        put("token", new)
        put("reader", f"{READER}-2")
        wait_until(lambda: asked(f"{READER}-2") == 200, "the new reader")
        assert [asked(READER), asked(f"{READER}-2", "DELETE"), asked(new)] == [401, 403, 200]
        for token in (TOKEN, READER, new):
            assert token not in server.stderr


def test_tokens_are_shown_nowhere(tmp_path):
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "reader").write_text(READER)
    with Server(f"admin: {{ token_file: token, readonly_token_file: reader }}\n{RULES}",
                folder=tmp_path) as server:
        said = []
        for fields in (bearer(TOKEN), bearer(READER), away(bearer(f"{TOKEN}-wrong"))):
            for method, path, body, _ in CALLS:
                answer = server.ask(method, path, body, fields)
                said.append(answer.body + str(answer.headers).encode())
        said += [server.ask("GET", path).body for path in ("/metrics", "/openapi.json")]
        for token in (TOKEN, READER):
            assert not [one for one in said if token.encode() in one]
            assert token not in server.stderr
            assert token.encode() not in b"".join(path.read_bytes()
                                                  for path in tmp_path.glob("*.db*"))
