"""Replication survives: an instance that is stopped, cut off or killed, a Redis that is away,
restarted, emptied or older than it was. What was acknowledged is there; what was refused is
nowhere; all instances end with the same state."""

import os
import random
import signal
import sqlite3
import threading
import time

import pytest

from admin_api import Caller
from fleet import RULES, SOON_S, Fleet, begin_registry, capacity, everything, limit
from redis_proxy import Proxy
from redis_running import Redis
from serving import Server
from watching import wait_until

NEW = {"per": "user", "limit": "5/1h"}
KEYS = "rl:{~registry}:"


@pytest.fixture(name="redis")
def running_redis():
    with Redis() as redis:
        begin_registry(redis)
        yield redis


def refused(admin, path="/v1/rules/refused"):
    """A change that cannot be made now: why."""
    return admin.put(path, NEW, 503).json["detail"]


def founded(redis):
    with redis.client() as db:
        wait_until(lambda: len(db.hget(KEYS + "state", "epoch") or "") == 16, "a registry")


def test_one_that_was_stopped_has_it_all_when_it_goes_on(redis):
    with Fleet(redis.url(), count=3) as fleet:
        fleet[0].put("/v1/rules/api", limit(1))
        fleet.say(capacity, 1)
        os.kill(fleet.servers[2].pid, signal.SIGSTOP)
        fleet[0].put("/v1/rules/gone", NEW)
        fleet[1].put("/v1/rules/api", limit(2))
        fleet[0].delete("/v1/rules/gone")
        fleet[1].put("/v1/users/u1", {"tier": "pro"})
        os.kill(fleet.servers[2].pid, signal.SIGCONT)
        took = fleet.say(capacity, 2)
        fleet.agree(everything)
        fleet.say(lambda admin: admin.get("/v1/users/u1").json["tier"], "pro")
        print(f"back after {took:.3f} s")


@pytest.mark.parametrize("how", ["refuse", "hold"])
def test_one_that_was_cut_off_refuses_changes_and_comes_back(redis, how):
    with Proxy(redis.port) as wire, \
            Fleet(redis.url(), redis.url(), redis.url(port=wire.port)) as fleet:
        fleet[2].put("/v1/rules/api", limit(1))
        fleet.say(capacity, 1)
        getattr(wire, how)()
        fleet[0].put("/v1/rules/api", limit(2))
        assert "othing was changed" in refused(fleet[2])
        assert fleet[2].post("/v1/check", {"user": "u1", "resource": "/api"}).json["allowed"]
        assert capacity(fleet[2]) == 1  # as far as it knows
        fleet[1].put("/v1/rules/new", NEW)
        wire.heal()
        took = fleet.say(capacity, 2)
        print(f"back after {took:.3f} s")
        assert fleet.agree(Caller.rules) == ["api", "file", "new"]


def test_a_change_between_two_pages_leaves_the_rest_to_come(redis):
    def versions(admin):
        return admin.get("/v1/stats").json["spread"]["users_version"]

    with Proxy(redis.port) as wire, Fleet(redis.url(), redis.url(port=wire.port)) as fleet:
        fleet[0].put("/v1/users/first", {"tier": "pro"})
        fleet.say(versions, 1)
        wire.hold()
        connection = fleet.servers[0].connection()
        for number in range(300):  # more than a page
            fleet.servers[0].ask("PUT", f"/v1/users/u{number}", {"tier": "pro"}, (), connection)
        connection.close()
        wire.slow(0.2)
        wait_until(lambda: versions(fleet[1]) > 1, "the first page")
        print("at", versions(fleet[1]), "of 301")
        fleet[1].put("/v1/users/other", {"tier": "pro"})
        wire.heal()
        fleet.say(versions, 302)
        fleet.say(lambda admin: admin.get("/v1/users/u299").json["tier"], "pro")
        fleet.agree(everything)


def test_what_was_acknowledged_survives_the_killed(redis):
    with Fleet(redis.url(), count=3) as fleet:
        acknowledged, stop = set(), threading.Event()

        def change(number):
            connection, turn = fleet.servers[number].connection(), 0
            while not stop.is_set():
                name = f"r{number}-{turn}"
                turn += 1
                try:
                    status = fleet.servers[number].ask("PUT", f"/v1/rules/{name}", NEW, (),
                                                       connection).status
                except OSError:
                    return  # it is dead
                if status == 201:
                    acknowledged.add(name)

        threads = [threading.Thread(target=change, args=(number,)) for number in (0, 1)]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(acknowledged) > 20, "changes")
        fleet.servers[0].process.kill()
        threads[0].join()
        stop.set()
        threads[1].join()
        fleet.kill(0)
        fleet.start(0)
        rules = fleet.agree(Caller.rules)
        assert acknowledged <= set(rules)
        assert len(rules) - 2 - len(acknowledged) in (0, 1)  # one that was not acknowledged
        fleet.agree(everything)


def test_redis_restarted_with_what_it_has_written():
    with Redis("appendonly yes", "appendfsync always") as redis, \
            Fleet(redis.url(), count=2) as fleet:
        fleet[0].put("/v1/rules/api", limit(3))
        fleet[1].put("/v1/users/u1", {"tier": "pro"})
        before = fleet.agree(everything)
        redis.restart()
        assert fleet.agree(everything) == before
        wait_until(lambda: fleet[1].put("/v1/rules/new", NEW, (201, 503)).status == 201, "a change")
        fleet.say(Caller.rules, ["api", "file", "new"])
        with redis.client() as db:
            assert db.hget(KEYS + "state", "rules") == "2"


def test_an_emptied_redis_is_filled_by_the_newest_replica(redis):
    with Proxy(redis.port) as wire, \
            Fleet(redis.url(), redis.url(), redis.url(port=wire.port)) as fleet:
        fleet[0].put("/v1/rules/api", limit(1))
        fleet[0].put("/v1/users/u1", {"tier": "pro"})
        fleet.say(capacity, 1)
        wire.refuse()
        fleet[0].put("/v1/rules/api", limit(2))
        fleet[1].put("/v1/tenants/acme", {"tier": "pro"})
        wait_until(lambda: capacity(fleet[0]) == capacity(fleet[1]) == 2, "both know")
        redis.flush()
        wire.heal()
        founded(redis)
        with redis.client() as db:
            assert '"capacity": 2' in db.hget(KEYS + "rules.rows", "rule::api").replace("\\", "")
            assert "pro" in db.hget(KEYS + "users.rows", "user::u1")
        fleet.say(capacity, 2)
        fleet.say(lambda admin: admin.get("/v1/users/u1").json["tier"], "pro")
        wait_until(lambda: fleet[2].put("/v1/rules/new", NEW, (201, 503)).status == 201, "a change")
        fleet.say(Caller.rules, ["api", "file", "new"])
        fleet.agree(everything)


def fills_late(redis, fleet, names):
    """Redis is emptied while the one with the newest replica is stopped, and that goes on when bids
    have been taken for 0.8 s: longer than it takes to notice and to connect again.
    True: the newest replica won."""
    new, newest = names
    fleet[0].put(f"/v1/rules/{new}", NEW)
    wait_until(lambda: new in fleet[1].rules(), "both know")
    os.kill(fleet.servers[1].pid, signal.SIGSTOP)
    fleet[0].put(f"/v1/rules/{newest}", NEW)
    os.kill(fleet.servers[0].pid, signal.SIGSTOP)
    redis.flush()
    os.kill(fleet.servers[1].pid, signal.SIGCONT)
    with redis.client() as db:
        wait_until(lambda: db.hget(KEYS + "state", "bid"), "a bid")
        time.sleep(0.8)
    os.kill(fleet.servers[0].pid, signal.SIGCONT)
    founded(redis)
    return newest in fleet.agree(Caller.rules)


def test_bids_are_taken_for_as_long_as_it_takes_to_come_back(redis):
    with Fleet(redis.url(), count=2) as fleet:
        tries = (fills_late(redis, fleet, (f"new{number}", f"newest{number}"))
                 for number in range(8))  # the machine may be busy for the rest of the time
        assert any(tries)


def test_without_redis_nothing_changes_and_the_replica_serves(redis):
    with Fleet(redis.url(), count=2) as fleet:
        tag = fleet[0].put("/v1/rules/api", limit(7)).headers["ETag"]
        fleet[0].put("/v1/users/u1", {"tier": "pro"})
        before = fleet.agree(everything)
        fleet.stop(1)
        redis.kill()
        for path, body in (("/v1/rules/api", limit(8)), ("/v1/tiers/gold", {"scale": 2}),
                           ("/v1/tenants/acme", {}), ("/v1/users/u1", {"tier": None})):
            assert "Redis" in fleet[0].put(path, body, 503).json["detail"]
        fleet[0].post("/v1/exemptions", {"kind": "user", "value": "u1"}, 503)
        fleet[0].delete("/v1/rules/file", 503)
        fleet.start(1)  # with its replica
        assert "do not come in" in fleet.servers[1].stderr
        assert fleet.agree(everything) == before
        assert fleet[1].get("/v1/users/u1").json["tier"] == "pro"
        redis.start()
        wait_until(lambda: fleet[1].put("/v1/rules/api", limit(9), (200, 503),
                                        if_match=tag).status == 200, "the change")
        fleet.say(capacity, 9)


def test_databases_from_before_fill_redis_or_give_way(redis):
    redis.flush()
    with Fleet(redis.url(), count=3, more="spread: false\n") as fleet:
        fleet[0].put("/v1/rules/ours", NEW)
        fleet[0].put("/v1/users/u1", {"tier": "pro"})
        fleet[1].put("/v1/rules/theirs", NEW)
        fleet[1].put("/v1/users/u2", {"tier": "pro"})
        fleet[1].post("/v1/outcomes", {"user": "u2", "success": True})
        for number in range(3):
            fleet.stop(number)
        fleet.start(0, more="")
        founded(redis)
        fleet.start(1, more="")
        fleet.start(2, more="")
        fleet.say(Caller.rules, ["api", "file", "ours"])
        fleet.say(lambda admin: admin.get("/v1/users/u1").json["tier"], "pro")
        fleet.say(lambda admin: admin.get("/v1/users/u2").json["tier"], None)
        assert fleet[1].get("/v1/users/u2").json["trust"]["success"]["calls"] == 1
        fleet.agree(everything)
        assert "gives way" in fleet.servers[1].stderr
        (kept,) = fleet.folder(1).glob("sluice.db.before-*")
        assert kept.stat().st_mode & 0o777 == 0o600
        with sqlite3.connect(kept) as old:
            assert old.execute("SELECT name FROM rule").fetchall() == [("theirs",)]
        assert not list(fleet.folder(2).glob("sluice.db.before-*"))


def test_all_follow_a_redis_that_is_older_than_it_was():
    with Redis() as redis, Fleet(redis.url(), count=2) as fleet:
        fleet[0].put("/v1/rules/api", limit(1))
        fleet[0].put("/v1/users/u1", {"tier": "pro"})
        with redis.client() as db:
            db.save()
        fleet[0].put("/v1/rules/lost", NEW)
        fleet[1].put("/v1/users/u1", {"tier": None})
        fleet.say(Caller.rules, ["api", "file", "lost"])
        fleet.stop(1)  # so that it does not see the state in between
        redis.restart()
        for number in range(3):  # past the version that was lost
            wait_until(lambda number=number: fleet[0].put(f"/v1/rules/r{number}", NEW, (201, 503))
                       .status == 201, "a change")
        fleet.start(1)
        fleet.say(Caller.rules, ["api", "file", "r0", "r1", "r2"])
        fleet.say(lambda admin: admin.get("/v1/users/u1").json["tier"], "pro")
        fleet.agree(everything)


def test_an_instance_that_missed_too_much_fetches_everything(redis):
    with Fleet(redis.url(), count=2) as fleet:
        fleet[0].put("/v1/rules/gone", NEW)
        fleet[0].put("/v1/users/gone", {"tier": "pro"})
        fleet.say(lambda admin: admin.get("/v1/users/gone").json["tier"], "pro")
        fleet.stop(1)
        fleet[0].delete("/v1/rules/gone")
        fleet[0].delete("/v1/users/gone")
        fleet[0].put("/v1/rules/new", NEW)
        fleet[0].put("/v1/users/new", {"tier": "pro"})
        with redis.client() as db:  # as if thousands had come since
            for log, row in (("rules", "rule::gone"), ("users", "user::gone")):
                last = db.hget(KEYS + "state", f"{log}_last")
                db.zrem(f"{KEYS}{log}.marks", *(mark for mark in db.zrange(f"{KEYS}{log}.marks", 0, -1)
                                                if mark != last))
                db.zrem(f"{KEYS}{log}.order", row)
                db.hdel(f"{KEYS}{log}.rows", row)
        fleet.start(1)
        fleet.say(Caller.rules, ["api", "file", "new"])
        fleet.say(lambda admin: admin.get("/v1/users/gone").json["known"], False)
        fleet.say(lambda admin: admin.get("/v1/users/new").json["tier"], "pro")


@pytest.mark.parametrize("lost", ["rules.rows", "rules.order"])
def test_rows_that_redis_has_lost_are_not_taken_for_deleted(redis, lost):
    with Fleet(redis.url(), count=2) as fleet:
        fleet[0].put("/v1/rules/new", NEW)
        fleet.say(Caller.rules, ["api", "file", "new"])
        fleet.stop(1)
        fleet[0].put("/v1/rules/more", NEW)
        with redis.client() as db:
            db.delete(KEYS + lost)
        fleet.start(1)
        wait_until(lambda: "damaged" in fleet.servers[1].stderr, "it to be said")
        assert fleet[1].rules() == ["api", "file", "new"]
        assert "damaged" in refused(fleet[1])
        with redis.client() as db:  # the operator's cure
            db.delete(*db.keys(KEYS + "*"))
        fleet.say(Caller.rules, ["api", "file", "new", "more"])


@pytest.mark.parametrize(("log", "path", "body"), [("rules", "/v1/rules/after", NEW),
                                                   ("users", "/v1/users/after", {"tier": "pro"})])
def test_a_log_that_has_lost_its_order_takes_no_change(redis, log, path, body):
    """One more would hide it: a new instance would fetch that one row and take it for all."""
    with Fleet(redis.url(), count=1) as fleet:
        for number in range(3):
            fleet[0].put(f"/v1/rules/r{number}", NEW)
            fleet[0].put(f"/v1/users/u{number}", {"tier": "pro"})
        with redis.client() as db:
            db.delete(f"{KEYS}{log}.order")
            assert "damaged" in fleet[0].put(path, body, 503).json["detail"]
            assert not db.exists(f"{KEYS}{log}.order")
            db.zadd(f"{KEYS}{log}.order", {"rule::r2" if log == "rules" else "user::u2": 3})
        assert "damaged" in fleet[0].put(path, body, 503).json["detail"]
        with Server(RULES.format(url=redis.url(), more="")) as fresh:
            wait_until(lambda: "damaged" in fresh.stderr, "it to be said")
            assert Caller(fresh).rules()[2:] == ([] if log == "rules" else ["r0", "r1", "r2"])


def test_a_failure_that_lasts_is_said_once_and_its_age_grows(redis):
    with Fleet(redis.url(), count=1) as fleet:
        fleet[0].put("/v1/rules/api", limit(1))
        with redis.client() as db:
            before = db.hgetall(KEYS + "state")
            db.hset(KEYS + "rules.rows", "rule::api", "rubbish")
            db.zadd(KEYS + "rules.order", {"rule::api": 2})
            db.zadd(KEYS + "rules.marks", {"0000000080000002": 2})
            db.hset(KEYS + "state", mapping={"rules": 2, "rules_last": "0000000080000002"})

        def figures():
            return fleet[0].get("/v1/stats").json["spread"]

        wait_until(lambda: figures()["failures"] >= 4, "several failures")
        wait_until(lambda: figures()["age"] >= 1, "its age")
        assert fleet.servers[0].stderr.count("do not come in") == 1
        assert "come in again" not in fleet.servers[0].stderr
        with redis.client() as db:
            db.hset(KEYS + "state", mapping=before)
        wait_until(lambda: "come in again" in fleet.servers[0].stderr, "the end of it")
        assert fleet.servers[0].stderr.count("do not come in") == 1
        wait_until(lambda: figures()["age"] < 20, "an age from then on")


@pytest.mark.parametrize(("path", "body"), [("/v1/rules/new", NEW),
                                            ("/v1/users/new", {"tier": "pro"})])
def test_what_redis_has_and_the_database_cannot_keep_is_said(redis, path, body):
    with Fleet(redis.url(), count=2) as fleet:
        fleet[0].put("/v1/rules/api", limit(1))
        fleet[0].put("/v1/users/u1", {"tier": "pro"})
        fleet.say(lambda admin: admin.get("/v1/users/u1").json["tier"], "pro")
        database = sqlite3.connect(fleet.folder(0) / "sluice.db", isolation_level=None)
        database.execute("ALTER TABLE spread ADD COLUMN one_too_many INTEGER")
        why = fleet[0].put(path, body, 503).json["detail"]
        assert "Redis has it" in why and "8 columns" in why
        assert "othing was changed" not in why
        wait_until(lambda: fleet[1].get(path, (200, 404)).headers.get("ETag"), "the others have it")
        assert not fleet[0].get(path, (200, 404)).headers.get("ETag")
        database.execute("ALTER TABLE spread DROP COLUMN one_too_many")
        database.close()
        fleet.say(lambda admin: bool(admin.get(path, (200, 404)).headers.get("ETag")), True)
        fleet.agree(everything)


def test_the_answer_is_the_truth_when_connections_are_cut(redis):
    """Wherever the wire is cut: what was acknowledged is there, what was refused is not, and of
    what is not known it is said so."""
    with Proxy(redis.port) as wire, Fleet(redis.url(port=wire.port), redis.url()) as fleet:
        fleet[0].put("/v1/rules/api", limit(1))
        told = {}
        for number, cut in enumerate((30, 90, 130, 170, 210, 240, 270, 300, 330, 400, 500)):
            wire.cut(cut)
            answer = fleet[0].put(f"/v1/rules/r{number}", NEW, (201, 503))
            told[f"r{number}"] = answer.status if answer.status == 201 else answer.json["detail"]
        wire.heal()
        wait_until(lambda: fleet[0].put("/v1/rules/last", NEW, (200, 201, 503)).status != 503, "it")
        rules = fleet.agree(Caller.rules)
        for name, answer in told.items():
            if answer == 201:
                assert name in rules
            elif "othing was changed" in answer:
                assert name not in rules, (name, answer)
            else:
                assert "not known" in answer
        print(told)


class Losing(Proxy):
    """Cuts a connection in place of the answer that a change was made; `and_then` happens."""

    and_then = None
    is_losing = False

    def _deliver(self, pipe):
        lost = any(b"done\r\n" in chunk for _, where, chunk in pipe.late if where is pipe.client)
        if self.is_losing and lost:
            self.is_losing = False
            if self.and_then:
                self.orders.put((self.and_then, 0, None, threading.Event()))
            raise ConnectionError("lost")
        super()._deliver(pipe)


@pytest.mark.parametrize("path", ["/v1/rules/new", "/v1/users/new"])
def test_a_change_whose_answer_was_lost_is_found_out(redis, path):
    body = NEW if "rules" in path else {"tier": "pro"}
    with Losing(redis.port) as wire, Fleet(redis.url(port=wire.port), redis.url()) as fleet:
        fleet[0].put("/v1/rules/api", limit(1))
        wire.is_losing = True
        tag = fleet[0].put(path, body, 201).headers["ETag"]
        assert not wire.is_losing
        fleet.say(lambda admin: admin.get(path, (200, 404)).headers.get("ETag"), tag)
        fleet[0].put("/v1/rules/api", limit(2))
        fleet.say(capacity, 2)


def test_what_cannot_be_found_out_is_said_to_be_unknown(redis):
    with Losing(redis.port) as wire, Fleet(redis.url(port=wire.port), redis.url()) as fleet:
        fleet[0].put("/v1/rules/api", limit(1))
        wire.and_then, wire.is_losing = "refuse", True
        assert "not known" in refused(fleet[0])
        assert "refused" not in fleet[0].rules()  # as far as it knows
        wait_until(lambda: "refused" in fleet[1].rules(), "it was made all the same")
        wire.heal()
        fleet.say(Caller.rules, ["api", "file", "refused"])


def test_two_servers_of_one_database_and_one_elsewhere(redis):
    with Fleet(redis.url(), count=2) as fleet:
        with Server(RULES.format(url=redis.url(), more=""), folder=fleet.folder(0)) as beside:
            third = Caller(beside)
            third.put("/v1/rules/api", limit(1))
            for number in range(2, 6):
                (fleet[0], third, fleet[1])[number % 3].put("/v1/rules/api", limit(number))
                fleet[number % 2].put(f"/v1/users/u{number}", {"tier": "pro"})
            fleet.say(capacity, 5)
            wait_until(lambda: capacity(third) == 5, "the third to know")
            wait_until(lambda: third.get("/v1/users/u5").json["tier"] == "pro", "the user")
            assert fleet.agree(everything) == everything(third)


def test_a_late_answer_is_not_an_answer(redis):
    with Proxy(redis.port) as wire, Fleet(redis.url(port=wire.port), redis.url()) as fleet:
        fleet[0].put("/v1/rules/api", limit(1))
        wire.slow(1.2)
        start = time.monotonic()
        assert "othing was changed" in refused(fleet[0])  # not even what is new was heard
        assert time.monotonic() - start < SOON_S
        wire.heal()
        wait_until(lambda: fleet[0].put("/v1/rules/last", NEW, (200, 201, 503)).status != 503, "it")
        assert fleet.agree(Caller.rules) == ["api", "file", "last"]


def test_every_answer_is_true_whatever_happens(redis):
    """Instances are stopped, killed and cut off at random while all of them are asked to change
    things. SLUICE_ROUNDS: how often (`make soak`)."""
    dice = random.Random(seed := random.SystemRandom().randrange(1 << 32))
    print(f"seed {seed}")
    rounds = int(os.environ.get("SLUICE_ROUNDS", "3"))
    with Proxy(redis.port) as first, Proxy(redis.port) as second, \
            Fleet(redis.url(port=first.port), redis.url(port=second.port), redis.url()) as fleet:
        fleet[2].put("/v1/rules/begin", NEW)
        made, refusals, stop = set(), set(), threading.Event()

        def change(number):
            turn = 0
            while not stop.is_set():
                turn, name = turn + 1, f"r{number}-{turn}"
                try:
                    server = fleet.servers[number]
                    answer = server.ask("PUT", f"/v1/rules/{name}", NEW) if server else None
                except OSError:
                    answer = None  # it was killed: not known
                if answer is None:
                    time.sleep(0.02)
                elif answer.status == 201:
                    made.add(name)
                elif "othing was changed" in answer.json["detail"]:
                    refusals.add(name)
                time.sleep(0.05)

        threads = [threading.Thread(target=change, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(rounds):
            wire, number = dice.choice(((first, 0), (second, 1)))
            what = dice.choice(("hold", "refuse", "cut", "slow", "kill", "stop"))
            if what == "kill":
                fleet.kill(number)
                fleet.start(number)
            elif what == "stop":
                fleet.servers[number].process.send_signal(signal.SIGSTOP)
                time.sleep(0.3)
                fleet.servers[number].process.send_signal(signal.SIGCONT)
            else:
                getattr(wire, what)(*{"cut": (dice.randrange(20, 2000),), "slow": (0.1,)}
                                    .get(what, ()))
                time.sleep(0.3)
                wire.heal()
        before = len(made)
        wait_until(lambda: len(made) > before + 3, "changes go on")
        stop.set()
        for thread in threads:
            thread.join()
        rules = set(fleet.agree(Caller.rules))
        assert made <= rules, made - rules
        assert not refusals & rules
        fleet.agree(everything)
        print(f"{len(made)} changes made, {len(refusals)} refused")
