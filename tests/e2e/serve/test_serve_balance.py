"""Connections are distributed over the workers, however the kernel would have it."""

import re
import socket

import pytest

from serving import Raw, Server

RULES = "workers: 4\nrules: [{ name: all, per: global, limit: 1000000/s }]\n"
PING = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


def connect(server):
    if "unix:" not in server.addresses[0]:
        return server.raw()
    raw = socket.socket(socket.AF_UNIX)
    raw.connect(server.addresses[0].removeprefix("unix:"))
    return Raw(raw)


def by_worker(raw):
    raw.send(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    page = raw.response().body.decode()
    return [int(n) for n in re.findall(r'^sluice_worker_connections\{worker="\d"\} (\d+)$', page,
                                       re.M)]


@pytest.mark.parametrize("listen", [{"http": "127.0.0.1:0"}, {"http": "unix:socket"}],
                         ids=["tcp", "unix"])
def test_every_worker_has_as_many_connections_as_the_others(listen):
    with Server(RULES, listen=listen) as server:
        raws = []
        try:
            for _ in range(41):
                raws.append(connect(server))
                raws[-1].send(PING)
                assert raws[-1].response().status == 200
            counts = by_worker(raws[0])
            assert len(counts) == 4 and sum(counts) == 41
            assert max(counts) - min(counts) <= 1, counts
            for raw in raws:  # those that were handed over are served like the others
                raw.send(PING * 3)
                assert [raw.response().status for _ in range(3)] == [200] * 3
        finally:
            for raw in raws:
                raw.socket.close()
