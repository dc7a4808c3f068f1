"""The description of the calls that change things, held against the server.

openapi_calls.py has the cases that are peculiar to an operation; those that all of
them share are provoked for each of them here. Together they are exactly what the
description lists, and every answer is read by it.
"""

import resource
import signal

import pytest

import serving
from description import check_answer_of, operation_of, operations, parameters_of, target_of
from openapi_calls import (
    BUCKET, CASES, CHANGES, DRY, GETS, READER, RULE, RULES, TOKEN, WITH_BODIES, Call, ask, bearer, model,
    own_there, prepare, rule_there, start, tenant_there, tier_there, user_there)
from program import SLUICE
from redis_running import Redis

EVERYWHERE = {401, 403, 422, 429}
WITH_A_BODY = {400, 413, 415}
NOTHING_WRITTEN = {"reload", "reset"}  # nothing of them is in the database: no 503 of it
ELSEWHERE = {name: {409} for name in (  # they take a test of their own
    "put_rule", "put_own_rule", "put_tier", "put_tenant", "exempt", "delete_rule")}


@pytest.fixture(name="server")
def running_server(tmp_path):
    with start(tmp_path) as server:
        yield server


def test_every_listed_status_of_every_call_has_a_case():
    described = {operation["operationId"] for _, _, operation in operations()
                 if set(operation["tags"]) & {"rules", "users", "tenants", "seeing"}}
    assert described == {*CASES, *(f"{name}_head" for name in CASES if name in GETS)}
    for name, cases in CASES.items():
        shared = EVERYWHERE | (WITH_A_BODY if name in WITH_BODIES else set())
        if name in CHANGES and name not in NOTHING_WRITTEN:
            shared.add(503)
        listed = {int(key) for key in operation_of(name)[2]["responses"] if key.isdigit()}
        assert set(cases) | shared | ELSEWHERE.get(name, set()) == listed, name
        if name in GETS:
            as_head = operation_of(f"{name}_head")[2]["responses"]
            assert as_head == operation_of(name)[2]["responses"]


@pytest.mark.parametrize("name", CASES)
def test_calls_are_answered_as_described(server, name):
    for status, calls in CASES[name].items():
        for one in calls:
            prepare(server, one)
            answer = ask(server, name, one)
            assert answer.status == status, (vars(one), answer.body)
            assert status >= 300 or ("dry_run" in answer.json) == (one.query == DRY)
            if name in GETS:
                assert ask(server, f"{name}_head", one).status == status


# ---- access -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_callers_without_a_token_or_with_a_wrong_one_are_refused_as_described(server, name):
    prepare(server, model(name))
    one = model(name).but(before=())
    for who in ({}, bearer("wrong"), {"Authorization": "Basic eDp5"}, {"X-API-Key": "wrong"}):
        answer = ask(server, name, one, who)
        assert answer.status == 401, answer.body
    if name in GETS:
        assert ask(server, f"{name}_head", one, {}).status == 401


@pytest.mark.parametrize("name", CASES)
def test_a_reader_may_look_and_not_touch(server, name):
    prepare(server, model(name))
    answer = ask(server, name, model(name), bearer(READER))
    assert answer.status == (403 if name in CHANGES else 200), answer.body


def test_a_tenant_may_do_what_the_description_lets_its_key_do(server):
    key = {"X-API-Key": new_key(server, "acme")}
    for name in CASES:
        one = model(name)
        if name == "user":
            one = one.but(before=())
        prepare(server, one)
        may = {"api_key": []} in operation_of(name)[2]["security"]
        answer = ask(server, name, one, key)
        assert (answer.status != 403) == may, (name, answer.body)
        assert answer.status != 401
    others = ask(server, "user", Call(query="?tenant=other", id="u1"), key)
    gift = ask(server, "put_user", Call({"tier": "pro"}, id="u1"), key)
    assert (others.status, gift.status) == (403, 403)
    prepare(server, Call(before=tenant_there("other")))
    assert ask(server, "tenant", Call(name="other"), key).status == 404


def new_key(server, tenant):
    one = Call({}, before=tenant_there(tenant), name=tenant)
    prepare(server, one)
    return ask(server, "make_key", one).json["key"]


PROXIED = [{"Forwarded": "for=192.0.2.1"}, {"X-Forwarded-For": "192.0.2.1"},
           {"X-Real-IP": "192.0.2.1"}, {"Via": "1.1 proxy"}, {"Host": "sluice.example"},
           {"Origin": "https://sluice.example"}]


def test_without_a_token_a_local_caller_may_and_one_that_only_seems_so_may_not(tmp_path):
    open_rules = RULES[RULES.index("tiers:"):]
    with start(tmp_path, open_rules) as server:
        for name in CASES:
            for who in PROXIED:
                answer = ask(server, name, model(name), who)
                assert answer.status == 403, (name, who, answer.body)
        assert ask(server, "rules", Call(), {}).status == 200


def test_after_too_many_attempts_nothing_is_looked_at(tmp_path):
    with start(tmp_path) as server:
        for _ in range(10):
            assert ask(server, "rules", Call(), bearer("wrong")).status == 401
        assert ask(server, "rules", Call(), bearer("wrong")).status == 429
        for name in CASES:
            answer = ask(server, name, model(name))
            assert answer.status == 429, name
            assert answer.json["title"] == "Too Many Requests"
            if name in GETS:
                assert ask(server, f"{name}_head", model(name)).status == 429


# ---- what all calls share ---------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_a_parameter_that_there_is_not_is_refused_as_described(server, name):
    one = model(name)
    prepare(server, one)
    for query in ("?nonsense=1", "?dry_run=perhaps", "?dry_run=%zz"):
        assert ask(server, name, one.but(query=query)).status == 422


@pytest.mark.parametrize("name", CASES)
def test_the_parameters_are_those_described(server, name):
    path, _, operation = operation_of(name)
    described = {one["name"] for one in parameters_of(path, operation) if one["in"] == "query"}
    one = model(name)
    prepare(server, one)
    for pair in ("dry_run=true", "tenant=acme", "undo=false"):
        answer = ask(server, name, one.but(query=f"?{pair}"))
        assert (answer.status != 422) == (pair.partition("=")[0] in described), (pair, answer.body)


@pytest.mark.parametrize("name", WITH_BODIES)
def test_a_body_that_is_none_is_refused_as_described(server, name):
    one = model(name)
    prepare(server, one)
    for body in (b"{", b"nonsense", b'{"a": 1} x', b'{"a": "\xff"}'):
        assert ask(server, name, one.but(body=body)).status == 400, body
    large = b'{"reason": "' + b"r" * (1 << 20) + b'"}'
    assert ask(server, name, one.but(body=large)).status == 413
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/jsonish"):
        answer = ask(server, name, one.but(body=b"{}", fields={"Content-Type": kind}))
        assert answer.status == 415


@pytest.mark.parametrize("name", WITH_BODIES)
def test_a_body_must_say_that_it_is_json(server, name):
    path, method, operation = operation_of(name)
    target = target_of(path, **model(name).names)
    with server.raw() as raw:
        raw.send(f"{method.upper()} {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
                 f"Authorization: Bearer {TOKEN}\r\n\r\n{{}}".encode())
        answer = raw.response()
        assert answer.status == 415
        check_answer_of(operation, answer)


def everything(server):
    """All that lists show."""
    return [ask(server, name, Call()).json for name in ("rules", "tiers", "exemptions", "tenants")]


@pytest.mark.parametrize("name", [name for name in CHANGES if name != "reload"])
def test_a_dry_run_is_answered_as_described_and_changes_nothing(server, name):
    one = model(name)
    prepare(server, one)
    before = everything(server)
    answer = ask(server, name, one.but(query=DRY))
    assert (answer.status, answer.json["dry_run"], answer.headers["etag"]) == (200, True, None)
    assert everything(server) == before
    assert ask(server, name, one.but(query="?dry_run=false")).status in (200, 201)


def check_not_written(server, *but):
    """Every change that needs the database is refused, and everything stays."""
    before = everything(server)
    for name in CHANGES:
        if name not in NOTHING_WRITTEN | {*but}:
            answer = ask(server, name, model(name))
            assert answer.status == 503, (name, answer.body)
    assert everything(server) == before


def test_a_database_that_cannot_be_made_is_answered_as_described(tmp_path):
    with start(tmp_path, "database: kept.db\n" + RULES) as server:
        (tmp_path / "kept.db").mkdir()
        check_not_written(server, "put_own_rule", "delete_own_rule")  # they need a tenant first


def test_a_full_disk_is_answered_as_described(tmp_path, monkeypatch):
    """No file may grow any more. What the kernel sends besides is ignored for the server, as
    an operator would."""
    wrapper = tmp_path / "ignoring"
    wrapper.write_text(f"#!/bin/sh\ntrap '' {signal.SIGXFSZ:d}\nexec '{SLUICE}' \"$@\"\n")
    wrapper.chmod(0o700)
    monkeypatch.setattr(serving, "SLUICE", wrapper)
    with start(tmp_path) as server:
        prepare(server, Call(before=own_there("acme", "own")))
        for name in CHANGES:
            prepare(server, model(name))
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (0, 0))
        check_not_written(server)


TAGGED = {  # what has an ETag: how to look, to change and to delete
    "rule": ("put_rule", "delete_rule", Call(RULE, before=rule_there("tag"), name="tag")),
    "tier": ("put_tier", "delete_tier", Call({}, before=tier_there("tag"), name="tag")),
    "user": ("put_user", "forget_user",
             Call({"created_at": 5}, before=user_there("tag"), id="tag")),
    "tenant": ("put_tenant", "delete_tenant",
               Call({"tier": "free"}, before=tenant_there("tag"), name="tag")),
    "own_rule": ("put_own_rule", "delete_own_rule",
                 Call(BUCKET, before=own_there("acme", "tag"), name="acme", rule="tag")),
}


@pytest.mark.parametrize("look", TAGGED)
def test_a_tag_is_good_until_the_next_change(server, look):
    put, delete, one = TAGGED[look]
    prepare(server, one)
    seen = ask(server, look, one.but(body=None))
    tag = seen.headers["etag"]
    assert seen.json["etag"] == tag
    changed = ask(server, put, one.but(fields={"If-Match": f'"other", {tag}'}))
    assert (changed.status, changed.json["etag"]) == (200, changed.headers["etag"])
    assert changed.headers["etag"] != tag
    assert ask(server, put, one.but(fields={"If-Match": tag})).status == 412
    assert ask(server, delete, one.but(body=None, fields={"If-Match": tag})).status == 412
    gone = one.but(body=None, fields={"If-Match": changed.headers["etag"]})
    assert ask(server, delete, gone).status == 200


def test_a_tenant_has_no_more_rules_than_it_may_have(server):
    key = {"X-API-Key": new_key(server, "full")}
    for number in range(100):
        assert ask(server, "put_rule", Call(RULE, name=f"r{number}"), key).status == 201
    assert ask(server, "put_rule", Call(RULE, name="r100"), key).status == 409
    assert ask(server, "put_own_rule", Call(RULE, name="full", rule="r100")).status == 409
    assert ask(server, "put_rule", Call(BUCKET, name="r99"), key).status == 200


def test_a_full_registry_is_answered_as_described(tmp_path):
    with Redis() as redis, start(tmp_path, f"store: {redis.url()}\nstore_deadline: 2s\n{RULES}") \
            as server, redis.client() as db:
        prepare(server, Call(before=own_there("acme", "own")))
        db.hset("rl:{~registry}:state", "rules_bytes", 1 << 30)
        for name in ("put_rule", "put_tier", "put_tenant", "exempt"):
            assert ask(server, name, model(name)).status == 409, name
        assert ask(server, "put_own_rule", Call(RULE, name="acme", rule="new")).status == 409
        assert ask(server, "make_key", Call({}, name="acme")).status == 409
        assert ask(server, "delete_rule", Call(name="api")).status == 409  # it would be hidden
        assert ask(server, "delete_tier", Call(name="spare")).status == 409
        assert ask(server, "delete_own_rule", Call(name="acme", rule="own")).status == 200
        assert ask(server, "delete_tenant", Call(name="acme")).status == 200


# ---- what is in it ----------------------------------------------------------------------


def test_every_problem_of_a_rule_is_told(server):
    wrong = {"per": "user", "limit": "many", "shadow": "yes"}
    answer = ask(server, "put_rule", Call(wrong, name="wrong"))
    assert (answer.status, len(answer.json["errors"])) == (422, 2)
    tier = ask(server, "put_tier", Call({"scale": 0, "speed": 1}, name="wrong"))
    assert (tier.status, len(tier.json["errors"])) == (422, 2)


def test_a_name_that_is_not_utf_8_is_still_answered_in_json(server):
    for name in ("rule", "delete_rule", "tier", "user", "tenant", "own_rule", "end_key"):
        one = Call(name="%FF", id="%FF", rule="%FF")
        assert ask(server, name, one).status in (400, 404, 422), name
    assert ask(server, "user", Call(query="?tenant=%FF", id="u1")).status in (400, 422)


def test_a_reload_of_wrong_files_is_answered_as_described(tmp_path):
    with start(tmp_path) as server:
        server.write_rules(RULES + "  - { name: more, per: nobody knows, limit: many }\n")
        answer = ask(server, "reload", Call())
        assert (answer.status, len(answer.json["errors"])) == (422, 2)
        names = [rule["name"] for rule in ask(server, "rules", Call()).json["rules"]]
        assert names == ["api", "replaced", "hidden", "back", "429"]


def test_rules_come_from_where_the_answer_says(server):
    prepare(server, Call(before=[*rule_there("made"), *rule_there("replaced"),
                                 *own_there("acme", "own"), ("delete_rule", Call(name="hidden"))]))
    listed = ask(server, "rules", Call()).json
    assert listed["hidden"] == ["hidden"]
    found = {rule["name"]: rule for rule in listed["rules"]}
    assert [found["api"][key] for key in ("source", "replaces", "tenant")] == ["file", None, None]
    assert [found["replaced"][key] for key in ("source", "replaces")] == ["api", "file"]
    assert [found["made"][key] for key in ("source", "replaces")] == ["api", None]
    assert found["made"]["rule"] == {"name": "made", **RULE}


def test_a_tenants_own_rule_is_called_by_both_names_in_decisions(server):
    """The description of decisions has a place for it."""
    one = Call({"per": "user", "algorithm": "fixed_window", "limit": "1/365d"},
               before=tenant_there("acme"), name="acme", rule="own")
    prepare(server, one)
    assert ask(server, "put_own_rule", one).status == 201
    for status in (200, 429):
        body = {"tenant": "acme", "user": "u", "explain": True}
        answer = ask(server, "check", Call(body), {})
        assert (answer.status, answer.json["rule"]) == (status, "acme/own")
        assert answer.headers["ratelimit"].startswith('"acme/own";')
