"""One server and every way to ask it: HTTP, gRPC, the Redis protocol, and `sluice check` on the
same store. All answers in one form.

    with Ways(RULES, folder=tmp_path) as server:
        assert server.by("resp", user="u1").remaining == server.by("http", user="u1").remaining + 1
"""

import contextlib
import re
import time
from collections import namedtuple

import redis as redis_client

import grpc_messages
from admin_api import Caller
from program import run
from serving import TIMEOUT_S, Server

LISTEN = {name: "127.0.0.1:0" for name in ("http", "grpc", "resp")}
WAYS = ("http", "grpc", "resp", "check")
ATTRIBUTES = ("tenant", "resource", "user", "ip", "client", "method", "tier")  # as options

TOKEN = "of-the-admin-0123456789abcdef"

# `reset_at_us`: (not before, not after), which over gRPC is known as far as the call took time.
Said = namedtuple("Said", "allowed rule limit remaining retry_after reset_at_us")


class Ways(Server):
    """A server with three listeners."""

    def __init__(self, rules, **more):
        super().__init__(rules, listen=LISTEN, **more)
        self.ports = {scheme: int(port) for scheme, port in
                      (re.fullmatch(r"(\w+)://.*:(\d+)", address).groups()
                       for address in self.addresses)}
        self.redis = redis_client.Redis("127.0.0.1", self.ports["redis"], decode_responses=True,
                                        socket_timeout=TIMEOUT_S)
        self.channel = grpc_messages.channel_to(self.ports["grpc"])

    def __exit__(self, *how):
        self.redis.close()
        self.channel.close()
        super().__exit__(*how)

    def by(self, way, **attributes):
        """One request for these, `cost` and `peek` among them."""
        return getattr(self, f"_by_{way}")({"tenant": "shop", "resource": "/api/videos",
                                            **attributes})

    def _by_http(self, attributes):
        return of_decision(self.check(attributes).json)

    def _by_resp(self, attributes):
        words = [word for name, value in attributes.items()
                 for word in (name, str(value).lower() if value is True else value)]
        reply = self.redis.execute_command("SLUICE.CHECK", *words)
        return of_decision(dict(zip(reply[::2], reply[1::2])))

    def _by_check(self, attributes):
        options = []
        for name, value in attributes.items():
            if name == "peek":
                options += ["--peek"] if value else []
            elif name in (*ATTRIBUTES, "cost"):
                options += [f"--{name}", str(value)]
            else:
                options += ["--attr", f"{name}={value}"]
        done = run("check", "-c", self.rules_file, "--json", *options)
        assert done.code in (0, 1), done.err
        return of_decision(done.lines[0])

    def _by_grpc(self, attributes):
        """A descriptor that has them as its entries; its own hits_addend, where 0 is a peek."""
        left = dict(attributes)
        tenant, cost, peek = (left.pop(name, None) for name in ("tenant", "cost", "peek"))
        request = grpc_messages.request(tenant, list(left.items()))
        if peek or cost is not None:
            request.descriptors[0].hits_addend.value = 0 if peek else cost
        before_us = time.time_ns() // 1000
        response = grpc_messages.should_rate_limit(self.channel)(request, timeout=TIMEOUT_S)
        return of_response(response, (before_us, time.time_ns() // 1000))


def of_decision(decision):
    """Of JSON, or of the words of RESP2, which has no booleans."""
    return Said(bool(decision["allowed"]), decision["rule"], decision["limit"],
                decision["remaining"], decision["retry_after"], (decision["reset_at_us"],) * 2)


def of_response(response, asked_us):
    [status] = response.statuses
    fields = grpc_messages.fields_of(response)
    allowed = status.code != grpc_messages.OVER_LIMIT
    assert allowed == (response.overall_code != grpc_messages.OVER_LIMIT)
    assert allowed == ("retry-after" not in fields)
    left_us = status.duration_until_reset.ToMicroseconds()
    return Said(allowed, status.current_limit.name, status.current_limit.requests_per_unit,
                status.limit_remaining, int(fields.get("retry-after", 0)),
                tuple(moment + left_us for moment in asked_us))


@contextlib.contextmanager
def guarded(rules, folder, tenant, kind=Ways):
    """A server that answers no caller without a key, and a key of that tenant. There is an admin's
    token too: without one a caller from here is the admin."""
    (folder / "token").write_text(TOKEN, encoding="ascii")
    settings = "admin: { token_file: token }\nidentity: { api_keys: required }\n"
    with kind(settings + rules, folder=folder) as server:
        admin = Caller(server, authorization=f"Bearer {TOKEN}")
        admin.put(f"/v1/tenants/{tenant}", {}, 201)
        yield server, admin.post(f"/v1/tenants/{tenant}/keys", {"label": "tests"}).json["key"]
