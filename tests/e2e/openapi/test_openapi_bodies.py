"""What may be sent to the calls that change things: the description and the server refuse
the same values.

Of each member every value of VALUES is tried, and for a rule some that are peculiar
to it; as a dry run, so that nothing of it stays.
"""

import pytest

import description
from description import DOCUMENT, operation_of, resolve
from openapi_calls import BUCKET, CASES, DRY, RULE, Call, ask, model, prepare, start

VALUES = [None, True, False, 0, 1, -1, 0.5, 1.5, 86400, 4294967296, 1e300, "", "x", "free", "u1",
          "192.0.2.1", "192.0.2.0/24", "2026-01-31T12:00:00Z", "1735689600", "ab" * 32, "AB" * 32,
          "ab" * 31, "token_bucket", ["token_bucket"], ["token_bucket", "x"], [], {}, [1], ["x"],
          {"a": 1}, {"api": {"capacity": 1}}, {"api": {}}, {"api": {"capacity": 0}},
          {"api": {"capacity": 1.5}}, {"api": {"speed": 1}}]
# What a value must be besides, the description says in words: good ones are left out here.
IN_WORDS = {("exempt", "value"), ("end_exemption", "value"), ("put_user", "tier"),
            ("put_tenant", "tier"), ("make_key", "tier"), ("put_user", "created_at"),
            ("exempt", "until"), ("reset", "rule"), ("look", "rule")}


@pytest.fixture(name="server", scope="module")
def running_server(tmp_path_factory):
    with start(tmp_path_factory.mktemp("bodies")) as server:
        yield server


def schema_of(name):
    """Of one body: of an array, its element's."""
    schema = operation_of(name)[2]["requestBody"]["content"]["application/json"]["schema"]
    return resolve(schema["anyOf"][0] if "anyOf" in schema else schema)


def tried(one, name, body):
    """A call that changes nothing."""
    return one.but(body=body) if name == "look" else one.but(body=body, query=DRY)


def check_value(server, name, one, member, value):
    body = {**one.body, member: value}
    described = not description.problems_of(schema_of(name), body)
    if described and value is not None and (name, member) in IN_WORDS:
        return
    if name == "reset" and member == "user" and value in (None, ""):
        described = False  # it is what the rule counts by
    answer = ask(server, name, tried(one, name, body))
    assert (answer.status != 422) == described, (body, answer.status, answer.body)


@pytest.mark.parametrize("name", ["exempt", "end_exemption", "put_user", "outcomes", "put_tenant",
                                  "make_key", "put_tier", "reset", "look"])
def test_the_server_refuses_the_values_that_the_description_does(server, name):
    schema = schema_of(name)
    one = model(name)
    prepare(server, one)
    for member in [*schema["properties"], "any_other"]:
        for value in VALUES:
            check_value(server, name, one, member, value)
    for member in schema.get("required", ()):
        body = {key: value for key, value in one.body.items() if key != member}
        assert ask(server, name, tried(one, name, body)).status == 422
    for example in schema["examples"]:
        assert ask(server, name, tried(one, name, example)).status in (200, 201, 404)


GUARD = {"window": "10s", "threshold": 50, "penalty": 300}
# A rule's keys: values that are good, with RULE or BUCKET around them, and values that are not.
KEYS = {
    "name": (["tried"], ["", None, [], {}, "a b", "x" * 65]),
    "per": (["ip", ["user", "ip"], "global", True], ["", [], 1.5, None, {}, "a b", ["x"] * 2]),
    "resource": (["/a/*", "api.payment.*", 5, True], ["", None, [], {}]),
    "except": (["/a/b", ["/a/b", "/a/c"], [], 5], ["", None, {}, [""], [None]]),
    "when": ([{}, {"tier": "x"}, {"x": ["a", 1, True]}, {"x": {"not": "a", "like": ["b*", "c"]}}],
             [None, [], "x", {"x": []}, {"x": None}, {"a b": "x"}, {"x": ""}, {"x": {}},
              {"x": {"not": []}}, {"x": {"near": "a"}}]),
    "replaces": (["api", ["api", "back"]], ["", None, [], {}, "a b", [""], [None]]),
    "algorithm": (["fixed_window", "sliding_window_counter"], ["", None, "leaky", 1, []]),
    "limit": (["100/1m", "5/m", "1/500ms", "10/1.5h", "7/60"],
              ["", None, 5, "5", "m/5", "5/x", []]),
    "adaptive": ([True, False], [None, "true", 1, []]),
    "shadow": ([True, False], [None, "true", 0]),
    "on_missing": (["skip", "deny"], [None, "", "allow", True]),
    "on_store_failure": (["allow", "deny", "local"], [None, "", "skip"]),
    "lease": (["off", "auto", 8, 4294967295], [None, "", "on", 0, 7, -1, 1.5, 4294967296, True]),
    "burst_guard": ([GUARD, {}, {"threshold": 1}],
                    [None, [], "on", {"threshold": 0}, {"threshold": 1.5}, {"speed": 1},
                     {"window": "soon"}, {"penalty": None}, {"window": 0}]),
    "tiers": ([{"free": {"capacity": 5}}, {"free": {"unlimited": True}}, {}],
              [None, [], {"free": None}, {"free": {"capacity": 0}}, {"free": {"speed": 1}},
               {"free": {"unlimited": 1}}]),
    "any_other": ([], [1, "x"]),
}
BUCKETS = {
    "capacity": ([1, 1000], [0, -1, 1.5, "5", None, True]),
    "refill_rate": ([1, 0.5, 0.000123456, 1000000000], [0, -1, "5", None, 1000000001, True]),
    "burst_allowance": ([1, 1.5, 1000], [0, 0.5, 1001, "2", None]),
}
WINDOWS = {
    "window": (["1m", "500ms", "1.5h", 60, 0.5], ["", None, "soon", 0, -1, True, [], "1 m"]),
    "capacity": ([1, 100000000], [0, None, "5", 9007199254740993]),
    "align": (["epoch", "first_request"], [None, "", "now", True]),
}
FRAMES = [(RULE, KEYS), (BUCKET, BUCKETS),
          ({"per": "user", "algorithm": "fixed_window", "capacity": 5, "window": "1m"}, WINDOWS)]


@pytest.mark.parametrize("frame, keys", FRAMES)
def test_the_server_refuses_the_rules_that_the_description_does(server, frame, keys):
    schema = DOCUMENT["components"]["schemas"]["Rule"]
    for key, (good, bad) in keys.items():
        for value, is_good in [(one, True) for one in good] + [(one, False) for one in bad]:
            body = {**frame, key: value}
            assert (not description.problems_of(schema, body)) == is_good, body
            answer = ask(server, "put_rule", Call(body, DRY, name="tried"))
            assert (answer.status == 200) == is_good, (body, answer.body)
            assert is_good or answer.json["errors"]
    lacking = {key: value for key, value in frame.items() if key != "per"}
    assert ask(server, "put_rule", Call(lacking, DRY, name="tried")).status == 422


def test_every_key_of_a_rule_is_tried():
    tried = {key for _, keys in FRAMES for key in keys}
    assert tried == {*DOCUMENT["components"]["schemas"]["Rule"]["properties"], "any_other"}


def test_every_body_is_tried():
    tried = {"put_rule", "put_own_rule", "exempt", "end_exemption", "put_user", "outcomes",
             "put_tenant", "make_key", "put_tier", "reset", "look"}
    assert {name for name in CASES if "requestBody" in operation_of(name)[2]} == tried


def test_outcomes_are_as_many_as_described(server):
    content = operation_of("outcomes")[2]["requestBody"]["content"]["application/json"]
    many = content["schema"]["anyOf"][1]
    one = {"user": "u1", "success": True}
    for count, status in ((many["minItems"], 200), (many["maxItems"], 200),
                          (many["minItems"] - 1, 422), (many["maxItems"] + 1, 413)):
        assert ask(server, "outcomes", Call([one] * count)).status == status
