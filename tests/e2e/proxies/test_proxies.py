"""Behind nginx, HAProxy and Caddy, with the files of examples/proxies.

Limits are so slow that nothing comes back while a test runs, and every test asks from
addresses of its own: the counts of one are not another's.
"""

import http.client
import json
import os
import re
import shutil
import signal
import threading

import pytest

from program import run
from proxying import (EXAMPLES, FIELDS, KINDS, LIMIT, TIMEOUT_S, Answer, Answering, Quiet, Relay,
                      Stack)

addresses = (f"127.0.{high}.{low}" for high in range(1, 255) for low in range(1, 255))


@pytest.fixture(name="kind", params=KINDS, scope="module")
def one_of_three(request):
    if not shutil.which(request.param):
        pytest.skip(f"{request.param} is not installed")
    return KINDS[request.param]


@pytest.fixture(name="stack", scope="module")
def running(kind):
    with Stack(kind) as stack:
        yield stack


@pytest.fixture(name="client")
def address_of_its_own():
    return next(addresses)


# ---- deciding -------------------------------------------------------------------------


def test_the_limit_is_met_exactly(stack, client):
    allowed = [stack.log_in(client) for _ in range(LIMIT)]
    assert [answer.status for answer in allowed] == [200] * LIMIT
    assert [answer.body for answer in allowed] == [b"hello\n"] * LIMIT
    assert [answer.headers["X-RateLimit-Remaining"] for answer in allowed] == list("43210")
    before = len(stack.backend.seen)
    assert [stack.log_in(client).status for _ in range(3)] == [429] * 3
    assert len(stack.backend.seen) == before, "a denied request reached the backend"


def test_an_allowed_request_carries_the_fields(stack, client):
    answer = stack.log_in(client)
    assert answer.status == 200
    limits = answer.limits()
    assert set(limits) == set(FIELDS)
    assert limits["RateLimit-Policy"] == '"login";q=5;w=900'
    assert re.fullmatch(r'"login";r=4;t=\d+', limits["RateLimit"])
    assert (limits["X-RateLimit-Limit"], limits["X-RateLimit-Remaining"]) == ("5", "4")
    assert "Retry-After" not in answer.headers


def test_a_denied_request_carries_the_fields_and_says_when(stack, client):
    stack.exhaust(client)
    answer = stack.log_in(client)
    limits = answer.limits()
    assert set(limits) == set(FIELDS)
    assert limits["RateLimit-Policy"] == '"login";q=5;w=900'
    assert 0 < int(answer.headers["Retry-After"]) <= 900
    assert limits["RateLimit"] == f'"login";r=0;t={answer.headers["Retry-After"]}'
    assert answer.headers.get_content_type() == "application/json"
    said = json.loads(answer.body)
    assert said["error"] == "rate_limit_exceeded"
    assert said["error_description"].startswith("Too many requests. Please retry after ")


def test_a_request_that_no_rule_counts_carries_none(stack, client):
    answer = stack.ask("GET", "/about", client)
    assert answer.status == 200
    assert answer.limits() == {}
    assert "Retry-After" not in answer.headers


def test_clients_are_counted_apart(stack, client):
    stack.exhaust(client)
    assert stack.log_in(next(addresses)).limits()["X-RateLimit-Remaining"] == "4"


def test_path_and_method_reach_the_rules(stack, client):
    policies = [stack.ask(method, path, client).headers["RateLimit-Policy"] for method, path in
                (("POST", "/login?next=/"), ("GET", "/login"), ("GET", "/api/videos?page=2"),
                 ("DELETE", "/api/videos/1"), ("HEAD", "/api"), ("POST", "/"))]
    login, api = '"login";q=5;w=900', '"api";q=20;w=2'
    assert policies == [login, None, api, api, api, None]


@pytest.mark.parametrize("path", ["/%6cogin", "//login", "/api/../login", "/./login", "/login/",
                                  "/login?x", "http://example.test/login"])
def test_another_spelling_is_the_same_resource(stack, client, path):
    stack.exhaust(client)
    assert stack.log_in(client, path=path).status == 429


@pytest.mark.parametrize("body", [b"x" * 100_000, [b"name=", b"a"]], ids=["long", "chunked"])
def test_a_body_reaches_the_backend_whole(stack, client, body):
    path = f"/bodies/{client}"
    assert stack.ask("POST", path, client, body=body).status == 200
    [(method, _, _, arrived)] = stack.backend.requests_for(path)
    assert (method, arrived) == ("POST", b"".join(body) if isinstance(body, list) else body)


@pytest.mark.parametrize("fields", [
    [("Connection", "Upgrade"), ("Upgrade", "websocket")],
    [("Range", "bytes=0-1"), ("If-None-Match", "*"), ("If-Match", '"x"')],
    [("TE", "trailers"), ("Connection", "TE")],
    [("Accept-Encoding", "gzip"), ("Content-Type", "text/plain"), ("Cache-Control", "no-store")],
    [(f"X-Field-{number}", "x") for number in range(60)],
])
def test_fields_that_are_not_its_business_change_nothing(stack, client, fields):
    assert stack.log_in(client, fields).limits()["X-RateLimit-Remaining"] == "4"
    stack.exhaust(other := next(addresses))
    assert stack.log_in(other, fields).status == 429


# ---- what a client may say ------------------------------------------------------------

FRESH = "198.51.100.7"


@pytest.mark.parametrize("fields", [
    [("X-Forwarded-For", FRESH)],
    [("X-Forwarded-For", f"{FRESH}, 127.0.0.1")],
    [("X-Forwarded-For", FRESH), ("X-Forwarded-For", "127.0.0.1")],
    [("x-forwarded-for", FRESH), ("Connection", "X-Forwarded-For")],
    [("X_Forwarded_For", FRESH)],
    [("Forwarded", f"for={FRESH}")],
    [("Forwarded", f'for="{FRESH}";by=127.0.0.1, for=127.0.0.1')],
    [("X-Real-IP", FRESH), ("X-Client-IP", FRESH), ("True-Client-IP", FRESH)],
])
def test_a_forged_address_wins_no_fresh_count(stack, client, fields):
    stack.exhaust(client)
    assert stack.log_in(client, fields).status == 429


def test_a_forged_address_charges_no_other(stack, client):
    victim = next(addresses)
    for _ in range(LIMIT):
        stack.log_in(client, [("X-Forwarded-For", victim), ("Forwarded", f"for={victim}")])
    assert stack.log_in(client).status == 429
    assert stack.log_in(victim).limits()["X-RateLimit-Remaining"] == "4"


@pytest.mark.parametrize("fields", [
    [("X-Original-URI", "/free")],
    [("X-Forwarded-Uri", "/free")],
    [("X-Original-URL", "/free"), ("X-Rewrite-URL", "/free")],
    [("X-Forwarded-Uri", "/free"), ("X-Original-URI", "/free")],
    [("X-Forwarded-Uri", "/free"), ("X-Forwarded-Uri", "/login")],
    [("X-Forwarded-Uri", "/login"), ("Connection", "X-Forwarded-Uri, X-Original-URI")],
    [("X-Original-Method", "GET")],
    [("X-Forwarded-Method", "GET")],
    [("X-HTTP-Method-Override", "GET")],
])
def test_a_forged_resource_or_method_changes_no_rule(stack, client, fields):
    assert stack.log_in(client, fields).limits()["X-RateLimit-Remaining"] == "4"
    stack.exhaust(other := next(addresses))
    assert stack.log_in(other, fields).status == 429


def test_the_backend_is_told_the_address_that_the_proxy_saw(stack, client):
    path = f"/told/{client}"
    assert stack.ask("GET", path, client, [("X-Forwarded-For", FRESH)]).status == 200
    [(_, _, fields, _)] = stack.backend.requests_for(path)
    assert fields.get_all("X-Forwarded-For") == [client]


def test_without_the_proxy_no_header_is_believed(stack, client):
    """Asked directly, by a peer that is no trusted proxy: it counts as itself."""
    for number in range(LIMIT + 1):
        direct = http.client.HTTPConnection("127.0.0.1", stack.sluice.port, timeout=TIMEOUT_S,
                                            source_address=(client, 0))
        direct.request("GET", "/v1/authorize", headers={
            "X-Forwarded-For": f"198.51.100.{number}", "X-Forwarded-Method": "POST",
            "X-Forwarded-Uri": "/login"})
        answer = Answer(direct.getresponse())
        direct.close()
    assert answer.limits()["X-RateLimit-Remaining"] == "0"
    assert stack.log_in(client).status == 429


def test_a_forged_identity_is_not_believed(kind, client):
    rules = ("  headers: { user: X-User }\n\nrules:\n"
             "  - { name: by-user, resource: /users/*, per: user, limit: 1/15m }\n")
    edits = [kind.strike_user] if kind.strike_user else []
    with Stack(kind, edits, rules) as stack:
        for _ in range(3):
            answer = stack.ask("GET", "/users/1", client, [("X-User", "alice")])
            assert (answer.status, answer.limits()) == (200, {})


@pytest.mark.parametrize("length", [1_000, 7_900, 8_300, 9_000, 12_000, 15_000, 15_200, 15_500,
                                    16_400, 40_000, 1_100_000])
def test_a_long_request_is_no_way_past(stack, client, length):
    """Where asking fails by the client's doing, the request must not pass unasked."""
    stack.exhaust(client)
    before = len(stack.backend.seen)
    try:
        assert stack.log_in(client, path="/login?" + "x" * length).status in range(400, 600)
    except (BrokenPipeError, ConnectionResetError, http.client.RemoteDisconnected):
        pass  # it was not read to its end
    assert len(stack.backend.seen) == before


@pytest.mark.parametrize("number, length", [(30, 300), (99, 20), (150, 5), (15, 1_000)])
def test_many_fields_are_no_way_past(stack, client, number, length):
    stack.exhaust(client)
    before = len(stack.backend.seen)
    fields = [(f"X-Field-{n}", "x" * length) for n in range(number)]
    assert stack.log_in(client, fields).status in range(400, 600)
    assert len(stack.backend.seen) == before


# ---- Sluice is away -------------------------------------------------------------------


def test_without_sluice_requests_pass_and_with_it_they_count_again(kind, client):
    with Stack(kind) as stack:
        stack.exhaust(client)
        assert stack.sluice.stop() == 0
        path = f"/bodies/{client}"
        answer = stack.ask("POST", path, client, body=b"whole")
        assert (answer.status, answer.limits()) == (200, {})
        assert stack.backend.requests_for(path)[0][3] == b"whole"
        assert stack.log_in(client).status == 200
        stack.restart_sluice()
        stack.exhaust(client)


def test_a_sluice_that_hangs_is_not_waited_for(kind, client):
    with Stack(kind, patient=False) as stack:
        os.kill(stack.sluice.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, stack.sluice.pid, os.WSTOPPED)  # all its threads have
        try:
            answer = stack.log_in(client)
            assert (answer.status, answer.limits()) == (200, {})
        finally:
            os.kill(stack.sluice.pid, signal.SIGCONT)


def test_without_sluice_requests_are_refused_if_so_configured(kind, client):
    with Stack(kind, [kind.closed]) as stack:
        assert stack.log_in(client).status == 200
        assert stack.sluice.stop() == 0
        seen = len(stack.backend.seen)
        answer = stack.log_in(client)
        assert answer.status in (502, 503)
        assert len(stack.backend.seen) == seen


# ---- between proxy and Sluice ---------------------------------------------------------


def test_connections_to_sluice_are_kept_on_denials_too(kind, client):
    """One by one from 30 connections of the client's: each process or thread of the proxy
    may have one of its own, not one for each request."""
    relays = []

    def relayed(port):
        relays.append(Relay(port))
        return relays[0].port

    with Stack(kind, upstream=relayed) as stack:
        assert [stack.log_in(client).status for _ in range(30)].count(429) == 25
        assert relays[0].accepted <= 2 * os.cpu_count() + 1
    relays[0].listener.close()


@pytest.mark.parametrize("status", [400, 404, 431, 500, 503])
def test_an_answer_that_is_no_decision_lets_no_request_pass(kind, client, status):
    """A store that fails where the rules say deny is 503: not the same as no Sluice at all."""
    handler = type("Handler", (Answering,), {"status": status})
    with Quiet(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with Stack(kind, upstream=lambda _: server.server_port) as stack:
            assert stack.log_in(client).status in range(400, 600)
            assert stack.backend.seen == []
        server.shutdown()


# ---- the files ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rules.yaml", "nginx.rules.yaml"])
def test_lint_has_nothing_to_say(name):
    done = run("lint", EXAMPLES / name)
    assert (done.code, "warning: " in done.out) == (0, False), done.out


def test_the_rules_differ_in_their_status_alone():
    plain, nginx = ([line for line in (EXAMPLES / name).read_text(encoding="utf-8").splitlines()
                     if line and not line.startswith("#")]
                    for name in ("rules.yaml", "nginx.rules.yaml"))
    assert [line for line in nginx if line not in plain] == ["deny_status: 403"]
    assert [line for line in plain if line not in nginx] == []
