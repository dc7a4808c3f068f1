"""libsluice as ctypes sees it: the library, its structs, its functions.

A mirror of include/sluice.h and nothing more: no Python manners here. Field
for field it is checked against the header by tests/test_layout.py, which asks
a C compiler.

CDLL lets go of the interpreter's lock for every call, so threads decide side
by side. What a pointer points to is kept alive by the caller for the time of
the call; the library keeps none of them.
"""

from __future__ import annotations

import ctypes
import os
import struct
from ctypes import POINTER, c_bool, c_char, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32
from ctypes import c_uint64, c_void_p

WRITTEN_FOR = "0.1"
LIBRARY = "libsluice.so.0"
VARIABLE = "SLUICE_LIBRARY"

NONE = NEVER = NOW = NO_TRUST = -1
OK = 0

# ---- structs ---------------------------------------------------------------


class Text(ctypes.Structure):
    """struct sluice_text. Text(data, len(data)) keeps `data` alive."""

    _fields_ = [("at", c_char_p), ("len", c_size_t)]


class Attribute(ctypes.Structure):
    """struct sluice_attribute"""

    _fields_ = [("name", Text), ("value", Text)]


class Request(ctypes.Structure):
    """struct sluice_request"""

    _fields_ = [
        ("tenant", Text),
        ("resource", Text),
        ("method", Text),
        ("user", Text),
        ("ip", Text),
        ("client", Text),
        ("tier", Text),
        ("others", POINTER(Attribute)),
        ("other_count", c_size_t),
        ("at_us", c_int64),
        ("cost", c_uint32),
        ("trust_thousandths", c_int32),
        ("peek", c_bool),
        ("wait", c_bool),
        ("explain", c_bool),
    ]


class Decision(ctypes.Structure):
    """struct sluice_decision"""

    _fields_ = [
        ("allowed", c_bool),
        ("reason", c_int),
        ("rule", c_void_p),
        ("algorithm", c_void_p),
        ("limit", c_int64),
        ("remaining", c_int64),
        ("reset_at_us", c_int64),
        ("retry_after_us", c_int64),
        ("delay_us", c_int64),
        ("decided_at_us", c_int64),
        ("window_us", c_int64),
        ("charged_at_us", c_int64),
        ("charged", c_uint64),
        ("charged_after_us", c_int32 * 8),
    ]


# The same, read in one go: reading field by field costs as much as the whole call.
DECISION = struct.Struct("@?iPPqqqqqqqqQ32s")
DecisionBytes = c_char * DECISION.size


class Explained(ctypes.Structure):
    """struct sluice_explained"""

    _fields_ = [
        ("rule", c_char_p),
        ("algorithm", c_char_p),
        ("shadow", c_bool),
        ("allowed", c_bool),
        ("limit", c_int64),
        ("remaining", c_int64),
        ("reset_at_us", c_int64),
        ("retry_after_us", c_int64),
    ]


class Error(ctypes.Structure):
    """struct sluice_error"""

    _fields_ = [("text", c_char * 1024)]


class Stats(ctypes.Structure):
    """struct sluice_stats"""

    _fields_ = [
        ("size_bytes", c_uint64),
        ("slots", c_uint64),
        ("live", c_uint64),
        ("limiting", c_uint64),
        ("insertions", c_uint64),
        ("evictions", c_uint64),
        ("full", c_uint64),
        ("log_bytes", c_uint64),
        ("log_used_bytes", c_uint64),
        ("log_live", c_uint64),
        ("reservations", c_uint64),
    ]


class LimitConfig(ctypes.Structure):
    """struct sluice_limit_config"""

    _fields_ = [
        ("name", c_char_p),
        ("algorithm", c_char_p),
        ("capacity", c_int64),
        ("window_us", c_int64),
        ("refill_rate", c_char_p),
        ("burst_allowance", c_char_p),
        ("first_request", c_bool),
    ]


# The header's name of each, for the test that compares them.
STRUCTS = {
    "sluice_text": Text,
    "sluice_attribute": Attribute,
    "sluice_request": Request,
    "sluice_decision": Decision,
    "sluice_explained": Explained,
    "sluice_error": Error,
    "sluice_stats": Stats,
    "sluice_limit_config": LimitConfig,
}

# ---- functions -------------------------------------------------------------

_out = POINTER(c_void_p)  # a handle comes back in it
_error = POINTER(Error)
_request = POINTER(Request)
_decision = c_void_p  # DecisionBytes, or an array of them

FUNCTIONS = {
    "sluice_version": (c_char_p,),
    "sluice_status_text": (c_char_p, c_int),
    "sluice_reason_name": (c_char_p, c_int),
    "sluice_open": (c_int, c_char_p, _out, _error),
    "sluice_close": (None, c_void_p),
    "sluice_sync": (c_int, c_void_p),
    "sluice_store_stats": (c_int, c_void_p, POINTER(Stats)),
    "sluice_limit_new": (c_int, c_void_p, POINTER(LimitConfig), _out, _error),
    "sluice_limit_free": (None, c_void_p),
    "sluice_limit_decide": (c_int, c_void_p, Text, c_uint32, _decision),
    "sluice_limit_peek": (c_int, c_void_p, Text, c_uint32, _decision),
    "sluice_limit_decide_batch": (c_int, c_void_p, c_void_p, c_size_t, c_uint32, _decision),
    "sluice_limit_refund": (c_int, c_void_p, Text, c_uint32, _decision),
    "sluice_limit_reset": (c_int, c_void_p, Text),
    "sluice_limit_acquire": (c_int, c_void_p, Text, c_uint32, c_int64, _decision),
    "sluice_limiter_open": (c_int, c_void_p, c_char_p, _out, _error),
    "sluice_limiter_parse": (c_int, c_void_p, c_char_p, Text, _out, _error),
    "sluice_limiter_close": (None, c_void_p),
    "sluice_decide": (c_int, c_void_p, _request, _decision),
    "sluice_decide_explained": (c_int, c_void_p, _request, _decision, c_void_p, c_size_t,
                                POINTER(c_size_t)),
    "sluice_decide_batch": (c_int, c_void_p, _request, c_size_t, _decision),
    "sluice_refund": (c_int, c_void_p, _request, _decision),
    "sluice_reset": (c_int, c_void_p, _request, c_char_p),
    "sluice_acquire": (c_int, c_void_p, _request, c_int64, _decision),
    "sluice_limit_reserve": (c_int, c_void_p, Text, c_uint32, c_int64, _decision,
                             POINTER(c_uint64)),
    "sluice_reserve": (c_int, c_void_p, _request, c_int64, _decision, POINTER(c_uint64)),
    "sluice_commit": (c_int, c_void_p, c_uint64, c_uint32),
    "sluice_cancel": (c_int, c_void_p, c_uint64),
    "sluice_limiter_store": (c_void_p, c_void_p),
}


def _load() -> ctypes.CDLL:
    """The library with every function declared, or an ImportError that says what to do."""
    given = os.environ.get(VARIABLE)
    wanted = given or LIBRARY
    try:
        library = ctypes.CDLL(wanted)
    except OSError as error:
        cure = (f"{VARIABLE} names it: correct or unset that" if given else
                "install it (`make install && ldconfig` in Sluice's sources), "
                f"or set {VARIABLE} to where it is, such as build/{LIBRARY}")
        raise ImportError(f"cannot load {wanted}: {error}; {cure}") from None
    try:
        _declare(library)
    except AttributeError as error:
        raise ImportError(f"{wanted} is no libsluice {WRITTEN_FOR}: {error}; "
                          "install the one that came with this package") from None
    return library


def _declare(library: ctypes.CDLL) -> None:
    """The version first: of another one nothing else is known."""
    for name, (result, *arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
        if name == "sluice_version":
            _check_version(function().decode())


def _check_version(version: str) -> None:
    if not version.startswith(WRITTEN_FOR + "."):
        raise ImportError(f"libsluice is version {version}, and this package was written for "
                          f"{WRITTEN_FOR}; install the one that came with it")


lib = _load()
