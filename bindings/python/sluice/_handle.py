"""Handles: Python objects that own the library's pointers, and when these are closed.

A Python object (Store, Limit, Limiter) holds a handle; the handle is the C
pointer, and its end is the C close:

    Limit ──► LimitHandle ──keeps──► StoreHandle ◄── Store

A call passes the handle as an argument, which holds it for the time of the
call. So close() only drops a reference: if another thread is in the middle of
a call, the pointer goes when that call is done, and a limit's before its
store's. There is no moment at which a closed pointer is in use, without a lock.
"""

from __future__ import annotations

import ctypes
import warnings
import weakref
from typing import Any, NoReturn, Optional

from . import _native
from ._errors import ClosedError, SluiceWarning, check


class _Handle(ctypes.c_void_p):
    keeps: Any = None  # closed after this one

    def __del__(self) -> None:
        if self.value:
            self.free(self)

    free: Any = None


class StoreHandle(_Handle):
    """struct sluice_store *"""

    free = _native.lib.sluice_close


class LimitHandle(_Handle):
    """struct sluice_limit *"""

    free = _native.lib.sluice_limit_free


class LimiterHandle(_Handle):
    """struct sluice_limiter *"""

    free = _native.lib.sluice_limiter_close


class BorrowedHandle(ctypes.c_void_p):
    """A store that a limiter owns and closes."""

    keeps: Any = None


class Closable:
    """The base of Store, Limit and Limiter: an end, and dependents that end with them."""

    _handle: Optional[ctypes.c_void_p] = None
    _dependents: "weakref.WeakValueDictionary[int, Closable]"

    def __init__(self) -> None:
        self._dependents = weakref.WeakValueDictionary()

    def close(self) -> None:
        """Closes it. Everything made from it is closed too. Using or closing
        it afterwards raises ClosedError. Calls that other threads are in the
        middle of are finished first."""
        if self._handle is None:
            self._closed()
        for reference in self._dependents.valuerefs():
            dependent = reference()
            if dependent is not None and not dependent.closed:
                dependent.close()
        self._handle = None

    @property
    def closed(self) -> bool:
        """Has it been closed?"""
        return self._handle is None

    def _closed(self) -> NoReturn:
        raise ClosedError(f"this {type(self).__name__.lower()} is closed")

    def _depends_on(self, other: "Closable") -> None:
        other._dependents[id(self)] = self

    def __enter__(self) -> Any:
        if self._handle is None:
            self._closed()
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle is not None:
            self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__.lower()} cannot be pickled: "
                        "open it in the other process, or fork")


def opened(status: int, error: _native.Error, stacklevel: int) -> str:
    """Checks the result of an opening call: raises, or warns of and returns its note."""
    text = error.text.decode(errors="replace")
    check(status, text)
    if text:
        warnings.warn(text, SluiceWarning, stacklevel + 1)
    return text
