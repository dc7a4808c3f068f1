"""sluice audit verify and sluice audit list."""

import json
import re
import subprocess

import pytest
from admin_commands import Fake, ask, json_answer
from audit_log import RULES, audited, chained, events, lines_of, rule
from admin_api import Caller
from program import ROOT
from serving import Server


@pytest.fixture(name="log", scope="module")
def _log(tmp_path_factory):
    """The lines of a log with 8 changes and, as its 3rd and 6th line, two others; and its head."""
    path = tmp_path_factory.mktemp("log") / "audit.jsonl"
    with Server(audited(path)) as server:
        for i in range(8):
            Caller(server).put(f"/v1/rules/r{i}", rule(i + 1), 201)
    lines = lines_of(path)
    other = '{"event": "rate_limit_exceeded", "identifier": "u1"}\n'
    lines.insert(2, other)
    lines.insert(5, other)
    return lines, (path.parent / "audit.jsonl.chain").read_bytes()


@pytest.fixture(name="write")
def _write(tmp_path, log):
    """Puts lines and, beside them, the head; the path."""
    def write(lines, head=log[1]):
        path = tmp_path / "audit.jsonl"
        path.write_text("".join(lines), encoding="utf-8")
        if head is not None:
            (tmp_path / "audit.jsonl.chain").write_bytes(head)
        return path
    return write


def verify(*arguments, stdin=b""):
    return ask("audit", "verify", *map(str, arguments), stdin=stdin)


def hash_of(line):
    return json.loads(line)["chain"]["hash"]


def test_a_whole_log_is_whole(write, log):
    path = write(log[0])
    done = verify(path)
    assert (done.code, done.out, done.err) == (0, "8 chained lines, 2 others: whole\n", "")
    assert verify("-", stdin="".join(log[0])).out == "8 chained lines, 2 others: whole\n"


def test_an_edited_line_is_found(write, log):
    lines = list(log[0])
    lines[3] = lines[3].replace('"rule": "r2"', '"rule": "r9"')
    path = write(lines)
    done = verify(path)
    assert done.code == 1
    assert done.out.splitlines() == [
        f"{path}:4: was edited: its hash is not that of its text",
        "8 chained lines, 2 others: 1 problem"]


def test_a_removed_line_is_found(write, log):
    path = write(log[0][:3] + log[0][4:])
    done = verify(path)
    assert (done.code, done.out.splitlines()[0]) == (1, f"{path}:4: n=3 before it is missing")


def test_swapped_lines_are_found(write, log):
    lines = list(log[0])
    lines[0], lines[1] = lines[1], lines[0]
    path = write(lines)
    done = verify(path)
    assert done.code == 1
    assert f"{path}:2: is n=1 behind n=2: it was moved, or is there twice" in done.out


def test_a_truncated_line_is_found(write, log):
    path = write(log[0][:-1] + [log[0][-1][:-20]])
    done = verify(path)
    assert done.code == 1
    assert f"{path}:10: is no JSON object" in done.out


def test_a_foreign_line_is_found(write, log):
    foreign = [json.dumps({"event": "rate_limit_config_updated", "actor": "nobody"}) + "\n",
               "anything at all\n"]
    path = write(log[0][:4] + foreign + log[0][4:])
    done = verify(path)
    assert done.code == 1
    assert f"{path}:5: is a change that is not in the chain" in done.out
    assert f"{path}:6: is no JSON object" in done.out


def test_lines_cut_off_the_end_are_found_by_the_head_beside_them(write, log, tmp_path):
    path = write(log[0][:-1])
    done = verify(path)
    assert done.code == 1
    assert f"{path}.chain: the chain ends with n=8, which is not there" in done.out
    assert verify(write([])).code == 1
    (tmp_path / "audit.jsonl.chain").unlink()
    assert verify(write(log[0][:-1], None)).code == 0  # no head says more,


def test_or_by_a_hash_that_was_noted(write, log):
    noted = hash_of(log[0][-1])
    assert verify("--head", noted, write(log[0], None)).code == 0
    done = verify("--head", noted, write(log[0][:-1], None))
    assert (done.code, done.out.splitlines()[0][:30]) == (1, "--head: no line has this hash:")
    assert verify("--head", hash_of(log[0][0]), write(log[0])).code == 0
    assert verify("--head", "xyz", write(log[0])).code == 2


def test_lines_behind_the_head_are_found(write, log):
    head = re.sub(rb'"n": 8, "hash": "[0-9a-f]*"',
                  f'"n": 7, "hash": "{hash_of(log[0][-2])}"'.encode(), log[1])
    done = verify(write(log[0], head))
    assert done.code == 1
    assert "the chain ends with n=7, but there are lines up to n=8" in done.out


def test_a_head_that_is_none_is_found(write, log):
    assert "is no head of a chain" in verify(write(log[0], b"rubbish")).out


def test_files_are_read_the_oldest_first(write, log, tmp_path):
    old = tmp_path / "audit.jsonl.1"
    old.write_text("".join(log[0][:5]), encoding="utf-8")
    path = write(log[0][5:])
    assert verify(old, path).out == "8 chained lines, 2 others: whole\n"
    assert verify(path, old).code == 1
    alone = verify(path)
    assert alone.code == 0
    assert alone.err == "note: the first line of the chain is n=5; earlier ones were not given\n"


def test_what_cannot_be_read_is_two(tmp_path):
    assert verify(tmp_path / "none").code == 2
    assert verify(tmp_path).code == 2
    assert verify().code == 2


def test_the_log_of_a_running_server_is_whole_at_any_time(tmp_path):
    path = tmp_path / "audit.jsonl"
    with Server(audited(path)) as server:
        for i in range(10):
            Caller(server).put(f"/v1/rules/r{i}", rule(7), 201)
            assert verify(path).out == f"{i + 1} chained line{'s' if i else ''}, 0 others: whole\n"
        assert chained(lines_of(path)) == 10


# ---- list ----


def test_recent_events_are_listed(tmp_path):
    path = tmp_path / "audit.jsonl"
    with Server(audited(path)) as server:
        url = f"http://127.0.0.1:{server.port}"
        admin = Caller(server)
        admin.put("/v1/rules/one", rule(7), 201)
        admin.post("/v1/exemptions", {"kind": "user", "value": "acme/u1", "reason": "a\u202eb"}, 201)
        for words in ((), ("list",)):
            done = ask("audit", *words, server=url)
            assert done.code == 0, done.err
            heading, newest, oldest = done.out.splitlines()
            assert heading.split() == ["AT", "SEVERITY", "EVENT", "TENANT", "IDENTIFIER", "RULE",
                                       "DETAILS"]
            assert "rate_limit_whitelist_added" in newest and "acme" in newest
            assert "\u202e" not in newest
            assert "rate_limit_config_updated" in oldest and "actor: local" in oldest
        only = ask("audit", "--event", "rate_limit_config_updated", "--rule", "one", server=url)
        assert len(only.out.splitlines()) == 2
        whole = json.loads(ask("audit", "list", "--json", server=url).out)
        assert whole["events"] == list(reversed(events(path)))
        assert ask("audit", "list", "--limit", "x", server=url).code == 1


def test_what_is_asked_for_is_in_the_query():
    with Fake(json_answer({"events": []})) as fake:
        done = ask("audit", "list", "--event", "e", "--severity", "info", "--rule", "a b",
                   "--tenant", "t&", "--identifier", "ü", "--since", "1", "--limit", "5",
                   server=fake.url)
    assert done.code == 0, done.err
    path, _, query = fake.asked[0].target.partition("?")
    assert path == "/v1/audit"
    assert sorted(query.split("&")) == sorted(
        ["event=e", "severity=info", "rule=a%20b", "tenant=t%26", "identifier=%C3%BC", "since=1",
         "limit=5"])


def test_without_a_log_there_are_recent_events_too():
    with Server(RULES) as server:
        Caller(server).put("/v1/rules/one", rule(7), 201)
        done = ask("audit", server=f"http://127.0.0.1:{server.port}")
    assert "rate_limit_config_updated" in done.out


def test_anyone_can_check_a_line_with_sha256sum(write, log):
    """By the words of the document."""
    text = (ROOT / "docs" / "observability.md").read_text(encoding="utf-8")
    command = re.search(r"^tail -n 1 audit\.jsonl \|.*$", text, re.M)[0]
    path = write(log[0])
    done = subprocess.run(["sh", "-c", command], cwd=path.parent, capture_output=True, text=True,
                          check=True)
    assert done.stdout.split()[0] == hash_of(log[0][-1])
