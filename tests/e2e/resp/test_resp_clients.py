"""The Redis protocol with clients that others wrote: redis-cli, redis-benchmark, redis-py, and
node-redis and ioredis where npm can install them. What they greet the server with, and what they
make of its replies, is theirs; a client of our own would agree with our own mistakes.
"""

import functools
import itertools
import json
import re
import shutil
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import redis as redis_client

from certificates import self_signed
from node_packages import node_folder, node_json
from serving import TIMEOUT_S, Server
from fronts import guarded

HERE = Path(__file__).parent
LISTEN = {"http": "127.0.0.1:0", "resp": "127.0.0.1:0"}
RULES = """
rules:
  - { name: api, resource: /api/*, per: user, algorithm: fixed_window, limit: 5/365d }
  - { name: open, resource: /open, per: user, algorithm: token_bucket, capacity: 100000000,
      refill_rate: 1000 }
"""
CHECK = ("SLUICE.CHECK", "resource", "/api/videos", "user")
names = (f"user-{number}" for number in itertools.count())


Resp = functools.partial(Server, listen=LISTEN)


def port_of(server):
    return int(next(address for address in server.addresses
                    if address.startswith("redis://")).rpartition(":")[2])


@pytest.fixture(name="server", scope="module")
def running():
    with Resp(RULES) as server:
        yield server


@pytest.fixture(name="port")
def of_resp(server):
    return port_of(server)


@pytest.fixture(name="user")
def unique_user():
    return next(names)


def tool(name, port, *words, stdin="", code=0):
    """What it printed. It says nothing on standard error."""
    done = subprocess.run([name, "-p", str(port), *map(str, words)], input=stdin, text=True,
                          capture_output=True, timeout=TIMEOUT_S, check=False)
    assert (done.returncode, done.stderr) == (code, ""), done
    return done.stdout


def cli(port, *words, **more):
    return tool("redis-cli", port, *words, **more)


def pairs(lines):
    return dict(zip(lines[::2], lines[1::2]))


# ---- redis-cli ----


def test_redis_cli_asks_with_one_command(port, user):
    said = [pairs(cli(port, *CHECK, user).splitlines()) for _ in range(6)]
    assert [each["allowed"] for each in said] == ["1"] * 5 + ["0"]
    assert [each["remaining"] for each in said] == list("432100")
    assert {(each["rule"], each["limit"]) for each in said} == {("api", "5")}
    assert said[-1]["reason"] == "rate_limit_exceeded" and int(said[-1]["retry_after"]) > 0


def test_redis_cli_reads_commands_from_its_input(port, user):
    check = " ".join((*CHECK, user))
    said = cli(port, stdin=f"PING\n{check}\necho 'two words'\n{check}\n").splitlines()
    assert said[0] == "PONG"
    assert "two words" in said
    left = [said[at + 1] for at, line in enumerate(said) if line == "remaining"]
    assert left == ["4", "3"]


def test_redis_cli_speaks_the_newer_protocol(port, user):
    """As JSON too: then it is what HTTP says, under the same names."""
    said = cli(port, "-3", "--no-raw", *CHECK, user)
    assert re.search(r'"allowed" => \(true\)', said)
    assert re.search(r'"remaining" => \(integer\) 4', said)
    decision = json.loads(cli(port, "-3", "--json", *CHECK, user))
    assert decision["allowed"] is True and decision["remaining"] == 3


def test_json_of_redis_cli_is_the_decision_over_http(server, port, user):
    request = {"resource": "/api/videos", "user": user, "peek": True}
    server.check({**request, "peek": False})  # of a fresh one the reset is now
    over_http = server.check(request).json
    over_resp = json.loads(cli(port, "-3", "--json", *CHECK, user, "peek", "true"))
    assert list(over_resp) == list(over_http)
    assert over_resp == over_http


def test_redis_cli_sends_many_at_once(port, user):
    """--pipe sends raw bytes and an ECHO behind them, and counts what comes back."""
    words = ["CL.THROTTLE", user, "15", "1", "86400"]
    one = f"*{len(words)}\r\n" + "".join(f"${len(word)}\r\n{word}\r\n" for word in words)
    said = cli(port, "--pipe", stdin=one * 1000)
    assert "errors: 0, replies: 1000" in said
    assert cli(port, *words).splitlines()[:3] == ["1", "16", "0"]


def test_redis_cli_is_told_of_errors_and_goes_on(port, user):
    said = cli(port, stdin="GET key\nSLUICE.CHECK resource\nPING\n").splitlines()
    assert said[0].startswith("ERR unknown command 'GET', with args beginning with: 'key'")
    assert "ERR" in "".join(said[1:-1])
    assert said[-1] == "PONG"
    done = subprocess.run(["redis-cli", "-p", str(port), "-e", "CL.THROTTLE", user], text=True,
                          capture_output=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 1 and done.stderr.startswith("Cell error: ")


def test_redis_cli_looks_around(port):
    """What people type first."""
    assert "redis_version:" in cli(port, "info")
    assert int(cli(port, "command", "count")) > 10
    assert "sluice.check" in cli(port, "command", "list").lower().splitlines()
    seconds, micros = map(int, cli(port, "time").split())
    assert seconds > 1_700_000_000 and 0 <= micros < 1_000_000
    assert cli(port, "-n", "0", "ping").strip() == "PONG"


def test_a_line_typed_by_hand_is_answered(port, user):
    """As by nc or telnet."""
    with socket.create_connection(("127.0.0.1", port), TIMEOUT_S) as conn:
        conn.sendall(f"ping\nCL.THROTTLE {user} 0 1 86400\r\nquit\r\n".encode())
        said = b""
        while more := conn.recv(4096):
            said += more
    assert said == b"+PONG\r\n*5\r\n:0\r\n:1\r\n:0\r\n:-1\r\n:86400\r\n+OK\r\n"


@pytest.fixture(name="guarded", scope="module")
def server_with_a_key(tmp_path_factory):
    """And the key of a tenant."""
    with guarded(RULES, tmp_path_factory.mktemp("guarded"), "acme", Resp) as served:
        yield served


def test_redis_cli_names_its_user(guarded, user):
    server, key = guarded
    port = port_of(server)
    for who in (("-a", key), ("--user", "acme", "--pass", key), ("-3", "-a", key)):
        said = cli(port, "--no-auth-warning", *who, "CL.THROTTLE", user, 4, 1, 86400)
        assert said.split()[:2] == ["0", "5"]
    assert cli(port, "CL.THROTTLE", user, 4, 1, 86400).startswith("NOAUTH ")


def test_a_wrong_password_is_refused(guarded, user):
    server, _ = guarded
    done = subprocess.run(["redis-cli", "-p", str(port_of(server)), "--no-auth-warning", "-a",
                           "wrong", "CL.THROTTLE", user, "4", "1", "86400"], text=True,
                          capture_output=True, timeout=TIMEOUT_S, check=False)
    assert "WRONGPASS" in done.stderr
    assert done.stdout.startswith("NOAUTH ")


# ---- redis-py ----


@pytest.fixture(name="client")
def of_redis_py(port):
    with redis_client.Redis("127.0.0.1", port, decode_responses=True,
                            socket_timeout=TIMEOUT_S) as client:
        yield client


def decision_of(reply):
    return dict(zip(reply[::2], reply[1::2]))


def test_redis_py_gets_numbers_and_text(client, user):
    said = decision_of(client.execute_command(*CHECK, user))
    assert (said["allowed"], said["rule"], said["limit"], said["remaining"]) == (1, "api", 5, 4)
    assert client.execute_command("CL.THROTTLE", user, 15, 30, 60) == [0, 16, 15, -1, 2]


def test_redis_py_without_decoding_gets_bytes(port, user):
    with redis_client.Redis("127.0.0.1", port, socket_timeout=TIMEOUT_S) as client:
        assert decision_of(client.execute_command(*CHECK, user))[b"rule"] == b"api"


def test_redis_py_greets_names_and_asks_around(port):
    with redis_client.Redis("127.0.0.1", port, db=0, client_name="tests", decode_responses=True,
                            health_check_interval=1, socket_timeout=TIMEOUT_S) as client:
        assert client.ping() is True
        assert client.client_getname() == client.client_info()["name"] == "tests"
        assert [each["name"] for each in client.client_list()] == ["tests"]
        assert client.echo("what") == "what"
        assert client.info()["loading"] == 0
        assert client.select(0) is True
        with pytest.raises(redis_client.ResponseError):
            client.select(1)
        assert client.ping() is True


def test_a_pipeline_of_redis_py_is_answered_in_order(client, user):
    pipeline = client.pipeline(transaction=False)
    for number in range(200):
        pipeline.execute_command("ECHO", f"word-{number}")
        pipeline.execute_command("CL.THROTTLE", user, 99, 1, 3600)
    replies = pipeline.execute()
    assert replies[::2] == [f"word-{number}" for number in range(200)]
    assert [reply[:3] for reply in replies[1::2]] == (
        [[0, 100, left] for left in range(99, -1, -1)] + [[1, 100, 0]] * 100)


def test_errors_in_a_pipeline_stay_where_they_are(client, user):
    pipeline = client.pipeline(transaction=False)
    for words in (("PING",), ("GET", "key"), ("CL.THROTTLE", user), (*CHECK, user)):
        pipeline.execute_command(*words)
    first, unknown, wrong, last = pipeline.execute(raise_on_error=False)
    assert first is True
    assert isinstance(unknown, redis_client.ResponseError) and "unknown command" in str(unknown)
    assert isinstance(wrong, redis_client.ResponseError) and "Cell error" in str(wrong)
    assert decision_of(last)["remaining"] == 4


def test_there_are_no_transactions(client, user):
    """redis-py's default for a pipeline, which sends MULTI: told at once, and the client goes on."""
    pipeline = client.pipeline()
    pipeline.execute_command("CL.THROTTLE", user, 4, 1, 86400)
    with pytest.raises(redis_client.ResponseError, match="unknown command|MULTI"):
        pipeline.execute()
    assert client.ping() is True


def test_a_pool_of_redis_py_serves_many_threads(port, user):
    pool = redis_client.ConnectionPool(host="127.0.0.1", port=port, max_connections=16,
                                       socket_timeout=TIMEOUT_S)
    client = redis_client.Redis(connection_pool=pool)
    with ThreadPoolExecutor(16) as threads:
        replies = list(threads.map(
            lambda _: client.execute_command("CL.THROTTLE", user, 49, 1, 86400), range(400)))
    pool.disconnect()
    assert sum(reply[0] == 0 for reply in replies) == 50
    assert sorted(reply[2] for reply in replies if reply[0] == 0) == list(range(50))


# ---- over TLS ----


@pytest.fixture(name="over_tls", scope="module")
def server_with_a_certificate(tmp_path_factory):
    """(port, its certificate)"""
    folder = tmp_path_factory.mktemp("tls")
    pair = self_signed(folder)
    listen = {"http": "127.0.0.1:0", "resp": {"address": "127.0.0.1:0", "tls": True}}
    with Server(f"tls: {pair.listed}\n{RULES}", listen=listen, folder=folder) as server:
        [port] = [int(address.rpartition(":")[2]) for address in server.addresses
                  if address.startswith("rediss://")]
        yield port, pair.certificate


def test_redis_cli_asks_over_tls(over_tls, user):
    port, certificate = over_tls
    said = cli(port, "--tls", "--cacert", certificate, *CHECK, user)
    assert pairs(said.splitlines())["remaining"] == "4"


def test_redis_py_asks_over_tls_and_trusts_no_other_certificate(over_tls, user):
    port, certificate = over_tls
    with redis_client.Redis("127.0.0.1", port, ssl=True, ssl_ca_certs=str(certificate),
                            ssl_check_hostname=True, socket_timeout=TIMEOUT_S) as client:
        pipeline = client.pipeline(transaction=False)
        for _ in range(100):
            pipeline.execute_command("CL.THROTTLE", user, 9, 1, 3600)
        assert sum(reply[0] == 0 for reply in pipeline.execute()) == 10
    with redis_client.Redis("127.0.0.1", port, ssl=True, socket_timeout=TIMEOUT_S) as stranger:
        with pytest.raises(redis_client.ConnectionError, match="certificate verify failed"):
            stranger.ping()


# ---- redis-benchmark ----


@pytest.mark.parametrize("depth", [1, 16])
@pytest.mark.parametrize("words", [
    ("SLUICE.CHECK", "resource", "/open", "user", "bench-__rand_int__"),
    ("CL.THROTTLE", "bench-__rand_int__", "100000000", "1000", "1"), ("PING",)],
    ids=lambda words: words[0])
def test_redis_benchmark_is_content(port, words, depth):
    """It stops at the first error, and warns of what it does not understand at the start."""
    said = tool("redis-benchmark", port, "-n", 5000, "-c", 20, "-P", depth, "-r", 1000, "-q", *words)
    assert re.search(r"[\d.]+ requests per second", said)
    assert not re.search("error|warning|could not", said, re.I)


def test_redis_benchmark_asks_as_often_as_it_says(server, port):
    def decisions():
        return sum(map(int, re.findall(r"^sluice_decisions_total\S* (\d+)",
                                       server.ask("GET", "/metrics").body.decode(), re.M)))
    before = decisions()
    tool("redis-benchmark", port, "-n", 2000, "-c", 10, "-P", 4, "-q",
         "SLUICE.CHECK", "resource", "/open", "user", "counted")
    assert 2000 <= decisions() - before <= 2000 + 10 * 4


# ---- Node ----


@pytest.mark.parametrize("package", ["redis", "ioredis"])
def test_a_client_of_node_is_content(port, package):
    """It connects, asks one by one and many at once, gets an error, and says goodbye."""
    node_folder()
    said = node_json(HERE / "resp_client.mjs", package, port, next(names))
    assert said["ping"] == "PONG"
    assert said["check"] == {"allowed": True, "rule": "api", "limit": 5, "remaining": 4}
    assert said["throttle"] == [0, 16, 15, -1, 2]
    assert [reply[:3] for reply in said["together"]] == (
        [[0, 10, left] for left in range(9, -1, -1)] + [[1, 10, 0]] * 90)
    assert "unknown command" in said["error"]
    assert said["after"] == "PONG"


@pytest.mark.parametrize("package", ["redis", "ioredis"])
def test_a_client_of_node_names_its_user(guarded, package):
    node_folder()
    server, key = guarded
    said = node_json(HERE / "resp_client.mjs", package, port_of(server), next(names), key)
    assert said["throttle"][:2] == [0, 16]


def test_the_tools_are_there():
    """Or else the tests above would say less than they seem to."""
    assert shutil.which("redis-cli") and shutil.which("redis-benchmark")
