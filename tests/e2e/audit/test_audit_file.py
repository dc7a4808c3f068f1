"""The audit log as a file or a pipe: rotation, kills, several servers, no reader."""

import fcntl
import http.client
import json
import os
import signal
import socket
import subprocess
import threading

from audit_log import RULES, audited, chained, events, lines_of, rule
from admin_api import Caller
from program import SLUICE
from serving import TIMEOUT_S, Server, is_listening
from watching import wait_until


def verify(*files):
    return subprocess.run([SLUICE, "audit", "verify", *files], capture_output=True, text=True,
                          timeout=TIMEOUT_S, check=False)


def test_rotation_loses_nothing(tmp_path):
    path = tmp_path / "audit.jsonl"
    names = []
    with Server(audited(path)) as server:
        admin = Caller(server)
        for turn in range(6):
            for i in range(5):
                names.append(f"r{turn}-{i}")
                admin.put(f"/v1/rules/{names[-1]}", rule(7), 201)
            if turn % 2:  # between the two, the file that was moved or a new one
                path.rename(tmp_path / f"audit.{turn}")
                admin.put(f"/v1/rules/between{turn}", rule(7), 201)
                names.append(f"between{turn}")
                server.process.send_signal(signal.SIGHUP)
    files = [tmp_path / "audit.1", tmp_path / "audit.3", tmp_path / "audit.5", path]
    lines = [line for file in files for line in lines_of(file)]
    assert chained(lines) == len(names) == len(lines)
    assert [json.loads(line)["rule"] for line in lines] == names
    done = verify(*files)
    assert (done.returncode, done.stdout) == (0, f"{len(names)} chained lines, 0 others: whole\n")


def test_after_a_kill_the_chain_goes_on(tmp_path):
    path = tmp_path / "audit.jsonl"
    acknowledged = 0
    for _ in range(5):
        with Server(audited(path), folder=tmp_path) as server:
            killer = threading.Timer(0.05, server.kill)
            killer.start()
            try:
                for i in range(10000):
                    Caller(server).put("/v1/rules/one", rule(i + 1))
                    acknowledged += 1
            except OSError:
                pass  # it is dead
            killer.join()
    with Server(audited(path), folder=tmp_path) as server:
        Caller(server).delete("/v1/rules/one")
    lines = lines_of(path)
    whole = [line for line in lines if line.endswith("}\n")]  # a kill may leave half of one
    count = chained(whole)
    assert acknowledged + 1 <= count == len(whole) <= acknowledged + 1 + 5
    assert len(lines) - len(whole) <= 5
    assert verify(path).returncode == 0


def test_two_servers_keep_one_chain_in_one_file(tmp_path):
    path = tmp_path / "audit.jsonl"
    with Server(audited(path)) as one, Server(audited(path)) as two:
        def change(server, name):
            for i in range(30):
                Caller(server).put(f"/v1/rules/{name}{i}", rule(7), 201)
        threads = [threading.Thread(target=change, args=pair)
                   for pair in ((one, "a"), (two, "b"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert chained(lines_of(path)) == 60
    assert {event["rule"] for event in events(path)} == {f"{x}{i}" for x in "ab" for i in range(30)}
    assert verify(path).returncode == 0


class OnUnix(http.client.HTTPConnection):
    """One connection to such a socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=TIMEOUT_S)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))

    def ask(self, method, target, body=None):
        fields = {"Content-Type": "application/json"} if body else {}
        self.request(method, target, json.dumps(body) if body else None, fields)
        response = self.getresponse()
        text = response.read()
        assert response.status < 300, text
        return json.loads(text)


def overfill(server, count):
    """So many changes, whose lines are more than a megabyte; what is said of them."""
    for i in range(count):
        server.ask("POST", "/v1/exemptions", {"kind": "ip", "value": f"10.0.{i // 200}.{i % 200}",
                                              "reason": "\\" * 1000})  # two bytes each in JSON
    counts = server.ask("GET", "/v1/audit?limit=1")
    assert counts["dropped"] > 10
    assert counts["chain"]["n"] + counts["dropped"] == count
    last = count - 1
    assert counts["events"][0]["value"] == f"10.0.{last // 200}.{last % 200}"
    assert "chain" not in counts["events"][0]  # it was dropped
    assert server.ask("POST", "/v1/check", {"user": "u1", "resource": "/api/x"})["allowed"]
    return counts


def test_a_pipe_without_a_reader_does_not_stop_the_server(tmp_path):
    """Whose standard output is full; what does not fit is counted."""
    rules = tmp_path / "rules.yaml"
    unix = tmp_path / "socket"
    rules.write_text(f"listen: {{ http: 'unix:{unix}' }}\naudit: stdout\n{RULES}")
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
    with open(tmp_path / "errors", "wb") as errors, \
            subprocess.Popen([SLUICE, "serve", "-c", rules], stdout=write, stderr=errors) as server:
        os.close(write)
        wait_until(lambda: is_listening(unix), "it listens")
        try:
            counts = overfill(OnUnix(unix), 600)
        except BaseException:
            server.kill()  # or it would be waited for
            raise
        # What fitted comes out, whole and in order.
        with os.fdopen(read, "rb") as reader:
            taken = []
            reading = threading.Thread(target=lambda: taken.extend(reader))
            reading.start()
            server.send_signal(signal.SIGTERM)
            assert server.wait(TIMEOUT_S) == 0
            reading.join()
    lines = [line.decode() for line in taken if line.startswith(b"{")]
    assert chained(lines) == counts["chain"]["n"]


def test_a_server_whose_output_is_not_read_ends_all_the_same(tmp_path):
    rules = tmp_path / "rules.yaml"
    unix = tmp_path / "socket"
    rules.write_text(f"listen: {{ http: 'unix:{unix}' }}\naudit: stdout\n{RULES}")
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
    with subprocess.Popen([SLUICE, "serve", "-c", rules], stdout=write,
                          stderr=subprocess.PIPE) as server:
        os.close(write)
        wait_until(lambda: is_listening(unix), "it listens")
        for i in range(20):
            subprocess.run(["curl", "-s", "--unix-socket", unix, "-X", "PUT", "-H",
                            "Content-Type: application/json", "-d", json.dumps(rule(7)),
                            f"http://localhost/v1/rules/r{i}"], check=True, timeout=TIMEOUT_S,
                           capture_output=True)
        server.send_signal(signal.SIGTERM)
        assert server.wait(TIMEOUT_S) == 0
        assert b"the audit log did not take its last" in server.stderr.read()
    os.close(read)


def test_a_file_that_cannot_be_written_is_said_once_and_counted(tmp_path):
    with Server("audit: file:/dev/full\n" + RULES) as server:
        admin = Caller(server)
        for i in range(3):
            admin.put(f"/v1/rules/r{i}", rule(7), 201)
        wait_until(lambda: admin.get("/v1/audit").json["failed"] == 3, "it has tried")
        assert admin.get("/v1/audit").json["written"] == 0
        assert server.stderr.count("the audit log cannot be written") == 1
    assert list(tmp_path.iterdir()) == []
