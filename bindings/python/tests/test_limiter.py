"""A whole rules file."""

import time
from datetime import timedelta

import pytest
import sluice

RULES = """
tiers:
  free: { scale: 1 }
  pro: { scale: 10 }
exempt:
  users: [root]
rules:
  - name: per-ip
    per: ip
    algorithm: token_bucket
    capacity: 8
    window: 60d
  - name: api
    resource: /api/*
    per: user
    algorithm: token_bucket
    capacity: 5
    window: 60d
  - name: login
    resource: /login
    per: [ip, user]
    algorithm: sliding_window_log
    limit: 3/15m
    on_missing: deny
  - name: watched
    resource: /watched
    per: user
    algorithm: token_bucket
    capacity: 1
    window: 60d
    shadow: true
  - name: region
    resource: /region
    when: { region: eu, beta: "true", build: "7" }
    per: build
    algorithm: token_bucket
    capacity: 1
    window: 60d
  - name: posts
    resource: /posts
    when: { method: POST }
    per: [tenant, client]
    algorithm: token_bucket
    capacity: 2
    window: 60d
  - name: trust
    resource: /trust
    per: user
    algorithm: token_bucket
    capacity: 100
    window: 60d
    adaptive: true
  - name: even
    resource: /even
    per: user
    algorithm: leaky_bucket
    capacity: 10
    refill_rate: 50
"""


@pytest.fixture
def limiter(store):
    with sluice.Limiter.from_text(RULES, store=store) as opened:
        yield opened


def passed(limiter, times, **request):
    return sum(bool(limiter.decide(**request)) for _ in range(times))


def test_a_rule_admits_exactly_its_limit(limiter):
    assert passed(limiter, 9, resource="/api/videos", user="u1") == 5
    denied = limiter.decide(resource="/api/videos", user="u1")
    assert (denied.rule, denied.algorithm, denied.reason) == (
        "api", "token_bucket", "rate_limit_exceeded")
    assert passed(limiter, 9, resource="/api/videos", user="u2") == 5


def test_layers_must_all_allow_and_a_denial_is_free(limiter):
    both = {"resource": "/api/x", "ip": "192.0.2.1"}
    assert passed(limiter, 9, user="u1", **both) == 5
    assert passed(limiter, 9, user="u2", **both) == 3
    assert limiter.decide(resource="/api/x", user="u2", peek=True).remaining == 2


def test_rules_from_a_file(tmp_path, url):
    (tmp_path / "rules.yaml").write_text(f"store: {url}\n{RULES}")
    for path in (tmp_path / "rules.yaml", str(tmp_path / "rules.yaml"),
                 bytes(tmp_path / "rules.yaml")):
        with sluice.Limiter(path) as limiter:
            assert limiter.decide(resource="/api/x", user="u1")
            assert limiter.store.stats().live >= 1
    with sluice.open(url) as store, sluice.Limiter(tmp_path / "rules.yaml", store) as limiter:
        assert limiter.store is store
        assert limiter.decide(resource="/api/x", user="u1").remaining == 1, "one file, one count"


def test_exempt_users_and_requests_that_no_rule_matches(limiter):
    exempt = limiter.decide(resource="/api/x", user="root")
    assert (exempt.allowed, exempt.reason, exempt.rule) == (True, "exempt", None)
    assert exempt.limit is exempt.remaining is exempt.reset_at is exempt.reset_at_us is None
    assert exempt.window is exempt.window_us is None
    assert exempt.decided_at is None and exempt.retry_after == timedelta(0)
    assert limiter.decide(resource="/other").reason == "no_rule"
    assert limiter.decide().reason == "no_rule"


def test_missing_identity_is_denied_where_the_rule_says_so(limiter):
    denied = limiter.decide(resource="/login", user="u1")
    assert (denied.allowed, denied.reason, denied.retry_after) == (False, "missing_identity", None)
    assert limiter.decide(resource="/login", user="u1", ip="192.0.2.1").rule == "login"
    assert not limiter.decide(resource="/login", user="", ip=None)


def test_tiers_and_trust(limiter):
    assert limiter.decide(resource="/api/x", user="u1", tier="pro").limit == 50
    assert limiter.decide(resource="/trust", user="u1").limit == 100
    assert limiter.decide(resource="/trust", user="u1", trust_score=0.5).limit == 150
    assert limiter.decide(resource="/trust", user="u1", trust_score=1).limit == 200
    assert limiter.decide(resource="/trust", user="u1", trust_score=None).limit == 100


def test_attributes_are_compared_as_text(limiter):
    assert limiter.decide(resource="/region", attributes={"region": "eu"}).reason == "no_rule"
    for build in (7, "7", b"7"):
        decision = limiter.decide(resource="/region", attributes={
            "region": "eu", "beta": True, "build": build})
        assert decision.rule == "region"
        assert decision.allowed is (build == 7)


def test_tenants_and_clients_count_apart(limiter):
    posts = {"resource": "/posts", "method": "POST"}
    assert passed(limiter, 3, tenant="a", client="c1", **posts) == 2
    assert passed(limiter, 3, tenant="b", client="c1", **posts) == 2
    assert passed(limiter, 3, tenant="b", client=b"c2", **posts) == 2
    assert limiter.decide(resource="/posts", method="GET", client="c1").reason == "no_rule"


def test_a_shadow_rule_only_says_so(limiter):
    assert limiter.decide(resource="/watched", user="u1").reason == "no_rule"
    shadow = limiter.decide(resource="/watched", user="u1")
    assert (shadow.allowed, shadow.reason) == (True, "shadow")


def test_explain_lists_every_rule_and_charges_once(limiter):
    asked = {"resource": "/api/x", "user": "u1", "ip": "192.0.2.1"}
    decision = limiter.explain(**asked)
    assert [(row.rule, row.algorithm, row.shadow, row.allowed, row.limit, row.remaining)
            for row in decision.rules] == [
        ("per-ip", "token_bucket", False, True, 8, 7), ("api", "token_bucket", False, True, 5, 4)]
    assert all(decision.rules) and decision.rule == "api" and decision.remaining == 4
    assert decision.rules[1].retry_after == timedelta(0)
    assert decision.rules[1].reset_at == decision.reset_at
    assert limiter.explain(peek=True, **asked).rules[1].remaining == 4
    limiter.decide(cost=4, **asked)
    denied = limiter.explain(**asked)
    assert [bool(row) for row in denied.rules] == [True, False]
    assert limiter.explain(resource="/none").rules == ()


def test_explain_of_very_many_rules(store):
    rules = "rules:\n" + "".join(
        f"  - {{name: r{number}, per: user, limit: 5/366d}}\n" for number in range(300))
    with sluice.Limiter.from_text(rules, store=store) as limiter:
        decision = limiter.explain(user="u1")
        assert [row.rule for row in decision.rules] == [f"r{number}" for number in range(300)]
        assert {row.remaining for row in decision.rules} == {4}


def test_a_batch_is_one_by_one(limiter):
    asked = [{"resource": "/api/x", "user": f"u{number % 2}", "cost": number % 3}
             for number in range(20)]
    asked += [{"resource": "/api/x", "user": "root"}, {}, {"resource": "/login", "user": "u1"},
              {"resource": "/login", "user": "u1", "ip": "192.0.2.1", "peek": True}]
    mixed = [sluice.Request(**one) if number % 2 else one for number, one in enumerate(asked)]
    batch = limiter.decide_batch(mixed)
    for user in ("u0", "u1"):
        limiter.reset(resource="/api/x", user=user)
    singly = [limiter.decide(one) for one in asked]
    same = ("allowed", "rule", "algorithm", "reason", "limit", "remaining", "cost", "status")
    for name in same:
        assert [getattr(one, name) for one in batch] == [getattr(one, name) for one in singly]
    assert limiter.decide_batch([]) == []


def test_a_refund_gives_back_in_every_rule(limiter):
    asked = {"resource": "/api/x", "user": "u1", "ip": "192.0.2.1"}
    decision = limiter.decide(cost=5, **asked)
    limiter.refund(decision, cost=2, **asked)
    assert [row.remaining for row in limiter.explain(peek=True, **asked).rules] == [5, 2]
    limiter.reset(**asked)
    decision = limiter.decide(cost=5, **asked)
    limiter.refund(decision, **asked)
    assert [row.remaining for row in limiter.explain(peek=True, **asked).rules] == [8, 5]
    with pytest.raises(sluice.InvalidArgument, match="more than"):
        limiter.refund(decision, cost=6, **asked)
    limiter.refund(limiter.decide(cost=9, **asked), **asked)  # a denial: nothing to give back
    assert [row.remaining for row in limiter.explain(peek=True, **asked).rules] == [8, 5]


def test_a_request_made_once_is_asked_many_times(limiter):
    request = sluice.Request(resource="/api/x", user="u1", attributes={"a": "b"})
    assert sum(bool(limiter.decide(request)) for _ in range(9)) == 5
    limiter.reset(request)
    three = request.replace(cost=3)
    decision = limiter.decide(three)
    assert (request.cost, three.cost, decision.cost, decision.remaining) == (1, 3, 3, 2)
    limiter.refund(decision, three)
    assert limiter.decide(request.replace(peek=True)).remaining == 5
    assert "resource='/api/x'" in repr(request)


def test_reset_in_one_rule_or_in_all_that_match(limiter):
    asked = {"resource": "/api/x", "user": "u1", "ip": "192.0.2.1"}
    limiter.decide(cost=5, **asked)
    limiter.reset(rule="api", **asked)
    assert [row.remaining for row in limiter.explain(peek=True, **asked).rules] == [3, 5]
    limiter.reset(**asked)
    assert [row.remaining for row in limiter.explain(peek=True, **asked).rules] == [8, 5]
    with pytest.raises(sluice.InvalidArgument):
        limiter.reset(rule="nobody", **asked)


def test_acquire(limiter):
    start = time.monotonic()
    for number in range(4):
        assert limiter.acquire(resource="/even", user="u1", timeout=10)
        assert time.monotonic() - start >= number * 0.020 - 0.001
    limiter.decide(resource="/api/x", user="u1", cost=5)
    assert not limiter.acquire(resource="/api/x", user="u1", timeout=20)
    assert time.monotonic() - start < 10


def test_reserve(limiter):
    asked = {"resource": "/api/x", "user": "u1", "ip": "192.0.2.1"}
    with limiter.reserve(expires=60, cost=4, **asked) as reservation:
        assert reservation and reservation.decision.remaining == 1
        reservation.commit(2)
    assert [row.remaining for row in limiter.explain(peek=True, **asked).rules] == [6, 3]
    with limiter.reserve(expires=60, cost=3, **asked):
        pass
    assert [row.remaining for row in limiter.explain(peek=True, **asked).rules] == [6, 3]
    assert not limiter.reserve(expires=60, cost=4, **asked)
    assert limiter.reserve(expires=60, resource="/api/x", user="root").id is None


def test_every_problem_of_bad_rules_is_told():
    with pytest.raises(sluice.RulesError) as caught:
        sluice.Limiter.from_text("rules:\n  - name: api\n    capcity: 5\n    per: 7\n",
                                 name="mine.yaml")
    assert caught.value.status == -6
    assert "mine.yaml:3:5: unknown key `capcity`" in caught.value.text
    assert "did you mean `capacity`?" in caught.value.text


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(sluice.RulesError, match="none.yaml"):
        sluice.Limiter(tmp_path / "none.yaml")


def test_a_store_that_cannot_be_opened(tmp_path):
    for url in ("memory:/no/such/folder/x.slu", "memory:x.slu?size=1", "carrier-pigeon:", ""):
        with pytest.raises(sluice.StoreError) as caught:
            sluice.open(url)
        assert caught.value.status == -5 and caught.value.text
    (tmp_path / "x.slu").write_bytes(b"not a table" * 1000)
    with pytest.raises(sluice.BadStore, match="x.slu"):
        sluice.open(f"memory:{tmp_path}/x.slu")


@pytest.mark.parametrize("fields, kind, words", [
    ({"colour": "red"}, TypeError, "colour"),
    ({"user": 1.5}, TypeError, "user"),
    ({"user": ["u1"]}, TypeError, "user"),
    ({"cost": -1}, ValueError, "cost"),
    ({"cost": 2**32}, ValueError, "cost"),
    ({"cost": None}, TypeError, "cost"),
    ({"trust_score": 1.5}, ValueError, "trust_score"),
    ({"trust_score": "1"}, TypeError, "trust_score"),
    ({"peek": 1}, TypeError, "peek"),
    ({"wait": "yes"}, TypeError, "wait"),
    ({"attributes": {"user": "u1"}}, ValueError, "user"),
    ({"attributes": {"cost": "1"}}, ValueError, "cost"),
    ({"attributes": {"x": 1.5}}, TypeError, "x"),
    ({"attributes": {5: "x"}}, TypeError, "name"),
    ({"attributes": "x"}, (TypeError, AttributeError), None),
    ({"attributes": [("x", "y")]}, (TypeError, AttributeError), None),
])
def test_a_bad_request_is_refused_by_name(limiter, fields, kind, words):
    with pytest.raises(kind, match=words):
        limiter.decide(**{"resource": "/api/x", "user": "u1", **fields})
    with pytest.raises(kind, match=words):
        limiter.decide_batch([{"resource": "/api/x", "user": "u1"}, fields])
    assert limiter.decide(resource="/api/x", user="u1", peek=True).remaining == 5


def test_a_request_or_keywords_not_both(limiter):
    with pytest.raises(TypeError, match="not both"):
        limiter.decide(sluice.Request(), user="u1")
    with pytest.raises(TypeError, match="not str"):
        limiter.decide("/api/x")
    with pytest.raises(TypeError):
        limiter.reserve(user="u1")
