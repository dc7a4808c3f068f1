"""The worked examples of the documents that Sluice was designed from.

Each test is named after a document's claim. Where a document is wrong, the test
has the right value and a comment says what was written there. Times are seconds
from the start of an aligned day, so that windows of every length start at 0.

    SLUICE   the program (build/sluice)
"""

import json
import os
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SLUICE = str(ROOT / os.environ.get("SLUICE", "build/sluice"))
MIDNIGHT = 1_700_006_400   # 2023-11-15T00:00:00Z
US = 10**6


def at(seconds):
    """Microseconds of an instant; text where a decimal must be exact."""
    return int((MIDNIGHT + Fraction(str(seconds))) * US)


@pytest.fixture(name="replay")
def make_replay(tmp_path):
    """replay(rule or rules, requests): the decisions.  A request is (seconds,
    cost), or (seconds, {its other fields}), or seconds alone."""
    def replay(rules, requests):
        rules = rules if isinstance(rules, list) else [rules]
        file = tmp_path / "rules.yaml"      # JSON is YAML
        file.write_text(json.dumps({"rules": [
            {"name": f"rule{number}", "per": "global", **rule}
            for number, rule in enumerate(rules)]}), encoding="utf-8")
        trace = "".join(json.dumps(full(request)) + "\n" for request in requests)
        done = subprocess.run([SLUICE, "replay", "-c", file, "-"], input=trace, text=True,
                              timeout=60, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]
    return replay


def full(request):
    seconds, more = request if isinstance(request, tuple) else (request, {})
    more = more if isinstance(more, dict) else {"cost": more}
    return {"at_us": at(seconds), **more}


def passed(decisions):
    return [decision["allowed"] for decision in decisions]


def left(decisions):
    return [decision["remaining"] for decision in decisions]


PEEK = {"peek": True}


# ---- token bucket ----------------------------------------------------------

TOKENS_100_PER_60S = {"algorithm": "token_bucket", "capacity": 100, "window": 60}
TOKENS_100_AT_10 = {"algorithm": "token_bucket", "capacity": 100, "refill_rate": 10}


def test_100_tokens_60_second_window(replay):
    # "1 s: 99.67 tokens": 99 + 1.67 is capped at 100. "30 s: 50 tokens": nothing
    # has spent the others, so it is full then too.
    decisions = replay(TOKENS_100_PER_60S, [0, 1, 30, 60])
    assert passed(decisions) == [True] * 4
    assert left(decisions) == [99, 99, 99, 99]


def test_an_emptied_bucket_has_50_tokens_at_30s_and_100_at_60s(replay):
    # What the document's 50 and 100 are right for.
    decisions = replay(TOKENS_100_PER_60S, [(0, 100), (30, PEEK), (60, PEEK), 60])
    assert left(decisions) == [0, 50, 100, 99]


def test_first_100_requests_pass_immediately_then_10_per_second(replay):
    tenths = [Fraction(n, 10) for n in range(1, 31)]
    requests = [0] * 101 + [time for tenth in tenths for time in (tenth, tenth)]
    verdicts = passed(replay(TOKENS_100_AT_10, requests))
    assert verdicts == [True] * 100 + [False] + [True, False] * 30


def test_refill_every_100_ms(replay):
    decisions = replay(TOKENS_100_AT_10, [(0, 100), ("0.099999", 1), ("0.1", 1)])
    assert passed(decisions) == [True, False, True]
    assert decisions[1]["retry_after_us"] == 1


def test_sustain_100_a_minute_but_burst_up_to_150(replay):
    rule = {**TOKENS_100_PER_60S, "burst_allowance": 1.5}
    requests = [(0, 150), 0] + [(second, 5) for second in range(3, 61, 3)] + [60]
    assert passed(replay(rule, requests)) == [True, False] + [True] * 20 + [False]


def test_reset_is_when_the_bucket_refills_to_capacity(replay):
    spent, denied, before, full_again = replay(
        TOKENS_100_AT_10, [(0, 100), 0, ("9.999999", PEEK), (10, PEEK)])
    # On a denial the document has now + retry; here reset has one meaning.
    assert spent["reset_at_us"] == denied["reset_at_us"] == at(10)
    assert (before["remaining"], full_again["remaining"]) == (99, 100)


def test_a_fraction_of_a_token_is_no_token(replay):
    # "tokens > 0" would let the second pass on half a token.
    decisions = replay(TOKENS_100_AT_10, [(0, 100), "0.05", "0.1"])
    assert passed(decisions) == [True, False, True]
    assert decisions[1]["retry_after_us"] == 50000
    assert decisions[1]["retry_after"] == 1     # whole seconds, rounded up


def test_a_token_bucket_slower_than_its_window_is_not_forgotten(replay):
    # The document keeps it for one window only; it then came back full.
    rule = {"algorithm": "token_bucket", "capacity": 5, "refill_rate": 0.01, "window": 60}
    assert left(replay(rule, [(0, 5), (61, PEEK), (200, PEEK)])) == [0, 0, 2]


def test_several_tokens_are_requested_at_once(replay):
    decisions = replay(TOKENS_100_AT_10, [(0, 60), (0, 41), (0, 40), (1, 10), (1, 1)])
    assert passed(decisions) == [True, False, True, True, False]
    assert decisions[1]["remaining"] == 40      # a denied one took nothing


# ---- the four configurations -----------------------------------------------

OAUTH_TOKEN = {"resource": "/oauth/token", "per": "client", "algorithm": "token_bucket",
               "capacity": 5, "refill_rate": 0.083, "window": 60, "burst_allowance": 1.0}
API = {"resource": "/api/*", "per": "user", "algorithm": "token_bucket",
       "capacity": 100, "refill_rate": 10, "window": 60, "burst_allowance": 1.5}
OAUTH_DEVICE = {"resource": "/oauth/device", "per": "ip", "algorithm": "token_bucket",
                "capacity": 10, "refill_rate": 0.033, "window": 60, "burst_allowance": 1.0}
PUBLIC = {"resource": "/public/*", "per": "ip", "algorithm": "token_bucket",
          "capacity": 1000, "refill_rate": 100, "window": 60, "burst_allowance": 2.0}
FOUR = [OAUTH_TOKEN, API, OAUTH_DEVICE, PUBLIC]
CALLER = {"client": "c1", "user": "u1", "ip": "192.0.2.1"}


@pytest.mark.parametrize("resource, limit, retry_us", [
    ("/oauth/token", 5, 12_048_193),        # 1 / 0.083 s
    ("/api/videos", 150, 100_000),
    ("/oauth/device", 10, 30_303_031),      # 1 / 0.033 s
    ("/public/index.html", 2000, 10_000)])
def test_limits_of_the_four_configurations(replay, resource, limit, retry_us):
    asked = {"resource": resource, **CALLER}
    full_bucket, one_more = replay(FOUR, [(0, {**asked, "cost": limit}), (0, asked)])
    assert (full_bucket["allowed"], full_bucket["limit"], full_bucket["remaining"]) \
        == (True, limit, 0)
    assert (one_more["allowed"], one_more["retry_after_us"]) == (False, retry_us)


@pytest.mark.parametrize("rule, resource, a_minute", [
    (API, "/api/videos", 600), (PUBLIC, "/public/index.html", 6000)])
def test_requests_per_minute(replay, rule, resource, a_minute):
    asked = {"resource": resource, **CALLER}
    burst = int(rule["capacity"] * rule["burst_allowance"])
    seconds = [(second, {**asked, "cost": a_minute // 60}) for second in range(1, 61)]
    verdicts = passed(replay(rule, [(0, {**asked, "cost": burst}), *seconds, (60, asked)]))
    assert verdicts == [True] * 61 + [False]


@pytest.mark.parametrize("rule, resource, minutes, passing", [
    # "5 requests per minute" is 4.98 of them, "2 requests per minute" 1.98: the
    # last of each round number comes a little after its minutes.
    (OAUTH_TOKEN, "/oauth/token", 1, 4), (OAUTH_TOKEN, "/oauth/token", "1.01", 5),
    (OAUTH_DEVICE, "/oauth/device", 5, 9), (OAUTH_DEVICE, "/oauth/device", "5.06", 10)])
def test_slow_requests_per_minute(replay, rule, resource, minutes, passing):
    asked = {"resource": resource, **CALLER}
    later = Fraction(str(minutes)) * 60
    decisions = replay(rule, [(0, {**asked, "cost": rule["capacity"]}),
                              (later, {**asked, **PEEK})])
    assert decisions[1]["remaining"] == passing


def test_oauth_token_endpoint_is_strict(replay):
    asked = {"resource": "/oauth/token", "client": "c1"}
    other = {"resource": "/oauth/token", "client": "c2"}
    requests = [(0, asked)] * 6 + [(0, other), ("12.048192", asked), ("12.048193", asked)]
    verdicts = passed(replay(FOUR, requests))
    assert verdicts == [True] * 5 + [False, True, False, True]


def test_one_bucket_for_all_of_api(replay):
    # The documents make the key of the concrete path: varying it would win.
    decisions = replay(API, [(0, {"resource": f"/api/{n}", "user": "u1"}) for n in range(151)])
    assert passed(decisions) == [True] * 150 + [False]


def test_no_rate_limit_configured_allows(replay):
    decision, = replay(FOUR, [(0, {"resource": "/about", **CALLER})])
    assert decision == {
        "allowed": True, "rule": None, "algorithm": None, "reason": "no_rule", "limit": None,
        "remaining": -1, "reset_at_us": None, "retry_after_us": 0, "delay_us": 0,
        "reset_at": None, "retry_after": 0}


# ---- sliding window log ----------------------------------------------------

LOG_100 = {"algorithm": "sliding_window_log", "capacity": 100, "window": 60}


def test_100_requests_60_second_sliding_window(replay):
    # One at 0 s and at 1 s, 47 more until 30 s, the 50th there.
    first_49 = [0, 1] + [Fraction(n, 2) for n in range(4, 51)]
    decisions = replay(LOG_100, [*first_49, 30, 61])
    assert left(decisions)[:2] == [99, 98]
    assert decisions[49]["remaining"] == 50
    # "61 s: 0 s removed, 49 remaining". The one at 1 s is a whole window old and
    # has left too, by the document's own code; and 48 + 1 of 100 leave 51.
    assert decisions[50]["remaining"] == 51


def test_a_request_counts_for_exactly_one_window(replay):
    decisions = replay(LOG_100, [(0, 100), ("59.999999", 1), (60, 1)])
    assert passed(decisions) == [True, False, True]


def test_retry_is_until_the_oldest_leaves_not_a_whole_window(replay):
    denied = replay(LOG_100, [(0, 1), (20, 99), (30, 1), (30, 2)])[2:]
    assert [decision["retry_after_us"] for decision in denied] == [30 * US, 50 * US]


def test_two_requests_in_one_instant_are_two(replay):
    # With the time as the member of a set they were one.
    assert left(replay(LOG_100, [0, 0, 0])) == [99, 98, 97]


def test_sliding_window_of_3_keeps_those_younger_than_60_s(replay):
    rule = {"algorithm": "sliding_window_log", "capacity": 3, "window": 60}
    verdicts = passed(replay(rule, [50, 55, 59, 61, 109, 110, 110, 115]))
    assert verdicts == [True, True, True, False, False, True, False, True]


# ---- fixed window ----------------------------------------------------------

FIXED_100 = {"algorithm": "fixed_window", "capacity": 100, "window": 60}


def test_100_requests_60_second_fixed_window(replay):
    decisions = replay(FIXED_100, [0, (20, 49), 30, (50, 48), 59, "59.999999", 60])
    assert passed(decisions) == [True] * 5 + [False, True]
    assert decisions[0]["remaining"] == 99
    assert decisions[2]["remaining"] == 49      # request 51
    assert decisions[4]["remaining"] == 0       # request 100
    # "60 s: request 101 denied": 60 s is the next window, whose first it is.
    assert decisions[6]["remaining"] == 99


def test_retry_of_a_fixed_window_is_never_zero(replay):
    # Rounded down it was "retry after 0 s" in a window's last second.
    denied = replay(FIXED_100, [(0, 100), "59.5"])[1]
    assert (denied["retry_after_us"], denied["retry_after"]) == (500_000, 1)


def test_timestamp_1740345672_is_in_bucket_29005761(replay):
    assert 1740345672 // 60 == 29005761
    seconds = 1740345672 - MIDNIGHT
    decision, = replay(FIXED_100, [seconds])
    assert decision["reset_at"] == (29005761 + 1) * 60


def test_100_at_the_end_and_100_at_the_start_are_200_in_a_second(replay):
    requests = [("59.5", 100), ("59.9", 1), (60, 100), ("60.4", 1)]
    assert passed(replay(FIXED_100, requests)) == [True, False, True, False]


# ---- the boundary: 95 within 12:00:55-12:01:00, 98 within 12:01:00-12:01:05 --

NOON = 12 * 3600
BURST_95 = [NOON + 55 + Fraction(n, 19) for n in range(95)]
BURST_98 = [NOON + 60 + Fraction(n, 20) for n in range(98)]


def test_a_fixed_window_lets_95_and_98_pass_in_ten_seconds(replay):
    decisions = replay(FIXED_100, BURST_95 + BURST_98 + [NOON + 90, NOON + 91, NOON + 92])
    assert passed(decisions) == [True] * 193 + [True, True, False]


def test_a_log_lets_5_pass_after_the_95(replay):
    decisions = replay(LOG_100, BURST_95 + BURST_98)
    assert passed(decisions) == [True] * 100 + [False] * 93


def test_a_sliding_counter_lets_few_more_pass_after_the_95(replay):
    # 5 at once, and then as 95 weighs less: by 4.85 s it is ⌊95·55.15/60⌋ = 87.
    rule = {"algorithm": "sliding_window_counter", "capacity": 100, "window": 60}
    verdicts = passed(replay(rule, BURST_95 + BURST_98))
    assert verdicts[:101] == [True] * 101       # ⌊95·(1 − e/60)⌋ = 94 soon after 0
    assert verdicts[95:].count(True) == 13


# ---- sliding window counter ------------------------------------------------

COUNTER_100 = {"algorithm": "sliding_window_counter", "capacity": 100, "window": 60}


def test_84_half_weighted_and_42_leave_16(replay):
    decisions = replay(COUNTER_100, [(0, 84), (90, 42), (90, PEEK), 90])
    assert left(decisions[2:]) == [16, 15]      # then one is taken
    assert passed(decisions) == [True] * 4


def test_weighted_count_at_the_limit_rejects(replay):
    decisions = replay(COUNTER_100, [(0, 84), (90, 58), 90])
    assert left(decisions) == [16, 0, 0]        # 84·0.5 + 58 = 100
    assert passed(decisions) == [True, True, False]


def test_weight_at_75_seconds_is_three_quarters(replay):
    # Previous 80 · 0.75 + current 10 = 70.
    decisions = replay(COUNTER_100, [(0, 80), (75, 10), (75, PEEK)])
    assert decisions[2]["remaining"] == 30


def test_weight_is_all_at_the_start_and_none_at_the_end(replay):
    peeks = [(60, PEEK), (90, PEEK), (105, PEEK), (120, PEEK)]
    assert left(replay(COUNTER_100, [(0, 80), *peeks])[1:]) == [20, 60, 80, 100]


def test_retry_of_the_counter_is_exact(replay):
    # The document waits for the window's end. That is too long where the previous
    # count only has to weigh a little less: at 66 s it is ⌊100·54/60⌋ + 10 = 100.
    too_long = replay(COUNTER_100, [(0, 100), (66, 10), 66, "66.000001"])
    assert [d["retry_after_us"] for d in too_long] == [0, 0, 1, 0]
    # And too short where the window just ending still weighs all.
    too_short = replay(COUNTER_100, [(0, 100), 59, 60, "60.000001"])
    assert [d["retry_after_us"] for d in too_short] == [0, US + 1, 1, 0]


# ---- email and IP ----------------------------------------------------------

PER_EMAIL_AND_IP = {"per": ["email", "ip"], "algorithm": "fixed_window", "limit": "3/m"}
ALICE = {"email": "alice@example.com", "ip": "192.0.2.1"}


def test_three_per_minute_per_email_and_ip(replay):
    # The key lives for 60 s from the first request on: `align: first_request`.
    rule = {**PER_EMAIL_AND_IP, "align": "first_request"}
    times = [20, 30, 40, 50, 60, "79.999999", 80]
    decisions = replay(rule, [(time, ALICE) for time in times])
    assert passed(decisions) == [True, True, True, False, False, False, True]
    assert decisions[3]["retry_after"] == 30


def test_if_the_minute_has_changed_the_counter_starts_again(replay):
    # The same document's other description: the clock's minutes, `align: epoch`.
    decisions = replay(PER_EMAIL_AND_IP, [(time, ALICE) for time in [20, 30, 40, 50, 60]])
    assert passed(decisions) == [True, True, True, False, True]


def test_email_and_ip_make_one_identifier(replay):
    others = [{**ALICE, "ip": "192.0.2.2"}, {**ALICE, "email": "bob@example.com"}]
    decisions = replay(PER_EMAIL_AND_IP, [(0, {**ALICE, "cost": 3}), (0, ALICE),
                                          *((0, other) for other in others)])
    assert passed(decisions) == [True, False, True, True]


def test_3_at_the_end_of_a_minute_and_3_at_the_start_of_the_next(replay):
    requests = [(time, ALICE) for time in [59, 59, 59, 59, 60, 60, 60, 60]]
    assert passed(replay(PER_EMAIL_AND_IP, requests)) == ([True] * 3 + [False]) * 2


# ---- trust -----------------------------------------------------------------

ADAPTIVE = {**TOKENS_100_AT_10, "per": "user", "adaptive": True}


@pytest.mark.parametrize("score, capacity, token_us", [
    # capacity · (1 + s), and one token at rate · (1 + s/2)
    (0, 100, 100_000),
    (0.5, 150, 80_000),         # 12.5 a second
    (1, 200, 66_667),           # 15 a second, rounded up
    (0.333, 133, 85_727),       # 133.3, rounded down; 11.665 a second
    # the parts of a score: age + email + success − violations
    (0.3, 130, 86_957),         # a year old and nothing else: at most 0.3
    (0.7, 170, 74_075),         # 0.1 for 36.5 days, + 0.2 verified + 0.5 · 0.9 − 0.05
    (0.8, 180, 71_429)])        # 0.3 + 0.2 + 0.5 − 0.2: five violations count as four
def test_trust_score_raises_capacity_and_half_as_much_the_rate(replay, score, capacity, token_us):
    asked = {"user": "u1", "trust_score": score}
    spent, denied = replay(ADAPTIVE, [(0, {**asked, "cost": capacity}), (0, asked)])
    assert (spent["allowed"], spent["limit"]) == (True, capacity)
    assert (denied["allowed"], denied["retry_after_us"]) == (False, token_us)


def test_an_unknown_user_has_no_trust(replay):
    decision, = replay(ADAPTIVE, [(0, {"user": "u1"})])
    assert decision["limit"] == 100


# ---- burst detection: 50 in 10 seconds, 5 minutes --------------------------

GUARDED = {**FIXED_100, "per": "user", "capacity": 1000, "window": "1h", "burst_guard": {}}
USER = {"user": "u1"}


def burst(seconds, count):
    return [(seconds, USER)] * count


def reasons(decisions):
    return [decision["reason"] for decision in decisions]


def test_50_in_10_seconds_are_normal(replay):
    requests = [request for window in range(5) for request in burst(window * 10, 50)]
    assert reasons(replay(GUARDED, requests)) == ["ok"] * 250


def test_first_offense_is_a_warning_and_goes_on(replay):
    # However many there are: the document blocks the 52nd, so that its warning
    # is of no use. Here only a later window escalates.
    assert reasons(replay(GUARDED, burst(0, 80))) == ["ok"] * 80


def test_second_offense_is_blocked_for_twice_the_penalty(replay):
    decisions = replay(GUARDED, burst(0, 51) + burst(10, 51))
    assert reasons(decisions) == ["ok"] * 101 + ["burst_blocked"]
    assert decisions[-1]["retry_after_us"] == 600 * US


def test_a_block_denies_everything_until_it_ends(replay):
    # The document's block is never looked at while below the threshold.
    later = [(300, USER), ("609.999999", USER), (610, USER)]
    decisions = replay(GUARDED, burst(0, 51) + burst(10, 51) + later)[-3:]
    assert reasons(decisions) == ["burst_blocked", "burst_blocked", "ok"]
    assert decisions[1]["retry_after_us"] == 1


def test_a_warning_is_forgotten_after_the_penalty(replay):
    again = replay(GUARDED, burst(0, 51) + burst(300, 60))
    assert set(reasons(again)) == {"ok"}
    # Then in force again, from the 51st of that burst on.
    third = replay(GUARDED, burst(0, 51) + burst(300, 51) + burst(590, 51))
    assert reasons(third)[-1] == "burst_blocked"


# ---- leaky bucket, and which algorithm for what ----------------------------

def test_leaky_bucket_makes_bursty_input_smooth(replay):
    rule = {"algorithm": "leaky_bucket", "capacity": 8, "refill_rate": 4}
    times = ["0"] * 4 + ["0.1", "0.3"] + ["0.6"] * 2
    decisions = replay(rule, times)
    leaves = [at(time) + decision["delay_us"] for time, decision in zip(times, decisions)]
    assert leaves == [at(Fraction(n, 4)) for n in range(8)]


def test_a_full_leaky_bucket_rejects(replay):
    rule = {"algorithm": "leaky_bucket", "capacity": 8, "refill_rate": 4}
    denied = replay(rule, [(0, 8), 0])[1]
    assert (denied["allowed"], denied["retry_after_us"], denied["delay_us"]) == (False, 250_000, 0)


def test_the_default_algorithm_is_the_sliding_window_counter(replay):
    decision, = replay({"limit": "100/m"}, [0])
    assert decision["algorithm"] == "sliding_window_counter"


def test_global_fixed_window_per_second_of_500k(replay):
    rule = {"algorithm": "fixed_window", "capacity": 500_000, "window": "1s"}
    decisions = replay(rule, [(0, 499_999), "0.5", "0.999999", 1])
    assert passed(decisions) == [True, True, False, True]


def test_daily_quota_ends_at_midnight(replay):
    rule = {"per": "tenant", "algorithm": "fixed_window", "capacity": 1000, "window": "24h"}
    acme = {"tenant": "acme"}
    decisions = replay(rule, [(0, {**acme, "cost": 1000}), (3600, acme), (86400, acme)])
    assert passed(decisions) == [True, False, True]
    assert decisions[1]["retry_after"] == 23 * 3600


def test_gateway_and_service_layers_apply_together(replay):
    layers = [
        {"algorithm": "fixed_window", "capacity": 500_000, "window": "1s"},
        {"per": "ip", "algorithm": "fixed_window", "capacity": 600, "window": "1m"},
        {"per": "tenant", "algorithm": "sliding_window_counter", "capacity": 400, "window": "1m"},
        {"per": "user", "algorithm": "token_bucket", "capacity": 100, "refill_rate": 10},
        {"per": "endpoint", "algorithm": "sliding_window_counter", "capacity": 90, "window": "1m"}]
    asked = {"ip": "192.0.2.1", "tenant": "acme", "user": "u1", "resource": "/api/videos"}
    one, denied = replay(layers, [(0, {**asked, "cost": 90, "explain": True}),
                                  (0, {**asked, "explain": True})])
    assert [row["remaining"] for row in one["rules"]] == [499_910, 510, 310, 10, 0]
    assert one["rule"] == denied["rule"] == "rule4"
    # Denied by one, charged to none.
    assert [row["remaining"] for row in denied["rules"]] == [499_910, 510, 310, 10, 0]
