"""What can go wrong with a Redis, as a table: how it begins, how it ends, and what is left.

    fault = FAULTS["stopped"]
    with fault.world() as world:          # a Redis, a wire to it, both as they should be
        fault.begin(world)
        ...                               # every request is decided by its rule's policy
        fault.end(world)

`kept`: what was counted before is still there afterwards. `exact`: of what the policy answered,
nothing is counted; otherwise Redis may have counted it at the most once, for the reply was lost
on its way and not the request. `sometimes`: a request may come through meanwhile. `absent`: it is
so already when the server starts.
"""

import threading

import redis as redis_client

from redis_proxy import Proxy
from redis_running import Redis, free_port
from watching import wait_until

PASSWORD = "right"
SLOW_S = 600  # of a reply on the slow wire: longer than any busy machine takes


class World:
    """A Redis and the wire that leads to it."""

    def __init__(self, *settings, password=None, said=None):
        self.redis = Redis(*settings, password=password)
        self.wire = Proxy(self.redis.port)
        self.said = said  # the password that the server says
        self.scripts = []  # threads that keep Redis busy

    def __enter__(self):
        self.redis.__enter__()
        self.wire.__enter__()
        return self

    def __exit__(self, *failure):
        self.wire.__exit__(*failure)
        self.redis.__exit__(*failure)
        for thread in self.scripts:
            thread.join()

    @property
    def url(self):
        return self.redis.url(password=self.said or "", port=self.wire.port)

    def tell(self, *words):
        """A command from an operator."""
        with self.redis.client() as client:
            return client.execute_command(*words)

    def configure(self, name, value):
        self.tell("CONFIG", "SET", name, value)

    def disconnect(self):
        """All clients that are there: they have to come again."""
        self.tell("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")


class Fault:
    """One row of the table."""

    def __init__(self, begin, end, kept=True, exact=True, sometimes=False, absent=False, **world):
        self.begin, self.end, self.kept, self.exact = begin, end, kept, exact
        self.sometimes, self.absent, self.about = sometimes, absent, world

    def world(self):
        return World(*self.about.get("settings", ()), password=self.about.get("password"),
                     said=self.about.get("said"))


# ---- how they begin and end, where that takes more than a word ------------------------------


def nothing(_):
    pass


def change_password(world, password):
    """For all clients, and now."""
    world.configure("requirepass", password)
    world.redis.password = password or None
    world.disconnect()


def follow_an_absent_primary(world):
    """A replica whose primary is not there: it may be read only."""
    world.tell("REPLICAOF", "127.0.0.1", str(free_port()))


def lead(world):
    world.configure("replica-serve-stale-data", "yes")
    world.tell("REPLICAOF", "NO", "ONE")


def follow_and_be_silent(world):
    world.configure("replica-serve-stale-data", "no")
    follow_an_absent_primary(world)


def load_slowly(world):
    """Restarts it with what it had and a lot more, which takes its time."""
    with world.redis.client() as client:
        with client.pipeline() as together:
            for number in range(2000):
                together.set(f"filler:{number}", "x" * 100, ex=3600)
            together.execute()
        client.save()
    world.redis.restart("key-load-delay 5000", "loading-process-events-interval-bytes 1024")
    is_loading(world)


def is_loading(world):
    try:
        world.tell("GET", "x")
    except redis_client.BusyLoadingError:
        return
    raise AssertionError("it has loaded everything already")


def load_fast(world):
    world.configure("key-load-delay", "0")


def keep_busy(world):
    def run():
        try:
            world.tell("EVAL", "while true do end", "0")
        except redis_client.RedisError:
            pass  # killed, as it should be

    world.scripts.append(threading.Thread(target=run, daemon=True))
    world.scripts[-1].start()
    wait_until(lambda: is_busy(world), "the script runs")


def is_busy(world):
    try:
        world.tell("GET", "x")
    except redis_client.ResponseError as error:
        return "BUSY" in str(error)
    return False


def leave_alone(world):
    with world.redis.client() as client:
        client.script_kill()


FAULTS = {
    "killed": Fault(lambda w: w.redis.kill(), lambda w: w.redis.start(), kept=False),
    "stopped": Fault(lambda w: w.redis.stop(), lambda w: w.redis.cont()),
    "slow": Fault(lambda w: w.wire.slow(SLOW_S), lambda w: w.wire.heal(), exact=False),
    "held back on the way": Fault(lambda w: w.wire.hold(), lambda w: w.wire.heal()),
    "cut in the middle of a reply": Fault(lambda w: w.wire.cut(1, 5, 20, 47, 48, 60, 90, 150),
                                          lambda w: w.wire.heal(), exact=False,
                                          sometimes=True),
    "refused": Fault(lambda w: w.wire.refuse(), lambda w: w.wire.heal()),
    "wants a password": Fault(lambda w: change_password(w, "new"),
                              lambda w: change_password(w, "")),
    "wants another password": Fault(lambda w: change_password(w, "new"),
                                    lambda w: change_password(w, PASSWORD), password=PASSWORD,
                                    said=PASSWORD),
    "forbids scripts": Fault(lambda w: w.tell("ACL", "SETUSER", "default", "-@scripting"),
                             lambda w: w.tell("ACL", "SETUSER", "default", "+@all")),
    "a replica": Fault(follow_an_absent_primary, lead),
    "a replica that is silent": Fault(follow_and_be_silent, lead),
    "without its replicas": Fault(lambda w: w.configure("min-replicas-to-write", "1"),
                                  lambda w: w.configure("min-replicas-to-write", "0")),
    "loading": Fault(load_slowly, load_fast),
    "busy": Fault(keep_busy, leave_alone, settings=("busy-reply-threshold 20",)),
    "out of memory": Fault(lambda w: w.configure("maxmemory", "1"),
                           lambda w: w.configure("maxmemory", "0")),
    "not there at the start": Fault(lambda w: w.redis.kill(), lambda w: w.redis.start(),
                                    kept=False, absent=True),
    "another password at the start": Fault(nothing, lambda w: change_password(w, "said"),
                                           absent=True, password=PASSWORD, said="said"),
}
