"""Reservations are settled whole, whatever happens to a process or to a slot meanwhile: on a
Redis and on a cluster, by servers that end and by commands that end at once."""

import pytest

from program import run
from redis_requests import PATIENT, on, one
from redis_cluster import Cluster
from redis_faults import World
from redis_running import Redis
from serving import Server
from watching import wait_until

LIMIT, COST, HELD = 100, 10, 5
FULL_COVERAGE = "cluster-require-full-coverage no"
RULES = (one("a", "fixed_window", LIMIT, per="[tenant, user]", resource="/x") +
         one("b", "fixed_window", LIMIT, per="[tenant, ip]", resource="/x"))


@pytest.fixture(name="redis", scope="module")
def one_redis():
    with Redis() as redis:
        yield redis


@pytest.fixture(name="cluster", scope="module")
def three_masters():
    with Cluster(FULL_COVERAGE, replicas=0) as cluster:
        yield cluster


@pytest.fixture(name="store", params=["redis", "cluster"])
def either(request):
    store = request.getfixturevalue(request.param)
    store.flush()
    return store


def nodes_of(store):
    return store.masters() if isinstance(store, Cluster) else [store]


def contents(store, what="*"):
    """What is there under such names, and what is in it."""
    found = {}
    for node in nodes_of(store):
        with node.client() as client:
            for key in client.scan_iter(what, count=1000):
                is_queue = client.type(key) == "zset"
                found[key] = client.zrange(key, 0, -1) if is_queue else client.hgetall(key)
    return found


def counts(store):
    return {key: int(fields["count"]) for key, fields in contents(store, "rl:{*").items()}


def request_of(number):
    return {"tenant": "acme", "user": f"u{number}", "ip": f"192.0.2.{number}", "resource": "/x",
            "cost": COST}


def reserve(server, number, **more):
    answer = server.ask("POST", "/v1/reserve", {**request_of(number), **more})
    assert answer.status == 200, answer.body
    return answer.json["reservation"]


def leave_some_due(store, rules):
    """Reservations of a server that was killed, whose time has come."""
    server = Server(rules)
    for number in range(HELD):
        reserve(server, number, expires_in=0.6)
    server.kill()

    def are_due():
        now_us = 0
        for node in nodes_of(store):
            with node.client() as client:
                seconds, rest = client.time()
                now_us = max(now_us, seconds * 1_000_000 + rest)
        return all(int(fields["expires"]) + 1000 < now_us
                   for fields in contents(store, "rl:~reservation:*").values())

    wait_until(are_due, "their time has come")
    assert set(counts(store).values()) == {COST}


def check(path, *options):
    return run("check", "-c", path, "--tenant", "acme", "--user", "other", "--resource", "/y",
               "--ip", "198.51.100.1", *options)


def test_a_command_that_ends_at_once_gives_back_what_it_takes(store, tmp_path):
    rules = on(store, RULES + one("y", "fixed_window", LIMIT, per="tenant", resource="/y"))
    path = tmp_path / "rules.yaml"
    path.write_text(rules, encoding="utf-8")
    leave_some_due(store, rules)

    def are_all_taken():
        assert check(path).code == 0
        return not contents(store, "rl:~reservation:*")

    wait_until(are_all_taken, "all are swept")
    counts_left = {key: count for key, count in counts(store).items() if ":y:" not in key}
    assert set(counts_left.values()) <= {0}, counts_left


def test_a_peek_writes_nothing_at_all(store, tmp_path):
    rules = on(store, RULES + one("y", "fixed_window", LIMIT, per="tenant", resource="/y"))
    path = tmp_path / "rules.yaml"
    path.write_text(rules, encoding="utf-8")
    leave_some_due(store, rules)
    before = contents(store)
    for _ in range(3):
        assert check(path, "--peek").code == 0
    assert contents(store) == before


def test_a_server_that_ends_gives_back_what_it_has_taken():
    """The answers are so late that it is told to end between the two calls of a sweep."""
    with World() as world:
        rules = on(world.url, RULES, "workers: 1\n" + PATIENT)
        with Server(rules) as server:
            for number in range(HELD):
                reserve(server, number, expires_in=0.5)
            world.wire.slow(0.2)
            wait_until(lambda: not contents(world.redis, "rl:~reservation:*"), "all are taken")
            server.stop()
            server.wait()
        world.wire.heal()
        assert set(counts(world.redis).values()) <= {0}


# ---- a slot that cannot be changed ----------------------------------------------------------


@pytest.mark.parametrize("how, cost", [("cancel", 0), ("commit", 25), ("commit", 4)])
def test_what_is_settled_while_its_slot_moves_is_settled_whole(cluster, how, cost):
    """Both rules count in one slot, of which one key has moved and the other has not."""
    cluster.flush()
    with Server(on(cluster, RULES, "workers: 1\n" + PATIENT)) as server:
        reservation = reserve(server, 1)
        keys = sorted(counts(cluster))
        assert len(keys) == 2
        slot = cluster.slot_of(keys[0])
        source, target = cluster.begin_move(slot)
        with source.client() as client:
            client.execute_command("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS",
                                   keys[0])
        body = {"reservation": reservation, **({"cost": cost} if how == "commit" else {})}
        try:
            assert server.ask("POST", f"/v1/{how}", body).status == 200
        finally:
            cluster.move_keys(slot, source, target)
            cluster.end_move(slot, source, target)
        assert {key: counts(cluster).get(key, 0) for key in keys} == dict.fromkeys(keys, cost)


@pytest.mark.parametrize("how, cost", [("cancel", 0), ("commit", 25)])
def test_what_a_master_cannot_change_now_it_changes_later(cluster, how, cost):
    """It refuses to write, when the reservation was taken away already on another one."""
    cluster.flush()
    with Server(on(cluster, RULES, "workers: 1\n" + PATIENT)) as server:
        reserve(server, 1)
        key = sorted(counts(cluster))[0]
        owner = cluster.owner(cluster.slot_of(key))
        reservation = None
        for number in range(2, 40):  # one that another master keeps
            known = set(contents(cluster, "rl:~reservation:*"))
            name = reserve(server, number)
            new = next(iter(set(contents(cluster, "rl:~reservation:*")) - known))
            if cluster.owner(cluster.slot_of(new)) is not owner:
                reservation = name
                break
        assert reservation, "none was kept elsewhere"
        before = counts(cluster)
        body = {"reservation": reservation, **({"cost": cost} if how == "commit" else {})}
        with owner.client() as client:
            client.config_set("min-replicas-to-write", 1)
            try:
                assert server.ask("POST", f"/v1/{how}", body).status == 503
            finally:
                client.config_set("min-replicas-to-write", 0)
        after = {key: cost if key.endswith((f":u{number}", f".{number}")) else count
                 for key, count in before.items()}
        wait_until(lambda: {key: counts(cluster).get(key, 0) for key in before} == after,
                   "it is settled after all")
