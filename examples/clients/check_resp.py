#!/usr/bin/env python3
"""May this user go on? Asked over the Redis protocol, with redis-py (python3-redis).

    check_resp.py USER [PATIENCE]

Prints the answer; exit 0 allowed, 1 denied. With PATIENCE, in seconds, a denial is waited out where
`retry_after` says that it will pass by then. If no decision is to be had, the user goes on: a
limiter that is down must not take everything else down.
"""

import os
import sys
import time

import redis

URL = os.environ.get("SLUICE_RESP", "redis://127.0.0.1:6380")
TIMEOUT_S = float(os.environ.get("SLUICE_TIMEOUT_S", "0.1"))

# One for the whole program: it keeps connections, and threads may share it. A command whose answer
# is late may have been counted, so nothing is sent twice.
client = redis.Redis.from_url(URL, decode_responses=True, socket_timeout=TIMEOUT_S,
                              socket_connect_timeout=TIMEOUT_S)


def ask(user):
    """The decision, by the names that it has in JSON too; None if there is none."""
    try:
        reply = client.execute_command("SLUICE.CHECK", "tenant", "shop",
                                       "resource", "/api/videos", "user", user)
        # RESP3, which newer versions speak, has maps; RESP2 has name, value, name, value.
        return reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2]))
    except redis.RedisError as error:
        print(f"check_resp.py: no decision: {error}", file=sys.stderr)
        return None


def ask_patiently(user, patience_s):
    end = time.monotonic() + patience_s
    while True:
        decision = ask(user)
        if not decision or decision["allowed"]:
            return decision
        retry_s = decision["retry_after"]  # -1: never
        if retry_s < 1 or time.monotonic() + retry_s > end:
            return decision
        time.sleep(retry_s)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    decision = ask_patiently(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 0)
    if not decision:
        print("allowed, unchecked")
    elif decision["allowed"]:
        print(f"allowed, {decision['remaining']} of {decision['limit']} left")
    else:
        retry_s = decision["retry_after"]
        print(f"denied, again in {retry_s} s" if retry_s > 0 else "denied")
        sys.exit(1)


if __name__ == "__main__":
    main()
