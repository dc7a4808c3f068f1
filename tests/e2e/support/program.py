"""The program under test, run as people run it."""

import json
import os
import subprocess
from pathlib import Path

SUPPORT = Path(__file__).resolve().parent
ROOT = SUPPORT.parents[2]
SLUICE = ROOT / os.environ.get("SLUICE", "build/sluice")  # an absolute one stays so
TIMEOUT_S = 120  # more than any busy machine takes: only what hangs is late


class Done:
    """What a run left: its exit code and what it printed."""

    def __init__(self, done):
        self.code = done.returncode
        self.out = done.stdout.decode()
        self.err = done.stderr.decode()

    @property
    def lines(self):
        """Standard output, a line of JSON each."""
        return [json.loads(line) for line in self.out.splitlines()]


def run(*arguments, stdin=b""):
    """Runs it to its end; `stdin` is text or bytes."""
    if isinstance(stdin, str):
        stdin = stdin.encode()
    return Done(subprocess.run([SLUICE, *arguments], input=stdin, capture_output=True,
                               timeout=TIMEOUT_S, check=False))
