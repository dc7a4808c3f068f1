"""src/server/http/openapi.json: what it says, and whether an answer keeps to it.

The description lets members be added, as a client should; held against our own
answers it is closed, so that one that is not described fails.
"""

import json
import re

from jsonschema import Draft202012Validator

from program import ROOT

FILE = ROOT / "src" / "server" / "http" / "openapi.json"
DOCUMENT = json.loads(FILE.read_text(encoding="utf-8"))
METHODS = ("get", "head", "post", "put", "patch", "delete", "options", "trace")
# What any HTTP answer may carry without a word in the description.
COMMON_FIELDS = {"content-type", "content-length", "connection", "date"}


def resolve(node):
    """What a reference names; anything else is itself."""
    while isinstance(node, dict) and "$ref" in node:
        path = node["$ref"]
        assert path.startswith("#/"), path
        node = DOCUMENT
        for step in path[2:].split("/"):
            node = node[step.replace("~1", "/").replace("~0", "~")]
    return node


def inlined(schema, is_part=False):
    """A schema without references in which no object has a member that is not described.
    `is_part`: of an allOf, whose whole is closed instead."""
    schema = resolve(schema)
    if not isinstance(schema, dict):
        return schema
    out = dict(schema)
    for word in ("anyOf", "oneOf"):
        if word in out:
            out[word] = [inlined(branch, is_part) for branch in out[word]]
    if "allOf" in out:
        out["allOf"] = [inlined(branch, True) for branch in out["allOf"]]
    for word in ("items", "additionalProperties"):
        if word in out:
            out[word] = inlined(out[word])
    if "properties" in out:
        out["properties"] = {name: inlined(below) for name, below in out["properties"].items()}
    if names_members(out) and not is_part and "additionalProperties" not in out:
        out["unevaluatedProperties"] = False
    return out


def names_members(schema):
    return "properties" in schema or any(names_members(part) for part in schema.get("allOf", ()))


def problems_of(schema, value):
    errors = Draft202012Validator(inlined(schema)).iter_errors(value)
    return [f"{list(error.absolute_path)}: {error.message}" for error in errors]


def operations():
    """Every (path, method, operation); the path as it is described."""
    return [(path, method, item[method])
            for path, item in DOCUMENT["paths"].items() for method in METHODS if method in item]


def operation_of(name):
    """The (path, method, operation) of that operationId."""
    return next(row for row in operations() if row[2]["operationId"] == name)


def parameters_of(path, operation):
    """Those of the path and of the operation, resolved."""
    both = [*DOCUMENT["paths"][path].get("parameters", ()), *operation.get("parameters", ())]
    return [resolve(one) for one in both]


def target_of(path, **names):
    """The path with a name in each of its places: the description's example, or another."""
    for one in parameters_of(path, {}):
        if one["in"] == "path":
            path = path.replace(f"{{{one['name']}}}", names.get(one["name"], one["example"]))
    return path


def is_described(target):
    """Is there such a path? A place takes what has no slash; a proxy's question, anything."""
    patterns = (re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(path))
                for path in DOCUMENT["paths"])
    return target.startswith("/v1/authorize/") or any(re.fullmatch(one, target) for one in patterns)


def methods_of(path):
    return {method.upper() for method in METHODS if method in DOCUMENT["paths"][path]}


def refusals(operation):
    """The statuses with which it refuses a message itself, beside those it lists one by one."""
    found = set()
    for response in operation["responses"].values():
        found |= set(resolve(response).get("x-statuses", ()))
    return found


def response_of(operation, status):
    """The response that describes this status: its own, its range's, or the default."""
    responses = operation["responses"]
    for key in (str(status), f"{status // 100}XX", "default"):
        if key in responses:
            return resolve(responses[key])
    raise AssertionError(f"{operation['operationId']} does not describe {status}")


def check_answer(response, answer, method="GET"):
    """Fails if the answer is not as `response` describes it: a response object, resolved."""
    fields = {name.lower(): value for name, value in dict(answer.headers).items()}
    check_fields(response, fields)
    media = fields.get("content-type", "").partition(";")[0]
    content = response.get("content", {})
    if "content-type" in fields:
        assert media in content, f"{media} is not described: {list(content)}"
    if method == "HEAD" or not content:
        assert answer.body == b"", f"a body where none is described: {answer.body!r}"
        return
    assert media, f"no content type: {answer.body!r}"
    is_json = media.endswith("json")
    value = json.loads(answer.body) if is_json else answer.body.decode()
    found = problems_of(content[media]["schema"], value)
    assert not found, f"{found}\n{answer.body.decode()}"
    if media == "application/problem+json":
        assert value["status"] == answer.status


def check_fields(response, fields):
    described = {name.lower(): resolve(header)
                 for name, header in response.get("headers", {}).items()}
    unknown = set(fields) - set(described) - COMMON_FIELDS
    assert not unknown, f"fields that are not described: {unknown}"
    for name, header in described.items():
        assert name in fields or not header.get("required"), f"{name} is missing"
        if name in fields:
            value = fields[name]
            if header["schema"]["type"] == "integer":
                value = int(value)
            assert not problems_of(header["schema"], value), (name, value)


def check_answer_of(operation, answer, method="GET"):
    """The same of an operation. A status that stands for a refused message alone is only
    described if it is listed, range or not."""
    explicit = str(answer.status) in operation["responses"]
    assert explicit or answer.status in refusals(operation), \
        f"{operation['operationId']} does not describe {answer.status}: {answer.body!r}"
    check_answer(response_of(operation, answer.status), answer, method)
