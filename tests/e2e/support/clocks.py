"""A clock that a test sets, for servers that it starts: clock.c, preloaded.

    clock = Clock(folder)
    with clock.server(RULES) as server:
        clock.stand(midnight)                # it stands still at that second
        clock.stand(midnight + 8 * DAY)
        clock.go_on(ahead=3600)              # as it is, but an hour later

Seconds are int or Fraction: the clock has microseconds, and they are exact. It must not stand
more than a day before the machine was started.
"""

import mmap
import os
import struct
import subprocess
import time
from fractions import Fraction
from pathlib import Path
from unittest import mock

import pytest

from admin_api import Caller
from serving import Server
from watching import is_sanitized

MINUTE, HOUR, DAY = 60, 3600, 86400
US = Fraction(1, 1_000_000)


def compiled(folder):
    if is_sanitized():
        pytest.skip("AddressSanitizer wants to be the first that is preloaded")
    shim = Path(folder) / "clock.so"
    if not shim.exists():
        source = Path(__file__).parent / "clock.c"
        subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-o", shim,
                        source], check=True)
    return shim


class Clock:
    """In this folder, where its servers have their files too."""

    def __init__(self, folder, shim=None):
        self.folder, self.shim = Path(folder), shim or compiled(folder)
        self.path = self.folder / "clock"
        self.path.write_bytes(bytes(24))
        with open(self.path, "r+b") as file:
            self.shared = mmap.mmap(file.fileno(), 24)
        boot_ns = time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        self._set(2, boot_ns // 1000 * US)

    def _set(self, place, seconds):
        us = Fraction(seconds) * 1_000_000
        assert us.denominator == 1, "the clock has microseconds"
        self.shared[8 * place:8 * place + 8] = struct.pack("q", int(us))

    def stand(self, seconds):
        self._set(1, seconds)

    def go_on(self, ahead=0):
        self._set(0, ahead)
        self._set(1, 0)

    def server(self, rules, **settings):
        variables = {"LD_PRELOAD": str(self.shim), "SLUICE_CLOCK": str(self.path)}
        with mock.patch.dict(os.environ, variables):
            return Server(rules, folder=self.folder, **settings)


class Restarted:
    """Servers one after the other, in one folder: `admin` always asks the one that runs."""

    def __init__(self, clock, rules):
        self.clock, self.rules, self.server = clock, rules, None

    def __enter__(self):
        self.server = self.clock.server(self.rules)
        return self

    def __exit__(self, *failure):
        self.server.__exit__(*failure)

    @property
    def admin(self):
        return Caller(self.server)

    def restart(self):
        self.__exit__(None, None, None)  # as it should end, or it fails
        self.__enter__()
