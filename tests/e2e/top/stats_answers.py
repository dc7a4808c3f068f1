"""Answers to GET /v1/stats, as docs/observability.md has them, and what is shown of a table.

    stats(rule("api", checks=600, denied=120, top=[("acme", "u1", 100)]), uptime_s=8000)
"""

import re


def window(checks, denied, shadow=False, p99=4.1, **more):
    """What happened in it."""
    return {"checks": checks, "allowed": checks - denied, "denied": 0 if shadow else denied,
            "shadow_denied": denied if shadow else 0, "store_failed": 0,
            "hit_rate": denied / checks if checks else None, "burst_warnings": 0, "burst_blocks": 0,
            "callers": 30, "callers_limited": 4,
            "latency_us": checks and {"p50": p99 / 4, "p95": p99 / 2, "p99": p99, "p999": p99 * 2,
                                      "samples": checks} or None, **more}


def rule(name, checks=600, denied=0, shadow=False, p99=4.1, top=(), algorithm="token_bucket"):
    """`top`: tenant, identifier and count of the callers it denied most."""
    return {"rule": name, "algorithm": algorithm, "per": ["user"], "resource": "/api/*",
            "shadow": shadow, "limit": 150, "window_us": None, "refill_per_second": 10,
            "guarded": False, "in_use": {"mean": 0.41, "max": 1},
            "minute": window(checks, denied, shadow, p99),
            "hour": window(checks * 10, denied * 10, shadow, p99),
            "day": window(checks * 100, denied * 100, shadow, p99),
            "top_denied": [{"tenant": tenant, "identifier": who, "count": count, "error": 0}
                           for tenant, who, count in top],
            "top_traffic": [], "top_since": "2023-11-14T21:30:00.000000Z", "top_unseen": {"denied": 0, "traffic": 0}}


def stats(*rules, uptime_s=8000, **more):
    checks = sum(row["minute"]["checks"] for row in rules)
    denied = sum(row["minute"]["denied"] for row in rules)
    windows = {name: window(checks * times, denied * times)
               for name, times in (("minute", 1), ("hour", 10), ("day", 100))}
    return {"at_us": 1700000000000000, "at": "2023-11-14T22:13:20.000000Z",
            "started_at": "2023-11-14T20:00:00.000000Z", "uptime_s": uptime_s,
            "decisions": windows, "algorithms": [], "rules_total": len(rules), "rules": list(rules),
            "store": {"name": "memory:", "kind": "memory", "healthy": True, "why": None,
                      "table": {"slots": 4000, "live": 500, "limiting": 1, "insertions": 20,
                                "evictions": 0, "full": 0}},
            "connections": {"open": 2, "accepted": 40, "refused": 0},
            "audit": {"written": 4, "dropped": 0}, **more}


THREE = stats(rule("api", 6000, 1200, p99=4.1, top=[("acme", "u1", 900), ("acme", "u2", 300)]),
              rule("login", 600, 30, shadow=True, p99=90, algorithm="sliding_window_counter",
                   top=[(None, "192.0.2.1", 30)]),
              rule("global", 6600, p99=0.9, algorithm="fixed_window"))


def table_rows(lines):
    """Level, rate and the rest of each figure."""
    found = {}
    for line in lines:
        if match := re.match(r"(\w[\w ]{13}) *(\S+) +(\S+)(?:  (.*))?$", line):
            found[match[1].strip()] = (match[2], match[3], (match[4] or "").strip())
    return found


def wait_for_row(terminal, name, level, rate=None):
    def holds(screen):
        row = table_rows(screen.lines).get(name)
        return row and row[0] == level and rate in (None, row[1])

    terminal.wait_until(holds, f"{name} {level} {rate}")
