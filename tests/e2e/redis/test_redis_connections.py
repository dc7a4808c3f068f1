"""Every way to a Redis: passwords, users with least privileges, databases, Unix sockets, TLS.

Each is tried by `check`, by `replay --store` and by a server; and what does not work says why, in
words that hold no password."""

import json
import time
from urllib.parse import quote

import pytest

import certificates
from admin_api import Caller
from program import run
from redis_requests import ALGORITHMS, ANY, PATIENT, on, one
from redis_running import LEAST, Redis, free_port
from serving import Server
from watching import wait_until

SECRET = "p@ss/w:rd?%{}"
ONE = one("api", "fixed_window", 5, resource=ANY)
NOW = {"at_us": time.time_ns() // 1000, "user": "u"}
HURRIED = "store_deadline: 250ms\non_store_failure: deny\n"
BOUND_S = 60


def write(folder, url, more=PATIENT, rules=ONE):
    path = folder / "rules.yaml"
    path.write_text(on(url, rules, more), encoding="utf-8")
    return path


def works(folder, url, more=PATIENT):
    """In all three ways, on one count."""
    path = write(folder, url, more)
    done = run("check", "-c", path, "--user", "u", "--json")
    assert (done.code, done.err) == (0, ""), done.err
    assert (done.lines[0]["reason"], done.lines[0]["remaining"]) == ("ok", 4)
    with Server(on(url, ONE, more), folder=folder) as server:
        answer = server.check({"user": "u"})
        assert (answer.status, answer.json["remaining"]) == (200, 3)
    done = run("replay", "-c", path, "--store", url, stdin=json.dumps(NOW))
    assert (done.code, done.lines[0]["remaining"]) == (0, 2), done.err


def fails(folder, url, *words, more=HURRIED):
    """In time, with a message that has one of these words and no password; a server starts all
    the same, and says it too."""
    path = write(folder, url, more)
    start = time.monotonic()
    done = run("check", "-c", path, "--user", "u", "--json")
    assert time.monotonic() - start < BOUND_S
    assert done.code == 2
    assert done.lines[0]["reason"] == "store_unavailable"
    explains(done.err, words)
    done = run("replay", "-c", path, "--store", url, stdin=json.dumps(NOW))
    assert done.code == 2
    explains(done.err, words)
    with Server(on(url, ONE, more), folder=folder) as server:
        assert server.check({"user": "u"}).status == 503
        wait_until(lambda: any(word in server.stderr for word in words), "it says so")
        explains(server.stderr, words)


def explains(text, words):
    assert any(word in text for word in words), text
    for secret in (SECRET, quote(SECRET, safe=""), "wrong-secret"):
        assert secret not in text


# ---- passwords and users --------------------------------------------------------------------


@pytest.fixture(name="guarded", scope="module")
def redis_with_users():
    """A password for all, and a user who may do what a limiter does, on its keys."""
    with Redis(password=SECRET) as redis:
        with redis.client() as client:
            client.execute_command("ACL", "SETUSER", "limiter", "on", f">{SECRET}", "resetkeys",
                                   "~rl:*", "resetchannels", "-@all", *LEAST)
        yield redis
        assert redis.keys_without_ttl() == []


def url_with(redis, user, password, **more):
    return redis.url(user, quote(password, safe=""), **more)


@pytest.mark.parametrize("user", ["", "default", "limiter"])
def test_a_password_is_said(guarded, tmp_path, user):
    guarded.flush()
    works(tmp_path, url_with(guarded, user, SECRET))


@pytest.mark.parametrize("user, password", [("", "wrong-secret"), ("limiter", "wrong-secret"),
                                            ("nobody", SECRET)])
def test_a_wrong_password_is_named_as_such(guarded, tmp_path, user, password):
    fails(tmp_path, url_with(guarded, user, password), "WRONGPASS", "password", "login")


def test_a_missing_password_is_named_as_such(guarded, tmp_path):
    fails(tmp_path, guarded.url(), "NOAUTH", "password", "login")


def test_least_privileges_are_enough_for_everything(guarded):
    """All algorithms with a guard, reservations and their end, resets."""
    guard = ", burst_guard: { window: 1h, threshold: 1000, penalty: 1h }"
    rules = "".join(one(name, name, 9, guard) for name in ALGORITHMS)
    with Server(on(url_with(guarded, "limiter", SECRET), rules)) as server:
        for name in ALGORITHMS:
            request = {"user": "least", "resource": f"/{name}"}
            assert server.check(request).json["remaining"] == 8
            assert server.check(request).json["remaining"] == 7
            first = server.ask("POST", "/v1/reserve", {**request, "cost": 2})
            second = server.ask("POST", "/v1/reserve", {**request, "cost": 2})
            commit = {"reservation": first.json["reservation"], "cost": 3}
            cancel = {"reservation": second.json["reservation"]}
            assert server.ask("POST", "/v1/commit", commit).status == 200
            assert server.ask("POST", "/v1/cancel", cancel).status == 200
            assert server.check({**request, "peek": True}).json["remaining"] == 4
            Caller(server).post("/v1/reset", {"user": "least", "rule": name})
            assert server.check(request).json["remaining"] == 8
            server.ask("POST", "/v1/reserve", {**request, "cost": 3, "expires_in": 0.001})
        for name in ALGORITHMS:
            request = {"user": "least", "resource": f"/{name}", "peek": True}
            wait_until(lambda peek=request: server.check(peek).json["remaining"] == 8,
                       "it comes back")
        assert server.stderr == ""


@pytest.mark.parametrize("missing", ["evalsha", "hset", "time"])
def test_a_command_that_is_forbidden_is_named(guarded, tmp_path, missing):
    guarded.flush()
    with guarded.client() as client:
        client.execute_command("ACL", "SETUSER", "limiter", f"-{missing}")
        try:
            fails(tmp_path, url_with(guarded, "limiter", SECRET), "NOPERM", "may not",
                  "refuses", "can't run")
        finally:
            client.execute_command("ACL", "SETUSER", "limiter", f"+{missing}")


# ---- databases and sockets ------------------------------------------------------------------


@pytest.fixture(name="redis", scope="module")
def running_redis():
    with Redis() as redis:
        yield redis
        assert redis.keys_without_ttl() == []


@pytest.fixture(name="empty")
def emptied(redis):
    redis.flush()
    return redis


@pytest.mark.parametrize("number", [0, 5, 15])
def test_a_database_is_chosen(empty, tmp_path, number):
    works(tmp_path, empty.url(database=number))
    assert empty.databases() == [number]


def test_databases_count_on_their_own(empty, tmp_path):
    for number in (1, 2):
        done = run("check", "-c", write(tmp_path, empty.url(database=number)), "--user", "u",
                   "--json")
        assert done.lines[0]["remaining"] == 4


def test_a_database_that_there_is_not(empty, tmp_path):
    fails(tmp_path, empty.url(database=99), "DB index", "database")


def test_a_unix_socket(empty, tmp_path):
    works(tmp_path, f"redis+unix://{empty.unix}")


def test_a_unix_socket_beside_the_rules(empty, tmp_path):
    (tmp_path / "here.sock").symlink_to(empty.unix)
    done = run("check", "-c", write(tmp_path, "redis+unix://here.sock"), "--user", "u", "--json")
    assert (done.code, done.lines[0]["remaining"]) == (0, 4), done.err


def test_a_unix_socket_that_there_is_not(tmp_path):
    fails(tmp_path, f"redis+unix://{tmp_path}/nowhere.sock", "No such file", "nowhere.sock")


def test_a_name_is_looked_up(empty, tmp_path):
    works(tmp_path, empty.url().replace("127.0.0.1", "localhost"))


# ---- nowhere --------------------------------------------------------------------------------


def test_a_port_without_a_listener(tmp_path):
    fails(tmp_path, f"redis://127.0.0.1:{free_port()}", "refused")


def test_a_name_that_there_is_not(tmp_path):
    """However long it takes to find that out, no request waits for it."""
    fails(tmp_path, "redis://sluice-no-such-host.invalid", "sluice-no-such-host.invalid",
          "not known", "resolution", "resolve")


def test_an_address_that_swallows_everything(tmp_path):
    """TEST-NET-1: refused, unreachable or silent, but no request waits for it."""
    fails(tmp_path, "redis://192.0.2.1:6379", "192.0.2.1", "unreachable", "in time", "timed out",
          "deadline", "refused")


def test_a_server_that_is_no_redis(tmp_path):
    with Server(f"rules:\n{ONE}") as other:
        fails(tmp_path, f"redis://127.0.0.1:{other.port}", "Redis", "redis", "protocol")


# ---- TLS ------------------------------------------------------------------------------------


class Hidden:
    """A Redis behind TLS, the certificates for it, and some that are not."""

    def __init__(self, folder, wants_clients):
        self.ca = certificates.self_signed(folder, "ca")
        self.server = certificates.signed(folder, "server", self.ca)
        self.client = certificates.signed(folder, "client", self.ca)
        self.other = certificates.self_signed(folder, "other")
        self.redis = Redis("bind 127.0.0.1 127.0.0.2", tls=[
            f"tls-cert-file {self.server.certificate}", f"tls-key-file {self.server.key}",
            f"tls-ca-cert-file {self.ca.certificate}",
            f"tls-auth-clients {'yes' if wants_clients else 'no'}"])

    @property
    def url(self):
        return f"rediss://127.0.0.1:{self.redis.tls_port}"

    def settings(self, ca=None, client=None, base=PATIENT):
        files = [f"ca: {ca.certificate}"] if ca else []
        files += [f"certificate: {client.certificate}, key: {client.key}"] if client else []
        return f"{base}store_tls: {{ {', '.join(files)} }}\n" if files else base


@pytest.fixture(name="hidden", scope="module")
def behind_tls(tmp_path_factory):
    hidden = Hidden(tmp_path_factory.mktemp("tls"), wants_clients=False)
    with hidden.redis as redis:
        yield hidden
        assert redis.keys_without_ttl() == []


@pytest.fixture(name="strict", scope="module")
def wants_certificates(tmp_path_factory):
    hidden = Hidden(tmp_path_factory.mktemp("strict"), wants_clients=True)
    with hidden.redis:
        yield hidden


def test_tls_with_a_ca_of_its_own(hidden, tmp_path):
    hidden.redis.flush()
    works(tmp_path, hidden.url, hidden.settings(hidden.ca))


def test_tls_by_name(hidden, tmp_path):
    hidden.redis.flush()
    works(tmp_path, hidden.url.replace("127.0.0.1", "localhost"), hidden.settings(hidden.ca))


def test_tls_with_a_certificate_of_ours(strict, tmp_path):
    works(tmp_path, strict.url, strict.settings(strict.ca, strict.client))


def test_a_certificate_that_is_not_shown_is_missed(strict, tmp_path):
    fails(tmp_path, strict.url, "certificate", "alert", "cut",
          more=strict.settings(strict.ca, base=HURRIED))


@pytest.mark.parametrize("ca", ["other", None])
def test_a_ca_that_does_not_vouch_for_it_is_refused(hidden, tmp_path, ca):
    more = hidden.settings(getattr(hidden, ca) if ca else None, base=HURRIED)
    fails(tmp_path, hidden.url, "certificate", more=more)


def test_a_certificate_of_another_host_is_refused(hidden, tmp_path):
    """It is vouched for, but 127.0.0.2 is not among its names."""
    fails(tmp_path, hidden.url.replace("127.0.0.1", "127.0.0.2"), "mismatch",
          more=hidden.settings(hidden.ca, base=HURRIED))


def test_tls_where_there_is_none_and_none_where_there_is(hidden, tmp_path):
    plain = f"rediss://127.0.0.1:{hidden.redis.port}"
    fails(tmp_path, plain, "TLS", "SSL", "does not answer",
          more=hidden.settings(hidden.ca, base=HURRIED))
    fails(tmp_path, f"redis://127.0.0.1:{hidden.redis.tls_port}", "TLS", "cut", "reset")


def test_files_that_are_not_there_are_named_at_once(hidden, tmp_path):
    path = write(tmp_path, hidden.url, f"{PATIENT}store_tls: {{ ca: nowhere.pem }}\n")
    done = run("check", "-c", path, "--user", "u", "--json")
    assert done.code == 2
    assert "nowhere.pem" in done.err
