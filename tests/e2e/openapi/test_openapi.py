"""The OpenAPI description, held against the server: neither says what the other does not.

Every status of every operation is provoked and the answer read by the
description; a status or a member that is not described fails. What may be sent
is tried the other way round: the server must refuse exactly the values that the
description does.

What tokens and keys do to decisions is in test_openapi_identity.py, the calls that
change things in test_openapi_admin.py; what is refused whatever it asks is tried on
those too, here.
"""

import json
import re
import signal
import socket

import pytest

import description
from description import DOCUMENT, check_answer, check_answer_of, operations, resolve, target_of
from program import SLUICE
from serving import TIMEOUT_S, Server
from watching import wait_until

RULES = """
timeouts: { head: 2s, body: 2s }
store: "memory:?size=1M&log=0"  # no room for a log: its rules fail
on_store_failure: deny
identity: { headers: { user: X-User } }
exempt: { users: [root] }
rules:
  - { name: api, resource: /api/*, per: user, algorithm: fixed_window, limit: 1000000/365d }
  - { name: few, resource: /few, per: resource, algorithm: fixed_window, limit: 1/365d }
  - { name: client, resource: /client, per: client, limit: 5/1h, on_missing: deny }
  - { name: log, resource: /log, per: resource, algorithm: sliding_window_log, limit: 5/1h }
  - { name: queue, resource: /queue, per: user, algorithm: leaky_bucket, capacity: 100,
      refill_rate: 1000 }
  - { name: watched, resource: /api/watched, per: resource, limit: 1/1h, shadow: true }
"""

OPERATIONS = [pytest.param(*row, id=row[2]["operationId"]) for row in operations()]
# No request makes the server run out of memory.
NEVER_PROVOKED = {500}


@pytest.fixture(name="server", scope="module")
def running_server():
    with Server(RULES) as server:
        assert server.check({"resource": "/few"}).status == 200  # the one there is
        yield server


def message(method, target, *fields, body=b"", version="1.1"):
    lines = [f"{method} {target} HTTP/{version}", *fields, "", ""]
    return "\r\n".join(lines).encode() + body


def read(raw, method):
    """A response whose body to HEAD must be none, unless the server closed before it knew."""
    answer = raw.response(to=method)
    if method == "HEAD" and raw.unread:
        length = int(answer.headers["content-length"])
        assert len(raw.unread) == length, "something else than the body to HEAD"
        answer.body, raw.unread = raw.unread, b""
    return answer


def say(server, data, method="GET"):
    with server.raw() as raw:
        raw.send(data)
        return read(raw, method)


def test_the_served_document_is_the_file(server):
    answer = server.ask("GET", "/openapi.json")
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json == DOCUMENT


# ---- every status, provoked -------------------------------------------------------------


LONG = "?" + "a" * 9000
MANY = [f"X-{i}: x" for i in range(101)]
REFUSED = {  # messages that are wrong whatever they ask
    400: lambda method, target: message(method, target),
    413: lambda method, target: message(method, target, "Host: x", "Content-Length: 1048577"),
    414: lambda method, target: message(method, target + LONG, "Host: x"),
    417: lambda method, target: message(method, target, "Host: x", "Expect: the-best"),
    431: lambda method, target: message(method, target, "Host: x", *MANY),
    501: lambda method, target: message(method, target, "Host: x",
                                        "Transfer-Encoding: gzip, chunked"),
    505: lambda method, target: message(method, target, "Host: x", version="2.0"),
}


@pytest.mark.parametrize("path, method, operation", OPERATIONS)
def test_a_refused_message_is_answered_as_described(server, path, method, operation):
    method, target = method.upper(), target_of(path)
    for status, make in REFUSED.items():
        answer = say(server, make(method, target), method)
        assert answer.status == status
        if method == "HEAD":  # what was not understood may not be known to be HEAD
            assert answer.headers["content-type"] == "application/problem+json"
        else:
            check_answer_of(operation, answer, method)


def test_a_late_message_is_answered_as_described_everywhere(server):
    late = []
    for path, method, operation in operations():
        late.append((server.raw(), method.upper(), operation))
        late[-1][0].send(message(method.upper(), target_of(path), "Host: x")[:-2])
    for raw, method, operation in late:
        with raw:
            answer = read(raw, method)
            assert answer.status == 408
            if method != "HEAD":
                check_answer_of(operation, answer, method)


def test_one_connection_too_many_is_answered_as_described_everywhere():
    with Server(RULES + "max_connections: 1\n") as server, server.raw() as only:
        only.send(message("GET", "/healthz", "Host: x"))
        assert only.response().status == 200
        for path, method, operation in operations():
            with server.raw() as raw:
                raw.send(message(method.upper(), target_of(path), "Host: x"))
                answer = raw.response()  # nothing was read: it cannot know HEAD
                assert answer.status == 503
                check_answer_of(operation, answer)


def test_every_refusal_that_is_described_is_provoked():
    tried = {*REFUSED, 408, 503}
    for _, _, operation in operations():
        assert description.refusals(operation) - NEVER_PROVOKED <= tried
        listed = {int(key) for key in operation["responses"] if key.isdigit()}
        assert tried <= listed | description.refusals(operation)


def check_limit_fields(answer, denied):
    fields = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset",
              "RateLimit-Policy", "RateLimit"] + ["Retry-After"] * denied
    names = {name.lower() for name in dict(answer.headers)}
    assert {name.lower() for name in fields} <= names


POSTED = {  # path: status: bodies that are answered with it
    "/v1/check": {
        200: [{}, {"resource": "/api/a", "user": "u", "explain": True}, {"user": "root"},
              {"resource": "/api/a", "user": "u", "peek": True, "explain": True},
              {"resource": "/queue", "user": "u", "wait": True},
              {"resource": "/api/watched", "user": "u", "explain": True},
              {"resource": "/api/watched", "user": "u", "explain": True},
              [{"resource": "/api/a", "user": "u"}, {"resource": "/few"}, {"resource": "/log"},
               {"resource": "/few", "explain": True}]],
        429: [{"resource": "/few"}, {"resource": "/few", "cost": 2}, {"resource": "/client"},
              {"resource": "/few", "explain": True}],
        503: [{"resource": "/log"}, {"resource": "/log", "explain": True}],
        400: [b"", b"{", b"[", b'{"user": "u"', b"nonsense", b"[{}] {}"],
        413: [[{}] * 1001],
        415: [],
        422: [{"cost": -1}, {"at_us": 1}, {"peek": "yes"}, {"user": []}, [], b'"text"',
              [{}, {"cost": "much"}]],
    },
    "/v1/reserve": {
        200: [{}, {"resource": "/api/a", "user": "u", "cost": 3}, {"user": "root"},
              {"resource": "/api/a", "user": "u", "cost": 0},
              {"resource": "/api/a", "user": "u", "expires_in": 0.5}],
        429: [{"resource": "/few"}, {"resource": "/few", "cost": 2}],
        503: [{"resource": "/log"}],
        400: [b"", b"{", b"nonsense"],
        413: [],
        415: [],
        422: [{"cost": -1}, {"peek": True}, {"wait": True}, {"explain": True}, {"at_us": 1},
              {"expires_in": 0}],
    },
    "/v1/commit": {
        404: [{"reservation": "00c0ffee00000001", "cost": 1}],
        400: [b"", b"{", b"nonsense"],
        413: [],
        415: [],
        422: [{"reservation": "00c0ffee00000001"}, {"cost": 1}, {},
              {"reservation": "00c0ffee00000001", "cost": -1}],
    },
    "/v1/cancel": {
        404: [{"reservation": "00c0ffee00000001"}],
        400: [b"", b"{", b"nonsense"],
        413: [],
        415: [],
        422: [{}, {"reservation": 1}, {"reservation": "nonsense"}],
    },
}


@pytest.mark.parametrize("path", POSTED)
def test_calls_are_answered_as_described(server, path):
    operation = DOCUMENT["paths"][path]["post"]
    for status, bodies in POSTED[path].items():
        for body in bodies:
            answer = server.ask("POST", path, body)
            assert answer.status == status, (body, answer.body)
            check_answer_of(operation, answer)
            if status == 429 and "cost" not in body and body["resource"] == "/few":
                check_limit_fields(answer, True)
    big = server.ask("POST", path, b'{"user": "' + b"u" * (1 << 20) + b'"}')
    assert big.status == 413
    check_answer_of(operation, big)
    foreign = server.ask("POST", path, b"user=u", {"Content-Type": "text/plain"})
    assert foreign.status == 415
    check_answer_of(operation, foreign)


def test_a_reservation_is_settled_as_described(server):
    def reserve():
        answer = server.ask("POST", "/v1/reserve", {"resource": "/api/a", "user": "r", "cost": 5})
        assert answer.status == 200
        check_limit_fields(answer, False)
        assert answer.json["reservation"] is not None
        return answer.json["reservation"]

    for path, more in (("/v1/commit", {"cost": 3}), ("/v1/cancel", {})):
        answer = server.ask("POST", path, {"reservation": reserve(), **more})
        assert answer.status == 200
        check_answer_of(DOCUMENT["paths"][path]["post"], answer)


def authorize(server, method, target, *fields):
    return say(server, message(method, target, "Host: x", *fields), method)


@pytest.mark.parametrize("path, method, operation",
                         [row for row in OPERATIONS if "authorize" in row.values[0]])
def test_a_proxys_question_is_answered_as_described(server, path, method, operation):
    method, target = method.upper(), target_of(path)
    for status, fields in ((200, ["X-Forwarded-Uri: /api/a", "X-User: u"]),
                           (200, ["X-Forwarded-Uri: /elsewhere"]),
                           (429, ["X-Forwarded-Uri: /few"]),
                           (429, ["X-Original-URI: /client"]),
                           (503, ["X-Original-URI: /log"]),
                           (400, ["X-Original-URI: /a", "X-Forwarded-Uri: /b"]),
                           (400, ["X-Original-URI: /a", "X-Original-URI: /b"]),
                           (400, ["X-Original-Method: GET", "X-Forwarded-Method: PUT"])):
        answer = authorize(server, method, target, *fields)
        assert answer.status == status, (fields, answer.body)
        check_answer_of(operation, answer, method)
        if fields[0] in ("X-Forwarded-Uri: /api/a", "X-Forwarded-Uri: /few"):
            check_limit_fields(answer, status == 429)


@pytest.mark.parametrize("status, key", [(400, "400"), (401, "401"), (403, "403"), (402, "4XX"),
                                         (599, "5XX")])
def test_another_deny_status_is_described(status, key):
    rules = "rules:\n  - { name: few, per: global, algorithm: fixed_window, limit: 1/365d }\n"
    with Server(f"deny_status: {status}\n{rules}") as server:
        assert server.check({}).status == 200
        for path, method, operation in operations():
            if "authorize" not in path:
                continue
            method = method.upper()
            answer = authorize(server, method, target_of(path))
            assert answer.status == status
            check_answer(resolve(operation["responses"][key]), answer, method)
            check_limit_fields(answer, True)


GET_PATHS = [path for path, method, operation in operations()
             if "operation" in operation["tags"] and method == "get"]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("path", GET_PATHS)
def test_what_can_be_looked_at_is_as_described(server, path, method):
    answer = say(server, message(method, path, "Host: x"), method)
    assert answer.status == 200
    check_answer_of(DOCUMENT["paths"][path][method.lower()], answer, method)
    assert "content-type" in answer.headers


PAGE_FILES = ["/", "/dashboard/main.js", "/dashboard/dashboard.css", "/dashboard/chart.js"]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_dashboards_files_are_as_described(server, method):
    for target in PAGE_FILES:
        operation = DOCUMENT["paths"]["/" if target == "/" else "/dashboard/{file}"][method.lower()]
        whole = say(server, message(method, target, "Host: x"), method)
        assert whole.status == 200
        check_answer_of(operation, whole, method)
        tag = whole.headers["etag"]
        had = say(server, message(method, target, "Host: x", f"If-None-Match: {tag}"), method)
        assert had.status == 304
        check_answer_of(operation, had, method)
    none = say(server, message(method, "/dashboard/none.js", "Host: x"), method)
    assert none.status == 404
    check_answer_of(operation, none, method)


def refuses_connections(port):
    try:
        socket.create_connection(("127.0.0.1", port), TIMEOUT_S).close()
        return False
    except ConnectionError:
        return True


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_shutting_down_is_not_ready_as_described(method):
    patient = RULES.replace("body: 2s", "body: 2s, drain: 60s")  # however slow we are
    with Server(patient) as server, server.raw() as raw:
        raw.send(message("GET", "/readyz", "Host: x"))
        assert raw.response().status == 200
        server.process.send_signal(signal.SIGTERM)
        wait_until(lambda: refuses_connections(server.port), "it has heard")
        raw.send(message(method, "/readyz", "Host: x"))
        answer = raw.response(to=method)
        assert answer.status == 503
        check_answer_of(DOCUMENT["paths"]["/readyz"][method.lower()], answer, method)
        assert server.wait() == 0


def test_every_listed_status_has_a_case():
    """Those that are listed one by one; refusals of a message are counted above."""
    everywhere = {"200", *map(str, REFUSED), "408", "503", "default"}
    identity = {"401", "403", "429"}
    for path, _, operation in operations():
        listed = set(operation["responses"]) - everywhere
        if path in POSTED:
            assert listed <= set(map(str, POSTED[path])) | identity, path
        elif "authorize" in path:
            assert listed == {"401", "403", "429", "4XX", "5XX"}
        elif "operation" in operation["tags"]:
            assert not listed


# ---- paths and methods ------------------------------------------------------------------


@pytest.mark.parametrize("path", [path for path in DOCUMENT["paths"] if "authorize" not in path])
def test_the_methods_of_a_path_are_those_described(server, path):
    for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"):
        if method in description.methods_of(path):
            continue
        answer = say(server, message(method, target_of(path), "Host: localhost"), method)
        assert answer.status == 405
        allowed = set(re.split(r",\s*", answer.headers["allow"]))
        assert allowed == description.methods_of(path)
        check_answer(resolve({"$ref": "#/components/responses/NoSuchMethod"}), answer, method)


def test_authorize_takes_unknown_methods(server):
    assert authorize(server, "BREW", "/v1/authorize").status == 200


def test_paths_that_are_not_described_are_unknown(server):
    """Whatever the program holds that looks like a path of it, and some that do not."""
    strings = re.findall(rb"[\0\n\"'`](/[a-z][a-z0-9_./-]{1,40})(?=[\0\n\"'` ?])",
                         SLUICE.read_bytes())
    candidates = {text.decode() for text in strings}
    assert set(GET_PATHS) <= candidates  # this way of looking finds what there is
    candidates |= {"/", "/v1", "/v1/", "/v1/stat", "/v1/audits", "/healthz/", "/v1/checks",
                   "/v1/check/", "/v1/authorized", "/V1/check", "/openapi.yaml", "/v1/rules/",
                   "/v1/rules/a/b", "/v1/tiers/a/b", "/v1/exemptions/a", "/v1/users", "/v1/users/",
                   "/v1/users/a/b", "/v1/outcomes/a", "/v1/reset/a", "/v1/reload/a", "/v1/keys",
                   "/v1/tenants/", "/v1/tenants/a/", "/v1/tenants/a/b", "/v1/tenants/a/keys/",
                   "/v1/tenants/a/keys/b/c", "/v1/tenants/a/rules/", "/v1/tenants/a/rules/b/c"}
    missing = resolve({"$ref": "#/components/responses/NoSuchPath"})
    with server.raw() as raw:
        for path in sorted(candidates):
            if description.is_described(path):
                continue
            raw.send(message("GET", path, "Host: localhost"))
            answer = raw.response()
            assert answer.status == 404, path
            check_answer(missing, answer)


# ---- what may be sent -------------------------------------------------------------------


VALUES = [None, True, False, 0, 1, -1, 0.0005, 0.001, 0.5, 1.5, 86400, 86400.5, 4294967295,
          4294967296, "", "x", "192.0.2.1", "00c0ffee00000001", "00C0FFEE00000001",
          "00c0ffee0000000", "00c0ffee000000011", "00c0ffee0000000g",
          "00c0ffee00000001-00c0ffee00000001", "00c0ffee00000001-", "00c0ffee00000001-0",
          "00c0ffee00000001_00c0ffee00000001", "00c0ffee00000001-00c0ffee0000000g", [], {}, [1],
          {"a": 1}]
NEEDED = {"CommitRequest": {"reservation": "00c0ffee00000001", "cost": 1},
          "CancelRequest": {"reservation": "00c0ffee00000001"}}


@pytest.mark.parametrize("path, name", [
    ("/v1/check", "Request"), ("/v1/reserve", "ReserveRequest"), ("/v1/commit", "CommitRequest"),
    ("/v1/cancel", "CancelRequest")])
def test_the_server_refuses_the_values_that_the_description_does(server, path, name):
    schema = DOCUMENT["components"]["schemas"][name]
    connection = server.connection()
    for member in [*schema["properties"], "any_other"]:
        for value in VALUES:
            body = {**NEEDED.get(name, {}), member: value}
            described = not description.problems_of(schema, body)
            answer = server.ask("POST", path, body, connection=connection)
            assert (answer.status != 422) == described, (body, answer.status, answer.body)
    for member in NEEDED.get(name, ()):
        body = {key: value for key, value in NEEDED[name].items() if key != member}
        assert server.ask("POST", path, body, connection=connection).status == 422
    for example in schema["examples"]:
        assert server.ask("POST", path, example, connection=connection).status in (200, 404)


def test_a_batch_is_as_long_as_described(server):
    bodies = DOCUMENT["paths"]["/v1/check"]["post"]["requestBody"]["content"]["application/json"]
    batch = bodies["schema"]["anyOf"][1]
    for length in (batch["minItems"], batch["maxItems"]):
        answer = server.check([{"peek": True}] * length)
        assert answer.status == 200
        assert len(json.loads(answer.body)) == length
    assert server.check([{}] * (batch["minItems"] - 1)).status == 422
    assert server.check([{}] * (batch["maxItems"] + 1)).status == 413
