"""Calls that change things, one by one: for tests that hold the description against them.

    with start(folder) as server:
        one = model("put_rule")
        prepare(server, one)                           # what must be there before
        assert ask(server, "put_rule", one).status == 201

CASES has calls for the statuses that are peculiar to an operation. Every answer is
read by the description on the way.
"""

from description import check_answer_of, operation_of, target_of
from serving import Server

TOKEN, READER = "an-admin-of-the-tests", "a-reader-of-the-tests"
RULES = """
admin: { token_file: token, readonly_token_file: reader }
tiers:
  free: { scale: 1 }
  pro: { scale: 10, algorithms: [token_bucket] }
  named: { scale: 2 }
  spare: {}
exempt: { users: [acme/root], ips: [198.51.100.0/24] }
rules:
  - { name: api, resource: /api/*, per: user, algorithm: fixed_window, limit: 100/1h,
      tiers: { named: { capacity: 5 } } }
  - { name: replaced, resource: /replaced, per: [tenant, ip], algorithm: token_bucket,
      capacity: 10, refill_rate: 0.5, when: { method: [GET, HEAD] }, except: /replaced/not,
      burst_guard: { window: 10s, threshold: 50, penalty: 300 }, shadow: false }
  - { name: hidden, resource: /hidden, per: global, limit: 5/m }
  - { name: back, resource: /back, per: user, limit: 5/m }
  - { name: 429, resource: 429, per: user, window: 60, capacity: 1 }
"""
RULE = {"resource": "/made", "per": "user", "limit": "5/1h"}
BUCKET = {"per": "user", "algorithm": "token_bucket", "capacity": 10, "refill_rate": 0.5}
DIGEST = "5f" * 32


class Call:
    """One way to ask: the places of the path, and all else that goes with it. `before` is
    what must be there, as (operationId, Call)."""

    def __init__(self, body=None, query="", fields=None, before=(), **names):
        self.body, self.query, self.fields = body, query, fields or {}
        self.before, self.names = before, names

    def but(self, **others):
        kept = {"body": self.body, "query": self.query, "fields": self.fields,
                "before": self.before, **self.names}
        return Call(**{**kept, **others})


def rule_there(name):
    return [("put_rule", Call(RULE, name=name))]


def tier_there(name):
    return [("put_tier", Call({"scale": 3}, name=name))]


def tenant_there(name, tier=None):
    return [("put_tenant", Call({"tier": tier}, name=name))]


def own_there(tenant, rule):
    return [*tenant_there(tenant), ("put_own_rule", Call(RULE, name=tenant, rule=rule))]


def key_there(tenant, digest):
    return [*tenant_there(tenant), ("make_key", Call({"sha256": digest}, name=tenant))]


def exempt_there(kind, value):
    return [("exempt", Call({"kind": kind, "value": value}))]


def user_there(user, query=""):
    return [("put_user", Call({"email_verified": True}, query, id=user))]


OTHER, THERE, NEW = {"If-Match": '"other"'}, {"If-Match": "*"}, {"If-None-Match": "*"}
UNDO, DRY = "?undo=true", "?dry_run=true"

# operationId: status: calls that are answered with it. The first that succeeds is what the
# shared cases are made of.
CASES = {
    "rules": {200: [Call()]},
    "rule": {200: [Call(name="api"), Call(before=rule_there("seen"), name="seen")],
             404: [Call(name="nobody")]},
    "put_rule": {
        201: [Call(RULE, name="new1"), Call({**RULE, "name": "new2"}, name="new2"),
              Call(BUCKET, fields=NEW, name="new3")],
        200: [Call(RULE, name="replaced"), Call(RULE, before=rule_there("twice"), name="twice"),
              Call({**RULE, "algorithm": "fixed_window"}, before=rule_there("afresh"),
                   name="afresh"),
              Call(RULE, fields=THERE, before=rule_there("there"), name="there")],
        412: [Call(RULE, fields=OTHER, name="api"), Call(RULE, fields=NEW, name="api"),
              Call(RULE, fields=THERE, name="nobody")],
        422: [Call({**RULE, "name": "else"}, name="wrong"), Call([], name="wrong"),
              Call({**RULE, "limit": "many", "per": []}, name="wrong"),
              Call({**RULE, "nonsense": 1}, name="wrong"), Call({}, name="wrong")],
    },
    "delete_rule": {
        200: [Call(before=rule_there("gone"), name="gone"), Call(name="hidden"),
              Call(query=UNDO, before=rule_there("back"), name="back"),
              Call(query=UNDO, before=rule_there("undone"), name="undone")],
        404: [Call(name="nobody")],
        412: [Call(fields=OTHER, name="api")],
        422: [Call(query="?undo=perhaps", name="api")],
    },
    "reload": {200: [Call()]},
    "stats": {200: [Call(), Call(query="?window=minute&series=true&top=3&limit=1"),
                    Call(before=rule_there("watched"), query="?rule=watched")],
              404: [Call(query="?rule=nobody")],
              422: [Call(query="?window=year"), Call(query="?series=1"), Call(query="?top=65"),
                    Call(query="?limit=-1"), Call(query="?nonsense=1")]},
    "look": {200: [Call({"user": "u1", "resource": "/api/x"}), Call({"rule": "api", "user": "u1"})],
             400: [Call(b"{")], 404: [Call({"rule": "nobody"})],
             422: [Call({"user": ["u1"]}), Call({"at_us": 1})]},
    "audit": {200: [Call(before=[*rule_there("audited"), *exempt_there("ip", "192.0.2.3")]),
                    Call(query="?event=rate_limit_config_updated&limit=1"),
                    Call(query="?severity=info&since=2026-01-01T00:00:00Z&identifier=u1")],
              422: [Call(query="?event=nonsense"), Call(query="?limit=0"),
                    Call(query="?since=soon"), Call(query="?severity=bad")]},
    "tiers": {200: [Call()]},
    "tier": {200: [Call(name="pro"), Call(before=tier_there("seen"), name="seen")],
             404: [Call(name="nobody")]},
    "put_tier": {
        201: [Call({}, name="new1"), Call({"scale": 10}, name="new2"),
              Call({"unlimited": True, "algorithms": ["token_bucket", "fixed_window"]},
                   name="new3")],
        200: [Call({"scale": 0.5}, name="free")],
        412: [Call({}, fields=OTHER, name="free"), Call({}, fields=NEW, name="free")],
        422: [Call({"scale": 0}, name="wrong"), Call({"scale": 1, "unlimited": True}, name="wrong"),
              Call({"algorithms": ["nonsense"]}, name="wrong"), Call({"speed": 1}, name="wrong")],
    },
    "delete_tier": {
        200: [Call(before=tier_there("gone"), name="gone"), Call(name="spare"),
              Call(query=UNDO, before=[("put_tier", Call({"scale": 7}, name="free"))],
                   name="free")],
        404: [Call(name="nobody")],
        409: [Call(name="named"), Call(before=tenant_there("tiered", "pro"), name="pro")],
        412: [Call(fields=OTHER, name="named")],
    },
    "exemptions": {200: [Call(before=exempt_there("ip", "192.0.2.1"))]},
    "exempt": {
        201: [Call({"kind": "ip", "value": "203.0.113.0/24", "until": 4102444800.5,
                    "reason": "load test"}),
              Call({"kind": "user", "value": "acme/u9", "until": "2099-12-31T23:59:59Z"}),
              Call({"kind": "client", "value": "app"}),
              Call({"kind": "api_key", "value": DIGEST, "until": None, "reason": None})],
        200: [Call({"kind": "ip", "value": "192.0.2.9"}, before=exempt_there("ip", "192.0.2.9"))],
        422: [Call({"kind": "ip", "value": "nowhere"}), Call({"kind": "ip"}), Call({}), Call([]),
              Call({"kind": "ip", "value": "192.0.2.9", "until": 1})],
    },
    "end_exemption": {
        200: [Call({"kind": "ip", "value": "192.0.2.2"}, before=exempt_there("ip", "192.0.2.2")),
              Call(query="?kind=user&value=acme%2Fu8", before=exempt_there("user", "acme/u8"))],
        404: [Call({"kind": "ip", "value": "192.0.2.99"})],
        409: [Call({"kind": "user", "value": "acme/root"})],
        422: [Call(query="?kind=ip"), Call({"kind": "ip"}), Call()],
    },
    "reset": {
        200: [Call({"rule": "api", "user": "u1"}), Call({"resource": "/api/a", "user": "u1"}),
              Call({"resource": "/nowhere"})],
        404: [Call({"rule": "nobody", "user": "u1"})],
        422: [Call({"rule": "api"}), Call({"rule": []}), Call([])],
    },
    "user": {200: [Call(before=user_there("u1"), id="u1"), Call(id="somebody"),
                   Call(query="?tenant=acme", before=user_there("u2", "?tenant=acme"), id="u2")]},
    "put_user": {
        201: [Call({"created_at": 1735689600.5, "email_verified": True}, id="new1"),
              Call({"created_at": "2026-01-31T12:00:00Z"}, "?tenant=acme", id="new2"),
              Call({"tier": "named", "limits": {"api": {"capacity": 500}}}, id="new3")],
        200: [Call({"created_at": None, "email_verified": None, "tier": None, "limits": None},
                   before=user_there("again"), id="again")],
        412: [Call({}, fields=OTHER, before=user_there("u3"), id="u3"),
              Call({}, fields=THERE, id="somebody")],
        422: [Call({"created_at": "soon"}, id="u"), Call({"limits": {"nobody": {"capacity": 1}}},
                                                       id="u"), Call({"name": "u"}, id="u"),
              Call({"limits": {"api": {"refill_rate": 1}}}, id="u"), Call([], id="u")],
    },
    "forget_user": {
        200: [Call(before=user_there("gone"), id="gone"),
              Call(query="?tenant=acme", before=user_there("gone", "?tenant=acme"), id="gone")],
        404: [Call(id="somebody")],
        412: [Call(fields=OTHER, before=user_there("u4"), id="u4")],
    },
    "outcomes": {
        200: [Call({"user": "u1", "success": True}),
              Call({"user": "u1", "tenant": None, "success": True}),
              Call([{"user": "u1", "tenant": "acme", "success": False}] * 1000)],
        413: [Call([{"user": "u1", "success": True}] * 1001)],
        422: [Call({"user": "u1"}), Call({"user": "u1", "success": 1}), Call([])],
    },
    "tenants": {200: [Call(before=own_there("acme", "own"))]},
    "tenant": {200: [Call(before=[*key_there("acme", DIGEST[::-1]), *own_there("acme", "own")],
                          name="acme")],
               404: [Call(name="nobody")]},
    "put_tenant": {
        201: [Call({"tier": "pro"}, name="new1"), Call({}, name="new2")],
        200: [Call({"tier": None}, before=tenant_there("again", "pro"), name="again")],
        412: [Call({}, fields=OTHER, before=tenant_there("acme"), name="acme"),
              Call({}, fields=NEW, before=tenant_there("acme"), name="acme")],
        422: [Call({"tier": "nobody"}, name="wrong"), Call({"keys": []}, name="wrong"),
              Call([], name="wrong"), Call({}, name="a%20b")],
    },
    "delete_tenant": {
        200: [Call(before=[*key_there("gone", "ab" * 32), *own_there("gone", "own")],
                   name="gone")],
        404: [Call(name="nobody")],
        412: [Call(fields=OTHER, before=tenant_there("acme"), name="acme")],
    },
    "make_key": {
        200: [Call({"label": "ci"}, DRY, before=tenant_there("acme"), name="acme")],
        201: [Call({"label": "ci", "tier": "free"}, before=tenant_there("acme"), name="acme"),
              Call({}, before=tenant_there("acme"), name="acme"),
              Call({"sha256": "0D" * 32}, before=tenant_there("acme"), name="acme")],
        404: [Call({}, name="nobody")],
        409: [Call({"sha256": "1d" * 32}, before=key_there("acme", "1d" * 32), name="acme")],
        422: [Call({"sha256": "short"}, before=tenant_there("acme"), name="acme"),
              Call({"tier": "nobody"}, before=tenant_there("acme"), name="acme")],
    },
    "end_key": {
        200: [Call(before=key_there("acme", "c0ffee" + "00" * 29), name="acme",
                   id="c0ffee000000")],
        404: [Call(before=tenant_there("acme"), name="acme", id="0123456789ab"),
              Call(name="nobody", id="0123456789ab")],
    },
    "own_rules": {200: [Call(before=own_there("acme", "own"), name="acme")],
                  404: [Call(name="nobody")]},
    "own_rule": {200: [Call(before=own_there("acme", "own"), name="acme", rule="own")],
                 404: [Call(name="nobody", rule="own"),
                       Call(before=tenant_there("acme"), name="acme", rule="nobody")]},
    "put_own_rule": {
        201: [Call(RULE, before=tenant_there("acme"), name="acme", rule="new1")],
        200: [Call(BUCKET, before=own_there("acme", "own"), name="acme", rule="own")],
        404: [Call(RULE, name="nobody", rule="own")],
        412: [Call(RULE, fields=OTHER, before=own_there("acme", "own"), name="acme", rule="own")],
        422: [Call({**RULE, "per": 1}, before=tenant_there("acme"), name="acme", rule="wrong"),
              Call(RULE, before=tenant_there("picky", "pro"), name="picky", rule="wrong")],
    },
    "delete_own_rule": {
        200: [Call(before=own_there("acme", "gone"), name="acme", rule="gone")],
        404: [Call(before=tenant_there("acme"), name="acme", rule="nobody")],
        412: [Call(fields=OTHER, before=own_there("acme", "own"), name="acme", rule="own")],
    },
}
GETS = [name for name in CASES if operation_of(name)[1] == "get"]
CHANGES = [name for name in CASES if name not in GETS and name != "look"]
WITH_BODIES = [name for name in CASES if "requestBody" in operation_of(name)[2]]


def model(name):
    """A call of that operation that succeeds."""
    return (CASES[name].get(201) or CASES[name][200])[0]


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def ask(server, name, one, who=None):
    """The answer, read by the description. `who` is fields; the admin's, if not given."""
    path, method, operation = operation_of(name)
    method, target = method.upper(), target_of(path, **one.names) + one.query
    fields = {**(bearer(TOKEN) if who is None else who), **one.fields}
    answer = server.ask(method, target, one.body, fields)
    check_answer_of(operation, answer, method)
    return answer


def prepare(server, one):
    for name, step in one.before:
        answer = ask(server, name, step)
        assert answer.status in (200, 201, 409), (name, step.names, answer.body)


def start(folder, rules=RULES):
    """A server in a folder that has the tokens' files then."""
    (folder / "token").write_text(f"{TOKEN}\n")
    (folder / "reader").write_text(f"{READER}\n")
    return Server(rules, folder=folder)
