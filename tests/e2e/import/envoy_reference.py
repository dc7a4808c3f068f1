"""The walk of Envoy's reference rate limit server, from its description.

    tree = Domain("edge", descriptors)        # as its configuration has them
    tree.find([("key", "value"), ...])        # Found, or None: no limit

and random configurations and requests to ask it.
"""

import json
import re
from collections import namedtuple

Found = namedtuple("Found", "descriptor counter")
"""The descriptor whose limit counts, and what its counter is called: one for each path of values,
but for patterns that share theirs."""

SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 7 * 86400,
           "month": 30 * 86400, "year": 365 * 86400}
RENAMED = {"tenant", "descriptor", "cost", "trust_score", "peek", "wait", "explain", "at_us"}

# Keys that mean something in a request too, and such as look like our own names for others.
KEYS = ("generic_key", "remote_address", "path", "user", "method", "client", "tier", "tenant",
        "cost", "descriptor", "a", "a.2", "b-c", "ip")
VALUES = {"ip": ("192.0.2.1", "192.0.2.7", "10.0.0.1", "2001:db8::1", "2001:db8::2")}
NAMES = ("a", "b", "c", "d")
WORDS = ("login", "logout", "log", "search", "se", "eu", "eu-west", "x y", "true", "null", "7",
         "07", "{a: b}", "#1", "it's", 'say "hi"', "back\\slash", "- dash", "käse", "日本", "[x]")


class Domain:
    """The descriptors of one domain."""

    def __init__(self, name, descriptors):
        self.name = name
        self.descriptors = descriptors

    def find(self, entries):
        """Down the tree, one entry a level, and never back."""
        level, counter = self.descriptors, []
        for depth, (key, value) in enumerate(entries):
            descriptor = choose(level, key, value)
            if descriptor is None:
                return None
            shared = descriptor.get("share_threshold") and "*" in descriptor.get("value", "")
            counter.append((key, descriptor["value"] if shared else value))
            if depth == len(entries) - 1:
                limited = "rate_limit" in descriptor
                return Found(descriptor, tuple(counter)) if limited else None
            level = descriptor.get("descriptors", ())
        return None


def choose(level, key, value):
    """The value itself, then patterns in the order of the file, then the key alone."""
    mine = [descriptor for descriptor in level if descriptor["key"] == key]
    exact = [d for d in mine if d.get("value") == value]
    patterns = [d for d in mine if "*" in d.get("value", "") and alike(value, d["value"])]
    alone = [d for d in mine if not d.get("value")]
    return next(iter(exact + patterns + alone), None)


def alike(value, pattern):
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), value, re.S) is not None


def request_of(domain, entries):
    """A request as Sluice's front makes it of a descriptor."""
    request = {"tenant": domain, "descriptor": ",".join(key for key, _ in entries)}
    taken = set()
    for key, value in entries:
        base = f"descriptor.{key}" if key in RENAMED else key
        name, number = base, 1
        while name in taken:
            number += 1
            name = f"{base}.{number}"
        taken.add(name)
        request[name] = value
    return request


# ---- random ones -------------------------------------------------------------


class Maker:
    """Configurations of a domain.  Each limit has a number of its own, to be known by; some, if
    they are `named`, have a name too, and replace others."""

    def __init__(self, rng, named=False):
        self.rng = rng
        self.named = named
        self.limits = 0

    def domain(self, name):
        return Domain(name, self.level(self.rng.sample(KEYS, self.rng.randint(1, 4)), 0))

    def level(self, keys, depth):
        """A few descriptors for each of some keys, all different."""
        level = [self.descriptor(key, value, depth)
                 for key in self.rng.sample(keys, self.rng.randint(1, len(keys)))
                 for value in self.values(key)]
        self.rng.shuffle(level)
        return level

    def values(self, key):
        rng = self.rng
        words = VALUES.get(key, WORDS)
        chosen = set(rng.sample(words, rng.randint(0, 4)))
        chosen |= {self.pattern(rng.choice(words)) for _ in range(rng.choice((0, 0, 1, 1, 2, 3)))}
        if rng.random() < 0.6 or not chosen:
            chosen.add(None)
        return sorted(chosen, key=str)

    def pattern(self, word):
        rng = self.rng
        start, end = sorted((rng.randint(0, len(word)), rng.randint(0, len(word))))
        return rng.choice((word[:start] + "*", "*" + word[start:], "*" + word[start:end] + "*",
                           word[:start] + "*" + word[end:], "*"))

    def descriptor(self, key, value, depth):
        rng = self.rng
        made = {"key": key}
        if value is not None:
            made["value"] = value
        elif rng.random() < 0.1:
            made["value"] = ""
        if rng.random() < 0.75:
            made["rate_limit"] = self.limit()
        if value is not None and "*" in value and rng.random() < 0.4:
            made["share_threshold"] = True
        if rng.random() < 0.15:
            made["shadow_mode"] = True
        if depth < 3 and rng.random() < 0.4:
            below = sorted({key, *rng.sample(KEYS, rng.randint(1, 2))})
            made["descriptors"] = self.level(below, depth + 1)
        return made

    def limit(self):
        limit = self.number()
        if self.named and self.rng.random() < 0.6:
            limit["name"] = self.rng.choice(NAMES)
        if self.named and self.rng.random() < 0.3:
            others = [name for name in NAMES if name != limit.get("name")]
            limit["replaces"] = [{"name": name} for name in
                                 self.rng.choices(others, k=self.rng.randint(1, 3))]
        return limit

    def number(self):
        kind = self.rng.random()
        if kind < 0.1:
            return {"unlimited": True}
        unit = self.rng.choice(sorted(SECONDS))
        if kind < 0.17:
            return {"unit": unit, "requests_per_unit": 0}
        self.limits += 1
        unit = self.rng.choice((unit, unit.upper(), unit.title()))
        return {"unit": unit, "requests_per_unit": 100000 + self.limits}

    def entries(self, domain):
        """A way down its tree that mostly leads somewhere."""
        rng, level, entries = self.rng, domain.descriptors, []
        while True:
            descriptor = rng.choice(level) if level else {"key": rng.choice(KEYS)}
            key = descriptor["key"] if rng.random() < 0.95 else rng.choice(KEYS)
            entries.append((key, self.value_for(key, descriptor)))
            level = descriptor.get("descriptors", ())
            if len(entries) == 5 or rng.random() < (0.35 if level else 0.9):
                return entries

    def value_for(self, key, descriptor):
        """What it asks for, or something that another beside it may ask for."""
        rng, wanted = self.rng, descriptor.get("value")
        words = VALUES.get(key, WORDS)
        if not wanted or rng.random() < 0.25:
            return rng.choice(words)
        if "*" not in wanted:
            return wanted
        fitting = [word for word in words if alike(word, wanted)]
        return rng.choice(fitting or words) if rng.random() < 0.7 \
            else wanted.replace("*", rng.choice(("x", "yz", "e"))) if key != "ip" else words[0]


def to_yaml(domain, descriptors):
    """JSON is YAML."""
    return json.dumps({"domain": domain, "descriptors": descriptors}, indent=1,
                      ensure_ascii=False)
