"""A whole rules file, asked with a request."""

from __future__ import annotations

import ctypes
import os
from ctypes import byref
from typing import Any, Iterable, List, Mapping, Optional, Union

from . import _native, _waiting
from ._decision import (STORE_UNAVAILABLE, Decision, Names, decision_of, explained_of,
                        refund_bytes)
from ._errors import InvalidArgument, check, error_of
from ._handle import Closable, LimiterHandle, opened
from ._store import Reservation, Store
from ._values import (Seconds, attribute_bytes, cost_u32, expiry_us, terminated, text_bytes,
                      thousandths, timeout_us)

_lib = _native.lib
_unpack = _native.DECISION.unpack
TEXTS = ("tenant", "resource", "method", "user", "ip", "client", "tier")
# Names that a request uses for other things.
TAKEN = frozenset(TEXTS + ("cost", "trust_score", "peek", "wait", "explain", "at_us"))


def _flag(value: bool, name: str) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} is a bool, not {type(value).__name__}")
    return value


def _others(attributes: Mapping[str, Any]) -> ctypes.Array:
    others = (_native.Attribute * len(attributes))()
    for row, (name, value) in zip(others, attributes.items()):
        if not isinstance(name, str):
            raise TypeError(f"an attribute's name is a str, not {type(name).__name__}")
        if name in TAKEN:
            raise InvalidArgument(f"{name!r} is no name for another attribute: "
                                  "a request has a field of that name")
        encoded, text = name.encode(), attribute_bytes(value, name)
        row.name = _native.Text(encoded, len(encoded))
        row.value = _native.Text(text, len(text))
    return others


class Request:
    """What someone asks with; all of it optional.

    tenant, resource, method, user, ip, client, tier    str or bytes; an int or a
                 bool counts as its text. None and empty are missing.
    attributes   a dict of any others
    cost         units to take (1); 0 only asks
    trust_score  0 to 1, for adaptive rules
    peek         decide, take nothing
    wait         will be held for the decision's delay, at most the rules' max_wait

    Limiter's methods take these as keywords. Making a Request and asking with it
    again and again saves the work of turning them into C. It does not change;
    `replace` makes another one.
    """

    __slots__ = ("_fields", "_native", "cost")

    def __init__(self, **fields: Any):
        native = _native.Request(at_us=_native.NOW, trust_thousandths=_native.NO_TRUST, cost=1)
        for name, value in fields.items():
            if name in TEXTS:
                if value is not None:
                    data = attribute_bytes(value, name)
                    setattr(native, name, _native.Text(data, len(data)))
            elif name == "cost":
                native.cost = cost_u32(value)
            elif name in ("peek", "wait"):
                setattr(native, name, _flag(value, name))
            elif name == "trust_score":
                if value is not None:
                    native.trust_thousandths = thousandths(value)
            elif name == "attributes":
                if value:
                    native.others = _others(value)
                    native.other_count = len(value)
            else:
                raise TypeError(f"a request has no {name!r}; put what is your own into attributes")
        self._fields = fields
        self._native = native
        self.cost: int = native.cost

    def replace(self, **changes: Any) -> "Request":
        """Another request, with these fields changed."""
        return Request(**{**self._fields, **changes})

    def __repr__(self) -> str:
        return f"Request({', '.join(f'{name}={value!r}' for name, value in self._fields.items())})"


Asking = Union[Request, Mapping[str, Any], None]


def _request(request: Asking, fields: Mapping[str, Any]) -> Request:
    if request is None:
        return Request(**fields)
    if fields:
        raise TypeError("give a request or its fields as keywords, not both")
    if isinstance(request, Request):
        return request
    if isinstance(request, Mapping):
        return Request(**request)
    raise TypeError(f"a request is a Request or a dict, not {type(request).__name__}")


class Limiter(Closable):
    """A whole rules file:  `Limiter("rules.yaml").decide(resource="/login", user="u1")`

    `store` is a Store, or None for the one that the rules name, which is then
    closed with the limiter. RulesError, with a line for every problem, if the
    rules cannot be used. A context manager; any thread may ask at any time, and
    it goes on in the children of a fork.

    Requests are keywords (see Request), or one Request or dict.

    A store failure in a decision is no exception: the rules say what is answered
    then (`on_store_failure`), the decision has the reason store_unavailable, and
    its `status` is the failure.
    """

    def __init__(self, rules: Union[str, bytes, "os.PathLike[Any]"], store: Optional[Store] = None):
        super().__init__()
        path = terminated(os.fsencode(rules), "rules")
        self._open(_lib.sluice_limiter_open, (path,), store)

    @classmethod
    def from_text(cls, text: Union[str, bytes], *, name: str = "rules",
                  store: Optional[Store] = None) -> "Limiter":
        """The same from text; `name` stands for the file in messages."""
        data = text_bytes(text, "text")
        limiter = cls.__new__(cls)
        Closable.__init__(limiter)
        arguments = terminated(name, "name"), _native.Text(data, len(data))
        limiter._open(_lib.sluice_limiter_parse, arguments, store)
        return limiter

    def _open(self, function: Any, arguments: tuple, store: Optional[Store]) -> None:
        handle, error = LimiterHandle(), _native.Error()
        kept = None
        if store is not None:
            kept = store._handle or store._closed()
        status = function(kept, *arguments, byref(handle), byref(error))
        handle.keeps = kept
        self.note: str = opened(status, error, 3)  #: worth showing, or empty
        self._names, self._handle = Names(), handle
        if store is None:
            store = Store._of_limiter(handle)
            store._depends_on(self)
        else:
            self._depends_on(store)
        self.store: Store = store  #: the store it counts in

    def decide(self, request: Asking = None, /, **fields: Any) -> Decision:
        """May it pass? Charged, in every rule that matches, if so."""
        asked, out = _request(request, fields), _native.DecisionBytes()
        status = _lib.sluice_decide(self._handle or self._closed(), asked._native, out)
        return self._answered(status, out, asked.cost)

    def _answered(self, status: int, out: ctypes.Array, cost: int) -> Decision:
        """A decision, with the failure of the store in it; but a failure that the
        library did not answer is an exception."""
        decision = decision_of(_unpack(out), self._names, cost, status)
        if status and decision.reason != STORE_UNAVAILABLE:
            raise error_of(status)
        return decision

    def explain(self, request: Asking = None, /, **fields: Any) -> Decision:
        """Decides, and charges, like `decide`; besides, `rules` of the decision has
        every rule that matched. With peek=True it only looks."""
        asked = _request(request, fields)
        room = self._explained(asked.replace(peek=True), 0)[1]
        decision, _ = self._explained(asked, room)
        return decision

    def _explained(self, asked: Request, room: int) -> "tuple[Decision, int]":
        """The decision with at most `room` rows, and how many there are. Which rules
        match depends on the request alone, so asking twice gives room for all."""
        out, rows = _native.DecisionBytes(), (_native.Explained * room)()
        count = ctypes.c_size_t()
        native = _native.Request.from_buffer_copy(asked._native)
        native.explain = True
        status = _lib.sluice_decide_explained(self._handle or self._closed(), native, out,
                                              rows, room, byref(count))
        decision = self._answered(status, out, asked.cost)
        listed = tuple(explained_of(row) for row in rows[:count.value])
        return decision._replace(rules=listed), count.value

    def decide_batch(self, requests: Iterable[Union[Request, Mapping[str, Any]]]) -> List[Decision]:
        """Decides many requests with one reading of the clock, each alone, in their
        order. The status of those that the store failed is the first failure's."""
        asked = [_request(request, {}) for request in requests]
        natives = (_native.Request * len(asked))(*(one._native for one in asked))
        out = (_native.DecisionBytes * len(asked))()
        status = _lib.sluice_decide_batch(self._handle or self._closed(), natives, len(asked), out)
        decisions = [decision_of(raw, self._names, one.cost)
                     for raw, one in zip(_native.DECISION.iter_unpack(out), asked)]
        if not status:
            return decisions
        failed = [decision.reason == STORE_UNAVAILABLE for decision in decisions]
        if not any(failed):
            raise error_of(status)
        return [decision._replace(status=status) if bad else decision
                for decision, bad in zip(decisions, failed)]

    def refund(self, decision: Decision, request: Asking = None, /, **fields: Any) -> None:
        """Gives back what `decision` charged for this very request, as far as it still
        counts, in every rule. `cost` is that of the decision unless it is given;
        less gives back a part. Not twice: a decision does not know that it was
        refunded."""
        packed = refund_bytes(decision)
        if request is None:
            fields.setdefault("cost", decision.cost)
        asked = _request(request, fields)
        if asked.cost > decision.cost:
            raise InvalidArgument(
                f"cost {asked.cost} is more than the {decision.cost} of the decision")
        check(_lib.sluice_refund(self._handle or self._closed(), asked._native, packed))

    def reset(self, request: Asking = None, /, *, rule: Optional[str] = None,
              **fields: Any) -> None:
        """Forgets the counts and burst blocks of this request's identifiers in the rule
        of that name, or in every rule that matches."""
        asked = _request(request, fields)
        name = None if rule is None else terminated(rule, "rule")
        check(_lib.sluice_reset(self._handle or self._closed(), asked._native, name))

    def acquire(self, request: Asking = None, /, *, timeout: Optional[Seconds] = None,
                **fields: Any) -> Decision:
        """Waits until it may pass: see Limit.acquire."""
        patience_us = timeout_us(timeout)
        asked, out = _request(request, fields), _native.DecisionBytes()
        status = _lib.sluice_acquire(self._handle or self._closed(), asked._native, 0, out)
        # `wait` would deny what is longer than max_wait: here it is the timeout that counts.
        asked = asked.replace(wait=False)
        return _waiting.acquire(self._answered(status, out, asked.cost),
                                peek=lambda: self.decide(asked.replace(peek=True)),
                                decide=lambda: self.decide(asked),
                                give_back=lambda decision: self.refund(decision, asked),
                                timeout_us=patience_us)

    def reserve(self, request: Asking = None, /, *, expires: Seconds,
                **fields: Any) -> Reservation:
        """Charges a cost that is known only afterwards: see Limit.reserve."""
        asked, out = _request(request, fields), _native.DecisionBytes()
        number = ctypes.c_uint64()
        status = _lib.sluice_reserve(self._handle or self._closed(), asked._native,
                                     expiry_us(expires), out, byref(number))
        return Reservation(self.store, self._answered(status, out, asked.cost), number.value)

    def __repr__(self) -> str:
        return f"<sluice.Limiter{' closed' if self.closed else ''}>"
