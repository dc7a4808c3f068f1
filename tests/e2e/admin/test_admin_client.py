"""The admin commands as a client: what they ask and where, what becomes of secrets, a server's
no, and servers that are none. What people see of a yes: test_admin_screen.py."""

import json
import threading

import pytest

from admin_commands import (DELETED, EXEMPTION, KEY, RULE, TENANT, USER, Fake, answer, ask,
                           json_answer, problem)
from program import TIMEOUT_S

TOKEN = "open-sesame-0123456789"
COMMANDS = {
    "rules": ("list", "get", "set", "delete"),
    "tier": ("list", "get", "set", "delete"),
    "exempt": ("list", "add", "remove"),
    "user": ("show", "set", "forget"),
    "tenant": ("list", "show", "set", "delete", "key"),
    "tenant key": ("add", "remove"),
}
LEAVES = [f"{group} {name}" for group, names in COMMANDS.items() for name in names
          if name != "key"] + ["reset", "reload"]
CHECKED = '{"per": "user", "limit": "100/1m"}'


# ---- help and slips ---------------------------------------------------------------------


@pytest.mark.parametrize("group", COMMANDS)
def test_a_groups_help_names_its_commands(group):
    done = ask(*group.split(), "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"usage: sluice {group} COMMAND")
    for name in COMMANDS[group]:
        assert f"\n  {name} " in done.out
    assert ask("help", *group.split()).out == done.out
    assert ask(*group.split(), "-h").out == done.out


@pytest.mark.parametrize("command", LEAVES)
def test_a_commands_help_names_all_it_takes(command):
    done = ask(*command.split(), "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"usage: sluice {command} ")
    for word in ("--server URL", "--token-file FILE", "--ca-file FILE", "--plain", "--timeout TIME",
                 "--json", "$SLUICE_SERVER", "$SLUICE_TOKEN", "$SLUICE_API_KEY", "Exit: 0"):
        assert word in done.out, word
    assert max(len(line) for line in done.out.splitlines()) <= 100
    assert ask("help", *command.split()).out == done.out


@pytest.mark.parametrize("arguments, said", [
    (["rules", "lst"], "sluice rules: unknown command `lst` (did you mean `list`?)"),
    (["rules", "frobnicate"], "sluice rules: unknown command `frobnicate`; try"),
    (["rules", "--nonsense"], "sluice rules: unknown option `--nonsense`; try"),
    (["rules"], "sluice rules: which command? try `sluice rules --help`"),
    (["tenant", "kye"], "did you mean `key`?"),
    (["tenant", "key"], "sluice tenant key: which command?"),
    (["tenant", "key", "ad"], "did you mean `add`?"),
    (["rule"], "did you mean `rules`?"),
    (["rules", "get"], "sluice rules get: which rule?"),
    (["rules", "get", ""], "sluice rules get: which rule?"),
    (["rules", "get", "a", "b"], "`b` is one argument too many"),
    (["rules", "set", "a"], "give JSON, or `--file FILE`"),
    (["rules", "set", "a", ""], "give JSON, or `--file FILE`"),
    (["rules", "set", "a", "{}", "--file", "x"], "the JSON is given twice"),
    (["rules", "set", "a", "--file", "/nonexistent/x"], "cannot read `/nonexistent/x`: No such"),
    (["rules", "set", "a", "--file", "/dev/null"], "`/dev/null` is empty"),
    (["rules", "set", "a", "--file", "/dev/zero"], "`/dev/zero` has more than 1 MiB"),
    (["rules", "set", "a", "{}", "--new", "--if-match", "r1"], "exclude each other"),
    (["rules", "set", "a", "{}", "--if-match", ""], "is no entity tag"),
    (["rules", "set", "a", "{}", "--if-match", 'r"1'], "is no entity tag"),
    (["rules", "set", "a", "{}", "--if-match", "r1\r\nX: y"], "is no entity tag"),
    (["rules", "list", "--tenant", ""], "`--tenant` is empty"),
    (["rules", "list", "--timeout", "0"], "`--timeout 0` is not a time from 1ms"),
    (["rules", "list", "--undo"], "unknown option `--undo`"),
    (["exempt", "add"], "which caller? give a kind and a value"),
    (["exempt", "add", "ip"], "which caller? give a value behind the kind"),
    (["exempt", "add", "user", b"\xff"], "an argument is not UTF-8"),
    (["user", "show"], "which user?"),
    (["tenant", "set", "acme"], "say `--tier TIER`, or `--no-tier`"),
    (["tenant", "set", "acme", "--tier", "a", "--no-tier"], "say `--tier TIER`, or `--no-tier`"),
    (["tenant", "key", "remove", "acme"], "which key?"),
    (["reset"], "whose counts?"),
    (["rules", "list", "--server", "localhost:8080"], "is not http://HOST:PORT, https://"),
    (["rules", "list", "--server", "http://root:sesame@127.0.0.1"], "no user or password"),
    (["rules", "list", "--token-file", "/nonexistent/t"], "cannot read the token file"),
    (["rules", "list", "--token-file", "/dev/null"], "the token file holds nothing"),
])
def test_what_cannot_be_asked_is_not_asked(arguments, said):
    with Fake(json_answer({})) as fake:
        done = ask(*arguments, SLUICE_SERVER=fake.url)
        assert (done.code, done.out) == (2, "")
        assert said in done.err
        assert "sesame" not in done.err
        assert fake.asked == []


# ---- what is asked ----------------------------------------------------------------------


@pytest.mark.parametrize("command, reply, method, target, body", [
    ("rules list", {"rules": []}, "GET", "/v1/rules", None),
    ("rules list --tenant a/b", {"rules": []}, "GET", "/v1/tenants/a%2Fb/rules", None),
    ("rules get api", RULE, "GET", "/v1/rules/api", None),
    ("rules get ..", RULE, "GET", "/v1/rules/..", None),
    ("rules get a?b#c%", RULE, "GET", "/v1/rules/a%3Fb%23c%25", None),
    ("rules get own --tenant acme", RULE, "GET", "/v1/tenants/acme/rules/own", None),
    ("rules set api {\"capacity\":1.50}", RULE, "PUT", "/v1/rules/api", b'{"capacity":1.50}'),
    ("rules set api {} --dry-run", {**RULE, "dry_run": True}, "PUT", "/v1/rules/api?dry_run=true",
     b"{}"),
    ("rules set own {} --tenant acme", RULE, "PUT", "/v1/tenants/acme/rules/own", b"{}"),
    ("rules delete api", DELETED, "DELETE", "/v1/rules/api", None),
    ("rules delete api --undo --dry-run", {**DELETED, "dry_run": True}, "DELETE",
     "/v1/rules/api?dry_run=true&undo=true", None),
    ("rules delete own --tenant acme", DELETED, "DELETE", "/v1/tenants/acme/rules/own", None),
    ("tier list", {"tiers": []}, "GET", "/v1/tiers", None),
    ("tier get pro", {}, "GET", "/v1/tiers/pro", None),
    ("tier set pro {}", {}, "PUT", "/v1/tiers/pro", b"{}"),
    ("tier delete pro", DELETED, "DELETE", "/v1/tiers/pro", None),
    ("exempt list", {"exemptions": []}, "GET", "/v1/exemptions", None),
    ("exempt add ip 203.0.113.0/24 --until 1767225600", EXEMPTION, "POST", "/v1/exemptions",
     {"kind": "ip", "value": "203.0.113.0/24", "until": 1767225600}),
    ("exempt add user acme/root --until 2026-01-01T00:00:00Z --reason why", EXEMPTION, "POST",
     "/v1/exemptions", {"kind": "user", "value": "acme/root", "until": "2026-01-01T00:00:00Z",
                        "reason": "why"}),
    ("exempt remove ip 203.0.113.0/24", EXEMPTION, "DELETE",
     "/v1/exemptions?kind=ip&value=203.0.113.0%2F24", None),
    ("user show u1", USER, "GET", "/v1/users/u1", None),
    ("user show u/1 --tenant a&b", USER, "GET", "/v1/users/u%2F1?tenant=a%26b", None),
    ("user set u1 {} --tenant acme --dry-run", {**USER, "dry_run": True}, "PUT",
     "/v1/users/u1?tenant=acme&dry_run=true", b"{}"),
    ("user forget u1", {"user": "u1"}, "DELETE", "/v1/users/u1", None),
    ("tenant list", {"tenants": []}, "GET", "/v1/tenants", None),
    ("tenant show acme", TENANT, "GET", "/v1/tenants/acme", None),
    ("tenant set acme --tier pro", TENANT, "PUT", "/v1/tenants/acme", {"tier": "pro"}),
    ("tenant set acme --no-tier", TENANT, "PUT", "/v1/tenants/acme", {"tier": None}),
    ("tenant delete acme", DELETED, "DELETE", "/v1/tenants/acme", None),
    ("tenant key add acme", KEY, "POST", "/v1/tenants/acme/keys", {}),
    ("tenant key add acme --label ci --tier free --sha256 ab", KEY, "POST", "/v1/tenants/acme/keys",
     {"label": "ci", "tier": "free", "sha256": "ab"}),
    ("tenant key remove acme 3f2a", {"id": "3f2a"}, "DELETE", "/v1/tenants/acme/keys/3f2a", None),
    ("reset --rule api --user u1 --tenant acme", {"reset": ["api"]}, "POST", "/v1/reset",
     {"rule": "api", "user": "u1", "tenant": "acme"}),
    ("reset --resource /x --ip 192.0.2.1 --client c --method GET --attr a=b=c", {"reset": []},
     "POST", "/v1/reset", {"resource": "/x", "ip": "192.0.2.1", "client": "c", "method": "GET",
                           "a": "b=c"}),
    ("reload", {"reloaded": True, "rules": 12}, "POST", "/v1/reload", None),
])
def test_a_command_is_one_call(command, reply, method, target, body):
    with Fake(json_answer(reply)) as fake:
        done = ask(*command.split(" "), server=fake.url)
        assert (done.code, done.err.replace("keep the key now: it is not shown again\n", "")) == (
            0, "")
        assert done.out
        [asked] = fake.asked
    assert (asked.method, asked.target) == (method, target)
    assert asked.fields.get("content-type") == (None if body is None else "application/json")
    assert (json.loads(asked.body) if isinstance(body, dict) else asked.body or None) == body
    assert "authorization" not in asked.fields and "x-api-key" not in asked.fields


@pytest.mark.parametrize("options, name, value", [
    (["--if-match", "r12"], "if-match", '"r12"'),
    (["--if-match", '"r12"'], "if-match", '"r12"'),
    (["--if-match", "*"], "if-match", "*"),
    (["--new"], "if-none-match", "*"),
])
def test_a_change_can_depend_on_what_is_there(options, name, value):
    with Fake(json_answer(RULE)) as fake:
        assert ask("rules", "set", "api", "{}", *options, server=fake.url).code == 0
        assert fake.asked[0].fields[name] == value


def test_json_comes_from_a_file_or_from_input(tmp_path):
    file = tmp_path / "rule.json"
    file.write_text(CHECKED, encoding="utf-8")
    with Fake(json_answer(RULE)) as fake:
        assert ask("rules", "set", "api", "--file", file, server=fake.url).code == 0
        assert ask("rules", "set", "api", "--file", "-", server=fake.url, stdin=CHECKED).code == 0
        assert [asked.body.decode() for asked in fake.asked] == [CHECKED, CHECKED]


def test_json_in_a_file_has_at_most_1_mib(tmp_path):
    file = tmp_path / "rule.json"
    file.write_bytes(b" " * (1024 * 1024))
    with Fake(json_answer(RULE)) as fake:
        assert ask("rules", "set", "api", "--file", file, server=fake.url).code == 0
        file.write_bytes(b" " * (1024 * 1024 + 1))
        done = ask("rules", "set", "api", "--file", file, server=fake.url)
        assert (done.code, len(fake.asked)) == (2, 1)
        assert "has more than 1 MiB" in done.err


# ---- where ------------------------------------------------------------------------------


def test_the_option_goes_before_the_environment():
    with Fake(json_answer({"rules": []})) as fake, Fake(json_answer({"rules": []})) as other:
        assert ask("rules", "list", SLUICE_SERVER=fake.url).code == 0
        assert (len(fake.asked), len(other.asked)) == (1, 0)
        assert ask("rules", "list", server=other.url, SLUICE_SERVER=fake.url).code == 0
        assert (len(fake.asked), len(other.asked)) == (1, 1)


def test_a_server_can_be_a_unix_socket_and_is_then_called_localhost(tmp_path):
    with Fake(json_answer({"rules": []}), unix=tmp_path / "s") as fake:
        assert ask("rules", "list", server=fake.url).code == 0
        assert fake.asked[0].fields["host"] == "localhost"


def test_a_server_can_be_below_a_path():
    with Fake(json_answer({"rules": []})) as fake:
        assert ask("rules", "list", server=f"{fake.url}/limits/").code == 0
        assert fake.asked[0].target == "/limits/v1/rules"


def test_proxies_of_the_environment_are_not_asked():
    with Fake(json_answer({"rules": []})) as fake, Fake(json_answer({"rules": []})) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            assert ask("rules", "list", server=fake.url, **{name: proxy.url}).code == 0
        assert (len(fake.asked), len(proxy.asked)) == (4, 0)


# ---- secrets ----------------------------------------------------------------------------


def token_file(folder):
    file = folder / "token"
    file.write_text(f"{TOKEN}\n", encoding="utf-8")
    return file


def test_a_token_comes_from_a_file_or_the_environment_and_goes_before_a_key(tmp_path):
    file, bearer = token_file(tmp_path), f"Bearer {TOKEN}"
    with Fake(json_answer({"rules": []})) as fake:
        ask("rules", "list", "--token-file", file, server=fake.url, SLUICE_TOKEN="other")
        ask("rules", "list", server=fake.url, SLUICE_TOKEN=TOKEN, SLUICE_API_KEY="sk_1")
        ask("rules", "list", server=fake.url, SLUICE_API_KEY="sk_1")
        sent = [(asked.fields.get("authorization"), asked.fields.get("x-api-key"))
                for asked in fake.asked]
    assert sent == [(bearer, None), (bearer, None), (None, "sk_1")]


def unencrypted(fake):
    """The same server by an address that is none of the loopback's."""
    return f"http://0.0.0.0:{fake.port}"


@pytest.mark.parametrize("variables", [{"SLUICE_TOKEN": TOKEN}, {"SLUICE_API_KEY": TOKEN}])
def test_a_secret_does_not_go_unencrypted_over_a_network(variables):
    with Fake(json_answer({"rules": []})) as fake:
        done = ask("rules", "list", server=unencrypted(fake), **variables)
        assert (done.code, done.out) == (2, "")
        assert "unencrypted" in done.err and "--plain" in done.err and "https://" in done.err
        assert TOKEN not in done.err
        assert fake.asked == []
        assert ask("rules", "list", "--plain", server=unencrypted(fake), **variables).code == 0
        assert TOKEN in str(fake.asked[0].fields)


def test_without_a_secret_any_network_will_do():
    with Fake(json_answer({"rules": []})) as fake:
        assert ask("rules", "list", server=unencrypted(fake)).code == 0


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status):
    with Fake(json_answer({"rules": []})) as other:
        sent_on = answer("", status, fields=[f"Location: {other.url}/v1/rules"])
        with Fake(sent_on) as fake:
            done = ask("rules", "list", server=fake.url, SLUICE_TOKEN=TOKEN)
        assert (done.code, done.out) == (2, "")
        assert f"redirects to {other.url}/v1/rules" in done.err
        assert other.asked == []


@pytest.mark.parametrize("response", [
    problem(401, "Wrong token."), problem(500, "x"), answer("<html>", 502, "text/html"),
    answer("rubbish"), b"rubbish\r\n\r\n", b"",
])
def test_a_token_is_in_no_message(response):
    with Fake(response) as fake:
        done = ask("rules", "list", server=fake.url, SLUICE_TOKEN=TOKEN)
        assert fake.asked[0].fields["authorization"] == f"Bearer {TOKEN}"
    assert done.code in (1, 2)
    assert done.err and TOKEN not in done.err + done.out


def test_a_token_is_not_an_argument():
    done = ask("rules", "list", "--token", TOKEN)
    assert done.code == 2
    assert "unknown option `--token`" in done.err and TOKEN not in done.err


# ---- no ---------------------------------------------------------------------------------


def test_a_problem_is_a_sentence_and_every_error_a_line(tmp_path):
    errors = [{"subject": "rule `api`", "line": 1, "column": 30, "detail": "first"},
              {"subject": "rule `login`", "line": 2, "column": 3, "detail": "second"},
              {"subject": "rules.yaml", "line": 4, "column": 5, "detail": "third"}]
    file = tmp_path / "rule.json"
    file.write_text("{}", encoding="utf-8")
    with Fake(problem(422, "There are several problems.", errors=errors)) as fake:
        done = ask("rules", "set", "api", "{}", server=fake.url)
        assert (done.code, done.out) == (1, "")
        assert done.err == ("sluice rules set: the server said no (422)\n"
                            "  rule `api`, line 1, column 30: first\n"
                            "  rule `login`, line 2, column 3: second\n"
                            "rules.yaml:4:5: third\n")
        done = ask("rules", "set", "api", "--file", file, server=fake.url)
        assert done.err == ("sluice rules set: the server said no (422)\n"
                            f"{file}:1:30: first\n"
                            "  rule `login`, line 2, column 3: second\n"
                            "rules.yaml:4:5: third\n")


@pytest.mark.parametrize("status", [400, 404, 409, 412, 415, 422, 429, 500, 503])
def test_a_no_is_exit_1_with_its_reason(status):
    with Fake(problem(status, "The reason.")) as fake:
        done = ask("rules", "delete", "api", server=fake.url)
    assert (done.code, done.out) == (1, "")
    assert done.err == f"sluice rules delete: the server said no ({status}): The reason.\n"


@pytest.mark.parametrize("status", [401, 403])
def test_without_a_token_the_error_says_how_to_send_one(status):
    with Fake(problem(status, "Who are you?")) as fake:
        assert "--token-file FILE" in ask("rules", "list", server=fake.url).err
        said = ask("rules", "list", server=fake.url, SLUICE_TOKEN=TOKEN).err
        assert "--token-file" not in said and "Who are you?" in said


# ---- servers that are none --------------------------------------------------------------


CUT = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"


@pytest.mark.parametrize("response", [
    b"", b"rubbish", b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 200 OK\r\n", CUT,
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n{}\r\n",
    answer(""), answer("", 204), answer("rubbish"), answer("<html>"), answer('"rules"'),
    answer("null"), answer("[" * 100000), answer('{"rules": [' + "[" * 3000 + "]" * 3001 + "}"),
    answer(b'{"rules": ["\xff"]}'), answer('{"rules": []} {}'), answer("<html>", 502, "text/html"),
    answer('{"detail": "no"}', 404), answer("rubbish", 404, "application/problem+json"),
    answer("[]", 404, "application/problem+json"), answer("{}", 404, "application/problem+json"),
], ids=lambda response: repr(response[-40:]))
@pytest.mark.parametrize("how", [[], ["--json"]], ids=["table", "json"])
def test_what_is_no_answer_of_sluice_is_an_error(response, how):
    with Fake(response) as fake:
        done = ask("rules", "list", *how, server=fake.url)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("sluice rules list: ") and done.err.count("\n") == 1


@pytest.mark.parametrize("text", ["[1, 2]", "{}", '{"rules": 7}', '{"rules": {}}'])
def test_json_about_something_else_is_an_error_unless_json_was_asked_for(text):
    with Fake(answer(text)) as fake:
        done = ask("rules", "list", server=fake.url)
        assert (done.code, done.out) == (2, "")
        assert "is about something else: is it the right server?" in done.err
        done = ask("rules", "list", "--json", server=fake.url)
        assert (done.code, done.out) == (0, text)


@pytest.mark.parametrize("rows", [
    [None], [1], ["x"], [{}], [{"name": 1, "rule": []}], [{"rule": {"per": {"a": 1}}}], [[]],
])
def test_rows_that_lack_something_have_a_dash(rows):
    with Fake(json_answer({"rules": rows, "hidden": 7})) as fake:
        done = ask("rules", "list", server=fake.url)
    assert done.code == 0
    assert len(done.out.splitlines()) == 2


def test_a_change_whose_answer_is_lost_may_have_been_made():
    with Fake(b"") as fake:
        lost = ask("rules", "delete", "api", server=fake.url)
        looked = ask("rules", "list", server=fake.url)
    assert (lost.code, looked.code) == (2, 2)
    assert "may have been done" in lost.err
    assert "may have been done" not in looked.err


def test_a_dry_run_that_was_none_is_said_to_be():
    with Fake(json_answer(RULE)) as fake:
        done = ask("rules", "set", "api", "{}", "--dry-run", server=fake.url)
    assert (done.code, done.out) == (2, "")
    assert "may have been done" in done.err


@pytest.mark.parametrize("before", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"])
def test_a_server_that_does_not_answer_is_not_waited_for(before):
    ended = threading.Event()

    def hold(connection):
        connection.sendall(before)
        ended.wait(TIMEOUT_S)

    with Fake(hold) as fake:
        try:
            done = ask("rules", "list", "--timeout", "50ms", server=fake.url)
        finally:
            ended.set()
    assert (done.code, done.out) == (2, "")
    assert done.err == f"sluice rules list: no answer from `{fake.url}` within 0.05s\n"


def test_an_answer_has_at_most_64_mib():
    size = 64 * 1024 * 1024
    with Fake(answer(b'{"rules": []' + b" " * (size - 13) + b"}")) as fake:
        assert ask("rules", "list", server=fake.url).code == 0
    with Fake(answer(b'{"rules": []' + b" " * (size - 12) + b"}")) as fake:
        done = ask("rules", "list", server=fake.url)
    assert (done.code, done.out) == (2, "")
    assert "more than 64 MiB" in done.err


def test_a_port_without_a_listener_is_said(tmp_path):
    with Fake(b"") as fake:
        url = fake.url
    done = ask("rules", "list", server=url)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"sluice rules list: no server can be reached at `{url}`: Connection refused\n"
    done = ask("rules", "list", server=f"unix:{tmp_path}/s")
    assert done.code == 2
    assert done.err.endswith(": No such file or directory\n")
