"""The same bytes to Sluice and to a real Redis: what both know of is answered alike, word by word,
errors and broken framing too."""

import socket

import pytest

from redis_running import Redis
from resp_talking import BOTH, Talking, command, talk
from serving import TIMEOUT_S, Server

LAST = command("ECHO", "the end")
HEARD = b"$7\r\nthe end\r\n"
COMMANDS = [
    "foo", "foo a b", "FOO " + "a" * 200 + " b", "ping", "ping a", "ping a b", "PiNg", "echo",
    "echo a b", "select 0", "select 1x", "select 99", "hello 1", "hello 4", "hello x",
    "hello 2 foo", "hello 2 auth a", "hello 2 setname", "client", "client foo", "client setname",
    "client setname a", "client getname", "client id x", "client no-evict maybe",
    "client no-evict on", "client reply on", "config", "config get", "config foo",
    "config get save", "config get appendonly", "command count x", "command foo",
    "command info nope", "quit", "QUIT a", "reset", "reset a", "auth a", "auth a b c", "auth",
    "auth default a", "hello 2 auth default",
    "time a",
]
BYTES = [
    b"*1\r\n:1\r\n", b"*x\r\n", b"*1\r\n$x\r\n", b"*1\r\n$-1\r\n", b"*-1\r\nPING\r\n",
    b"*0\r\nPING\r\n", b"\r\nPING\r\n", b"*1\r\n\r\n", b"*01\r\n$4\r\nPING\r\n",
    b"*1\r\n$04\r\nPING\r\n", b"*1\r\n$600000000\r\n", b"*1\r\n$0\r\n\r\n", b'""\r\n',
    b'ECHO "a\r\n', b"ECHO 'a'b\r\n", b'ECHO "\\x41\\n\\q"\r\n', b"ECHO 'it\\'s'\r\n",
    b'ECHO a"b c"\r\n', b"PING\n", b"  PING \t \r\n", b"POST / HTTP/1.1\r\n",
    b"Host: a\r\n", b"PING\r\nfoo\r\nPING\r\n*1\r\n+OK\r\n",
]


@pytest.fixture(name="both", scope="module")
def side_by_side():
    rules = "rules:\n  - { name: api, per: user, limit: 5/1s }\n"
    with Server(rules, listen=BOTH) as server, Redis() as redis:
        yield server, redis


def hear(talking, said):
    """All that is answered, up to the last answer or the end of the connection."""
    heard = b""
    with talking:
        talking.socket.sendall(said + LAST)
        while not heard.endswith(HEARD):
            try:
                more = talking.socket.recv(65536)
            except ConnectionResetError:
                more = b""
            if not more:
                return heard + b"(closed)"
            heard += more
    return heard


@pytest.mark.parametrize("said", [command(*line.split()) for line in COMMANDS] + BYTES,
                         ids=lambda said: repr(said[:40]))
def test_both_answer_alike(both, said):
    server, redis = both
    theirs = Talking(socket.create_connection(("127.0.0.1", redis.port), TIMEOUT_S))
    assert hear(talk(server), said) == hear(theirs, said)
