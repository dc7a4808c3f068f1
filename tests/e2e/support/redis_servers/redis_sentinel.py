"""A master with two replicas and three Sentinels that watch it, thrown away afterwards.

    with Sentinels() as fleet:
        with Server(f"store: {fleet.url()}\\n{RULES}") as server:
            old = fleet.master()
            old.kill()                       # or fleet.fail_over()
            new = fleet.wait_for_another(old)

They know one another from the start, so that no test waits for their first hello; and they are
quick to believe that a master is gone.
"""

import hashlib
import subprocess
import tempfile
import time
from pathlib import Path

import redis as redis_client

from redis_running import TIMEOUT_S, Redis, free_port
from watching import wait_until

NAME = "mymaster"
REPLICAS, SENTINELS, QUORUM = 2, 3, 2
DOWN_AFTER_MS, FAILOVER_TIMEOUT_MS = 500, 3000
REPLICATES = ("repl-diskless-sync yes", "repl-diskless-sync-delay 0", "repl-ping-replica-period 1",
              "repl-timeout 5")


class Sentinel:
    """One process. Its configuration is written before each start: it forgets what it learnt.
    `tls`: settings with which it and the Redis speak nothing else."""

    def __init__(self, port, password=None, tls=None):
        self.tls = tls
        self.own_folder = tempfile.TemporaryDirectory(prefix="sluice-sentinel-")
        self.folder = Path(self.own_folder.name)
        self.port, self.password, self.process = port, password, None
        self.id = hashlib.sha1(f"sentinel {port}".encode()).hexdigest()

    def start(self, master, replicas, others):
        master_port = master.tls_port if self.tls else master.port
        lines = ["bind 127.0.0.1", f"port {0 if self.tls else self.port}", "daemonize no",
                 f"dir {self.folder}", f"logfile {self.folder}/log", f"sentinel myid {self.id}",
                 f"sentinel monitor {NAME} 127.0.0.1 {master_port} {QUORUM}",
                 f"sentinel down-after-milliseconds {NAME} {DOWN_AFTER_MS}",
                 f"sentinel failover-timeout {NAME} {FAILOVER_TIMEOUT_MS}",
                 f"sentinel parallel-syncs {NAME} {REPLICAS}"]
        if self.tls:
            lines += [f"tls-port {self.port}", *self.tls]
        if master.password:
            lines.append(f"sentinel auth-pass {NAME} {master.password}")
        if self.password:
            lines += [f"requirepass {self.password}", f"sentinel sentinel-pass {self.password}"]
        lines += [f"sentinel known-replica {NAME} 127.0.0.1 {one.port}" for one in replicas]
        lines += [f"sentinel known-sentinel {NAME} 127.0.0.1 {one.port} {one.id}"
                  for one in others if one is not self]
        path = self.folder / "sentinel.conf"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        self.process = subprocess.Popen(["redis-server", path, "--sentinel"],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.STDOUT)

    def client(self):
        return redis_client.Redis("127.0.0.1", self.port, password=self.password,
                                  decode_responses=True, socket_timeout=TIMEOUT_S)

    def tell(self, *words):
        with self.client() as client:
            return client.execute_command("SENTINEL", *words)

    def address(self):
        """The master's port, as it says; None: it does not answer."""
        try:
            with self.client() as client:
                return int(client.sentinel_get_master_addr_by_name(NAME)[1])
        except redis_client.RedisError:
            return None

    def is_ready(self):
        """It reaches the master and all others."""
        try:
            state = self.tell("CKQUORUM", NAME)
            return str(state).startswith(f"OK {SENTINELS} ")
        except redis_client.RedisError:
            return False

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait(TIMEOUT_S)
        self.process = None

    @property
    def log(self):
        path = self.folder / "log"
        return path.read_text(encoding="utf-8") if path.exists() else ""


class Sentinels:
    """Runs from `with` to its end. `watched=False`: the Sentinels are started by `watch()`."""

    def __init__(self, *settings, password=None, sentinel_password=None, watched=True):
        more = (*REPLICATES, *settings)
        if password:
            more += (f"masterauth {password}",)
        self.redises = [Redis(*more, password=password) for _ in range(1 + REPLICAS)]
        self.sentinels = [Sentinel(free_port(), sentinel_password) for _ in range(SENTINELS)]
        self.watched = watched

    def url(self, login="", more=""):
        hosts = ",".join(f"127.0.0.1:{one.port}" for one in self.sentinels)
        return f"redis-sentinel://{login}{hosts}/{NAME}{more}"

    # ---- their life ----

    def __enter__(self):
        first, *rest = self.redises
        try:
            first.start()
            for one in rest:
                one.start(f"replicaof 127.0.0.1 {first.port}")
            wait_until(lambda: is_followed(first), "replicas are in step")
            if self.watched:
                self.watch()
        except BaseException:
            self.__exit__(AssertionError)
            raise
        return self

    def watch(self):
        first, *rest = self.redises
        for one in self.sentinels:
            one.start(first, rest, self.sentinels)
        wait_until(lambda: all(one.is_ready() for one in self.sentinels), "Sentinels agree")

    def __exit__(self, kind, *_):
        for one in self.sentinels:
            one.kill()
            if kind:
                print(one.log[-3000:])
            one.own_folder.cleanup()
        for one in self.redises:
            one.__exit__(kind)

    # ---- the master ----

    def at(self, port):
        return next(one for one in self.redises if one.port == port)

    def master(self):
        """As the Sentinels say that can be asked; None: they differ."""
        ports = {one.address() for one in self.sentinels if one.process} - {None}
        return self.at(ports.pop()) if len(ports) == 1 else None

    def wait_for_another(self, old):
        wait_until(lambda: self.master() not in (None, old), "another master")
        return self.master()

    def fail_over(self):
        """On purpose, with all servers there. It is refused for a while after another one."""
        end = time.monotonic() + TIMEOUT_S
        while time.monotonic() < end:
            try:
                self.sentinels[0].tell("FAILOVER", NAME)
                return
            except redis_client.ResponseError:
                time.sleep(0.1)
        raise AssertionError("no failover could be started")


def role(redis):
    with redis.client() as client:
        return client.execute_command("ROLE")[0]


def is_followed(master):
    """What is written now arrives everywhere: a replica that is up may not be sent anything yet."""
    with master.client() as client:
        client.set("in step?", "", px=1)
        return client.wait(REPLICAS, 100) == REPLICAS
