"""A rules file's meaning: which requests a rule matches, what it counts by,
and what its limit is for a tier and a trust score."""

import ipaddress
import re
from fractions import Fraction
from functools import lru_cache

from model_algorithms import (
    Bucket, FixedWindow, Limit, SlidingWindowCounter, SlidingWindowLog)
from model_guard import Guard

UNITS_US = {"ms": 1000, "s": 10**6, "m": 60 * 10**6, "h": 3600 * 10**6, "d": 86400 * 10**6}
UNRESERVED = frozenset(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
BUCKETS = ("token_bucket", "leaky_bucket")


def exact(value):
    """A decimal as a fraction, from its text.  Floats have lost theirs."""
    if isinstance(value, float):
        raise TypeError("decimals are given as text")
    return value if isinstance(value, Fraction) else Fraction(str(value))


def duration(value):
    """Microseconds in `500ms`, `10s`, a bare unit, or a number of seconds."""
    number, unit = re.fullmatch(r"(\d*)(ms|s|m|h|d|)", str(value)).groups()
    return int(number or 1) * UNITS_US[unit or "s"]


def text(value):
    """An attribute as compared: numbers and booleans by their text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


@lru_cache(maxsize=None)
def normalise(resource):
    """One spelling per resource: no query, decoded, folded."""
    resource = resource.split("?", 1)[0]
    resource = re.sub(r"%([0-9A-Fa-f]{2})", decode_unreserved, resource)
    if not resource.startswith("/"):
        return resource
    folded = []
    for segment in resource.split("/"):
        if segment == "..":
            del folded[-1:]
        elif segment not in ("", "."):
            folded.append(segment)
    return "/" + "/".join(folded)


def decode_unreserved(match):
    char = chr(int(match.group(1), 16))
    return char if char in UNRESERVED else match.group(0)


@lru_cache(maxsize=None)
def fits(pattern, resource):
    """Does a pattern match a normalised resource?"""
    if pattern == "*":
        return True
    if pattern.startswith("/") != resource.startswith("/"):
        return False
    separator = "/" if pattern.startswith("/") else "."
    wanted, given = pattern.split(separator), resource.split(separator)
    if wanted[-1] == "*":
        wanted.pop()
        given = given[:len(wanted)]
    return len(wanted) == len(given) and all(
        w in ("*", g) for w, g in zip(wanted, given))


@lru_cache(maxsize=None)
def address(value):
    """An address, IPv4 also where it is mapped into IPv6; None if it is none."""
    try:
        ip = ipaddress.ip_address(value)
    except ValueError:
        return None
    return getattr(ip, "ipv4_mapped", None) or ip


class Condition:
    """What `when` says of one attribute: a value, a list of them, or a map."""

    def __init__(self, source):
        parts = source if isinstance(source, dict) else {"is": source}
        self.parts = {
            name: [text(v) for v in (given if isinstance(given, list) else [given])]
            for name, given in parts.items()}

    def holds(self, value):
        """An empty value is none.  One that is not there is not what it should be."""
        parts = self.parts
        if not value:
            return "is" not in parts and "like" not in parts
        if "is" in parts and value not in parts["is"]:
            return False
        if "like" in parts and not any(alike(value, pattern) for pattern in parts["like"]):
            return False
        return value not in parts.get("not", ()) and not any(
            alike(value, pattern) for pattern in parts.get("unlike", ()))


def alike(value, pattern):
    """`*` is any text."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), value, re.S) is not None


class Identity:
    """How an `ip` counts: cut to the file's prefixes, or as its text."""

    def __init__(self, settings):
        self.bits = {4: settings.get("ipv4_prefix", 32), 6: settings.get("ipv6_prefix", 64)}
        self.known = {}

    def counted(self, value):
        if value not in self.known:
            self.known[value] = self.cut(value)
        return self.known[value]

    def cut(self, value):
        ip = address(value)
        if ip is None:
            return value
        return str(ipaddress.ip_network((ip, self.bits[ip.version]), strict=False))


class Exemptions:
    """The whitelist.  Users and clients are `tenant/name`, or bare: no tenant."""

    def __init__(self, settings):
        self.networks = [ipaddress.ip_network(ip) for ip in settings.get("ips", ())]
        self.users = {self.scoped(name) for name in settings.get("users", ())}
        self.clients = {self.scoped(name) for name in settings.get("clients", ())}
        self.known = {}

    @staticmethod
    def scoped(name):
        tenant, _, bare = name.rpartition("/")
        return tenant, bare

    def holds(self, tenant, attributes):
        if self.users and (tenant, attributes.get("user")) in self.users:
            return True
        if self.clients and (tenant, attributes.get("client")) in self.clients:
            return True
        return bool(self.networks) and self.holds_ip(attributes.get("ip"))

    def holds_ip(self, value):
        if value not in self.known:
            ip = address(value) if value else None
            self.known[value] = ip is not None and any(ip in net for net in self.networks)
        return self.known[value]


class Rule:
    """One rule of the file, with the states of its identifiers."""

    def __init__(self, source, tiers):
        self.source = source
        self.file_tiers = tiers
        self.name = source["name"]
        self.algorithm_name = source.get("algorithm", "sliding_window_counter")
        self.label = "first_request" if source.get("align") == "first_request" \
            else self.algorithm_name
        self.leaky = self.algorithm_name == "leaky_bucket"
        self.shadow = source.get("shadow", False)
        replaces = source.get("replaces", [])
        self.replaces = replaces if isinstance(replaces, list) else [replaces]
        self.denies_missing = source.get("on_missing") == "deny"
        self.adaptive = source.get("adaptive", False)
        self.read_scope()
        self.read_numbers()
        self.algorithm = self.make_algorithm()
        self.guard = self.make_guard()
        self.limits = {}
        self.states = {}

    def read_scope(self):
        source = self.source
        self.pattern = source.get("resource")
        self.excepted = source.get("except", ())
        self.when = [(name, Condition(said)) for name, said in source.get("when", {}).items()]
        per = source["per"] if isinstance(source["per"], list) else [source["per"]]
        self.spans_tenants = set(per) <= {"ip", "global"}
        self.per = ["resource" if name == "endpoint" else name
                    for name in per if name != "global"]

    def read_numbers(self):
        capacity, window = self.source.get("capacity"), self.source.get("window")
        if "limit" in self.source:
            capacity, window = self.source["limit"].split("/")
        self.capacity = int(capacity)
        self.window = None if window is None else duration(window)

    def make_algorithm(self):
        name = self.algorithm_name
        if name in BUCKETS:
            return Bucket()
        if name == "fixed_window":
            return FixedWindow(self.window, self.source.get("align") == "first_request")
        kinds = {"sliding_window_log": SlidingWindowLog,
                 "sliding_window_counter": SlidingWindowCounter}
        return kinds[name](self.window)

    def make_guard(self):
        settings = self.source.get("burst_guard")
        if settings is None:
            return None
        return Guard(duration(settings.get("window", "10s")),
                     settings.get("threshold", 50),
                     duration(settings.get("penalty", "5m")))

    def matches(self, attributes):
        """Do resource, exceptions and conditions fit this request?"""
        resource = attributes.get("resource")
        if self.pattern is not None and not (resource and fits(self.pattern, resource)):
            return False
        if resource and any(fits(pattern, resource) for pattern in self.excepted):
            return False
        return all(condition.holds(attributes.get(name)) for name, condition in self.when)

    def key(self, tenant, attributes, identity):
        """The identifier counted by; None where a part is missing or empty."""
        parts = [None if self.spans_tenants else tenant]
        for name in self.per:
            value = attributes.get(name)
            if not value:
                return None
            parts.append(identity.counted(value) if name == "ip" else value)
        return tuple(parts)

    def limit_for(self, tier, thousandths):
        """The effective limit; None where the tier is unlimited."""
        if not self.adaptive:
            thousandths = 0
        choice = tier, thousandths
        if choice not in self.limits:
            self.limits[choice] = self.compose(tier, Fraction(thousandths, 1000))
        return self.limits[choice]

    def compose(self, tier, trust):
        """Tier, burst allowance, trust: in this order, one floor at the end."""
        shared = self.file_tiers.get(tier, {})
        own = self.source.get("tiers", {}).get(tier, {})
        if own.get("unlimited") or (shared.get("unlimited") and not own):
            return None
        scale = exact(shared.get("scale", 1))
        base = exact(own["capacity"]) if "capacity" in own else self.capacity * scale
        units = base * exact(self.source.get("burst_allowance", 1)) * (1 + trust) // 1
        if self.algorithm_name not in BUCKETS:
            return Limit(units, None)
        if "refill_rate" in own:
            rate = exact(own["refill_rate"])
        elif "refill_rate" in self.source:
            rate = exact(self.source["refill_rate"]) * scale
        else:
            rate = base * 10**6 / self.window
        return Limit(units, -(-10**9 // (rate * (1 + trust / 2))))
