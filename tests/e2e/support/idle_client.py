"""Opens many connections and holds them, in a process of its own; run by test_serve_limits.py.

    idle_client.py PORT COUNT (fresh | used)

`used`: each has asked once. Prints `open` when all are there, and when a line comes on its
standard input, how many of them are still open; ends when that is closed.
"""

import resource
import select
import socket
import sys

from serving import TIMEOUT_S, Raw

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


def main():
    port, count, kind = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    held = []
    for _ in range(count):
        raw = Raw(socket.create_connection(("127.0.0.1", port), TIMEOUT_S))
        if kind == "used":
            raw.send(HEALTH)
            assert raw.response().status == 200
        held.append(raw)
    print("open", flush=True)
    for _ in sys.stdin:
        poll = select.poll()
        for raw in held:
            poll.register(raw.socket, select.POLLIN)
        print(len(held) - len(poll.poll(0)), flush=True)


if __name__ == "__main__":
    main()
