"""Several servers on one Redis, each with a database of its own.

    with Redis() as redis, Fleet(redis.url()) as fleet:
        fleet[0].put("/v1/rules/api", RULE)
        fleet.agree(lambda admin: admin.rules())      # all say the same, soon
        fleet.kill(1); fleet.start(1)                 # with the same database
"""

import contextlib
import os
import tempfile
import time
from pathlib import Path

from admin_api import Caller
from serving import Server

SOON_S = 60  # "within a second", on a machine that does much else
RULES = """
workers: 1
{more}store: {url}
store_deadline: 2s
tiers: {{ pro: {{ scale: 10 }} }}
rules:
  - {{ name: api, resource: /api, per: user, algorithm: fixed_window, limit: 100/365d }}
  - {{ name: file, resource: /file, per: user, algorithm: fixed_window, limit: 10/365d }}
"""


class Fleet:
    """Callers of its servers, by number; `urls` may be as many as there are servers."""

    def __init__(self, *urls, count=4, more=""):
        self.urls = urls * count if len(urls) == 1 else urls
        self.more = more
        self.home = tempfile.TemporaryDirectory(prefix="sluice-fleet-")
        self.servers = [None] * len(self.urls)
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            stack.callback(self.home.cleanup)
            for number in range(len(self.urls)):
                self.start(number)
            stack.callback(self._stop_all)
            self.stack = stack.pop_all()
        return self

    def __exit__(self, kind, *_):
        if kind:
            for number, server in enumerate(self.servers):
                print(f"-- {number}:\n{server.stderr if server else ''}")
        self.stack.close()

    def _stop_all(self):
        for server in self.servers:
            if server:
                os.kill(server.pid, 18)  # SIGCONT: a stopped one could not end
                server.__exit__(None)

    def folder(self, number):
        path = Path(self.home.name) / str(number)
        path.mkdir(exist_ok=True)
        return path

    def start(self, number, more=None):
        rules = RULES.format(url=self.urls[number], more=self.more if more is None else more)
        self.servers[number] = Server(rules, folder=self.folder(number))
        return self[number]

    def stop(self, number):
        server, self.servers[number] = self.servers[number], None
        server.__exit__(None)

    def kill(self, number):
        server, self.servers[number] = self.servers[number], None
        server.kill()
        server.__exit__(None)

    def __getitem__(self, number):
        return Caller(self.servers[number])

    def __iter__(self):
        return (Caller(server) for server in self.servers if server)

    def agree(self, look, soon_s=SOON_S):
        """What all of them say, as soon as it is the same."""
        end = time.monotonic() + soon_s
        while True:
            said = [look(admin) for admin in self]
            if all(one == said[0] for one in said):
                return said[0]
            assert time.monotonic() < end, said
            time.sleep(0.02)

    def say(self, look, what, soon_s=SOON_S):
        """All of them say this, soon; how long it took until the last one did."""
        start = time.monotonic()
        for admin in self:
            while (said := look(admin)) != what:
                assert time.monotonic() - start < soon_s, (admin.server.port, said, what)
                time.sleep(0.005)
        return time.monotonic() - start


def begin_registry(redis):
    """An empty one, so that the first change need not wait for bids."""
    redis.flush()
    with redis.client() as db:
        db.hset("rl:{~registry}:state", "epoch", "00000000000000e1")


def limit(number):
    return {"resource": "/api", "per": "user", "algorithm": "fixed_window", "window": "365d",
            "capacity": number}


def capacity(admin, name="api"):
    """Of that rule, as the API tells it; None: there is no such rule of the API."""
    answer = admin.get(f"/v1/rules/{name}", (200, 404))
    return answer.json["rule"].get("capacity") if answer.status == 200 else None


def everything(admin):
    """All that is replicated, with its tags."""
    rules, tiers = admin.get("/v1/rules").json, admin.get("/v1/tiers").json
    tenants = admin.get("/v1/tenants").json["tenants"]
    return (rules, tiers, admin.get("/v1/exemptions").json, tenants,
            [tenant_of(admin, tenant["name"]) for tenant in tenants])


def tenant_of(admin, name):
    """None: it was deleted after it was listed."""
    answer = admin.get(f"/v1/tenants/{name}", (200, 404))
    return answer.json if answer.status == 200 else None
