"""A client that asks without a pause, in a process of its own; run by test_serve_reload.py.

    load_client.py MODE PORT

MODE: `keep` http.client on one connection, `pipeline` sixteen requests at a time on one
raw connection, `fresh` a connection for every request. Asks until its standard input is
closed (`fresh`), or until the server says `Connection: close`; then one line of JSON:
how many answers each set of rules gave, how the connection ended, and what was wrong.
"""

import collections
import http.client
import json
import select
import socket
import sys

from serving import TIMEOUT_S, Raw

BODY = b'{"user": "u", "explain": true}'
ASK = (b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
       b"Content-Length: %d\r\n\r\n%s" % (len(BODY), BODY))
PIPELINED = 16


class Tally:
    def __init__(self):
        self.sets = collections.Counter()
        self.wrong = []
        self.end = None

    def add(self, status, body):
        if status != 200:
            self.wrong.append(f"{status}: {body!r}")
        else:
            self.sets[",".join(sorted(row["rule"] for row in json.loads(body)["rules"]))] += 1

    def print(self):
        print(json.dumps({"sets": self.sets, "wrong": self.wrong[:10], "end": self.end}))


def is_over():
    return bool(select.select([sys.stdin], [], [], 0)[0])


def keep(port, tally):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    connection.connect()
    connection.auto_open = 0  # one connection, or none
    while not tally.end:
        connection.request("POST", "/v1/check", BODY, {"Content-Type": "application/json"})
        response = connection.getresponse()
        closes = response.will_close
        tally.add(response.status, response.read())
        if closes:
            tally.end = "told"


def pipeline(port, tally):
    with Raw(socket.create_connection(("127.0.0.1", port), TIMEOUT_S)) as raw:
        while not tally.end:
            raw.send(ASK * PIPELINED)
            for _ in range(PIPELINED):
                answer = raw.response()
                tally.add(answer.status, answer.body)
                if answer.headers.get("connection", "").lower() == "close":
                    tally.end = "told"
                    raw.ended()
                    break


def fresh(port, tally):
    while not is_over():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
        connection.request("POST", "/v1/check", BODY, {"Content-Type": "application/json"})
        response = connection.getresponse()
        tally.add(response.status, response.read())
        connection.close()
    tally.end = "told"


def main():
    tally = Tally()
    try:
        {"keep": keep, "pipeline": pipeline, "fresh": fresh}[sys.argv[1]](int(sys.argv[2]), tally)
    except Exception as wrong:  # whatever it is, the test must hear of it
        tally.wrong.append(repr(wrong))
    tally.print()


if __name__ == "__main__":
    main()
