"""What can go wrong, one exception per status of the library.

A denial is none of these: it is a decision that is not allowed.
"""

from __future__ import annotations

from . import _native


class SluiceError(Exception):
    """Something did not work. `status` is the library's number for it (negative),
    `text` a sentence for people."""

    status: int = 0
    text: str

    def __init__(self, text: str = ""):
        self.text = text or _native.lib.sluice_status_text(self.status).decode()
        super().__init__(self.text)


class NoMemory(SluiceError, MemoryError):
    """The machine has none left."""

    status = -1


class StoreError(SluiceError):
    """The store failed. Where the store failed for some keys of a batch,
    `decisions` has the answer for every key, those that worked included."""

    status = -2
    decisions: "list | None" = None


class StoreDown(StoreError):
    """The store does not answer."""


class StoreFull(StoreError):
    """The store has no room left that it may take."""

    status = -3


class InvalidArgument(SluiceError, ValueError):
    """A value that the library cannot take."""

    status = -4


class ClosedError(InvalidArgument):
    """The store, limit or limiter has been closed."""


class BadStore(StoreError):
    """The store cannot be opened."""

    status = -5


class RulesError(SluiceError):
    """The rules cannot be used; the text has a line for every problem."""

    status = -6


class NoReservation(SluiceError):
    """There is no such reservation: it was settled, it expired, or nothing was
    reserved."""

    status = -7


class Unsupported(SluiceError):
    """This store cannot do that."""

    status = -8


class SluiceWarning(UserWarning):
    """It worked, and there is something worth knowing."""


BY_STATUS = {kind.status: kind for kind in (NoMemory, StoreDown, StoreFull, InvalidArgument,
                                            BadStore, RulesError, NoReservation, Unsupported)}


def error_of(status: int, text: str = "") -> SluiceError:
    """The exception for a bad status."""
    kind = BY_STATUS.get(status)
    if kind is not None:
        return kind(text)
    unknown = SluiceError(text or _native.lib.sluice_status_text(status).decode())
    unknown.status = status
    return unknown


def check(status: int, text: str = "") -> None:
    """Raises unless the status is good."""
    if status != _native.OK:
        raise error_of(status, text)
