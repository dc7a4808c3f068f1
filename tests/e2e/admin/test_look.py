"""/v1/look: how one identifier stands, without anything being counted."""

import pytest
from redis_requests import on, one
from redis_running import Redis
from serving import Server
from stats_reader import seen, stats
from test_admin_access import RULES as GUARDED
from test_admin_access import READER, TOKEN, is_problem
from tokens import bearer
from watching import wait_until

RULES = """\
tiers: { free: {}, pro: { scale: 10 }, admin: { unlimited: true } }
exempt: { users: [root], ips: [192.0.2.99] }
rules:
  - { name: api, resource: /api/*, per: user, algorithm: fixed_window, limit: 3/365d }
  - { name: ip, per: ip, algorithm: fixed_window, limit: 50/365d }
  - { name: tried, per: user, algorithm: token_bucket, capacity: 2, refill_rate: 0.000001,
      shadow: true }
  - { name: all, per: global, algorithm: sliding_window_counter, limit: 1000/365d }
"""


@pytest.fixture(name="server", scope="module")
def _server():
    with Server(RULES) as server:
        for _ in range(5):
            server.check({"user": "u", "resource": "/api/x"})
        yield server


def look(server, headers=(), **request):
    answer = server.ask("POST", "/v1/look", request, headers)
    assert answer.status == 200, (answer.status, answer.body)
    return answer.json


def rules_of(told):
    return {rule["rule"]: rule for rule in told["rules"]}


def test_a_limited_user_is_shown_with_the_end_of_it(server):
    for _ in range(3):  # and looking changes nothing
        told = look(server, user="u", resource="/api/other")
        assert told["exempt"] is False
        assert list(rules_of(told)) == ["api", "tried", "all"]  # it says nothing of an address
        api = rules_of(told)["api"]
        assert (api["allowed"], api["reason"]) == (False, "rate_limit_exceeded")
        assert (api["limit"], api["remaining"], api["in_use"]) == (3, 0, 3)
        assert (api["matches"], api["unlimited"], api["shadow"]) == (True, False, False)
        assert 0 < api["retry_after_us"] <= 365 * 86400 * 10**6
        assert api["retry_after"] == -(-api["retry_after_us"] // 10**6)
        assert api["reset_at"] == -(-api["reset_at_us"] // 10**6)
        tried = rules_of(told)["tried"]
        assert (tried["allowed"], tried["shadow"], tried["in_use"]) == (False, True, 2)
        assert rules_of(told)["all"]["in_use"] == 3  # the denied ones were not charged


def test_others_stand_otherwise(server):
    for who in ({"user": "v"}, {"user": "u", "tenant": "acme"}, {"user": "U"}):
        api = rules_of(look(server, **who))["api"]
        assert (api["allowed"], api["reason"], api["remaining"]) == (True, "ok", 3)
        assert api["retry_after_us"] == 0


def test_a_rule_is_told_whether_it_would_be_asked_or_not(server):
    assert rules_of(look(server, user="u", resource="/other"))["api"]["matches"] is False
    assert rules_of(look(server, user="u"))["api"]["matches"] is False
    assert rules_of(look(server, user="u"))["tried"]["matches"] is True
    assert rules_of(look(server, user="u", resource="/api/x"))["api"]["matches"] is True


def test_one_rule(server):
    assert list(rules_of(look(server, rule="api", user="u"))) == ["api"]
    assert look(server, rule="ip", user="u")["rules"] == []  # it does not count users
    assert list(rules_of(look(server))) == ["all"]


def test_a_tier_has_its_own_limit_or_none(server):
    assert rules_of(look(server, user="u", tier="pro"))["api"]["limit"] == 30
    unlimited = rules_of(look(server, user="u", tier="admin", ip="192.0.2.1"))
    assert len(unlimited) == 4
    for rule in unlimited.values():
        assert (rule["unlimited"], rule["allowed"]) == (True, True)
        assert "limit" not in rule


def test_an_exempt_user_is_shown_as_such(server):
    for who in ({"user": "root"}, {"ip": "192.0.2.99"}):
        told = look(server, **who)
        assert told["exempt"] is True and len(told["rules"]) >= 2


def test_a_request_that_costs_more_is_looked_at_with_its_cost(server):
    assert rules_of(look(server, user="v", cost=3))["api"]["allowed"] is True
    api = rules_of(look(server, user="v", cost=4))["api"]
    assert (api["allowed"], api["reason"]) == (False, "cost_exceeds_limit")
    assert api["retry_after"] is None


def test_nothing_is_counted(server):
    for _ in range(50):
        look(server, user="u", resource="/api/x")
    server.check({"user": "root"})
    seen(server, 6)  # this one, and five before


@pytest.mark.parametrize("body, status", [
    (b"", 400), (b"{", 400), (b"[]", 422), (b"[{}]", 422), (b'"u"', 422), (b'{"user": "u"} x', 400),
    (b'{"user": {}}', 422), (b'{"user": "\xff"}', 400), (b'{"user": "u", "cost": -1}', 422),
    (b'{"user": "u", "at_us": 5}', 422), (b'{"user": "u", "rule": "nobody"}', 404),
    (b'{"user": "u", "rule": ""}', 404), (b'{"user": "u", "user": "v"}', 422),
])
def test_a_wrong_body_is_refused(server, body, status):
    is_problem(server.ask("POST", "/v1/look", body), status)


def test_it_is_posted_as_json(server):
    assert server.ask("GET", "/v1/look").status == 405
    assert server.ask("POST", "/v1/look", {}, {"Content-Type": "text/plain"}).status == 415
    is_problem(server.ask("POST", "/v1/look?user=u", {"user": "u"}), 422)
    is_problem(server.ask("POST", "/v1/look", {"user": "u"}, {"Via": "1.1 x"}), 403)


# ---- access ---------------------------------------------------------------------------------


@pytest.fixture(name="guarded", scope="module")
def _guarded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("looked")
    (folder / "token").write_text(TOKEN)
    (folder / "reader").write_text(READER)
    with Server(f"admin: {{ token_file: token, readonly_token_file: reader }}\n{GUARDED}",
                folder=folder) as server:
        yield server


def test_a_reader_may_look_and_a_tenant_may_not(guarded):
    guarded.ask("PUT", "/v1/tenants/acme", {}, bearer(TOKEN))
    key = guarded.ask("POST", "/v1/tenants/acme/keys", {}, bearer(TOKEN)).json["key"]
    calls = [("GET", "/v1/stats", None), ("POST", "/v1/look", {"user": "u"}),
             ("HEAD", "/v1/stats", None)]
    for method, path, body in calls:
        for fields in (bearer(TOKEN), bearer(READER)):
            assert guarded.ask(method, path, body, fields).status == 200, path
        assert guarded.ask(method, path, body, {"X-API-Key": key}).status == 403, path
        assert guarded.ask(method, path, body).status == 401, path
        assert guarded.ask(method, path, body, bearer("wrong")).status == 401, path


# ---- on Redis -------------------------------------------------------------------------------


def test_on_redis_it_is_told_too_and_503_when_that_is_away():
    with Redis() as redis, Server(on(redis, one("api", "fixed_window", 3))) as server:
        for _ in range(4):
            server.check({"user": "u", "resource": "/api"})
        api = rules_of(look(server, user="u"))["api"]
        assert (api["allowed"], api["in_use"]) == (False, 3)
        redis.kill()
        wait_until(lambda: not stats(server)["store"]["healthy"], "it is known")
        is_problem(server.ask("POST", "/v1/look", {"user": "u"}), 503)
        redis.restart()
        wait_until(lambda: stats(server)["store"]["healthy"], "it is back")
        assert rules_of(look(server, user="u"))["api"]["in_use"] == 0
