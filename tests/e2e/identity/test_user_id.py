"""Ids that Sluice makes of users: `identity.user_id`, and `hash_identifiers`."""

import hashlib

import pytest

import counting
from counting import ask, counted, used
from serving import Server
from tokens import bearer, key_of, setting
from watching import wait_until

SECRET = key_of("HS256")


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


# ---- sha256(email_ip) -------------------------------------------------------------------


@pytest.fixture(name="server", scope="module")
def with_user_ids(tmp_path_factory):
    """Addresses are cut for counting; an id is made of the whole of one."""
    folder = tmp_path_factory.mktemp("ids")
    jwt = setting(folder, {None: SECRET}, more=", claims: { user: sub, email: email }")
    with Server("identity:\n  user_id: sha256(email_ip)\n  ipv4_prefix: 16\n  ipv6_prefix: 48\n"
                f"  headers: {{ email: X-Email, user: X-User }}\n  jwt: {jwt}\n"
                f"{counting.rules('user')}", folder=folder) as server:
        yield server


SPELLINGS = [
    ("192.0.2.1", "192.0.2.1"), ("0.0.0.0", "0.0.0.0"), ("255.255.255.255", "255.255.255.255"),
    ("::ffff:192.0.2.2", "192.0.2.2"), ("::ffff:c000:203", "192.0.2.3"),
    ("0:0:0:0:0:FFFF:192.0.2.4", "192.0.2.4"), ("2001:db8::1", "2001:db8::1"),
    ("2001:DB8:0:0:0:0:0:2", "2001:db8::2"), ("2001:0db8:0000::0003", "2001:db8::3"),
    ("2001:db8:0:0:1:0:0:4", "2001:db8::1:0:0:4"), ("2001:db8:0:1:1:1:1:5", "2001:db8:0:1:1:1:1:5"),
    ("::", "::"), ("fe80::1", "fe80::1"),
]


@pytest.mark.parametrize("spelling, canonical", SPELLINGS)
def test_the_id_is_of_the_email_and_the_canonical_address(server, spelling, canonical):
    email = "ann@example.com"
    expected = digest(f"{email}_{canonical}")
    for more in ({}, {"user": "besides"}):
        assert counted(server, "user", [expected, "besides", email], lambda: ask(
            server, "check", "user", email=email, ip=spelling, **more)) == [expected]


@pytest.mark.parametrize("email", ["Ann@Example.COM", "ann+tag@example.com", "zoë@exämple.com",
                                   "a_b@example.com", " ann", "no address at all"])
def test_an_email_is_taken_as_it_is(server, email):
    expected = digest(f"{email}_192.0.2.1")
    assert counted(server, "user", [expected], lambda: ask(
        server, "check", "user", email=email, ip="192.0.2.1")) == [expected]


def test_each_of_an_array_has_its_own(server):
    requests = [{"resource": "/by/user", "email": f"array{number}@example.com", "ip": "192.0.2.1"}
                for number in range(5)]
    assert server.ask("POST", "/v1/check", requests).status == 200
    for request in requests:
        assert used(server, "user", digest(f"{request['email']}_192.0.2.1")) == 1


def test_a_reservation_has_one_too(server):
    body = {"resource": "/by/user", "email": "r@example.com", "ip": "192.0.2.1", "cost": 7}
    assert server.ask("POST", "/v1/reserve", body).status == 200
    assert used(server, "user", digest("r@example.com_192.0.2.1")) == 7


@pytest.mark.parametrize("more", [{"ip": None, "email": "x@example.com"}, {"ip": "192.0.2.1"},
                                  {"ip": "192.0.2.1", "email": None}])
def test_where_either_is_missing_the_user_stays(server, more):
    assert counted(server, "user", ["stays"], lambda: ask(
        server, "check", "user", user="stays", **more)) == ["stays"]


@pytest.mark.parametrize("address, canonical", [("198.51.100.7", "198.51.100.7"),
                                                ("2001:DB8::0:9", "2001:db8::9"),
                                                ("::ffff:198.51.100.8", "198.51.100.8")])
def test_email_may_be_a_claim_or_a_header(server, address, canonical):
    claim = bearer(SECRET.token({"sub": "besides", "email": "claim@example.com"}))
    header = {"X-Email": "header@example.com", "X-User": "besides"}
    for fields, email in ((claim, "claim"), (header, "header"), ({**header, **claim}, "claim")):
        expected = digest(f"{email}@example.com_{canonical}")
        assert counted(server, "user", [expected, "besides"], lambda: ask(
            server, "authorize", "user", fields, address=address)) == [expected]
    expected = digest(f"claim@example.com_{canonical}")
    assert counted(server, "user", [expected, "besides"], lambda: ask(
        server, "check", "user", claim, ip=address)) == [expected]


def test_without_the_setting_there_is_none():
    with Server(counting.rules("user")) as server:
        assert counted(server, "user", ["me", digest("e@example.com_192.0.2.1")], lambda: ask(
            server, "check", "user", user="me", email="e@example.com", ip="192.0.2.1")) == ["me"]


# ---- hash_identifiers -------------------------------------------------------------------


PEOPLE = """\
hash_identifiers: %s
tiers: { pro: { scale: 10 } }
rules:
  - { name: api, resource: /api, per: user, algorithm: fixed_window, limit: 2/365d,
      adaptive: true }
"""
PUT, TOLD, DENIED, EXEMPT = (f"plain-{name}@example.com" for name in
                             ("put", "told", "denied", "exempt"))
EVERYBODY = (PUT, TOLD, DENIED, EXEMPT)


def files_of(folder):
    """What the database is made of, at this moment."""
    return b"".join(path.read_bytes() for path in folder.glob("*.db*"))


def check(server, user, **more):
    return server.check({"resource": "/api", "user": user, "tenant": "acme", **more}).json


def make_records(server):
    """Something of every kind that is kept about a user."""
    facts = {"created_at": 1, "email_verified": True, "tier": "pro",
             "limits": {"api": {"capacity": 5}}}
    assert server.ask("PUT", f"/v1/users/{PUT}?tenant=acme", facts).status == 201
    told = [{"user": TOLD, "tenant": "acme", "success": number < 3} for number in range(4)]
    assert server.ask("POST", "/v1/outcomes", told).json == {"recorded": 4}
    assert [check(server, DENIED)["allowed"] for _ in range(3)] == [True, True, False]
    row = {"kind": "user", "value": f"acme/{EXEMPT}", "reason": "of the tests"}
    assert server.ask("POST", "/v1/exemptions", row).status == 201


def is_known(server, as_kept):
    """By the plain id and by the digest, which is what is answered."""
    for name in (PUT, TOLD, DENIED):
        for asked in (name, digest(name)):
            answer = server.ask("GET", f"/v1/users/{asked}?tenant=acme").json
            assert (answer["user"], answer["known"]) == (as_kept(name), True)
    put, told, denied = (server.ask("GET", f"/v1/users/{name}?tenant=acme").json
                         for name in (PUT, TOLD, DENIED))
    assert (put["email_verified"], put["tier"]) == (True, "pro")
    assert told["trust"]["success"] == {"calls": 4, "successes": 3, "value": 0.375}
    assert denied["trust"]["violations"]["count"] == 1
    listed = server.ask("GET", "/v1/exemptions").json["exemptions"]
    assert [row["value"] for row in listed] == [f"acme/{as_kept(EXEMPT)}"]
    assert check(server, EXEMPT)["reason"] == "exempt"
    assert check(server, PUT, peek=True)["limit"] == 7  # 5, and half as much again for trust


def test_with_it_no_plain_id_is_kept(tmp_path):
    with Server(PEOPLE % "true", folder=tmp_path) as server:
        make_records(server)
        for name in EVERYBODY:  # of violations: within a second
            wait_until(lambda: digest(name).encode() in files_of(tmp_path), name)
        is_known(server, digest)
        assert not [name for name in EVERYBODY if name.encode() in files_of(tmp_path)]
        assert not [name for name in EVERYBODY if name in server.stderr]
        port = server.port
        assert server.stop() == 0
    assert not [name for name in EVERYBODY if name.encode() in files_of(tmp_path)]
    with Server(PEOPLE % "true", folder=tmp_path, listen={"http": f"127.0.0.1:{port}"}) as server:
        is_known(server, digest)
        row = {"kind": "user", "value": f"acme/{EXEMPT}"}
        assert server.ask("DELETE", "/v1/exemptions", row).status == 200
        assert check(server, EXEMPT)["reason"] != "exempt"
        for name, asked in ((PUT, PUT), (TOLD, digest(TOLD))):
            assert server.ask("DELETE", f"/v1/users/{asked}?tenant=acme").status == 200
            assert not server.ask("GET", f"/v1/users/{name}?tenant=acme").json["known"]


def test_an_exemption_may_be_asked_by_the_digest(tmp_path):
    with Server(PEOPLE % "true", folder=tmp_path) as server:
        row = {"kind": "user", "value": f"acme/{digest(EXEMPT)}"}
        assert server.ask("POST", "/v1/exemptions", row).status == 201
        assert check(server, EXEMPT)["reason"] == "exempt"
        assert server.ask("DELETE", "/v1/exemptions", row).status == 200
        assert check(server, EXEMPT)["reason"] != "exempt"


def test_without_it_ids_are_kept_as_they_are(tmp_path):
    """Or the test above would find nothing either way."""
    with Server(PEOPLE % "false", folder=tmp_path) as server:
        make_records(server)
        for name in EVERYBODY:
            wait_until(lambda: name.encode() in files_of(tmp_path), name)
        assert not [name for name in EVERYBODY if digest(name).encode() in files_of(tmp_path)]
        assert server.ask("GET", f"/v1/users/{PUT}?tenant=acme").json["user"] == PUT
        assert not server.ask("GET", f"/v1/users/{digest(PUT)}?tenant=acme").json["known"]
