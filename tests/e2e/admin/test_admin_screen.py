"""What people see of the admin commands: tables, sentences, explanations; and that nothing in a
server's answer can do anything to their terminal."""

import json
import os
import pty
import subprocess

import pytest

from admin_commands import (DELETED, EXEMPTION, KEY, RULE, TENANT, USER, Fake, answer, ask,
                           environment, json_answer, problem)
from program import SLUICE, TIMEOUT_S

ESCAPES = "\x1b]0;title\x07\u202e\u009b31m"


def test_rules_are_a_table():
    rules = [RULE,
             {"name": "own", "tenant": "acme", "source": "api", "replaces": None, "etag": '"r1"',
              "rule": {"name": "own", "per": ["tenant", "user"], "algorithm": "token_bucket",
                       "capacity": 5, "refill_rate": 0.1, "shadow": True, "adaptive": True}},
             {"name": "w", "tenant": None, "source": "file", "replaces": None, "etag": '"r2"',
              "rule": {"name": "w", "per": "ip", "capacity": 5, "window": "15m"}}]
    with Fake(json_answer({"revision": 7, "rules": rules, "hidden": ["old", "older"]})) as fake:
        done = ask("rules", "list", server=fake.url)
    assert done.out == (
        "NAME      SOURCE              PER           LIMIT     ALGORITHM     RESOURCE  NOTES\n"
        "api       api, replaces file  user          100/1m    -             /api/*    -\n"
        "acme/own  api                 tenant, user  5, 0.1/s  token_bucket  -         "
        "shadow, adaptive\n"
        "w         file                ip            5/15m     -             -         -\n"
        "\n"
        "hidden, of the file: old, older (`sluice rules delete NAME --undo` brings one back)\n")


def test_exemptions_are_a_table():
    rows = [EXEMPTION, {**EXEMPTION, "value": "2001:db8::/32", "until": 1767225600.5,
                        "reason": "load test"}]
    with Fake(json_answer({"exemptions": rows})) as fake:
        done = ask("exempt", "list", server=fake.url)
    assert done.out == ("KIND  VALUE           UNTIL                    REASON     SOURCE\n"
                        "ip    203.0.113.0/24  -                        -          api\n"
                        "ip    2001:db8::/32   2026-01-01 00:00:00 UTC  load test  api\n")


@pytest.mark.parametrize("status, more, said", [
    (201, {"replaces": None, "counts": "new"}, "rule `api` created (etag \"r12\")"),
    (200, {"replaces": None, "counts": "kept"},
     "rule `api` replaced; counts are kept (etag \"r12\")"),
    (200, {"counts": "afresh"},
     "rule `api` replaced; it stands in for the file's; its counts start afresh (etag \"r12\")"),
    (200, {"replaces": None, "counts": "new", "dry_run": True, "would": "create"},
     "dry run: rule `api` would be created"),
    (200, {"counts": "kept", "dry_run": True, "would": "replace"},
     "dry run: rule `api` would be replaced; it would stand in for the file's; "
     "counts would be kept"),
    (200, {"replaces": None, "counts": "afresh", "dry_run": True, "would": "replace"},
     "dry run: rule `api` would be replaced; its counts would start afresh"),
])
def test_a_change_says_what_happened(status, more, said):
    with Fake(json_answer({**RULE, "warnings": ["It is wide.", "It is high."], **more},
                          status)) as fake:
        dry = ["--dry-run"] if "dry_run" in more else []
        done = ask("rules", "set", "api", "{}", *dry, server=fake.url)
    assert (done.code, done.out) == (0, f"{said}\n")
    assert done.err == "warning: It is wide.\nwarning: It is high.\n"


@pytest.mark.parametrize("options, now, said", [
    ([], None, "rule `api` deleted"),
    (["--undo"], {**RULE, "source": "file"},
     "change of rule `api` taken back; now the file's is in force"),
    (["--undo"], None, "change of rule `api` taken back; there is none of that name now"),
    (["--dry-run"], None, "dry run: rule `api` would be deleted"),
])
def test_a_deletion_says_what_is_left(options, now, said):
    dry = {"dry_run": True} if "--dry-run" in options else {}
    with Fake(json_answer({**DELETED, "now": now, **dry})) as fake:
        done = ask("rules", "delete", "api", *options, server=fake.url)
    assert (done.code, done.out) == (0, f"{said}\n")


def test_a_rule_is_laid_out_and_its_numbers_stay_as_they_were_written():
    text = '{"name":"api","rule":{"per":["user","ip"],"capacity":10.0,"refill_rate":0.10}}'
    with Fake(answer(text)) as fake:
        done = ask("rules", "get", "api", server=fake.url)
    assert done.out == ('{\n  "name": "api",\n  "rule": {\n    "per": ["user", "ip"],\n'
                        '    "capacity": 10.0,\n    "refill_rate": 0.10\n  }\n}\n')


def test_trust_is_explained_part_by_part():
    with Fake(json_answer(USER)) as fake:
        done = ask("user", "show", "u1", "--tenant", "acme", server=fake.url)
    assert done.out == ("user `u1` of tenant `acme`\n"
                        "  created      2025-01-01 00:00:00 UTC\n"
                        "  email        verified\n"
                        "  tier         pro\n"
                        "  own limit    api: capacity 500, 50/s\n"
                        '  etag         "u3"\n'
                        "\n"
                        "trust 0.85\n"
                        "  age          +0.3         319 days\n"
                        "  email        +0.2         verified\n"
                        "  success      +0.4         80 of 100 calls succeeded in 7 days\n"
                        "  violations   -0.05        1 in 30 days\n"
                        "  together      0.85\n")


@pytest.mark.parametrize("score, parts, together", [
    (0.302, (0.002739726, 0, 0.3, 0), " 0.302739726, floored to thousandths"),
    (0, (0, 0, 0, -0.2), "-0.2, and never below 0"),
    (1, (0.6, 0.2, 0.5, 0), " 1.3, and never above 1"),
    (0.6, (0.1, 0.2, 0.3, 0), " 0.6"),  # in floating point 0.6000000000000001
    (0.001, (0.001013633, 0, 0, 0), " 0.001013633, floored to thousandths"),  # as are these
    (0, (0, 0, 0, -0.001013633), "-0.001013633, and never below 0"),
])
def test_the_parts_of_trust_add_up(score, parts, together):
    trust = dict(zip(("age", "email", "success", "violations"),
                     ({"value": value} for value in parts)))
    with Fake(json_answer({**USER, "trust": {"score": score, **trust}})) as fake:
        done = ask("user", "show", "u1", server=fake.url)
    assert done.out.endswith(f"\n  together     {together}\n")
    assert f"\ntrust {score}\n" in done.out


def test_a_new_key_is_printed_and_what_is_said_about_it_is_not_among_it():
    with Fake(json_answer(KEY, 201)) as fake:
        done = ask("tenant", "key", "add", "acme", server=fake.url)
    assert done.out.splitlines()[0].split() == ["key", "sk_1"]
    assert done.err == "keep the key now: it is not shown again\n"
    with Fake(json_answer({**KEY, "key": None}, 201)) as fake:
        done = ask("tenant", "key", "add", "acme", "--sha256", "ab", server=fake.url)
    assert (done.code, done.err) == (0, "")
    assert "sk_" not in done.out


# ---- bytes ------------------------------------------------------------------------------


def on_terminal(*arguments, server):
    """What it writes where both of its outputs are a terminal."""
    mine, its = pty.openpty()
    with subprocess.Popen([SLUICE, *arguments, "--server", server], stdin=subprocess.DEVNULL,
                          stdout=its, stderr=its, env=environment(NO_COLOR="1")) as process:
        os.close(its)
        seen = b""
        try:
            while more := os.read(mine, 65536):
                seen += more
        except OSError:
            pass  # so Linux tells that the other side is closed
        os.close(mine)
        process.wait(TIMEOUT_S)
    return seen.decode().replace("\r\n", "\n")


EVIL_RULE = {**RULE, "name": ESCAPES, "rule": {"per": ESCAPES}}


@pytest.mark.parametrize("arguments, response", [
    (["rules", "list"], {"rules": [EVIL_RULE], "hidden": [ESCAPES]}),
    (["rules", "list", "--json"], {"rules": [EVIL_RULE]}),
    (["rules", "get", "api"], EVIL_RULE),
    (["rules", "set", "api", "{}"], {"etag": ESCAPES, "warnings": [ESCAPES]}),
    (["rules", "set", ESCAPES, "{}"], {}),
    (["exempt", "list"], {"exemptions": [{"reason": ESCAPES, "until": ESCAPES}]}),
    (["exempt", "add", "ip", "x"], {"kind": ESCAPES, "value": ESCAPES}),
    (["user", "show", "u1"], {**USER, "user": ESCAPES, "tenant": ESCAPES,
                              "limits": {ESCAPES: {"capacity": ESCAPES}}}),
    (["tenant", "show", "acme"], {**TENANT, "keys": [{"label": ESCAPES}], "rules": [ESCAPES]}),
    (["tenant", "key", "add", "acme"], {**KEY, "key": ESCAPES}),
    (["reset", "--user", "u1"], {"reset": [ESCAPES]}),
])
@pytest.mark.parametrize("escaped", [True, False], ids=["escaped in JSON", "raw in JSON"])
def test_nothing_that_a_server_sends_reaches_the_terminal_raw(arguments, response, escaped):
    text = json.dumps(response, ensure_ascii=escaped)
    with Fake(answer(text)) as fake:
        seen = on_terminal(*arguments, server=fake.url)
    assert "\\u202e" in seen and "\\u009b31m" in seen
    assert all(character == "\n" or character.isprintable() for character in seen), seen


@pytest.mark.parametrize("response", [
    problem(422, ESCAPES, errors=[{"subject": ESCAPES, "line": 1, "column": 1, "detail": ESCAPES}]),
    problem(404, ESCAPES),
    answer("", 302, fields=["Location: /\x1b[31m"]),
    b"HTTP/1.1 \x1b[31m\r\n\r\n",
    b"\x1b[31m\r\n\r\n",
])
@pytest.mark.parametrize("how", [[], ["--json"]], ids=["words", "json"])
def test_nor_does_what_it_complains_about(response, how):
    with Fake(response) as fake:
        seen = on_terminal("rules", "list", *how, server=fake.url)
    assert seen
    assert all(character == "\n" or character.isprintable() for character in seen), seen


def test_json_is_the_answer_byte_for_byte():
    text = '{"rules" :\t[],\n "x": "\u202e\x7f", "n": 1.50}  '
    with Fake(answer(text)) as fake:
        assert ask("rules", "list", "--json", server=fake.url).out == text
    response = problem(404, "There is no rule.")
    with Fake(response) as fake:
        done = ask("rules", "get", "x", "--json", server=fake.url)
    assert done.code == 1
    assert done.out == response.partition(b"\r\n\r\n")[2].decode()
    assert done.err == "sluice rules get: the server said no (404): There is no rule.\n"


def test_an_answer_that_cannot_be_written_is_an_error():
    with Fake(json_answer({"rules": [RULE]})) as fake, open("/dev/full", "wb") as full:
        done = subprocess.run([SLUICE, "rules", "list", "--server", fake.url], stdout=full,
                              stderr=subprocess.PIPE, timeout=TIMEOUT_S, check=False,
                              env=environment())
    assert done.returncode == 2
    assert b"No space left" in done.stderr
