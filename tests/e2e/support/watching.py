"""A server that is looked at from outside: its memory, its time, its files, its words."""

import os
import queue
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time

from program import SLUICE
from serving import TIMEOUT_S, Server


def is_sanitized():
    """Built with AddressSanitizer: slower, and its memory says nothing about ours."""
    return b"__asan_init" in SLUICE.read_bytes()


def is_watched_for_races():
    """Built with ThreadSanitizer, which remembers which thread has touched what."""
    return b"__tsan_init" in SLUICE.read_bytes()


def forget_soon(monkeypatch):
    """AddressSanitizer keeps what was freed for a while: less of it, where memory is measured."""
    options = os.environ.get("ASAN_OPTIONS", "")
    monkeypatch.setenv("ASAN_OPTIONS", f"{options}:quarantine_size_mb=1")


def wait_until(is_so, what, timeout_s=TIMEOUT_S):
    """Looks again and again; what it found, if that is true."""
    end = time.monotonic() + timeout_s
    while not (found := is_so()):
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.005)
    return found


def hang_up(server):
    """Asks it to read its rules again."""
    server.process.send_signal(signal.SIGHUP)


def resident_bytes(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(re.search(r"^VmRSS:\s+(\d+) kB", status.read(), re.M)[1]) << 10


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        user, system = stat.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def busy_share(pid, seconds=1):
    """Of that time, how much it spent working; more than 1 with several threads."""
    start, before = time.monotonic(), cpu_seconds(pid)
    time.sleep(seconds)
    return (cpu_seconds(pid) - before) / (time.monotonic() - start)


def open_files(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def https_port(server):
    """Of the listener with TLS; `listen.http` is there as well unless it is `off`."""
    return next(int(address.rpartition(":")[2]) for address in server.addresses
                if address.startswith("https:"))


class Started(Server):
    """`sluice serve` with these arguments alone. Keeps all that it printed on standard output."""

    def __init__(self, *arguments, listeners=1, **settings):
        self.own_folder = None
        self.out = []
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen([SLUICE, "serve", *arguments], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=self.errors, **settings)
        self.lines = queue.Queue()
        self.reader = threading.Thread(target=self._read_lines, daemon=True)
        self.reader.start()
        try:
            self.addresses = [self._address() for _ in range(listeners)]
        except BaseException:
            self.kill()
            raise

    def _read_lines(self):
        for line in self.process.stdout:
            self.out.append(line.decode().rstrip("\n"))
            self.lines.put(self.out[-1])
        self.lines.put(None)


class Notified:
    """A socket as systemd has one, and what was sent to it."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.settimeout(TIMEOUT_S)
        self.socket.bind("\0" + path[1:] if path.startswith("@") else path)

    def next(self):
        """The variables of the next datagram that is about states, not about a text to show."""
        while True:
            text = self.socket.recv(65536).decode()
            variables = dict(line.split("=", 1) for line in text.splitlines() if line)
            if set(variables) - {"STATUS"}:
                return variables


def at_once(works):
    """All of them, each in a thread; what one raised is raised."""
    failures = []

    def run(work):
        try:
            work()
        except BaseException as failure:  # the thread's, to be shown by the test
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
