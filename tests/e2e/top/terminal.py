"""A terminal with a program in it, and what stands on its screen.

    with Terminal("top", "--server", fake.url, columns=100, rows=30) as terminal:
        terminal.wait_for("api")
        terminal.press("d")
        assert terminal.screen.lines[0].startswith("http://")

The screen knows the few escapes that the program may use, and fails on any other: nothing
that a server sends may become one.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

from admin_commands import environment
from program import SLUICE

TIMEOUT_S = 60


class Screen:
    """Two screens of characters, the one in front and the one behind it."""

    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.main, self.other = self._blank(), self._blank()
        self.in_front = False  # the other one
        self.cursor_shown = self.wraps = True
        self.row = self.column = 0
        self.styles = set()  # all that were ever used
        self.pending = ""
        self.strict = True

    def _blank(self):
        return [[" "] * self.columns for _ in range(self.rows)]

    @property
    def cells(self):
        return self.other if self.in_front else self.main

    @property
    def lines(self):
        return ["".join(row).rstrip() for row in self.cells]

    @property
    def text(self):
        return "\n".join(self.lines)

    def resize(self, columns, rows):
        """A picture for the old size may still come: until `strict` is set again."""
        self.columns, self.rows, self.strict = columns, rows, False
        self.main, self.other = self._blank(), self._blank()
        self.row = self.column = 0

    # ---- what it is told ----

    def feed(self, text):
        text = self.pending + text
        at = 0
        while at < len(text):
            if text[at] != "\033":
                self._put(text[at])
                at += 1
                continue
            escape = re.match(r"\033\[(\??[0-9;]*)([A-Za-z])", text[at:])
            if not escape:
                assert len(text) - at < 10 and re.fullmatch(r"\033(\[\??[0-9;]*)?", text[at:]), \
                    f"no escape of ours: {text[at:at + 20]!r}"
                break
            self._obey(escape[1], escape[2])
            at += escape.end()
        self.pending = text[at:]

    def _put(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\n":
            assert self.row < self.rows - 1 or not self.in_front or not self.strict, "it scrolls"
            self.row = min(self.row + 1, self.rows - 1)
        else:
            assert character.isprintable(), f"{character!r} reached the terminal"
            assert not self.wraps or not self.in_front
            self.cells[self.row][min(self.column, self.columns - 1)] = character
            self.column += 1

    def _obey(self, numbers, letter):
        if numbers.startswith("?"):
            self._set(numbers[1:], letter == "h")
        elif letter == "H":
            assert numbers == ""
            self.row = self.column = 0
        elif letter == "K":
            assert numbers == "" and (self.column < self.columns or not self.strict)
            self.cells[self.row][self.column:] = [" "] * max(self.columns - self.column, 0)
        elif letter == "J":
            self._erase(0 if numbers == "2" else self.row, 0 if numbers == "2" else self.column)
        elif letter == "m":
            self.styles.add(numbers)
        else:
            raise AssertionError(f"no escape of ours: ESC [ {numbers} {letter}")

    def _set(self, mode, on):
        if mode == "1049":
            self.in_front = on
        elif mode == "25":
            self.cursor_shown = on
        elif mode == "7":
            self.wraps = on
        else:
            raise AssertionError(f"no mode of ours: {mode}")

    def _erase(self, row, column):
        self.cells[row][column:] = [" "] * max(self.columns - column, 0)
        for rest in range(row + 1, self.rows):
            self.cells[rest] = [" "] * self.columns


class Terminal:
    """`sluice ARGUMENTS` as the job of a shell (shell_job.py) on a terminal of its own."""

    def __init__(self, *arguments, columns=100, rows=30, **variables):
        self.screen = Screen(columns, rows)
        self.bytes = self.rest = b""
        self.fd, its = pty.openpty()
        self._set_size(columns, rows)
        self.before = termios.tcgetattr(self.fd)
        told, tells = os.pipe()
        shell = [sys.executable, Path(__file__).with_name("shell_job.py"), tells, SLUICE]
        self.shell = subprocess.Popen(
            [*map(str, shell), *map(str, arguments)], stdin=its, stdout=its, stderr=its,
            start_new_session=True, pass_fds=[tells],
            env=environment(**{"TERM": "xterm", **variables}))
        os.close(its)
        os.close(tells)
        with open(told, encoding="ascii") as line:
            self.pid = int(line.readline())

    def _set_size(self, columns, rows):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, columns, rows):
        self.screen.resize(columns, rows)
        self._set_size(columns, rows)

    def press(self, keys):
        os.write(self.fd, keys.encode())

    def signal(self, number):
        os.kill(self.pid, number)

    # ---- what it shows ----

    def read(self, seconds):
        """What comes within that time; False: the program is gone."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            got = os.read(self.fd, 65536)
        except OSError:
            return False  # so Linux tells that the other side is closed
        self.bytes += got
        text, self.rest = self._decoded(self.rest + got)
        self.screen.feed(text)
        return True

    @staticmethod
    def _decoded(got):
        for cut in range(4):  # a character may come in two parts
            try:
                return got[:len(got) - cut].decode(), got[len(got) - cut:]
            except UnicodeDecodeError:
                continue
        raise AssertionError(f"no UTF-8: {got!r}")

    def wait_until(self, holds, what):
        end = time.monotonic() + TIMEOUT_S
        while not holds(self.screen):
            alive = self.read(0.05)
            assert time.monotonic() < end and (alive or holds(self.screen)), \
                f"never {what}:\n{self.screen.text}"

    def wait_for(self, text):
        """Until it stands there, in whichever line."""
        self.wait_until(lambda screen: text in screen.text, f"`{text}`")

    def wait_without(self, text):
        self.wait_until(lambda screen: text not in screen.text, f"without `{text}`")

    # ---- its end ----

    def is_stopped(self):
        text = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8")
        return text.rpartition(")")[2].split()[0] == "T"

    def go_on(self):
        self.shell.send_signal(signal.SIGUSR1)

    def end(self):
        """Until it has ended; its status as subprocess has it: negative for a signal."""
        end = time.monotonic() + TIMEOUT_S
        while self.shell.poll() is None and self.read(0.02):
            assert time.monotonic() < end, f"it did not end:\n{self.screen.text}"
        while select.select([self.fd], [], [], 0)[0] and self.read(0):
            pass
        return self.shell.wait(TIMEOUT_S)

    def is_as_before(self):
        """The old screen is in front, and keys are seen again."""
        screen = self.screen
        return (not screen.in_front and screen.cursor_shown and screen.wraps
                and termios.tcgetattr(self.fd)[:4] == self.before[:4])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.shell.poll() is None:
            self.shell.kill()
            os.kill(self.pid, signal.SIGKILL)
            self.shell.wait(TIMEOUT_S)
        if self.fd is not None:
            self.hang_up()

    def hang_up(self):
        """The terminal is gone."""
        os.close(self.fd)
        self.fd = None
