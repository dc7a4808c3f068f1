"""A store, one limit on any key, and reservations."""

from __future__ import annotations

import ctypes
from array import array
from ctypes import byref
from itertools import accumulate
from typing import Any, Iterable, List, Optional, Tuple, Union

from . import _native, _waiting
from ._decision import (STORE_UNAVAILABLE, Decision, Names, Stats, decision_of, refund_bytes,
                        stats_of)
from ._errors import InvalidArgument, NoReservation, StoreError, check, error_of
from ._handle import BorrowedHandle, Closable, LimitHandle, StoreHandle, opened
from ._values import (I64_MAX, U64_MAX, Key, Number, Seconds, cost_u32, decimal_text, exact_us,
                      expiry_us, terminated, text_bytes, timeout_us, whole)

_lib = _native.lib
_unpack = _native.DECISION.unpack
ALIGN = {"epoch": False, "first_request": True}


class Store(Closable):
    """Where counts live, shared by every thread and process that opens the same
    file. Made by `sluice.open`; a context manager.

    It goes on in the children of a fork: parent and children count together.
    """

    def __init__(self, url: Union[str, bytes], *, _stacklevel: int = 2):
        super().__init__()
        handle, error = StoreHandle(), _native.Error()
        status = _lib.sluice_open(terminated(url, "url"), byref(handle), byref(error))
        self.note: str = opened(status, error, _stacklevel)  #: worth showing, or empty
        self._handle = handle

    @classmethod
    def _of_limiter(cls, handle: Any) -> "Store":
        store = cls.__new__(cls)
        Closable.__init__(store)
        borrowed = BorrowedHandle(_lib.sluice_limiter_store(handle))
        borrowed.keeps = handle
        store.note, store._handle = "", borrowed
        return store

    def limit(self, name: str, *, capacity: int, algorithm: Optional[str] = None,
              window: Optional[Seconds] = None, refill_rate: Optional[Number] = None,
              burst_allowance: Optional[Number] = None, align: str = "epoch") -> "Limit":
        """One limit, asked on any key.

        Counts are kept under `name`; limits of the same name, algorithm and window
        share them. `algorithm` is one of token_bucket, leaky_bucket, fixed_window,
        sliding_window_log and sliding_window_counter (which it is if not given).
        `window` is seconds or a timedelta, a whole number of microseconds;
        `refill_rate` is tokens per second and `burst_allowance` a factor, both
        decimals taken exactly: "0.083". `align` is for fixed_window: "epoch", or
        "first_request", where a key's window starts with its first charge.
        """
        return Limit(self, name, capacity=capacity, algorithm=algorithm, window=window,
                     refill_rate=refill_rate, burst_allowance=burst_allowance, align=align)

    def commit(self, id: int, cost: int) -> None:  # pylint: disable=redefined-builtin
        """Settles a reservation, of any process, at its real cost: the rest comes
        back, or the excess is charged, even past the limit. NoReservation if it was
        settled or has expired."""
        number = whole(id, "id", 0, U64_MAX)
        check(_lib.sluice_commit(self._handle or self._closed(), number, cost_u32(cost)))

    def cancel(self, id: int) -> None:  # pylint: disable=redefined-builtin
        """Gives back all of a reservation, of any process. NoReservation if it was
        settled or has expired."""
        check(_lib.sluice_cancel(self._handle or self._closed(), whole(id, "id", 0, U64_MAX)))

    def sync(self) -> None:
        """Writes the table's file to disk now."""
        check(_lib.sluice_sync(self._handle or self._closed()))

    def stats(self) -> Stats:
        """Figures. They are counted slot by slot: not for every request."""
        out = _native.Stats()
        check(_lib.sluice_store_stats(self._handle or self._closed(), byref(out)))
        return stats_of(out)

    def __repr__(self) -> str:
        return f"<sluice.Store{' closed' if self.closed else ''}>"


def _config(name: str, capacity: int, algorithm: Optional[str], window: Optional[Seconds],
            refill_rate: Optional[Number], burst_allowance: Optional[Number],
            align: str) -> _native.LimitConfig:
    if align not in ALIGN:
        raise InvalidArgument(f"align is one of {', '.join(ALIGN)}, not {align!r}")
    # The library reads 0 as "not given", which is not what the caller wrote.
    window_us = 0 if window is None else exact_us(window, "window")
    if window is not None and window_us == 0:
        raise InvalidArgument("window cannot be 0")
    return _native.LimitConfig(
        name=terminated(name, "name"),
        algorithm=None if algorithm is None else terminated(algorithm, "algorithm"),
        capacity=whole(capacity, "capacity", 1, I64_MAX),
        window_us=window_us,
        refill_rate=decimal_text(refill_rate, "refill_rate"),
        burst_allowance=decimal_text(burst_allowance, "burst_allowance"),
        first_request=ALIGN[align])


def _spans(keys: List[bytes]) -> Tuple[bytes, array]:
    """Many keys as an array of struct sluice_text over one piece of memory, which
    is returned too: the array only points there."""
    memory = b"".join(keys)
    start = ctypes.cast(ctypes.c_char_p(memory), ctypes.c_void_p).value or 0
    lengths = list(map(len, keys))
    spans = array("Q", bytes(16 * len(keys)))
    spans[0::2] = array("Q", list(accumulate(lengths, initial=start))[:-1])
    spans[1::2] = array("Q", lengths)
    return memory, spans


class Limit(Closable):
    """One limit, asked on any key. Made by `Store.limit`.

    Keys are str (counted as UTF-8) or bytes. Any thread may ask at any time.
    A denial is a decision that is false; exceptions are for what did not work.
    """

    def __init__(self, store: Store, name: str, **numbers: Any):
        super().__init__()
        config = _config(name, **numbers)
        handle, error = LimitHandle(), _native.Error()
        kept = store._handle or store._closed()
        status = _lib.sluice_limit_new(kept, byref(config), byref(handle), byref(error))
        handle.keeps = kept
        self.note: str = opened(status, error, 3)  #: worth showing, or empty
        self.name, self.store = name, store
        self._names, self._handle = Names(), handle
        self._depends_on(store)

    def decide(self, key: Key, cost: int = 1) -> Decision:
        """May `cost` pass for this key? Charged if so."""
        data, out = text_bytes(key), _native.DecisionBytes()
        status = _lib.sluice_limit_decide(self._handle or self._closed(),
                                          _native.Text(data, len(data)), cost_u32(cost), out)
        if status:
            raise error_of(status)
        return decision_of(_unpack(out), self._names, cost)

    def peek(self, key: Key, cost: int = 1) -> Decision:
        """The same without charging."""
        data, out = text_bytes(key), _native.DecisionBytes()
        check(_lib.sluice_limit_peek(self._handle or self._closed(),
                                     _native.Text(data, len(data)), cost_u32(cost), out))
        return decision_of(_unpack(out), self._names, cost)

    def decide_batch(self, keys: Iterable[Key], cost: int = 1) -> List[Decision]:
        """Decides many keys with one reading of the clock, each alone, in their
        order. If the store failed for some of them, the StoreError has every
        answer as `decisions`; those that failed have the reason store_unavailable.
        """
        if isinstance(keys, (str, bytes)):
            raise TypeError("keys is many keys, not one")
        data = [text_bytes(key) for key in keys]
        cost_u32(cost)
        memory, spans = _spans(data)
        out = (_native.DecisionBytes * len(data))()
        status = _lib.sluice_limit_decide_batch(self._handle or self._closed(),
                                                spans.buffer_info()[0], len(data), cost, out)
        del memory  # it had to be there until now
        decisions = [decision_of(raw, self._names, cost)
                     for raw in _native.DECISION.iter_unpack(out)]
        if status:
            self._raise_batch(status, decisions)
        return decisions

    @staticmethod
    def _raise_batch(status: int, decisions: List[Decision]) -> None:
        error = error_of(status)
        if isinstance(error, StoreError):
            error.decisions = [
                decision._replace(status=status) if decision.reason == STORE_UNAVAILABLE
                else decision for decision in decisions]
        raise error

    def refund(self, key: Key, decision: Decision, cost: Optional[int] = None) -> None:
        """Gives back what `decision` charged, or `cost` of it, as far as it still
        counts. Not twice: a decision does not know that it was refunded."""
        data, packed = text_bytes(key), refund_bytes(decision)
        amount = decision.cost if cost is None else cost_u32(cost)
        if amount > decision.cost:
            raise InvalidArgument(f"cost {amount} is more than the {decision.cost} of the decision")
        check(_lib.sluice_limit_refund(self._handle or self._closed(),
                                       _native.Text(data, len(data)), amount, packed))

    def reset(self, key: Key) -> None:
        """Forgets the key's count."""
        data = text_bytes(key)
        check(_lib.sluice_limit_reset(self._handle or self._closed(),
                                      _native.Text(data, len(data))))

    def acquire(self, key: Key, cost: int = 1, *, timeout: Optional[Seconds] = None) -> Decision:
        """Waits until it may pass: a leaky bucket's delay, or until a denial's
        retry_after, if that is within `timeout` (seconds or timedelta; None: as long
        as it takes). Otherwise denied at once, and nothing is charged."""
        patience_us = timeout_us(timeout)
        data, out = text_bytes(key), _native.DecisionBytes()
        check(_lib.sluice_limit_acquire(self._handle or self._closed(),
                                        _native.Text(data, len(data)), cost_u32(cost), 0, out))
        return _waiting.acquire(decision_of(_unpack(out), self._names, cost),
                                peek=lambda: self.peek(key, cost),
                                decide=lambda: self.decide(key, cost),
                                give_back=lambda decision: self.refund(key, decision),
                                timeout_us=patience_us)

    def reserve(self, key: Key, cost: int = 1, *, expires: Seconds) -> "Reservation":
        """Charges a cost that is known only afterwards. It is given back after
        `expires` seconds (1 µs to 24 h) unless it is settled before: see
        Reservation."""
        data, out, number = text_bytes(key), _native.DecisionBytes(), ctypes.c_uint64()
        check(_lib.sluice_limit_reserve(
            self._handle or self._closed(), _native.Text(data, len(data)), cost_u32(cost),
            expiry_us(expires), out, byref(number)))
        return Reservation(self.store, decision_of(_unpack(out), self._names, cost), number.value)

    def __repr__(self) -> str:
        return f"<sluice.Limit {self.name!r}{' closed' if self.closed else ''}>"


class Reservation:
    """A charge that waits for its real cost. True if it was allowed.

        with limit.reserve("u1", 1000, expires=60) as reservation:
            if reservation:
                reservation.commit(tokens_used())

    Leaving the block without a commit gives all of it back, by an exception or
    not. `decision` is the decision, `id` the number by which any process that has
    the store open may settle it (`Store.commit`, `Store.cancel`), or None where
    nothing was charged. Allowed without a charge (an exempt user, say), there is
    nothing to settle and a commit does nothing; denied, it raises NoReservation.
    """

    __slots__ = ("decision", "id", "_store", "_settled")

    def __init__(self, store: Store, decision: Decision, number: int):
        self.decision = decision
        self.id: Optional[int] = number or None
        self._store = store
        self._settled = number == 0

    def __bool__(self) -> bool:
        return self.decision.allowed

    def commit(self, cost: int) -> None:
        """The real cost: the rest comes back, or the excess is charged, even past
        the limit. NoReservation if it was settled or has expired."""
        if not self.decision.allowed:
            raise NoReservation(f"nothing was reserved: {self.decision.reason}")
        self._store.commit(self.id or 0, cost)
        self._settled = True

    def cancel(self) -> None:
        """All of it comes back. NoReservation if it was settled or has expired."""
        self._store.cancel(self.id or 0)
        self._settled = True

    def __enter__(self) -> "Reservation":
        return self

    def __exit__(self, *_: object) -> None:
        if self._settled:
            return
        try:
            self.cancel()
        except NoReservation:
            self._settled = True  # expired, or settled by its id: it is not ours any more

    def __repr__(self) -> str:
        return f"<sluice.Reservation {self.id} {self.decision.reason}>"
