"""Calls of the admin API as messages: their order, their bodies, their names, their ends."""

import http.client
import json
import resource
import signal
import socket
import struct

import pytest

from admin_api import Caller, part
from serving import TIMEOUT_S, Server
from watching import wait_until

RULES = """
workers: 2
tiers: { pro: { scale: 10 } }
rules:
  - { name: file, resource: /file, per: user, algorithm: fixed_window, limit: 10/365d }
"""
RULE = {"resource": "/a", "per": "user", "algorithm": "fixed_window", "limit": "5/365d"}
MIB = 1 << 20


@pytest.fixture(name="admin")
def admin_of_a_server():
    with Server(RULES) as server:
        yield Caller(server)


@pytest.fixture(name="steady", scope="module")
def admin_of_a_server_that_stays_as_it_is():
    with Server(RULES) as server:
        yield Caller(server)


def message(method, path, body=None, **fields):
    data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(data)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


def check(**request):
    return message("POST", "/v1/check", {"user": "u", "resource": "/a", "peek": True, **request})


# ---- order ------------------------------------------------------------------------------


def test_pipelined_changes_and_checks_are_answered_in_order(admin):
    """Each check is decided by the rules as the change before it left them."""
    data, expected = b"", []
    for capacity in range(1, 41):
        data += message("PUT", "/v1/rules/made", {**RULE, "limit": f"{capacity}/365d"}) + check()
        data += message("GET", "/v1/rules/made") + message("DELETE", "/v1/rules/made") + check()
        data += message("GET", "/healthz") + message("GET", "/v1/rules/made")
        expected += [(201, f"{capacity}/365d"), (200, capacity), (200, f"{capacity}/365d"),
                     (200, None), (200, None), (200, "ok"), (404, None)]

    def gist(answer):
        body = answer.json
        if "rule" in body and isinstance(body["rule"], dict):
            return answer.status, body["rule"]["limit"]
        if body.get("status") == "ok":
            return answer.status, "ok"
        return answer.status, body.get("limit")

    with admin.server.raw() as raw:
        raw.send(data)
        assert [gist(raw.response()) for _ in expected] == expected


def test_many_at_once_on_many_connections_stay_in_their_order(admin):
    raws = [admin.server.raw() for _ in range(12)]
    names = [f"r{number}" for number in range(12)]
    for turn in range(60):
        for raw, name in zip(raws, names):
            rule = {**RULE, "resource": f"/{name}", "limit": f"{turn + 1}/365d"}
            raw.send(message("PUT", f"/v1/rules/{name}", rule) + check(resource=f"/{name}"))
        for raw, name in zip(raws, names):
            put, after = raw.response(), raw.response()
            assert (put.status, put.json["name"]) == (200 if turn else 201, name)
            assert after.json["limit"] == turn + 1
    for raw in raws:
        raw.socket.close()
    assert sorted(admin.rules()) == sorted(["file", *names])


@pytest.fixture(name="many_files")
def may_open_many_files():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4096:
        pytest.skip("this takes 4,096 open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_files")
def test_more_calls_than_a_queue_holds_are_all_answered():
    """They come while it sleeps, so that one worker finds all of them at once."""
    with Server(RULES.replace("workers: 2", "workers: 1")) as server:
        raws = [server.raw() for _ in range(3000)]
        for raw in raws:
            raw.send(message("GET", "/healthz"))
            assert raw.response().status == 200
        server.process.send_signal(signal.SIGSTOP)
        for raw in raws:
            raw.send(message("GET", "/v1/tiers/pro"))
        server.process.send_signal(signal.SIGCONT)
        for raw in raws:
            answer = raw.response()
            assert answer.status == 200 or (answer.status == 503 and answer.headers["retry-after"])
            raw.socket.close()
        assert Caller(server).get("/v1/tiers/pro").status == 200


# ---- ends -------------------------------------------------------------------------------


def reset(raw):
    """Closed as by a client that crashed."""
    raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raw.socket.close()


def close(raw):
    raw.socket.close()


@pytest.mark.parametrize("leave", [close, reset])
def test_a_client_that_leaves_while_a_change_is_made_harms_no_other(admin, leave):
    for number in range(60):
        raw = admin.server.raw()
        raw.send(message("PUT", f"/v1/rules/r{number}", {**RULE, "resource": "/r"}) +
                 message("PUT", f"/v1/rules/s{number}", {**RULE, "resource": "/s"}) + check())
        if number % 3:
            raw.socket.recv(1 + number % 7)  # in the middle of an answer
        leave(raw)
    listed = admin.rules()  # behind all of them
    assert listed[0] == "file"
    for number in range(60):
        if number % 3:
            assert f"r{number}" in listed  # it was acknowledged
    assert admin.put("/v1/rules/after", RULE, 201).status == 201


def test_a_client_that_sends_nothing_more_is_answered(admin):
    with admin.server.raw() as raw:
        raw.send(message("PUT", "/v1/rules/made", RULE) + message("GET", "/v1/rules/made"))
        raw.finish()
        assert [raw.response().status for _ in range(2)] == [201, 200]
        assert raw.ended()


def test_a_connection_that_is_to_be_closed_is_closed_after_the_answer(admin):
    with admin.server.raw() as raw:
        raw.send(message("PUT", "/v1/rules/made", RULE, Connection="close"))
        answer = raw.response()
        assert (answer.status, answer.headers["connection"]) == (201, "close")
        assert raw.ended()
    with admin.server.raw() as raw:  # as nginx forwards any client's request
        raw.send(b"GET /v1/rules/made HTTP/1.0\r\nHost: localhost\r\n\r\n")
        assert raw.response().status == 403
        assert raw.ended()


def test_a_change_that_came_before_the_end_is_made_and_answered():
    """The server finds both at once: the message and the signal."""
    with Server(RULES) as server:
        with server.raw() as raw:
            raw.send(check())
            raw.response()
            server.process.send_signal(signal.SIGSTOP)
            raw.send(message("PUT", "/v1/rules/made", RULE))
            server.process.send_signal(signal.SIGTERM)
            server.process.send_signal(signal.SIGCONT)
            assert raw.response().status == 201
            assert raw.ended()
        assert server.wait() == 0


# ---- bodies -----------------------------------------------------------------------------


def padded(body, size):
    data = json.dumps(body).encode()
    return data + b" " * (size - len(data))


def test_a_body_of_one_mebibyte_is_read_and_one_byte_more_is_not(admin):
    admin.put("/v1/rules/made", padded(RULE, MIB), 201)
    assert b"   " not in admin.get("/v1/rules/made").body
    for path in ("/v1/rules/more", "/v1/tiers/more", "/v1/users/more", "/v1/tenants/more"):
        admin.put(path, padded({}, MIB + 1), 413)
    assert admin.rules() == ["file", "made"]
    many = [{"user": f"u{number}", "success": True} for number in range(1000)]
    assert admin.post("/v1/outcomes", padded(many, MIB)).json == {"recorded": 1000}


def test_a_rule_as_large_as_a_body_may_be(admin):
    """Every attribute that a rule asks for is listed."""
    values = [f"value-{number:07d}" for number in range(50_000)]
    rule = {**RULE, "when": {"method": values}}
    data = json.dumps(rule).encode()
    assert MIB * 3 // 4 < len(data) < MIB
    answer = admin.put("/v1/rules/made", data, (201, 422))
    if answer.status == 201:
        assert admin.get("/v1/rules/made").json["rule"]["when"]["method"] == values
        limit = admin.server.check({"user": "u", "resource": "/a", "method": values[-1]})
        assert limit.json["rule"] == "made"


def test_a_body_in_chunks_is_a_body(admin):
    data = json.dumps(RULE).encode()
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(data[at:at + 7]), data[at:at + 7])
                      for at in range(0, len(data), 7)) + b"0\r\n\r\n"
    with admin.server.raw() as raw:
        raw.send(b"PUT /v1/rules/made HTTP/1.1\r\nHost: localhost\r\n"
                 b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
        assert raw.response().status == 201
    assert admin.get("/v1/rules/made").json["rule"]["limit"] == "5/365d"


def test_a_call_that_waits_to_be_asked_for_its_body_is(admin):
    data = json.dumps(RULE).encode()
    with admin.server.raw() as raw:
        raw.send(b"PUT /v1/rules/made HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
                 b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(data))
        assert raw.response().status == 100
        raw.send(data)
        assert raw.response().status == 201


@pytest.mark.parametrize("path", [
    "/v1/rules", "/v1/rules/file", "/v1/tiers", "/v1/tiers/pro", "/v1/exemptions", "/v1/users/u",
    "/v1/tenants", "/v1/tenants/acme", "/v1/tenants/acme/rules", "/v1/tenants/acme/rules/own",
    "/v1/rules/nobody"])
def test_head_is_get_without_the_body(steady, path):
    steady.put("/v1/tenants/acme", {})
    steady.put("/v1/tenants/acme/rules/own", RULE)
    with steady.server.raw() as raw:
        raw.send(message("HEAD", path) + message("GET", path) + message("HEAD", path))
        head, got, again = raw.response("HEAD"), raw.response(), raw.response("HEAD")
    for one in (head, got, again):
        one.fields = [field for field in one.fields if field[0] != "date"]
    assert (head.status, head.fields) == (got.status, got.fields) == (again.status, again.fields)
    assert int(head.headers["content-length"]) == len(got.body) > 0


# ---- what is not known is refused -------------------------------------------------------


@pytest.mark.parametrize("method, path, body", [
    ("PUT", "/v1/rules/made", {**RULE, "Limit": 1}), ("PUT", "/v1/tiers/made", {"scales": 1}),
    ("PUT", "/v1/users/u", {"email": True}), ("PUT", "/v1/users/u", {"limits": {"file": {"x": 1}}}),
    ("POST", "/v1/exemptions", {"kind": "user", "value": "x", "for": "1h"}),
    ("DELETE", "/v1/exemptions", {"kind": "user", "value": "x", "until": 1}),
    ("POST", "/v1/outcomes", {"user": "u", "success": True, "at": 1}),
    ("POST", "/v1/outcomes", [{"user": "u", "success": True}, {"user": "u", "ok": True}]),
    ("PUT", "/v1/tenants/t", {"name": "t"}), ("POST", "/v1/tenants/acme/keys", {"key": "x"}),
    ("PUT", "/v1/tenants/acme/rules/own", {**RULE, "tenant": "acme"}),
])
def test_unknown_members_are_refused(steady, method, path, body):
    steady.put("/v1/tenants/acme", {})
    before = [steady.get(look).json["rules"] for look in ("/v1/rules", "/v1/tenants/acme")]
    steady.call(method, path, body, 422)
    assert [steady.get(look).json["rules"] for look in ("/v1/rules", "/v1/tenants/acme")] == before
    assert steady.get("/v1/users/u").json["known"] is False


@pytest.mark.parametrize("method, path, body", [
    ("GET", "/v1/rules?undo=true", None), ("GET", "/v1/rules?dry_run=true", None),
    ("GET", "/v1/rules/file?x", None), ("PUT", "/v1/rules/made?undo=true", RULE),
    ("PUT", "/v1/rules/made?dry_run", RULE), ("PUT", "/v1/rules/made?dry_run=1", RULE),
    ("PUT", "/v1/rules/made?dry_run=true&dry_run=true", RULE),
    ("PUT", "/v1/rules/made?Dry_run=true", RULE), ("DELETE", "/v1/rules/file?undo=yes", None),
    ("DELETE", "/v1/rules/file?tenant=acme", None), ("POST", "/v1/reload?x=1", None),
    ("PUT", "/v1/rules/made?=", RULE), ("PUT", "/v1/rules/made?dry%5Frun=maybe", RULE),
])
def test_unknown_parameters_are_refused(steady, method, path, body):
    before = steady.get("/v1/rules").body
    steady.call(method, path, body, 422)
    assert steady.get("/v1/rules").body == before


@pytest.mark.parametrize("method, path", [
    ("GET", "/v1/rules"), ("GET", "/v1/users/u"), ("DELETE", "/v1/rules/file"),
    ("DELETE", "/v1/tiers/pro"), ("DELETE", "/v1/users/u"), ("POST", "/v1/reload"),
    ("DELETE", "/v1/tenants/acme")])
def test_a_body_where_none_is_taken_is_refused(steady, method, path):
    steady.put("/v1/tenants/acme", {})
    before = [steady.get(look).body for look in ("/v1/rules", "/v1/tiers", "/v1/tenants")]
    steady.call(method, path, {"undo": True}, 422)
    assert [steady.get(look).body for look in ("/v1/rules", "/v1/tiers", "/v1/tenants")] == before


def test_methods_that_are_not_there_are_told_with_those_that_are(admin):
    for method, path, allow in (("POST", "/v1/rules", "GET, HEAD"),
                                ("POST", "/v1/rules/x", "GET, HEAD, PUT, DELETE"),
                                ("GET", "/v1/reload", "POST"), ("PATCH", "/v1/users/u", None)):
        answer = admin.call(method, path, None, 405)
        assert allow in (None, answer.headers["allow"])
    for path in ("/v1/rules/", "/v1/rules/a/b", "/v1/users", "/v1/users/", "/v1/tenants//rules",
                 "/v1/tenants/acme/keys/x/y", "/V1/rules"):
        admin.get(path, 404)


# ---- names ------------------------------------------------------------------------------

IDS = ["a/b", "a+b", "a b", "ü", "用户", "😀", "%", "%2F", "a%20b", "..", ".", "a?b#c", "a&b=c",
       '"\\', "x" * 512, "ü" * 256, "acme/u", "~!$'()*,;:@"]


@pytest.mark.parametrize("user", IDS)
def test_a_user_can_have_any_id(steady, user):
    path = f"/v1/users/{part(user)}?tenant={part('a/b + ü')}"
    steady.put(path, {"email_verified": True, "limits": {"file": {"capacity": 3}}}, 201)
    shown = steady.get(path).json
    assert (shown["user"], shown["tenant"], shown["known"]) == (user, "a/b + ü", True)
    body = {"user": user, "tenant": "a/b + ü", "resource": "/file", "peek": True}
    assert steady.post("/v1/check", body, 200).json["limit"] == 3
    steady.post("/v1/outcomes", {"user": user, "tenant": "a/b + ü", "success": True})
    assert steady.get(path).json["trust"]["success"]["calls"] == 1
    assert steady.get(f"/v1/users/{part(user)}").json["known"] is False  # without a tenant
    assert steady.delete(path).json == {"user": user, "tenant": "a/b + ü", "deleted": True}
    assert steady.post("/v1/check", body, 200).json["limit"] == 10


def test_reserved_letters_need_not_be_encoded(admin):
    """In a path and in a query alike: what is not %XX means itself."""
    admin.put("/v1/users/a+b:c@d?tenant=x+y/z", {"email_verified": True}, 201)
    assert admin.get("/v1/users/a%2Bb%3ac%40d?tenant=x%2By%2Fz").json["user"] == "a+b:c@d"
    assert admin.get("/v1/users/a%2Bb%3Ac%40d?tenant=x%2By%2Fz").json["known"] is True
    assert admin.get("/v1/users/a%20b:c@d?tenant=x%20y/z").json["known"] is False


@pytest.mark.parametrize("path", [
    "/v1/users/%", "/v1/users/%2", "/v1/users/%zz", "/v1/users/%00", "/v1/users/a%00b",
    "/v1/users/%09", "/v1/users/a%0ab", "/v1/users/%7f", "/v1/users/u?tenant=%01",
    "/v1/users/%ff", "/v1/users/%c3", "/v1/users/%ed%a0%80", "/v1/users/%c0%af",
    "/v1/rules/%ff", "/v1/tenants/%ff", "/v1/users/" + "x" * 513, "/v1/users/u?tenant=%ff",
    "/v1/users/u?tenant=%", "/v1/users/u?tenant=%00", "/v1/users/u?tenant=" + "x" * 513])
def test_a_name_that_is_none_is_refused_in_json_that_can_be_read(steady, path):
    """Neither rubbish nor bytes that are no UTF-8 get in, or come back."""
    for method, body in (("GET", None), ("PUT", {}), ("DELETE", None)):
        status = (400, 422, 404) if "/users/" not in path else (400, 422)
        answer = steady.call(method, path, body, status)
        assert answer.json["status"] == answer.status  # and it is JSON, in UTF-8


def test_names_in_problems_are_printed_safely(admin):
    for name in ('"\\', "<script>", "\u2028"):
        answer = admin.get(f"/v1/rules/{part(name)}", 404)
        assert name in answer.json["detail"]
    assert admin.get("/v1/rules/" + "x" * 4000, 404).json["status"] == 404


def test_a_rule_whose_name_looks_like_a_tenants_is_no_way_to_it(admin):
    admin.put("/v1/tenants/acme", {})
    admin.put("/v1/tenants/acme/rules/own", RULE)
    admin.put("/v1/rules/acme%2Fown", RULE, 422)
    admin.delete("/v1/rules/acme%2Fown", 404)
    assert admin.get("/v1/tenants/acme/rules/own").json["tenant"] == "acme"


def test_a_keep_alive_connection_serves_a_thousand_calls(admin):
    connection = http.client.HTTPConnection("127.0.0.1", admin.server.port, timeout=TIMEOUT_S)
    for number in range(1000):
        path = "/v1/rules" if number % 2 else "/v1/users/u"
        assert admin.server.ask("GET", path, connection=connection).status == 200
    connection.close()
    wait_until(lambda: admin.get("/readyz").status == 200, "it goes on")
