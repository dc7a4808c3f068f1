"""Messages of HTTP/1.1 to send by hand, and what an answer must be."""

# One worker: an answer on one connection then proves that what was sent before on another has
# been looked at, and a worker that got stuck would be noticed at once. No header of the answers
# depends on the time.
RULES = """\
workers: 1
headers: [x-ratelimit]
rules:
  - { name: u, per: user, algorithm: fixed_window, limit: 100/365d }
"""

TITLES = {400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 408: "Request Timeout",
          413: "Content Too Large", 414: "URI Too Long", 415: "Unsupported Media Type",
          417: "Expectation Failed", 422: "Unprocessable Content",
          431: "Request Header Fields Too Large", 501: "Not Implemented",
          505: "HTTP Version Not Supported"}

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
SMUGGLED = b"GET /openapi.json HTTP/1.1\r\nHost: smuggled\r\n\r\n"
PEEK = b'{"user": "p", "peek": true}'


def post(body=PEEK, *fields, path=b"/v1/check", length=True, version=b"1.1"):
    lines = [b"POST %s HTTP/%s" % (path, version), b"Host: x", b"Content-Type: application/json",
             *fields]
    if length:
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def chunked(body, *fields):
    return post(body, b"Transfer-Encoding: chunked", *fields, length=False)


def chunks(*parts):
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (*parts, b""))


def is_served(raw):
    raw.send(HEALTH)
    answer = raw.response()
    assert (answer.status, answer.body) == (200, b'{"status": "ok"}')


def is_problem(response, *statuses):
    """The problem's JSON, which says what to do."""
    assert response.status in statuses, (response.status, response.body)
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json
    assert list(problem) == ["type", "title", "status", "detail"]
    assert problem["type"] == "about:blank"
    assert (problem["title"], problem["status"]) == (TITLES[response.status], response.status)
    assert len(problem["detail"]) > 10
    return problem


def refused(server, other, message, *statuses):
    """Answered with one problem, closed, and nothing else answered; others are served."""
    with server.raw() as raw:
        raw.send(message)
        response = raw.response()
        is_problem(response, *statuses)
        assert response.headers["connection"] == "close"
        is_served(other)
        raw.ended()
