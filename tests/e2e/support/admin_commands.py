"""The admin commands, run as people run them, and a server that answers whatever a test wants.

    with Fake(json_answer({"rules": []})) as fake:
        done = ask("rules", "list", server=fake.url)
    assert fake.asked[0].target == "/v1/rules"
"""

import json
import os
import socket
import subprocess
import threading

from program import SLUICE, TIMEOUT_S, Done

MINE = ("SLUICE_SERVER", "SLUICE_TOKEN", "SLUICE_API_KEY", "http_proxy", "https_proxy", "all_proxy",
        "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def environment(**more):
    """Ours, without what would change where and how a command asks."""
    return {**{name: value for name, value in os.environ.items() if name not in MINE}, **more}


def ask(*arguments, server=None, stdin=b"", **variables):
    """Runs `sluice ARGUMENTS --server …` to its end."""
    where = ("--server", server) if server else ()
    if isinstance(stdin, str):
        stdin = stdin.encode()
    return Done(subprocess.run([SLUICE, *arguments, *where], input=stdin, capture_output=True,
                               timeout=TIMEOUT_S, check=False, env=environment(**variables)))


def answer(body, status=200, kind="application/json", fields=()):
    """The bytes of a response."""
    if isinstance(body, str):
        body = body.encode()
    lines = [f"HTTP/1.1 {status} X", f"Content-Type: {kind}", f"Content-Length: {len(body)}",
             "Connection: close", *fields]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def json_answer(value, status=200, fields=()):
    return answer(json.dumps(value), status, fields=fields)


def problem(status, detail, **more):
    body = {"type": "about:blank", "title": "No", "status": status, "detail": detail, **more}
    return answer(json.dumps(body), status, "application/problem+json")


# Answers of Sluice, for a start.
RULE = {"name": "api", "tenant": None, "source": "api", "replaces": "file", "etag": '"r12"',
        "rule": {"name": "api", "resource": "/api/*", "per": "user", "limit": "100/1m"}}
DELETED = {"name": "api", "deleted": True, "now": None}
EXEMPTION = {"kind": "ip", "value": "203.0.113.0/24", "source": "api", "until": None,
             "reason": None}
USER = {"user": "u1", "tenant": "acme", "known": True, "created_at": 1735689600,
        "email_verified": True, "tier": "pro",
        "limits": {"api": {"capacity": 500, "refill_rate": 50}}, "etag": '"u3"',
        "trust": {"score": 0.85, "age": {"days": 319, "value": 0.3},
                  "email": {"verified": True, "value": 0.2},
                  "success": {"calls": 100, "successes": 80, "value": 0.4},
                  "violations": {"count": 1, "value": -0.05}}}
TENANT = {"name": "acme", "tier": "pro", "etag": '"t3"', "rules": ["own"], "keys": []}
KEY = {"id": "3f2a", "sha256": "3f2a", "label": "ci", "tier": None, "created_at": 1735689600,
       "tenant": "acme", "key": "sk_1"}


class Asked:
    """A request as it arrived; names of fields in lower case."""

    def __init__(self, head, body):
        first, *lines = head.decode("latin-1").split("\r\n")
        self.method, self.target, _ = first.split(" ")
        pairs = [line.partition(": ")[::2] for line in lines]
        self.fields = {name.lower(): value for name, value in pairs}
        self.body = body


class Fake:
    """Listens on a port of 127.0.0.1, a free one if none is named, or on a Unix socket; gives
    every client `response`: bytes, or a function that is given the connection after the request
    was read."""

    def __init__(self, response, unix=None, port=0):
        self.response, self.asked = response, []
        self.listener = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(str(unix) if unix else ("127.0.0.1", port))
        self.listener.listen()
        self.url = f"unix:{unix}" if unix else f"http://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    @property
    def port(self):
        return self.listener.getsockname()[1]

    def _serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return  # it is over
            with connection:
                connection.settimeout(TIMEOUT_S)
                try:
                    self._answer(connection)
                except (ConnectionError, TimeoutError):
                    pass  # the command has gone; the test judges why

    def _answer(self, connection):
        bytes_in = b""
        while b"\r\n\r\n" not in bytes_in:
            more = connection.recv(65536)
            if not more:
                return
            bytes_in += more
        head, _, body = bytes_in.partition(b"\r\n\r\n")
        asked = Asked(head, body)
        while len(asked.body) < int(asked.fields.get("content-length", 0)):
            asked.body += connection.recv(65536)
        self.asked.append(asked)
        if callable(self.response):
            self.response(connection)
        else:
            connection.sendall(self.response)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(TIMEOUT_S)
