"""A real Envoy with the files of examples/envoy, where there is one: on the PATH, or named by ENVOY.
Debian has none, so that these tests are skipped in most places; what can be said of the files without
Envoy is tested everywhere.

Every test asks from an address of its own: the counts of one are not another's.
"""

import http.client
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from program import ROOT, run
from proxying import FIELDS, TIMEOUT_S, Answer, Backend, free_port, replaced
from serving import Server

EXAMPLES = ROOT / "examples/envoy"
ENVOY = os.environ.get("ENVOY") or shutil.which("envoy")
LIMIT = 5  # of the rule `login`
PATIENT = ("timeout: 0.02s", "timeout: 25s")  # a test machine may be slower than any in service
envoy = pytest.mark.skipif(not ENVOY, reason="envoy is not here")
addresses = (f"127.1.{high}.{low}" for high in range(1, 255) for low in range(1, 255))


def example(name):
    return (EXAMPLES / name).read_text(encoding="utf-8")


def rules_of(edits=()):
    text = replaced(example("rules.yaml"), re.search(r"listen:\n(?: .*\n)+", example("rules.yaml"))[0],
                    "")
    for old, new in edits:
        text = replaced(text, old, new)
    return text


class Envoy:
    """On a free port, from the example, asking these two."""

    def __init__(self, sluice_port, backend_port, edits):
        self.folder = tempfile.TemporaryDirectory(prefix="sluice-envoy-")
        self.errors = tempfile.TemporaryFile()
        self.port = free_port()
        text = example("envoy.yaml")
        for old, new in edits:
            text = replaced(text, old, new)
        for old, new in ((8000, self.port), (8081, sluice_port), (9000, backend_port)):
            text = replaced(text, f"port_value: {old} }}", f"port_value: {new} }}")
        path = Path(self.folder.name, "envoy.yaml")
        path.write_text(text, encoding="utf-8")
        self.process = subprocess.Popen(
            [ENVOY, "-c", path, "--disable-hot-restart", "--concurrency", "1", "-l", "warning"],
            stdin=subprocess.DEVNULL, stdout=self.errors, stderr=self.errors)

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.errors.close()
        self.folder.cleanup()

    @property
    def stderr(self):
        # Without moving the offset: the process writes at the same one.
        size = os.fstat(self.errors.fileno()).st_size
        return os.pread(self.errors.fileno(), size, 0).decode(errors="replace")


class Stack:
    """Sluice, Envoy and a backend that know each other."""

    def __init__(self, edits=(PATIENT,), rules=()):
        self.backend = Backend()
        self.sluice = Server(rules_of(rules),
                             listen={"http": "127.0.0.1:0", "grpc": "127.0.0.1:0"})
        self.grpc_port = next(int(address.rpartition(":")[2]) for address in self.sluice.addresses
                              if address.startswith("grpc://"))
        self.envoy = Envoy(self.grpc_port, self.backend.port, edits)
        self._wait_for_envoy()

    def _wait_for_envoy(self):
        """It listens when Sluice was found to be well, or was not."""
        end = time.monotonic() + TIMEOUT_S
        while time.monotonic() < end and self.envoy.process.poll() is None:
            try:
                self.ask("/about", "127.0.0.1")
                return
            except OSError:
                time.sleep(0.02)
        said = self.envoy.stderr
        self.__exit__(AssertionError)
        raise AssertionError(f"Envoy does not answer:\n{said}")

    def ask(self, path, client, **fields):
        connection = http.client.HTTPConnection("127.0.0.1", self.envoy.port, timeout=TIMEOUT_S,
                                                source_address=(client, 0))
        try:
            headers = {name.replace("_", "-"): value for name, value in fields.items()}
            connection.request("GET", path, headers=headers)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def left(self, **attributes):
        """By another protocol: what is left to a descriptor of these."""
        asked = {"tenant": "gateway", "descriptor": ",".join(attributes), **attributes, "peek": True}
        return self.sluice.check(asked).json["remaining"]

    def __enter__(self):
        return self

    def __exit__(self, kind, *rest):
        if kind:
            print(self.envoy.stderr)
        self.envoy.close()
        self.backend.close()
        self.sluice.__exit__(kind, *rest)


@pytest.fixture(name="stack", scope="module")
def running():
    with Stack() as stack:
        yield stack


@pytest.fixture(name="client")
def address_of_its_own():
    return next(addresses)


def within_one_hour(ask):
    """What `ask` says of a fresh client, all of it within one of the windows that begin with the
    clock's hours: if one began meanwhile, once more."""
    for _ in range(2):
        hour = time.time() // 3600
        said = ask(next(addresses))
        if time.time() // 3600 == hour:
            return said
    raise AssertionError("an hour has passed, twice")


# ---- without Envoy ----


def test_the_rules_have_nothing_to_be_warned_of():
    done = run("lint", EXAMPLES / "rules.yaml")
    assert done.code == 0 and "warning: " not in done.out


def test_every_descriptor_that_envoy_sends_has_a_rule_and_the_other_way_round():
    sent = {",".join(name or "remote_address" for name in
                     re.findall(r"remote_address: \{\}|descriptor_key: (\w+)", actions))
            for actions in re.split(r"- match:|- actions:", example("envoy.yaml"))[1:]} - {""}
    meant = {text.strip('"') for text in
             re.findall(r'descriptor: ("[\w,]+"|\w+)', example("rules.yaml"))}
    assert sent == meant
    [domain] = re.findall(r"domain: (\w+)", example("envoy.yaml"))
    assert set(re.findall(r"tenant: (\w+)", example("rules.yaml"))) == {domain}


DESCRIPTORS = [
    {"remote_address": "192.0.2.1"}, {"remote_address": "192.0.2.2"},
    {"route": "login", "remote_address": "192.0.2.1"},
    {"route": "logout", "remote_address": "192.0.2.1"},
    {"plan": "free", "user": "u1"}, {"plan": "pro", "user": "u1"}, {"plan": "free", "user": "u2"},
    {"plan": "none", "user": "u1"}, {"user": "u1", "plan": "free"}, {"user": "u1"},
]


def test_what_is_imported_decides_as_the_rules_do(tmp_path):
    """All descriptors in turn, often enough for every limit; by names of their own."""
    imported = tmp_path / "imported.yaml"
    done = run("import", "envoy", EXAMPLES / "ratelimit.yaml")
    assert done.code == 0
    imported.write_text(done.out, encoding="utf-8")
    trace = "".join(json.dumps({"at_us": (1_700_000_000 + number) * 1_000_000, "tenant": tenant,
                                "descriptor": ",".join(entries), "cost": 4, **entries}) + "\n"
                    for number in range(160) for tenant in ("gateway", "other")
                    for entries in DESCRIPTORS)
    said = [run("replay", "-c", file, stdin=trace).lines
            for file in (EXAMPLES / "rules.yaml", imported)]
    rules = {(mine.pop("rule"), theirs.pop("rule")) for mine, theirs in zip(*said)}
    assert said[0] == said[1]
    assert len(rules) == 5 and (None, None) in rules  # one for one, and those that match nothing
    assert {mine["allowed"] for mine in said[0]} == {True, False}


# ---- with it ----


@envoy
def test_envoy_accepts_the_file():
    done = subprocess.run([ENVOY, "--mode", "validate", "-c", EXAMPLES / "envoy.yaml"],
                          capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stderr
    assert "deprecat" not in done.stderr.lower()


@envoy
def test_the_limit_is_met_exactly(stack):
    said = within_one_hour(lambda client: [stack.ask("/login", client) for _ in range(LIMIT + 3)])
    assert [answer.status for answer in said] == [200] * LIMIT + [429] * 3
    assert [answer.headers["X-RateLimit-Remaining"] for answer in said] == list("43210000")


@envoy
def test_an_allowed_request_carries_the_fields(stack, client):
    answer = stack.ask("/login", client)
    assert answer.status == 200 and answer.body == b"hello\n"
    limits = answer.limits()
    assert set(limits) == set(FIELDS)
    assert limits["RateLimit-Policy"] == '"login";q=5;w=3600'
    assert (limits["X-RateLimit-Limit"], limits["X-RateLimit-Remaining"]) == ("5", "4")
    assert "Retry-After" not in answer.headers


@envoy
def test_a_denied_request_says_when_and_why(stack):
    answer = within_one_hour(
        lambda client: [stack.ask("/login", client) for _ in range(LIMIT + 1)])[-1]
    assert answer.headers["x-envoy-ratelimited"] == "true"
    assert set(answer.limits()) == set(FIELDS)
    assert 0 < int(answer.headers["Retry-After"]) <= 3600
    assert answer.headers.get_content_type() == "application/json"
    said = json.loads(answer.body)
    assert (said["error"], said["rule"]) == ("rate_limit_exceeded", "login")


@envoy
def test_a_denied_request_does_not_reach_the_backend(stack):
    def ask(client):
        for _ in range(LIMIT):
            stack.ask("/login", client)
        before = len(stack.backend.seen)
        return stack.ask("/login", client).status, len(stack.backend.seen) - before
    assert within_one_hour(ask) == (429, 0)


@envoy
def test_plans_have_their_own_limits(stack, client):
    """Looked at over HTTP: there is one count."""
    def ask(address):
        user = f"user-{address}"
        for plan, times in (("free", 2), ("pro", 3)):
            for _ in range(times):
                assert stack.ask("/api/videos", address, x_plan=plan, x_user=user).status == 200
        return [stack.left(plan=plan, user=user) for plan in ("free", "pro")]
    assert within_one_hour(ask) == [60 - 2, 600 - 3]
    assert stack.ask("/api/videos", client, x_plan="free").limits()["X-RateLimit-Limit"] == "50"


@envoy
def test_what_is_denied_by_one_descriptor_charges_none(stack):
    def ask(address):
        user = f"user-{address}"
        request = {"tenant": "gateway", "descriptor": "plan,user", "plan": "free", "user": user}
        stack.sluice.check({**request, "cost": 60})
        before = stack.left(remote_address=address)
        return (stack.ask("/api/videos", address, x_plan="free", x_user=user).status,
                stack.left(remote_address=address) - before)
    assert within_one_hour(ask) == (429, 0)


@envoy
def test_a_path_that_has_no_actions_is_not_asked_about(stack, client):
    def asked():
        text = stack.sluice.ask("GET", "/metrics").body.decode()
        return sum(map(int, re.findall(r"^sluice_decisions_total\S* (\d+)", text, re.M)))
    before = asked()
    answer = stack.ask("/about", client)
    assert (answer.status, answer.limits(), asked() - before) == (200, {}, 0)


@envoy
def test_envoy_makes_its_own_fields_of_the_answers(client):
    """Units, names and times of the statuses, in Envoy's words."""
    edits = (PATIENT, ('enable_x_ratelimit_headers: "OFF"',
                       "enable_x_ratelimit_headers: DRAFT_VERSION_03"))
    with Stack(edits, rules=[("rules:\n", "headers: [retry-after]\nrules:\n")]) as stack:
        answer = stack.ask("/login", client)
    assert answer.headers["x-ratelimit-limit"] == (
        '5, 50;w=1;name="address", 5;w=3600;name="login"')
    assert answer.headers["x-ratelimit-remaining"] == "4"
    assert 0 < int(answer.headers["x-ratelimit-reset"]) <= 3600


@envoy
@pytest.mark.parametrize("deny, status", [("false", 200), ("true", 500)])
def test_without_sluice_it_is_for_envoy_to_say(client, deny, status):
    edits = (PATIENT, ("failure_mode_deny: false", f"failure_mode_deny: {deny}"))
    with Stack(edits) as stack:
        assert stack.ask("/login", client).status == 200
        assert stack.sluice.stop() == 0
        assert stack.ask("/login", client).status == status


@envoy
def test_envoy_finds_sluice_again(client):
    with Stack() as stack:
        assert stack.ask("/login", client).limits()
        stack.sluice.__exit__(None)
        assert stack.ask("/login", client).status == 200
        stack.sluice = Server(rules_of(), listen={"http": "127.0.0.1:0",
                                                  "grpc": f"127.0.0.1:{stack.grpc_port}"})
        end = time.monotonic() + TIMEOUT_S
        while not stack.ask("/login", next(addresses)).limits():  # a health check is due first
            assert time.monotonic() < end
            time.sleep(0.1)
