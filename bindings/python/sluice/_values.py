"""From Python's values to the library's, exactly or not at all.

Nothing is rounded that the caller did not ask to be rounded: 0.1 (a float) is
the decimal that Python prints for it, and what is no whole number of
microseconds is refused.
"""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Optional, Union

from ._errors import InvalidArgument

Seconds = Union[int, float, Decimal, Fraction, timedelta]
Number = Union[int, float, Decimal, str]
Key = Union[str, bytes]

U32_MAX = 2**32 - 1
U64_MAX = 2**64 - 1
I64_MAX = 2**63 - 1
_MICROSECOND = timedelta(microseconds=1)


def text_bytes(text: Key, name: str = "a key") -> bytes:
    """Text as the library sees it: UTF-8, or any bytes."""
    if isinstance(text, str):
        return text.encode()
    if isinstance(text, bytes):
        return text
    raise TypeError(f"{name} is str or bytes, not {type(text).__name__}")


def attribute_bytes(value: Union[str, bytes, int], name: str) -> bytes:
    """A request's attribute. Numbers and booleans are compared as text."""
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if isinstance(value, int):
        return b"%d" % value
    return text_bytes(value, name)


def terminated(text: Union[str, bytes], name: str) -> bytes:
    """Text for a `const char *`, which would end at a zero byte."""
    data = text_bytes(text, name)
    if b"\0" in data:
        raise InvalidArgument(f"{name} has a zero byte in it")
    return data


def whole(value: int, name: str, least: int, most: int) -> int:
    """An int within bounds: ctypes would cut off what does not fit."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} is an int, not {type(value).__name__}")
    if not least <= value <= most:
        raise InvalidArgument(f"{name} is from {least} to {most}, not {value}")
    return value


def cost_u32(cost: int) -> int:
    """Units to take."""
    return whole(cost, "cost", 0, U32_MAX)


def _fraction(value: Union[int, float, Decimal, Fraction], name: str) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, Fraction)):
        raise TypeError(f"{name} is a number, not {type(value).__name__}")
    try:
        # A float is the shortest decimal that stands for it, as it was written.
        return Fraction(repr(value) if isinstance(value, float) else value)
    except (ValueError, OverflowError):
        raise InvalidArgument(f"{name} cannot be {value}") from None


def exact_us(seconds: Seconds, name: str) -> int:
    """Seconds in whole microseconds, from 0 up."""
    if isinstance(seconds, timedelta):
        us = seconds // _MICROSECOND
    else:
        exact = _fraction(seconds, name) * 1_000_000
        if exact.denominator != 1:
            raise InvalidArgument(f"{name} is not a whole number of microseconds: {seconds!r} s")
        us = exact.numerator
    if not 0 <= us <= I64_MAX:
        raise InvalidArgument(f"{name} cannot be {seconds!r}")
    return us


def expiry_us(expires: Seconds) -> int:
    """When a reservation is given back: 1 µs to 24 h from now."""
    us = exact_us(expires, "expires")
    if not 1 <= us <= 24 * 3600 * 1_000_000:
        raise InvalidArgument(f"expires is from 1 µs to 24 h, not {expires!r} s")
    return us


def timeout_us(timeout: Optional[Seconds]) -> int:
    """How long to wait. Any float will do here, for it is mostly the difference
    of two clock readings: part of a microsecond is dropped, and below 0 is 0."""
    if timeout is None:
        return I64_MAX
    if isinstance(timeout, float) and timeout == float("inf"):
        return I64_MAX
    if isinstance(timeout, timedelta):
        us = timeout // _MICROSECOND
    else:
        us = _fraction(timeout, "timeout") * 1_000_000 // 1
    return max(0, min(us, I64_MAX))


def decimal_text(value: Optional[Number], name: str) -> Optional[bytes]:
    """A decimal as it would stand in a rules file; the library reads it exactly."""
    if value is None:
        return None
    if isinstance(value, (str, bytes)):
        return terminated(value, name)
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise TypeError(f"{name} is str, int, float or Decimal, not {type(value).__name__}")
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not number.is_finite():
        raise InvalidArgument(f"{name} cannot be {value}")
    return format(number, "f").encode()


def thousandths(trust_score: Union[int, float, Decimal, Fraction]) -> int:
    """A trust score from 0 to 1; what is below a thousandth does not count, as
    everywhere in Sluice."""
    exact = _fraction(trust_score, "trust_score")
    if not 0 <= exact <= 1:
        raise InvalidArgument(f"trust_score is from 0 to 1, not {trust_score}")
    return exact * 1000 // 1
