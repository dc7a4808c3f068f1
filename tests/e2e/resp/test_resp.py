"""The Redis protocol over real sockets: pipelines, pieces, lines, what is no command, time."""

import socket
import subprocess

import pytest

from resp_talking import BOTH, RESP, USUAL, Problem, Talking, command, pairs, talk
from serving import TIMEOUT_S, Server, connect_unix
from watching import wait_until

RULES = """
workers: 2
rules:
  - { name: api, resource: /api/*, per: user, algorithm: token_bucket, capacity: 5,
      refill_rate: 0.000001 }
"""
MEMBERS = ["allowed", "rule", "algorithm", "reason", "limit", "remaining", "reset_at_us",
           "retry_after_us", "delay_us", "reset_at", "retry_after"]


@pytest.fixture(name="server", scope="module")
def running():
    with Server(RULES, listen=BOTH) as server:
        yield server


@pytest.fixture(name="talking")
def connected(server):
    with talk(server) as talking:
        yield talking


@pytest.fixture(name="key")
def name_of_this_test(request):
    return request.node.name


# ---- deciding -------------------------------------------------------------------------------


def test_throttle_is_answered_as_redis_cell_does(talking, key):
    """Its own steps, as far as they need no waiting; the others have their times in a unit test."""
    asked = [6, 1, 1, 1, 1, 1, 1, 0]
    got = [talking.ask("CL.THROTTLE", key, 4, 1, 60, quantity) for quantity in asked]
    assert got == [[1, 5, 5, -1, 0], [0, 5, 4, -1, 60], [0, 5, 3, -1, 120], [0, 5, 2, -1, 180],
                   [0, 5, 1, -1, 240], [0, 5, 0, -1, 300], [1, 5, 0, 60, 300], [0, 5, 0, -1, 300]]


def test_a_check_says_what_http_says(server, talking, key):
    words = ["user", key, "resource", "/api/a"]
    request = {"user": key, "resource": "/api/a", "peek": True}
    assert pairs(talking.ask("SLUICE.CHECK", *words))["remaining"] == 4
    flat = talking.ask("SLUICE.PEEK", *words)
    assert flat[::2] == MEMBERS
    assert {**pairs(flat), "allowed": True} == server.check(request).json
    assert talking.ask("HELLO", 3)["proto"] == 3
    answer = talking.ask("SLUICE.PEEK", *words)
    assert list(answer) == MEMBERS
    assert answer == server.check(request).json
    explained = talking.ask("SLUICE.PEEK", *words, "explain", 1)
    assert explained == server.check({**request, "explain": True}).json
    nobody = talking.ask("SLUICE.CHECK", "resource", "/other")
    assert nobody == server.check({"resource": "/other"}).json


def test_a_reset_forgets(server, talking, key):
    words = ["user", key, "resource", "/api/a"]
    for _ in range(5):
        talking.ask("SLUICE.CHECK", *words)
    assert pairs(talking.ask("SLUICE.CHECK", *words))["allowed"] == 0
    assert talking.ask("SLUICE.RESET", *words) == ["api"]
    assert pairs(talking.ask("SLUICE.CHECK", *words))["allowed"] == 1
    assert server.check({"user": key, "resource": "/api/a", "peek": True}).json["remaining"] == 4
    assert talking.ask("SLUICE.RESET", "rule", "none", *words) == Problem(
        "ERR There is no rule `none`.")


# ---- bytes ----------------------------------------------------------------------------------


def test_a_pipeline_is_answered_in_order(talking, key):
    talking.send(b"".join(command("ECHO", number) + command("CL.THROTTLE", key, 999, 1, 60)
                          for number in range(500)))
    got = talking.replies(1000)
    assert got[::2] == [str(number) for number in range(500)]
    assert [answer[2] for answer in got[1::2]] == list(range(999, 499, -1))


def test_a_reset_within_a_pipeline_keeps_the_order(talking, key):
    words = ["user", key, "resource", "/api/a"]
    talking.send(command("SLUICE.CHECK", *words) + command("SLUICE.RESET", *words)
                 + command("SLUICE.CHECK", *words) + command("PING"))
    first, reset, second, pong = talking.replies(4)
    assert (pairs(first)["remaining"], reset, pairs(second)["remaining"], pong) == (
        4, ["api"], 4, "PONG")


def test_bytes_may_come_one_by_one(talking, key):
    talking.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sent = command("CL.THROTTLE", key, 4, 1, 1) + b"ECHO 'a b'\n" + command("ECHO", "x\r\ny")
    for byte in sent:
        talking.send(bytes([byte]))
    assert talking.replies(3) == [USUAL, "a b", "x\r\ny"]


def test_lines_are_what_people_type(talking, key):
    talking.send(f"cl.throttle {key} 4 1 1\r\nping\necho \"a\\x41\\n\"\r\n\r\n  \nPING hi\r\n"
                 .encode())
    assert talking.replies(4) == [USUAL, "PONG", "aA\n", "hi"]


def test_the_form_changes_within_a_pipeline(talking):
    talking.send(command("CLIENT", "GETNAME") + command("SLUICE.PEEK", "user", "u")
                 + command("HELLO", "3") + command("SLUICE.PEEK", "user", "u")
                 + command("HELLO", "2") + command("CLIENT", "GETNAME"))
    before, flat, hello, answer, again, after = talking.replies(6)
    assert before is None and after is None
    assert isinstance(flat, list) and isinstance(hello, dict) and isinstance(again, list)
    assert answer["allowed"] is True and pairs(flat)["allowed"] == 1


def test_a_large_argument_is_read(talking, key):
    talking.send(b"PING\r\n" + command("CL.THROTTLE", key + "k" * 50000, 4, 1, 1))
    assert talking.replies(2) == ["PONG", USUAL]
    large = "x" * ((1 << 20) - 64)
    assert talking.ask("ECHO", large) == large
    talking.send(command("ECHO", large) * 3)
    assert talking.replies(3) == [large] * 3


@pytest.mark.parametrize("said, heard", [
    (b"*1\r\n:1\r\n", "expected '$', got ':'"),
    (b"*x\r\n", "invalid multibulk length"),
    (b"*1\r\n$-1\r\n", "invalid bulk length"),
    (b"*1\r\n$536870912\r\n", "invalid bulk length"),
    (b"ECHO \"a\r\n", "unbalanced quotes in request"),
    (b"x" * 70000, "too big inline request"),
], ids=["type", "count", "negative", "long", "quotes", "line"])
def test_what_is_no_command_ends_it_behind_earlier_answers(talking, key, said, heard):
    talking.send(b"PING\r\n" + command("CL.THROTTLE", key, 4, 1, 1) + said)
    assert talking.replies(3) == ["PONG", USUAL, Problem(f"ERR Protocol error: {heard}")]
    assert talking.ended()


def test_a_browser_hears_nothing(talking):
    talking.send(b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nCL.THROTTLE a 1 1 1\r\n")
    assert talking.ended()


def test_errors_end_nothing(talking):
    assert talking.ask("GET", "a") == Problem(
        "ERR unknown command 'GET', with args beginning with: 'a' ")
    assert talking.ask("OBJECT", "HELP") == Problem(
        "ERR unknown command 'OBJECT', with args beginning with: 'HELP' ")
    assert talking.ask("CL.THROTTLE", "a", "x", 1, 1) == Problem(
        "Cell error: Couldn't parse as integer: x")
    assert talking.ask("PING") == "PONG"


def test_quit_answers_and_ends(talking):
    talking.send(b"PING\r\nQUIT\r\nPING\r\n")
    assert talking.replies(2) == ["PONG", "OK"]
    assert talking.ended()


def test_a_client_that_stops_sending_still_hears_the_answers(talking, key):
    talking.send(command("CL.THROTTLE", key, 4, 1, 1) * 2)
    talking.socket.shutdown(socket.SHUT_WR)
    assert talking.replies(2) == [USUAL, [0, 5, 3, -1, 2]]
    assert talking.ended()


# ---- connections ----------------------------------------------------------------------------


def test_it_may_be_the_only_listener_and_on_a_unix_socket(tmp_path):
    path = tmp_path / "resp.sock"
    with Server(RULES, listen={"http": "off", "resp": f"unix:{path}"},
                folder=tmp_path) as server:
        assert server.addresses == [f"unix:{path}"]
        with Talking(connect_unix(path).socket) as talking:
            assert talking.ask("CL.THROTTLE", "k", 4, 1, 1) == USUAL
            assert talking.ask("SLUICE.RESET", "user", "u", "resource", "/api/a") == ["api"]
            assert "addr=unix " in talking.ask("CLIENT", "INFO")


def test_rest_has_no_end(key):
    """A client that has asked outlives clients of HTTP."""
    times = "timeouts: { idle: 1s, head: 1s }\n"
    with Server(times + RULES, listen=BOTH) as server, talk(server) as rests, \
            server.raw() as idle, server.raw() as never:
        assert rests.ask("PING") == "PONG"
        idle.send(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert idle.response().status == 200
        assert idle.ended() and never.ended()  # their time is over
        assert rests.ask("CL.THROTTLE", key, 4, 1, 1) == USUAL


def test_a_command_that_does_not_end_is_ended():
    times = "timeouts: { head: 1s, body: 1s }\n"
    with Server(times + RULES, listen=BOTH) as server:
        for begun in (b"*2\r\n$4\r\nEC", b"PI", b"*1"):
            with talk(server) as talking:
                talking.send(b"PING\r\n" + begun)
                assert talking.reply() == "PONG"
                assert talking.reply() == Problem(
                    "ERR Protocol error: the command did not arrive in time")
                assert talking.ended()


def test_a_client_too_many_is_told_so():
    with Server("max_connections: 1\n" + RULES, listen=RESP) as server:
        with talk(server) as first:
            assert first.ask("PING") == "PONG"
            with talk(server) as second:
                assert second.reply() == Problem("ERR max number of clients reached")
                assert second.ended()


def test_the_kernel_asks_whether_clients_are_there(server, talking):
    assert talking.ask("PING") == "PONG"
    port = talking.socket.getsockname()[1]
    shown = subprocess.run(["ss", "-tnoH", f"dport = :{port}"], capture_output=True, check=True,
                           timeout=TIMEOUT_S).stdout.decode()
    assert "timer:(keepalive" in shown, shown


def test_it_ends_although_clients_rest():
    with Server(RULES, listen=BOTH) as server, talk(server) as first, talk(server) as second:
        assert first.ask("PING") == second.ask("PING") == "PONG"
        assert server.stop() == 0
        assert first.ended() and second.ended()


# ---- seeing it ------------------------------------------------------------------------------


def test_it_is_counted(key):
    with Server(RULES, listen=BOTH) as server, talk(server) as talking:
        for _ in range(3):
            talking.ask("CL.THROTTLE", key, 4, 1, 1)
        talking.ask("SLUICE.CHECK", "user", "u", "resource", "/api/a")
        talking.send(b"*x\r\n")
        assert talking.reply().startswith("ERR Protocol error")
        page = server.ask("GET", "/metrics").body.decode()
        assert "\nsluice_resp_commands_total 4\n" in page
        assert "\nsluice_resp_malformed_total 1\n" in page
        assert '\nsluice_decisions_total{reason="ok",outcome="allowed"} 4\n' in page


def test_info_tells_what_clients_look_for(server, talking):
    lines = talking.ask("INFO").split("\r\n")
    told = dict(line.split(":", 1) for line in lines if ":" in line)
    assert told["redis_version"] == "7.0.15" and told["loading"] == "0"
    assert told["role"] == "master" and told["sluice_version"] == "0.1.0"
    assert int(told["process_id"]) == server.pid
    assert int(told["connected_clients"]) >= 1


def test_changing_the_listener_takes_a_restart():
    with Server(RULES, listen=BOTH) as server, talk(server) as talking:
        server.listen = {**BOTH, "resp": "127.0.0.1:1"}
        server.write_rules(RULES)
        wait_until(lambda: "a change of `listen` needs a restart" in server.stderr, "a note")
        assert talking.ask("PING") == "PONG"


def test_a_key_may_be_any_bytes(talking):
    assert talking.ask("CL.THROTTLE", b"\xff\x00\r\n", 0, 1, 60)[0] == 0
    assert talking.ask("CL.THROTTLE", b"\xff\x00\r\n", 0, 1, 60)[0] == 1
    assert talking.ask("CL.THROTTLE", b"\xff\x00\r", 0, 1, 60)[0] == 0
