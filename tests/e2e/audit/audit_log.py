"""Servers with an audit log, and reading it by the document alone."""

import hashlib
import json
import re

RULES = """
tiers: { pro: { scale: 2 } }
exempt: { ips: [10.9.0.0/16] }
rules:
  - { name: api, resource: /api/*, per: user, limit: 5/1h }
  - { name: all, per: ip, limit: 1000/1h }
"""
ZEROS = "0" * 64


def audited(path, rules=RULES, more=""):
    return f"audit: file:{path}\n{more}{rules}"


def lines_of(path):
    return path.read_bytes().decode().splitlines(keepends=True) if path.exists() else []


def events(path):
    """Each a line, and each line one that any reader of JSON takes."""
    found = path.read_bytes().decode().split("\n") if path.exists() else [""]
    assert found.pop() == ""
    return [json.loads(line) for line in found]


def last(path):
    return events(path)[-1]


def chained(lines, n=0, prev=ZEROS):
    """By the document alone: are these whole? How many of them there are."""
    for line in lines:
        if '"chain"' not in line:
            continue
        without, hash_ = re.fullmatch(r'(.*), "hash": "([0-9a-f]{64})"\}\}\n', line).groups()
        chain = json.loads(line)["chain"]
        n += 1
        assert (chain["n"], chain["prev"]) == (n, prev)
        prev = hashlib.sha256(f"{without}}}}}".encode()).hexdigest()
        assert chain["hash"] == hash_ == prev
    return n


def rule(limit):
    return {"per": "user", "limit": f"{limit}/1h"}
