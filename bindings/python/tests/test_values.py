"""Python's values become the library's exactly, or are refused."""

from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
import sluice
from sluice import _values

EXACT = [
    (1, 1_000_000),
    (0, 0),
    (60.0, 60_000_000),
    (0.1, 100_000),
    (1e-6, 1),
    (0.000001, 1),
    (2.5, 2_500_000),
    (Decimal("0.000001"), 1),
    (Decimal("1E+3"), 1_000_000_000),
    (Fraction(1, 8), 125_000),
    (timedelta(microseconds=1), 1),
    (timedelta(days=366), 31_622_400_000_000),
    (timedelta(hours=1, microseconds=7), 3_600_000_007),
]


@pytest.mark.parametrize("seconds, us", EXACT)
def test_seconds_become_microseconds_exactly(seconds, us):
    assert _values.exact_us(seconds, "window") == us


@pytest.mark.parametrize("seconds", [
    0.1 + 0.2, 1e-7, 1 / 3, Decimal("0.0000001"), Fraction(1, 3), -1, timedelta(microseconds=-1),
    float("nan"), float("inf"), -float("inf"), Decimal("nan"), 10**19, 1e300,
    Fraction(2**63, 10**6)])
def test_what_is_no_whole_number_of_microseconds_is_refused(seconds):
    with pytest.raises(sluice.InvalidArgument, match="window"):
        _values.exact_us(seconds, "window")


@pytest.mark.parametrize("seconds", ["60", b"60", None, True, [1], 1j])
def test_what_is_no_number_is_a_type_error(seconds):
    with pytest.raises(TypeError, match="window is a number"):
        _values.exact_us(seconds, "window")


@pytest.mark.parametrize("timeout, us", [
    (None, 2**63 - 1), (float("inf"), 2**63 - 1), (10**30, 2**63 - 1), (0, 0), (-3, 0),
    (-0.5, 0), (0.1 + 0.2, 300_000), (1.9999999, 1_999_999), (timedelta(seconds=2), 2_000_000),
    (timedelta(seconds=-2), 0)])
def test_a_timeout_may_be_any_float(timeout, us):
    assert _values.timeout_us(timeout) == us


def test_a_timeout_is_a_number():
    for wrong in ("1", True, float("nan")):
        with pytest.raises((TypeError, sluice.InvalidArgument), match="timeout"):
            _values.timeout_us(wrong)


@pytest.mark.parametrize("value, text", [
    (None, None), ("0.083", b"0.083"), (10, b"10"), (0.1, b"0.1"), (1e-7, b"0.0000001"),
    (1e21, b"1000000000000000000000"), (Decimal("1.50"), b"1.50"), (Decimal("1E+2"), b"100")])
def test_decimals_are_written_as_a_rules_file_has_them(value, text):
    assert _values.decimal_text(value, "refill_rate") == text


@pytest.mark.parametrize("value, kind", [
    (float("nan"), ValueError), (Decimal("inf"), ValueError), ("1\0", ValueError),
    (True, TypeError), (Fraction(1, 3), TypeError), ([], TypeError)])
def test_other_decimals_are_refused(value, kind):
    with pytest.raises(kind, match="refill_rate"):
        _values.decimal_text(value, "refill_rate")


@pytest.mark.parametrize("score, thousandths", [
    (0, 0), (1, 1000), (0.5, 500), (0.1, 100), (0.29, 290), (0.9999, 999), (Decimal("0.0009"), 0)])
def test_a_trust_score_is_cut_to_thousandths(score, thousandths):
    assert _values.thousandths(score) == thousandths


@pytest.mark.parametrize("score", [-0.001, 1.0001, 2, float("nan"), "0.5", True])
def test_other_trust_scores_are_refused(score):
    with pytest.raises((TypeError, ValueError), match="trust_score"):
        _values.thousandths(score)


def test_errors_of_values_are_value_errors_too():
    with pytest.raises(ValueError) as caught:
        _values.cost_u32(2**32)
    assert caught.value.status == -4 and "cost" in caught.value.text
