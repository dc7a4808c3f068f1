"""A fleet on one Redis that leases, 64 clients, and what they were really let through.

    with Fleet(redis, "fixed_window", limit=4000, seed=1) as fleet:
        fleet.run(4, kills=True)
        assert fleet.beyond() == []

All clients ask at once and all answers are read before they ask again, so an admission's instant is
known up to one such round: it begins when the first of them asks and ends with the last answer, by
the clock that Redis has too. What happened in no round's time is not looked at. An instance that
is killed takes its answers with it: they may have been admissions, and are not counted as such.
"""

import json
import random
import re
import time
from dataclasses import dataclass

from redis_requests import PATIENT
from serving import Server

INSTANCES, CLIENTS = 4, 64
SECOND_US = 1_000_000


def now_us():
    return time.time_ns() // 1000


def asking(count):
    body = json.dumps([{"user": "u"}] * count).encode()
    return (b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (len(body), body))


@dataclass
class Round:
    """All that asked at once."""

    start_us: int
    end_us: int
    asked: int
    admitted: int
    lost: int  # asked, and never answered


class Fleet:
    """`limit` in a second, or in another window, of which nothing is judged then."""

    def __init__(self, redis, algorithm, limit, seed=0, window="s"):
        self.algorithm, self.limit, self.rng = algorithm, limit, random.Random(seed)
        self.rules = (f"store: {redis.url()}\nworkers: 2\n{PATIENT}rules:\n  - {{ name: world, "
                      f"per: global, algorithm: {algorithm}, limit: {limit}/{window} }}\n")
        self.servers, self.connections, self.rounds, self.kills = [], [], [], 0

    def __enter__(self):
        try:
            self.servers = [Server(self.rules) for _ in range(INSTANCES)]
            self.connections = [[] for _ in self.servers]
            for number in range(INSTANCES):
                self.connect(number)
        except BaseException:
            self.__exit__(AssertionError)
            raise
        return self

    def __exit__(self, kind, *_):
        for raws in self.connections:
            for raw in raws:
                raw.socket.close()
        for server in self.servers:
            server.__exit__(kind)

    def connect(self, number):
        for raw in self.connections[number]:
            raw.socket.close()
        self.connections[number] = [self.servers[number].raw()
                                    for _ in range(CLIENTS // INSTANCES)]

    # ---- asking ----

    def ask(self, each, victim=None):
        """One round. An instance that is a victim is killed while it is asked."""
        batch, told = asking(each), Round(now_us(), 0, 0, 0, 0)
        for raws in self.connections:
            for raw in raws:
                raw.send(batch)
                told.asked += each
        if victim is not None:
            self.servers[victim].kill()
        for number, raws in enumerate(self.connections):
            for raw in raws:
                passed = admitted_of(raw, each, number == victim)
                told.admitted += passed or 0
                told.lost += each if passed is None else 0
        told.end_us = now_us()
        self.rounds.append(told)

    def restart(self, number):
        self.servers[number].__exit__(AssertionError)
        self.servers[number] = Server(self.rules)
        self.connect(number)

    def run(self, seconds, kills=False, each=16):
        """For so long; where instances are killed, until one was."""
        end = time.monotonic() + seconds
        while time.monotonic() < end or (kills and not self.kills):
            kill = kills and self.rng.random() < 0.06
            victim = self.rng.randrange(INSTANCES) if kill else None
            self.ask(each, victim)
            if kill:
                self.kills += 1
                self.restart(victim)

    # ---- judging ----

    def asked(self):
        return sum(told.asked for told in self.rounds)

    def beyond(self):
        """Where more was admitted than the limit allows: (what was, what may be)."""
        if self.algorithm == "token_bucket":
            return self.beyond_of_bucket()
        return [(count, self.limit) for count in self.certain().values() if count > self.limit]

    def certain(self):
        """By window, what was admitted in it for certain."""
        windows = {}
        for told in self.rounds:
            window = told.start_us // SECOND_US
            if told.end_us // SECOND_US == window:
                windows[window] = windows.get(window, 0) + told.admitted
        return windows

    def beyond_of_bucket(self):
        """Over every interval, from the start of a round to the end of another."""
        found = []
        for first, start in enumerate(self.rounds):
            admitted = 0
            for told in self.rounds[first:]:
                admitted += told.admitted
                may = self.limit + (told.end_us - start.start_us) * self.limit // SECOND_US
                if admitted > may:
                    found.append((admitted, may))
        return found

    def possible(self):
        """By window that was asked all the time, what was admitted in it at the most."""
        windows = {}
        for before, told in zip(self.rounds, self.rounds[1:]):
            for window in range(told.start_us // SECOND_US, told.end_us // SECOND_US + 1):
                count, waited = windows.get(window, (0, 0))
                gap = told.start_us - before.end_us
                windows[window] = count + told.admitted + told.lost, max(waited, gap)
        for edge in (self.rounds[0].start_us, self.rounds[-1].end_us):
            windows.pop(edge // SECOND_US, None)
        return {window: count for window, (count, waited) in windows.items() if waited < 50_000}


def admitted_of(raw, each, may_fail):
    try:
        response = raw.response()
    except (OSError, AssertionError, ValueError):
        if may_fail:
            return None
        raise
    passed = len(re.findall(rb'"allowed": ?true', response.body))
    assert passed + len(re.findall(rb'"allowed": ?false', response.body)) == each, response.body
    return passed
