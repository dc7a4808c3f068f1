"""Which state wins where there are several, and what becomes of the others: replicas that were
changed alone, replicas that are empty, tags of rules that cannot be in force, files kept of what
gave way."""

import sqlite3

import pytest

from admin_api import Caller
from fleet import RULES, Fleet, begin_registry, capacity, everything, limit
from redis_running import Redis
from serving import Server
from watching import wait_until

NEW = {"per": "user", "limit": "5/1h"}
KEYS = "rl:{~registry}:"
GOLD = RULES.replace("pro: {{ scale: 10 }}", "pro: {{ scale: 10 }}, gold: {{ scale: 3 }}")


@pytest.fixture(name="redis")
def running_redis():
    with Redis() as redis:
        begin_registry(redis)
        yield redis


def founded(redis):
    with redis.client() as db:
        wait_until(lambda: len(db.hget(KEYS + "state", "epoch") or "") == 16, "a registry")


def tier(admin):
    return admin.get("/v1/users/u1").json["tier"]


def kept(fleet, number):
    """The names of the rules in each file that was kept, the oldest first."""
    found = []
    for path in sorted(fleet.folder(number).glob("sluice.db.before-*"),
                       key=lambda path: path.stat().st_mtime_ns):
        assert path.stat().st_mode & 0o777 == 0o600
        with sqlite3.connect(path) as old:
            found.append([name for (name,) in old.execute("SELECT name FROM rule ORDER BY made")])
    return found


# ---- replicas that were changed alone ---------------------------------------------------


@pytest.mark.parametrize("alone", [{"more": "spread: false\n"}, {"url": "'memory:'"}],
                         ids=["spread: false", "memory"])
def test_a_replica_that_was_changed_alone_gives_way_and_is_kept(redis, alone):
    with Fleet(redis.url(), count=2) as fleet:
        fleet[0].put("/v1/rules/one", NEW)
        fleet.say(Caller.rules, ["api", "file", "one"])
        fleet.stop(1)
        rules = RULES.format(**{"url": redis.url(), "more": "", **alone})
        with Server(rules, folder=fleet.folder(1)) as server:
            Caller(server).put("/v1/rules/local", NEW)
            Caller(server).put("/v1/users/u1", {"tier": "pro"})
        fleet.start(1)
        fleet.say(Caller.rules, ["api", "file", "one"])
        fleet.say(tier, None)
        assert kept(fleet, 1) == [["one", "local"]]
        assert "gives way" in fleet.servers[1].stderr
        fleet[0].put("/v1/rules/two", {"per": "ip", "limit": "9/1h"})
        fleet[1].put("/v1/rules/three", NEW)
        fleet.say(Caller.rules, ["api", "file", "one", "two", "three"])
        fleet.agree(everything)


def test_a_record_changed_alone_is_a_change_too(redis):
    with Fleet(redis.url(), count=2) as fleet:
        fleet[0].put("/v1/users/u1", {"tier": "pro"})
        fleet.say(tier, "pro")
        fleet.stop(1)
        fleet.start(1, more="spread: false\n")
        fleet[1].put("/v1/users/u1", {"tier": None})
        fleet.stop(1)
        fleet.start(1)
        fleet.say(tier, "pro")


def test_a_replica_that_was_only_looked_at_alone_stays_one(redis):
    with Fleet(redis.url(), count=2) as fleet:
        fleet[0].put("/v1/rules/one", NEW)
        fleet.say(Caller.rules, ["api", "file", "one"])
        fleet.stop(1)
        fleet.start(1, more="spread: false\n")
        fleet[1].put("/v1/rules/local?dry_run=true", NEW)
        fleet[1].put("/v1/rules/local", {"per": "nobody", "limit": "what"}, 422)
        fleet[1].post("/v1/outcomes", {"user": "u1", "success": True})
        fleet.stop(1)
        fleet.start(1)
        fleet[0].put("/v1/rules/two", NEW)
        fleet.say(Caller.rules, ["api", "file", "one", "two"])
        assert kept(fleet, 1) == [] and "gives way" not in fleet.servers[1].stderr


# ---- filling an emptied Redis -----------------------------------------------------------


def test_what_was_deleted_last_does_not_come_back_with_an_emptied_redis(redis):
    with Fleet(redis.url(), count=2) as fleet:
        fleet[0].put("/v1/tenants/acme", {})
        key = fleet[0].post("/v1/tenants/acme/keys", {}).json["key"]
        fleet.say(lambda admin: len(admin.get("/v1/tenants").json["tenants"]), 1)
        fleet.stop(1)  # it still has them
        fleet[0].delete("/v1/tenants/acme")
        redis.flush()
        fleet.start(1)
        founded(redis)
        fleet.say(lambda admin: admin.get("/v1/tenants").json["tenants"], [])
        for server in fleet.servers:
            Caller(server, x_api_key=key).get("/v1/rules", 401)
        fleet[1].put("/v1/rules/new", NEW)
        fleet.say(Caller.rules, ["api", "file", "new"])


# ---- tags -------------------------------------------------------------------------------


def test_no_tag_is_compared_where_the_newest_rules_cannot_be_in_force(redis):
    """One instance's file has a tier that the other's has not."""
    with Fleet(redis.url(), count=1) as fleet, Server(GOLD.format(url=redis.url(), more="")) as gold:
        other = Caller(gold)
        tag = fleet[0].put("/v1/rules/api", limit(1)).headers["ETag"]
        wait_until(lambda: capacity(other) == 1, "the other")
        other.put("/v1/rules/api", {**limit(2), "tiers": {"gold": {"capacity": 7}}}, if_match=tag)
        for condition in ({"if_match": tag}, {"if_match": "*"}, {"if_none_match": "*"}):
            answer = fleet[0].put("/v1/rules/api", limit(3), 503, **condition)
            assert "othing was changed" in answer.json["detail"]
            assert "rules file" in answer.json["detail"]
        fleet[0].delete("/v1/rules/api", 503, if_match=tag)
        assert capacity(other) == 2
        record = fleet[0].put("/v1/users/u1", {"tier": "pro"}, if_none_match="*")  # has its own tag
        fleet[0].put("/v1/users/u1", {"tier": None}, 412, if_match='"u0"')
        fleet[0].put("/v1/users/u1", {"tier": None}, if_match=record.headers["ETag"])
        fleet[0].put("/v1/rules/api", limit(3))  # whatever is there
        wait_until(lambda: capacity(other) == 3, "the other")
        tag = fleet[0].get("/v1/rules/api").headers["ETag"]
        fleet[0].put("/v1/rules/api", limit(4), if_match=tag)


# ---- what gives way ---------------------------------------------------------------------


def test_every_state_that_gives_way_is_kept_and_the_last_three_stay():
    with Redis() as redis, Fleet(redis.url(), count=1) as fleet:
        fleet[0].put("/v1/rules/api", limit(1))
        with redis.client() as db:
            db.save()
        for name in ("lost1", "lost2", "lost3", "lost4"):
            wait_until(lambda name=name: fleet[0].put(f"/v1/rules/{name}", NEW, (201, 503)).status
                       == 201, "a change")
            redis.restart()  # as it was saved
            wait_until(lambda: Caller.rules(fleet[0]) == ["api", "file"], "what Redis has")
        assert kept(fleet, 0) == [["api", "lost2"], ["api", "lost3"], ["api", "lost4"]]
        said = fleet.servers[0].stderr
        assert said.count("it is kept as") == 4
        for path in fleet.folder(0).glob("sluice.db.before-*"):
            assert f"kept as {path}" in said


def test_an_instance_that_cannot_keep_what_it_has_does_not_give_way(redis):
    """Nor does it say so."""
    with Fleet(redis.url(), count=2, more="spread: false\n") as fleet:
        fleet[1].put("/v1/rules/theirs", NEW)
        fleet.stop(0)
        fleet.stop(1)
        fleet.start(0, more="")
        fleet[0].put("/v1/rules/ours", NEW)
        with redis.client() as db:
            epoch = db.hget(KEYS + "state", "epoch")
        with sqlite3.connect(fleet.folder(1) / "sluice.db") as database:
            (revision,) = database.execute("SELECT revision FROM counter").fetchone()
        in_the_way = fleet.folder(1) / f"sluice.db.before-{epoch}-{revision:016x}"
        in_the_way.mkdir()
        fleet.start(1, more="")
        wait_until(lambda: "cannot be copied" in fleet.servers[1].stderr, "it to be said")
        assert fleet[1].rules() == ["api", "file", "theirs"]
        assert "gives way" not in fleet.servers[1].stderr
        in_the_way.rmdir()
        fleet.say(Caller.rules, ["api", "file", "ours"])
        assert kept(fleet, 1) == [["theirs"]]
        assert [path.name for path in fleet.folder(1).glob("sluice.db.before-*")] == \
            [in_the_way.name]
