#!/usr/bin/python3
"""What it costs to have a request's rules in one slot of a Redis Cluster, or in several.

    tools/bench_cluster.py [REQUESTS]

Three masters, one server with one worker, three rules per request. One client asks one by one, over
HTTP, each time for another user; printed are the calls of scripts that Redis was sent for a
decision, all nodes together, and the median latency as the client sees it, as a ratio to a single
Redis in the same run. Everything runs on one machine: the network is missing from every round trip.
"""

import http.client
import json
import statistics
import sys
import time
from pathlib import Path

SUPPORT = Path(__file__).resolve().parent.parent / "tests/e2e/support"
sys.path[:0] = [str(SUPPORT), str(SUPPORT / "redis_servers")]

from redis_cluster import Cluster  # noqa: E402
from redis_running import Redis  # noqa: E402
from serving import Server  # noqa: E402

ROUNDS = 5
RULES = """rules:
  - { name: a, per: [tenant, user], algorithm: token_bucket, capacity: 1000, refill_rate: 1 }
  - { name: b, per: [tenant, client], algorithm: token_bucket, capacity: 1000, refill_rate: 1 }
  - { name: c, per: [tenant, device], algorithm: token_bucket, capacity: %d, refill_rate: 0.001 }
"""


def rules(url, tag, last):
    return f"workers: 1\nstore: \"{url}\"\nstore_deadline: 1s\nhash_tag: {tag}\n" + RULES % last


def scripts_run(nodes):
    total = 0
    for node in nodes:
        with node.client() as client:
            total += client.info("commandstats").get("cmdstat_evalsha", {}).get("calls", 0)
    return total


def ask(connection, number, cost):
    body = json.dumps({"tenant": f"t{number}", "user": f"u{number}", "client": f"c{number}",
                       "device": f"d{number}", "cost": cost})
    started = time.perf_counter()
    connection.request("POST", "/v1/check", body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    decision = json.loads(response.read())
    took_us = (time.perf_counter() - started) * 1e6
    assert decision["reason"] in ("ok", "rate_limit_exceeded", "cost_exceeds_limit"), decision
    return took_us, decision["allowed"]


def measure(server, nodes, count, cost):
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    for number in range(100):
        ask(connection, number, cost)
    before = scripts_run(nodes)
    took_us, allowed = zip(*(ask(connection, number, cost) for number in range(count)))
    return (scripts_run(nodes) - before) / count, statistics.median(took_us), all(allowed)


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    with Redis() as redis, Cluster(replicas=0) as cluster:
        ways = [("one Redis", [redis], redis.url(), "tenant", 1000, 1),
                ("cluster, hash_tag: tenant", cluster.nodes, cluster.url(), "tenant", 1000, 1),
                ("cluster, hash_tag: identifier", cluster.nodes, cluster.url(), "identifier", 1000, 1),
                ("the same, denied", cluster.nodes, cluster.url(), "identifier", 1, 2)]
        seen = {way[0]: [] for way in ways}
        for _ in range(ROUNDS):  # side by side: what else the machine does hits all of them
            for name, nodes, url, tag, last, cost in ways:
                for node in nodes:
                    node.flush()
                with Server(rules(url, tag, last)) as server:
                    seen[name].append(measure(server, nodes, count, cost))
    single = statistics.median(sample[1] for sample in seen["one Redis"])
    print(f"{'':32}{'calls':>8}{'µs':>8}{'ratio':>8}")
    for name, samples in seen.items():
        calls, took_us = (statistics.median(column) for column in list(zip(*samples))[:2])
        print(f"{name:32}{calls:8.2f}{took_us:8.0f}{took_us / single:8.2f}")


if __name__ == "__main__":
    main()
