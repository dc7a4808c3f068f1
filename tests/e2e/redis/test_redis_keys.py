"""What stands in Redis, as docs say and `redis-cli` shows: names, types, fields and lifetimes.

Every test begins with an empty Redis and ends with a look for keys that would never go.
"""

import hashlib
import json
import re
import time

import pytest

from program import run
from redis_requests import ALGORITHMS, ANY, PATIENT, on, one
from redis_running import Redis, client_of, empty_redis  # noqa: F401

ALL = pytest.mark.parametrize("algorithm", ALGORITHMS)
US, GRACE_S, HOUR = 1_000_000, 60, 3600
SLACK_S = 20  # of a busy machine, between an answer and a look


@pytest.fixture(name="running", scope="module")
def running_redis():
    with Redis() as redis:
        yield redis


@pytest.fixture(name="ask")
def asking(redis, tmp_path):
    """ask(rules, user="u", …): one decision of `sluice check` by these rules."""
    def ask(rules, *options, more="", **attributes):
        path = tmp_path / "rules.yaml"
        path.write_text(on(redis, rules, PATIENT + more), encoding="utf-8")
        words = [word for name, value in attributes.items()
                 for word in (("--attr", f"{name}={value}") if name == "plan" else
                              (f"--{name}", str(value)))]
        done = run("check", "-c", path, "--json", *words, *options)
        assert done.code in (0, 1), done.err
        assert "store_unavailable" not in done.out
        return done.lines[-1]
    return ask


def short(algorithm, limit=10, window=HOUR, name="api", more=""):
    """A rule whose numbers are at hand: a unit of a bucket takes window / limit."""
    return (f"  - {{ name: {name}, per: user, algorithm: {algorithm}, capacity: {limit}, "
            f"window: {window}s{more} }}\n")


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


# ---- names ----------------------------------------------------------------------------------

NAMES = [
    # per, the request, the key
    ("user", {"user": "u1"}, "rl:-:api:{u1}"),
    ("user", {"user": "u1", "tenant": "acme"}, "rl:{acme}:api:u1"),
    ("[user, client]", {"user": "u1", "client": "c1"}, "rl:-:api:{u1:c1}"),
    ("[client, user]", {"user": "u1", "client": "c1", "tenant": "acme"}, "rl:{acme}:api:c1:u1"),
    ("plan", {"plan": "gold", "tenant": "acme"}, "rl:{acme}:api:gold"),
    ("global", {"user": "u1", "tenant": "acme"}, "rl:-:api:{-}"),
    ("global", {}, "rl:-:api:{-}"),
    ("ip", {"ip": "192.0.2.1", "tenant": "acme"}, "rl:-:api:{192.0.2.1}"),
    ("[tenant, ip]", {"ip": "192.0.2.1", "tenant": "acme"}, "rl:{acme}:api:acme:192.0.2.1"),
    ("tenant", {"tenant": "acme"}, "rl:{acme}:api:acme"),
    ("resource", {"resource": "/a//b/"}, "rl:-:api:{/a/b}"),
    ("user", {"user": "u1", "tenant": "-"}, "rl:{%2D}:api:u1"),
    ("user", {"user": "u1", "tenant": "a}b:{c"}, "rl:{a%7Db%3A%7Bc}:api:u1"),
    ("user", {"user": "a:b{c}%d"}, "rl:-:api:{a%3Ab%7Bc%7D%25d}"),
    ("user", {"user": "tab\tline\nend\x01\x7f"}, "rl:-:api:{tab%09line%0Aend%01%7F}"),
    ("user", {"user": "Zoë ☃ /*?[]\\"}, "rl:-:api:{Zoë ☃ /*?[]\\}"),
    ("[user, client]", {"user": "a:b", "client": "c"}, "rl:-:api:{a%3Ab:c}"),
    ("user", {"user": "x" * 256}, f"rl:-:api:{{{'x' * 256}}}"),
    ("user", {"user": "x" * 257}, f"rl:-:api:{{%sha256={digest('x' * 257)}}}"),
    ("user", {"user": "x" * 257, "tenant": "acme"},
     f"rl:{{acme}}:api:%sha256={digest('x' * 257)}"),
]


@pytest.mark.parametrize("per, request_, key", NAMES)
def test_a_key_is_named_as_the_documents_say(ask, db, per, request_, key):
    rule = f"  - {{ name: api, per: {per}, algorithm: fixed_window, limit: 5/365d }}\n"
    assert ask(rule, **request_)["remaining"] == 4
    assert db.keys() == [key]
    assert ask(rule, **request_)["remaining"] == 3
    assert db.keys() == [key]


def test_addresses_that_are_one_are_one_key(ask, db):
    rule = "  - { name: ip, per: ip, algorithm: fixed_window, limit: 5/365d }\n"
    for left, address in ((4, "2001:db8::7"), (3, "2001:DB8:0:0:1::8")):
        assert ask(rule, ip=address)["remaining"] == left
    assert len(db.keys()) == 1
    assert re.fullmatch(r"rl:-:ip:\{2001%3Adb8[^:{}]*\}", db.keys()[0])


@pytest.mark.parametrize("request_, key", [
    ({"user": "u1", "tenant": "acme"}, "rl:acme:api:{u1}"),
    ({"user": "u1"}, "rl:-:api:{u1}"),
    ({"user": "u1", "tenant": "-"}, "rl:%2D:api:{u1}"),
])
def test_the_identifier_can_be_the_hash_tag(ask, db, request_, key):
    assert ask(short("fixed_window"), more="hash_tag: identifier\n", **request_)["allowed"]
    assert db.keys() == [key]


@pytest.mark.parametrize("per, request_, key", [
    ("user", {"user": "u1", "tenant": "acme"}, f"rl:{{acme}}:api:{digest('u1')}"),
    ("user", {"user": "u1"}, f"rl:-:api:{{{digest('u1')}}}"),
    ("user", {"user": "x" * 300}, f"rl:-:api:{{{digest('x' * 300)}}}"),
    ("ip", {"ip": "192.0.2.1"}, f"rl:-:api:{{{digest('192.0.2.1')}}}"),
    ("[tenant, user]", {"user": "a:b", "tenant": "acme"}, f"rl:{{acme}}:api:acme:{digest('a:b')}"),
    ("[user, client]", {"user": "u", "client": "c"}, f"rl:-:api:{{{digest('u')}:{digest('c')}}}"),
    ("global", {}, "rl:-:api:{-}"),
])
def test_identifiers_can_be_digests(ask, db, per, request_, key):
    rule = f"  - {{ name: api, per: {per}, algorithm: fixed_window, limit: 5/365d }}\n"
    assert ask(rule, more="hash_identifiers: true\n", **request_)["allowed"]
    assert db.keys() == [key]


def test_rules_and_tenants_have_keys_of_their_own(ask, db):
    rules = one("a", "fixed_window", 5, resource="/x") + one("b", "token_bucket", 5, resource="/x")
    for tenant in ("t1", "t2"):
        ask(rules, user="u", tenant=tenant, resource="/x")
    assert sorted(db.keys()) == ["rl:{t1}:a:u", "rl:{t1}:b:u", "rl:{t2}:a:u", "rl:{t2}:b:u"]


# ---- types and fields -----------------------------------------------------------------------

KEY = "rl:-:api:{u}"
FIELDS = {"fixed_window": {"algorithm", "window", "count"},
          "sliding_window_counter": {"algorithm", "window", "count", "previous"},
          "token_bucket": {"algorithm", "debt_ns", "last_refill", "token_ns", "tokens"},
          "leaky_bucket": {"algorithm", "debt_ns", "last_refill", "token_ns", "level"}}


def test_a_fixed_window_is_a_hash(ask, db):
    ask(short("fixed_window"), "--times", "3", user="u")
    fields = db.hgetall(KEY)
    assert set(fields) == FIELDS["fixed_window"]
    assert fields["algorithm"] == f"fixed_window/{HOUR * US}"
    assert int(fields["count"]) == 3
    assert int(fields["window"]) % (HOUR * US) == 0
    assert 0 <= time.time() - int(fields["window"]) / US <= HOUR + SLACK_S


def test_a_window_of_the_first_request_is_a_hash(ask, db):
    ask(short("fixed_window", more=", align: first_request"), "--times", "3", user="u")
    fields = db.hgetall(KEY)
    assert set(fields) == FIELDS["fixed_window"]
    assert int(fields["count"]) == 3
    assert abs(time.time() - int(fields["window"]) / US) <= SLACK_S  # its start


def test_a_counter_is_a_hash(ask, db):
    ask(short("sliding_window_counter"), "--times", "3", user="u")
    fields = db.hgetall(KEY)
    assert set(fields) == FIELDS["sliding_window_counter"]
    assert fields["algorithm"] == f"sliding_window_counter/{HOUR * US}"
    assert (int(fields["count"]), int(fields["previous"])) == (3, 0)


def test_a_log_is_a_sorted_set_with_a_member_for_each_unit(ask, db):
    before_us = time.time_ns() // 1000
    ask(short("sliding_window_log"), "--cost", "2", "--times", "3", user="u")
    after_us = time.time_ns() // 1000
    entries = db.zrange(KEY, 0, -1, withscores=True)
    assert db.type(KEY) == "zset"
    assert len(entries) == 6
    assert all(before_us - US <= score <= after_us + US for _, score in entries)


@pytest.mark.parametrize("algorithm, shown, left", [("token_bucket", "tokens", 7),
                                                    ("leaky_bucket", "level", 3)])
def test_a_bucket_is_a_hash_that_people_can_read(ask, db, algorithm, shown, left):
    before_us = time.time_ns() // 1000
    ask(short(algorithm), "--times", "3", user="u")
    fields = db.hgetall(KEY)
    token_ns = HOUR * 10**9 // 10
    assert set(fields) == FIELDS[algorithm] >= {shown}
    assert fields["algorithm"] == algorithm
    assert int(fields["token_ns"]) == token_ns
    assert before_us - US <= int(fields["last_refill"]) <= time.time_ns() // 1000 + US
    assert 3 * token_ns - SLACK_S * 10**9 <= int(fields["debt_ns"]) <= 3 * token_ns
    assert float(fields[shown]) == pytest.approx(left, abs=0.1)


def test_a_burst_guard_has_a_key_of_its_own(ask, db):
    guard = ", burst_guard: { window: 1h, threshold: 2, penalty: 2h }"
    ask(short("fixed_window", more=guard), "--times", "2", user="u", tenant="acme")
    assert sorted(db.keys()) == ["rl:{acme}:api:u", "rl:{acme}:api~guard:u"]
    fields = db.hgetall("rl:{acme}:api~guard:u")
    assert set(fields) == {"guard", "window", "count", "warned_until", "blocked_until"}
    assert (int(fields["count"]), int(fields["warned_until"])) == (2, 0)
    ask(short("fixed_window", more=guard), user="u", tenant="acme")  # one too many: a warning
    fields = db.hgetall("rl:{acme}:api~guard:u")
    assert (time.time() + HOUR) * US < int(fields["warned_until"])


def test_a_guard_blocks_through_redis(ask, db):
    """Over the threshold in two windows: 20 in a run are too many for a millisecond."""
    guard = ", burst_guard: { window: 1ms, threshold: 1, penalty: 1h }"
    rules = short("fixed_window", limit=1000, more=guard)
    for _ in range(2):
        ask(rules, "--times", "20", user="u")
    assert ask(rules, user="u")["reason"] == "burst_blocked"
    assert ask(rules, user="another")["reason"] == "ok"
    assert int(db.hget("rl:-:api~guard:{u}", "blocked_until")) > time.time() * US
    assert db.pttl("rl:-:api~guard:{u}") > HOUR * 1000


# ---- what is written, and what is not -------------------------------------------------------


@ALL
def test_a_peek_and_a_cost_of_nothing_write_nothing(ask, db, algorithm):
    for options in (("--peek",), ("--cost", "0"), ("--peek", "--cost", "3"), ("--cost", "11")):
        ask(short(algorithm), *options, user="u")
        assert db.keys() == []


@ALL
def test_a_denial_changes_nothing(ask, db, algorithm):
    rules = one("api", algorithm, 4, resource=ANY)
    ask(rules, "--cost", "4", user="u")
    before = db.dump(KEY)
    assert not ask(rules, user="u")["allowed"]
    assert db.dump(KEY) == before


def test_numbers_stand_there_in_full(ask, db):
    """No 1.7e+15: what people read are digits, and none is lost."""
    for algorithm in ALGORITHMS:
        ask(short(algorithm, limit=1000, window=80 * 86400, name=algorithm), "--cost", "777",
            user="u")
    for key in db.keys():
        if db.type(key) == "hash":
            numbers = [value for name, value in db.hgetall(key).items() if name != "algorithm"]
            assert all(re.fullmatch(r"\d+", number) for number in numbers), key
        else:
            reply = db.execute_command("ZRANGE", key, "0", "0", "WITHSCORES")
            assert re.match(rf"{80 * 86400 * US}:", reply[0])
            assert len({score for _, score in db.zrange(key, 0, -1, withscores=True)}) == 1


# ---- lifetimes ------------------------------------------------------------------------------


@ALL
@pytest.mark.parametrize("window, more", [(30, ""), (HOUR, ""), (86400, ""),
                                          (HOUR, ", align: first_request")])
def test_a_key_lives_until_it_says_nothing_any_more(ask, db, algorithm, window, more):
    if more and algorithm != "fixed_window":
        pytest.skip("has no align")
    answer = ask(short(algorithm, window=window, more=more), "--times", "3", user="u")
    left_s, now_s = db.pttl(KEY) / 1000, time.time()
    until_reset_s = answer["reset_at_us"] / US - now_s
    most_s = 2 * window if algorithm == "sliding_window_counter" else until_reset_s
    assert until_reset_s + GRACE_S - SLACK_S <= left_s <= most_s + GRACE_S + SLACK_S


@ALL
def test_a_replay_leaves_its_keys_for_an_hour(redis, db, tmp_path, algorithm):
    path = tmp_path / "rules.yaml"
    path.write_text(PATIENT + "rules:\n" + short(algorithm, window=1), encoding="utf-8")
    for at_us in (1_000_000, 1_700_000_000_000_000, 4_000_000_000_000_000):
        done = run("replay", "-c", path, "--store", redis.url(),
                   stdin=json.dumps({"at_us": at_us, "user": "u"}))
        assert (done.code, done.lines[0]["reason"]) == (0, "ok"), done.err
        assert 3500 < db.ttl(KEY) <= 3700
        db.flushall()


@ALL
def test_a_key_that_is_used_lives_on(ask, db, algorithm):
    rules = short(algorithm, window=HOUR)
    ask(rules, user="u")
    first = db.pttl(KEY)
    if algorithm.endswith("bucket"):  # the others have nothing to add within a second
        db.pexpire(KEY, 90_000)  # as if time had passed
    ask(rules, "--cost", "5", user="u")
    assert db.pttl(KEY) > first - SLACK_S * 1000


def test_a_log_whose_entries_have_all_left_keeps_a_lifetime(redis, tmp_path):
    """What empties a sorted set deletes it, and its lifetime too, within the same second."""
    path = tmp_path / "rules.yaml"
    path.write_text(PATIENT + "rules:\n  - { name: api, per: user, limit: 5/100ms, "
                              "algorithm: sliding_window_log }\n", encoding="utf-8")
    trace = "".join(f'{{"at_us": {1_700_000_000_000_000 + at}, "user": "u"}}\n'
                    for at in (0, 150_000, 300_000, 300_001, 999_999, 2_000_000))
    for line in trace.splitlines():
        assert run("replay", "-c", path, "--store", redis.url(), stdin=line).code == 0
        assert redis.keys_without_ttl() == []


# ---- rules that change ----------------------------------------------------------------------


@pytest.mark.parametrize("old", ALGORITHMS)
@pytest.mark.parametrize("new", ALGORITHMS)
def test_another_algorithm_starts_afresh_and_replaces_what_was_stored(ask, db, old, new):
    if old == new:
        pytest.skip("the same")
    assert ask(short(old, limit=5), "--cost", "5", user="u")["remaining"] == 0
    assert ask(short(new, limit=5), "--peek", user="u")["remaining"] == 5
    assert ask(short(new, limit=5), user="u")["remaining"] == 4
    assert ask(short(new, limit=5), user="u")["remaining"] == 3
    assert db.keys() == [KEY]
    assert db.type(KEY) == ("zset" if new == "sliding_window_log" else "hash")
    if db.type(KEY) == "hash":
        assert db.hget(KEY, "algorithm").startswith(new)
        assert set(db.hkeys(KEY)) == FIELDS[new]


@pytest.mark.parametrize("algorithm", ALGORITHMS[:3])
@pytest.mark.parametrize("window", [60, 2 * HOUR])
def test_another_window_starts_afresh(ask, db, algorithm, window):
    assert ask(short(algorithm, limit=5), "--cost", "5", user="u")["remaining"] == 0
    assert ask(short(algorithm, limit=5, window=window), user="u")["remaining"] == 4
    assert ask(short(algorithm, limit=5, window=window), user="u")["remaining"] == 3
    assert db.keys() == [KEY]


@ALL
def test_another_capacity_carries_over_what_was_counted(ask, algorithm):
    """6 are counted. The windows are long: nothing comes back meanwhile."""
    def left(limit, *options):
        numbers = f"capacity: {limit}, window: 365d"
        if algorithm.endswith("bucket"):  # the same rate: another one would round
            numbers = f"capacity: {limit}, refill_rate: 0.000004"
        rule = f"  - {{ name: api, per: user, algorithm: {algorithm}, {numbers} }}\n"
        return ask(rule, *options, user="u")["remaining"]

    assert left(10, "--cost", "6") == 4
    assert left(20, "--peek") == 14
    assert left(7, "--peek") == 1
    assert left(3, "--peek") == 0
    assert left(20) == 13
    assert left(10, "--peek") == 3


@pytest.mark.parametrize("algorithm", ALGORITHMS[3:])
def test_another_rate_carries_over_the_tokens(ask, algorithm):
    """An empty bucket of 100 whose rate is cut to a tenth stays empty, and so at ten times it."""
    def rule(rate):
        return (f"  - {{ name: api, per: user, algorithm: {algorithm}, capacity: 100, "
                f"refill_rate: {rate} }}\n")

    assert ask(rule("0.001"), "--cost", "100", user="u")["remaining"] == 0
    assert ask(rule("0.0001"), "--peek", user="u")["remaining"] == 0
    assert ask(rule("0.01"), "--peek", user="u")["remaining"] == 0
    assert not ask(rule("0.0001"), user="u")["allowed"]
    assert ask(rule("0.01"), "--peek", user="u")["remaining"] == 0
