"""A running server, and two ways to talk to it.

    with Server(RULES) as server:
        answer = server.check({"user": "u1"})          # by http.client
        assert (answer.status, answer.json["allowed"]) == (200, True)
        with server.raw() as raw:                      # by hand, byte for byte
            raw.send(b"GET /healthz HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
            assert raw.response().status == 200

Leaving the block stops the server with SIGTERM and insists on exit 0, so a
report of a sanitizer fails the test; if the test failed, its standard error is
shown.
"""

import http.client
import json
import os
import queue
import re
import signal
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

from program import SLUICE

TIMEOUT_S = 60  # more than any busy machine takes: only what hangs is late
ANY_PORT = {"http": "127.0.0.1:0"}


class Server:
    """`sluice serve` with these rules. `listen` is a map as in the rules file; `folder` is where
    the rules are put, and paths in them are relative to it. Each server has a rules file of another
    name; those of a given `folder` share a database all the same, since the rules name `database`
    (None: they do not; each file has its own)."""

    named_database = None

    def __init__(self, rules, listen=None, folder=None, arguments=(), database="sluice.db"):
        self.own_folder = None if folder else tempfile.TemporaryDirectory(prefix="sluice-")
        self.folder = Path(folder or self.own_folder.name)
        self.listen = listen or ANY_PORT
        number, self.rules_file = tempfile.mkstemp(".yaml", "rules-", self.folder)
        os.close(number)
        self.named_database = database if folder else None
        self.write_rules(rules)
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [SLUICE, "serve", "-c", self.rules_file, *arguments], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=self.errors)
        self.lines = queue.Queue()  # of standard output, read as they come, or it would fill up
        self.reader = threading.Thread(target=self._read_lines, daemon=True)
        self.reader.start()
        try:
            self.addresses = [self._address() for one in self.listen.values() if one != "off"]
        except BaseException:
            self.kill()
            raise

    def write_rules(self, rules):
        """Replaces the rules file, whole. A reload is the caller's business."""
        new = Path(f"{self.rules_file}.new")
        named = f"\ndatabase: {self.named_database}\n" if self.named_database else ""
        if re.search(r"^database:", rules, re.M):
            named = ""
        new.write_text(f"listen: {json.dumps(self.listen)}\n{rules}{named}", encoding="utf-8")
        new.rename(self.rules_file)

    def _read_lines(self):
        for line in self.process.stdout:
            self.lines.put(line.decode().rstrip("\n"))
        self.lines.put(None)

    def _address(self):
        """What the next line that says so names: http://HOST:PORT, redis://… or unix:PATH."""
        while (line := self.lines.get(timeout=TIMEOUT_S)) is not None:
            if found := re.search(r"listening on ((\w+://|unix:)\S+)", line):
                return found[1]
        raise AssertionError(f"it ended ({self.process.wait()}) before it listened:\n{self.stderr}")

    @property
    def port(self):
        """Of the first listener that has one."""
        return next(int(address.rpartition(":")[2]) for address in self.addresses
                    if not address.startswith("unix:"))

    @property
    def database(self):
        """The file that changes are kept in, unless its rules name another."""
        return self.folder / self.named_database if self.named_database else \
            Path(f"{self.rules_file}.db")

    @property
    def pid(self):
        return self.process.pid

    @property
    def stderr(self):
        # Without moving the offset: the process writes at the same one.
        size = os.fstat(self.errors.fileno()).st_size
        return os.pread(self.errors.fileno(), size, 0).decode(errors="replace")

    # ---- its end ----

    def stop(self, number=signal.SIGTERM):
        """Asks it to end; the exit status, negative for a signal."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.wait()

    def wait(self):
        try:
            return self.process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"it did not end:\n{self.stderr}") from None

    def kill(self):
        self.process.kill()
        return self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        ended_already = self.process.poll() is not None  # the test ended it, and judged its exit
        try:
            status = self.stop()
            if kind:
                print(self.stderr)
            assert kind or ended_already or status == 0, f"exit {status}\n{self.stderr}"
        finally:
            self.reader.join(TIMEOUT_S)
            self.process.stdout.close()
            self.errors.close()
            if self.own_folder:
                self.own_folder.cleanup()

    # ---- talking to it ----

    def raw(self):
        return Raw(socket.create_connection(("127.0.0.1", self.port), TIMEOUT_S))

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)

    def ask(self, method, path, body=None, headers=(), connection=None):
        """One call; without a connection, on one of its own. A body that is no bytes is JSON."""
        mine = connection or self.connection()
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        fields = {"Content-Type": "application/json"} if body is not None else {}
        try:
            mine.request(method, path, body, {**fields, **dict(headers)})
            return Answer(mine.getresponse())
        finally:
            if not connection:
                mine.close()

    def check(self, request, connection=None):
        return self.ask("POST", "/v1/check", request, connection=connection)


class Answer:
    """A response that was read whole. `headers` finds fields in any case."""

    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    @property
    def json(self):
        return json.loads(self.body)


class Response:
    """What Raw read: `fields` are pairs in their order, names in lower case."""

    def __init__(self, status, fields, body=b""):
        self.status, self.fields, self.body = status, fields, body

    @property
    def headers(self):
        return dict(self.fields)

    @property
    def json(self):
        return json.loads(self.body)


class Raw:
    """A connection by hand. Reads one response at a time and fails on whatever RFC 9112 would
    not let a server send, or that leaves in doubt where a response ends."""

    def __init__(self, connected):
        self.socket = connected
        self.socket.settimeout(TIMEOUT_S)
        if connected.family != socket.AF_UNIX:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.unread = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        """Tells whether the server still took it: it may have closed already, after an error."""
        try:
            self.socket.sendall(data)
            return True
        except (BrokenPipeError, ConnectionResetError):
            return False

    def finish(self):
        """Nothing more comes from here."""
        self.socket.shutdown(socket.SHUT_WR)

    def _until(self, is_enough):
        while not is_enough():
            more = self.socket.recv(65536)
            assert more, f"closed in the middle of a response, after {self.unread!r}"
            self.unread += more

    def response(self, to="GET"):
        """The next one; a response to HEAD has no body. Interim ones (100) are returned too."""
        self._until(lambda: b"\r\n\r\n" in self.unread)
        head, _, self.unread = self.unread.partition(b"\r\n\r\n")
        first, *lines = head.decode("ascii").split("\r\n")
        status = re.fullmatch(r"HTTP/1\.1 ([1-5]\d\d) [ -~]*", first)
        assert status, f"no status line: {first!r}"
        fields = []
        for line in lines:
            field = re.fullmatch(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([ -~]*?)[ \t]*", line)
            assert field, f"no field: {line!r}"
            fields.append((field[1].lower(), field[2]))
        body = self._body(int(status[1]), fields, to)
        return Response(int(status[1]), fields, body)

    def _body(self, status, fields, to):
        names = [name for name, _ in fields]
        assert len(set(names)) == len(names), f"a field twice: {names}"
        assert "transfer-encoding" not in names
        if status < 200 or status in (204, 304):
            assert "content-length" not in names
            return b""
        length = dict(fields)["content-length"]
        assert re.fullmatch(r"0|[1-9]\d*", length), length
        if to == "HEAD":
            return b""
        self._until(lambda: len(self.unread) >= int(length))
        body, self.unread = self.unread[:int(length)], self.unread[int(length):]
        return body

    def ended(self):
        """The server has closed, and nothing came before that; fails otherwise."""
        try:
            self.unread += self.socket.recv(65536)
        except ConnectionResetError:
            pass
        assert self.unread == b"", f"more came: {self.unread!r}"
        return True


def connect_unix(path):
    connected = socket.socket(socket.AF_UNIX)
    try:
        connected.settimeout(TIMEOUT_S)
        connected.connect(str(path))
        return Raw(connected)
    except BaseException:
        connected.close()
        raise


def is_listening(path):
    """Of a Unix socket: the file is there a little before the server listens."""
    try:
        connect_unix(path).socket.close()
        return True
    except (ConnectionRefusedError, FileNotFoundError):
        return False
