"""A Redis Cluster as the store: random calls leave the same as in memory, with rules in one slot and
in two; and a process that was forked makes its own connections."""

import multiprocessing
import sys
from pathlib import Path

import pytest
import sluice
from test_redis import ALGORITHMS, SEED, ask, in_time, limiter_on, play

SUPPORT = Path(__file__).resolve().parents[3] / "tests/e2e/support"
sys.path[:0] = [str(SUPPORT), str(SUPPORT / "redis_servers")]

from redis_cluster import Cluster  # noqa: E402

TAGS = pytest.mark.parametrize("tag", ["tenant", "identifier"])


@pytest.fixture(name="cluster", scope="module")
def running_cluster():
    with Cluster(replicas=0) as cluster:
        yield cluster


@pytest.fixture(name="url")
def url_of_an_empty_one(cluster):
    cluster.flush()
    return cluster.url()


@TAGS
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_refunds_reservations_and_resets_leave_the_same_as_in_memory(url, algorithm, tag):
    print(f"SLUICE_SEED={SEED}")
    steps = 0
    for seed in range(SEED, SEED + 8):
        memory = limiter_on("memory", algorithm)
        other = limiter_on(url, algorithm, f"hash_tag: {tag}\n")
        for user in "ab":
            other.reset(tenant="acme", user=user)
        for ours, theirs in zip(play(memory, seed), play(other, seed)):
            if "bucket" in algorithm and ours[0] != theirs[0]:
                break
            assert ours == theirs, seed
            steps += 1
    assert steps > 80


@TAGS
def test_children_of_a_fork_make_their_own_connections(url, tag):
    limiter = limiter_on(url, "token_bucket", f"hash_tag: {tag}\n")
    assert limiter.decide(tenant="acme", user="u")  # the parent's connections are there
    fork = multiprocessing.get_context("fork")
    pipes = []
    for _ in range(4):
        here, there = fork.Pipe(duplex=False)
        fork.Process(target=ask, args=(limiter, 10, there)).start()
        pipes.append(here)
    assert sum(pipe.recv() for pipe in pipes) == 19
    assert not limiter.decide(tenant="acme", user="u")


def test_one_limit_on_any_key(url):
    with sluice.open(url) as store:
        limit = store.limit("api", algorithm="fixed_window", capacity=3, window=86400)
        decisions = [in_time(lambda: limit.decide_batch([key])[0])
                     for key in ("k:1", "k:1", "k:1", "k:1", b"\xff{}", "", "another")]
        assert [bool(decision) for decision in decisions] == [True] * 3 + [False] + [True] * 3
        in_time(lambda: limit.refund("k:1", decisions[0]))
        assert in_time(lambda: limit.peek("k:1")).remaining == 1
        in_time(lambda: limit.reset("k:1"))
        assert in_time(lambda: limit.peek("k:1")).remaining == 3
