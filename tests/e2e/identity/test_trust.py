"""Trust: the document's formula, from facts to decisions, also over days.

Where days pass, the server's wall clock is the test's (clocks.py) and stands still while
something is asked, so that every figure is exact.
"""

import random
import time
from fractions import Fraction

import pytest

from admin_api import Caller, dumped
from clocks import DAY, HOUR, MINUTE, US, Clock, Restarted, compiled
from serving import Server
from trust_arithmetic import WEIGHTS, Facts, Life, Weights
from watching import wait_until

RULES = """
workers: 2
store: "memory:limits.slu?size=8M"
tiers: { pro: { scale: 10 } }
rules:
  - { name: one, resource: /one, per: user, algorithm: fixed_window, align: first_request,
      limit: 1/365d }
  - { name: trusted, resource: /trusted, per: user, algorithm: fixed_window, limit: 1000/365d,
      adaptive: true }
"""
OTHER = Weights(Fraction("0.4"), Fraction(10), Fraction("0.25"), Fraction("0.35"), Fraction("0.1"),
                Fraction("0.3"))
MIDNIGHT = (int(time.time()) // DAY + 2) * DAY  # a UTC day begins


@pytest.fixture(name="shim", scope="module")
def compiled_shim(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("shim"))


@pytest.fixture(name="clock")
def clock_at_noon(shim, tmp_path):
    clock = Clock(tmp_path, shim)
    clock.stand(MIDNIGHT + 12 * HOUR)
    return clock


def trust_of(admin, user="u"):
    return admin.get(f"/v1/users/{user}").json["trust"]


def limit_of(admin, user="u", **more):
    body = {"user": user, "resource": "/trusted", "peek": True, **more}
    return admin.post("/v1/check", body, 200).json["limit"]


def deny(admin, user="u"):
    """Counts as often as it takes to be denied."""
    admin.post("/v1/check", {"user": user, "resource": "/one"}, (200, 429))
    admin.post("/v1/check", {"user": user, "resource": "/one"}, 429)


def tell(admin, successes, failures, user="u"):
    body = ([{"user": user, "success": True}] * successes +
            [{"user": user, "success": False}] * failures)
    if body:
        assert admin.post("/v1/outcomes", body).json == {"recorded": len(body)}


# ---- the formula ------------------------------------------------------------------------

# Facts of which none changes while they are looked at: ages far above what earns more.
STEADY = [
    Facts(), Facts(verified=True), Facts(age=400 * DAY), Facts(age=400 * DAY, verified=True),
    Facts(calls=1, successes=1), Facts(calls=1, successes=0), Facts(calls=100, successes=80),
    Facts(calls=3, successes=1), Facts(calls=3, successes=2), Facts(calls=7, successes=3),
    Facts(age=400 * DAY, verified=True, calls=1000, successes=1000),
    Facts(age=400 * DAY, verified=True, calls=1000, successes=999),
    Facts(age=400 * DAY, verified=True, calls=1000, successes=1),
]


@pytest.mark.parametrize("weights", [WEIGHTS, OTHER], ids=["as they are", "others"])
def test_the_score_is_the_documents_and_limits_follow_it(weights):
    with Server(weights.as_yaml() + RULES) as server:
        admin = Caller(server)
        for number, facts in enumerate(STEADY):
            user = f"u{number}"
            body = {"email_verified": facts.verified}
            if facts.age:
                body["created_at"] = time.time() - facts.age - HOUR
            admin.put(f"/v1/users/{user}", body)
            tell(admin, facts.successes, facts.calls - facts.successes, user)
            assert trust_of(admin, user) == weights.shown(facts)
            assert limit_of(admin, user) == int(1000 * (1 + weights.score(facts)))


AGES = [0, US, 1, HOUR, DAY - US, DAY, 36 * HOUR, 109 * DAY, Fraction("109.5") * DAY - US,
        Fraction("109.5") * DAY, 110 * DAY, 365 * DAY, 20_000 * DAY, -1, -DAY]


def test_an_age_is_exact_to_the_microsecond(clock):
    now = MIDNIGHT + 12 * HOUR
    with clock.server(RULES) as server:
        admin = Caller(server)
        for age in AGES:
            created = now - age
            text = f"{int(created)}.{int(created * 1_000_000) % 1_000_000:06d}"
            admin.put("/v1/users/u", b'{"created_at": %s}' % text.encode())
            facts = Facts(age=max(age, 0))
            assert trust_of(admin) == WEIGHTS.shown(facts), age
            assert limit_of(admin) == int(1000 * (1 + WEIGHTS.score(facts)))


def test_a_score_is_floored_once_and_not_part_by_part(clock):
    """Two parts below a thousandth each make one together."""
    with clock.server(RULES) as server:
        admin = Caller(server)
        age = Fraction("0.0006") / Fraction("0.3") * Fraction("109.5") * DAY
        facts = Facts(age=Fraction(int(age * 1_000_000) + 1, 1_000_000), calls=1000, successes=1)
        assert WEIGHTS.score(facts) == Fraction("0.001")
        created = MIDNIGHT + 12 * HOUR - facts.age
        text = f"{int(created)}.{int(created * 1_000_000) % 1_000_000:06d}"
        admin.put("/v1/users/u", b'{"created_at": %s}' % text.encode())
        tell(admin, 1, 999)
        assert trust_of(admin) == WEIGHTS.shown(facts)
        assert limit_of(admin) == 1001


# ---- violations -------------------------------------------------------------------------


def test_a_minute_is_one_violation_however_often(clock):
    with clock.server(RULES) as server:
        admin, start = Caller(server), MIDNIGHT + 12 * HOUR
        for minute in range(6):
            for moment in (0, 1, 30, MINUTE - US):
                clock.stand(start + minute * MINUTE + moment)
                deny(admin)
                assert trust_of(admin) == WEIGHTS.shown(Facts(violations=minute + 1))
        tell(admin, 10, 0)
        assert trust_of(admin)["score"] == 0.3  # 0.5 of success, and 0.2 is the most they cost


def ask_check(admin, **more):
    return admin.post("/v1/check", {"user": "u", "resource": "/one", **more}, (200, 429))


def ask_array(admin):
    return admin.post("/v1/check", [{"user": "u", "resource": "/one"}] * 2, 200)


def ask_reserve(admin):
    return admin.post("/v1/reserve", {"user": "u", "resource": "/one"}, (200, 429))


def ask_authorize(admin):
    return admin.get("/v1/authorize/one", (200, 429), x_user="u")


DENIALS = {
    "a check": (ask_check, 1), "one of an array": (ask_array, 1), "a reservation": (ask_reserve, 1),
    "forward auth": (ask_authorize, 1),
    "a cost above the limit": (lambda admin: ask_check(admin, cost=2), 1),
    "a peek": (lambda admin: ask_check(admin, peek=True), 0),
    "a peek in an array": (lambda admin: admin.post(
        "/v1/check", [{"user": "u", "resource": "/one", "peek": True}]), 0),
    "a shadow rule": (lambda admin: ask_check(admin, resource="/shadow"), 0),
    "nobody": (lambda admin: ask_check(admin, user=None, resource="/all"), 0),
    "somebody else": (lambda admin: ask_check(admin, tenant="t"), 0),
    "what is allowed": (lambda admin: ask_check(admin, resource="/none"), 0),
}


@pytest.mark.parametrize("kind", DENIALS)
def test_what_is_a_violation(kind):
    ask, count = DENIALS[kind]
    more = ("  - { name: shadow, resource: /shadow, per: user, algorithm: fixed_window, "
            "limit: 1/365d, shadow: true }\n"
            "  - { name: all, resource: /all, per: global, algorithm: fixed_window, "
            "limit: 1/365d }\n")
    with Server("identity: { headers: { user: X-User } }\n" + RULES + more) as server:
        admin = Caller(server)
        for tenant in (None, "t"):
            admin.spend(1, user="u", tenant=tenant, resource="/one")
        for resource in ("/shadow", "/all"):
            admin.spend(1, user="first", resource=resource)
        admin.spend(1, user="u", resource="/shadow")
        for _ in range(3):
            ask(admin)
        found = trust_of(admin)["violations"]["count"]
        assert (found >= 1) == (count == 1)  # two, where a minute ended meanwhile
        assert found <= 2


def test_an_exempt_user_violates_nothing(clock):
    with clock.server(RULES) as server:
        admin = Caller(server)
        admin.post("/v1/exemptions", {"kind": "user", "value": "u"})
        admin.spend(5, user="u", resource="/one")
        assert trust_of(admin)["violations"]["count"] == 0


def test_a_violation_is_written_and_survives_a_kill(clock):
    with clock.server(RULES) as server:
        deny(Caller(server))
        database = server.database
        wait_until(lambda: database.exists() and "'u'" in "".join(dumped(database)), "a row of it")
        server.kill()
    with clock.server(RULES) as server:
        admin = Caller(server)
        assert trust_of(admin)["violations"]["count"] == 1
        deny(admin)  # within the same minute
        assert trust_of(admin)["violations"]["count"] == 1
        clock.stand(MIDNIGHT + 12 * HOUR + MINUTE)
        deny(admin)
        assert trust_of(admin)["violations"]["count"] == 2


# ---- days -------------------------------------------------------------------------------


@pytest.mark.parametrize("is_restarted", [False, True])
def test_outcomes_leave_on_the_right_day(clock, is_restarted):
    """Told in a day's first or last microsecond; they count that day and the six after it."""
    life = Life()
    with Restarted(clock, RULES) as servers:
        for moment, successes, failures in ((0, 3, 1), (2 * DAY - US, 0, 2), (2 * DAY, 5, 0)):
            now = MIDNIGHT + moment
            clock.stand(now)
            tell(servers.admin, successes, failures)
            life.called(now, successes, failures)
        for day in range(2, 12):
            for now in (MIDNIGHT + day * DAY, MIDNIGHT + (day + 1) * DAY - US):
                clock.stand(now)
                assert trust_of(servers.admin) == WEIGHTS.shown(life.facts(now)), day
            if is_restarted:
                servers.restart()
    calls = [life.facts(MIDNIGHT + day * DAY).calls for day in range(2, 11)]
    assert calls == [11, 11, 11, 11, 11, 7, 5, 0, 0]


@pytest.mark.parametrize("is_restarted", [False, True])
def test_violations_leave_on_the_right_day(clock, is_restarted):
    life = Life()
    with Restarted(clock, RULES) as servers:
        for now in (MIDNIGHT, MIDNIGHT + DAY - US, MIDNIGHT + DAY, MIDNIGHT + 3 * DAY - US):
            clock.stand(now)
            deny(servers.admin)
            life.was_denied(now)
        for day in (3, 8, 28, 29, 30, 31, 32, 33, 60):
            for now in (MIDNIGHT + day * DAY, MIDNIGHT + (day + 1) * DAY - US):
                clock.stand(now)
                assert trust_of(servers.admin) == WEIGHTS.shown(life.facts(now)), day
            if is_restarted:
                servers.restart()
    counts = [life.facts(MIDNIGHT + day * DAY).violations for day in (29, 30, 31, 32)]
    assert counts == [4, 2, 1, 0]


def test_a_life_of_forty_days(clock):
    """Whatever happens in whatever order, with restarts in between."""
    seed = time.time_ns()
    print(f"SLUICE_SEED={seed}")
    chance = random.Random(seed)
    life = Life(created=Fraction(MIDNIGHT - 50 * DAY), verified=True)
    with Restarted(clock, RULES) as servers:
        servers.admin.put("/v1/users/u", {"created_at": int(life.created), "email_verified": True})
        for day in range(40):
            for moment in sorted(chance.randrange(DAY) for _ in range(chance.randrange(6))):
                now = MIDNIGHT + day * DAY + moment
                clock.stand(now)
                if chance.random() < 0.4:
                    deny(servers.admin)
                    life.was_denied(now)
                else:
                    successes, failures = chance.randrange(9), chance.randrange(4)
                    tell(servers.admin, successes, failures)
                    life.called(now, successes, failures)
                if chance.random() < 0.1:
                    servers.restart()
                facts = life.facts(now)
                assert trust_of(servers.admin) == WEIGHTS.shown(facts)
                assert limit_of(servers.admin) == int(1000 * (1 + WEIGHTS.score(facts)))


def test_a_record_of_violations_alone_ends_after_thirty_days(clock):
    """In the database too; a record stays."""
    def kept():
        return {user for user in ("told", "denied", "recorded")
                for line in dumped(clock.folder / "sluice.db") if f"'{user}'" in line}

    clock.stand(MIDNIGHT)
    with clock.server(RULES) as server:
        admin = Caller(server)
        admin.put("/v1/users/recorded", {"email_verified": True})
        for user in ("told", "recorded"):
            tell(admin, 1, 0, user)
        deny(admin, "denied")
        wait_until(lambda: kept() == {"told", "denied", "recorded"}, "the violation's row")
        clock.stand(MIDNIGHT + 30 * DAY - US)
        admin.put("/v1/users/other", {})
        assert kept() == {"told", "denied", "recorded"}
        clock.stand(MIDNIGHT + 30 * DAY)
        wait_until(lambda: kept() == {"recorded"}, "their end")
        assert [admin.get(f"/v1/users/{user}").json["known"]
                for user in ("told", "denied", "recorded")] == [False, False, True]


def test_days_of_a_running_clock_pass_for_counts_too(clock):
    """The clock of the counts goes ahead as the wall's does: a day's limit is there again."""
    daily = ("  - { name: daily, resource: /daily, per: user, algorithm: fixed_window, "
             "limit: 2/1d }\n")
    clock.go_on()
    with clock.server(RULES + daily) as server:
        admin = Caller(server)
        admin.spend(2, user="u", resource="/daily")
        admin.post("/v1/check", {"user": "u", "resource": "/daily"}, 429)
        for day in range(1, 4):
            clock.go_on(ahead=day * DAY)
            admin.spend(2, user="u", resource="/daily")
            admin.post("/v1/check", {"user": "u", "resource": "/daily"}, 429)
            assert trust_of(admin)["violations"]["count"] == day + 1
