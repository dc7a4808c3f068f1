"""One table, many processes: counts are exact, and a killed one harms no other."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pytest
import sluice

CAPACITY = 4000
NUMBERS = {
    "token_bucket": {"window": 60 * 86400},
    "leaky_bucket": {"window": 60 * 86400},
    "fixed_window": {"window": 86400, "align": "first_request"},
    "sliding_window_log": {"window": 86400},
    "sliding_window_counter": {"window": 366 * 86400},
}


def ask(limit, times, out):
    out.send(sum(bool(limit.decide("shared")) for _ in range(times)))


@pytest.mark.parametrize("algorithm", NUMBERS)
def test_four_children_of_a_fork_admit_exactly_the_limit(tmp_path, algorithm):
    store = sluice.open(f"memory:{tmp_path}/counts.slu?size=4M&log=2M")
    limit = store.limit("api", algorithm=algorithm, capacity=CAPACITY, **NUMBERS[algorithm])
    fork = multiprocessing.get_context("fork")
    pipes, children = [], []
    for _ in range(4):
        here, there = fork.Pipe(duplex=False)
        child = fork.Process(target=ask, args=(limit, CAPACITY // 2, there))
        child.start()
        pipes.append(here)
        children.append(child)
    admitted = [pipe.recv() for pipe in pipes]
    for child in children:
        child.join()
        assert child.exitcode == 0
    assert sum(admitted) == CAPACITY
    assert not limit.decide("shared")


OTHER = """
import sluice, sys
with sluice.open(sys.argv[1]) as store:
    limit = store.limit("api", algorithm="token_bucket", capacity=4000, window=60 * 86400)
    print(sum(bool(limit.decide("shared")) for _ in range(2000)))
"""


def test_four_unrelated_processes_on_one_file_admit_exactly_the_limit(url):
    started = [subprocess.Popen([sys.executable, "-c", OTHER, url], stdout=subprocess.PIPE)
               for _ in range(4)]
    assert sum(int(one.communicate()[0]) for one in started) == CAPACITY


def test_a_private_store_is_shared_with_the_children_of_a_fork():
    with sluice.open("memory:?size=1M") as store:
        limit = store.limit("api", algorithm="token_bucket", capacity=10, window=86400)
        child = os.fork()
        if child == 0:
            os._exit(sum(bool(limit.decide("u")) for _ in range(4)))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 4
        assert limit.decide("u").remaining == 5


def test_kill_9_in_the_middle_of_deciding_loses_nothing(store):
    capacity = 1_000_000
    limit = store.limit("api", algorithm="token_bucket", capacity=capacity, window=60 * 86400)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        while True:
            limit.decide("shared")
            limit.decide_batch([f"key{number}" for number in range(50)])
            os.write(write, b".")
    os.close(write)
    answered = 0
    while answered < 200:
        answered += len(os.read(read, 50))
    os.kill(child, 9)
    os.waitpid(child, 0)
    while more := os.read(read, 65536):
        answered += len(more)
    os.close(read)
    # At most one was decided and not reported.
    used = capacity - limit.peek("shared").remaining
    assert answered <= used <= answered + 1
    assert limit.decide("shared").remaining == capacity - used - 1
    assert all(limit.decide_batch([f"key{number}" for number in range(50)]))


RULES = """
store: {url}
rules:
  - name: api
    resource: /api/*
    per: user
    algorithm: {algorithm}
    capacity: 6
    window: {window}
"""


@pytest.mark.parametrize("algorithm, window", [
    ("token_bucket", "60d"), ("leaky_bucket", "60d"), ("fixed_window", "366d"),
    ("sliding_window_log", "1d"), ("sliding_window_counter", "366d")])
def test_python_and_the_command_line_count_in_one_file(tmp_path, url, program, algorithm, window):
    path = tmp_path / "rules.yaml"
    path.write_text(RULES.format(url=url, algorithm=algorithm, window=window))

    def check(*more):
        done = subprocess.run([program, "check", "-c", path, "--resource", "/api/x", "--user", "u1",
                               "--json", *more], capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    asked = {"resource": "/api/x", "user": "u1"}
    with sluice.Limiter(path) as limiter:
        assert limiter.decide(**asked).remaining == 5
        assert [one["remaining"] for one in check("--times", "2")] == [4, 3]
        assert limiter.decide(cost=2, **asked).remaining == 1
        assert [one["allowed"] for one in check("--times", "2")] == [True, False]
        same_shape(limiter.explain(**asked).as_dict(), check("--explain")[0])


def same_shape(here, there):
    """The same fields in the same order, and the same values but for the time that
    passed between the two."""
    assert list(here) == list(there)
    for name, value in here.items():
        if name == "rules":
            for mine, other in zip(value, there[name]):
                same_shape(mine, other)
        elif name.startswith(("reset_at", "retry_after")):
            assert abs(value - there[name]) < (60_000_000 if name.endswith("_us") else 60)
        else:
            assert value == there[name]


def test_a_limit_and_a_limiter_may_use_one_store(store):
    limiter = sluice.Limiter.from_text(
        "rules: [{name: api, per: user, algorithm: token_bucket, capacity: 3, window: 1d}]",
        store=store)
    limit = store.limit("mine", algorithm="token_bucket", capacity=3, window=86400)
    assert [limiter.decide(user="u1").remaining, limit.decide("u1").remaining] == [2, 2]


def test_ctrl_c_ends_a_long_wait(url):
    # What runs in the background is born ignoring it.
    code = ("import signal, sluice, sys\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "limit = sluice.open(sys.argv[1]).limit('x', algorithm='token_bucket', capacity=1,\n"
            "                                       window=3600)\n"
            "limit.decide('u')\n"
            "try:\n"
            "    print('waiting', flush=True)\n"
            "    limit.acquire('u')\n"
            "except KeyboardInterrupt:\n"
            "    print('stopped')\n")
    with subprocess.Popen([sys.executable, "-c", code, url], stdout=subprocess.PIPE,
                          text=True) as child:
        assert child.stdout.readline() == "waiting\n"
        time.sleep(0.1)
        child.send_signal(signal.SIGINT)
        try:
            assert child.communicate(timeout=60)[0] == "stopped\n"
        finally:
            child.kill()
