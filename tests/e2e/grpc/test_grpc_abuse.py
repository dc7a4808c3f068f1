"""What may be said over HTTP/2 and should not: it is refused, and others are served meanwhile."""

import contextlib
import socket
import struct
import time

import hpack
import pytest

from grpc_messages import channel_to, health, health_check, request, should_rate_limit
from h2_talking import CHECK, LIMIT, Talk, frame, framed
from serving import TIMEOUT_S, Server
from watching import is_sanitized, resident_bytes

RULES = """
workers: 1
rules: [{ name: api, per: user, algorithm: fixed_window, limit: 1000000000/365d }]
"""
LISTEN = {"http": "127.0.0.1:0", "grpc": "127.0.0.1:0"}
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE, CONTINUATION = (
    0, 1, 2, 3, 4, 6, 8, 9)
END_STREAM, END_HEADERS = 1, 4
ONE = request("d", [("user", "u")]).SerializeToString()


@pytest.fixture(name="server", scope="module")
def running():
    with Server(RULES, listen=LISTEN) as server:
        yield server


@pytest.fixture(name="hasty_port", scope="module")
def of_one_without_patience():
    with Server(f"timeouts: {{ head: 2s, body: 2s, write: 3s }}\n{RULES}", listen=LISTEN) as server:
        yield port_of(server)


def port_of(server):
    return next(int(address.rpartition(":")[2]) for address in server.addresses
                if address.startswith("grpc://"))


@pytest.fixture(name="port")
def of_grpc(server):
    return port_of(server)


@pytest.fixture(name="other", autouse=True)
def decent_client(port):
    """It is served before, and must be after."""
    with channel_to(port) as channel:
        ask = should_rate_limit(channel)
        ask(request("d", [("user", "other")]), timeout=TIMEOUT_S)
        yield ask
        ask(request("d", [("user", "other")]), timeout=TIMEOUT_S)


def head_of():
    """As a block of fields that needs no table."""
    return hpack.Encoder().encode([
        (":method", "POST"), (":scheme", "http"), (":path", LIMIT), (":authority", "x"),
        ("te", "trailers"), ("content-type", "application/grpc")])


def pour(talk, data, times):
    """As often as the server takes it."""
    for _ in range(times):
        if not talk.send(data):
            return


# ---- floods ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind, payload", [
    (PING, b"12345678"),
    (SETTINGS, b""),
    (SETTINGS, struct.pack(">HI", 4, 65535)),
    (PRIORITY, b"\0\0\0\0\x10"),
    (WINDOW_UPDATE, struct.pack(">I", 1)),
], ids=["ping", "settings", "window setting", "priority", "window update"])
def test_a_flood_is_told_to_be_calm(port, other, kind, payload):
    with Talk(port) as talk:
        stream = 1001 if kind == PRIORITY else 0
        pour(talk, frame(kind, 0, stream, payload) * 100, 50)
        other(request("d", [("user", "other")]), timeout=TIMEOUT_S)
        assert talk.ended() == "ENHANCE_YOUR_CALM"


def test_rapid_resets_are_told_to_be_calm(port, other):
    with Talk(port) as talk:
        for number in range(1, 4001, 2):
            opened = frame(HEADERS, END_HEADERS, number, head_of())
            if not talk.send(opened + frame(RST_STREAM, 0, number, struct.pack(">I", 8))):
                break
        other(request("d", [("user", "other")]), timeout=TIMEOUT_S)
        assert talk.ended() == "ENHANCE_YOUR_CALM"


def test_calls_and_as_many_resets_are_borne(port):
    with Talk(port) as talk:
        for _ in range(600):
            gone = talk.begin(LIMIT)
            talk.h2.reset_stream(gone, 8)
            assert talk.answer(talk.ask(LIMIT, ONE)).status == 0


def test_heads_that_never_end_are_told_to_be_calm(port):
    with Talk(port) as talk:
        talk.send(frame(HEADERS, 0, 1, head_of()))
        pour(talk, frame(CONTINUATION, 0, 1, b"\x40\1a\1b" * 1000), 100)
        assert talk.ended() == "ENHANCE_YOUR_CALM"


def test_empty_continuations_are_told_to_be_calm(port):
    with Talk(port) as talk:
        talk.send(frame(HEADERS, 0, 1, head_of()))
        pour(talk, frame(CONTINUATION, 0, 1), 100)
        assert talk.ended() == "ENHANCE_YOUR_CALM"


def test_empty_data_is_told_to_be_calm(port):
    with Talk(port) as talk:
        stream = talk.begin(LIMIT)
        pour(talk, frame(DATA, 0, stream) * 100, 50)
        assert talk.ended() == "ENHANCE_YOUR_CALM"


def test_padding_alone_is_told_to_be_calm(port):
    with Talk(port) as talk:
        stream = talk.begin(LIMIT)
        pour(talk, frame(DATA, 8, stream, b"\x05" + b"\0" * 5) * 100, 50)
        assert talk.ended() == "ENHANCE_YOUR_CALM"


# ---- heads ----------------------------------------------------------------------------------


def test_a_long_head_is_refused_and_the_connection_stays(port):
    with Talk(port) as talk:
        stream = talk.begin(CHECK, *[(f"x-{number}", "v" * 1000) for number in range(17)])
        talk.say(stream, framed(b""), end=True)
        heard = talk.answer(stream)
        assert (heard.http, heard.status) == (200, 8) and "16 KiB" in heard.why
        assert talk.answer(talk.ask(CHECK, b"")).status == 0


def test_a_small_head_that_stands_for_a_large_one_ends_it(port):
    """One field of 4 KB in HPACK's table, named by a byte again and again."""
    encoder = hpack.Encoder()
    first = encoder.encode([(":method", "POST"), (":scheme", "http"), (":path", CHECK),
                            (":authority", "x"), ("content-type", "application/grpc"),
                            ("x", "v" * 4000)])
    with Talk(port) as talk:
        talk.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, first + b"\xbe" * 10000))
        assert talk.ended() == "ENHANCE_YOUR_CALM"


@pytest.mark.parametrize("block", [b"\xff\xff\xff\xff\xff", b"\x3f\xff\xff\xff\x7f", b"\x80"])
def test_what_is_no_hpack_ends_it(port, block):
    with Talk(port) as talk:
        talk.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, block))
        assert talk.ended() == "COMPRESSION_ERROR"


def test_bad_frames_end_it(port):
    for bad, error in ((frame(DATA, 0, 0, b"x"), "PROTOCOL_ERROR"),
                       (frame(HEADERS, END_HEADERS, 2, head_of()), "PROTOCOL_ERROR"),
                       (frame(WINDOW_UPDATE, 0, 0, b"\x7f\xff\xff\xff"), "FLOW_CONTROL_ERROR"),
                       (frame(PING, 0, 0, b"short"), "FRAME_SIZE_ERROR"),
                       (struct.pack(">I", 1 << 20)[1:] + b"\0\0\0\0\0\1", "FRAME_SIZE_ERROR")):
        with Talk(port) as talk:
            talk.send(bad)
            assert talk.ended() == error


# ---- messages -------------------------------------------------------------------------------


def test_long_messages_are_refused_by_their_prefix(port):
    with Talk(port) as talk:
        stream = talk.begin(LIMIT)
        talk.say(stream, struct.pack(">BI", 0, (1 << 20) + 1))
        heard = talk.answer(stream)
        assert heard.status == 8 and "1 MiB" in heard.why
        assert talk.answer(talk.ask(CHECK, b"")).status == 0


def say_slowly(talk, stream, data):
    """As the windows let it."""
    while data and not talk.heard[stream].closed:
        room = min(talk.h2.local_flow_control_window(stream), 16384)
        if room == 0:
            assert talk.read(), f"closed, GOAWAY {talk.goaway!r}"
            continue
        talk.say(stream, data[:room])
        data = data[room:]


def test_many_messages_that_are_not_whole_are_held_to_a_bound(server, port):
    before = resident_bytes(server.pid)
    with Talk(port) as talk:
        statuses = []
        for _ in range(8):
            stream = talk.begin(LIMIT)
            say_slowly(talk, stream, struct.pack(">BI", 0, 1 << 20) + b"x" * (700 << 10))
            assert talk.answer(talk.ask(CHECK, b"")).status == 0  # all before it was read
            if talk.heard[stream].closed:
                statuses.append(talk.heard[stream].status)
        assert statuses == [8] * 6
        assert is_sanitized() or resident_bytes(server.pid) - before < 16 << 20


def test_half_a_message_has_its_time_and_the_others_are_answered(hasty_port):
    with Talk(hasty_port) as talk:
        half = talk.begin(LIMIT)
        talk.say(half, framed(ONE)[:-1])
        assert talk.answer(talk.ask(LIMIT, ONE)).status == 0
        heard = talk.answer(half)
        assert heard.status == 4 and "in time" in heard.why
        assert talk.ended() == "NO_ERROR"


@pytest.mark.parametrize("said", [b"PRI * HT", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
                                  + frame(SETTINGS, 0, 0) + frame(HEADERS, 0, 1, b"\x83")],
                         ids=["preface", "head"])
def test_half_a_beginning_has_its_time(hasty_port, said):
    with socket.create_connection(("127.0.0.1", hasty_port), TIMEOUT_S) as raw:
        raw.sendall(said)
        raw.settimeout(TIMEOUT_S)
        with contextlib.suppress(ConnectionResetError):
            while raw.recv(65536):
                pass


# ---- windows --------------------------------------------------------------------------------


def test_answers_that_are_not_let_out_wait_and_harm_no_other(port, other):
    with Talk(port) as talk:
        talk.h2.update_settings({4: 0})
        talk.flush()
        streams = [talk.ask(LIMIT, ONE) for _ in range(200)]
        other(request("d", [("user", "other")]), timeout=TIMEOUT_S)
        for stream in streams:
            talk.h2.increment_flow_control_window(65536, stream)
        talk.flush()
        assert [talk.answer(stream).status for stream in streams] == [0] * 200


@pytest.mark.parametrize("says", ["nothing", "pings", "calls"])
def test_a_client_that_lets_no_answer_out_is_cut(hasty_port, says):
    with Talk(hasty_port) as talk:
        talk.h2.update_settings({4: 0})
        talk.flush()
        talk.ask(LIMIT, ONE)
        end = time.monotonic() + TIMEOUT_S
        while time.monotonic() < end:
            time.sleep(0.1)
            if says == "pings":
                talk.send(frame(PING, 0, 0, b"12345678"))
            elif says == "calls":
                talk.ask(LIMIT, ONE)
            talk.socket.settimeout(0.01)
            with contextlib.suppress(TimeoutError):
                if not talk.read():
                    break
        assert talk.is_closed


def test_a_client_that_lets_answers_out_bit_by_bit_is_not_cut(hasty_port):
    with Talk(hasty_port) as talk:
        talk.h2.update_settings({4: 0})
        talk.flush()
        stream = talk.ask(LIMIT, ONE)
        for _ in range(20):  # longer in all than it may take at a time
            time.sleep(0.2)
            talk.h2.increment_flow_control_window(1, stream)
            talk.flush()
        talk.h2.increment_flow_control_window(65536, stream)
        talk.flush()
        assert talk.answer(stream).status == 0


def test_answers_that_a_wide_window_lets_out_all_come_without_another_word(port):
    """More than a connection's buffer holds, and the client has nothing to say meanwhile."""
    many = framed(request("d", *([("user", f"u{number}")] for number in range(64)))
                  .SerializeToString())
    with Talk(port) as talk:
        talk.h2.increment_flow_control_window(1 << 24)
        talk.h2.update_settings({4: 1 << 20})
        talk.flush()
        halves = [talk.begin(LIMIT) for _ in range(40)]
        for half in halves:
            talk.say(half, many[:-1])
        assert talk.answer(talk.ask(CHECK, b"")).status == 0  # all of that was read
        talk.send(b"".join(frame(DATA, END_STREAM, half, many[-1:]) for half in halves))
        ended = 0
        while ended < len(halves):
            talk.unread += talk.socket.recv(65536)
            while len(talk.unread) >= 9 and len(talk.unread) >= 9 + talk.length():
                ended += talk.unread[3] == HEADERS and bool(talk.unread[4] & END_STREAM)
                talk.unread = talk.unread[9 + talk.length():]


def test_more_streams_than_there_may_be_are_refused_and_the_others_answered(port):
    with Talk(port) as talk:
        for number in range(1, 2 * 300, 2):
            talk.send(frame(HEADERS, END_HEADERS, number, head_of()))
        while len(talk.resets) < 300 - 256:
            assert talk.read()
        assert set(talk.resets.values()) == {7}  # REFUSED_STREAM: it may be asked again
        assert set(talk.resets) == set(range(2 * 256 + 1, 2 * 300, 2))


def test_a_client_that_reads_nothing_is_not_held_for_ever(server, port, other):
    """Its window is open and its socket is full."""
    with Talk(port) as talk:
        talk.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        before = resident_bytes(server.pid)
        talk.socket.settimeout(0.2)
        with contextlib.suppress(OSError):  # the server reads no more, and we are stopped
            for number in range(1, 60000, 2):
                head = frame(HEADERS, END_HEADERS, number, head_of())
                talk.socket.sendall(head + frame(DATA, END_STREAM, number, framed(ONE)))
        other(request("d", [("user", "other")]), timeout=TIMEOUT_S)
        assert is_sanitized() or resident_bytes(server.pid) - before < 16 << 20


def test_health_is_told_while_a_client_floods(port):
    with Talk(port) as talk, channel_to(port) as channel:
        for _ in range(20):
            pour(talk, frame(PING, 0, 0, b"12345678") * 10, 1)
            said = health_check(channel)(health.HealthCheckRequest(), timeout=TIMEOUT_S)
            assert said.status == health.HealthCheckResponse.SERVING
