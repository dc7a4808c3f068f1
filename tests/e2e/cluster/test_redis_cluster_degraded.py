"""One master of a cluster cannot: its own rules are decided by their policy, all others as ever."""

import contextlib

import pytest

from redis_requests import PATIENT, on, one
from redis_cluster import MASTERS, SLOTS, Cluster, metric
from serving import Server
from watching import wait_until

LIMIT = 5
MANY = 100_000
LATE = "store_unavailable"


@pytest.fixture(name="cluster", scope="module")
def three_masters():
    with Cluster("cluster-require-full-coverage no", replicas=0) as cluster:
        yield cluster


@contextlib.contextmanager
def that_cannot(node, server, request):
    """It refuses to write, until its breaker is open in the server and to the end of `with`."""
    assert server.check({**request, "peek": True}).status == 200  # it is connected
    with node.client() as client:
        client.config_set("min-replicas-to-write", 1)
        try:
            server.check(request)
            wait_until(lambda: metric(server, "sluice_store_breaker", state="closed") == 2,
                       "its breaker is open")
            yield
        finally:
            client.config_set("min-replicas-to-write", 0)


def named(cluster, node, template, values):
    """A value whose key the node has."""
    return next(value for value in values
                if cluster.owner(cluster.slot_of(template % value)) is node)


def by_slots(cluster):
    """The masters in the order of their slots."""
    return [cluster.owner(SLOTS * number // MASTERS) for number in range(MASTERS)]


def on_nodes(cluster, live, dead):
    """A caller that is counted by user on the one and by address on the other."""
    user = named(cluster, live, "rl:-:u:{%s}", (f"u{i}" for i in range(1000)))
    ip = named(cluster, dead, "rl:-:i:{%s}", (f"192.0.2.{i}" for i in range(250)))
    return {"user": user, "ip": ip, "resource": "/x"}


def rules(policy):
    return (one("u", "fixed_window", LIMIT, resource="/x") +
            one("i", "fixed_window", MANY, f", on_store_failure: {policy}", per="ip",
                resource="/x"))


def answers(server, request, count=4 * LIMIT):
    return [server.check(request) for _ in range(count)]


@pytest.mark.parametrize("dead_first", [True, False])
def test_the_rules_of_those_that_live_are_enforced(cluster, dead_first):
    cluster.flush()
    nodes = by_slots(cluster)
    live, dead = nodes[1], nodes[0] if dead_first else nodes[2]
    request = on_nodes(cluster, live, dead)
    other = on_nodes(cluster, nodes[2] if dead_first else nodes[0], dead)
    with Server(on(cluster, rules("allow"), "workers: 1\n" + PATIENT)) as server:
        with that_cannot(dead, server, other):
            got = answers(server, request)
            explained = server.check({**request, "explain": True, "peek": True}).json["rules"]
        assert [answer.status for answer in got] == [200] * LIMIT + [429] * 3 * LIMIT
        assert {answer.json["reason"] for answer in got[:LIMIT]} == {LATE}
        assert {answer.json["reason"] for answer in got[LIMIT:]} == {"rate_limit_exceeded"}
        assert [answer.json["remaining"] for answer in got[:LIMIT]] == [4, 3, 2, 1, 0]
        assert [(row["rule"], row["remaining"]) for row in explained] == [("u", 0), ("i", -1)]
    with live.client() as client:
        assert client.hget(f"rl:-:u:{{{request['user']}}}", "count") == str(LIMIT)


def test_a_rule_that_denies_then_denies(cluster):
    cluster.flush()
    nodes = by_slots(cluster)
    request = on_nodes(cluster, nodes[1], nodes[0])
    with Server(on(cluster, rules("deny"), "workers: 1\n" + PATIENT)) as server:
        with that_cannot(nodes[0], server, request):
            got = answers(server, request)
    assert {(answer.status, answer.json["reason"]) for answer in got} == {(503, LATE)}
    with nodes[1].client() as client:
        assert client.hget(f"rl:-:u:{{{request['user']}}}", "count") in (None, "0")


@pytest.mark.parametrize("shadows", [1, 2])
@pytest.mark.parametrize("lease", ["off", "auto"])
def test_a_shadow_rule_fails_no_request(cluster, shadows, lease):
    """Also where the rule that is enforced is leased, and nothing but shadows is asked for."""
    cluster.flush()
    rows = (f"  - {{ name: g, per: global, algorithm: fixed_window, limit: {MANY}0/365d, "
            f"lease: {lease} }}\n" + one("s", "fixed_window", MANY, ", shadow: true", resource="/x"))
    if shadows == 2:
        rows += one("t", "fixed_window", MANY, ", shadow: true", per="ip", resource="/x")
    owner = cluster.owner(cluster.slot_of("rl:-:g:{-}"))
    dead = next(node for node in cluster.masters() if node is not owner)
    request = {"user": named(cluster, dead, "rl:-:s:{%s}", (f"u{i}" for i in range(1000))),
               "ip": named(cluster, dead, "rl:-:t:{%s}", (f"192.0.2.{i}" for i in range(250))),
               "resource": "/x"}
    with Server(on(cluster, rows, "workers: 1\n" + PATIENT)) as server:
        if lease == "auto":
            wait_until(lambda: server.check(request).status == 200 and
                       metric(server, "sluice_lease_units_total", end="granted") > 0,
                       "some are leased")
        with that_cannot(dead, server, request):
            got = answers(server, request, 200)
    assert {(answer.status, answer.json["reason"]) for answer in got} == {(200, "ok")}
    assert min(answer.json["reset_at_us"] for answer in got) > 1_600_000_000_000_000
