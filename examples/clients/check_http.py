#!/usr/bin/env python3
"""May this user go on? Asked over HTTP, with what Python brings along.

    check_http.py USER [PATIENCE]

Prints the answer; exit 0 allowed, 1 denied. With PATIENCE, in seconds, a denial is waited out where
Retry-After says that it will pass by then. If no decision is to be had, the user goes on: a
limiter that is down must not take everything else down.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request

URL = os.environ.get("SLUICE_HTTP", "http://127.0.0.1:8080") + "/v1/check"
TIMEOUT_S = float(os.environ.get("SLUICE_TIMEOUT_S", "0.1"))


def ask(user):
    """(decision, when to come back in seconds or None); the decision is None if there is none."""
    body = json.dumps({"tenant": "shop", "resource": "/api/videos", "user": user}).encode()
    request = urllib.request.Request(URL, body, {"Content-Type": "application/json"})
    try:
        try:
            answer = urllib.request.urlopen(request, timeout=TIMEOUT_S)
        except urllib.error.HTTPError as refusal:  # 429; 503 if the rules deny without a store
            answer = refusal
        with answer:
            if answer.headers.get_content_type() != "application/json":  # a problem, no decision
                raise ValueError(answer.read().decode())
            return json.load(answer), answer.headers["Retry-After"]
    except (OSError, ValueError) as error:
        print(f"check_http.py: no decision: {error}", file=sys.stderr)
        return None, None


def ask_patiently(user, patience_s):
    end = time.monotonic() + patience_s
    while True:
        decision, retry_s = ask(user)
        if not decision or decision["allowed"] or retry_s is None:
            return decision, retry_s
        if time.monotonic() + int(retry_s) > end:
            return decision, retry_s
        time.sleep(int(retry_s))


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    decision, retry_s = ask_patiently(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 0)
    if not decision:
        print("allowed, unchecked")
    elif decision["allowed"]:
        print(f"allowed, {decision['remaining']} of {decision['limit']} left")
    else:
        print(f"denied, again in {retry_s} s" if retry_s else "denied")
        sys.exit(1)


if __name__ == "__main__":
    main()
