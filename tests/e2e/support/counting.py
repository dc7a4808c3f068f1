"""The identity that a request counts for: a rule for every attribute, and a look at the counts.

    with Server(rules("user", "tenant")) as server:
        assert counted(server, "user", ["u1", "u2"], lambda: ask(server, "check", "user",
                                                                  user="u1")) == ["u1"]

Every request of `ask` comes from an address of its own (the tests' proxy is trusted), so
that wrong tokens of one test are not held against another.
"""

import itertools

LIMIT = 1000
WAYS = ["authorize", "check"]

strangers = (f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
             for number in itertools.count(1))


def rules(*attributes, more=""):
    """`/by/user` counts by user, and so on; `more` are rules besides."""
    rows = "".join(f"  - {{ name: by-{name.replace('_', '-')}, resource: /by/{name}, per: {name}, "
                   f"algorithm: fixed_window, limit: {LIMIT}/365d }}\n" for name in attributes)
    return f"rules:\n{rows}{more}"


def ask(server, way, attribute, fields=(), connection=None, address=None, **body):
    """One request that counts by this attribute; `body` is for a check alone."""
    address = address or next(strangers)
    fields = {"X-Forwarded-For": address, **dict(fields)}
    if way == "authorize":
        return server.ask("GET", f"/v1/authorize/by/{attribute}", headers=fields,
                          connection=connection)
    body = {"resource": f"/by/{attribute}", "ip": address, **body}
    return server.ask("POST", "/v1/check", body, fields, connection)


def used(server, attribute, value, fields=(), **others):
    """How much this value of the attribute has used up, with these others beside it: a user of
    a tenant's is not the user of that name without one."""
    body = {"resource": f"/by/{attribute}", attribute: value, **others, "peek": True}
    answer = server.ask("POST", "/v1/check", body, fields)
    assert answer.status == 200, answer.body
    return LIMIT - answer.json["remaining"]


def counted(server, attribute, candidates, request, **others):
    """Which of the candidates are charged by a request that is allowed."""
    before = {value: used(server, attribute, value, **others) for value in candidates}
    answer = request()
    assert answer.status == 200, answer.body
    return [value for value in candidates
            if used(server, attribute, value, **others) > before[value]]
