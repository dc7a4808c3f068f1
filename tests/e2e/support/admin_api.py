"""Calls of the admin API, as a program makes them.

    admin = Caller(server)
    admin.put("/v1/rules/api", {"per": "user", "limit": "5/1h"}, 201)
    assert admin.get("/v1/rules/api").json["source"] == "api"
    admin.put("/v1/rules/api", RULE, 412, if_match='"old"')

The status is judged on the way: 200 or 201 unless another is given. Servers in these tests
have no admin token, so that a caller from here without a key is the admin.
"""

import sqlite3
from urllib.parse import quote

from serving import Answer, Server

DONE = (200, 201)


class Caller:
    """A caller of a server, with the same fields each time."""

    def __init__(self, server, **fields):
        self.server, self.fields = server, named(fields)

    def get(self, path, status=DONE, **fields):
        return self.call("GET", path, None, status, **fields)

    def put(self, path, body, status=DONE, **fields):
        return self.call("PUT", path, body, status, **fields)

    def post(self, path, body, status=DONE, **fields):
        return self.call("POST", path, body, status, **fields)

    def delete(self, path, status=DONE, body=None, **fields):
        return self.call("DELETE", path, body, status, **fields)

    def call(self, method, path, body, status, **fields) -> Answer:
        answer = self.server.ask(method, path, body, {**self.fields, **named(fields)})
        right = status if isinstance(status, tuple) else (status,)
        assert answer.status in right, (method, path, body, answer.status, answer.body)
        return answer

    # ---- what is asked often ----

    def rules(self):
        """Names, in order."""
        return [rule["name"] for rule in self.get("/v1/rules").json["rules"]]

    def remaining(self, rule, **request):
        """Of that rule for this request; nothing is taken. None: it does not match."""
        body = {**request, "peek": True, "explain": True}
        rows = self.post("/v1/check", body, (200, 429)).json["rules"]
        return next((row["remaining"] for row in rows if row["rule"] == rule), None)

    def spend(self, times, **request):
        """So many checks, all of which pass."""
        for _ in range(times):
            assert self.post("/v1/check", request, 200).json["allowed"]


def named(fields):
    """if_match='…' is a field If-Match."""
    return {name.replace("_", "-"): value for name, value in fields.items()}


def part(text):
    """A name as a part of a path."""
    return quote(text, safe="")


def database_of(server):
    return server.database


def dumped(path):
    """All that a database holds, as SQL."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


def stopped(server: Server):
    """It has ended as it should."""
    assert server.stop() == 0, server.stderr
