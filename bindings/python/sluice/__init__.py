"""Sluice: may this request pass? Rate limiting on counts that threads and
processes share, exact to the microsecond.

    import sluice

    with sluice.open("memory:/dev/shm/api.slu?size=64M") as store:
        limit = store.limit("api", algorithm="token_bucket", capacity=100, refill_rate=10)
        if limit.decide("u1"):
            ...

One limit on any key: `open`, `Store.limit`, `Limit`. A whole rules file:
`Limiter`. The counting is done by libsluice, called through ctypes.
"""

from __future__ import annotations

from typing import Union

from . import _native
from ._decision import Decision, Explained, Stats
from ._errors import (BadStore, ClosedError, InvalidArgument, NoMemory, NoReservation, RulesError,
                      SluiceError, SluiceWarning, StoreDown, StoreError, StoreFull, Unsupported)
from ._limiter import Limiter, Request
from ._store import Limit, Reservation, Store

__version__ = "0.1.0"

#: The version of the library that was found.
library_version: str = _native.lib.sluice_version().decode()


def open(url: Union[str, bytes] = "memory:") -> Store:  # pylint: disable=redefined-builtin
    """Opens a store:

    memory:                    private to this process and its children
    memory:FILE?size=64M       a table in a file, shared by all that open it
        size=64M               chosen when the file is created
        log=16M                how much of it the sliding window log may use
        sync=off|close|1s      when it is written to disk

    StoreError if that does not work. A note worth showing, such as that the file
    has another size, is a SluiceWarning, and `Store.note`.
    """
    return Store(url, _stacklevel=3)


__all__ = [
    "BadStore", "ClosedError", "Decision", "Explained", "InvalidArgument", "Limit", "Limiter",
    "NoMemory", "NoReservation", "Request", "Reservation", "RulesError", "SluiceError",
    "SluiceWarning", "Stats", "Store", "StoreDown", "StoreError", "StoreFull", "Unsupported",
    "library_version", "open",
]
