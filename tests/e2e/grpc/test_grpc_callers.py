"""Callers over gRPC, and what one connection's slowness is to others."""

import grpc
import pytest

from grpc_messages import SERVING, channel_to, health, health_watch, should_rate_limit, units
from h2_talking import LIMIT, Talk, framed
from serving import TIMEOUT_S, Server
from test_grpc import LISTEN, Of, made_of, port_of, told
from tokens import key_of, setting

RULES = "rules:\n  - { name: org, per: org, algorithm: fixed_window, limit: 5/365d }\n"
HOUR = units.HOUR


@pytest.fixture(name="ask")
def asking_with_a_token(tmp_path):
    key = key_of("HS256")
    rules = ("identity:\n  jwt: "
             + setting(tmp_path, {None: key}, more=", claims: { user: sub, org: org }")
             + "\n" + RULES)
    token = "Bearer " + key.token({"sub": "u1", "org": "acme"})
    with Server(rules, listen=LISTEN, folder=tmp_path) as server, \
            channel_to(port_of(server)) as channel:
        call = should_rate_limit(channel)
        yield lambda *descriptors: call(made_of("d", *descriptors), timeout=TIMEOUT_S,
                                        metadata=[("authorization", token)])


@pytest.mark.parametrize("limit", [None, (3, HOUR)], ids=["a rule's limit", "a limit of its own"])
def test_entries_do_not_contradict_a_token(ask, limit):
    assert told(ask(Of(("org", "acme"), limit=limit))).startswith("O")
    for pairs in ((("org", "other"),), (("x", "y"), ("org", "other")), (("user", "u2"),)):
        with pytest.raises(grpc.RpcError) as refused:
            ask(Of(*pairs, limit=limit))
        assert refused.value.code() == grpc.StatusCode.PERMISSION_DENIED


def test_a_late_message_is_no_end_of_the_server():
    """Its connection ends, and a watch of the server's health over it hears nothing wrong."""
    rules = "timeouts: { body: 2s, head: 2s }\n" + RULES
    with Server(rules, listen=LISTEN) as server:
        with Talk(port_of(server)) as talk:
            watched = talk.ask("/grpc.health.v1.Health/Watch", b"")
            late = talk.begin(LIMIT)
            talk.say(late, framed(b"x" * 50)[:20])
            while talk.read():
                pass
            serving = framed(health.HealthCheckResponse(status=SERVING).SerializeToString())
            assert talk.heard[watched].body == serving
        with channel_to(port_of(server)) as channel:
            assert next(iter(health_watch(channel)(health.HealthCheckRequest(),
                                                   timeout=TIMEOUT_S))).status == SERVING
