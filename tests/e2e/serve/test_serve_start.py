"""How a server starts, or says why it does not; what it tells systemd; its Unix socket."""

import json
import os
import re
import signal
import socket
import stat
import subprocess
from contextlib import ExitStack

import pytest

import certificates
from program import ROOT, run
from serving import ANY_PORT, TIMEOUT_S, Raw, Server, connect_unix
from watching import Notified, Started, wait_until

ANY = "127.0.0.1:0"
RULES = """
rules:
  - { name: api, resource: /api/*, per: user, algorithm: fixed_window, limit: 5/365d }
"""
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


def write(folder, text, name="rules.yaml"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def with_listen(rules=RULES, **listen):
    return f"listen: {json.dumps({**ANY_PORT, **listen})}\n{rules}"


def fails(*arguments):
    """Ends with 2 before it serves; what it said."""
    done = run("serve", *arguments)
    assert done.code == 2, done.err
    assert "listening on" not in done.out
    assert done.err
    return done.err


def is_healthy(raw):
    with raw:
        raw.send(HEALTH)
        return raw.response().status == 200


# ---- the usual ways ---------------------------------------------------------------------


def test_without_a_file_it_serves_the_built_in_rules_and_says_so(tmp_path):
    rules = ROOT / "examples" / "default.yaml"
    requests = [{"resource": "/", "ip": "192.0.2.1", "user": "u1", "explain": True},
                {"resource": "/login", "ip": "192.0.2.1", "user": "u1", "explain": True},
                {"resource": "/api/videos", "user": "u2", "client": "c", "explain": True}]
    with Started("--http", ANY, cwd=tmp_path) as built_in, Started("-c", rules, "--http",
                                                                    ANY) as from_file:
        assert re.search("built-in", "\n".join(built_in.out) + built_in.stderr)
        assert "built-in" not in "\n".join(from_file.out) + from_file.stderr
        matched = 0
        for request in requests:
            answers = [server.check(request).json for server in (built_in, from_file)]
            rows = [[{key: row[key] for key in ("rule", "algorithm", "limit", "remaining")}
                     for row in answer["rules"]] for answer in answers]
            assert rows[0] == rows[1]
            matched += len(rows[0])
        assert matched > 0
    assert list(tmp_path.iterdir()) == []


def test_a_rules_file_that_happens_to_lie_there_is_not_taken(tmp_path):
    write(tmp_path, "nonsense")
    with Started("--http", ANY, cwd=tmp_path) as server:
        assert server.ask("GET", "/healthz").status == 200


def test_http_on_the_command_line_wins_over_the_file(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        busy = f"127.0.0.1:{taken.getsockname()[1]}"
        rules = write(tmp_path, with_listen(http=busy))
        with Started("-c", rules, "--http", ANY) as server:
            assert server.addresses[0] != f"http://{busy}"
            answer = server.check({"resource": "/api/a", "user": "u"})
            assert answer.json["rule"] == "api"


def test_listening_is_said_when_it_does(tmp_path):
    path = tmp_path / "socket"
    for _ in range(5):
        with Started("--http", ANY) as server:
            assert is_healthy(server.raw())
        with Started("--http", f"unix:{path}"):
            assert is_healthy(connect_unix(path))


def test_ipv6_is_listened_on():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6 loopback address")
    with Started("--http", "[::1]:0") as server:
        assert re.fullmatch(r"http://\[::1\]:\d+", server.addresses[0])
        assert is_healthy(Raw(socket.create_connection(("::1", server.port), TIMEOUT_S)))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_0(number):
    with Started("--http", ANY) as server:
        assert server.ask("GET", "/healthz").status == 200
        assert server.stop(number) == 0
        assert "error" not in server.stderr.lower()


# ---- what cannot work -------------------------------------------------------------------


def test_a_port_in_use_is_named_and_what_to_do():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        busy = f"127.0.0.1:{taken.getsockname()[1]}"
        said = fails("--http", busy)
        assert busy in said
        assert "in use" in said
        assert re.search(r"--http|listen|another|stop", said.replace("listening", "")), said


def test_an_address_of_another_machine_is_named():
    assert "192.0.2.1:8080" in fails("--http", "192.0.2.1:8080")


@pytest.mark.parametrize("address", ["8080x", "127.0.0.1", "127.0.0.1:99999", "unix:", ""])
def test_what_is_no_address_is_refused(address):
    assert "--http" in fails("--http", address)


def test_every_problem_of_a_rules_file_is_told(tmp_path):
    rules = write(tmp_path, """
listen: { http: nowhere }
nonsense: 1
rules:
  - { name: a, per: user, limit: 0/1s }
  - { name: a, per: user, limit: 1/1s, algorithm: magic }
""")
    problems = run("lint", rules).out.splitlines()
    assert len(problems) >= 5
    said = fails("-c", rules).splitlines()
    for problem in problems:
        assert problem in said
    assert all(re.match(rf"{re.escape(str(rules))}:\d+:\d+: ", line) for line in problems)


def test_a_rules_file_that_is_not_there_is_named(tmp_path):
    assert str(tmp_path / "missing.yaml") in fails("-c", tmp_path / "missing.yaml")


def test_what_is_no_table_is_named_and_what_to_do(tmp_path):
    rules = write(tmp_path, with_listen('store: "memory:limits.slu?size=1M"\n' + RULES))
    table = tmp_path / "limits.slu"
    assert run("check", "-c", rules).code == 0
    good = table.read_bytes()
    for content, part in ((b"text\n" * 2000, "is not a table of Sluice"),
                          (good[:8] + bytes([77]) + good[9:], "has version 77"),
                          (good[:-4096], "is damaged")):
        table.write_bytes(content)
        said = fails("-c", rules)
        assert str(table) in said
        assert part in said
        assert "remove it" in said
        assert table.read_bytes() == content


def has_said(server, start):
    return any(line.startswith(start) for line in list(server.out))


@pytest.mark.parametrize("front, scheme", [("grpc", "grpc"), ("resp", "redis")])
def test_other_protocols_are_listened_to_where_the_file_or_the_command_line_says(
        tmp_path, front, scheme):
    rules = write(tmp_path, with_listen(**{front: ANY}))
    with Started("-c", rules) as server:
        assert server.ask("GET", "/healthz").status == 200
        wait_until(lambda: has_said(server, f"listening on {scheme}://127.0.0.1:"), "its address")
    with Started("-c", write(tmp_path, with_listen()), f"--{front}", ANY) as server:
        wait_until(lambda: has_said(server, f"listening on {scheme}://127.0.0.1:"), "its address")


def test_nothing_to_listen_on_is_said(tmp_path):
    said = fails("-c", write(tmp_path, with_listen(http="off")))
    assert "listen" in said


def test_tls_files_that_do_not_serve_are_named(tmp_path):
    good = certificates.self_signed(tmp_path, "good")
    other = certificates.self_signed(tmp_path, "other")
    write(tmp_path, "this is no PEM", "nonsense.pem")
    for certificate, key, named in (("missing.pem", good.key.name, "missing.pem"),
                                    (good.certificate.name, "missing.key", "missing.key"),
                                    ("nonsense.pem", good.key.name, "nonsense.pem"),
                                    (good.certificate.name, "nonsense.pem", "nonsense.pem"),
                                    (good.certificate.name, other.key.name, other.key.name)):
        said = fails("-c", write(tmp_path, with_listen(
            f"tls: {{ certificate: {certificate}, key: {key} }}\n{RULES}", https=ANY)))
        assert str(tmp_path / named) in said
    said = fails("-c", write(tmp_path, with_listen(
        f"tls: {{ certificate: {good.certificate.name}, key: {good.key.name}, "
        f"client_ca: missing-ca.pem }}\n{RULES}", https=ANY)))
    assert str(tmp_path / "missing-ca.pem") in said


def test_one_listener_that_fails_is_enough(tmp_path):
    pair = certificates.self_signed(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        busy = f"127.0.0.1:{taken.getsockname()[1]}"
        said = fails("-c", write(tmp_path, with_listen(f"tls: {pair.listed}\n{RULES}",
                                                       https=busy)))
        assert busy in said


# ---- the command line -------------------------------------------------------------------


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_names_all_it_takes(flag):
    done = run("serve", flag)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("usage: sluice serve ")
    for word in ("-c FILE", "--http", "Exit: 0"):
        assert word in done.out
    assert max(len(line) for line in done.out.splitlines()) <= 100
    assert re.search(r"^  serve +\S", run("--help").out, re.M)


@pytest.mark.parametrize("arguments, part", [
    (("--htpp", ANY), "unknown option `--htpp` (did you mean `--http`?)"),
    (("--nonsense",), "unknown option `--nonsense`"),
    (("rules.yaml",), "rules.yaml"),
    (("-c",), "-c"),
    (("--http",), "--http"),
])
def test_a_slip_on_the_command_line_is_told(arguments, part):
    said = fails(*arguments)
    assert said.startswith("sluice serve: ")
    assert part in said
    assert "`sluice serve --help`" in said


# ---- systemd ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["path", "abstract"])
def test_systemd_is_told_of_readiness_reloads_and_the_end(tmp_path, monkeypatch, kind):
    path = str(tmp_path / "notify") if kind == "path" else f"@sluice-test-{os.getpid()}"
    notified = Notified(path)
    monkeypatch.setenv("NOTIFY_SOCKET", path)
    with Started("-c", write(tmp_path, with_listen()), listeners=0) as server:
        assert notified.next()["READY"] == "1"
        server.addresses = [server._address()]
        assert server.ask("GET", "/healthz").status == 200
        for rules in (RULES, "nonsense", RULES):  # a failed reload is over as well
            write(tmp_path, with_listen(rules), "new")
            (tmp_path / "new").rename(tmp_path / "rules.yaml")
            server.process.send_signal(signal.SIGHUP)
            reloading = notified.next()
            assert reloading["RELOADING"] == "1"
            assert reloading["MONOTONIC_USEC"].isdigit()
            assert notified.next()["READY"] == "1"
        server.process.send_signal(signal.SIGTERM)
        while "STOPPING" not in (told := notified.next()):
            assert set(told) & {"RELOADING", "READY"}  # of the file's change, besides the signal
        assert told["STOPPING"] == "1"
        assert server.wait() == 0
    notified.socket.close()


def test_a_notify_socket_that_is_not_there_does_no_harm(tmp_path, monkeypatch):
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "nobody"))
    with Started("--http", ANY) as server:
        assert server.ask("GET", "/healthz").status == 200


# ---- a Unix socket ----------------------------------------------------------------------


def test_a_unix_socket_is_served_and_removed_at_the_end(tmp_path):
    rules = write(tmp_path, with_listen(http="unix:here.sock"))
    path = tmp_path / "here.sock"  # beside the rules file
    with Started("-c", rules) as server:
        assert server.addresses == [f"unix:{path}"]
        assert stat.S_ISSOCK(path.lstat().st_mode)
        assert is_healthy(connect_unix(path))
        done = subprocess.run(["curl", "-sS", "--unix-socket", path, "http://localhost/healthz"],
                              capture_output=True, timeout=TIMEOUT_S, check=True)
        assert json.loads(done.stdout) == {"status": "ok"}
        assert server.stop() == 0
    assert not path.exists()


def test_the_socket_of_a_dead_server_is_replaced(tmp_path):
    path = tmp_path / "socket"
    with Started("--http", f"unix:{path}") as server:
        server.kill()
    assert stat.S_ISSOCK(path.lstat().st_mode)
    with pytest.raises(ConnectionRefusedError):
        connect_unix(path)
    with Started("--http", f"unix:{path}"):
        assert is_healthy(connect_unix(path))


def test_the_socket_of_a_live_server_is_left_to_it(tmp_path):
    path = tmp_path / "socket"
    with Started("--http", f"unix:{path}"):
        said = fails("--http", f"unix:{path}")
        assert str(path) in said
        assert "in use" in said
        assert is_healthy(connect_unix(path))


def test_a_server_that_does_not_accept_is_not_waited_for(tmp_path):
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as busy, ExitStack() as queue:
        busy.bind(str(path))
        busy.listen(0)
        with pytest.raises(BlockingIOError):  # clients that wait, until no more may
            for _ in range(100):
                waiting = queue.enter_context(socket.socket(socket.AF_UNIX))
                waiting.setblocking(False)
                waiting.connect(str(path))
        said = fails("--http", f"unix:{path}")
        assert str(path) in said
        assert "in use" in said
        assert stat.S_ISSOCK(path.lstat().st_mode)


def test_a_file_is_never_taken_for_a_socket(tmp_path):
    path = write(tmp_path, "precious", "file")
    assert str(path) in fails("--http", f"unix:{path}")
    assert path.read_text(encoding="utf-8") == "precious"
    folder = tmp_path / "folder"
    folder.mkdir()
    assert str(folder) in fails("--http", f"unix:{folder}")
    assert folder.is_dir()


def test_what_took_the_sockets_place_is_not_removed_at_the_end(tmp_path):
    path = tmp_path / "socket"
    with Started("--http", f"unix:{path}") as server:
        path.unlink()
        write(tmp_path, "precious", "socket")
        assert server.stop() == 0
    assert path.read_text(encoding="utf-8") == "precious"


def test_a_failed_start_leaves_no_socket_behind(tmp_path):
    pair = certificates.self_signed(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        busy = f"127.0.0.1:{taken.getsockname()[1]}"
        fails("-c", write(tmp_path, with_listen(f"tls: {pair.listed}\n{RULES}",
                                                http="unix:here.sock", https=busy)))
    assert not (tmp_path / "here.sock").exists()


def test_a_socket_in_a_folder_that_is_not_there_is_named(tmp_path):
    path = tmp_path / "missing" / "socket"
    assert str(path) in fails("--http", f"unix:{path}")


def test_two_listeners_serve_the_same(tmp_path):
    pair = certificates.self_signed(tmp_path)
    with Server(f"tls: {pair.listed}\n{RULES}", folder=tmp_path,
                listen={"http": "unix:here.sock", "https": ANY}) as server:
        schemes = sorted(address.partition(":")[0] for address in server.addresses)
        assert schemes == ["https", "unix"]
        assert is_healthy(connect_unix(tmp_path / "here.sock"))
