"""HTTP/2 by hand, on Python's h2: for what no decent client would say.

    with Talk(port) as talk:
        stream = talk.ask("/grpc.health.v1.Health/Check", b"")
        assert talk.answer(stream).status == 0
        talk.send(b"\\0\\0\\x08\\6\\0\\0\\0\\0\\0" + b"12345678")     # a frame, byte for byte
        assert talk.ended() == "ENHANCE_YOUR_CALM"

h2 keeps to the protocol for itself; bytes that it would not send go around it.
"""

import contextlib
import socket
import struct

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions

TIMEOUT_S = 60
LIMIT = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
CHECK = "/grpc.health.v1.Health/Check"


def framed(message, flag=0):
    """A message of gRPC with its prefix."""
    return struct.pack(">BI", flag, len(message)) + message


def frame(kind, flags, stream, payload=b""):
    """A frame of HTTP/2."""
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


class Heard:
    """What was said on a stream so far. `status` is gRPC's, `http` HTTP's."""

    def __init__(self):
        self.fields, self.body, self.closed, self.reset = {}, b"", False, None

    @property
    def http(self):
        return int(self.fields[":status"])

    @property
    def status(self):
        return int(self.fields["grpc-status"])

    @property
    def why(self):
        return self.fields.get("grpc-message", "")

    @property
    def message(self):
        """The only one."""
        assert len(self.body) >= 5 and struct.unpack(">I", self.body[1:5])[0] == len(self.body) - 5
        return self.body[5:]


class Talk:
    """A connection. Everything that comes is kept by its stream."""

    def __init__(self, port, connected=None):
        self.socket = connected or socket.create_connection(("127.0.0.1", port), TIMEOUT_S)
        self.socket.settimeout(TIMEOUT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        config = h2.config.H2Configuration(client_side=True, header_encoding="utf-8",
                                           validate_outbound_headers=False,
                                           normalize_outbound_headers=False)
        self.h2 = h2.connection.H2Connection(config)
        self.heard, self.resets, self.goaway, self.is_closed = {}, {}, None, False
        self.acks, self.unread = 0, b""
        self.h2.initiate_connection()
        self.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    # ---- saying ----

    def send(self, data):
        """False: the server has closed already."""
        try:
            self.socket.sendall(data)
            return True
        except (BrokenPipeError, ConnectionResetError):
            self.is_closed = True
            return False

    def flush(self):
        return self.send(self.h2.data_to_send())

    def begin(self, path, *fields, method="POST", kind="application/grpc"):
        """A head; its stream."""
        stream = self.h2.get_next_available_stream_id()
        head = [(":method", method), (":scheme", "http"), (":path", path), (":authority", "sluice"),
                ("te", "trailers"), ("content-type", kind), *fields]
        self.heard[stream] = Heard()
        self.h2.send_headers(stream, head)
        self.flush()
        return stream

    def say(self, stream, data, end=False):
        self.h2.send_data(stream, data, end_stream=end)
        self.flush()

    def ask(self, path, message, *fields):
        """A call; its stream."""
        stream = self.begin(path, *fields)
        self.say(stream, framed(message), end=True)
        return stream

    # ---- hearing ----

    def read(self):
        """What comes next. False: the server has closed."""
        try:
            data = self.socket.recv(65536)
        except ConnectionResetError:
            data = b""
        if not data:
            self.is_closed = True
            return False
        self.unread += data
        while len(self.unread) >= 9 and len(self.unread) >= 9 + self.length():
            self._take_frame(self.unread[:9 + self.length()])
            self.unread = self.unread[9 + self.length():]
        if not self.is_closed:
            self.flush()
        return True

    def length(self):
        return int.from_bytes(self.unread[:3], "big")

    def _take_frame(self, whole):
        """One by one: what h2 does not expect, on streams that it has not opened, must not cost us
        the frames before it. A GOAWAY is kept from it: it would hear nothing more behind that."""
        kind, stream = whole[3], int.from_bytes(whole[5:9], "big")
        if kind == 7:
            self.goaway = int.from_bytes(whole[13:17], "big")
            return
        if kind == 3:
            self.resets[stream] = int.from_bytes(whole[9:13], "big")
        with contextlib.suppress(h2.exceptions.ProtocolError):
            for event in self.h2.receive_data(whole):
                self._take(event)

    def _take(self, event):
        heard = self.heard.get(getattr(event, "stream_id", None), Heard())
        if isinstance(event, (h2.events.ResponseReceived, h2.events.TrailersReceived)):
            heard.fields.update(event.headers)
        elif isinstance(event, h2.events.DataReceived):
            heard.body += event.data
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            heard.closed = True
        elif isinstance(event, h2.events.StreamReset):
            heard.closed, heard.reset = True, event.error_code
        elif isinstance(event, h2.events.PingAckReceived):
            self.acks += 1

    def answer(self, stream):
        """What was said on it, to its end."""
        while not self.heard[stream].closed:
            assert self.read(), f"closed before an answer, GOAWAY {self.goaway!r}"
        return self.heard[stream]

    def ended(self):
        """The server closes; the name of its GOAWAY's error."""
        while not self.is_closed:
            self.read()
        return None if self.goaway is None else h2.errors.ErrorCodes(self.goaway).name
