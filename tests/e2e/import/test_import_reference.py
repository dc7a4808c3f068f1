"""Imported rules against the reference server's own walk, on random configurations.

    SLUICE_SEED      another seed
    SLUICE_IMPORTS   how many configurations (60)
"""

import json
import os
import random
from collections import Counter

import pytest

from envoy_reference import SECONDS, Maker, request_of, to_yaml
from program import run

SEED = os.environ.get("SLUICE_SEED", "one")
IMPORTS = int(os.environ.get("SLUICE_IMPORTS", "60"))
REQUESTS = 150
AT_US = 1_700_000_000_000_000


def make(seed):
    """Two domains, and requests to them and to one that is not configured."""
    rng = random.Random(seed)
    maker = Maker(rng)
    domains = [maker.domain("edge"), maker.domain("inner.mesh/v1")]
    asked = []
    for _ in range(REQUESTS):
        domain = rng.choice(domains)
        name = domain.name if rng.random() < 0.97 else "elsewhere"
        asked.append((name, maker.entries(domain)))
    return domains, asked


def write(folder, domains, merged):
    """A file a domain; or, merged, its second half in another."""
    files = []
    for number, domain in enumerate(domains):
        half = len(domain.descriptors) // 2 if merged else len(domain.descriptors)
        for part in (domain.descriptors[:half], domain.descriptors[half:]):
            if part or not merged:
                path = folder / f"{number}-{len(files)}.yaml"
                path.write_text(to_yaml(domain.name, part), encoding="utf-8")
                files.append(path)
            if not merged:
                break
    return files


def expected(domains, asked):
    """(how it is limited, limit, what remains, reset, shadow), or None, of each in turn."""
    trees, counts, answers = {domain.name: domain for domain in domains}, Counter(), []
    for name, entries in asked:
        found = trees[name].find(entries) if name in trees else None
        limit = found.descriptor["rate_limit"] if found else None
        if limit is None or limit.get("unlimited"):
            answers.append(None)
            continue
        shadow = bool(found.descriptor.get("shadow_mode"))
        if limit["requests_per_unit"] == 0:
            answers.append((False, 1, 0, None, shadow))
            continue
        counter = name, id(found.descriptor), found.counter
        counts[counter] += 1
        unit_us = SECONDS[limit["unit"].lower()] * 1_000_000
        answers.append((True, limit["requests_per_unit"],
                        limit["requests_per_unit"] - counts[counter],
                        AT_US - AT_US % unit_us + unit_us, shadow))
    return answers


def replay(folder, rules, asked):
    """The same of the program, and whether it was allowed."""
    lines = [json.dumps({"at_us": AT_US, "explain": True, **request_of(name, entries)})
             for name, entries in asked]
    path = folder / "rules.yaml"
    path.write_text(rules, encoding="utf-8")
    done = run("replay", "-c", str(path), stdin="\n".join(lines) + "\n")
    assert done.code == 0, done.err
    return done.lines


def as_expected(decision):
    rows = decision["rules"]
    assert len(rows) <= 1, "one descriptor has one limit"
    if not rows:
        return None
    row = rows[0]
    return row["allowed"], row["limit"], row["remaining"], row["reset_at_us"], row["shadow"]


@pytest.mark.parametrize("number", range(IMPORTS))
def test_the_limit_that_the_reference_finds_is_the_rule_that_counts(tmp_path, number):
    domains, asked = make(f"{SEED}/{number}")
    merged = number % 3 == 0
    files = write(tmp_path, domains, merged)
    done = run("import", "envoy", *map(str, files), *(["--merge-domains"] if merged else []))
    assert done.code == 0, done.err
    linted = run("lint", "-", stdin=done.out)
    assert linted.code == 0, linted.out
    for (name, entries), want, decision in zip(asked, expected(domains, asked),
                                               replay(tmp_path, done.out, asked)):
        assert as_expected(decision) == want, (name, entries, decision)
        assert decision["allowed"] == (want is None or want[0] or want[4])


def test_the_random_configurations_have_everything():
    """Or the comparison above would prove less than it says."""
    seen = Counter()
    for number in range(IMPORTS):
        domains, asked = make(f"{SEED}/{number}")
        for want in expected(domains, asked):
            seen["nothing" if want is None else "limited" if want[0] else "denied"] += 1
            seen["shadow"] += want is not None and want[4]
        for domain in domains:
            seen["shared"] += '"share_threshold": true' in to_yaml("", domain.descriptors)
    if IMPORTS >= 60:
        assert min(seen[name] for name in ("limited", "denied", "nothing", "shadow")) > 50, seen
        assert seen["shared"] > 10
