"""Exemptions over the API: each kind, its end, and what the file's exemptions are."""

import datetime
import hashlib
import time
from fractions import Fraction

import pytest

from admin_api import Caller, stopped
from clocks import DAY, US, Clock
from serving import Server
from watching import wait_until

KEY = "a key of the service behind"
DIGEST = hashlib.sha256(KEY.encode()).hexdigest()
RULES = f"""
workers: 2
exempt:
  users: [acme/root, bare]
  clients: [acme/app]
  ips: [198.51.100.0/24, "2001:db8::/32"]
  api_keys: ["{'ab' * 32}"]
rules:
  - {{ name: api, per: global, algorithm: fixed_window, limit: 1000/365d }}
"""


@pytest.fixture(name="admin")
def admin_of_a_server():
    with Server(RULES) as server:
        yield Caller(server)


@pytest.fixture(name="steady", scope="module")
def admin_of_a_server_that_stays_as_it_is():
    with Server(RULES) as server:
        yield Caller(server)


def is_exempt(admin, fields=(), **request):
    answer = admin.server.ask("POST", "/v1/check", {**request, "peek": True}, fields)
    assert answer.status == 200, answer.body
    assert (answer.json["reason"] == "exempt") == (answer.json["rule"] is None)
    return answer.json["reason"] == "exempt"


def listed(admin, source=None):
    found = admin.get("/v1/exemptions").json["exemptions"]
    return [(one["kind"], one["value"]) for one in found if source in (None, one["source"])]


# kind, value, value as it is listed, requests that are exempt, and some that are not
KINDS = [
    ("user", "acme/u1", "acme/u1", [{"tenant": "acme", "user": "u1"}],
     [{"user": "u1"}, {"tenant": "other", "user": "u1"}, {"tenant": "acme", "user": "u2"},
      {"tenant": "acme", "client": "u1"}, {"user": "acme/u1"}]),
    ("user", "u1", "u1", [{"user": "u1"}], [{"tenant": "acme", "user": "u1"}, {"client": "u1"}]),
    ("user", "acme/a/b", "acme/a/b", [{"tenant": "acme", "user": "a/b"}],
     [{"tenant": "acme/a", "user": "b"}]),
    ("user", "acme/ü+ %", "acme/ü+ %", [{"tenant": "acme", "user": "ü+ %"}], []),
    ("client", "acme/c1", "acme/c1", [{"tenant": "acme", "client": "c1"}],
     [{"client": "c1"}, {"tenant": "acme", "user": "c1"}]),
    ("client", "c1", "c1", [{"client": "c1"}], [{"tenant": "acme", "client": "c1"}]),
    ("ip", "203.0.113.0/24", "203.0.113.0/24", [{"ip": "203.0.113.0"}, {"ip": "203.0.113.255"}],
     [{"ip": "203.0.114.0"}, {"ip": "203.0.112.255"}]),
    ("ip", "203.0.113.7", "203.0.113.7", [{"ip": "203.0.113.7"}], [{"ip": "203.0.113.8"}]),
    ("ip", "203.0.113.7/32", "203.0.113.7", [{"ip": "203.0.113.7"}], []),
    ("ip", "2001:DB9:0::/48", "2001:db9::/48", [{"ip": "2001:db9::5"}], [{"ip": "2001:db9:1::5"}]),
    ("api_key", DIGEST.upper(), DIGEST, [{"api_key": DIGEST}], [{"api_key": "cd" * 32}]),
]


@pytest.mark.parametrize("kind, value, kept, exempt, counted", KINDS)
def test_each_kind_exempts_what_it_names_and_nothing_else(steady, kind, value, kept, exempt,
                                                              counted):
    assert not any(is_exempt(steady, **request) for request in exempt + counted)
    before = listed(steady)
    made = steady.post("/v1/exemptions", {"kind": kind, "value": value, "reason": "why"}, 201).json
    assert made == {"kind": kind, "value": kept, "source": "api", "until": None, "reason": "why"}
    assert listed(steady) == before + [(kind, kept)]
    assert all(is_exempt(steady, **request) for request in exempt)
    assert not any(is_exempt(steady, **request) for request in counted)
    again = steady.post("/v1/exemptions", {"kind": kind, "value": kept}, 200).json
    assert again["reason"] is None
    assert listed(steady) == before + [(kind, kept)]
    gone = steady.delete("/v1/exemptions", 200, {"kind": kind, "value": value}).json
    assert gone == {"kind": kind, "value": kept, "deleted": True}
    assert listed(steady) == before
    assert not any(is_exempt(steady, **request) for request in exempt + counted)
    steady.delete("/v1/exemptions", 404, {"kind": kind, "value": value})


def test_an_exempt_key_exempts_its_sender(admin):
    admin.put("/v1/tenants/acme", {})  # from now on unknown keys are refused
    fields = {"X-API-Key": KEY}
    assert admin.server.ask("POST", "/v1/check", {}, fields).status == 401
    admin.post("/v1/exemptions", {"kind": "api_key", "value": DIGEST}, 201)
    assert is_exempt(admin, fields)
    admin.delete("/v1/exemptions", 200, {"kind": "api_key", "value": DIGEST})
    assert admin.server.ask("POST", "/v1/check", {}, fields).status == 401


def test_an_exemption_is_named_in_the_query_or_in_the_body(admin):
    for query in ("kind=ip&value=203.0.113.0/24", "value=203.0.113.0%2F24&kind=ip",
                  "kind=ip&value=203.0.113.0/24&dry_run=false"):
        admin.post("/v1/exemptions", {"kind": "ip", "value": "203.0.113.0/24"}, 201)
        admin.delete(f"/v1/exemptions?{query}&dry_run=true" if "dry" not in query
                     else f"/v1/exemptions?{query}", 200)
        admin.delete(f"/v1/exemptions?{query}", 200 if "dry" not in query else 404)
    admin.post("/v1/exemptions", {"kind": "user", "value": "acme/ü+ %"}, 201)
    admin.delete("/v1/exemptions?kind=user&value=acme%2F%C3%BC%2B%20%25", 200)
    for query in ("kind=ip", "value=203.0.113.0/24", "kind=ip&value=", "kind=no&value=x",
                  "kind=ip&kind=ip&value=192.0.2.1", "kind=ip&value=192.0.2.1&more=1", ""):
        admin.delete(f"/v1/exemptions?{query}", 422)


def test_what_the_file_exempts_is_the_files(admin):
    files = [("user", "acme/root"), ("user", "bare"), ("client", "acme/app"),
             ("ip", "198.51.100.0/24"), ("ip", "2001:db8::/32"), ("api_key", "ab" * 32)]
    assert sorted(listed(admin)) == sorted(listed(admin, "file")) == sorted(files)
    for kind, value in files:
        admin.delete("/v1/exemptions", 409, {"kind": kind, "value": value})
    admin.delete("/v1/exemptions", 409, {"kind": "ip", "value": "2001:DB8::/32"})
    admin.delete("/v1/exemptions", 404, {"kind": "ip", "value": "198.51.100.0/25"})
    assert sorted(listed(admin)) == sorted(files)
    assert is_exempt(admin, ip="198.51.100.9")
    assert is_exempt(admin, user="bare")


# ---- its end ----------------------------------------------------------------------------


ENDING = [("user", "acme/u1", {"tenant": "acme", "user": "u1"}),
          ("client", "c1", {"client": "c1"}), ("ip", "203.0.113.0/24", {"ip": "203.0.113.9"}),
          ("api_key", DIGEST, {"api_key": DIGEST})]


def rfc3339(seconds):
    moment = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@pytest.mark.parametrize("write", [float, rfc3339], ids=["seconds", "RFC 3339"])
def test_an_exemption_ends_by_itself_at_its_moment(admin, write):
    until = round(time.time() + 1.5, 6)
    for kind, value, _ in ENDING:
        body = {"kind": kind, "value": value, "until": write(until)}
        made = admin.post("/v1/exemptions", body, 201).json
        assert made["until"] == pytest.approx(until, abs=1e-6)
    is_over = False
    while not is_over:
        before = time.time()
        exempt = {is_exempt(admin, **request) for _, _, request in ENDING}
        shown = listed(admin, "api")
        after = time.time()
        is_over = before >= until
        if after < until:
            assert exempt == {True} and len(shown) == len(ENDING)
    assert (exempt, shown) == ({False}, [])
    for kind, value, request in ENDING:
        admin.delete("/v1/exemptions", 404, {"kind": kind, "value": value})
        made = admin.post("/v1/exemptions", {"kind": kind, "value": value}, 201).json
        assert (made["until"], is_exempt(admin, **request)) == (None, True)


def test_the_end_is_exact_to_the_microsecond(tmp_path):
    clock, until = Clock(tmp_path), (int(time.time()) // DAY + 1) * DAY + Fraction("0.25")
    clock.stand(until - 1)
    with clock.server(RULES) as server:
        admin = Caller(server)
        for kind, value, _ in ENDING:
            admin.post("/v1/exemptions", {"kind": kind, "value": value, "until": float(until)}, 201)
        for moment, is_so in ((until - US, True), (until, False), (until - US, True)):
            clock.stand(moment)
            assert [is_exempt(admin, **request) for _, _, request in ENDING] == [is_so] * 4
            assert (len(listed(admin, "api")) == 4) == is_so


def test_an_end_can_be_moved(admin):
    body = {"kind": "user", "value": "u1"}
    until = time.time() + 4  # as long as two changes take on a busy machine, and more
    admin.post("/v1/exemptions", {**body, "until": until, "reason": "short"}, 201)
    answer = admin.post("/v1/exemptions", {**body, "until": 4102444800.5}, 200).json
    assert (answer["until"], answer["reason"]) == (4102444800.5, None)
    wait_until(lambda: time.time() > until, "the first end")
    assert is_exempt(admin, user="u1")
    assert b'"until": 4102444800.5' in admin.get("/v1/exemptions").body


@pytest.mark.parametrize("body", [
    {"kind": "user", "value": "u1", "until": 1}, {"kind": "user", "value": "u1", "until": -1},
    {"kind": "user", "value": "u1", "until": "soon"},
    {"kind": "user", "value": "u1", "until": True},
    {"kind": "user", "value": "u1", "until": "2019-01-01T00:00:00Z"},
    {"kind": "ip", "value": "203.0.113.1/24"}, {"kind": "ip", "value": "203.0.113.0/33"},
    {"kind": "ip", "value": "host.example"}, {"kind": "api_key", "value": KEY},
    {"kind": "api_key", "value": "ab" * 31}, {"kind": "user", "value": ""},
    {"kind": "user", "value": "acme/"}, {"kind": "user", "value": "/u1"},
    {"kind": "user", "value": 7}, {"kind": "user"}, {"value": "u1"}, [],
    {"kind": "tenant", "value": "x"}, {"kind": "user", "value": "u1", "because": "x"},
    {"kind": "user", "value": "u1", "reason": 7}, {"kind": "user", "value": "u1", "reason": "x" * 1025},
])
def test_an_exemption_that_is_none_is_refused(steady, body):
    before = steady.get("/v1/exemptions").body
    answer = steady.post("/v1/exemptions", body, 422)
    assert steady.get("/v1/exemptions").body == before
    assert KEY not in answer.body.decode()  # a real key, sent by mistake


def test_exemptions_survive_a_restart_and_end_in_time(tmp_path):
    with Server(RULES, folder=tmp_path) as server:
        admin = Caller(server)
        for kind, value in (("user", "acme/u1"), ("ip", "203.0.113.0/24")):
            admin.post("/v1/exemptions", {"kind": kind, "value": value})
        until = time.time() + 1
        admin.post("/v1/exemptions", {"kind": "client", "value": "c1", "until": until})
        stopped(server)
    with Server(RULES, folder=tmp_path) as server:
        admin = Caller(server)
        assert is_exempt(admin, tenant="acme", user="u1")
        assert is_exempt(admin, ip="203.0.113.9")
        wait_until(lambda: not is_exempt(admin, client="c1"), "its end")
        assert time.time() >= until
        assert listed(admin, "api") == [("user", "acme/u1"), ("ip", "203.0.113.0/24")]
