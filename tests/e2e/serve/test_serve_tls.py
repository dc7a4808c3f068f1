"""https: curl, http.client and bytes by hand, over TLS."""

import http.client
import json
import socket
import ssl
import subprocess
from types import SimpleNamespace

import pytest

import certificates
from serving import TIMEOUT_S, Answer, Raw, Server
from watching import busy_share, https_port

BOTH = {"http": "127.0.0.1:0", "https": "127.0.0.1:0"}
RULES = """
rules:
  - { name: api, resource: /api/*, per: user, algorithm: fixed_window, limit: 1000000000/365d }
  - { name: few, resource: /few, per: user, algorithm: fixed_window, limit: 1/365d }
"""
BODY = b'{"user": "u", "resource": "/api/a"}'
CHECK = (b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
         b"Content-Length: %d\r\n\r\n%s" % (len(BODY), BODY))
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
LARGE = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture(name="made", scope="module")
def made_certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    ca, foreign = (certificates.self_signed(folder, name) for name in ("ca", "foreign"))
    return SimpleNamespace(folder=folder, ca=ca, foreign=foreign,
                           server=certificates.signed(folder, "server", ca),
                           client=certificates.signed(folder, "client", ca),
                           stranger=certificates.signed(folder, "stranger", foreign))


@pytest.fixture(name="server", scope="module")
def tls_server(made):
    with Server(f"tls: {made.server.listed}\ntimeouts: {{ head: 1s }}\n{RULES}",
                folder=made.folder, listen=BOTH) as server:
        yield server


@pytest.fixture(name="mutual", scope="module")
def server_that_wants_certificates(made):
    tls = f"tls: {{ certificate: server.pem, key: server.key, client_ca: {made.ca.certificate} }}\n"
    with Server(tls + RULES, folder=made.folder, listen=BOTH) as server:
        yield server


def trusting(made, shown=None):
    context = ssl.create_default_context(cafile=made.ca.certificate)
    if shown:
        context.load_cert_chain(shown.certificate, shown.key)
    return context


def plain(port):
    return socket.create_connection(("127.0.0.1", port), TIMEOUT_S)


def connect(port, context):
    connected = plain(port)
    try:
        return Raw(context.wrap_socket(connected, server_hostname="127.0.0.1"))
    except BaseException:
        connected.close()
        raise


def curl(server, made, path, *arguments):
    return subprocess.run(
        ["curl", "-sS", "-o", "-", "-w", "\n%{http_code} %{http_version}", "--cacert",
         made.ca.certificate, *arguments, f"https://127.0.0.1:{https_port(server)}{path}"],
        capture_output=True, timeout=TIMEOUT_S, check=False)


def serves(server, made, shown=None):
    with connect(https_port(server), trusting(made, shown)) as raw:
        raw.send(HEALTH)
        return raw.response().status == 200


# ---- the usual clients ------------------------------------------------------------------


def test_curl_verifies_and_asks(server, made):
    for path, arguments, status in (
            ("/healthz", (), "200"), ("/v1/check", ("--json", '{"user": "c"}'), "200"),
            ("/v1/authorize", ("-H", "X-Forwarded-Uri: /api/a"), "200"), ("/nowhere", (), "404")):
        done = curl(server, made, path, *arguments)
        assert done.returncode == 0, done.stderr
        assert done.stdout.decode().splitlines()[-1] == f"{status} 1.1"


def test_curl_that_does_not_know_the_certificate_refuses_it(server):
    done = subprocess.run(["curl", "-sS", f"https://127.0.0.1:{https_port(server)}/healthz"],
                          capture_output=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 60


def test_http_client_keeps_a_connection(server, made):
    connection = http.client.HTTPSConnection("127.0.0.1", https_port(server), timeout=TIMEOUT_S,
                                             context=trusting(made))
    connection.connect()
    connection.auto_open = 0  # the same one throughout
    for i in range(50):
        connection.request("POST", "/v1/check", json.dumps({"user": f"h{i}", "resource": "/few"}),
                           {"Content-Type": "application/json"})
        answer = Answer(connection.getresponse())
        assert (answer.status, answer.json["rule"]) == (200, "few")
    connection.close()


def test_http_1_1_is_agreed_on_by_alpn(server, made):
    context = trusting(made)
    context.set_alpn_protocols(["h2", "http/1.1"])
    with connect(https_port(server), context) as raw:
        assert raw.socket.selected_alpn_protocol() == "http/1.1"
        raw.send(HEALTH)
        assert raw.response().status == 200


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_each_version_of_tls_is_spoken(server, made, version):
    context = trusting(made)
    context.minimum_version = context.maximum_version = version
    with connect(https_port(server), context) as raw:
        assert raw.socket.version() == version.name.replace("_", ".")
        raw.send(CHECK)
        assert raw.response().status == 200


def test_older_versions_are_not(server, made):
    context = trusting(made)
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError)):
        connect(https_port(server), context).socket.close()
    assert serves(server, made)


# ---- bytes by hand ----------------------------------------------------------------------


def test_pipelines_are_answered_in_order(server, made):
    with connect(https_port(server), trusting(made)) as raw:
        raw.send((HEALTH + CHECK + LARGE) * 30)
        for _ in range(30):
            assert raw.response().json == {"status": "ok"}
            assert raw.response().json["rule"] == "api"
            assert "openapi" in raw.response().json


@pytest.mark.parametrize("length", [1, 7, 50])
def test_a_message_may_come_in_many_records(server, made, length):
    data = (HEALTH + CHECK) * 2
    with connect(https_port(server), trusting(made)) as raw:
        for at in range(0, len(data), length):  # each its own record
            raw.send(data[at:at + length])
        assert [raw.response().status for _ in range(4)] == [200] * 4


class ByHand:
    """The socket is ours: what TLS has made is handed over as we like."""

    def __init__(self, port, context, length=65536):
        self.bare, self.length = plain(port), length
        self.bare.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_hostname="127.0.0.1")
        self.until_done(self.tls.do_handshake)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.bare.close()

    def hand_over(self):
        data = self.outgoing.read()
        for at in range(0, len(data), self.length):
            self.bare.sendall(data[at:at + self.length])

    def until_done(self, step):
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                self.hand_over()
                self.incoming.write(self.bare.recv(65536))

    def record(self, data):
        """What was not handed over yet, and this."""
        self.tls.write(data)
        return self.outgoing.read()


@pytest.mark.parametrize("length", [1, 5, 100])
def test_a_record_may_come_in_many_pieces(server, made, length):
    with ByHand(https_port(server), trusting(made), length) as by_hand:
        by_hand.tls.write(CHECK + CHECK)
        by_hand.hand_over()
        got = b""
        while got.count(b'"allowed": true') < 2:
            got += by_hand.until_done(lambda: by_hand.tls.read(65536))


def test_a_damaged_record_keeps_no_worker_busy(made):
    """It comes right behind one that fills the server's buffer, so there is more to be read
    when the connection breaks. The first is as long as a record may be."""
    with Server(f"tls: {made.server.listed}\nworkers: 1\n{RULES}", folder=made.folder,
                listen=BOTH) as server:
        for _ in range(3):
            with ByHand(https_port(server), trusting(made)) as by_hand:
                good = by_hand.record((CHECK * 200)[:16384])
                bad = bytearray(by_hand.record(CHECK * 50))
                bad[-1] ^= 1
                by_hand.bare.sendall(good + bad)
                try:
                    while by_hand.bare.recv(65536):  # answers to what was good, if any
                        pass
                except ConnectionResetError:
                    pass
        assert busy_share(server.pid) < 0.2  # before another client gives it something to do
        assert serves(server, made)


def test_a_large_body_comes_over_many_records(server, made):
    body = json.dumps([{"user": "u" * 200, "resource": "/api/a"}] * 1000).encode()
    with connect(https_port(server), trusting(made)) as raw:
        raw.send(b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
                 + body)
        answer = raw.response()
        assert (answer.status, len(answer.json)) == (200, 1000)


def test_the_end_is_announced(server, made):
    """With close_notify: an end that was forged would raise."""
    with connect(https_port(server), trusting(made)) as raw:
        raw.socket.suppress_ragged_eofs = False
        raw.send(HEALTH.replace(b"Host", b"Connection: close\r\nHost"))
        assert raw.response().status == 200
        assert raw.socket.recv(1) == b""


def test_the_end_of_an_idle_connection_is_announced_too(made):
    with Server(f"tls: {made.server.listed}\ntimeouts: {{ idle: 1s }}\n{RULES}",
                folder=made.folder, listen=BOTH) as server, \
            connect(https_port(server), trusting(made)) as raw:
        raw.socket.suppress_ragged_eofs = False
        raw.send(HEALTH)
        assert raw.response().status == 200
        assert raw.socket.recv(1) == b""


def test_errors_are_problems_here_too(server, made):
    with connect(https_port(server), trusting(made)) as raw:
        raw.send(b"GET / HTTP/1.1\r\n\r\n")
        answer = raw.response()
        assert answer.status == 400
        assert answer.headers["content-type"] == "application/problem+json"
        raw.ended()


# ---- what is no TLS ---------------------------------------------------------------------


NO_TLS = {"http": HEALTH, "zeroes": bytes(100), "nothing": b"",
          "a record too long": b"\x16\x03\x01\xff\xff" + b"x" * 70000}


@pytest.mark.parametrize("what", NO_TLS)
def test_what_is_no_tls_is_closed_and_others_are_served(server, made, what):
    with connect(https_port(server), trusting(made)) as before, \
            Raw(plain(https_port(server))) as bare:
        bare.send(NO_TLS[what])
        if what == "nothing":
            bare.finish()
        assert serves(server, made)
        try:
            while more := bare.socket.recv(65536):
                assert not more.startswith(b"HTTP/"), "it understood"
        except ConnectionResetError:
            pass
        before.send(HEALTH)
        assert before.response().status == 200


def test_a_handshake_that_never_ends_is_cut_off(server, made):
    with Raw(plain(https_port(server))) as silent, Raw(plain(https_port(server))) as half:
        half.send(b"\x16\x03\x01\x02\x00\x01")  # the start of a client's hello
        assert serves(server, made)
        for raw in (silent, half):
            try:
                while raw.socket.recv(65536):
                    pass
            except ConnectionResetError:
                pass


def test_tls_to_a_plain_port_does_no_harm(made):
    with Server(RULES) as server:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            connect(server.port, trusting(made)).socket.close()
        assert server.ask("GET", "/healthz").status == 200


# ---- certificates of clients ------------------------------------------------------------


def test_a_client_with_the_right_certificate_is_served(mutual, made):
    assert serves(mutual, made, made.client)
    done = curl(mutual, made, "/healthz", "--cert", made.client.certificate, "--key",
                made.client.key)
    assert done.stdout.decode().splitlines()[-1] == "200 1.1"


@pytest.mark.parametrize("shown", [None, "stranger", "foreign"])
def test_a_client_without_is_not(mutual, made, shown):
    """TLS 1.3 has the client believe at first that all is well: the answer never comes."""
    pair = getattr(made, shown) if shown else None
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = trusting(made, pair)
        context.minimum_version = context.maximum_version = version
        with pytest.raises((ssl.SSLError, ConnectionError, AssertionError)):
            with connect(https_port(mutual), context) as raw:
                raw.send(HEALTH)
                raw.response()
    assert serves(mutual, made, made.client)


# ---- side by side -----------------------------------------------------------------------


def test_tls_and_a_unix_socket_count_together(made):
    with Server(f"tls: {made.server.listed}\n{RULES}", folder=made.folder,
                listen={"http": "unix:plain.sock", "https": "127.0.0.1:0"}) as server:
        local = socket.socket(socket.AF_UNIX)
        local.connect(str(made.folder / "plain.sock"))
        ask = CHECK.replace(b"/api/a", b"/few  ").replace(b"  \"}", b"\"}  ")
        with Raw(local) as by_socket, connect(https_port(server), trusting(made)) as by_tls:
            by_socket.send(ask)
            assert by_socket.response().status == 200
            by_tls.send(ask)
            assert by_tls.response().status == 429
