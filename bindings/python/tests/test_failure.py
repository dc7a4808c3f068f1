"""A store that fails: an exception from a limit, a decision by policy from a limiter."""

import pickle

import pytest
import sluice

# A ring of this length does not fit into the log area of 1M.
TOO_LONG = 1_000_000

RULES = """
rules:
  - {{name: api, per: user, algorithm: sliding_window_log, capacity: {capacity}, window: 1d,
     on_store_failure: {policy}, resource: /log}}
  - {{name: other, per: user, algorithm: token_bucket, capacity: 5, window: 1d, resource: /bucket}}
"""


@pytest.fixture
def full(store):
    """A limit that has no room for the key of that number: only denied ones are near."""
    limit = store.limit("api", algorithm="sliding_window_log", capacity=2, window=86400)
    for number in range(100_000):
        try:
            assert not limit.decide_batch([f"k{number}"] * 3)[2]
        except sluice.StoreFull:
            return limit, number
    raise AssertionError("it never got full")


def test_a_full_store_is_an_exception(store):
    limit = store.limit("api", algorithm="sliding_window_log", capacity=TOO_LONG, window=60)
    for call in (limit.decide, limit.acquire, lambda key: limit.reserve(key, expires=1)):
        with pytest.raises(sluice.StoreFull) as caught:
            call("u1")
        assert isinstance(caught.value, sluice.StoreError) and caught.value.status == -3
        assert caught.value.text == "the store has no room left that it may take"
    assert limit.peek("u1").remaining == TOO_LONG, "nothing to write, nothing that fails"
    assert store.stats().full >= 3


def test_a_batch_that_failed_in_part_has_every_answer(full):
    limit, count = full
    with pytest.raises(sluice.StoreFull) as caught:
        limit.decide_batch(["k0", f"k{count}", f"k{count - 1}"])
    answers = caught.value.decisions
    assert [one.reason for one in answers] == [
        "rate_limit_exceeded", "store_unavailable", "rate_limit_exceeded"]
    assert [one.status for one in answers] == [0, -3, 0]


@pytest.mark.parametrize("policy", ["allow", "deny"])
def test_a_limiter_answers_by_policy(store, policy):
    limiter = sluice.Limiter.from_text(RULES.format(capacity=TOO_LONG, policy=policy), store=store)
    asked = {"resource": "/log", "user": "u1"}
    for decision in (limiter.decide(**asked), limiter.explain(**asked),
                     limiter.acquire(timeout=5, **asked),
                     limiter.reserve(expires=5, **asked).decision,
                     limiter.decide_batch([asked])[0]):
        assert decision.allowed is (policy == "allow")
        assert (decision.reason, decision.status) == ("store_unavailable", -3)
        assert decision.remaining is None and decision.as_dict()["remaining"] == -1
        assert pickle.loads(pickle.dumps(decision)) == decision


def test_a_limiter_s_batch_that_failed_in_part(store):
    limiter = sluice.Limiter.from_text(RULES.format(capacity=TOO_LONG, policy="deny"), store=store)
    batch = limiter.decide_batch([{"resource": "/bucket", "user": "u1"},
                                  {"resource": "/log", "user": "u1"},
                                  {"resource": "/none"}])
    assert [(one.allowed, one.reason, one.status) for one in batch] == [
        (True, "ok", 0), (False, "store_unavailable", -3), (True, "no_rule", 0)]


def test_what_failed_has_nothing_to_settle_or_refund(store):
    limiter = sluice.Limiter.from_text(RULES.format(capacity=TOO_LONG, policy="allow"), store=store)
    asked = {"resource": "/log", "user": "u1"}
    limiter.refund(limiter.decide(**asked), **asked)
    with limiter.reserve(expires=5, **asked) as reservation:
        assert reservation and reservation.id is None
        reservation.commit(3)


def test_an_error_survives_pickling():
    error = pickle.loads(pickle.dumps(sluice.StoreFull("so full")))
    assert (type(error), error.status, error.text) == (sluice.StoreFull, -3, "so full")
