"""Rules on a Redis, and many requests at once.

    rules = on(redis, "".join(one(name, name, 5) for name in ALGORITHMS))
    with Server(rules) as server, Crowd(server, 8) as crowd:
        answers = crowd.ask({"user": "u", "resource": "/fixed_window"}, each=16)

A rule counts for longer than any test runs: whatever was counted can be told from what is left.
Unless a test is about the deadline, it is one that no busy machine misses.
"""

import json

from messages import post

ALGORITHMS = ("fixed_window", "sliding_window_log", "sliding_window_counter", "token_bucket",
              "leaky_bucket")
ANY = "any"
PATIENT = "store_deadline: 10s\non_store_failure: deny\n"


def numbers(algorithm, limit):
    """Of a limit of which nothing comes back meanwhile."""
    if algorithm.endswith("bucket"):  # the slowest there is: full again after 87 days
        return f"capacity: {limit}, refill_rate: {limit / 7_500_000:.9f}"
    return f"limit: {limit}/365d"


def one(name, algorithm, limit, more="", per="user", resource=None):
    """A rule; of the resource that has its name, unless another is given, or `ANY`."""
    where = "" if resource == ANY else f"resource: {resource or f'/{name}'}, "
    return (f"  - {{ name: {name}, {where}per: {per}, algorithm: {algorithm}, "
            f"{numbers(algorithm, limit)}{more} }}\n")


def on(store, rules, more=PATIENT):
    """The text of a rules file; `store` is a URL or what has one."""
    url = store if isinstance(store, str) else store.url()
    return f"store: \"{url}\"\n{more}rules:\n{rules}"


def asking(request):
    return post(json.dumps(request).encode())


class Crowd:
    """Connections to servers, a few to each, that all ask before any answer is read."""

    def __init__(self, connections, *servers):
        self.raws = [servers[number % len(servers)].raw() for number in range(connections)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for raw in self.raws:
            raw.socket.close()

    def ask(self, *requests, each=1):
        """Every connection sends all of them `each` times, pipelined: the responses in order."""
        batch = b"".join(asking(request) for request in requests) * each
        for raw in self.raws:
            assert raw.send(batch), "a connection was closed"
        return [raw.response() for raw in self.raws for _ in range(each * len(requests))]


def admitted(responses):
    return sum(response.json["allowed"] for response in responses)


def reasons(responses):
    return {response.json["reason"] for response in responses}
