"""What the newest client libraries send when they connect, byte by byte, and what they must hear
to go on. The libraries themselves are not needed."""

import pytest

from resp_talking import BOTH, USUAL, Problem, command, talk
from serving import Server

RULES = "rules:\n  - { name: api, per: user, limit: 5/1s }\n"
THROTTLE = ("CL.THROTTLE", "k", 4, 1, 1)


@pytest.fixture(name="server")
def running():
    with Server(RULES, listen=BOTH) as server:
        yield server


def is_hello(reply):
    """Of RESP3, as libraries read it."""
    assert isinstance(reply, dict)
    assert list(reply) == ["server", "version", "proto", "id", "mode", "role", "modules"]
    return reply["proto"] == 3 and reply["modules"] == [] and isinstance(reply["id"], int)


def is_refused(reply):
    return isinstance(reply, Problem) and reply.startswith("ERR ")


def test_redis_py_8_says_hello_first_and_does_not_go_on_without(server):
    with talk(server) as talking:
        assert is_hello(talking.ask("HELLO", "3"))
        talking.send(command("CLIENT", "SETINFO", "LIB-NAME", "redis-py")
                     + command("CLIENT", "SETINFO", "LIB-VER", "8.0.1"))
        assert talking.replies(2) == ["OK", "OK"]
        assert talking.ask(*THROTTLE) == USUAL


def test_redis_py_7_names_its_library_alone(server):
    with talk(server) as talking:
        assert talking.ask("CLIENT", "SETINFO", "LIB-NAME", "redis-py") == "OK"
        assert talking.ask("CLIENT", "SETINFO", "LIB-VER", "7.1.0") == "OK"
        assert talking.ask(*THROTTLE) == USUAL


def test_node_redis_6_says_all_in_one_write(server):
    with talk(server) as talking:
        talking.send(command("HELLO", "3")
                     + command("CLIENT", "SETINFO", "LIB-NAME", "node-redis")
                     + command("CLIENT", "SETINFO", "LIB-VER", "6.3.1")
                     + command("CLIENT", "MAINT_NOTIFICATIONS", "ON", "moving-endpoint-type",
                               "external-ip"))
        hello, name, version, moving = talking.replies(4)
        assert is_hello(hello)
        assert (name, version) == ("OK", "OK")
        assert is_refused(moving)  # which it tolerates
        assert talking.ask(*THROTTLE) == USUAL


def test_ioredis_6_asks_whether_it_is_ready(server):
    with talk(server) as talking:
        talking.send(command("hello", "3") + command("client", "SETINFO", "LIB-NAME", "ioredis")
                     + command("client", "SETINFO", "LIB-VER", "6.0.0"))
        hello, *named = talking.replies(3)
        assert is_hello(hello)
        assert named == ["OK", "OK"]
        ready = talking.ask("info")
        assert "\r\nloading:0\r\n" in ready
        assert ready.startswith("# Server\r\nredis_version:")
        assert talking.ask(*THROTTLE) == USUAL


def test_go_redis_9_pipelines_its_options(server):
    with talk(server) as talking:
        assert is_hello(talking.ask("hello", 3))
        talking.send(command("client", "setname", "worker-1") + command("select", 0))
        assert talking.replies(2) == ["OK", "OK"]
        talking.send(command("client", "setinfo", "LIB-NAME", "go-redis(,go1.24.1)")
                     + command("client", "setinfo", "LIB-VER", "9.15.0")
                     + command("client", "maint_notifications", "on", "moving-endpoint-type",
                               "none"))
        first, second, third = talking.replies(3)
        assert (first, second) == ("OK", "OK")
        assert is_refused(third)
        assert talking.ask(*THROTTLE) == USUAL


def test_redis_cli_looks_for_commands_and_their_documents(server):
    with talk(server) as talking:
        documents = talking.ask("COMMAND", "DOCS")
        assert "cl.throttle" in documents[::2]
        entries = talking.ask("COMMAND")
        assert sorted(entry[0] for entry in entries) == sorted(documents[::2])
        assert all(len(entry) == 10 for entry in entries)
        assert talking.ask("COMMAND", "COUNT") == len(entries)


def test_redis_benchmark_asks_for_settings_first(server):
    with talk(server) as talking:
        talking.send(command("CONFIG", "GET", "save") + command("CONFIG", "GET", "appendonly"))
        assert talking.replies(2) == [["save", ""], ["appendonly", "no"]]


def test_a_client_that_wants_to_be_told_of_changes_goes_on_without(server):
    with talk(server) as talking:
        for words in (("CLIENT", "TRACKING", "ON"), ("SUBSCRIBE", "a"), ("CLUSTER", "SLOTS"),
                      ("SENTINEL", "masters"), ("MULTI",), ("EVALSHA", "0" * 40, "0"),
                      ("SCRIPT", "LOAD", "return 1"), ("WAIT", "0", "0"), ("MONITOR",)):
            assert is_refused(talking.ask(*words)), words
        assert talking.ask("PING") == "PONG"
