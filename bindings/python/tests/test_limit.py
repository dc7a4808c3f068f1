"""One limit on any key: every algorithm, exactly its limit, and back again."""

import pickle
import threading
import time
from datetime import datetime, timedelta, timezone
from decimal import Decimal

import pytest
import sluice

DAY = timedelta(days=1)

# So slow that nothing comes back during a test; windows that cannot end in one.
NUMBERS = {
    "token_bucket": {"window": DAY},
    "leaky_bucket": {"window": DAY},
    "fixed_window": {"window": DAY, "align": "first_request"},
    "sliding_window_log": {"window": DAY},
    "sliding_window_counter": {"window": 366 * DAY},
}


@pytest.fixture(params=NUMBERS)
def limit(request, store):
    """Five a day, by each algorithm."""
    return store.limit("api", algorithm=request.param, capacity=5, **NUMBERS[request.param])


def passed(limit, key, times):
    return sum(bool(limit.decide(key)) for _ in range(times))


def test_exactly_the_limit_passes(limit):
    assert passed(limit, "u1", 12) == 5


def test_keys_count_apart_and_a_text_is_its_utf8(limit):
    assert passed(limit, "ä\0b", 9) == 5
    assert passed(limit, "ä\0b".encode(), 9) == 0
    assert passed(limit, "ä\0c", 9) == 5
    assert passed(limit, b"\xff\xfe\x00", 9) == 5


def test_a_long_key_is_a_key(limit):
    assert passed(limit, "x" * 100_000, 6) == 5
    assert passed(limit, "x" * 99_999 + "y", 6) == 5


def test_a_cost_is_taken_whole_or_not_at_all(limit):
    assert limit.decide("u1", 3)
    assert not limit.decide("u1", 3)
    assert limit.decide("u1", cost=2).remaining == 0
    assert limit.decide("u1", cost=0)


def test_the_decision_has_the_fields_of_the_json(limit):
    before = datetime.now(timezone.utc)
    decision = limit.decide("u1", 2)
    assert decision.allowed is True and bool(decision)
    assert (decision.rule, decision.reason) == ("api", "ok")
    assert decision.algorithm in NUMBERS
    assert (decision.limit, decision.remaining) == (5, 3)
    assert (decision.cost, decision.status, decision.rules) == (2, 0, None)
    assert decision.retry_after_us == 0 and decision.retry_after == timedelta(0)
    assert decision.delay_us == 0 and decision.delay == timedelta(0)
    assert decision.reset_at.tzinfo is timezone.utc
    assert decision.reset_at_us == (decision.reset_at - datetime(1970, 1, 1, tzinfo=timezone.utc)
                                    ) // timedelta(microseconds=1)
    assert abs(decision.decided_at - before) < timedelta(seconds=5)
    assert decision.decided_at < decision.reset_at
    assert decision.window == timedelta(microseconds=decision.window_us) >= timedelta(seconds=1)


def test_a_denial_says_when_to_come_back(limit):
    passed(limit, "u1", 5)
    denied = limit.decide("u1")
    assert not denied and denied.allowed is False
    assert (denied.reason, denied.remaining, denied.delay_us) == ("rate_limit_exceeded", 0, 0)
    assert timedelta(0) < denied.retry_after <= denied.reset_at - denied.decided_at
    assert denied.retry_after == timedelta(microseconds=denied.retry_after_us)


def test_what_is_above_the_limit_never_passes(limit):
    never = limit.decide("u1", 6)
    assert (never.allowed, never.reason) == (False, "cost_exceeds_limit")
    assert never.retry_after is None and never.retry_after_us is None
    assert never.as_dict()["retry_after"] == never.as_dict()["retry_after_us"] == -1


def test_a_peek_takes_nothing(limit):
    for _ in range(9):
        assert limit.peek("u1").remaining == 5
    assert passed(limit, "u1", 9) == 5
    assert not limit.peek("u1")


def test_a_batch_is_one_by_one(limit):
    keys = [f"u{number % 3}" for number in range(20)] + [b"", b"u0", "ü"]
    batch = limit.decide_batch(keys, cost=2)
    for key in set(keys):
        limit.reset(key)
    singly = [limit.decide(key, cost=2) for key in keys]
    same = ("allowed", "rule", "algorithm", "reason", "limit", "remaining", "cost", "status")
    for name in same:
        assert [getattr(one, name) for one in batch] == [getattr(one, name) for one in singly]
    times = [one.decided_at_us for one in batch]
    assert times == sorted(times), "time does not go back within a batch"


def test_a_batch_takes_any_iterable(limit):
    assert limit.decide_batch([]) == limit.decide_batch(iter(())) == []
    answers = limit.decide_batch("u1" for _ in range(7))
    assert list(map(bool, answers)) == [True] * 5 + [False] * 2


def test_a_large_batch(limit):
    keys = [f"key-{number}".encode() for number in range(300)] * 2
    assert sum(map(bool, limit.decide_batch(keys, cost=3))) == 300


def test_a_refund_gives_back(limit):
    decisions = [limit.decide("u1") for _ in range(5)]
    limit.refund("u1", decisions[4])
    assert limit.peek("u1").remaining == 1
    assert passed(limit, "u1", 9) == 1


def test_a_refund_of_a_part(limit):
    decision = limit.decide("u1", 4)
    limit.refund("u1", decision, cost=3)
    assert limit.peek("u1").remaining == 4
    with pytest.raises(sluice.InvalidArgument, match="more than the 4"):
        limit.refund("u1", decision, cost=5)
    assert limit.peek("u1").remaining == 4


def test_a_refund_of_what_was_not_charged_gives_nothing(limit):
    limit.decide("u1", 5)
    for uncharged in (limit.decide("u1"), limit.peek("u1"), limit.decide("u1", 0)):
        limit.refund("u1", uncharged)
        assert limit.peek("u1").remaining == 0


def test_a_decision_that_was_pickled_can_be_refunded(limit):
    decision = pickle.loads(pickle.dumps(limit.decide("u1", 5)))
    limit.refund("u1", decision)
    assert limit.peek("u1").remaining == 5


def test_a_reset_forgets_one_key(limit):
    passed(limit, "u1", 5), passed(limit, "u2", 5)
    limit.reset("u1")
    assert limit.peek("u1").remaining == 5
    assert not limit.peek("u2")
    limit.reset("never seen")


def test_acquire_without_need_to_wait(limit):
    assert limit.acquire("u1", 4, timeout=0).remaining == 1
    assert limit.acquire("u2").remaining == 4


def test_acquire_denies_at_once_what_would_take_too_long(limit):
    limit.decide("u1", 5)
    before = limit.peek("u1").reset_at
    start = time.monotonic()
    assert not limit.acquire("u1", timeout=20)
    assert not limit.acquire("u1", 6), "never passes, however long one waits"
    assert time.monotonic() - start < 10
    assert abs(limit.peek("u1").reset_at - before) < timedelta(seconds=1), "nothing was charged"


def test_acquire_waits_for_a_token(store):
    limit = store.limit("fast", algorithm="token_bucket", capacity=1, refill_rate=20)
    start = time.monotonic()
    assert all(limit.acquire("u1") for _ in range(4))
    assert time.monotonic() - start >= 0.149


def test_acquire_waits_in_a_leaky_bucket_and_spaces_evenly(store):
    limit = store.limit("even", algorithm="leaky_bucket", capacity=10, refill_rate=50)
    start = time.monotonic()
    for number in range(4):
        assert limit.acquire("u1", timeout=10)
        assert time.monotonic() - start >= number * 0.020 - 0.001


def test_a_leaky_bucket_s_queue_longer_than_the_timeout_is_a_denial(store):
    limit = store.limit("queue", algorithm="leaky_bucket", capacity=10, refill_rate=0.1)
    assert limit.decide("u1", 5)
    before = limit.peek("u1")
    denied = limit.acquire("u1", timeout=10)
    assert not denied and denied.reason == "rate_limit_exceeded" and denied.delay_us == 0
    assert timedelta(seconds=30) < denied.retry_after <= timedelta(seconds=40)
    assert abs(limit.peek("u1").reset_at - before.reset_at) < timedelta(seconds=1)


def test_a_full_leaky_bucket_denies_at_once_what_would_leave_too_late(store):
    """Room comes soon, but at the end of a long queue."""
    limit = store.limit("queue", algorithm="leaky_bucket", capacity=10, refill_rate=0.1)
    assert limit.decide("u1", 10)
    start = time.monotonic()
    denied = limit.acquire("u1", timeout=50)
    assert not denied and denied.retry_after <= timedelta(seconds=10)
    assert time.monotonic() - start < 5


def test_a_full_leaky_bucket_is_waited_for(store):
    limit = store.limit("queue", algorithm="leaky_bucket", capacity=2, refill_rate=20)
    start = time.monotonic()
    assert limit.decide("u1", 2) and limit.acquire("u1", timeout=10)
    assert time.monotonic() - start >= 0.099


def test_an_interrupted_wait_gives_its_place_back(store, monkeypatch):
    limit = store.limit("queue", algorithm="leaky_bucket", capacity=10, refill_rate=Decimal("0.01"))
    limit.decide("u1", 2)

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        limit.acquire("u1")
    assert limit.peek("u1").remaining == 8


def test_a_leaky_bucket_delays(store):
    limit = store.limit("leaky", algorithm="leaky_bucket", capacity=3, refill_rate="0.05")
    delays = [limit.decide("u1").delay for _ in range(3)]
    assert delays[0] == timedelta(0)
    assert timedelta(seconds=30) < delays[2] <= timedelta(seconds=40)


def test_burst_allowance_raises_the_limit(store):
    limit = store.limit("burst", algorithm="token_bucket", capacity=4, window=DAY,
                        burst_allowance="1.5")
    assert limit.peek("u1").limit == 6
    assert passed(limit, "u1", 10) == 6


def test_the_default_is_the_sliding_window_counter(store):
    assert store.limit("x", capacity=1, window=1).decide("u").algorithm == "sliding_window_counter"


def test_limits_of_one_name_share_their_counts_and_others_do_not(store):
    first, second = (store.limit("same", algorithm="token_bucket", capacity=5, window=DAY)
                     for _ in range(2))
    other = store.limit("other", algorithm="token_bucket", capacity=5, window=DAY)
    assert passed(first, "u1", 3) + passed(second, "u1", 9) == 5
    assert passed(other, "u1", 9) == 5


def test_threads_admit_exactly_the_limit(store):
    limit = store.limit("threads", algorithm="token_bucket", capacity=5000, window=60 * DAY)
    admitted = [0] * 4

    def ask(thread):
        for _ in range(2500):
            admitted[thread] += limit.decide("shared").allowed

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(admitted) == 5000


def test_a_decision_cannot_be_changed(limit):
    decision = limit.decide("u1")
    for name in ("allowed", "remaining", "reset_at", "anything"):
        with pytest.raises(AttributeError):
            setattr(decision, name, 1)
    assert not hasattr(decision, "__dict__")


def test_a_decision_outlives_its_store(url):
    with sluice.open(url) as store:
        decision = store.limit("api", capacity=5, window=60).decide("u1")
    assert decision.rule == "api" and "rule='api'" in repr(decision)
    assert pickle.loads(pickle.dumps(decision)) == decision


GOOD = {"name": "api", "capacity": 5, "window": 60, "algorithm": "token_bucket"}


@pytest.mark.parametrize("changes, kind, words", [
    ({"name": ""}, ValueError, "name"),
    ({"name": "a b"}, ValueError, "name"),
    ({"name": "a\0b"}, ValueError, "name"),
    ({"name": "x" * 65}, ValueError, "name"),
    ({"name": 5}, TypeError, "name"),
    ({"name": None}, TypeError, "name"),
    ({"algorithm": "tocken_bucket"}, ValueError, "tocken_bucket"),
    ({"algorithm": ""}, ValueError, "algorithm"),
    ({"algorithm": 1}, TypeError, "algorithm"),
    ({"capacity": 0}, ValueError, "capacity"),
    ({"capacity": -1}, ValueError, "capacity"),
    ({"capacity": 2**63}, ValueError, "capacity"),
    ({"capacity": 2**62}, ValueError, None),
    ({"capacity": 1.5}, TypeError, "capacity"),
    ({"capacity": True}, TypeError, "capacity"),
    ({"capacity": None}, TypeError, "capacity"),
    ({"window": None}, ValueError, "window"),
    ({"window": 0}, ValueError, "window"),
    ({"window": -1}, ValueError, "window"),
    ({"window": 0.1 + 0.2}, ValueError, "microseconds"),
    ({"window": 367 * DAY}, ValueError, "window"),
    ({"window": timedelta(microseconds=999)}, ValueError, "window"),
    ({"window": "1m"}, TypeError, "window"),
    ({"window": None, "algorithm": "fixed_window"}, ValueError, "window"),
    ({"window": 60, "algorithm": "fixed_window", "refill_rate": 1}, ValueError, "refill_rate"),
    ({"refill_rate": "fast"}, ValueError, "refill_rate"),
    ({"refill_rate": 0}, ValueError, "refill_rate"),
    ({"refill_rate": -1}, ValueError, "refill_rate"),
    ({"refill_rate": "150%"}, ValueError, "refill_rate"),
    ({"refill_rate": []}, TypeError, "refill_rate"),
    ({"burst_allowance": "0.5"}, ValueError, "burst_allowance"),
    ({"burst_allowance": 2, "algorithm": "leaky_bucket"}, ValueError, "burst_allowance"),
    ({"align": "monday"}, ValueError, "align"),
    ({"align": "first_request"}, ValueError, None),
    ({"colour": 1}, TypeError, "colour"),
])
def test_a_bad_limit_is_refused_by_name(store, changes, kind, words):
    with pytest.raises(kind, match=words) as caught:
        store.limit(**{**GOOD, **changes})
    if kind is ValueError:
        assert isinstance(caught.value, sluice.InvalidArgument) and caught.value.status == -4


@pytest.mark.parametrize("call, kind, words", [
    (lambda limit: limit.decide(5), TypeError, "key"),
    (lambda limit: limit.decide(None), TypeError, "key"),
    (lambda limit: limit.decide(bytearray(b"x")), TypeError, "key"),
    (lambda limit: limit.decide("\ud800"), ValueError, None),
    (lambda limit: limit.decide("u", -1), ValueError, "cost"),
    (lambda limit: limit.decide("u", 2**32), ValueError, "cost"),
    (lambda limit: limit.decide("u", 1.0), TypeError, "cost"),
    (lambda limit: limit.decide("u", True), TypeError, "cost"),
    (lambda limit: limit.decide("u", "1"), TypeError, "cost"),
    (lambda limit: limit.peek("u", -1), ValueError, "cost"),
    (lambda limit: limit.peek(5), TypeError, "key"),
    (lambda limit: limit.decide_batch("u1"), TypeError, "keys"),
    (lambda limit: limit.decide_batch(b"u1"), TypeError, "keys"),
    (lambda limit: limit.decide_batch(["u1", 5]), TypeError, "key"),
    (lambda limit: limit.decide_batch(["u1"], cost=-1), ValueError, "cost"),
    (lambda limit: limit.decide_batch(5), TypeError, None),
    (lambda limit: limit.refund("u", None), TypeError, "Decision"),
    (lambda limit: limit.refund("u", (True,)), TypeError, "Decision"),
    (lambda limit: limit.refund(5, limit.peek("u")), TypeError, "key"),
    (lambda limit: limit.refund("u", limit.peek("u"), cost=-1), ValueError, "cost"),
    (lambda limit: limit.reset(5), TypeError, "key"),
    (lambda limit: limit.acquire("u", timeout="1"), TypeError, "timeout"),
    (lambda limit: limit.acquire("u", -1), ValueError, "cost"),
    (lambda limit: limit.reserve("u", 1, expires=0), ValueError, "expires"),
    (lambda limit: limit.reserve("u", 1, expires=-1), ValueError, "expires"),
    (lambda limit: limit.reserve("u", 1, expires=86400.000001), ValueError, "expires"),
    (lambda limit: limit.reserve("u", 1, expires=1e-7), ValueError, "expires"),
    (lambda limit: limit.reserve("u", 1, expires="1m"), TypeError, "expires"),
    (lambda limit: limit.reserve("u", 1), TypeError, "expires"),
    (lambda limit: limit.reserve("u", -1, expires=1), ValueError, "cost"),
])
def test_a_bad_argument_is_refused_and_charges_nothing(store, call, kind, words):
    limit = store.limit(**GOOD)
    with pytest.raises(kind, match=words):
        call(limit)
    assert limit.peek("u").remaining == limit.peek("u1").remaining == 5
