"""The OpenAPI description by itself: is it OpenAPI 3.1, whole, and true to its own schemas?

OpenAPI's own schema is not at hand where the tests run; what we use of it is
small, and KEYS holds it.
"""

import re

from jsonschema import Draft202012Validator

import description
from description import DOCUMENT, operations, resolve
from program import ROOT


def test_its_version_is_that_of_the_header():
    header = (ROOT / "include" / "sluice.h").read_text(encoding="utf-8")
    assert DOCUMENT["info"]["version"] == re.search(r'SLUICE_VERSION "(.+)"', header)[1]


# What each object of OpenAPI 3.1 may have, as far as we use it; what it must have first.
KEYS = {
    "document": ("openapi info paths", "servers tags components"),
    "info": ("title version", "summary description license"),
    "operation": ("operationId responses",
                  "tags summary description security parameters requestBody"),
    "parameter": ("name in schema", "description required example"),
    "body": ("content", "description required"),
    "media": ("schema", "examples"),
    "response": ("description", "headers content x-statuses"),
    "header": ("description schema", "required example"),
    "example": ("summary value", ""),
    "components": ("", "securitySchemes schemas headers parameters responses examples"),
    "scheme": ("type description", "scheme bearerFormat name in"),
}


def check_keys(kind, node):
    must, may = (set(words.split()) for words in KEYS[kind])
    assert must <= set(node), f"a {kind} lacks {must - set(node)}: {node}"
    assert set(node) <= must | may, f"a {kind} has {set(node) - must - may}"


def references(node):
    if isinstance(node, dict):
        if "$ref" in node:
            assert set(node) == {"$ref"}
            yield node["$ref"]
        node = list(node.values())
    if isinstance(node, list):
        for below in node:
            yield from references(below)


def contents():
    """Every media type object, of bodies and responses, with its name."""
    components = DOCUMENT["components"]
    bodies = [row[2]["requestBody"] for row in operations() if "requestBody" in row[2]]
    answers = [response for row in operations() for response in row[2]["responses"].values()]
    for holder in [*bodies, *answers, *components["responses"].values()]:
        yield from resolve(holder).get("content", {}).items()


def test_it_is_made_of_what_openapi_has():
    check_keys("document", DOCUMENT)
    check_keys("info", DOCUMENT["info"])
    assert DOCUMENT["openapi"] == "3.1.0"
    components = DOCUMENT["components"]
    check_keys("components", components)
    for node in components["securitySchemes"].values():
        check_keys("scheme", node)
    for kind in ("response", "header", "parameter", "example"):
        for name, node in components[f"{kind}s"].items():
            assert re.fullmatch(r"[A-Za-z0-9._-]+", name)
            check_keys(kind, node)
    for _, media in contents():
        check_keys("media", media)


def test_every_reference_leads_somewhere_and_every_component_is_used():
    used = set(references(DOCUMENT))
    for reference in used:
        assert resolve({"$ref": reference})
    used |= {f"#/components/securitySchemes/{name}" for _, _, operation in operations()
             for choice in operation.get("security", ()) for name in choice}
    named = {f"#/components/{kind}/{name}"
             for kind, group in DOCUMENT["components"].items() for name in group}
    # These two are of no operation: they are what all else is answered with.
    outside = {"#/components/responses/NoSuchPath", "#/components/responses/NoSuchMethod"}
    assert named - used == outside


def test_operations_are_complete():
    names = [operation["operationId"] for _, _, operation in operations()]
    assert len(set(names)) == len(names)
    tags = {tag["name"] for tag in DOCUMENT["tags"]}
    for _, _, operation in operations():
        check_keys("operation", operation)
        assert isinstance(operation["summary"], str)
        assert isinstance(operation.get("description", ""), str)
        assert set(operation["tags"]) <= tags
        assert {"200", "201"} & set(operation["responses"])
        for status, response in operation["responses"].items():
            assert re.fullmatch(r"[1-5]\d\d|[45]XX|default", status)
            check_keys("response", resolve(response))


def test_parameters_are_those_of_their_paths():
    for path, item in DOCUMENT["paths"].items():
        assert path.startswith("/")
        assert set(item) <= {*description.METHODS, "parameters"}
        for _, _, operation in (row for row in operations() if row[0] == path):
            parameters = description.parameters_of(path, operation)
            names = [(one["in"], one["name"]) for one in parameters]
            assert len(set(names)) == len(names)
            in_path = {name for place, name in names if place == "path"}
            assert in_path == set(re.findall(r"{(.+?)}", path))
            for one in parameters:
                check_keys("parameter", one)
                assert one["in"] != "path" or one["required"] is True
                assert not description.problems_of(one["schema"], one["example"]), one["name"]


def test_what_can_be_sent_and_looked_at_goes_by_the_method():
    """A body with POST and PUT (a proxy's question has none, and a reload nothing to say), and
    HEAD wherever there is GET."""
    for path, method, operation in operations():
        if "authorize" in path:
            continue
        has_body = "requestBody" in operation
        assert has_body or method not in ("post", "put") or path == "/v1/reload"
        assert not has_body or method in ("post", "put", "delete")
        assert (method == "get") <= ("HEAD" in description.methods_of(path))


def test_a_refusal_says_how_to_be_let_in():
    """401 comes with the challenge that RFC 9110 asks for, and with a scheme that helps."""
    for _, _, operation in operations():
        refusal = resolve(operation["responses"].get("401"))
        assert (refusal is not None) == bool(operation.get("security"))
        assert not refusal or "WWW-Authenticate" in refusal["headers"]


def test_schemas_are_schemas_and_examples_keep_to_them():
    schemas = DOCUMENT["components"]["schemas"]
    for name, schema in schemas.items():
        Draft202012Validator.check_schema(schema)
        for value in schema.get("examples", ()):
            assert not description.problems_of(schema, value), name
    shown = 0
    for _, media in contents():
        Draft202012Validator.check_schema(media["schema"])
        for name, example in media.get("examples", {}).items():
            value = resolve(example)["value"]
            assert not description.problems_of(media["schema"], value), name
            shown += 1
    assert shown > 20
    for name, header in DOCUMENT["components"]["headers"].items():
        assert not description.problems_of(header["schema"], header["example"]), name
