"""Many clients change things at once: no change is lost, and servers that share a database
show each other's.

The number that all clients count up stands in a rule: read it, add one, write it back if
no other client was faster (`If-Match`), else read it again.
"""


import pytest

from admin_api import Caller
from serving import Server
from watching import at_once, wait_until

RULES = """
workers: 2
tiers: { pro: { scale: 10 } }
store: "memory:limits.slu?size=8M"
rules:
  - { name: file, resource: /file, per: user, algorithm: fixed_window, limit: 10/365d }
"""
RULE = {"resource": "/a", "per": "user", "algorithm": "fixed_window", "window": "365d"}
CLIENTS, TIMES = 6, 15
SOON_S = 60  # "within a second", on a machine that does much else


@pytest.fixture(name="two")
def two_servers_of_one_database(tmp_path):
    with Server(RULES, folder=tmp_path) as one, Server(RULES, folder=tmp_path) as other:
        yield Caller(one), Caller(other)


# What can be counted up: where it is, what is there first, and how to read and write the number.
COUNTERS = {
    "rule": ("/v1/rules/counter", lambda body: body["rule"]["capacity"],
             lambda number: {**RULE, "capacity": number}),
    "tier": ("/v1/tiers/counter", lambda body: body["tier"]["scale"],
             lambda number: {"scale": number}),
    "user": ("/v1/users/counter", lambda body: body["created_at"],
             lambda number: {"created_at": number}),
    "own rule": ("/v1/tenants/acme/rules/counter", lambda body: body["rule"]["capacity"],
                 lambda number: {**RULE, "capacity": number}),
}


def count_up(admin, path, read, write, tally):
    """TIMES times, and as often as it takes."""
    done = 0
    while done < TIMES:
        seen = admin.get(path)
        answer = admin.put(path, write(read(seen.json) + 1), (200, 412),
                           if_match=seen.headers["etag"])
        done += answer.status == 200
        tally.append(answer.status)


def race(admins, path, read, write):
    """The statuses that all clients got."""
    tally = []
    admins[0].put(path, write(1), 201)
    for admin in admins:  # each has heard of it
        wait_until(lambda: admin.get(path, (200, 404)).json.get("etag"), "the counter", SOON_S)
    at_once([lambda admin=admins[number % len(admins)]: count_up(admin, path, read, write, tally)
             for number in range(CLIENTS)])
    return tally


@pytest.mark.parametrize("what", COUNTERS)
def test_no_update_is_lost(what):
    path, read, write = COUNTERS[what]
    with Server(RULES) as server:
        admin = Caller(server)
        admin.put("/v1/tenants/acme", {})
        tally = race([admin], path, read, write)
        assert read(admin.get(path).json) == 1 + tally.count(200) == 1 + CLIENTS * TIMES


@pytest.mark.parametrize("what", COUNTERS)
def test_no_update_is_lost_between_two_servers(two, what):
    path, read, write = COUNTERS[what]
    two[0].put("/v1/tenants/acme", {})
    tally = race(two, path, read, write)
    right = 1 + CLIENTS * TIMES
    assert 1 + tally.count(200) == right
    for admin in two:
        wait_until(lambda: read(admin.get(path).json) == right, "the last number", SOON_S)


def test_only_one_makes_what_is_not_there():
    with Server(RULES) as server:
        admin, tally = Caller(server), []

        def make(number):
            for turn in range(10):
                path, rule = f"/v1/rules/r{turn}", {**RULE, "capacity": number + 1}
                tally.append(admin.put(path, rule, (201, 412), if_none_match="*").status)

        at_once([lambda number=number: make(number) for number in range(CLIENTS)])
        assert tally.count(201) == 10


def test_only_one_makes_what_is_not_there_between_two_servers(two):
    tally = []

    def make(admin, number):
        for turn in range(10):
            path, rule = f"/v1/rules/r{turn}", {**RULE, "capacity": number + 1}
            tally.append(admin.put(path, rule, (201, 412), if_none_match="*").status)

    at_once([lambda number=number: make(two[number % 2], number) for number in range(CLIENTS)])
    assert tally.count(201) == 10
    for admin in two:
        becomes(lambda: len(admin.rules()), 11)
    assert two[0].get("/v1/rules").json == two[1].get("/v1/rules").json


def test_changes_of_different_things_at_once_are_all_made(two):
    def change(admin, number):
        for turn in range(8):
            admin.put(f"/v1/rules/r{number}.{turn}", {**RULE, "capacity": 5}, 201)
            admin.put(f"/v1/users/u{number}.{turn}", {"email_verified": True}, 201)
            admin.post("/v1/outcomes", {"user": "all", "success": True})
            admin.post("/v1/exemptions", {"kind": "user", "value": f"e{number}.{turn}"}, 201)

    at_once([lambda number=number: change(two[number % 2], number) for number in range(CLIENTS)])
    for admin in two:
        wait_until(lambda: len(admin.rules()) == 1 + CLIENTS * 8, "every rule", SOON_S)
        wait_until(lambda: len(admin.get("/v1/exemptions").json["exemptions"]) == CLIENTS * 8,
                   "every exemption", SOON_S)
        wait_until(lambda: admin.get("/v1/users/all").json["trust"]["success"]["calls"] ==
                   CLIENTS * 8, "every outcome", SOON_S)
        for number in range(CLIENTS):
            wait_until(lambda: admin.get(f"/v1/users/u{number}.7").json["known"], "a user", SOON_S)
    assert two[0].rules() == two[1].rules()


# ---- what the one does, the other sees --------------------------------------------------


def becomes(look, value):
    wait_until(lambda: look() == value, f"{value!r}", SOON_S)


def decides(admin, fields=(), **request):
    """Status, reason, rule and limit."""
    answer = admin.server.ask("POST", "/v1/check", {**request, "peek": True}, fields)
    body = answer.json
    return answer.status, body.get("reason"), body.get("rule"), body.get("limit")


def test_rules_and_tiers_are_seen_and_decide_on_both(two):
    one, other = two
    one.put("/v1/rules/made", {**RULE, "capacity": 7})
    becomes(other.rules, ["file", "made"])
    becomes(lambda: decides(other, user="u", resource="/a")[2:], ("made", 7))
    other.put("/v1/rules/made", {**RULE, "capacity": 8}, 200)
    becomes(lambda: decides(one, user="u", resource="/a")[2:], ("made", 8))
    one.put("/v1/tiers/gold", {"scale": 2})
    becomes(lambda: decides(other, user="u", resource="/a", tier="gold")[2:], ("made", 16))
    one.delete("/v1/rules/file")
    becomes(lambda: other.get("/v1/rules").json["hidden"], ["file"])
    other.delete("/v1/rules/made")
    becomes(one.rules, [])
    one.delete("/v1/rules/file?undo=true")
    becomes(lambda: decides(other, user="u", resource="/file")[2:], ("file", 10))
    assert one.get("/v1/rules").json == other.get("/v1/rules").json


def test_counts_are_shared_and_reset_on_both(two):
    one, other = two
    one.spend(4, user="u", resource="/file")
    assert other.remaining("file", user="u", resource="/file") == 6
    other.post("/v1/reset", {"rule": "file", "user": "u"})
    assert one.remaining("file", user="u", resource="/file") == 10


def test_users_are_seen_on_both(two):
    one, other = two
    one.put("/v1/users/u", {"email_verified": True, "limits": {"file": {"capacity": 55}}})
    becomes(lambda: decides(other, user="u", resource="/file")[3], 55)
    becomes(lambda: other.get("/v1/users/u").json, one.get("/v1/users/u").json)
    other.put("/v1/users/u", {"limits": None, "tier": "pro"}, 200)
    becomes(lambda: decides(one, user="u", resource="/file")[3], 100)
    for turn in range(3):
        one.post("/v1/outcomes", [{"user": "u", "success": True}] * 2)
        other.post("/v1/outcomes", [{"user": "u", "success": False}] * 2)
        for admin in two:
            becomes(lambda: admin.get("/v1/users/u").json["trust"]["success"],
                    {"calls": 4 * (turn + 1), "successes": 2 * (turn + 1), "value": 0.25})
    one.delete("/v1/users/u")
    becomes(lambda: other.get("/v1/users/u").json["known"], False)
    becomes(lambda: decides(other, user="u", resource="/file")[3], 10)


def test_a_violation_is_seen_on_both_and_is_one(two):
    """Denied on both within a minute; or in two, where that minute ended meanwhile."""
    one, other = two
    one.spend(10, user="u", resource="/file")
    for admin in (one, other, one):
        admin.post("/v1/check", {"user": "u", "resource": "/file"}, 429)
    for admin in two:
        wait_until(lambda: admin.get("/v1/users/u").json["trust"]["violations"]["count"] >= 1,
                   "a violation", SOON_S)
    becomes(lambda: one.get("/v1/users/u").json["trust"],
            other.get("/v1/users/u").json["trust"])
    assert one.get("/v1/users/u").json["trust"]["violations"]["count"] <= 2


def test_exemptions_are_seen_on_both(two):
    one, other = two
    for kind, value, request in (("user", "t/u", {"tenant": "t", "user": "u"}),
                                 ("client", "c", {"client": "c"}),
                                 ("ip", "192.0.2.0/24", {"ip": "192.0.2.9"}),
                                 ("api_key", "5f" * 32, {"api_key": "5f" * 32})):
        body = {"kind": kind, "value": value}
        one.post("/v1/exemptions", body, 201)
        becomes(lambda: decides(other, **request)[1], "exempt")
        other.delete("/v1/exemptions", 200, body)
        becomes(lambda: decides(one, **request)[1] == "exempt", False)


def test_tenants_and_keys_are_seen_on_both(two):
    one, other = two
    one.put("/v1/tenants/acme", {"tier": "pro"})
    made = one.post("/v1/tenants/acme/keys", {}).json
    key = {"X-API-Key": made["key"]}
    becomes(lambda: decides(other, key, user="u", resource="/file")[3], 100)
    Caller(other.server, **key).put("/v1/rules/own", {**RULE, "capacity": 3}, 201)
    becomes(lambda: decides(one, key, user="u", resource="/a")[2:], ("acme/own", 30))  # of tier pro
    assert one.get("/v1/tenants/acme").json == other.get("/v1/tenants/acme").json
    other.delete(f"/v1/tenants/acme/keys/{made['id']}")
    becomes(lambda: decides(one, key, user="u", resource="/file")[0] in (401, 429), True)


def test_what_one_server_cannot_use_leaves_its_rules_as_they_are(tmp_path):
    """It has another file, without the tier that the new rule names; it says so."""
    less = RULES.replace("tiers: { pro: { scale: 10 } }", "")
    with Server(RULES, folder=tmp_path) as one, Server(less, folder=tmp_path) as other:
        Caller(one).put("/v1/rules/made", {**RULE, "capacity": 7,
                                           "tiers": {"pro": {"capacity": 8}}}, 201)
        wait_until(lambda: "`pro`" in other.stderr, "the reason", SOON_S)
        assert Caller(other).remaining("file", user="u", resource="/file") == 10
        assert Caller(other).get("/readyz").status == 200
        Caller(one).delete("/v1/rules/made")
        Caller(one).put("/v1/rules/fits", {**RULE, "capacity": 7}, 201)
        wait_until(lambda: "fits" in Caller(other).rules(), "what fits", SOON_S)
