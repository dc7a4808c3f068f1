"""A real Prometheus that looks at servers, with the configuration of packaging/.

    with Prometheus([server.port]) as prometheus:
        wait_until(lambda: prometheus.query("sluice_rules"), "a look")

It is Debian's, keeps what it sees in a folder of its own, and looks every second.
"""

import json
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from program import ROOT
from redis_running import free_port

TIMEOUT_S = 60
PACKAGING = ROOT / "packaging"
ALERTS = PACKAGING / "prometheus-alerts.yaml"
EXAMPLE = PACKAGING / "prometheus.yaml"
EXAMPLE_TARGET = '"127.0.0.1:8080"'
LOOK_EVERY = "1s"


def promtool(*arguments, stdin=b""):
    """Its exit status and all that it said."""
    done = subprocess.run(["promtool", *map(str, arguments)], input=stdin, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_S)
    return done.returncode, done.stdout.decode()


def configuration(ports):
    """The example, for these servers and for the impatient."""
    text = EXAMPLE.read_text(encoding="utf-8")
    assert text.count(EXAMPLE_TARGET) == 1 and text.count("_interval: 15s") == 2
    targets = ", ".join(f'"127.0.0.1:{port}"' for port in ports)
    return text.replace(EXAMPLE_TARGET, targets).replace("_interval: 15s",
                                                         f"_interval: {LOOK_EVERY}")


class Prometheus:
    """Runs from `with` to its end."""

    def __init__(self, ports):
        self.own_folder = tempfile.TemporaryDirectory(prefix="sluice-prometheus-")
        self.folder = Path(self.own_folder.name)
        (self.folder / "prometheus.yaml").write_text(configuration(ports), encoding="utf-8")
        shutil.copy(ALERTS, self.folder)
        self.port = free_port()
        self.log = (self.folder / "log").open("wb+")
        self.process = None

    def __enter__(self):
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={self.folder}/prometheus.yaml",
             f"--storage.tsdb.path={self.folder}/data",
             f"--web.listen-address=127.0.0.1:{self.port}"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        end = time.monotonic() + TIMEOUT_S
        while not self._is_ready():
            assert time.monotonic() < end and self.process.poll() is None, self.said
            time.sleep(0.05)
        return self

    def __exit__(self, kind, *_):
        self.process.kill()
        self.process.wait(TIMEOUT_S)
        if kind:
            print(self.said)
        self.log.close()
        self.own_folder.cleanup()

    @property
    def said(self):
        return (self.folder / "log").read_text(encoding="utf-8")[-3000:]

    def _is_ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=5):
                return True
        except OSError:
            return False

    def _ask(self, path, **fields):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(fields)}"
        try:
            with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as refused:
            raise AssertionError(f"{fields}: {refused.read().decode()}") from None

    def query(self, expression):
        """[(labels, value)]; fails if it is no expression."""
        return [(row["metric"], float(row["value"][1]))
                for row in self._ask("query", query=expression)["result"]]

    def rules(self):
        """Those of the alerts, as it has read and evaluated them."""
        return [rule for group in self._ask("rules")["groups"] for rule in group["rules"]]
