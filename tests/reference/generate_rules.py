"""Random rules files, as a dict and as YAML, that the limiter must accept."""

import json
import re

from model_rules import BUCKETS, Rule, text

ALGORITHMS = ("fixed_window", "sliding_window_log", "sliding_window_counter",
              "token_bucket", "leaky_bucket")
WINDOWS = ("1ms", "2ms", "7ms", "50ms", "500ms", "999ms", "1s", "3s", "10s", 15, "59s",
           "60s", "1m", "15m", "1h", "7h", "24h", "7d", "30d", "90d", "365d", "366d")
RATES = ("0.083", "0.000001", "0.013", "0.333333333", "0.5", "1", "1.5", "3", "7", "10",
         "33.3", "99.999999999", "1000", "12345.678", "1000000", "7654321.000000001",
         "30000000", "300000000", "500000000")
SCALES = ("0.001", "0.1", "0.333", "0.5", "1", "1", "1.000001", "1.5", "2", "3.000000001",
          "10", "100")
BURSTS = ("1", "1.001", "1.25", "1.5", "1.999999999", "2", "10")
SUBJECTS = ("user", "user", "user", "ip", "client", "tenant", "resource", "endpoint",
            "plan", "global", ["user", "ip"], ["ip", "global"], ["tenant", "ip"],
            ["client", "resource"], ["user", "plan"], ["tenant"], ["method", "user"])
PATTERNS = ("*", "/*", "/api/*", "/api/videos", "/api/*/items", "/login", "api.*",
            "api.payment.create", "api.*.create", "*.payment.*")
CONDITIONED = {"method": ("GET", "POST", "PUT"), "plan": ("gold", 7, True),
               "tier": ("pro", "free", "gone"), "client": ("c1", "c2", "billing"),
               "tenant": ("acme", "beta"), "user": ("u1", "u2", "root", 7)}
NINETY_DAYS_NS = 90 * 86400 * 10**9


def random_rules(rng, guarded):
    """One rules file.  `guarded`: some rules carry a burst guard."""
    rules = {}
    if rng.random() < 0.3:
        rules["max_wait"] = rng.choice(("1ms", "500ms", "10s", "5m"))
    if rng.random() < 0.6:
        rules["tiers"] = random_tiers(rng)
    if rng.random() < 0.2:
        rules["exempt"] = random_exemptions(rng)
    if rng.random() < 0.15:
        rules["identity"] = {"ipv6_prefix": rng.choice((1, 48, 63, 64, 127, 128)),
                             "ipv4_prefix": rng.choice((1, 8, 24, 31, 32))}
    layers = rng.choice((1, 1, 1, 2, 2, 3, 4, 5))
    rules["rules"] = [
        random_rule(rng, number, rules.get("tiers", {}), layers > 1, guarded)
        for number in range(layers)]
    if layers > 1 and rng.random() < 0.3:
        random_replaces(rng, rules["rules"])
    return rules


def random_replaces(rng, rules):
    """Some in place of others, in any order and in circles too."""
    for rule in rules:
        others = [other["name"] for other in rules if other is not rule]
        if rng.random() < 0.4:
            chosen = rng.sample(others, rng.randint(1, len(others)))
            rule["replaces"] = chosen[0] if len(chosen) == 1 and rng.random() < 0.5 else chosen


def random_tiers(rng):
    tiers = {name: {"scale": rng.choice(SCALES)}
             for name in rng.sample(("free", "pro", "big", "tiny"), rng.randint(1, 4))}
    if rng.random() < 0.4:
        tiers["admin"] = {"unlimited": True}
    return tiers


def random_exemptions(rng):
    every = {"ips": ["192.0.2.7", "10.0.0.0/8", "fd00::/8", "2001:db8::7"],
             "users": ["root", "acme/u1", "beta/u2"],
             "clients": ["billing", "acme/c1"]}
    return {name: rng.sample(every[name], rng.randint(1, len(every[name])))
            for name in rng.sample(sorted(every), rng.randint(1, 3))}


def random_rule(rng, number, tiers, layered, guarded):
    """Draws until the numbers are within what every algorithm accepts."""
    while True:
        rule = {"name": f"r{number}", "per": rng.choice(SUBJECTS)}
        if rng.random() < 0.7:
            rule["per"] = rng.choice(("user", "user", "ip", "global"))
        random_scope(rng, rule)
        random_numbers(rng, rule, tiers)
        if rng.random() < 0.3:
            rule["adaptive"] = True
        if rng.random() < (0.25 if layered else 0.04):
            rule["shadow"] = True
        if rng.random() < 0.12:
            rule["on_missing"] = rng.choice(("skip", "deny"))
        if guarded and rng.random() < 0.7:
            rule["burst_guard"] = random_guard(rng)
        if acceptable(rule, tiers):
            return rule


def random_scope(rng, rule):
    if rng.random() < 0.3:
        rule["resource"] = rng.choice(PATTERNS)
    if rng.random() < 0.1:
        rule["except"] = rng.sample(PATTERNS[2:], rng.randint(1, 2))
    if rng.random() < 0.1:
        rule["when"] = rng.choice((
            {"method": ["GET", "POST"]}, {"method": "GET"}, {"plan": ["gold", 7]},
            {"plan": True}, {"tier": "pro"}, {"method": "GET", "client": ["c1", "c2"]}))
    elif rng.random() < 0.1:
        rule["when"] = {name: random_condition(rng, values) for name, values in rng.sample(
            sorted(CONDITIONED.items()), rng.randint(1, 2))}


def random_condition(rng, values):
    """A map with some of its four keys, one value or several each."""
    condition = {}
    for name in rng.sample(("is", "not", "like", "unlike"), rng.choice((1, 1, 2, 2, 3, 4))):
        pool = values if name in ("is", "not") else [random_pattern(rng, values)
                                                     for _ in range(3)]
        chosen = rng.sample(pool, rng.randint(1, len(pool)))
        condition[name] = chosen[0] if rng.random() < 0.4 else chosen
    return condition


def random_pattern(rng, values):
    """A star in the place of some part of a value, or none, or nothing else."""
    value = text(rng.choice(values))
    start, end = sorted((rng.randint(0, len(value)), rng.randint(0, len(value))))
    return rng.choice((value[:start] + "*" + value[end:], value[:start] + "*" + value[end:],
                       "*" + value[start:end] + "*", value[:start] + "**" + value[end:],
                       value, "*"))


def random_capacity(rng):
    kind = rng.random()
    if kind < 0.7:
        return rng.randint(1, 12)
    if kind < 0.88:
        return rng.randint(1, 2000)
    return rng.choice((2**16, 2**20, 2**24, 2**25, 2**28, 2**31, 2**32 - 1, 10**10,
                       rng.randint(1, 2**32 - 1)))


def random_numbers(rng, rule, tiers):
    """Algorithm, capacity, window, rates and the tiers' own numbers."""
    name = rng.choice(ALGORITHMS)
    if name != "sliding_window_counter" or rng.random() < 0.5:
        rule["algorithm"] = name
    rule["capacity"] = random_capacity(rng)
    if name not in BUCKETS:
        rule["window"] = random_window(rng)
        if name == "fixed_window" and rng.random() < 0.4:
            rule["align"] = rng.choice(("first_request", "first_request", "epoch"))
    else:
        given = rng.choice(("window", "refill_rate", "refill_rate", "both"))
        if given != "refill_rate":
            rule["window"] = random_window(rng)
        if given != "window":
            rule["refill_rate"] = rng.choice(RATES)
    if name == "token_bucket" and rng.random() < 0.4:
        rule["burst_allowance"] = rng.choice(BURSTS)
    own = {tier: random_own_numbers(rng, name)
           for tier in tiers if "scale" in tiers[tier] and rng.random() < 0.3}
    if own:
        rule["tiers"] = own
    if "window" in rule and "refill_rate" not in rule and rng.random() < 0.2:
        rule["limit"] = f"{rule.pop('capacity')}/{as_limit(rule.pop('window'))}"


def random_window(rng):
    return rng.choice(WINDOWS) if rng.random() < 0.8 else f"{rng.randint(1, 5000)}ms"


def as_limit(window):
    """A window as it may stand behind the slash of `limit`."""
    return {"1s": "s", "1m": "m", "1h": "h"}.get(window, window)


def random_own_numbers(rng, algorithm):
    if rng.random() < 0.12:
        return {"unlimited": True}
    own = {"capacity": random_capacity(rng)}
    if algorithm in BUCKETS and rng.random() < 0.5:
        own["refill_rate"] = rng.choice(RATES)
        if rng.random() < 0.3:
            del own["capacity"]
    return own


def random_guard(rng):
    guard = {"window": rng.choice(("10ms", "100ms", "1s", "7s", "1m")),
             "threshold": rng.randint(1, 6),
             "penalty": rng.choice(("3ms", "150ms", "2s", "10s", "5m", "1h"))}
    if rng.random() < 0.1:
        del guard[rng.choice(("window", "penalty"))]
    return guard


def acceptable(source, tiers):
    """Are the numbers of every tier and trust within an algorithm's bounds?"""
    rule = Rule(source, tiers)
    for tier in [None, *tiers]:
        least, most = rule.limit_for(tier, 0), rule.limit_for(tier, 1000)
        if most is not None and not bounded(rule, least, most):
            return False
    guard = rule.guard
    return guard is None or (
        (guard.penalty // guard.window + 3) * (guard.threshold + 2) < 2**30)


def bounded(rule, least, most):
    name, units = rule.algorithm_name, most.units
    if name in BUCKETS:
        return max(units, 1) * least.token_ns <= NINETY_DAYS_NS
    if name == "fixed_window":
        return units < 2**32
    if name == "sliding_window_log":
        return units <= 5000
    if rule.window < 10**6:
        return units <= 2**20
    return units <= (2**25 if rule.window < 60 * 10**6 else 2**28)


def to_yaml(rules):
    """The rules file as text."""
    lines = [f"max_wait: {rules['max_wait']}"] if "max_wait" in rules else []
    for section in ("tiers", "exempt", "identity"):
        if section in rules:
            lines.append(f"{section}:")
            lines += [f"  {key}: {flow(value)}" for key, value in rules[section].items()]
    lines.append("rules:")
    for rule in rules["rules"]:
        lead = "  - "
        for key, value in rule.items():
            lines.append(f"{lead}{key}: {flow(value)}")
            lead = "    "
    return "\n".join(lines) + "\n"


def flow(value):
    """A value in YAML's flow style."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k}: {flow(v)}" for k, v in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(flow(item) for item in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) or re.fullmatch(r"[A-Za-z0-9/][A-Za-z0-9/._-]*(/\*)?", value):
        return str(value)
    return json.dumps(value)
