"""Bodies of /v1/check: how large, what type, what JSON. What is refused is never charged, and an
error in the JSON does not cost the connection."""

import json

import pytest

from messages import RULES, chunked, is_problem, is_served, post
from serving import Server

MIB = 1024 * 1024


@pytest.fixture(name="server", scope="module")
def running():
    with Server(RULES) as server:
        yield server


@pytest.fixture(name="raw", scope="module")
def one_connection(server):
    """All that is wrong with JSON alone goes through this one: it must stay open."""
    with server.raw() as raw:
        yield raw


def left(server, user):
    return server.check({"user": user, "peek": True}).json["remaining"]


# ---- sizes ----------------------------------------------------------------------


def padded(size):
    return b'{"user": "padded", "peek": true}'.ljust(size)


@pytest.mark.parametrize("size", [MIB - 1, MIB])
def test_a_body_has_up_to_1_mib(server, size):
    with server.raw() as raw:
        raw.send(post(padded(size)))
        assert raw.response().json["remaining"] == 100
        whole = b"%x\r\n%s\r\n0\r\n\r\n" % (size, padded(size))
        raw.send(chunked(whole))
        assert raw.response().json["remaining"] == 100
        many = b"".join(b"3e8\r\n%s\r\n" % padded(size)[at:at + 1000]
                        for at in range(0, size - 1000, 1000))
        rest = padded(size)[many.count(b"3e8\r\n") * 1000:]
        raw.send(chunked(many + b"%x\r\n%s\r\n0\r\n\r\n" % (len(rest), rest)))
        assert raw.response().json["remaining"] == 100
        is_served(raw)


@pytest.mark.parametrize("message", [
    post(b"", b"Content-Length: 1048577", length=False),  # refused by its word
    post(padded(MIB + 1)),
    post(padded(5 * MIB)),
    chunked(b"100001\r\n"),
    chunked(b"100001\r\n%s\r\n0\r\n\r\n" % padded(MIB + 1)),
    chunked(b"ff000\r\n%s\r\n1001\r\n" % padded(0xff000)),
    chunked(b"ff000\r\n%s\r\n1001\r\n%s\r\n0\r\n\r\n" % (padded(0xff000), b" " * 0x1001)),
], ids=["declared", "sent", "much", "chunk", "chunk sent", "second chunk", "second chunk sent"])
def test_a_larger_body_is_413_and_the_end_of_the_connection(server, message):
    with server.raw() as raw:
        raw.send(message)
        response = raw.response()
        is_problem(response, 413)
        assert response.headers["connection"] == "close"
        raw.ended()


# ---- types ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", [
    "application/json", "Application/JSON", "application/json; charset=utf-8",
    "application/json;charset=UTF-8", 'application/json ; charset="utf-8"', None,
])
def test_json_by_any_of_its_names_is_taken(server, kind):
    fields = {} if kind is None else {"Content-Type": kind}
    connection = server.connection()
    connection.request("POST", "/v1/check", b'{"user": "t", "peek": true}', fields)
    assert connection.getresponse().status == 200
    connection.close()


@pytest.mark.parametrize("kind", [
    "text/plain", "application/x-www-form-urlencoded", "application/jsonx", "application/json5",
    "application/problem+json", "text/json", "application", "json", "application/jso", "*/*",
    "multipart/form-data; boundary=application/json",
])
def test_another_type_is_415(server, raw, kind):
    body = b'{"user": "415"}'
    raw.send(b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\n"
             b"Content-Length: %d\r\n\r\n%s" % (kind.encode(), len(body), body))
    is_problem(raw.response(), 415)
    is_served(raw)
    assert left(server, "415") == 100


# ---- JSON -----------------------------------------------------------------------


@pytest.mark.parametrize("body", [
    b"", b" ", b"\r\n", b"{", b"}", b'{"user"}', b'{"user":}', b'{"user": "a"', b'{"user": "a',
    b'{"user": "a",}', b'{,"user": "a"}', b'{"user": "a" "cost": 1}', b'{"user" "a"}',
    b"{user: \"a\"}", b"{'user': 'a'}", b'{"user": a}', b'{"cost": 01}', b'{"cost": +1}',
    b'{"cost": 1.}', b'{"cost": .5}', b'{"cost": 1e}', b'{"cost": 0x1}', b'{"cost": NaN}',
    b'{"cost": Infinity}', b'{"cost": -}', b'{"peek": True}', b'{"peek": tru}', b'{"user": nul}',
    b'{"user": "a\nb"}', b'{"user": "\\x61"}', b'{"user": "\\u12g4"}', b'{"user": "\\ud800"}',
    b'{"user": "\\udc00\\ud800"}', b'{"user": "a\x00b"}', b'{"user": "\x01"}',
    b'{"user": "\xff"}', b'{"user": "\xc3"}', b'{"user": "\xc0\xaf"}', b'{"user": "\xed\xa0\x80"}',
    b'{"user": "\xf4\x90\x80\x80"}', b'{"us\xffer": "a"}', b'\xef\xbb\xbf{"user": "a"}',
    b'{"user": "a"} x', b'{"user": "a"}{"user": "a"}', b'{"user": "a"}]', b"\x00",
    b'{"user": "a"}\x00', b"//\n{}", b'{"user": "a" /* */}', b"[", b"[{}", b"[{},]", b"[,{}]",
    b"[{}{}]", b"[{}]]", b'[{"user": "a"},{"user": }]', b"user=a&cost=1",
])
def test_what_is_no_json_is_400_and_names_the_byte(server, raw, body):
    raw.send(post(body))
    problem = is_problem(raw.response(), 400)
    assert "byte " in problem["detail"]
    is_served(raw)
    assert left(server, "a") == 100


def test_the_byte_that_is_named_is_the_one(raw):
    for at in (1, 17, 300):
        raw.send(post(b'{%s"user": ?}' % (b" " * at)))
        assert f"byte {at + 10}" in is_problem(raw.response(), 400)["detail"]


@pytest.mark.parametrize("body", [
    b"1", b'"user"', b"null", b"true",
    b'{"user": {}}', b'{"user": []}', b'{"user": ["a"]}', b'{"ip": {"a": 1}}', b'{"plan": {}}',
    b'{"plan": []}',
    b'{"cost": -1}', b'{"cost": 1.5}', b'{"cost": 1e2}', b'{"cost": "1"}', b'{"cost": true}',
    b'{"cost": 4294967296}', b'{"cost": 99999999999999999999999999}', b'{"cost": {}}',
    b'{"trust_score": 1.001}', b'{"trust_score": -0.1}', b'{"trust_score": "0.5"}',
    b'{"trust_score": true}', b'{"trust_score": 1e9}',
    b'{"peek": "true"}', b'{"peek": 1}', b'{"peek": []}', b'{"wait": 0}', b'{"wait": "yes"}',
    b'{"explain": 1}', b'{"explain": {}}',
    b'{"at_us": 1700000000000000}', b'{"at_us": "now"}', b'{"at_us": 0}',
    b'{"user": "a", "at_us": 1700000000000000}',
    b"[]", b"[1]", b"[[]]", b"[null]", b'[{"user": "a"}, 2]', b'[{"at_us": 1}]',
    b'[{"cost": -1}]',
])
def test_a_value_of_the_wrong_type_or_range_is_422(server, raw, body):
    raw.send(post(body))
    is_problem(raw.response(), 422)
    is_served(raw)
    assert left(server, "a") == 100


def test_the_detail_names_the_member_and_what_it_must_be(raw):
    for member, value in (("cost", "x"), ("trust_score", 2), ("peek", 1), ("user", [])):
        raw.send(post(json.dumps({member: value}).encode()))
        assert f"`{member}` must be " in is_problem(raw.response(), 422)["detail"]


def test_why_at_us_is_refused_is_said(raw):
    raw.send(post(b'{"at_us": 1700000000000000}'))
    detail = is_problem(raw.response(), 422)["detail"]
    assert "at_us" in detail and "replay" in detail


@pytest.mark.parametrize("body", [
    b'{"user": "twice", "user": "twice"}', b'{"user": "twice", "us\\u0065r": "b"}',
    b'{"user": "twice", "x": 1, "x": 1}', b'{"user": "twice", "cost": 1, "cost": 50}',
])
def test_a_name_given_twice_is_refused(server, raw, body):
    raw.send(post(body))
    is_problem(raw.response(), 422)
    is_served(raw)
    assert left(server, "twice") == 100


@pytest.mark.parametrize("body", [
    b"[" * 500000, b"[" * 250000 + b"]" * 250000, b'{"a":' * 100000, b'[{"a":' * 100000,
    b'{"a": ' + b"[" * 1000 + b"]" * 1000 + b"}",
])
def test_depth_is_no_danger(raw, body):
    raw.send(post(body))
    is_problem(raw.response(), 400, 422)
    is_served(raw)


@pytest.mark.parametrize("body", [
    b"{}", b" \t\r\n{ } \n", b'{"user": null, "cost": null, "peek": null}', b'{"unknown": "x"}',
    b'{"unknown": 1, "other": 1.5e3, "flag": true, "nothing": null}', b'{"": ""}',
    b'{"caf\xc3\xa9": "\xf0\x9f\x98\x80", "\\ud83d\\ude00": "\\u0000"}',
    b'{"constructor": "x", "__proto__": "y"}', b'{"cost": 0}', b'{"trust_score": 0.12345}',
    b'{"resource": 5, "method": true, "ip": "not an address"}', b'{"tier": "undeclared"}',
])
def test_what_the_rules_do_not_know_is_an_attribute_and_allowed(raw, body):
    raw.send(post(body))
    response = raw.response()
    assert (response.status, response.json["reason"]) == (200, "no_rule")


# ---- arrays ---------------------------------------------------------------------


def test_arrays_are_answered_with_arrays(server):
    for count in (1, 2, 999, 1000):
        answer = server.check([{"user": "many", "peek": True}] * (count - 1) + [{}])
        assert answer.status == 200
        assert len(answer.json) == count
        assert [one["reason"] for one in answer.json] == ["ok"] * (count - 1) + ["no_rule"]


def test_1001_requests_are_413_and_none_is_decided(server, raw):
    raw.send(post(json.dumps([{"user": "1001"}] * 1001).encode()))
    is_problem(raw.response(), 413)
    is_served(raw)
    assert left(server, "1001") == 100


@pytest.mark.parametrize("bad, statuses", [
    ('{"cost": -1}', (422,)), ('{"at_us": 1}', (422,)), ("7", (422,)), ("{", (400,)),
    ('{"user": "\\x"}', (400,)), ('{"user": "one", "user": "one"}', (422,)),
])
@pytest.mark.parametrize("at", [0, 41, 79])
def test_one_bad_request_among_good_ones_and_none_is_decided(server, raw, bad, statuses, at):
    """`detail` says which, counted from 0 or from 1."""
    requests = ['{"user": "one"}'] * 80
    requests[at] = bad
    raw.send(post(f"[{', '.join(requests)}]".encode()))
    problem = is_problem(raw.response(), *statuses)
    if statuses != (400,):
        assert str(at) in problem["detail"] or str(at + 1) in problem["detail"]
    is_served(raw)
    assert left(server, "one") == 100
