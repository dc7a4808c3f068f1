"""The line to try that a server prints: it leads to a denial, or it is not there."""

import re
import subprocess

import pytest

import certificates
from serving import TIMEOUT_S
from watching import Started, wait_until

ANY = "127.0.0.1:0"


def try_it(server):
    """Does what it says: the first requests pass, the last is denied."""
    line = wait_until(lambda: next((line for line in server.out if "curl" in line), None),
                      "a line with curl")
    command = line[re.search(r"\b(for|curl|while|seq)\b", line).start():].strip("`")
    done = subprocess.run(["sh", "-c", command], capture_output=True, timeout=TIMEOUT_S,
                          check=False, stdin=subprocess.DEVNULL)
    said = done.stdout.decode()
    assert re.search(r"\b429\b|rate_limit_exceeded", said), (command, said, done.stderr)
    assert re.search(r"\b200\b|\"allowed\": true", said), "not even the first one passed"


def write(folder, text, listen="{ http: 127.0.0.1:0 }"):
    path = folder / "rules.yaml"
    path.write_text(f"listen: {listen}\n{text}", encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", ["tcp", "unix"])
def test_the_line_to_try_leads_to_a_denial(tmp_path, kind):
    where = ANY if kind == "tcp" else f"unix:{tmp_path / 'a socket'}"
    with Started("--http", where) as server:
        try_it(server)


@pytest.mark.parametrize("counted", [
    "per: resource", "per: method", "per: tier", "per: [tenant, user]", "per: [method, resource]",
    "per: [user, X-Api-Version]", "per: global", "resource: /api/*, per: [ip, resource]",
    "when: { method: POST }, per: method", "when: { tier: gold }, per: tier"])
def test_it_asks_with_what_the_rule_counts(tmp_path, counted):
    rules = f"rules:\n  - {{ name: a, {counted}, algorithm: fixed_window, limit: 3/365d }}\n"
    with Started("-c", write(tmp_path, rules)) as server:
        try_it(server)


RULES = "rules:\n  - { name: a, per: user, limit: 3/1m }\n"


def is_left_out(server):
    """Also of all that it has printed in the end."""
    assert server.stop() == 0
    server.reader.join(TIMEOUT_S)
    assert any("listening on" in line for line in server.out)
    return not re.search("curl|try", "\n".join(server.out))


@pytest.mark.parametrize("listen, rules", [
    ("{ http: { address: 127.0.0.1:0, proxy_protocol: true } }", RULES),
    ("{ http: 127.0.0.1:0 }", RULES.replace("limit", "shadow: true, limit")),
    ("{ http: 127.0.0.1:0 }", "rules: []\n"),
    ("{ http: \"unix:it's.sock\" }", RULES),
], ids=["a PROXY header first", "shadow rules only", "no rules", "a path that cannot be quoted"])
def test_it_is_left_out_where_it_would_not_work(tmp_path, listen, rules):
    with Started("-c", write(tmp_path, rules, listen)) as server:
        assert is_left_out(server)


def test_it_is_left_out_where_clients_show_certificates(tmp_path):
    pair = certificates.self_signed(tmp_path)
    rules = (f"tls: {{ certificate: {pair.certificate}, key: {pair.key}, "
             f"client_ca: {pair.certificate} }}\n{RULES}")
    listen = "{ http: off, https: 127.0.0.1:0 }"
    with Started("-c", write(tmp_path, rules, listen)) as server:
        assert is_left_out(server)
