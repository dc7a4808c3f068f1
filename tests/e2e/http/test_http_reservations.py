"""Reservations over HTTP: a cost that is known only afterwards."""

import re
import time

import pytest

from messages import TITLES
from serving import TIMEOUT_S, Server

RULES = """\
tiers: { admin: { unlimited: true } }
rules:
  - { name: u, per: user, algorithm: fixed_window, limit: 1000/365d }
"""


@pytest.fixture(name="server", scope="module")
def running():
    with Server(RULES) as server:
        yield server


def reserve(server, user, cost=500, **more):
    return server.ask("POST", "/v1/reserve", {"user": user, "cost": cost, **more})


def commit(server, reservation, cost):
    return server.ask("POST", "/v1/commit", {"reservation": reservation, "cost": cost})


def cancel(server, reservation):
    return server.ask("POST", "/v1/cancel", {"reservation": reservation})


def left(server, user):
    return server.check({"user": user, "peek": True}).json["remaining"]


def is_problem(answer, status):
    assert (answer.status, answer.headers["Content-Type"]) == (status, "application/problem+json")
    assert (answer.json["title"], answer.json["status"]) == (TITLES[status], status)


def test_a_reservation_is_a_decision_with_an_id(server):
    before_us = time.time_ns() // 1000
    answer = reserve(server, "id", 300)
    after_us = time.time_ns() // 1000
    decision = answer.json
    assert answer.status == 200
    assert list(decision) == ["reservation", "expires_at_us", "allowed", "rule", "algorithm",
                              "reason", "limit", "remaining", "reset_at_us", "retry_after_us",
                              "delay_us", "reset_at", "retry_after"]
    assert re.fullmatch(r"[0-9a-f]{16}-[0-9a-f]{16}", decision["reservation"])
    minute, slack = 60_000_000, 5_000_000
    assert before_us + minute - slack <= decision["expires_at_us"] <= after_us + minute + slack
    assert decision["remaining"] == 700
    assert answer.headers["X-RateLimit-Remaining"] == "700"
    assert left(server, "id") == 700


@pytest.mark.parametrize("real, remaining", [
    (0, 1000), (320, 680), (500, 500), (501, 499), (1000, 0), (1500, 0),
])
def test_a_commit_charges_the_real_cost(server, real, remaining):
    user = f"commit-{real}"
    reservation = reserve(server, user).json["reservation"]
    answer = commit(server, reservation, real)
    assert answer.status == 200
    assert answer.json == {"reservation": reservation, "committed": True, "cost": real}
    assert list(answer.json) == ["reservation", "committed", "cost"]
    assert left(server, user) == remaining


def test_a_commit_may_go_past_the_limit(server):
    one = reserve(server, "past", 600).json["reservation"]
    server.check({"user": "past", "cost": 400})
    assert commit(server, one, 900).status == 200
    assert server.check({"user": "past"}).status == 429


def test_a_cancel_gives_all_of_it_back(server):
    reservation = reserve(server, "cancel").json["reservation"]
    answer = cancel(server, reservation)
    assert (answer.status, answer.json) == (200, {"reservation": reservation, "cancelled": True})
    assert left(server, "cancel") == 1000


def test_it_is_settled_once(server):
    for first in (cancel, lambda server, one: commit(server, one, 5)):
        reservation = reserve(server, "once").json["reservation"]
        assert first(server, reservation).status == 200
        count = left(server, "once")
        is_problem(commit(server, reservation, 9), 404)
        is_problem(cancel(server, reservation), 404)
        assert left(server, "once") == count


def test_a_reservation_that_is_not_settled_comes_back(server):
    answer = reserve(server, "expiry", expires_in=0.05)
    end = time.monotonic() + TIMEOUT_S
    while left(server, "expiry") != 1000:
        assert time.monotonic() < end
    is_problem(commit(server, answer.json["reservation"], 5), 404)
    assert left(server, "expiry") == 1000


@pytest.mark.parametrize("expires_in", [0.001, 1, 60.5, 86400])
def test_an_expiry_may_be_from_a_millisecond_to_a_day(server, expires_in):
    assert reserve(server, "expiry", 1, expires_in=expires_in).status == 200


@pytest.mark.parametrize("more", [
    {"expires_in": 0}, {"expires_in": 0.0009}, {"expires_in": 86400.001}, {"expires_in": 86401},
    {"expires_in": -1}, {"expires_in": "60"}, {"expires_in": True}, {"expires_in": []},
    {"expires_in": 1e300}, {"peek": True}, {"wait": True}, {"explain": True}, {"at_us": 1},
    {"cost": -1}, {"cost": "1"},
])
def test_what_does_not_go_with_a_reservation_is_422(server, more):
    user = f"422-{more}"
    is_problem(reserve(server, user, **{"cost": 1, **more}), 422)
    assert left(server, user) == 1000


@pytest.mark.parametrize("request_, status", [
    ({"user": "null", "cost": 0}, 200), ({"user": "null", "tier": "admin"}, 200), ({}, 200),
    ({"user": "null", "cost": 1001}, 429),
])
def test_where_nothing_is_charged_there_is_no_reservation(server, request_, status):
    answer = server.ask("POST", "/v1/reserve", request_)
    assert answer.status == status
    assert answer.json["reservation"] is None
    assert answer.json["expires_at_us"] is None
    assert ("error" in answer.json) == (status == 429)
    assert left(server, "null") == 1000


def test_a_reservation_is_denied_where_a_request_would_be(server):
    assert reserve(server, "deny", 800).status == 200
    answer = reserve(server, "deny", 300)
    assert (answer.status, answer.json["error"]) == (429, "rate_limit_exceeded")
    assert answer.headers["Retry-After"] == str(answer.json["retry_after"])
    assert answer.json["reservation"] is None
    assert left(server, "deny") == 200


def test_an_unknown_reservation_is_404(server):
    for unknown in ("0000000000000000", "0123456789abcdef", "ffffffffffffffff"):
        is_problem(commit(server, unknown, 1), 404)
        is_problem(cancel(server, unknown), 404)


@pytest.mark.parametrize("call, body", [
    ("commit", {}), ("cancel", {}), ("commit", {"cost": 1}), ("commit", []), ("cancel", []),
    ("commit", {"reservation": "0123456789abcdef"}),
    ("commit", {"reservation": "0123456789abcdef", "cost": -1}),
    ("commit", {"reservation": "0123456789abcdef", "cost": "1"}),
    ("commit", {"reservation": "0123456789abcdef", "cost": 4294967296}),
    ("commit", {"reservation": 123, "cost": 1}), ("commit", {"reservation": None, "cost": 1}),
    ("commit", {"reservation": "0123456789abcde", "cost": 1}),
    ("commit", {"reservation": "0123456789abcdef0", "cost": 1}),
    ("commit", {"reservation": "0123456789abcdeg", "cost": 1}),
    ("commit", {"reservation": " 123456789abcdef", "cost": 1}),
    ("cancel", {"reservation": "0x23456789abcdef"}), ("cancel", {"reservation": True}),
])
def test_a_settlement_of_the_wrong_shape_is_422(server, call, body):
    is_problem(server.ask("POST", f"/v1/{call}", body), 422)


@pytest.mark.parametrize("call", ["reserve", "commit", "cancel"])
def test_these_calls_too_want_json(server, call):
    for body in (b"", b"{", b"user=1"):
        is_problem(server.ask("POST", f"/v1/{call}", body), 400)
    is_problem(server.ask("POST", f"/v1/{call}", b"{}", {"Content-Type": "text/plain"}), 415)


def test_an_array_cannot_be_reserved(server):
    is_problem(server.ask("POST", "/v1/reserve", [{"user": "array"}]), 422)
