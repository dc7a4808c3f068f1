"""A client's way through a proxy, as the files in examples/proxies have it.

    with Stack(Nginx) as stack:
        answer = stack.ask("GET", "/api/videos", client="127.0.0.2")

    client 127.0.0.x → proxy → Sluice, asked about every request, then → backend

Proxy and Sluice are real processes; the backend is here and remembers what it saw. The
examples are copied with nothing changed but their ports, and their patience with a slow
Sluice, which a busy machine must not exhaust; a test that changes more says so (`edits`).
"""

import http.client
import http.server
import os
import re
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from program import ROOT
from serving import Server

EXAMPLES = ROOT / "examples/proxies"
TIMEOUT_S = 60
FIELDS = ("RateLimit", "RateLimit-Policy", "X-RateLimit-Limit", "X-RateLimit-Remaining",
          "X-RateLimit-Reset")
LIMIT = 5  # of the rule `login`


class Quiet(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A proxy that ends cuts its connections: nothing to print."""


class Backend:
    """Answers everything with 200, and keeps what was asked, in `seen`."""

    def __init__(self):
        self.seen = []
        self.server = Quiet(("127.0.0.1", 0), self._handler())
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        self.port = self.server.server_port

    def _handler(self):
        seen = self.seen

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # one write: no waiting for acknowledgements

            def log_message(self, *_):
                pass

            def answer(self):
                seen.append((self.command, self.path, self.headers, self.body()))
                self.send_response(200)
                self.send_header("Content-Length", "6")
                self.end_headers()
                self.wfile.write(b"hello\n" if self.command != "HEAD" else b"")

            def body(self):
                if "Transfer-Encoding" not in self.headers:
                    return self.rfile.read(int(self.headers.get("Content-Length", 0)))
                whole = b""
                while size := int(self.rfile.readline(), 16):
                    whole += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return whole

            do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_OPTIONS = answer

        return Handler

    def requests_for(self, path):
        return [request for request in self.seen if request[1] == path]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Nginx:
    files = ["nginx.conf"]
    rules = "nginx.rules.yaml"
    closed = ("error_page 502 504 = @open;", "")  # the edit that refuses when Sluice is away
    strike_user = None

    @staticmethod
    def command(folder):
        (folder / "prefix").mkdir(exist_ok=True)
        folder.chmod(0o711)  # root's nginx works as another user, who must get at his files
        return ["nginx", "-p", folder / "prefix", "-e", "stderr", "-c", folder / "nginx.conf"]


class Haproxy:
    files = ["haproxy.cfg", "haproxy-sluice.lua"]
    rules = "rules.yaml"
    closed = (" !sluice_is_away\n", "\n")
    strike_user = None

    @staticmethod
    def command(_):
        return ["haproxy", "-f", "haproxy.cfg"]


class Caddy:
    files = ["Caddyfile"]
    rules = "rules.yaml"
    closed = ("""	handle_errors {
		@away expression `{err.status_code} in [502, 504] && {vars.sluice} != "answered"`
		handle @away {
			reverse_proxy 127.0.0.1:9000
		}
	}
""", "")
    strike_user = ("# header_up -X-User", "header_up -X-User")

    @staticmethod
    def command(_):
        return ["caddy", "run", "--config", "Caddyfile"]


KINDS = {"nginx": Nginx, "haproxy": Haproxy, "caddy": Caddy}


def free_port():
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        return some.getsockname()[1]


# A test machine may be slower than any machine in service.
PATIENT = [(r"\b1s\b", "25s"), (r"TIMEOUT_MS = \d+", "TIMEOUT_MS = 29000")]


def replaced(text, old, new):
    assert old in text, f"the example has no {old!r} any more"
    return text.replace(old, new)


class Proxy:
    """One of the three, on a free port, from its example."""

    def __init__(self, kind, ports, edits):
        self.kind = kind
        self.folder = tempfile.TemporaryDirectory(prefix="sluice-proxy-")
        self.errors = tempfile.TemporaryFile()
        for _ in range(5):  # another process may take the port before it does
            self.port = free_port()
            self._fill({"8000": self.port, **ports}, edits)
            self._start()
            if self._listens():
                return
            self._stop()
        said = self.stderr
        self.close()
        raise AssertionError(f"it does not start:\n{said}")

    def _fill(self, ports, edits):
        texts = {name: (EXAMPLES / name).read_text(encoding="utf-8") for name in self.kind.files}
        whole = "\0".join(texts.values())
        for old, new in edits:
            whole = re.sub(old, new, whole) if (old, new) in PATIENT else replaced(whole, old, new)
        whole, count = re.subn(r":(8000|8080|9000)\b", lambda found: f":{ports[found[1]]}", whole)
        assert count >= len(ports)
        whole = whole.replace("abns@sluice", f"abns@sluice-{self.port}")  # there is one per machine
        for name, text in zip(texts, whole.split("\0")):
            (Path(self.folder.name) / name).write_text(text, encoding="utf-8")

    def _start(self):
        folder = Path(self.folder.name)
        homes = {"HOME": folder, "XDG_DATA_HOME": folder, "XDG_CONFIG_HOME": folder}
        self.process = subprocess.Popen(
            self.kind.command(folder), cwd=folder, stdin=subprocess.DEVNULL, stdout=self.errors,
            stderr=self.errors, env={**os.environ, **homes})

    def _listens(self):
        """Whether it got as far as that; it may have ended instead."""
        last = time.monotonic() + TIMEOUT_S
        while self.process.poll() is None and time.monotonic() < last:
            try:
                socket.create_connection(("127.0.0.1", self.port), TIMEOUT_S).close()
                return True
            except ConnectionRefusedError:
                time.sleep(0.01)
        return False

    @property
    def stderr(self):
        # Without moving the offset: the process writes at the same one.
        size = os.fstat(self.errors.fileno()).st_size
        return os.pread(self.errors.fileno(), size, 0).decode(errors="replace")

    def _stop(self):
        self.process.terminate()
        try:
            self.process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def close(self):
        self._stop()
        self.errors.close()
        self.folder.cleanup()


class Stack:
    """Sluice, a proxy and a backend that know each other."""

    def __init__(self, kind, edits=(), rules="", upstream=None, patient=True):
        text = (EXAMPLES / kind.rules).read_text(encoding="utf-8")
        text = replaced(text, "listen:\n  http: 127.0.0.1:8080\n", "")
        self.rules = replaced(text, "rules:\n", rules) if rules else text
        self.backend = Backend()
        self.sluice = Server(self.rules)
        self.proxy = None
        port = self.sluice.port if upstream is None else upstream(self.sluice.port)
        try:
            self.proxy = Proxy(kind, {"8080": port, "9000": self.backend.port},
                               [*edits, *(PATIENT if patient else ())])
        except BaseException as error:
            self.__exit__(type(error))
            raise

    def ask(self, method, path, client, fields=(), body=None):
        """One request through the proxy, on a connection of its own. A body that is a
        list goes out in chunks."""
        fields = [("Host", "example.test"), *fields]
        if isinstance(body, list):
            fields.append(("Transfer-Encoding", "chunked"))
        elif body is not None:
            fields.append(("Content-Length", str(len(body))))
        connection = http.client.HTTPConnection("127.0.0.1", self.proxy.port, timeout=TIMEOUT_S,
                                                source_address=(client, 0))
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in fields:
                connection.putheader(name, value)
            connection.endheaders(body, encode_chunked=isinstance(body, list))
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def log_in(self, client, fields=(), path="/login"):
        return self.ask("POST", path, client, fields, b"name=a")

    def exhaust(self, client):
        """Takes all that `login` gives."""
        assert [self.log_in(client).status for _ in range(LIMIT)] == [200] * LIMIT
        assert self.log_in(client).status == 429

    def restart_sluice(self):
        port = self.sluice.port
        self.sluice.__exit__(None)
        self.sluice = Server(self.rules, listen={"http": f"127.0.0.1:{port}"})

    def __enter__(self):
        return self

    def __exit__(self, kind, *rest):
        if self.proxy and kind:
            print(self.proxy.stderr)
        if self.proxy:
            self.proxy.close()
        self.backend.close()
        self.sluice.__exit__(kind, *rest)


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    def limits(self):
        """The rate limit fields that are there, each of which may be there once."""
        found = {name: self.headers.get_all(name) for name in FIELDS if name in self.headers}
        assert all(len(values) == 1 for values in found.values()), found
        return {name: values[0] for name, values in found.items()}


# ---- in Sluice's place ----------------------------------------------------------------


class Relay:
    """Stands before Sluice and counts the connections."""

    def __init__(self, port):
        self.target, self.accepted = port, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                here, _ = self.listener.accept()
            except OSError:
                return  # closed
            self.accepted += 1
            there = socket.create_connection(("127.0.0.1", self.target))
            for source, sink in ((here, there), (there, here)):
                source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._carry, args=(source, sink), daemon=True).start()

    @staticmethod
    def _carry(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass


class Answering(http.server.BaseHTTPRequestHandler):
    """In Sluice's place, and says neither yes nor no."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    status = 503

    def log_message(self, *_):
        pass

    def answer(self):
        body = b'{"error": "store_unavailable", "allowed": false}'
        self.send_response(self.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body if self.command != "HEAD" else b"")

    do_GET = do_HEAD = answer
