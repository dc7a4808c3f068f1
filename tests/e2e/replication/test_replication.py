"""What is changed on one instance is in force on all that share its Redis, and changes that are
made at once on several never split."""

import hashlib
import re
import statistics
import time

import pytest

from fleet import RULES, SOON_S, Fleet, begin_registry, capacity, everything, limit
from program import ROOT, run
from redis_running import Redis
from serving import Server
from watching import at_once, wait_until

CLIENTS, TIMES = 6, 5


@pytest.fixture(name="redis", scope="module")
def running_redis():
    with Redis() as redis:
        yield redis


@pytest.fixture(name="fleet")
def four_servers(redis):
    begin_registry(redis)
    with Fleet(redis.url()) as fleet:
        yield fleet


def remaining(admin):
    return admin.remaining("api", user="u1", resource="/api")


def test_a_rule_changed_on_one_is_in_force_on_all_within_a_second(fleet):
    fleet[0].put("/v1/rules/api", limit(1))
    took = []
    for number in range(2, 10):
        fleet[number % 4].put("/v1/rules/api", limit(number))
        took.append(fleet.say(remaining, number))
    print(f"in force on the last of four after {statistics.median(took):.3f} s (median of "
          f"{len(took)}), {max(took):.3f} s at the most")
    assert statistics.median(took) < SOON_S / 4


def test_tiers_exemptions_tenants_keys_and_users_are_replicated_with_their_tags(fleet):
    one, two, three, four = fleet
    one.put("/v1/tiers/gold", {"scale": 3})
    two.post("/v1/exemptions", {"kind": "ip", "value": "203.0.113.0/24", "reason": "a: %b"})
    three.post("/v1/exemptions", {"kind": "user", "value": "acme/root"})
    four.put("/v1/tenants/acme", {"tier": "gold"})
    key = one.post("/v1/tenants/acme/keys", {"label": "ci"}).json
    two.put("/v1/tenants/acme/rules/own", {"per": "user", "limit": "3/1h"})
    user = three.put("/v1/users/u1?tenant=acme", {"tier": "gold", "created_at": 1735689600,
                                                  "limits": {"api": {"capacity": 7}}})
    said = fleet.agree(everything)
    assert [tier["name"] for tier in said[1]["tiers"]] == ["pro", "gold"]
    assert [row["value"] for row in said[2]["exemptions"]] == ["203.0.113.0/24", "acme/root"]
    assert [row["sha256"] for row in said[4][0]["keys"]] == \
        [hashlib.sha256(key["key"].encode()).hexdigest()]
    fleet.say(lambda admin: admin.get("/v1/users/u1?tenant=acme").headers["ETag"],
              user.headers["ETag"])
    for admin in fleet:  # and all of it counts
        assert admin.get("/v1/tenants/acme", x_api_key=key["key"]).json["rules"] == ["own"]
        assert admin.remaining("api", tenant="acme", user="u1", resource="/api") == 7
        assert admin.post("/v1/check", {"ip": "203.0.113.9"}).json["reason"] == "exempt"
        assert admin.post("/v1/check", {"tenant": "acme", "user": "root"}).json["reason"] == "exempt"
    four.delete("/v1/tenants/acme/keys/" + key["id"])
    three.delete("/v1/exemptions?kind=user&value=acme%2Froot")
    two.delete("/v1/users/u1?tenant=acme")
    one.delete("/v1/tenants/acme")
    one.delete("/v1/tiers/gold")
    fleet.say(lambda admin: len(admin.get("/v1/exemptions").json["exemptions"]), 1)
    fleet.say(lambda admin: admin.get("/v1/users/u1?tenant=acme").json["known"], False)
    said = fleet.agree(everything)
    assert (said[3], [tier["name"] for tier in said[1]["tiers"]]) == ([], ["pro"])


def test_rules_stand_in_the_same_order_everywhere(fleet):
    for number, name in enumerate("abcd"):
        fleet[number].put(f"/v1/rules/{name}", {"per": "user", "limit": "5/1h"})
    fleet[1].delete("/v1/rules/d")
    fleet[2].delete("/v1/rules/b")
    fleet[3].put("/v1/rules/e", {"per": "user", "limit": "5/1h"})
    fleet[0].put("/v1/rules/b", {"per": "user", "limit": "5/1h"})
    fleet[1].delete("/v1/rules/file")  # hidden
    assert fleet.say(lambda admin: admin.rules(), ["api", "a", "c", "e", "b"]) is not None
    assert fleet.agree(everything)[0]["hidden"] == ["file"]


@pytest.mark.parametrize(("path", "read", "write"), [
    ("/v1/rules/counter", lambda body: body["rule"]["capacity"], limit),
    ("/v1/users/counter", lambda body: body["created_at"], lambda number: {"created_at": number}),
], ids=["rule", "user"])
def test_nobodys_change_is_lost_when_many_change_one_thing_everywhere(fleet, path, read, write):
    """All clients count one number up, through whichever instance, by If-Match."""
    fleet[0].put(path, write(1))

    def count_up(client):
        done, end = 0, time.monotonic() + SOON_S
        while done < TIMES:
            admin = fleet[(client + done) % 4]
            seen = admin.get(path, (200, 404))
            if not (tag := seen.headers.get("ETag")):
                continue  # it has not arrived there yet
            if admin.put(path, write(read(seen.json) + 1), (200, 412, 503),
                         if_match=tag).status == 200:
                done += 1
            else:
                time.sleep(0.01)  # another was faster; what it made may still be on its way here
            assert time.monotonic() < end, f"{done} of {TIMES}"

    at_once([lambda client=client: count_up(client) for client in range(CLIENTS)])
    fleet.say(lambda admin: read(admin.get(path).json), 1 + CLIENTS * TIMES)
    fleet.agree(lambda admin: admin.get(path).headers["ETag"])


def test_one_of_many_wins_each_round(fleet):
    fleet[0].put("/v1/rules/api", limit(1))
    for number in range(2, 6):
        tag = fleet.agree(lambda admin: admin.get("/v1/rules/api").headers["ETag"])
        won = []

        def put(client, tag=tag, number=number, won=won):
            answer = fleet[client % 4].put("/v1/rules/api", limit(10 * number + client), (200, 412),
                                           if_match=tag)
            if answer.status == 200:
                won.append(10 * number + client)

        at_once([lambda client=client: put(client) for client in range(CLIENTS)])
        assert len(won) == 1
        fleet.say(capacity, won[0])


def test_all_changes_without_conditions_are_made_too(fleet):
    """The client sent no If-Match: an instance that is overtaken does it again by itself."""
    def put(client):
        for number in range(4):
            fleet[client % 4].put(f"/v1/rules/r{client}-{number}", {"per": "user", "limit": "5/1h"})

    at_once([lambda client=client: put(client) for client in range(4)])
    assert len(fleet.agree(lambda admin: admin.rules())) == 2 + 16


def test_a_tier_that_a_user_elsewhere_is_of_cannot_be_deleted(fleet):
    fleet[0].put("/v1/tiers/gold", {"scale": 3})
    fleet[1].put("/v1/users/u1", {"tier": "gold"})
    assert "u1" in fleet[2].delete("/v1/tiers/gold", 409).json["detail"]
    fleet[3].put("/v1/users/u1", {"tier": None})
    fleet[2].delete("/v1/tiers/gold")


def test_dry_runs_change_nothing_anywhere(fleet, redis):
    redis.flush()
    fleet[0].put("/v1/rules/new?dry_run=true", {"per": "user", "limit": "5/1h"})
    with redis.client() as db:
        # No row: the instances' replicas may have filled a registry by now.
        assert set(db.keys("*")) <= {"rl:{~registry}:state"}
    fleet[0].put("/v1/rules/api", limit(5))
    before = fleet.agree(everything)
    fleet[1].put("/v1/rules/api?dry_run=true", limit(6))
    fleet[2].delete("/v1/rules/api?dry_run=true")
    assert fleet.agree(everything) == before


def test_an_instance_without_replication_is_alone(redis):
    begin_registry(redis)
    with Fleet(redis.url(), count=2) as fleet:
        fleet.stop(1)
        fleet.start(1, more="spread: false\n")
        fleet[1].put("/v1/rules/alone", {"per": "user", "limit": "5/1h"})
        fleet[0].put("/v1/rules/shared", {"per": "user", "limit": "5/1h"})
        assert fleet[1].rules() == ["api", "file", "alone"]
        assert fleet[0].rules() == ["api", "file", "shared"]


def test_what_does_not_fit_ones_file_leaves_its_rules_in_force(redis):
    begin_registry(redis)
    with Fleet(redis.url(), count=2) as fleet:
        odd = fleet.servers[1]
        fleet[1].put("/v1/rules/api", limit(5))
        odd.write_rules(RULES.format(url=redis.url(), more="").replace("pro:", "other:"))
        wait_until(lambda: "reloaded" in odd.stderr, "a reload")
        fleet[0].put("/v1/rules/new", {"per": "user", "limit": "5/1h",
                                       "tiers": {"pro": {"capacity": 7}}})
        wait_until(lambda: "cannot be used" in odd.stderr, "a refusal")
        assert fleet[1].rules() == ["api", "file"]
        assert "sluice_spread_refused 1" in fleet[1].get("/metrics").body.decode()
        assert fleet[1].get("/v1/stats").json["spread"]["refused"] is True
        odd.write_rules(RULES.format(url=redis.url(), more=""))
        fleet.say(lambda admin: admin.rules(), ["api", "file", "new"])
        wait_until(lambda: "sluice_spread_refused 0" in fleet[1].get("/metrics").body.decode(),
                   "nothing refused any more")


def test_pages_and_an_instance_that_comes_late(redis):
    begin_registry(redis)
    with Fleet(redis.url(), count=2) as fleet:
        fleet.stop(1)
        connection = fleet.servers[0].connection()
        for number in range(260):  # more than a page
            answer = fleet.servers[0].ask("PUT", f"/v1/users/u{number}",
                                          {"created_at": 1735689600 + number}, (), connection)
            assert answer.status == 201, answer.body
        for number in range(20):
            fleet[0].put(f"/v1/rules/r{number}", {"per": "user", "limit": f"{number + 1}/1h",
                                                  "except": ["/" + "x" * 40_000]})
        connection.close()
        late = fleet.start(1)
        assert len(late.rules()) == 22
        fleet.say(lambda admin: admin.get("/v1/users/u259").json["created_at"], 1735689600 + 259)
        fleet.agree(everything)


def test_the_registry_is_the_same_over_a_unix_socket(redis):
    begin_registry(redis)
    with Fleet(redis.url(), f"redis+unix://{redis.unix}") as fleet:
        fleet[1].put("/v1/rules/api", limit(5))
        fleet.say(capacity, 5)


def test_the_privileges_that_the_documents_name_are_enough():
    text = (ROOT / "docs/redis.md").read_text(encoding="utf-8")
    words = re.search(r"^ACL SETUSER sluice .*$", text, re.M)[0].split()
    with Redis() as redis:
        with redis.client() as db:
            db.execute_command(*words)
        with Fleet(redis.url("sluice", "PASSWORD"), count=2) as fleet:
            fleet[0].put("/v1/rules/api", limit(5))  # begins the registry
            fleet[0].put("/v1/users/u1", {"tier": "pro"})
            fleet.say(capacity, 5)
            fleet[1].put("/v1/rules/new", {"per": "user", "limit": "5/1h"})
            fleet[1].delete("/v1/rules/api")
            fleet[0].delete("/v1/users/u1")
            fleet.say(lambda admin: admin.rules(), ["file", "new"])
            fleet.agree(everything)


def test_the_audit_logs_say_which_caller_made_it_and_where_it_came_from(fleet):
    fleet[0].put("/v1/rules/api", limit(5))
    fleet.say(capacity, 5)

    def actors(admin):
        events = admin.get("/v1/audit?event=rate_limit_config_updated").json["events"]
        return [event["actor"] for event in events]

    wait_until(lambda: actors(fleet[1]), "an event")
    assert actors(fleet[1]) == ["other instance"]
    assert actors(fleet[0]) == ["local"]


def test_commands_read_the_replica(fleet):
    fleet[0].put("/v1/rules/api", limit(5))
    fleet.say(capacity, 5)
    done = run("check", "-c", fleet.servers[1].rules_file, "--user", "u9", "--resource", "/api",
                  "--json")
    assert '"limit": 5,' in str(done.out), done


def test_replication_is_in_the_figures(fleet):
    fleet[0].put("/v1/rules/api", limit(5))
    fleet.say(capacity, 5)
    page = fleet[1].get("/metrics").body.decode()
    assert 'sluice_spread_version{log="rules"} 1' in page
    assert "sluice_spread_applied_total 1" in page
    stats = fleet[1].get("/v1/stats").json["spread"]
    assert (stats["rules_version"], stats["refused"]) == (1, False)


def test_a_database_without_a_redis_says_nothing_of_replication():
    with Server("rules: [{ name: a, per: user, limit: 5/m }]\n") as server:
        assert server.ask("GET", "/v1/stats").json["spread"] is None
