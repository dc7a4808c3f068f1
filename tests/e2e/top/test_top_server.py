"""sluice top against a real server: what it shows is what was decided."""

import json

import pytest

from admin_commands import ask
from stats_answers import wait_for_row
from program import run
from terminal import Terminal
from serving import Server

RULES = """\
rules:
  - { name: api, resource: /api/*, per: user, algorithm: fixed_window, limit: 5/1h }
  - { name: trial, resource: /api/*, per: user, algorithm: token_bucket, capacity: 3, window: 1h,
      shadow: true }
  - { name: idle, resource: /idle, per: ip, algorithm: sliding_window_log, limit: 5/1h }
"""


@pytest.fixture(name="server")
def running_server():
    with Server(RULES) as server:
        yield server


def url_of(server):
    return f"http://127.0.0.1:{server.port}"


def decide(server, user, times, tenant="acme"):
    batch = [{"resource": "/api/x", "user": user, "tenant": tenant}] * times
    assert server.ask("POST", "/v1/check", batch).status == 200


def row(text, name):
    """The cells of a rule's line, without its algorithm; none, if it is not there yet."""
    for line in text.splitlines():
        cells = line.split()
        if cells[:1] == [name]:
            return [cell for cell in cells if "_" not in cell]
    return []


def watch(server, **how):
    return Terminal("top", "--server", url_of(server), "--every", "200ms", **how)


def test_what_was_decided_is_shown(server):
    decide(server, "u1", 8)
    decide(server, "u2", 2)
    with watch(server, columns=140) as terminal:
        terminal.wait_until(lambda screen: row(screen.text, "api")[2:4] == ["7", "3"],
                            "10 decisions")
        terminal.wait_until(lambda screen: "acme/u1" in row(screen.text, "api"), "who")
        api, trial = row(terminal.screen.text, "api"), row(terminal.screen.text, "~trial")
        assert api[4] == "30.0%" and api[-2] == "1/2"
        assert trial[2:5] == ["5", "5", "50.0%"]
        assert row(terminal.screen.text, "idle")[1:5] == ["0", "0", "0", "-"]
        assert "30.0% denied" in terminal.screen.text and "store memory" in terminal.screen.text
        decide(server, "u3", 5)
        terminal.wait_until(lambda screen: row(screen.text, "api")[2:4] == ["12", "3"], "5 more")
        terminal.press("q")
        assert terminal.end() == 0


def test_every_window_is_there(server):
    decide(server, "u1", 8)
    with watch(server, columns=140) as terminal:
        for name in ("hour", "day", "minute"):
            terminal.press("w")
            terminal.wait_for(f"last {name}:")
            terminal.wait_until(lambda screen: row(screen.text, "api")[2:4] == ["5", "3"], name)


def test_hostile_names_come_through_it_all(server):
    """The screen fails on any escape that is not ours."""
    decide(server, "\x1b[2J\x9b2J\u202e", 8, tenant="a\r\nb")
    with watch(server, columns=160) as terminal:
        terminal.wait_for("\\u202e")
        terminal.read(0.5)


def test_json_is_the_servers_answer(server):
    decide(server, "u1", 2)
    done = ask("top", "--json", "--window", "hour", server=url_of(server))
    assert done.code == 0
    told = json.loads(done.out)
    assert list(told["decisions"]) == ["hour"]
    assert [entry["rule"] for entry in told["rules"]] == ["api", "trial", "idle"]


def test_a_token_that_is_needed_is_asked_for(tmp_path):
    (tmp_path / "token").write_text("secret-secret-secret-secret-secret-secret\n")
    (tmp_path / "token").chmod(0o600)
    with Server(f"admin: {{ token_file: {tmp_path}/token }}\n{RULES}") as server:
        done = ask("top", server=url_of(server))
        assert done.code == 1
        assert "the server said no (401)" in done.err and "--token-file" in done.err
        with watch(server) as terminal:
            terminal.wait_for("the server said no (401) (no token was sent)")
        done = ask("top", "--token-file", tmp_path / "token", server=url_of(server))
        assert (done.code, done.err) == (0, "")
        assert row(done.out, "api")


def test_a_restart_is_survived(tmp_path):
    rules = f"store: memory:{tmp_path}/limits.slu?size=1M\n{RULES}"
    with Server(rules) as server:
        decide(server, "u1", 8)
        listen = {"http": f"127.0.0.1:{server.port}"}
        terminal = watch(server, columns=140)
        with terminal:
            terminal.wait_until(lambda screen: row(screen.text, "api")[3:4] == ["3"], "denied")
            server.stop()
            terminal.wait_for("no server can be reached")
            with Server(rules, listen):
                terminal.wait_without("no server can be reached")
                terminal.wait_until(lambda screen: row(screen.text, "api")[3:4] == ["0"], "afresh")


def test_the_same_table_without_the_server(tmp_path):
    table = tmp_path / "limits.slu"
    with Server(f"store: memory:{table}?size=1M\n{RULES}") as server:
        with Terminal("top", table, "--every", "200ms") as terminal:
            wait_for_row(terminal, "keys live", "0")
            decide(server, "u1", 8)
            wait_for_row(terminal, "keys live", "2")
            wait_for_row(terminal, "limiting", "1")  # a shadow rule limits no caller
    assert run("top", table, "--every", "100ms").code == 0
