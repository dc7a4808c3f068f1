"""What /v1/stats tells, asked until it has seen what was sent.

    told = seen(server, 12)                  # when it knows of 12 checks
    assert rule_of(told, "api")["minute"]["denied"] == 7

Counts are read once a second; callers, latencies and how many callers there are a little earlier or
later: a test waits for all that it asks about.
"""

import json

from watching import wait_until

WINDOWS = ("minute", "hour", "day")


def stats(server, query="", headers=()):
    answer = server.ask("GET", f"/v1/stats{'?' if query else ''}{query}", headers=headers)
    assert answer.status == 200, (answer.status, answer.body)
    return json.loads(answer.body.decode("utf-8"))  # it must be UTF-8, not only nearly


def seen(server, checks, query=""):
    """As soon as it knows of that many; more than that fails."""
    def known():
        told = stats(server, query)
        count = told["decisions"]["minute"]["checks"]
        assert count <= checks, (count, checks)
        return told if count == checks else None
    return wait_until(known, f"{checks} checks are known")


def told_of(server, is_so, what):
    """As soon as this is so of what is told."""
    def known():
        told = stats(server)
        return told if is_so(told) else None
    return wait_until(known, what)


def rule_of(told, name):
    return next(rule for rule in told["rules"] if rule["rule"] == name)


def counts_of(figure):
    return figure["checks"], figure["allowed"], figure["denied"]


def names_of(entries):
    return {entry["identifier"]: entry["count"] for entry in entries}


def events_of(path):
    """Of an audit file: each line one of JSON, in UTF-8."""
    if not path.exists():
        return []
    text = path.read_bytes().decode("utf-8")
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def denied_in(path):
    """The counts of the denials in it."""
    return sum(event.get("count", 0) for event in events_of(path))
