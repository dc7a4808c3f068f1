"""The Redis protocol by hand: bytes out, replies in, read strictly.

    with Server(RULES, listen=BOTH) as server, talk(server) as talking:
        assert talking.ask("CL.THROTTLE", "k", 4, 1, 1) == [0, 5, 4, -1, 1]
        talking.send(b"PING\\r\\n")
        assert talking.reply() == "PONG"

Bulk and simple strings are text, nulls None, maps and booleans what they are called; errors are
`Problem`, which is equal to its text.
"""

import socket

from serving import TIMEOUT_S

BOTH = {"http": "127.0.0.1:0", "resp": "127.0.0.1:0"}
RESP = {**BOTH, "http": "off"}
USUAL = [0, 5, 4, -1, 1]  # what the first of CL.THROTTLE k 4 1 1 is answered


class Problem(str):
    """An error reply."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        return isinstance(other, Problem) and str.__eq__(self, other)


def command(*words):
    """As programs send it."""
    parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part)
                                               for part in parts)


class Talking:
    """A connection."""

    def __init__(self, connected):
        self.socket = connected
        self.socket.settimeout(TIMEOUT_S)
        self.unread = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def _more(self):
        more = self.socket.recv(65536)
        assert more, f"closed in the middle of a reply, after {self.unread!r}"
        self.unread += more

    def _line(self):
        while b"\r\n" not in self.unread:
            self._more()
        line, _, self.unread = self.unread.partition(b"\r\n")
        return line[:1], line[1:].decode()

    def _bulk(self, length):
        while len(self.unread) < length + 2:
            self._more()
        text, end = self.unread[:length], self.unread[length:length + 2]
        assert end == b"\r\n", f"no end: {end!r}"
        self.unread = self.unread[length + 2:]
        return text.decode()

    def reply(self):
        kind, rest = self._line()
        if kind in (b"*", b"~"):
            return [self.reply() for _ in range(int(rest))]
        if kind == b"%":
            return {self.reply(): self.reply() for _ in range(int(rest))}
        if kind == b"$":
            return None if rest == "-1" else self._bulk(int(rest))
        if kind == b"=":
            text = self._bulk(int(rest))
            assert text.startswith("txt:"), text
            return text[4:]
        plain = {b"+": str, b"-": Problem, b":": int, b"_": lambda _: None,
                 b"#": {"t": True, "f": False}.get}
        assert kind in plain, f"no reply: {kind + rest.encode()!r}"
        return plain[kind](rest)

    def replies(self, count):
        return [self.reply() for _ in range(count)]

    def ask(self, *words):
        self.send(command(*words))
        return self.reply()

    def ended(self):
        """The server has closed, and nothing came before that."""
        try:
            self.unread += self.socket.recv(65536)
        except ConnectionResetError:
            pass
        assert self.unread == b"", f"more came: {self.unread!r}"
        return True


def resp_port(server):
    return next(int(address.rpartition(":")[2]) for address in server.addresses
                if address.startswith("redis"))


def talk(server):
    return Talking(socket.create_connection(("127.0.0.1", resp_port(server)), TIMEOUT_S))


def pairs(flat):
    """A map as RESP2 has it."""
    return dict(zip(flat[::2], flat[1::2]))
