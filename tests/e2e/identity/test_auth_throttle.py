"""An address that sends one bad token after another is refused for a while; known tokens pass.

One worker: what was verified before, a worker knows. All clients come through a trusted proxy,
from an address that the test chooses.
"""

import itertools

import pytest

import counting
from counting import WAYS, strangers, used
from serving import Server
from test_jwt import is_refused
from tokens import bearer, key_of, setting

SECRET = key_of("HS256")
MOST = 30
serial = itertools.count()


def new(**claims):
    """A good token that no server has seen."""
    return bearer(SECRET.token({"sub": "u", "jti": str(next(serial)), **claims}))


def bad():
    return bearer(key_of("HS256", "attacker").token({"sub": "u", "jti": str(next(serial))}))


@pytest.fixture(name="server", scope="module")
def with_one_worker(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attempts")
    jwt = setting(folder, {None: SECRET})
    with Server("workers: 1\nidentity:\n  ipv4_prefix: 24\n  ipv6_prefix: 56\n"
                f"  jwt: {jwt}\n{counting.rules('user')}", folder=folder) as server:
        yield server


def ask(server, way, fields=(), address=None, ip=None):
    """One request from this address, for the user. `ip` is in the body of a check."""
    return counting.ask(server, way, "user", fields, address=address, ip=ip)


networks = (f"172.16.{number}" for number in itertools.count())


def exhaust(server, way, address, count=MOST):
    for _ in range(count):
        is_refused(ask(server, way, bad(), address=address), "signature is wrong")


def is_barred(answer):
    assert answer.status == 429, answer.body
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json["title"] == "Too Many Requests"
    assert "RateLimit" not in answer.headers  # it is no rule of the operator's
    return True


@pytest.mark.parametrize("way", WAYS)
def test_after_thirty_bad_tokens_only_known_ones_pass(server, way):
    address = f"{next(networks)}.1"
    known = new(sub=f"known-{way}")
    assert ask(server, way, known, address=address).status == 200
    exhaust(server, way, address)
    count = used(server, "user", "u")
    for other in WAYS:  # it is the address that is barred, not the call
        is_barred(ask(server, other, bad(), address=address))
        is_barred(ask(server, other, new(), address=address))
        assert ask(server, other, known, address=address).status == 200
        assert ask(server, other, address=address).status == 200  # this address is not claimed
    assert used(server, "user", "u") == count
    assert used(server, "user", f"known-{way}") == 3
    assert ask(server, way, new(), address=f"{next(networks)}.1").status == 200


def test_good_tokens_in_between_take_nothing_back(server):
    address = f"{next(networks)}.1"
    for _ in range(MOST):
        exhaust(server, "authorize", address, 1)
        last = ask(server, "authorize", new(), address=address)
    is_barred(last)


def test_tokens_that_are_good_are_not_counted(server):
    address = f"{next(networks)}.1"
    for _ in range(2 * MOST):
        assert ask(server, "authorize", new(), address=address).status == 200


@pytest.mark.parametrize("same, other", [
    ([f"192.0.2.{host}" for host in range(200, 231)], "192.0.3.200"),
    ([f"2001:db8:0:{net:x}::1" for net in range(31)], "2001:db8:0:100::1"),
], ids=["v4", "v6"])
def test_an_address_is_cut_as_the_rules_say(server, same, other):
    for address in same[:MOST]:
        exhaust(server, "authorize", address, 1)
    is_barred(ask(server, "authorize", new(), address=same[MOST]))
    assert ask(server, "authorize", new(), address=other).status == 200


def test_a_token_without_a_signature_to_look_at_counts_too(server):
    address = f"{next(networks)}.1"
    for _ in range(MOST):
        fields = bearer("rubbish")
        is_refused(ask(server, "check", fields, address=address), "three parts")
    is_barred(ask(server, "check", bearer("rubbish"), address=address))


def test_a_reload_forgives_nothing(server):
    address = f"{next(networks)}.1"
    exhaust(server, "authorize", address)
    assert server.ask("POST", "/v1/reload").status == 200
    is_barred(ask(server, "authorize", new(), address=address))


def test_what_a_body_says_of_addresses_counts_by_itself(server):
    """A service that asks for many is not barred for one of them; nor are others that name that
    one."""
    service, rude = f"{next(networks)}.1", next(strangers)
    for _ in range(MOST):
        is_refused(ask(server, "check", bad(), service, rude), "signature is wrong")
    is_barred(ask(server, "check", new(), service, rude))
    assert ask(server, "check", new(), service, next(strangers)).status == 200
    assert ask(server, "check", new(), service).status == 200
    assert ask(server, "check", new(), f"{next(networks)}.1", rude).status == 200
    assert ask(server, "authorize", new(), rude).status == 200
