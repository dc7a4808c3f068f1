"""What the README shows is what happens."""

import doctest
import re
from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator

import pytest
import sluice
from conftest import HERE

README = HERE.parent / "README.md"


def test_the_transcripts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(README), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert result.attempted > 20 and result.failed == 0


@pytest.fixture
def limited():
    """The example's function, as it stands there."""
    names = {}
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
    exec(code, names)  # pylint: disable=exec-used
    return names["limited"]


def get(app, **environ):
    """Status, headers and body of one request, checked by wsgiref's validator."""
    environ = {"SCRIPT_NAME": "", "PATH_INFO": "/", "QUERY_STRING": "", **environ}
    setup_testing_defaults(environ)
    answer = []
    body = validator(app)(environ, lambda *more: answer.extend(more))
    try:
        return answer[0], dict(answer[1]), b"".join(body)
    finally:
        body.close()


def hello(_, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"hello"]


def test_the_wsgi_example(store, limited):
    limiter = sluice.Limiter.from_text(
        "rules:\n  - {name: api, per: ip, resource: /api/*, algorithm: sliding_window_log, "
        "limit: 2/1h}\n", store=store)
    app = limited(hello, limiter)
    asked = {"REMOTE_ADDR": "192.0.2.1", "PATH_INFO": "/api/x"}
    assert get(app, **asked)[0] == "200 OK" == get(app, **asked)[0]
    status, headers, body = get(app, **asked)
    assert (status, headers["Retry-After"]) == ("429 Too Many Requests", "3600")
    assert body == b"429 Too Many Requests\n"
    assert get(app, **{**asked, "PATH_INFO": "/api/\xc3\xa4"})[0].startswith("429")
    assert get(app, **{**asked, "REMOTE_ADDR": "192.0.2.2"})[2] == b"hello"
    assert get(app, **{**asked, "PATH_INFO": "/"})[0] == "200 OK"


def test_the_wsgi_example_when_the_store_fails(store, limited):
    limiter = sluice.Limiter.from_text(
        "on_store_failure: deny\nrules:\n  - {name: api, per: ip, "
        "algorithm: sliding_window_log, limit: 1000000/1h}\n", store=store)
    status, headers, _ = get(limited(hello, limiter), REMOTE_ADDR="192.0.2.1")
    assert status == "503 Service Unavailable" and "Retry-After" not in headers
