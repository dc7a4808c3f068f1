"""The Redis protocol on every store, over TLS, and from two servers that count together."""

import socket
import ssl

import pytest

import certificates
from redis_requests import PATIENT, on
from redis_faults import World
from resp_talking import BOTH, Problem, Talking, command, pairs, resp_port, talk
from serving import TIMEOUT_S, Server

ONE = "  - { name: api, per: user, algorithm: fixed_window, limit: 100/365d }\n"
FIRST = [0, 5, 4, -1, 60]


@pytest.fixture(name="world", scope="module")
def with_a_wire():
    with World() as world:
        yield world
        assert world.redis.keys_without_ttl() == []


@pytest.fixture(name="memory", scope="module")
def shared_table(tmp_path_factory):
    return f"memory:{tmp_path_factory.mktemp('table') / 'limits.slu'}?size=1M"


@pytest.fixture(name="url", params=["memory", "redis"])
def stores(request, world, memory):
    return memory if request.param == "memory" else world.url


@pytest.fixture(name="key")
def name_of_this_test(request):
    return request.node.name


def test_throttle_counts_alike_on_every_store(url, key):
    with Server("workers: 2\n" + on(url, ONE), listen=BOTH) as server, talk(server) as talking:
        got = [talking.ask("CL.THROTTLE", key, 4, 1, 60, quantity)
               for quantity in (6, 1, 1, 1, 1, 1, 1, 0)]
    assert got == [[1, 5, 5, -1, 0], FIRST, [0, 5, 3, -1, 120], [0, 5, 2, -1, 180],
                   [0, 5, 1, -1, 240], [0, 5, 0, -1, 300], [1, 5, 0, 60, 300], [0, 5, 0, -1, 300]]


def test_keys_in_redis_can_be_told(world):
    with Server(on(world.url, ONE), listen=BOTH) as server, talk(server) as talking:
        assert talking.ask("CL.THROTTLE", "a:b", 4, 1, 60) == FIRST
    assert world.redis.client().exists("rl:-:@bucket:{a%3Ab}")


def test_long_answers_keep_their_place_in_a_pipeline(url, key):
    """They end a round before it is full."""
    long = "x" * 40000
    with Server("workers: 2\n" + on(url, ONE), listen=BOTH) as server, talk(server) as talking:
        talking.send((command("SLUICE.CHECK", "user", key) + command("ECHO", long)) * 5)
        got = talking.replies(10)
    assert [pairs(one)["remaining"] for one in got[::2]] == [99, 98, 97, 96, 95]
    assert got[1::2] == [long] * 5


def test_a_pipeline_keeps_its_order_whatever_needs_the_store(url, key):
    words = ("user", key)
    with Server("workers: 2\n" + on(url, ONE), listen=BOTH) as server, talk(server) as talking:
        talking.send(b"".join([
            command("PING"), command("CL.THROTTLE", key, 4, 1, 60), command("ECHO", "a\x00b"),
            command("GETNAME"), command("SLUICE.CHECK", *words), b"PING line\r\n",
            command("SLUICE.CHECK", *words, "explain", 1), command("HELLO", 3),
            command("SLUICE.PEEK", *words), command("SLUICE.RESET", *words),
            command("SLUICE.CHECK", *words), command("CL.THROTTLE", "x"), command("QUIT"),
            command("PING")]))
        got = talking.replies(13)
        assert talking.ended()
    assert got[0:3] == ["PONG", FIRST, "a\x00b"]
    assert got[3] == Problem("ERR unknown command 'GETNAME', with args beginning with: ")
    assert pairs(got[4])["remaining"] == 99
    assert got[5] == "line"
    assert pairs(got[6])["remaining"] == 98 and len(pairs(got[6])["rules"]) == 1
    assert got[7]["proto"] == 3
    assert got[8]["remaining"] == 98
    assert got[9] == ["api"]
    assert got[10]["remaining"] == 99 and got[10]["allowed"] is True
    assert got[11].startswith("Cell error: Usage") and got[12] == "OK"


def test_many_pipelines_at_once_are_answered_each_in_order(url, key):
    with Server("workers: 2\n" + on(url, ONE), listen=BOTH) as server:
        crowd = [talk(server) for _ in range(16)]
        for number, talking in enumerate(crowd):
            talking.send(b"".join(command("CL.THROTTLE", key, 99999, 1, 1)
                                  + command("ECHO", f"{number}-{turn}") for turn in range(200)))
        seen = []
        for number, talking in enumerate(crowd):
            got = talking.replies(400)
            assert got[1::2] == [f"{number}-{turn}" for turn in range(200)]
            own = [answer[2] for answer in got[::2]]
            assert own == sorted(own, reverse=True)
            seen += own
            talking.socket.close()
    assert len(seen) == 3200
    assert 100000 - 3200 <= min(seen) <= max(seen) < 100000


def test_two_servers_count_together(url, key):
    rules = on(url, ONE)
    with Server(rules, listen=BOTH) as one, Server(rules, listen=BOTH) as other, \
            talk(one) as first, talk(other) as second:
        assert first.ask("CL.THROTTLE", key, 4, 1, 60) == FIRST
        assert second.ask("CL.THROTTLE", key, 4, 1, 60) == [0, 5, 3, -1, 120]
        assert pairs(first.ask("SLUICE.CHECK", "user", key))["remaining"] == 99
        assert pairs(second.ask("SLUICE.CHECK", "user", key))["remaining"] == 98
        assert other.check({"user": key}).json["remaining"] == 97
        assert second.ask("SLUICE.RESET", "user", key) == ["api"]
        assert pairs(first.ask("SLUICE.CHECK", "user", key))["remaining"] == 99


def test_it_ends_although_a_client_has_always_begun_the_next_command(url, key):
    """One command after the server began to end is answered, and no other."""
    more = PATIENT + "timeouts: { drain: 60s }\n"  # nothing is waited for
    whole = command("CL.THROTTLE", key, 99999, 1, 1)
    with Server(on(url, ONE, more), listen=BOTH) as server, talk(server) as talking:
        talking.send(whole[:3])
        for turn in range(200):
            try:
                talking.send(whole[3:] + whole[:3])
                assert talking.reply()[0] == 0
            except (AssertionError, OSError):
                break
            if turn == 2:
                server.process.terminate()
        assert server.wait() == 0
        assert turn < 199


@pytest.mark.parametrize("policy", ["allow", "deny", "local"])
def test_a_store_that_does_not_answer_is_no_limit(key, policy):
    more = f"store_deadline: 500ms\non_store_failure: {policy}\n"
    with World() as world:
        with Server(on(world.url, ONE, more), listen=BOTH) as server, talk(server) as talking:
            assert pairs(talking.ask("SLUICE.CHECK", "user", key))["reason"] == "ok"
            world.redis.stop()
            decision = pairs(talking.ask("SLUICE.CHECK", "user", key))
            throttled = talking.ask("CL.THROTTLE", key, 4, 1, 60)
            assert talking.ask("PING") == "PONG"
            world.redis.cont()
        assert decision["reason"] == "store_unavailable"
        assert decision["allowed"] == (0 if policy == "deny" else 1)
        if policy == "deny":
            assert throttled.startswith("Cell error: the store of the counts does not answer")
        else:
            assert throttled[0] == 0 and throttled[1] == 5


def test_tls_is_spoken_where_it_is_asked_for(tmp_path, key):
    made = certificates.self_signed(tmp_path)
    listen = {"http": "127.0.0.1:0", "resp": {"address": "127.0.0.1:0", "tls": True}}
    with Server(f"tls: {made.listed}\nrules:\n{ONE}", listen=listen, folder=tmp_path) as server:
        assert server.addresses[1].startswith("rediss://")
        plain = socket.create_connection(("127.0.0.1", resp_port(server)), TIMEOUT_S)
        context = ssl.create_default_context(cafile=made.certificate)
        with Talking(context.wrap_socket(plain, server_hostname="localhost")) as talking:
            assert talking.ask("CL.THROTTLE", key, 4, 1, 60) == FIRST
            talking.send(command("PING") * 500)
            assert talking.replies(500) == ["PONG"] * 500
        with talk(server) as talking:
            talking.send(b"PING\r\n")
            try:
                heard = talking.socket.recv(100)
            except ConnectionResetError:
                heard = b""
            assert b"PONG" not in heard  # an alert, or nothing
