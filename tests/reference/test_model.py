"""The reference itself: examples worked by hand."""

import pytest

from model import Limiter, read_line
from model_algorithms import short_token_time
from model_rules import duration, fits, normalise

S = 10**6
EPOCH = 1_700_000_000 * S


def limiter(*rules, **sections):
    """A limiter of rules that count globally unless they say otherwise."""
    return Limiter({**sections, "rules": [
        {"name": f"r{number}", "per": "global", **rule} for number, rule in enumerate(rules)]})


def ask(asked, at, cost=1, **more):
    return asked.decide({"at_us": at, "cost": cost, **more})


def brief(decision):
    """allowed, remaining, reset, retry."""
    return tuple(decision[name] for name in (
        "allowed", "remaining", "reset_at_us", "retry_after_us"))


def test_shape_of_a_decision():
    bucket = limiter({"algorithm": "token_bucket", "capacity": 100, "refill_rate": 10,
                      "burst_allowance": "1.5"})
    ask(bucket, EPOCH - 2000, 150)
    assert ask(bucket, EPOCH) == {
        "allowed": False, "rule": "r0", "algorithm": "token_bucket",
        "reason": "rate_limit_exceeded", "limit": 150, "remaining": 0,
        "reset_at_us": 1700000014998000, "retry_after_us": 98000, "delay_us": 0,
        "reset_at": 1700000015, "retry_after": 1}


def test_fixed_window():
    window = limiter({"algorithm": "fixed_window", "capacity": 100, "window": "60s"})
    assert brief(ask(window, 59 * S, 0)) == (True, 100, 59 * S, 0)
    assert brief(ask(window, 59 * S, 100)) == (True, 0, 60 * S, 0)
    assert brief(ask(window, 60 * S - 1)) == (False, 0, 60 * S, 1)
    assert brief(ask(window, 60 * S)) == (True, 99, 120 * S, 0)


def test_fixed_window_from_the_first_request():
    window = limiter({"algorithm": "fixed_window", "capacity": 2, "window": "10s",
                      "align": "first_request"})
    ask(window, 3 * S, 0)
    assert brief(ask(window, 4 * S)) == (True, 1, 14 * S, 0)
    assert brief(ask(window, 13 * S)) == (True, 0, 14 * S, 0)
    assert brief(ask(window, 14 * S - 1)) == (False, 0, 14 * S, 1)
    assert brief(ask(window, 14 * S)) == (True, 1, 24 * S, 0)


def test_sliding_window_log():
    log = limiter({"algorithm": "sliding_window_log", "capacity": 3, "window": "1ms"})
    for at in (0, 100, 200):
        ask(log, at)
    assert brief(ask(log, 500, 2)) == (False, 0, 1200, 600)
    assert brief(ask(log, 999)) == (False, 0, 1200, 1)
    assert brief(ask(log, 1000)) == (True, 0, 2000, 0)
    assert brief(ask(log, 1200, peek=True)) == (True, 2, 2000, 0)


def test_sliding_window_counter():
    counter = limiter({"capacity": 10, "window": "1s"})
    assert brief(ask(counter, 0, 10)) == (True, 0, 2 * S - 100000 + 1, 0)
    assert brief(ask(counter, 1250000, 3)) == (True, 0, 2666667, 0)
    assert brief(ask(counter, 1250000)) == (False, 0, 2666667, 50001)
    assert ask(counter, 1250000)["algorithm"] == "sliding_window_counter"
    # In the next window: 3 left over, ⌊3·(W−e)/W⌋ ≤ 10 − 9 from e = W/3 + 1.
    assert brief(ask(counter, 1250000, 9)) == (False, 0, 2666667, 2333334 - 1250000)


def test_counter_waits_for_the_start_of_the_next_window():
    counter = limiter({"capacity": 5000, "window": "1ms"})
    ask(counter, 0, 5000)
    assert brief(ask(counter, 1000, 0)) == (True, 0, 2000, 0)
    assert brief(ask(counter, 1999, 5000)) == (False, 4995, 2000, 1)


def test_token_bucket():
    bucket = limiter({"algorithm": "token_bucket", "capacity": 100, "window": "60s"})
    assert brief(ask(bucket, 0)) == (True, 99, 600000, 0)
    assert brief(ask(bucket, S, peek=True)) == (True, 100, S, 0)
    assert brief(ask(bucket, S, 100)) == (True, 0, 61 * S, 0)
    assert brief(ask(bucket, S + 599999)) == (False, 0, 61 * S, 1)
    assert brief(ask(bucket, S + 600000)) == (True, 0, 61 * S + 600000, 0)


def test_token_time_rounds_up():
    bucket = limiter({"algorithm": "token_bucket", "capacity": 2, "refill_rate": "0.3"})
    assert brief(ask(bucket, 0, 2)) == (True, 0, 6666667, 0)
    assert brief(ask(bucket, 0, 1)) == (False, 0, 6666667, 3333334)


def test_leaky_bucket_spaces_its_output():
    queue = limiter({"algorithm": "leaky_bucket", "capacity": 3, "refill_rate": 4})
    delays = [ask(queue, 7)["delay_us"] for _ in range(3)]
    assert delays == [0, 250000, 500000]
    denied = ask(queue, 7)
    assert brief(denied) == (False, 0, 750007, 250000) and denied["delay_us"] == 0
    assert ask(queue, 7, 0)["delay_us"] == 750000
    assert ask(queue, 250008, peek=True)["delay_us"] == 499999


def test_cost_above_the_limit_never_passes():
    window = limiter({"algorithm": "fixed_window", "capacity": 3, "window": "1s"})
    ask(window, 5)
    never = ask(window, 5, 4)
    assert brief(never) == (False, 2, S, -1)
    assert never["reason"] == "cost_exceeds_limit" and never["retry_after"] == -1


def test_composition_floors_once():
    rule = {"algorithm": "token_bucket", "capacity": 7, "window": "7s", "adaptive": True,
            "burst_allowance": "1.5", "tiers": {"own": {"capacity": 3, "refill_rate": "0.5"}}}
    made = limiter(rule, tiers={"half": {"scale": "0.5"}, "own": {"scale": 9},
                                "all": {"unlimited": True}}).rules[0]
    assert made.limit_for(None, 0) == (10, 10**9)
    assert made.limit_for("nonesuch", 0) == (10, 10**9)
    assert made.limit_for("half", 0) == (5, 2 * 10**9)
    assert made.limit_for("half", 500) == (7, 16 * 10**8)     # 3.5 · 1.5 · 1.5 = 7.875
    assert made.limit_for("own", 1000) == (9, 1333333334)     # 3 · 1.5 · 2; 0.5 · 1.5
    assert made.limit_for("all", 0) is None


def test_trust_is_floored_to_thousandths():
    asked = limiter({"capacity": 1000, "window": "1s", "adaptive": True})
    line = '{"at_us": 5, "trust_score": 0.0019999, "peek": true}'
    assert asked.decide(read_line(line))["limit"] == 1001


def test_short_token_times():
    assert short_token_time(10**8) == (10**8, True)
    assert short_token_time(65537) == (65537, True)
    assert short_token_time(131071) == (131071, True)
    assert short_token_time(131072) == (131072, False)
    assert short_token_time(131079) == (131076, False)
    assert short_token_time(12048192772) == (45960 << 18, False)


def test_a_rate_cut_to_a_tenth_hands_out_nothing():
    bucket = limiter({"algorithm": "token_bucket", "capacity": 100, "refill_rate": 10,
                      "tiers": {"slow": {"capacity": 100, "refill_rate": 1}}},
                     tiers={"slow": {"scale": 1}})
    ask(bucket, 0, 100)
    assert brief(ask(bucket, 0, tier="slow")) == (False, 0, 100 * S, S)
    assert brief(ask(bucket, S, tier="slow")) == (True, 0, 101 * S, 0)
    # One of a hundred tokens came back; at the old rate that is 9.9 s of debt.
    assert brief(ask(bucket, 2 * S)) == (True, 0, 2 * S + 10 * S, 0)


def test_what_was_counted_carries_over():
    window = limiter({"algorithm": "fixed_window", "capacity": 10, "window": "1s"},
                     tiers={"half": {"scale": "0.5"}})
    ask(window, 0, 8)
    assert brief(ask(window, 1, tier="half")) == (False, 0, S, S - 1)
    assert brief(ask(window, 2)) == (True, 1, S, 0)


@pytest.mark.parametrize("algorithm, believed, repaired", [
    ("fixed_window", (False, 0, 40 * S, 20 * S), (False, 0, 10 * S, 1)),
    ("sliding_window_log", (False, 0, 42 * S, 20 * S), (False, 0, 20 * S - 1, 10 * S)),
])
def test_time_going_back(algorithm, believed, repaired):
    """A state one span ahead is believed; one farther is replaced, full."""
    window = limiter({"algorithm": algorithm, "capacity": 2, "window": "10s"})
    ask(window, 32 * S, 2)
    back = 20 * S if algorithm == "fixed_window" else 22 * S
    assert brief(ask(window, back)) == believed
    assert brief(ask(window, 10 * S - 1)) == repaired
    # The denial saved the repair, so the span's end sets free.
    assert ask(window, 20 * S - 1)["allowed"]


def test_counter_going_back():
    """Two windows ahead is believed; a microsecond more is not."""
    counter = limiter({"capacity": 2, "window": "10s"})
    ask(counter, 32 * S, 2)
    assert brief(ask(counter, 10 * S)) == (False, 0, 45 * S + 1, 30 * S + 1)
    # Full is p = n = 2 in window 0: n has come down to one at 10 s + 1.
    assert brief(ask(counter, 10 * S - 1)) == (False, 0, 15 * S + 1, 2)
    assert not ask(counter, 10 * S)["allowed"]
    assert ask(counter, 10 * S + 1)["allowed"]


def test_bucket_going_back():
    bucket = limiter({"algorithm": "token_bucket", "capacity": 2, "refill_rate": 1})
    ask(bucket, 32 * S, 2)
    assert brief(ask(bucket, 5 * S)) == (False, 0, 7 * S, S)
    assert ask(bucket, 6 * S)["allowed"]


def test_cost_zero_saves_a_repair_and_a_peek_does_not():
    window = limiter({"algorithm": "fixed_window", "capacity": 2, "window": "1s"})
    ask(window, 100 * S, 2)
    before = window.snapshot()
    assert not ask(window, 5 * S, peek=True)["allowed"]
    assert window.snapshot() == before
    assert brief(ask(window, 5 * S, 0)) == (True, 0, 6 * S, 0)
    assert ask(window, 6 * S)["allowed"]


def test_all_or_nothing():
    both = limiter({"algorithm": "fixed_window", "capacity": 5, "window": "1s"},
                   {"algorithm": "fixed_window", "capacity": 1, "window": "10s"},
                   {"algorithm": "fixed_window", "capacity": 1, "window": "10s", "shadow": True})
    assert ask(both, 0)["rule"] == "r1"
    denied = ask(both, 0, explain=True)
    assert (denied["rule"], denied["retry_after_us"]) == ("r1", 10 * S)
    assert [(row["allowed"], row["remaining"], row["shadow"]) for row in denied["rules"]] == [
        (True, 4, False), (False, 0, False), (False, 0, True)]


def test_never_outranks_every_wait_and_ties_go_to_the_first():
    three = limiter({"algorithm": "fixed_window", "capacity": 3, "window": "366d"},
                    {"algorithm": "fixed_window", "capacity": 2, "window": "1s"},
                    {"algorithm": "fixed_window", "capacity": 2, "window": "2s"})
    assert ask(three, 0, 2)["rule"] == "r1"
    assert ask(three, 0, 2)["rule"] == "r0"
    assert ask(three, 0, 3)["rule"] == "r1"


def test_shadow_rules_never_deny():
    tried = limiter({"algorithm": "leaky_bucket", "capacity": 1, "refill_rate": 1, "shadow": True})
    assert ask(tried, 0)["reason"] == "no_rule"
    answer = ask(tried, 0, explain=True)
    assert (answer["allowed"], answer["reason"], answer["remaining"]) == (True, "shadow", -1)
    assert answer["rule"] is answer["limit"] is answer["reset_at_us"] is answer["reset_at"] is None
    assert answer["rules"][0]["retry_after_us"] == S


def test_missing_identity():
    rules = limiter({"capacity": 5, "window": "1s", "per": "user", "on_missing": "deny"},
                    {"capacity": 5, "window": "1s", "per": "ip"})
    answer = ask(rules, 0, 0, user="", explain=True)
    assert brief(answer) == (False, 0, None, -1)
    assert (answer["reason"], answer["limit"], len(answer["rules"])) == ("missing_identity", 5, 1)
    assert ask(rules, 0, user="u")["reason"] == "ok"


def test_tenants_and_addresses():
    rules = limiter({"capacity": 1, "window": "1s", "per": "user"},
                    {"capacity": 3, "window": "1s", "per": "ip"})
    assert ask(rules, 0, tenant="a", user="u", ip="2001:db8::1")["allowed"]
    assert ask(rules, 0, tenant="b", user="u", ip="2001:DB8:0:0:ffff::1")["allowed"]
    assert ask(rules, 0, user="u", ip="2001:db8::2")["rule"] == "r0"
    assert ask(rules, 0, tenant="c", user="u", ip="2001:db8::2")["rule"] == "r1"
    assert ask(rules, 0, ip="::ffff:192.0.2.1")["remaining"] == 2
    assert ask(rules, 0, ip="192.0.2.1")["remaining"] == 1


def test_exemptions():
    rules = limiter({"capacity": 1, "window": "1s"},
                    exempt={"ips": ["10.0.0.0/8"], "users": ["acme/root", "probe"]})
    for whom in ({"ip": "::ffff:10.1.2.3"}, {"tenant": "acme", "user": "root"}, {"user": "probe"}):
        assert ask(rules, 0, 99, **whom)["reason"] == "exempt"
    for whom in ({"ip": "11.1.2.3"}, {"user": "root"}, {"tenant": "acme", "user": "probe"}):
        assert ask(rules, 0, 99, **whom)["reason"] == "cost_exceeds_limit"


def test_unlimited_tier():
    rules = limiter({"capacity": 1, "window": "1s"}, tiers={"all": {"unlimited": True}})
    assert ask(rules, 0, 9, tier="all")["reason"] == "exempt"


def test_burst_guard():
    guarded = limiter({"capacity": 1000, "window": "1h", "algorithm": "fixed_window",
                       "burst_guard": {"window": "10s", "threshold": 2, "penalty": "1m"}})
    reasons = [ask(guarded, at)["reason"] for at in (0, 1, 2, 3)]        # the 3rd warns
    assert reasons == ["ok"] * 4
    assert ask(guarded, 10 * S)["reason"] == ask(guarded, 11 * S)["reason"] == "ok"
    assert ask(guarded, 12 * S, 0)["reason"] == "ok"
    blocked = ask(guarded, 12 * S)
    assert brief(blocked) == (False, 0, 3600 * S, 120 * S)
    assert blocked["reason"] == "burst_blocked"
    assert ask(guarded, 132 * S - 1, 0)["retry_after_us"] == 1
    assert ask(guarded, 131 * S, 1001)["retry_after_us"] == -1
    # A clean slate: the warning is gone with the block.
    assert [ask(guarded, at)["reason"] for at in (132 * S, 132 * S, 132 * S)] == ["ok"] * 3


def test_normal_form_of_resources():
    for spelling in ("/api/videos", "/api//videos/", "/api/./videos?a=/b", "/x/../api/videos",
                     "/api/%76ideos", "/../api/%2e/videos/."):
        assert normalise(spelling) == "/api/videos"
    assert normalise("/a%2Fb") == "/a%2Fb"
    assert normalise("//") == "/"


def test_patterns():
    assert fits("/api/*", "/api") and fits("/api/*", "/api/a/b") and not fits("/api/*", "/apix")
    assert fits("/a/*/c", "/a/b/c") and not fits("/a/*/c", "/a/b/b/c")
    assert fits("api.*", "api.pay.create") and not fits("api.*", "/api")
    assert fits("*", "/") and fits("*", "x.y") and fits("/*", "/")


def test_durations():
    assert [duration(d) for d in ("500ms", "10s", "d", 15)] == [500000, 10 * S, 86400 * S, 15 * S]
