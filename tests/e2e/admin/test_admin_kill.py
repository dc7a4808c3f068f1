"""A server that is killed in the middle of changes keeps every one that it has acknowledged.

Clients make changes, one after the other each, and note what was answered; SIGKILL comes at a
random moment. The next server on the same files must show everything that was acknowledged,
and of what was under way all or nothing, in its lists and in its decisions alike.

SLUICE_KILLS says how often (25), SLUICE_SEED repeats the changes, though not the moments.
"""

import http.client
import os
import random
import sqlite3
import threading
import time

from serving import Server

KILLS = int(os.environ.get("SLUICE_KILLS", "25"))
SEED = int(os.environ.get("SLUICE_SEED") or time.time_ns())
CLIENTS, NAMES = 2, 3
STREAM_S = 0.15  # the longest that changes are made for
RULES = """
workers: 2
tiers: { pro: { scale: 10 } }
rules:
  - { name: file, resource: /file, per: user, algorithm: fixed_window, limit: 10/365d }
"""
CUT_OFF = (ConnectionError, http.client.HTTPException, TimeoutError)


def rule(resource, capacity):
    return {"resource": resource, "per": "user", "algorithm": "fixed_window", "window": "365d",
            "capacity": capacity}


class Client:
    """Changes things of its own names. `state` is what was acknowledged: None for what is not
    there; `flight` the change that was not, as (what, its new value)."""

    def __init__(self, number, chance):
        self.number, self.chance = number, chance
        self.state, self.flight, self.count = {}, None, 0
        self.refused = None

    def stream(self, server):
        connection = server.connection()
        try:
            while not self.refused:
                what, value, *call = self.next_change()
                self.flight = what, value
                answer = server.ask(*call, connection=connection)
                if answer.status not in (200, 201):
                    self.refused = call, answer.status, answer.body
                self.state[what], self.flight = value, None
                self.count += 1
        except CUT_OFF:
            pass  # it is dead; whether the last one was made is not known
        finally:
            connection.close()

    def next_change(self):
        kind = self.chance.choice(["rule", "tier", "exemption", "user", "tenant", "outcomes"])
        name = f"{kind}{self.number}{self.chance.randrange(NAMES)}"
        return getattr(self, kind)((kind, name), name, self.chance.randrange(1, 1_000_000))

    def rule(self, what, name, number):
        if self.state.get(what) and number % 3 == 0:
            return what, None, "DELETE", f"/v1/rules/{name}"
        return what, number, "PUT", f"/v1/rules/{name}", rule(f"/{name}", number)

    def tier(self, what, name, number):
        if self.state.get(what) and number % 3 == 0:
            return what, None, "DELETE", f"/v1/tiers/{name}"
        return what, number % 999 + 1, "PUT", f"/v1/tiers/{name}", {"scale": number % 999 + 1}

    def exemption(self, what, name, number):
        body = {"kind": "user", "value": name}
        if self.state.get(what) and number % 3 == 0:
            return what, None, "DELETE", "/v1/exemptions", body
        return what, str(number), "POST", "/v1/exemptions", {**body, "reason": str(number)}

    def user(self, what, name, number):
        if self.state.get(what) and number % 3 == 0:
            return what, None, "DELETE", f"/v1/users/{name}"
        limits = {"file": {"capacity": number}}
        return what, number, "PUT", f"/v1/users/{name}", {"created_at": number, "limits": limits}

    def tenant(self, what, name, number):
        """Its value: the tier, digests of its keys, capacities of its own rules."""
        had = self.state.get(what)
        if not had:
            return what, (None, (), ()), "PUT", f"/v1/tenants/{name}", {}
        tier, keys, rules = had
        digest = f"{self.number:02x}{number:062x}"
        match number % 4:
            case 0:
                return what, None, "DELETE", f"/v1/tenants/{name}"
            case 1 if len(keys) < 5 and digest not in keys:
                return (what, (tier, tuple(sorted((*keys, digest))), rules), "POST",
                        f"/v1/tenants/{name}/keys", {"sha256": digest})
            case 2:
                return (what, (tier, keys, (number,)), "PUT", f"/v1/tenants/{name}/rules/own",
                        rule("/own", number))
        tier = None if tier else "pro"
        return what, (tier, keys, rules), "PUT", f"/v1/tenants/{name}", {"tier": tier}

    def outcomes(self, what, name, number):
        """Of two users at once: all or none."""
        calls, successes = self.state.get(what) or (0, 0)
        success, count = number % 2 == 0, number % 5 + 1
        body = [{"user": user, "success": success}
                for _ in range(count) for user in (f"{name}.a", f"{name}.b")]
        return what, (calls + count, successes + count * success), "POST", "/v1/outcomes", body


class Look:
    """All that a server shows, over one connection."""

    def __init__(self, server):
        self.server, self.connection = server, server.connection()

    def get(self, path):
        answer = self.server.ask("GET", path, connection=self.connection)
        assert answer.status == 200, answer.body
        return answer.json

    def check(self, **request):
        request = {**request, "peek": True, "explain": True}
        return self.server.check(request, self.connection).json

    def everything(self, clients):
        """{(kind, name): value}, as Client.state has them."""
        seen = {("tier", tier["name"]): tier["tier"]["scale"]
                for tier in self.get("/v1/tiers")["tiers"] if tier["source"] == "api"}
        rules = [one for one in self.get("/v1/rules")["rules"] if one["source"] == "api"]
        seen.update({("rule", one["name"]): one["rule"]["capacity"]
                     for one in rules if not one["tenant"]})
        seen.update({("exemption", one["value"]): one["reason"]
                     for one in self.get("/v1/exemptions")["exemptions"]})
        for tenant in self.get("/v1/tenants")["tenants"]:
            shown = self.get(f"/v1/tenants/{tenant['name']}")
            keys = tuple(sorted(key["sha256"] for key in shown["keys"]))
            own = tuple(one["rule"]["capacity"] for one in rules
                        if one["tenant"] == tenant["name"])
            assert (tenant["keys"], tenant["rules"]) == (len(keys), len(own))
            seen["tenant", tenant["name"]] = tenant["tier"], keys, own
        orphans = {one["tenant"] for one in rules if one["tenant"]}
        assert {("tenant", name) for name in orphans} <= set(seen)
        for client in clients:
            for number in range(NAMES):
                self.add_people(seen, f"{client.number}{number}")
        return seen

    def add_people(self, seen, suffix):
        user = self.get(f"/v1/users/user{suffix}")
        if user["known"]:
            assert user["limits"] == {"file": {"capacity": user["created_at"]}}
            seen["user", f"user{suffix}"] = user["created_at"]
        both = [self.get(f"/v1/users/outcomes{suffix}.{which}")["trust"]["success"]
                for which in "ab"]
        assert both[0] == both[1], "half of an array was recorded"
        if both[0]["calls"]:
            seen["outcomes", f"outcomes{suffix}"] = both[0]["calls"], both[0]["successes"]

    def agrees(self, seen):
        """Decisions are by what the lists show."""
        for (kind, name), value in seen.items():
            if kind == "rule":
                assert self.check(user="x", resource=f"/{name}")["limit"] == value
            elif kind == "tier":
                decided = self.check(user="x", resource="/file", tier=name)
                assert decided["limit"] == 10 * value
            elif kind == "exemption":
                assert self.check(user=name)["reason"] == "exempt"
            elif kind == "user":
                assert self.check(user=name, resource="/file")["limit"] == value
            elif kind == "tenant":
                decided = self.check(tenant=name, user="x", resource="/own")
                own = [row["limit"] for row in decided["rules"] if row["rule"] == f"{name}/own"]
                assert own == list(value[2])


def judge(client, seen):
    """Everything acknowledged is there; what was under way is there, or as it was before."""
    mine = {what: value for what, value in seen.items()
            if what[1].startswith(f"{what[0]}{client.number}")}
    right = {what: value for what, value in client.state.items() if value is not None}
    if client.flight and mine != right:
        what, value = client.flight
        assert mine.get(what) == value, (what, "before", right.get(what), "meant", value)
        client.state[what] = value
        right = {what: value for what, value in client.state.items() if value is not None}
    assert mine == right
    client.flight = None


def live_and_die(server, clients, chance):
    threads = [threading.Thread(target=client.stream, args=(server,)) for client in clients]
    for thread in threads:
        thread.start()
    time.sleep(chance.random() * STREAM_S)  # the moment is what is tested
    server.kill()
    for thread in threads:
        thread.join()
    assert [client.refused for client in clients] == [None] * len(clients)


def test_what_was_acknowledged_survives_kills(tmp_path):
    print(f"SLUICE_SEED={SEED} SLUICE_KILLS={KILLS}")
    chance = random.Random(SEED)
    clients = [Client(number, random.Random(SEED + 1 + number)) for number in range(CLIENTS)]
    for _ in range(KILLS):
        with Server(RULES, folder=tmp_path) as server:
            look = Look(server)
            seen = look.everything(clients)
            for client in clients:
                judge(client, seen)
            look.agrees(seen)
            look.connection.close()
            live_and_die(server, clients, chance)
        os.unlink(server.rules_file)
    with Server(RULES, folder=tmp_path) as server:
        seen = Look(server).everything(clients)
        for client in clients:
            judge(client, seen)
    database = sqlite3.connect(tmp_path / "sluice.db")
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()
    made = sum(client.count for client in clients)
    print(f"{made} changes were acknowledged, {KILLS} kills")
    assert made > KILLS
