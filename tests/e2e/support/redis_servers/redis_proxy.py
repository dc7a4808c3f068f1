"""A wire to Redis that can be made bad, while it is in use.

    with Proxy(redis.port) as wire:
        wire.slow(5)          # every reply comes 5 s later than it was given
        wire.cut(7, 40)       # a connection ends after 7 bytes of replies, the next after 40, …
        wire.hold()           # nothing passes in either direction, new connections are taken
        wire.refuse()         # all are closed, and new ones refused
        wire.heal()           # as a wire should be; what was held back arrives now

What is held back is not lost: a network that comes back delivers what was sent, late. One thread
serves it all, and changes the mode as well: a mode is in force when the call returns.
"""

import collections
import itertools
import queue
import selectors
import socket
import threading
import time

from redis_running import free_port

CHUNK = 65536
TIMEOUT_S = 60


class Pipe:
    """A client's socket and the one to Redis, and what is on its way between them."""

    def __init__(self, client, redis):
        self.ends = {client: redis, redis: client}
        self.client, self.redis = client, redis
        self.late = collections.deque()  # (due, where to, bytes), in order
        self.left = None                 # bytes of replies until it is cut

    def close(self):
        for end in self.ends:
            end.close()


class Proxy:
    """In front of 127.0.0.1:`to`, on a port of its own."""

    def __init__(self, to):
        self.to, self.pipes = to, []
        self.mode, self.delay_s, self.counts = "pass", 0, None
        self.listener = None
        self.port = free_port()
        self._listen()
        self.orders = queue.Queue()  # (mode, delay, counts, event when it is so)
        self.over = False
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _listen(self):
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", self.port))
        self.listener.listen(100)
        self.listener.setblocking(False)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over = True
        self.thread.join()
        self._close_all()
        if self.listener:
            self.listener.close()

    # ---- what a test says ----

    def heal(self):
        self._become("pass")

    def slow(self, seconds):
        self._become("slow", delay_s=seconds)

    def cut(self, *counts):
        self._become("cut", counts=itertools.cycle(counts))

    def hold(self):
        self._become("hold")

    def refuse(self):
        self._become("refuse")

    def _become(self, mode, delay_s=0, counts=None):
        done = threading.Event()
        self.orders.put((mode, delay_s, counts, done))
        assert done.wait(TIMEOUT_S), "the proxy's thread has ended"

    # ---- its thread ----

    def _run(self):
        while not self.over:
            while not self.orders.empty():
                self._obey(*self.orders.get())
            ready = self._ready()
            if self.listener in ready:
                self._accept()
            for pipe in list(self.pipes):
                self._move(pipe, ready)

    def _obey(self, mode, delay_s, counts, done):
        self.mode, self.delay_s, self.counts = mode, delay_s, counts
        for pipe in self.pipes:
            pipe.left = next(counts) if counts else None
        if mode == "refuse":
            self._close_all()
            self.listener.close()
            self.listener = None
        elif not self.listener:
            self._listen()
        done.set()

    def _ready(self):
        """Sockets with something to read. Not for long: there may be orders, or something due."""
        with selectors.DefaultSelector() as selector:
            ends = [end for pipe in self.pipes for end in pipe.ends] if self.mode != "hold" else []
            for end in (*ends, *([self.listener] if self.listener else [])):
                selector.register(end, selectors.EVENT_READ)
            return {key.fileobj for key, _ in selector.select(0.005)}

    def _accept(self):
        client, _ = self.listener.accept()
        try:
            redis = socket.create_connection(("127.0.0.1", self.to), 5)
        except OSError:
            client.close()
            return
        for end in (client, redis):
            end.settimeout(5)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        pipe = Pipe(client, redis)
        pipe.left = next(self.counts) if self.counts else None
        self.pipes.append(pipe)

    def _move(self, pipe, ready):
        """What this pipe has, as far as the mode lets it through."""
        try:
            for end in ready & pipe.ends.keys():
                chunk = end.recv(CHUNK)
                if not chunk:
                    raise ConnectionError("closed")
                late = self.mode == "slow" and end is pipe.redis
                due = time.monotonic() + (self.delay_s if late else 0)
                pipe.late.append((due, pipe.ends[end], chunk))
            self._deliver(pipe)
        except OSError:
            self._drop(pipe)

    def _deliver(self, pipe):
        """What is due; all of it once the wire is healed. A request does not wait for a reply."""
        now, waiting = time.monotonic(), collections.deque()
        while pipe.late:
            due, where, chunk = pipe.late.popleft()
            if due > now and self.mode == "slow":
                waiting.append((due, where, chunk))
                continue
            if where is pipe.client and pipe.left is not None:
                chunk = chunk[:pipe.left]
                pipe.left -= len(chunk)
            where.sendall(chunk)
            if pipe.left == 0:
                raise ConnectionError("cut")
        pipe.late = waiting

    def _drop(self, pipe):
        pipe.close()
        self.pipes.remove(pipe)

    def _close_all(self):
        for pipe in self.pipes:
            pipe.close()
        self.pipes.clear()
