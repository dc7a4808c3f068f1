"""What is written down, and counted, when Redis goes and comes back."""

import json
import re
import signal

import pytest
from redis_requests import PATIENT, on, one
from redis_running import Redis
from serving import Server
from watching import wait_until

RULES = one("api", "fixed_window", 5)


def events(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def names(path):
    return [event["event"] for event in events(path)] if path.exists() else []


def test_a_failure_and_its_end_are_written_to_the_audit_file(tmp_path):
    path, old = tmp_path / "audit.jsonl", tmp_path / "audit.old"
    with Redis() as redis, Server(on(redis, RULES, f"audit: file:{path}\n")) as server:
        redis.kill()
        wait_until(lambda: names(path) == ["store_unavailable"], "the failure is written")
        failure = events(path)[0]
        assert failure["severity"] == "error"
        assert failure["store"] == f"127.0.0.1:{redis.port}"
        assert "127.0.0.1" in failure["reason"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", failure["at"])
        path.rename(old)  # as logrotate does it
        server.process.send_signal(signal.SIGHUP)
        wait_until(path.exists, "the file is there again")
        redis.restart()
        wait_until(lambda: names(path) == ["store_recovered"], "the end is written")
        assert events(path)[0]["severity"] == "info"
        assert names(old) == ["store_unavailable"]


def test_an_audit_file_that_cannot_be_opened_is_said(tmp_path):
    with Redis() as redis, pytest.raises(AssertionError, match="audit file"):
        Server(on(redis, RULES, f"audit: file:{tmp_path}/none/audit\n"))


def samples(server):
    text = server.ask("GET", "/metrics").body.decode()
    return {name: int(value) for name, value in re.findall(r"^(sluice_store_\S+) (\d+)$", text, re.M)}


def test_metrics_count_calls_by_how_they_ended():
    with Redis() as redis, Server(on(redis, RULES, f"workers: 1\n{PATIENT}")) as server:
        assert server.check({"user": "u", "resource": "/api"}).json["reason"] == "ok"
        wait_until(lambda: samples(server)['sluice_store_calls_total{result="ok"}'] == 1, "a call")
        assert samples(server)['sluice_store_breaker{state="closed"}'] == 1
        # the look at what other instances change, and the check
        assert samples(server)['sluice_store_errors_total{code="NOSCRIPT"}'] == 2
        redis.kill()
        wait_until(lambda: samples(server)['sluice_store_breaker{state="open"}'] == 1, "it opens")
        assert server.check({"user": "u", "resource": "/api"}).json["reason"] == "store_unavailable"
        after = samples(server)
        assert after['sluice_store_calls_total{result="refused"}'] == 1
        assert after["sluice_store_breaker_trips_total"] == 1
        redis.restart()
        wait_until(lambda: samples(server)['sluice_store_breaker{state="closed"}'] == 1, "it closes")
        assert server.check({"user": "u", "resource": "/api"}).json["reason"] == "ok"
