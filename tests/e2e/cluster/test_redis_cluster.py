"""Counts in a Redis Cluster: one count for all, wherever its keys live and move.

Limits are so long that nothing comes back meanwhile, and the deadline is so long that a busy
machine is no failure: a request is either counted or denied."""

import contextlib
import itertools
import json
import os
import re
import threading

import pytest

import certificates
from program import run
from redis_requests import ALGORITHMS, PATIENT, Crowd, admitted, asking, on, one, reasons
from redis_cluster import MASTERS, Cluster, metric
from redis_running import LEAST, Redis
from serving import Server
from watching import wait_until

INSTANCES, CLIENTS, EACH = 4, 64, 10
LIMIT = 400  # of CLIENTS · EACH = 640 requests
MOVES = int(os.environ.get("SLUICE_MOVES", "6"))
ALL = pytest.mark.parametrize("algorithm", ALGORITHMS)


def everything():
    """A rule for every algorithm; one path on which all of them count, for a tenant in one slot; and
    one on which three rules count in three slots."""
    rules = [one(algorithm, algorithm, LIMIT) for algorithm in ALGORITHMS]
    layered = [one(f"layer-{i}", algorithm, LIMIT + 10 * i, resource="/layers")
               for i, algorithm in enumerate(ALGORITHMS)]
    wide = [one(f"wide-{algorithm}", algorithm, LIMIT + 7 * i, per="[ip]" if i % 2 else "[ip, x]",
                resource="/wide") for i, algorithm in enumerate(ALGORITHMS)]
    guard = ", burst_guard: { window: 1h, threshold: 1000000, penalty: 1h }"
    return "".join([*rules, *layered, *wide, one("guarded", "fixed_window", LIMIT, guard)])


@pytest.fixture(name="cluster", scope="module")
def running_cluster():
    with Cluster() as cluster:
        yield cluster
        assert cluster.keys_without_ttl() == []


@pytest.fixture(name="servers", scope="module")
def four_instances(cluster):
    with contextlib.ExitStack() as stack:
        rules = on(cluster, everything()).replace("store:", "workers: 2\nstore:", 1)
        yield [stack.enter_context(Server(rules)) for _ in range(INSTANCES)]


@pytest.fixture(name="crowd")
def of_clients(servers):
    with Crowd(CLIENTS, *servers) as crowd:
        yield crowd


def exactly(responses, limit=LIMIT):
    assert reasons(responses) == {"ok", "rate_limit_exceeded"}
    assert {response.status for response in responses} == {200, 429}
    assert admitted(responses) == limit
    left = [response.json["remaining"] for response in responses if response.json["allowed"]]
    assert sorted(left) == list(range(limit))  # no request read what another had not yet written


# ---- one count ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*ALGORITHMS, "guarded", "layers"])
def test_all_of_them_admit_the_limit(crowd, name):
    exactly(crowd.ask({"tenant": "acme", "user": "one", "resource": f"/{name}"}, each=EACH))


# ---- claims in several slots ----------------------------------------------------------------

WIDE = {"ip": "192.0.2.7", "x": "y", "resource": "/wide"}


def slots_of(cluster, *keys):
    return {cluster.slot_of(key) for key in keys}


def rows_of(server, request):
    answer = server.check({**request, "peek": True, "explain": True})
    return answer.json["rules"]


def test_claims_in_several_slots_are_all_or_nothing(cluster, servers, crowd):
    """The tightest decides; the others give back what they took for a request that is denied."""
    assert len(slots_of(cluster, "rl:-:wide:{192.0.2.7}", "rl:-:wide:{192.0.2.7:y}")) == 2
    responses = crowd.ask(WIDE, each=EACH)
    assert reasons(responses) == {"ok", "rate_limit_exceeded"}
    assert admitted(responses) == LIMIT
    rows = rows_of(servers[0], WIDE)
    assert [row["remaining"] for row in rows] == [7 * i for i in range(len(ALGORITHMS))]


# ---- slots that move ------------------------------------------------------------------------


class Mover:
    """Moves these slots to another master, again and again, until it is left."""

    def __init__(self, cluster, *slots):
        self.cluster, self.slots, self.moves, self.wrong = cluster, slots, 0, None
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self._run)

    def _run(self):
        try:
            for slot in itertools.cycle(self.slots):
                if self.ends.is_set():
                    return
                self.cluster.move(slot)
                self.moves += 1
        except Exception as error:  # noqa: BLE001, the waiting thread shows it
            self.wrong = error

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join()
        if self.wrong:
            raise self.wrong


@pytest.mark.parametrize("name", [*ALGORITHMS, "guarded", "layers"])
def test_all_of_them_admit_the_limit_while_its_slot_moves(cluster, crowd, name):
    request = {"tenant": f"moved-{name}", "user": "one", "resource": f"/{name}"}
    slot = cluster.slot_of(f"rl:{{moved-{name}}}:x")
    responses = []
    with Mover(cluster, slot) as mover:
        while mover.moves < MOVES or len(responses) < CLIENTS * EACH:
            responses += crowd.ask(request, each=2)
            assert len(responses) < 1_000_000
    if name != "layers":
        exactly(responses)
    assert admitted(responses) == LIMIT
    assert reasons(responses) == {"ok", "rate_limit_exceeded"}


def test_several_rules_are_all_or_nothing_while_their_slot_moves(servers):
    """What the test before this has left: its rules were asked for one by one, meanwhile."""
    rows = rows_of(servers[0], {"tenant": "moved-layers", "user": "one", "resource": "/layers"})
    assert [row["remaining"] for row in rows] == [10 * i for i in range(len(ALGORITHMS))]


def sent_on(servers, kind):
    return sum(metric(server, "sluice_store_redirections_total", kind=kind) for server in servers)


def test_what_a_node_does_not_answer_is_sent_on(cluster, servers):
    """While the slot is on its way: new keys are asked for (ASK), requests with several keys of
    which some are there has to wait (TRYAGAIN); and then it is elsewhere (MOVED)."""
    server, slot = servers[0], cluster.slot_of("rl:{sent-on}:x")
    single = {"tenant": "sent-on", "user": "u", "resource": "/fixed_window"}
    several = {"tenant": "sent-on", "user": "u", "resource": "/layers"}
    before = {kind: sent_on(servers, kind) for kind in ("moved", "ask", "tryagain")}
    source, target = cluster.begin_move(slot)
    with server.raw() as raw:
        raw.send(asking(several))
        wait_until(lambda: sent_on(servers, "tryagain") > before["tryagain"], "it waits")
        # Requests are asked for key by key now, which needs not wait.
        assert server.check(several).json["remaining"] == LIMIT - 1
        assert server.check(single).json["remaining"] == LIMIT - 1
        assert sent_on(servers, "ask") > before["ask"]
        cluster.move_keys(slot, source, target)
        cluster.end_move(slot, source, target)
        assert raw.response().json["remaining"] == LIMIT - 2
        assert [row["remaining"] for row in rows_of(server, several)] == [
            LIMIT + 10 * i - 2 for i in range(len(ALGORITHMS))]
    assert server.check(single).json["remaining"] == LIMIT - 2
    assert sent_on(servers, "moved") > before["moved"]
    assert all(metric(one_of, "sluice_store_nodes") == MASTERS for one_of in servers)


def test_several_slots_that_move_stay_all_or_nothing(cluster, servers, crowd):
    request = {"ip": "192.0.2.8", "x": "z", "resource": "/wide"}
    slots = slots_of(cluster, "rl:-:wide:{192.0.2.8}", "rl:-:wide:{192.0.2.8:z}")
    responses = []
    with Mover(cluster, *slots) as mover:
        while mover.moves < MOVES or len(responses) < CLIENTS * EACH:
            responses += crowd.ask(request, each=2)
    assert reasons(responses) == {"ok", "rate_limit_exceeded"}
    assert admitted(responses) == LIMIT
    left = [row["remaining"] for row in rows_of(servers[0], request)]
    assert left == [7 * i for i in range(len(ALGORITHMS))], [
        metric(server, "sluice_store_undos_total", result=result) for server in servers
        for result in ("done", "unsure", "given_up")]


# ---- every way to ask -----------------------------------------------------------------------


@pytest.fixture(name="file")
def rules_file(cluster, tmp_path):
    path = tmp_path / "rules.yaml"
    path.write_text(on(cluster, everything()), encoding="utf-8")
    return path


@pytest.mark.parametrize("request_, options", [
    ({"user": "mixed", "resource": "/fixed_window"},
     ("--user", "mixed", "--resource", "/fixed_window")),
    ({"ip": "192.0.2.9", "x": "m", "resource": "/wide"},
     ("--ip", "192.0.2.9", "--attr", "x=m", "--resource", "/wide")),
])
def test_check_and_servers_see_one_count(servers, file, request_, options):
    left = LIMIT
    for server in servers:
        left -= 1
        assert server.check(request_).json["remaining"] == left
        done = run("check", "-c", file, "--times", "3", "--json", *options)
        assert done.code == 0, done.err
        assert [line["remaining"] for line in done.lines] == [left - 1, left - 2, left - 3]
        left -= 3
    assert servers[0].check({**request_, "cost": left}).json["remaining"] == 0
    denied = run("check", "-c", file, "--json", *options)
    assert denied.code == 1
    rows = rows_of(servers[0], request_)
    assert rows[0]["remaining"] == 0
    assert [row["remaining"] for row in rows] == [7 * i for i in range(len(rows))]


def test_a_replay_on_a_cluster_decides_as_one_in_memory(cluster, file):
    """With claims in several slots, of which some deny: what was taken is given back as of then."""
    base = 1_700_000_000_000_000
    trace = "".join(json.dumps({"at_us": base + i * 1000, "ip": "198.51.100.1", "x": f"{i % 3}",
                                "resource": "/wide", "cost": 50}) + "\n" for i in range(30))
    there = run("replay", "-c", file, "--store", cluster.url(), stdin=trace)
    here = run("replay", "-c", file, stdin=trace)
    assert there.code == here.code == 0, there.err
    assert {line["allowed"] for line in here.lines} == {True, False}
    assert there.lines == here.lines


def test_a_request_with_a_guard_and_a_shadow_rule_in_other_slots(cluster):
    """The guard counts all requests, denied or not; the shadow rule is charged for those that pass."""
    guard = ", burst_guard: { window: 1h, threshold: 1000000, penalty: 1h }"
    rules = (one("g", "fixed_window", 3, guard, per="ip", resource="/all")
             + one("tight", "token_bucket", 2, per="user", resource="/all")
             + one("tried", "sliding_window_log", 1, ", shadow: true", per="x", resource="/all"))
    request = {"ip": "203.0.113.5", "user": "g", "x": "g", "resource": "/all"}
    with Server(on(cluster, rules)) as server:
        answers = [server.check(request).json for _ in range(5)]
        rows = rows_of(server, request)
        key = "rl:-:g~guard:{203.0.113.5}"
        with cluster.keys()[key].client() as client:  # denials from memory are reported later
            wait_until(lambda: client.hget(key, "count") == "5", "the guard has counted all")
    assert [answer["allowed"] for answer in answers] == [True, True, False, False, False]
    assert [answer["reason"] for answer in answers[:2]] == ["ok", "shadow"]
    assert [row["remaining"] for row in rows] == [1, 0, 0]


LEASED = """  - { name: leased, per: global, algorithm: token_bucket, capacity: 100000, refill_rate: 0.1 }
  - { name: counted, per: user, algorithm: fixed_window, limit: 120/h }
"""


def test_a_rule_that_is_leased_beside_one_that_is_counted_in_another_slot(cluster):
    """Both are charged, or neither; while the first has units here, only the other is asked for."""
    passed = 0
    with Server(on(cluster, LEASED)) as server:
        for turn in range(20):
            asked = [{"user": f"leasing-{turn % 3}"}] * 30
            passed += sum(answer["allowed"] for answer in server.check(asked).json)
        page = server.ask("GET", "/metrics").body.decode()
    assert passed == 3 * 120
    granted = re.search(r'sluice_lease_units_total{rule="leased",end="granted"} (\d+)', page)
    assert int(granted[1]) > 0
    key = "rl:-:leased:{-}"
    with cluster.keys()[key].client() as client:
        state = client.hgetall(key)
    assert state["lease_end"] == "0"  # given back
    # What was put back after a call had told of it stays spent.
    assert passed <= 100_000 - int(state["tokens"]) <= passed + 60


@pytest.mark.parametrize("request_", [
    {"user": "held", "cost": 20, "resource": "/fixed_window"},
    {"ip": "192.0.2.10", "x": "held", "cost": 20, "resource": "/wide"},
])
def test_what_is_given_back_can_be_taken_again(servers, request_):
    """Half of what was reserved is cancelled, by another instance than the one that reserved; one
    is committed for less."""
    held = []
    while (answer := servers[len(held) % INSTANCES].ask("POST", "/v1/reserve", request_)
           ).status == 200:
        held.append(answer.json["reservation"])
        assert len(held) <= LIMIT // 20
    assert answer.status == 429 and len(held) == LIMIT // 20
    for number, reservation in enumerate(held[::2]):
        answer = servers[(number + 1) % INSTANCES].ask("POST", "/v1/cancel",
                                                       {"reservation": reservation})
        assert answer.status == 200, answer.body
    answer = servers[0].ask("POST", "/v1/commit", {"reservation": held[1], "cost": 5})
    assert answer.status == 200, answer.body
    assert servers[0].ask("POST", "/v1/cancel", {"reservation": held[0]}).status == 404
    rows = rows_of(servers[0], {**request_, "cost": 1})
    assert rows[0]["remaining"] == LIMIT // 2 + 15


def test_a_reservation_whose_time_has_come_is_given_back(servers):
    request = {"ip": "192.0.2.11", "x": "due", "cost": 20, "resource": "/wide"}
    assert servers[0].ask("POST", "/v1/reserve", {**request, "expires_in": 0.1}).status == 200
    wait_until(lambda: [row["remaining"] for row in rows_of(servers[1], request)] == [
        LIMIT + 7 * i for i in range(len(ALGORITHMS))], "it is given back")


def test_a_reset_forgets_keys_wherever_they_are(servers):
    request = {"ip": "192.0.2.12", "x": "reset", "resource": "/wide"}
    assert servers[0].check(request).json["remaining"] == LIMIT - 1
    answer = servers[1].ask("POST", "/v1/reset", {"ip": "192.0.2.12", "x": "reset",
                                                  "resource": "/wide"})
    assert answer.status == 200, answer.body
    assert rows_of(servers[2], request)[0]["remaining"] == LIMIT


# ---- what is no cluster, or not ours --------------------------------------------------------


def test_a_redis_that_is_no_cluster_says_what_to_write(tmp_path):
    with Redis() as single:
        path = tmp_path / "rules.yaml"
        url = single.url().replace("redis://", "redis-cluster://")
        path.write_text(on(url, one("a", "fixed_window", 5),
                           PATIENT), encoding="utf-8")
        done = run("check", "-c", path, "--user", "u", "--resource", "/a")
    assert done.code == 2
    assert "not a node of a cluster" in done.err and "redis://" in done.err


def test_a_node_of_a_cluster_that_is_taken_for_a_redis_says_what_to_write(cluster, tmp_path):
    path = tmp_path / "rules.yaml"
    path.write_text(on(cluster.nodes[0], one("a", "fixed_window", 5),
                       PATIENT), encoding="utf-8")
    for user in ("a", "b", "c", "d"):  # in some slot of another's
        done = run("check", "-c", path, "--user", user, "--resource", "/a")
        if done.code == 2:
            break
    assert done.code == 2
    assert "node of a cluster" in done.err and "`redis-cluster://`" in done.err


def test_any_of_the_hosts_will_do(cluster, tmp_path):
    """Of those that the URL names only the last is there, and that is a replica."""
    path = tmp_path / "rules.yaml"
    replica = cluster.nodes[-1]
    url = f"redis-cluster://127.0.0.1:1,localhost:2,127.0.0.1:{replica.port}"
    path.write_text(on(url, one("a", "fixed_window", 5)), encoding="utf-8")
    done = run("check", "-c", path, "--user", "seeds", "--resource", "/a", "--json")
    assert done.code == 0, done.err
    assert done.lines[0]["reason"] == "ok"


def test_passwords_and_tls_are_the_same_on_every_node(tmp_path):
    ca = certificates.self_signed(tmp_path, "ca")
    server = certificates.signed(tmp_path, "server", ca)
    tls = [f"tls-cert-file {server.certificate}", f"tls-key-file {server.key}",
           f"tls-ca-cert-file {ca.certificate}", "tls-auth-clients no"]
    path = tmp_path / "rules.yaml"
    with Cluster(replicas=0, password="secret", tls=tls) as hidden:
        path.write_text(on(hidden.url(password="secret", seeds=1), everything(),
                           f"{PATIENT}store_tls: {{ ca: {ca.certificate} }}\n"), encoding="utf-8")
        done = [run("check", "-c", path, "--ip", f"192.0.2.{i}", "--attr", f"x={i}", "--resource",
                    "/wide", "--json") for i in range(8)]
        assert [one_of.lines[0]["remaining"] for one_of in done] == [LIMIT - 1] * 8, done[0].err
        assert {node.port for node in hidden.keys().values()} == {node.port
                                                                  for node in hidden.nodes}
        path.write_text(on(hidden.url(password="wrong", seeds=1), everything(),
                           f"{PATIENT}"
                           f"store_tls: {{ ca: {ca.certificate} }}\n"), encoding="utf-8")
        done = run("check", "-c", path, "--user", "u", "--resource", "/fixed_window")
    assert done.code == 2
    assert "no such user and password" in done.err and "wrong" not in done.err


def test_two_privileges_more_than_on_one_redis_are_enough(cluster):
    least = [word for word in LEAST if word != "+select"] + ["+cluster|slots", "+asking"]
    for node in cluster.nodes:
        cluster.tell(node, "ACL", "SETUSER", "limiter", "on", ">pw", "~rl:*", "resetchannels",
                     "-@all", *least)
    request = {"ip": "192.0.2.13", "x": "least", "resource": "/wide"}
    single = {"user": "least", "resource": "/fixed_window"}
    slot = cluster.slot_of("{least}")
    with Server(on(cluster.url("limiter", "pw"), everything())) as server:
        source, target = cluster.begin_move(slot)
        held = server.ask("POST", "/v1/reserve", {**single, "cost": 5})
        assert server.ask("POST", "/v1/cancel",
                          {"reservation": held.json["reservation"]}).status == 200
        assert metric(server, "sluice_store_redirections_total", kind="ask") > 0
        cluster.move_keys(slot, source, target)
        cluster.end_move(slot, source, target)
        assert server.check({**request, "cost": LIMIT}).json["remaining"] == 0
        assert server.check(request).status == 429
        assert server.stderr == ""


# ---- what else is on a Redis ----------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["fixed_window", "token_bucket"])
def test_leases_admit_no_more_than_the_limit_while_their_slot_moves(cluster, algorithm):
    """A rule for all users, leased, and one of each user's own in another slot."""
    name = f"world-{algorithm}"
    rules = (one(name, algorithm, LIMIT, ", lease: 8", per="global", resource="/leased")
             + one("own", "sliding_window_counter", LIMIT, per="user", resource="/leased"))
    slot = cluster.slot_of(f"rl:-:{name}:{{-}}")
    responses = []
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(Server("workers: 2\n" + on(cluster, rules)))
                   for _ in range(INSTANCES)]
        crowd = stack.enter_context(Crowd(CLIENTS, *servers))
        with Mover(cluster, slot) as mover:
            while mover.moves < MOVES or len(responses) < 2 * CLIENTS * EACH:
                responses += crowd.ask({"user": name, "resource": "/leased"})
    assert reasons(responses) == {"ok", "rate_limit_exceeded"}
    assert LIMIT - 8 * INSTANCES <= admitted(responses) <= LIMIT
