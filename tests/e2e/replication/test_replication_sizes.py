"""What may be written can be fetched by all instances, and fills an emptied Redis again: rows
and logs have bounds, and a change that comes too close is refused when it is written."""

import contextlib
import sqlite3

import pytest

from admin_api import Caller
from fleet import RULES, Fleet, begin_registry, capacity, everything, limit
from redis_running import Redis
from serving import Server
from watching import wait_until

NEW = {"per": "user", "limit": "5/1h"}
KEYS = "rl:{~registry}:"
MOST = 48 << 20


@pytest.fixture(name="redis")
def running_redis():
    with Redis() as redis:
        begin_registry(redis)
        yield redis


def put_text(server, path, body):
    """A body that is JSON, but not as json.dumps writes it."""
    with contextlib.closing(server.connection()) as connection:
        connection.request("PUT", path, body, {"content-type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def rule_of(tabs):
    """A tab takes a byte here, and six in Redis, where this text stands in a text."""
    return '{"per": "user",' + tabs * "\t" + ' "limit": "5/1h"}'


def weigh(db):
    """What the rules log has, row by row, and as it is counted."""
    rows = db.hgetall(KEYS + "rules.rows")
    return (sum(len(name.encode()) + len(value.encode()) for name, value in rows.items()),
            int(db.hget(KEYS + "state", "rules_bytes")))


# ---- rows -------------------------------------------------------------------------------


def test_a_row_has_a_bound_and_up_to_it_reaches_every_instance(redis):
    with Fleet(redis.url(), count=2) as fleet:
        for name in ("a", "b", "c"):  # almost a page
            assert put_text(fleet.servers[0], f"/v1/rules/{name}", rule_of(14_000))[0] == 201
        assert put_text(fleet.servers[0], "/v1/rules/big", rule_of(174_000))[0] == 201
        fleet[0].put("/v1/rules/d", NEW)
        names = ["api", "file", "a", "b", "c", "big", "d"]
        status, why = put_text(fleet.servers[0], "/v1/rules/bigger", rule_of(175_000))
        assert status == 413 and "othing was changed" in why and "1 MiB" in why
        assert put_text(fleet.servers[0], "/v1/rules/a", rule_of(660_000))[0] == 413
        fleet.say(Caller.rules, names)
        with Server(RULES.format(url=redis.url(), more="")) as fresh:
            wait_until(lambda: Caller(fresh).rules() == names, "all of it")
            assert fresh.stderr == ""
        redis.flush()
        with redis.client() as db:
            wait_until(lambda: db.hlen(KEYS + "rules.rows") == 5, "it is filled again")
        fleet.say(Caller.rules, names)
        wait_until(lambda: fleet[1].put("/v1/rules/e", NEW, (201, 503)).status == 201, "a change")
        fleet.agree(everything)


def test_a_reason_has_a_bound(redis):
    with Fleet(redis.url(), count=1) as fleet:
        body = {"kind": "ip", "value": "192.0.2.1"}
        for text in ("x" * 1025, "ß" * 513):
            answer = fleet[0].post("/v1/exemptions", {**body, "reason": text}, 422)
            assert "`reason`" in answer.json["detail"] and "1024" in answer.json["detail"]
        for text in ("x" * 1024, "ß" * 512):
            assert fleet[0].post("/v1/exemptions", {**body, "reason": text}).json["reason"] == text


def test_long_reasons_of_a_database_from_before_fill_redis(redis):
    redis.flush()
    with Fleet(redis.url(), count=2, more="spread: false\n") as fleet:
        for number in range(6):
            fleet[0].post("/v1/exemptions", {"kind": "ip", "value": f"192.0.2.{number}"})
        fleet.stop(0)
        fleet.stop(1)
        with sqlite3.connect(fleet.folder(0) / "sluice.db") as database:
            database.execute("UPDATE exemption SET reason = ?", ("x" * 900_000,))
        fleet.start(0, more="")
        with redis.client() as db:
            wait_until(lambda: len(db.hget(KEYS + "state", "epoch") or "") == 16, "it is filled")
        fleet.start(1, more="")
        fleet.say(lambda admin: {row["value"]: len(row["reason"] or "")
                                 for row in admin.get("/v1/exemptions").json["exemptions"]},
                  {f"192.0.2.{number}": 900_000 for number in range(6)})


# ---- the log ----------------------------------------------------------------------------


def test_what_the_log_has_is_counted(redis):
    with Fleet(redis.url(), count=1) as fleet, redis.client() as db:
        admin = fleet[0]
        admin.put("/v1/rules/api", limit(1))
        admin.put("/v1/rules/api", limit(1_000_000))
        admin.delete("/v1/rules/file")
        admin.put("/v1/tiers/gold", {"scale": 3})
        admin.put("/v1/tenants/acme", {"tier": "gold"})
        admin.post("/v1/tenants/acme/keys", {"label": "ci"})
        admin.post("/v1/exemptions", {"kind": "user", "value": "a:ß", "reason": "ü"})
        admin.delete("/v1/tenants/acme")
        admin.delete("/v1/tiers/gold")
        weight, counted = weigh(db)
        assert weight == counted > 0
        admin.put("/v1/users/u1", {"tier": "pro"})  # those are not, however many there are
        assert weigh(db) == (weight, counted)
        assert not db.hexists(KEYS + "state", "users_bytes")
        db.hdel(KEYS + "state", "rules_bytes")  # as an older one leaves it
        admin.put("/v1/rules/new", NEW)
        weight, counted = weigh(db)
        assert weight == counted
        db.zadd(KEYS + "rules.marks", {f"{number:016x}": 1 for number in range(1, 5000)})
        admin.put("/v1/rules/api", limit(2))  # what was deleted before those marks went is gone
        weight, counted = weigh(db)
        assert weight == counted
        redis.flush()
        wait_until(lambda: len(db.hget(KEYS + "state", "epoch") or "") == 16, "it is filled again")
        weight, counted = weigh(db)
        assert weight == counted


def test_a_full_log_takes_nothing_that_makes_it_larger(redis):
    with Fleet(redis.url(), count=2) as fleet, redis.client() as db:
        fleet[0].put("/v1/rules/api", limit(1_000_000))
        fleet[0].put("/v1/rules/old", {**NEW, "except": ["/" + "x" * 1000]})
        fleet[0].put("/v1/tiers/gold", {"scale": 3})
        fleet.say(lambda admin: len(admin.rules()), 3)
        db.hset(KEYS + "state", "rules_bytes", MOST)
        before = fleet.agree(everything)
        for method, path, body in (
                ("PUT", "/v1/rules/new", NEW), ("PUT", "/v1/rules/api", limit(10_000_000)),
                ("PUT", "/v1/tiers/new", {"scale": 3}), ("PUT", "/v1/tenants/acme", {}),
                ("POST", "/v1/exemptions", {"kind": "ip", "value": "192.0.2.1"}),
                ("DELETE", "/v1/rules/file", None)):  # that it is hidden takes a row too
            answer = fleet[0].call(method, path, body, 409)
            assert "othing was changed" in answer.json["detail"]
            assert "48 MiB" in answer.json["detail"]
        assert fleet.agree(everything) == before
        fleet[1].put("/v1/users/u1", {"tier": "pro"})
        fleet[1].put("/v1/rules/api", limit(1))  # smaller
        fleet[1].put("/v1/rules/api", limit(2))  # as large
        fleet[0].delete("/v1/tiers/gold")
        fleet[0].delete("/v1/rules/old")
        fleet[0].put("/v1/rules/new", NEW)  # in place of that
        fleet.say(capacity, 2)
        fleet.agree(everything)


def test_a_database_that_is_larger_than_the_log_may_be_says_so(redis):
    redis.flush()
    with Fleet(redis.url(), count=1, more="spread: false\n") as fleet:
        for number in range(50):
            fleet[0].post("/v1/exemptions", {"kind": "ip", "value": f"192.0.2.{number}"})
        fleet.stop(0)
        with sqlite3.connect(fleet.folder(0) / "sluice.db") as database:
            database.execute("UPDATE exemption SET reason = ?", ("x" * (1 << 20),))
        fleet.start(0, more="")
        wait_until(lambda: "larger than the registry" in fleet.servers[0].stderr, "it to be said")
        fleet[0].put("/v1/rules/new", NEW, 503)
