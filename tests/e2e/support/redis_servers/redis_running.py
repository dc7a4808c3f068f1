"""A real redis-server, thrown away afterwards, and a wire to it that can be made bad.

    with Redis("maxmemory 10mb") as redis, Proxy(redis.port) as wire:
        with Server(f"store: {redis.url()}\\n{RULES}") as server:
            ...
            redis.stop()                     # SIGSTOP; redis.cont() goes on
            redis.kill()                     # SIGKILL; redis.restart() is empty, on the same port
            assert redis.client().hgetall("rl:-:api:{u1}") == {...}
        assert redis.keys_without_ttl() == []

Words of its configuration are given as lines of redis.conf. It writes nothing to disk unless it
is asked to (`SAVE`). The ports are not among those that the system gives to others, so that one
stays ours while no process listens.
"""

import random
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
import redis as redis_client

TIMEOUT_S = 60
PORTS = range(20000, 32000)  # below those that the system gives away by itself
QUIET = ("bind 127.0.0.1", 'save ""', "appendonly no", "daemonize no", "enable-debug-command yes")


# What a user must be allowed: to run scripts (EVALSHA, and EVAL or SCRIPT LOAD where Redis does
# not know one), and whatever the scripts call. Nothing else: not KEYS, not CONFIG, not FLUSHALL.
CALLED = ["evalsha", "eval", "script|load", "ping", "select"]
DECIDING = ["time", "hmget", "hset", "hincrby", "pexpire", "del", "zrange", "zcount", "zadd",
            "zremrangebyscore"]
HOLDING = ["hgetall", "pttl", "zcard", "zrangebyscore", "zrem", "zremrangebyrank"]
LEAST = [f"+{name}" for name in (*CALLED, *DECIDING, *HOLDING)]

given = set()


def free_port():
    """One on which no process listens at the moment, and which was not given here before."""
    for port in random.SystemRandom().sample(PORTS, 100):
        if port in given:
            continue
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
                given.add(port)
                return port
            except OSError:
                continue
    raise AssertionError("no free port was found")


class Redis:
    """Runs from `with` to its end. `password` is what `client()` says, and `requirepass`."""

    def __init__(self, *settings, password=None, tls=None, data=None):
        self.own_folder = tempfile.TemporaryDirectory(prefix="sluice-redis-")
        self.folder = Path(self.own_folder.name)
        self.settings, self.password, self.tls = settings, password, tls
        self.port, self.tls_port = free_port(), free_port() if tls else None
        self.unix = self.folder / "redis.sock"
        self.process = None
        if data:
            (self.folder / "dump.rdb").write_bytes(data)

    # ---- where it is ----

    def url(self, user="", password="", database=None, port=None):
        """redis://USER:PASSWORD@127.0.0.1:PORT/DATABASE, of what is given."""
        who = f"{user}:{password}@" if user or password else ""
        which = "" if database is None else f"/{database}"
        return f"redis://{who}127.0.0.1:{port or self.port}{which}"

    def client(self, database=0, **more):
        """Of python3-redis, as an operator has one."""
        settings = {"password": self.password, "decode_responses": True,
                    "socket_timeout": TIMEOUT_S, **more}
        return redis_client.Redis("127.0.0.1", self.port, db=database, **settings)

    # ---- its life ----

    def _configured(self, more):
        lines = [*QUIET, f"port {self.port}", f"dir {self.folder}", f"unixsocket {self.unix}",
                 f"logfile {self.folder}/log", *self.settings, *more]
        if self.password:
            lines.append(f"requirepass {self.password}")
        if self.tls:
            lines += [f"tls-port {self.tls_port}", *self.tls]
        path = self.folder / "redis.conf"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path

    def start(self, *more):
        """`more` are settings for this time only. It answers when this returns, if only with
        an error."""
        assert self.process is None
        for _ in range(5):  # another process may have taken the port meanwhile
            self.process = subprocess.Popen(["redis-server", self._configured(more)],
                                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                            stderr=subprocess.STDOUT)
            if self._answers():
                return self
            self.kill()
            time.sleep(0.1)
        raise AssertionError(f"redis-server did not start:\n{self.log}")

    def _answers(self):
        end = time.monotonic() + TIMEOUT_S
        while time.monotonic() < end and self.process.poll() is None:
            try:
                with self.client() as client:
                    client.ping()
                return True
            except redis_client.BusyLoadingError:
                return True
            except redis_client.ConnectionError:
                time.sleep(0.005)
        return False

    @property
    def log(self):
        path = self.folder / "log"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def kill(self):
        """At once, and what it held is lost."""
        self.process.kill()  # a stopped one too
        self.process.wait(TIMEOUT_S)
        self.process = None

    def restart(self, *more):
        """On the same port, with nothing (or what was saved)."""
        if self.process:
            self.kill()
        self.start(*more)

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)
        end = time.monotonic() + TIMEOUT_S
        while " T " not in self._state():  # it has a few instructions left until it stands
            assert time.monotonic() < end

    def _state(self):
        """The words of /proc/PID/stat behind its name."""
        text = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8")
        return text.rpartition(")")[2]

    def cont(self):
        self.process.send_signal(signal.SIGCONT)

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, *_):
        if self.process:
            self.kill()
        if kind:
            print(self.log[-3000:])
        self.own_folder.cleanup()

    # ---- what it holds ----

    def databases(self):
        """Numbers of those that hold something."""
        with self.client() as client:
            return [int(name[2:]) for name in client.info("keyspace")]

    def keys_without_ttl(self):
        """In any database. There should be none, whatever was done."""
        found = []
        for number in self.databases():
            with self.client(number) as client:
                found += [f"{number}: {key}" for key in client.scan_iter(count=1000)
                          if client.pttl(key) == -1 and not key.startswith("rl:{~registry}:")]
        return found

    def flush(self):
        with self.client() as client:
            client.flushall()


# ---- for the tests of a file that share one, under the name `running` ----


@pytest.fixture(name="redis", autouse=True)
def empty_redis(running):
    """Empty at first; in the end no key is left that would stay for ever."""
    running.flush()
    yield running
    assert running.keys_without_ttl() == []


@pytest.fixture(name="db")
def client_of(redis):
    with redis.client() as client:
        yield client
