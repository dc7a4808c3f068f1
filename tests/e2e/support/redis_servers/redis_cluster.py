"""A real Redis Cluster of three masters and three replicas, thrown away afterwards.

    with Cluster() as cluster:
        with Server(on(cluster, RULES)) as server:
            cluster.move(cluster.slot_of("rl:{acme}:api:u1"))    # to another master, keys and all
            cluster.owner(slot).kill()                            # its replica takes over
            cluster.wait_until_whole()

Made by hand (MEET, ADDSLOTSRANGE, REPLICATE), which is faster than redis-cli. Nodes give each other
up after NODE_TIMEOUT_MS, so that a failover takes a second or two.
"""

import contextlib

import redis as redis_client

from redis_running import Redis, free_port
from watching import wait_until

MASTERS, SLOTS, NODE_TIMEOUT_MS = 3, 16384, 1000
GONE = (redis_client.ConnectionError, redis_client.TimeoutError, redis_client.ResponseError)


class Cluster:
    """Runs from `with` to its end. `settings` are lines of every node's redis.conf, `tls` those that
    name its certificate."""

    def __init__(self, *settings, replicas=1, password=None, tls=None):
        self.replicas, self.password, self.tls = replicas, password, tls
        own = ["cluster-enabled yes", f"cluster-node-timeout {NODE_TIMEOUT_MS}",
               "cluster-allow-replica-migration no", "repl-diskless-sync-delay 0", *settings]
        if password:
            own.append(f"masterauth {password}")
        if tls:
            own += ["tls-cluster yes", "tls-replication yes"]
        self.nodes = [Redis(*own, f"cluster-port {free_port()}", password=password, tls=tls)
                      for _ in range(MASTERS * (1 + replicas))]
        self.stack = contextlib.ExitStack()

    # ---- its life ----

    def __enter__(self):
        for node in self.nodes:
            self.stack.enter_context(node)
        try:
            self._join()
        except BaseException:
            self.stack.close()
            raise
        return self

    def __exit__(self, *failure):
        self.stack.__exit__(*failure)

    def _join(self):
        first = self.nodes[0]
        for node in self.nodes[1:]:
            port = node.settings[-1].split()[1]
            self.tell(first, "CLUSTER", "MEET", "127.0.0.1", node.tls_port or node.port, port)
        for number, node in enumerate(self.nodes[:MASTERS]):
            self.tell(node, "CLUSTER", "ADDSLOTSRANGE", *self._share(number))
        wait_until(lambda: all(self._knows_all(node) for node in self.nodes), "the nodes have met")
        for number, node in enumerate(self.nodes[MASTERS:]):
            self.tell(node, "CLUSTER", "REPLICATE", self.id_of(self.nodes[number % MASTERS]))
        self.wait_until_whole()

    @staticmethod
    def _share(number):
        return SLOTS * number // MASTERS, SLOTS * (number + 1) // MASTERS - 1

    def _knows_all(self, node):
        return int(self._info(node)["cluster_known_nodes"]) == len(self.nodes)

    def wait_until_whole(self):
        """All slots are served, and every master that lives has a replica of those that do."""
        wait_until(lambda: all(self._is_whole(node) for node in self.alive()), "the cluster is up")

    def _is_whole(self, node):
        if self._info(node)["cluster_state"] != "ok":
            return False
        with node.client() as client:
            about = client.info("replication")
        return about["role"] == "master" or about["master_link_status"] == "up"

    def alive(self):
        return [node for node in self.nodes if node.process]

    def flush(self):
        for node in self.masters():
            node.flush()

    # ---- where it is ----

    def url(self, user="", password="", seeds=2):
        who = f"{user}:{password}@" if user or password else ""
        hosts = ",".join(f"127.0.0.1:{node.tls_port or node.port}" for node in self.nodes[:seeds])
        return f"{'rediss' if self.tls else 'redis'}-cluster://{who}{hosts}"

    @staticmethod
    def tell(node, *words):
        with node.client() as client:
            return client.execute_command(*words)

    def _info(self, node):
        about = self.tell(node, "CLUSTER", "INFO")
        return about if isinstance(about, dict) else dict(
            line.split(":", 1) for line in about.split())

    def id_of(self, node):
        return self.tell(node, "CLUSTER", "MYID")

    def slot_of(self, key):
        return int(self.tell(self.alive()[0], "CLUSTER", "KEYSLOT", key))

    def masters(self):
        """Of those that live."""
        found = []
        for node in self.alive():
            with node.client() as client:
                if client.info("replication")["role"] == "master":
                    found.append(node)
        return found

    def owner(self, slot):
        """The node that the first living one takes for it."""
        with self.alive()[0].client() as client:
            for row in client.execute_command("CLUSTER", "SLOTS"):
                if row[0] <= slot <= row[1]:
                    return next(node for node in self.nodes if node.port == row[2][1])
        raise AssertionError(f"nobody has slot {slot}")

    @staticmethod
    def _table(node):
        """The lines of CLUSTER NODES, as they are."""
        with node.client() as client:
            client.response_callbacks.pop("CLUSTER NODES", None)
            return client.execute_command("CLUSTER NODES").splitlines()

    # ---- what it holds ----

    def keys(self):
        found = {}
        for node in self.masters():
            with node.client() as client:
                for key in client.scan_iter(count=1000):
                    found[key] = node
        return found

    def keys_without_ttl(self):
        found = []
        for key, node in self.keys().items():
            with node.client() as client:
                if client.pttl(key) == -1:
                    found.append(key)
        return found

    # ---- slots that move ----

    def begin_move(self, slot, to=None):
        """From now on both have a part of it. Returns (from, to)."""
        source = self.owner(slot)
        target = to or next(node for node in self.masters() if node is not source)
        self.tell(target, "CLUSTER", "SETSLOT", slot, "IMPORTING", self.id_of(source))
        self.tell(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", self.id_of(target))
        return source, target

    def move_keys(self, slot, source, target, most=1000):
        """Those that are there now, so many at a time."""
        login = ("AUTH", self.password) if self.password else ()
        with source.client() as client:
            while keys := client.execute_command("CLUSTER", "GETKEYSINSLOT", slot, most):
                client.execute_command("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, *login,
                                       "KEYS", *keys)

    def end_move(self, slot, source, target):
        number = self.id_of(target)
        for node in (target, source, *self.masters()):
            self.tell(node, "CLUSTER", "SETSLOT", slot, "NODE", number)
        wait_until(lambda: len(self._epochs(number)) == 1, "all have heard of it")

    def _epochs(self, number):
        """Which version of the node's slots each master knows. Until they agree, a slot that moves
        on may be claimed by an old owner with a newer number, and its keys are deleted then."""
        rows = [row.split() for node in self.masters()
                for row in self._table(node) if row.startswith(number)]
        return {row[6] for row in rows}

    def move(self, slot, to=None):
        source, target = self.begin_move(slot, to)
        self.move_keys(slot, source, target)
        self.end_move(slot, source, target)
        return source, target


def metric(server, name, **labels):
    """Of /metrics; with these labels, or all of that name together."""
    wanted = [f'{key}="{value}"' for key, value in labels.items()]
    page = server.ask("GET", "/metrics").body.decode()
    return sum(float(line.rpartition(" ")[2]) for line in page.splitlines()
               if line.split("{")[0].split()[0] == name and all(one in line for one in wanted))
