"""Imported rules, asked by Envoy's own protocol: what the front makes of descriptors is what the
importer has written, and limits replace each other across the descriptors of a call."""

import os
import random
import re
from collections import Counter

import pytest

from envoy_reference import Maker, to_yaml
from grpc_messages import OK, OVER_LIMIT, TIMEOUT_S, channel_to, request, should_rate_limit
from program import ROOT, run
from serving import Server

SEED = os.environ.get("SLUICE_SEED", "one")
DOMAINS, CALLS = 12, 600
LISTEN = {"http": "127.0.0.1:0", "grpc": "127.0.0.1:0"}


class Asked:
    """A server with the rules that these files become."""

    def __init__(self, *files):
        done = run("import", "envoy", *map(str, files))
        assert done.code == 0, done.err
        rules = re.sub(r"^listen:\n(?: .*\n)+", "", done.out, flags=re.M)
        self.server = Server(rules, listen=LISTEN)
        port = next(int(address.rpartition(":")[2]) for address in self.server.addresses
                    if address.startswith("grpc://"))
        self.channel = channel_to(port)

    def __call__(self, domain, *descriptors):
        return should_rate_limit(self.channel)(request(domain, *descriptors), timeout=TIMEOUT_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close()
        self.server.__exit__(*_)


def limits(response):
    """Of each status: is it over, and its limit, None if it has none."""
    return [(status.code == OVER_LIMIT, status.current_limit.requests_per_unit
             if status.HasField("current_limit") else None) for status in response.statuses]


def expected(domain, descriptors):
    """The same of the reference.  Shadows are not told as limits here; 0 is told as over."""
    found = [domain.find(entries) for entries in descriptors]
    replaced = {name["name"] for one in found if one
                for name in one.descriptor["rate_limit"].get("replaces", ())}
    told = []
    for one in found:
        limit = one.descriptor["rate_limit"] if one else {"unlimited": True}
        shadow = bool(one and one.descriptor.get("shadow_mode"))
        if limit.get("unlimited") or limit.get("name") in replaced or shadow:
            told.append((False, None))
        else:
            told.append((limit["requests_per_unit"] == 0, limit["requests_per_unit"] or 1))
    return told, replaced


def test_the_front_and_the_importer_mean_the_same(tmp_path):
    rng = random.Random(f"{SEED}/grpc")
    maker = Maker(rng, named=True)
    domains = [maker.domain(f"domain-{number}") for number in range(DOMAINS)]
    files = [tmp_path / f"{domain.name}.yaml" for domain in domains]
    for path, domain in zip(files, domains):
        path.write_text(to_yaml(domain.name, domain.descriptors), encoding="utf-8")
    seen = Counter()
    with Asked(*files) as ask:
        for _ in range(CALLS):
            domain = rng.choice(domains)
            descriptors = [maker.entries(domain) for _ in range(rng.choice((1, 1, 2, 3, 4)))]
            told, replaced = expected(domain, descriptors)
            response = ask(domain.name, *descriptors)
            assert limits(response) == told, (domain.name, descriptors, replaced)
            over = any(is_over for is_over, _ in told)
            assert response.overall_code == (OVER_LIMIT if over else OK)
            seen.update(over=over, replaced=bool(replaced),
                        limited=any(limit for _, limit in told))
    assert min(seen[name] for name in ("over", "replaced", "limited")) > 20, seen


@pytest.fixture(name="typical", scope="module")
def typical_server():
    with Asked(ROOT / "tests/import/typical/api.yaml") as asked:
        yield asked


def test_a_limit_of_nothing_lets_nothing_pass(typical):
    response = typical("api", [("remote_address", "198.51.100.66")])
    assert response.overall_code == OVER_LIMIT
    assert typical("api", [("remote_address", "198.51.100.67")]).overall_code == OK


def test_unlimited_is_no_limit(typical):
    assert limits(typical("api", [("remote_address", "192.0.2.10")])) == [(False, None)]


def test_a_limit_gives_way_to_a_better_one(typical):
    client, partner, internal = [("client", "c1")], [("client_class", "partner")], \
        [("client_class", "internal")]
    assert limits(typical("api", client)) == [(False, 60)]
    assert limits(typical("api", client, partner)) == [(False, None), (False, 6000)]
    assert limits(typical("api", client, partner, internal)) == [(False, None)] * 3
    assert limits(typical("api", client, internal)) == [(False, None)] * 2


def test_an_empty_value_switches_no_limit_off(tmp_path):
    """A client can send any header empty: whatever counts by it denies, where the reference would
    give it a counter of its own."""
    path = tmp_path / "empty.yaml"
    path.write_text("domain: d\ndescriptors:\n"
                    "  - { key: header, rate_limit: { unit: hour, requests_per_unit: 2 } }\n"
                    "  - { key: shared, value: '*', share_threshold: true, "
                    "rate_limit: { unit: hour, requests_per_unit: 2 } }\n", encoding="utf-8")
    with Asked(path) as ask:
        def codes(key, value, times=3):
            return [ask("d", [(key, value)]).overall_code for _ in range(times)]

        assert codes("header", "a") == [OK, OK, OVER_LIMIT]
        assert codes("header", "") == [OVER_LIMIT] * 3
        assert codes("header", "b") == [OK, OK, OVER_LIMIT]
