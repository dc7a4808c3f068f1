"""Many instances, one count: what all of them admit together is the limit, not one more.

Limits are so long that nothing comes back meanwhile, and the deadline is so long that a busy
machine is no failure: a request is either counted or denied."""

import contextlib
import json
import os
import subprocess
import time
from unittest import mock

import pytest

from clocks import Clock, compiled
from program import SLUICE, TIMEOUT_S, run
from redis_requests import ALGORITHMS, Crowd, admitted, on, one, reasons
from redis_running import Redis
from serving import Server

INSTANCES, CLIENTS, EACH = 4, 64, 10
LIMIT = 400  # of CLIENTS · EACH = 640 requests
ALL = pytest.mark.parametrize("algorithm", ALGORITHMS)
HOUR = 3600


def everything():
    """A rule for every algorithm, and one path on which all of them count, with other limits."""
    rules = [one(algorithm, algorithm, LIMIT) for algorithm in ALGORITHMS]
    layered = [one(f"layer-{i}", algorithm, LIMIT + 10 * i, resource="/layers")
               for i, algorithm in enumerate(ALGORITHMS)]
    guard = ", burst_guard: { window: 1h, threshold: 1000000, penalty: 1h }"
    return "".join([*rules, *layered, one("guarded", "fixed_window", LIMIT, guard)])


@pytest.fixture(name="redis", scope="module")
def running_redis():
    with Redis() as redis:
        yield redis
        assert redis.keys_without_ttl() == []


@pytest.fixture(name="servers", scope="module")
def four_instances(redis):
    with contextlib.ExitStack() as stack:
        rules = on(redis, everything()).replace("store:", "workers: 2\nstore:", 1)
        yield [stack.enter_context(Server(rules)) for _ in range(INSTANCES)]


@pytest.fixture(name="crowd")
def of_clients(servers):
    with Crowd(CLIENTS, *servers) as crowd:
        yield crowd


# ---- many servers, many clients -------------------------------------------------------------


def exactly(responses, limit=LIMIT):
    assert len(responses) == CLIENTS * EACH
    assert {response.status for response in responses} == {200, 429}
    assert reasons(responses) == {"ok", "rate_limit_exceeded"}
    assert admitted(responses) == limit
    # Each was told another number: no request read what another had not yet written.
    left = [response.json["remaining"] for response in responses if response.json["allowed"]]
    assert sorted(left) == list(range(limit))


@pytest.mark.parametrize("name", [*ALGORITHMS, "guarded"])
def test_all_of_them_admit_the_limit(crowd, name):
    exactly(crowd.ask({"user": "one", "resource": f"/{name}"}, each=EACH))


@ALL
def test_costs_add_up(crowd, algorithm):
    """Costs of 3: as many as fit, and then ones fill what is left."""
    request = {"user": "three", "resource": f"/{algorithm}"}
    assert admitted(crowd.ask({**request, "cost": 3}, each=EACH)) == LIMIT // 3
    assert admitted(crowd.ask(request)) == LIMIT % 3


def test_several_rules_are_all_or_nothing(servers, crowd):
    """The tightest decides, and the others have counted what was admitted, no more."""
    exactly(crowd.ask({"user": "one", "resource": "/layers"}, each=EACH))
    rows = servers[0].check({"user": "one", "resource": "/layers", "peek": True,
                             "explain": True}).json["rules"]
    assert [row["remaining"] for row in rows] == [10 * i for i in range(len(ALGORITHMS))]


@ALL
def test_many_keys_are_exact_each(crowd, algorithm):
    """Every connection asks for every user, one after the other."""
    users = [{"user": f"many-{i}", "resource": f"/{algorithm}", "cost": 40} for i in range(10)]
    responses = crowd.ask(*users)
    for i in range(len(users)):
        assert admitted(responses[i::len(users)]) == LIMIT // 40


def test_what_is_given_back_can_be_taken_again(servers, crowd):
    """Half of what was reserved is cancelled, by another instance than the one that reserved."""
    held = []
    while (answer := servers[len(held) % INSTANCES].ask(
            "POST", "/v1/reserve", {"user": "held", "cost": 20,
                                    "resource": "/fixed_window"})).status == 200:
        held.append(answer.json["reservation"])
        assert len(held) <= LIMIT // 20
    assert len(held) == LIMIT // 20
    for number, reservation in enumerate(held[::2]):
        answer = servers[(number + 1) % INSTANCES].ask("POST", "/v1/cancel",
                                                       {"reservation": reservation})
        assert answer.status == 200, answer.body
    answers = crowd.ask({"user": "held", "resource": "/fixed_window"}, each=EACH)
    assert admitted(answers) == LIMIT // 2


# ---- every way to ask -----------------------------------------------------------------------


@ALL
def test_check_and_servers_and_replays_see_one_count(servers, redis, tmp_path, algorithm):
    rules = tmp_path / "rules.yaml"
    rules.write_text(on(redis, everything()), encoding="utf-8")
    request = {"user": "mixed", "resource": f"/{algorithm}"}
    asked = ("--user", "mixed", "--resource", f"/{algorithm}", "--json")
    left = LIMIT
    for server in servers:
        left -= 1
        assert server.check(request).json["remaining"] == left
        done = run("check", "-c", rules, "--times", "3", *asked)
        assert done.code == 0, done.err
        assert [line["remaining"] for line in done.lines] == [left - 1, left - 2, left - 3]
        left -= 3
    assert servers[0].check({**request, "cost": left}).json["remaining"] == 0
    assert run("check", "-c", rules, *asked).code == 1
    assert run("replay", "-c", rules, stdin=json.dumps(
        {"at_us": time.time_ns() // 1000, **request})).lines[0]["allowed"], "a private count"


# ---- clocks that are an hour apart ----------------------------------------------------------


def middle_width():
    """A window in whose middle we are, shorter than the clocks are apart: by their own clocks
    the instances would be in different ones, and this one does not end meanwhile."""
    now = time.time()
    return next(width for width in range(600, 1800)
                if 0.2 * width < now % width < 0.6 * width and HOUR % width)


def timed(algorithm, width):
    """A rule that counts in windows of `width` seconds; a bucket is full again in that time."""
    if algorithm.endswith("bucket"):
        # Nothing comes back meanwhile: a token takes longer than the test.
        return (f"  - {{ name: t, per: user, algorithm: {algorithm}, capacity: 8, "
                f"refill_rate: {8 / width:.9f} }}\n")
    return f"  - {{ name: t, per: user, algorithm: {algorithm}, limit: 8/{width}s }}\n"


@pytest.fixture(name="shim", scope="module")
def compiled_clock(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("clock"))


def check_at(clock, rules):
    """`sluice check` with that clock."""
    with mock.patch.dict(os.environ, {"LD_PRELOAD": str(clock.shim),
                                      "SLUICE_CLOCK": str(clock.path)}):
        out = subprocess.run([SLUICE, "check", "-c", rules, "--user", "u", "--json"],
                             capture_output=True, timeout=TIMEOUT_S, check=False).stdout
    return json.loads(out)


@ALL
def test_instances_whose_clocks_are_an_hour_apart_share_one_count(redis, tmp_path, shim, algorithm):
    redis.flush()
    width = middle_width()
    rules = on(redis, timed(algorithm, width))
    file = tmp_path / "check.yaml"
    file.write_text(rules, encoding="utf-8")
    with contextlib.ExitStack() as stack:
        servers, clocks = [], []
        for ahead in (0, HOUR, -HOUR):
            folder = tmp_path / f"at{ahead}"
            folder.mkdir()
            clocks.append(Clock(folder, shim))
            clocks[-1].go_on(ahead=ahead)
            servers.append(stack.enter_context(clocks[-1].server(rules)))
        left = 8
        for round_ in range(2):
            for server in servers:
                left -= 1
                assert server.check({"user": "u"}).json["remaining"] == left
            left -= 1
            assert check_at(clocks[round_ + 1], file)["remaining"] == left
        assert left == 0
        answers = [server.check({"user": "u"}) for server in servers]
        answers_us = [answer.json["retry_after_us"] for answer in answers]
    assert [answer.status for answer in answers] == [429] * 3
    assert all(0 < wait_us <= width * 1_000_000 for wait_us in answers_us)
    assert max(answers_us) - min(answers_us) < 60_000_000  # one clock, a moment apart
