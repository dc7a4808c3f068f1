"""Results: decisions, their explanation, figures of a store.

All are immutable and made of plain values: they can be stored, compared, pickled
and sent to another process, and outlive the store they come from.
"""

from __future__ import annotations

import ctypes
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple, Optional, Tuple

from . import _native

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
STORE_UNAVAILABLE = "store_unavailable"


def _moment(us: Optional[int]) -> Optional[datetime]:
    return None if us is None else EPOCH + timedelta(microseconds=us)


def _span(us: Optional[int]) -> Optional[timedelta]:
    return None if us is None else timedelta(microseconds=us)


def _maybe(number: int) -> Optional[int]:
    return None if number == _native.NONE else number


def _number(maybe: Optional[int]) -> int:
    return _native.NONE if maybe is None else maybe


def _whole_seconds(us: Optional[int]) -> Optional[int]:
    return None if us is None else -(-us // 1_000_000)


class Explained(NamedTuple):
    """One rule's part in a decision. True if it allows."""

    rule: str
    algorithm: str
    shadow: bool
    allowed: bool
    limit: Optional[int]
    remaining: Optional[int]
    reset_at_us: Optional[int]
    retry_after_us: Optional[int]

    def __bool__(self) -> bool:
        return self.allowed

    @property
    def reset_at(self) -> Optional[datetime]:
        """As in Decision."""
        return _moment(self.reset_at_us)

    @property
    def retry_after(self) -> Optional[timedelta]:
        """As in Decision."""
        return _span(self.retry_after_us)

    def as_dict(self) -> dict:
        """The row as it stands in Sluice's JSON."""
        row = self._asdict()
        row.update((name, _number(row[name])) for name in ("limit", "remaining", "retry_after_us"))
        return row


class Decision(NamedTuple):
    """The answer. True if the request may pass:  `if limit.decide("u1"): …`

    allowed         may it pass?
    rule            the rule (or limit) that made the decision, or None
    algorithm       its algorithm, or None
    reason          ok, exempt, no_rule, rate_limit_exceeded, burst_blocked,
                    cost_exceeds_limit, missing_identity, store_unavailable, shadow
    limit           after tier, burst allowance and trust; None: there is none
    remaining       how many of cost 1 would still pass right now, or None
    reset_at_us     when remaining is back at limit without further requests, or None
    retry_after_us  denied: when exactly this would pass; 0 if allowed; None: never
    delay_us        leaky bucket: hold the request this long
    decided_at_us   now, as the store's clock had it; None: it was not asked
    window_us       the rule's window, or how long its bucket takes to fill, or None
    cost            what was asked for
    status          0, or the (negative) failure behind store_unavailable
    rules           Explained for each rule that matched, from Limiter.explain; else None
    charged_at_us, charged, charged_after    for a refund

    Times are microseconds, since 1970 for those that end in `_at_us`. `reset_at`
    and `decided_at` are the same as aware datetimes, `retry_after`, `delay` and
    `window` as timedeltas.
    """

    allowed: bool
    rule: Optional[str]
    algorithm: Optional[str]
    reason: str
    limit: Optional[int]
    remaining: Optional[int]
    reset_at_us: Optional[int]
    retry_after_us: Optional[int]
    delay_us: int
    decided_at_us: Optional[int]
    window_us: Optional[int]
    cost: int
    status: int
    rules: Optional[Tuple[Explained, ...]]
    charged_at_us: Optional[int]
    charged: int
    charged_after: bytes

    def __bool__(self) -> bool:
        return self.allowed

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name in self._fields[:9])
        return f"Decision({', '.join(shown)})"

    @property
    def reset_at(self) -> Optional[datetime]:
        """When remaining is back at limit, in UTC; None: there is no such time."""
        return _moment(self.reset_at_us)

    @property
    def decided_at(self) -> Optional[datetime]:
        """Now, as the store's clock had it, in UTC; None: it was not asked."""
        return _moment(self.decided_at_us)

    @property
    def retry_after(self) -> Optional[timedelta]:
        """How long to wait before the same request passes; None: it never will."""
        return _span(self.retry_after_us)

    @property
    def delay(self) -> timedelta:
        """Leaky bucket: how long to hold the request."""
        return timedelta(microseconds=self.delay_us)

    @property
    def window(self) -> Optional[timedelta]:
        """The rule's window, or how long its bucket takes to fill; None: there is no rule."""
        return _span(self.window_us)

    def as_dict(self) -> dict:
        """The decision as it stands in Sluice's JSON, field by field: times in
        microseconds and in whole seconds rounded up, never as -1."""
        row: "dict[str, Any]" = {name: getattr(self, name) for name in self._fields[:9]}
        row["remaining"] = _number(self.remaining)
        row["retry_after_us"] = _number(self.retry_after_us)
        row["reset_at"] = _whole_seconds(self.reset_at_us)
        row["retry_after"] = _number(_whole_seconds(self.retry_after_us))
        if self.rules is not None:
            row["rules"] = [rule.as_dict() for rule in self.rules]
        return row


class Stats(NamedTuple):
    """Figures of a store."""

    size_bytes: int
    slots: int  # intended for half as many keys
    live: int  # keys with a state that still matters, counted now
    limiting: int  # of these, those that have denied a request
    insertions: int  # since the table was created:
    evictions: int  # live states dropped to make room
    full: int  # answers that failed because only limiting states were left
    log_bytes: int
    log_used_bytes: int
    log_live: int  # keys with a log
    reservations: int  # held now


class Names(dict):
    """Address of a C string → str. An address means the same text as long as its rules
    live, so each limit or limiter has its own."""

    def __init__(self) -> None:
        super().__init__({0: None})

    def __missing__(self, address: int) -> str:
        self[address] = name = ctypes.string_at(address).decode()
        return name


class _Reasons(dict):
    def __missing__(self, number: int) -> str:
        self[number] = name = _native.lib.sluice_reason_name(number).decode()
        return name


_reasons = _Reasons()


_make = tuple.__new__  # Decision(...) would do the same in twice the time


def decision_of(raw: tuple, names: Names, cost: int, status: int = _native.OK,
                rules: Optional[Tuple[Explained, ...]] = None) -> Decision:
    """A decision from the result of DECISION.unpack. The hottest function here, so the
    tests for NONE (-1) are written out."""
    (allowed, reason, rule, algorithm, limit, remaining, reset_at_us, retry_after_us, delay_us,
     decided_at_us, window_us, charged_at_us, charged, charged_after) = raw
    return _make(Decision, (
        allowed, names[rule], names[algorithm], _reasons[reason],
        None if limit == -1 else limit,
        None if remaining == -1 else remaining,
        None if reset_at_us == -1 else reset_at_us,
        None if retry_after_us == -1 else retry_after_us,
        delay_us,
        None if decided_at_us == -1 else decided_at_us,
        None if window_us == -1 else window_us,
        cost, status, rules,
        None if charged_at_us == -1 else charged_at_us,
        charged, charged_after))


def refund_bytes(decision: Decision) -> ctypes.Array:
    """The part of a decision that a refund reads, as the library's struct. Names
    stay out: their memory may be gone, or another process's."""
    if not isinstance(decision, Decision):
        raise TypeError(f"a refund needs a Decision, not {type(decision).__name__}")
    packed = _native.DECISION.pack(
        decision.allowed, 0, 0, 0, _number(decision.limit), _number(decision.remaining),
        _number(decision.reset_at_us), _number(decision.retry_after_us), decision.delay_us,
        _number(decision.decided_at_us), _number(decision.window_us),
        _number(decision.charged_at_us), decision.charged, decision.charged_after)
    return _native.DecisionBytes.from_buffer_copy(packed)


def explained_of(row: _native.Explained) -> Explained:
    """One row of sluice_decide_explained."""
    return Explained(row.rule.decode(), row.algorithm.decode(), row.shadow, row.allowed,
                     _maybe(row.limit), _maybe(row.remaining), _maybe(row.reset_at_us),
                     _maybe(row.retry_after_us))


def stats_of(stats: _native.Stats) -> Stats:
    """struct sluice_stats as a value."""
    return Stats(*(getattr(stats, name) for name in Stats._fields))
