"""What Prometheus reads, and what packaging/ makes of it: by promtool and by a real Prometheus."""

import json
import re
import socket
import ssl
from contextlib import closing

import pytest
from certificates import self_signed
from program import ROOT
from prometheus import ALERTS, EXAMPLE, PACKAGING, Prometheus, promtool
from redis_requests import PATIENT
from redis_running import Redis
from serving import Server
from watching import https_port, wait_until

DASHBOARD = PACKAGING / "grafana-dashboard.json"
PAGES = ROOT / "docs/observability.md"

RULES = r"""
tiers: { pro: { scale: 10 } }
exempt: { users: [root] }
rules:
  - { name: api, resource: /api/*, per: user, limit: 3/m, adaptive: true,
      burst_guard: { window: 10s, threshold: 5, penalty: 1m } }
  - { name: hostile, resource: '/a"b\c{d}=,/*', per: [ip, user], limit: 1/m, shadow: true }
  - { name: a.b-c_D, resource: 'dotted."name"', per: team, limit: 1/m,
      algorithm: sliding_window_log }
  - { name: all, per: global, algorithm: token_bucket, capacity: 1000, refill_rate: 0.083 }
"""


def on_redis(redis):
    return Server(f"store: {redis.url()}\n{PATIENT}{RULES}")


def page_of(server):
    answer = server.ask("GET", "/metrics")
    assert answer.status == 200
    return answer.body.decode()


def samples(page):
    """{name with its labels: value}"""
    return {name: float(value) for name, value in re.findall(r"^([^#\s]\S*(?: [^\n]*?)?) (\S+)$",
                                                             page, re.M)}


def families(page):
    """{name: (type, labels)} in their order; of a histogram without `le`."""
    found = {}
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", page, re.M):
        ends = "(?:_bucket)" if kind == "histogram" else ""
        sample = re.search(rf"^{name}{ends}(?:{{(.*)}})? \S+$", page, re.M)
        labels = re.findall(r'(\w+)="(?:[^"\\]|\\.)*"', sample[1] or "") if sample else []
        found[name] = (kind, [label for label in labels if label != "le"])
    return found


def some_traffic(server):
    for _ in range(8):
        server.check({"user": "u", "resource": "/api/x", "trust_score": 0.5})
        server.check({"user": "u", "ip": "192.0.2.1", "resource": '/a"b\\c{d}=,/x'})
        server.check({"team": "t", "resource": 'dotted."name"'})
    server.check({"user": "root"})
    server.ask("GET", "/none")
    with server.raw() as raw:
        raw.send(b"nonsense\r\n\r\n")
        raw.response()


@pytest.fixture(name="server", scope="module")
def served():
    with Server(RULES) as server:
        some_traffic(server)
        yield server


# ---- the page ----


def test_promtool_has_nothing_to_say_about_the_page(server):
    page = page_of(server)
    assert promtool("check", "metrics", stdin=page.encode()) == (0, "")
    assert r'resource="/a\"b\\c{d}=,/*"' in page
    assert r'resource="dotted.\"name\""' in page


def test_promtool_would_say_something():
    code, said = promtool("check", "metrics", stdin=b"# TYPE x counter\nx{a=\"\\q\"} 1\n")
    assert code != 0 and said


def test_what_was_asked_is_counted(server):
    found = samples(page_of(server))
    api = 'sluice_rule_decisions_total{rule="api",algorithm="sliding_window_counter",outcome='
    assert found[f'{api}"allowed"}}'] == 4  # half as many again, for trust
    assert found[f'{api}"denied"}}'] == 4
    assert found["sluice_exemptions_used_total"] == 1
    assert found['sluice_trust_score_bucket{le="0.4"}'] == 0
    assert found['sluice_trust_score_bucket{le="0.5"}'] == 8
    assert found["sluice_trust_score_sum"] == 4
    assert found["sluice_http_malformed_total"] == 1
    assert found['sluice_http_responses_total{code="2xx"}'] >= 10
    assert found['sluice_http_responses_total{code="4xx"}'] >= 7
    assert found["sluice_received_bytes_total"] > 1000
    assert found["sluice_sent_bytes_total"] > 5000
    assert found['sluice_rule_refill_per_second{rule="all"}'] == 0.083


def test_the_table_is_counted_without_being_asked(server):
    wait_until(lambda: samples(page_of(server))["sluice_table_live"] >= 4, "keys are counted")
    found = samples(page_of(server))
    assert found["sluice_table_log_live"] == 1
    assert found["sluice_table_limiting"] >= 1
    assert found["sluice_table_insertions_total"] >= 5


def test_the_process_is_looked_at(server):
    found = samples(page_of(server))
    assert 5 < found["process_open_fds"] < found["process_max_fds"]
    assert 1 << 20 < found["process_resident_memory_bytes"]
    assert found["process_start_time_seconds"] == found["sluice_start_time_seconds"]


def test_no_label_grows_with_the_callers():
    with Server(RULES) as server, closing(server.connection()) as connection:
        server.check({"user": "u", "ip": "192.0.2.1", "resource": "/api/x"}, connection)
        before = sorted(samples(page_of(server)))
        for number in range(500):
            server.check({"user": f"u{number}", "ip": f"192.0.2.{number % 250}", "tier": f"t{number}",
                          "tenant": f"t{number}", "client": f"c{number}", "method": f"M{number}",
                          "resource": f"/api/{number}", f"attribute{number}": "x"}, connection)
        server.ask("GET", "/path-of-its-own", connection=connection)
        page = page_of(server)
        assert sorted(samples(page)) == before
        for word in ("u499", "t499", "c499", "M499", "/api/499", "path-of-its-own", "192.0.2"):
            assert word not in page


def test_a_handshake_that_fails_is_counted(tmp_path):
    pair = self_signed(tmp_path)
    with Server(f"tls: {pair.listed}\n{RULES}", {"http": "127.0.0.1:0", "https": "127.0.0.1:0"}, tmp_path) as server:
        def failed():
            return samples(page_of(server))["sluice_tls_handshakes_failed_total"]

        context = ssl.create_default_context(cafile=pair.certificate)
        address = ("127.0.0.1", https_port(server))
        with socket.create_connection(address) as plain:  # looks whether it listens
            pass
        with socket.create_connection(address) as plain, \
                context.wrap_socket(plain, server_hostname="localhost") as wrapped:
            wrapped.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert wrapped.recv(100).startswith(b"HTTP/1.1 200")
        assert failed() == 0
        with socket.create_connection(address) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
        wait_until(lambda: failed() == 1, "it is counted")


# ---- what is written about it ----


def documented():
    """The table of docs/observability.md: {name: (type, labels)}."""
    section = PAGES.read_text(encoding="utf-8").partition("\n## Metrics\n")[2]
    section = section.partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|([^|]*)\|", section, re.M)
    assert len({name for name, _, _ in rows}) == len(rows)
    return {name: (kind, re.findall(r"`(\w+)`", labels)) for name, kind, labels in rows}


def test_the_documents_name_every_family_and_no_other():
    with Redis() as redis, on_redis(redis) as server:
        server.ask("POST", "/v1/check", {"user": "u1", "resource": "/api/x"})
        wait_until(lambda: "sluice_rule_in_use_ratio{" in page_of(server), "a first sample")
        found = families(page_of(server))
    written = documented()
    assert set(written) == set(found)
    assert {name: written[name] for name in found} == found


# ---- packaging ----


def expressions(node):
    """Every one of the dashboard, with its variables filled in."""
    if isinstance(node, list):
        return [found for item in node for found in expressions(item)]
    if not isinstance(node, dict):
        return []
    own = [node["expr"]] if "expr" in node else []
    return own + [found for value in node.values() for found in expressions(value)]


def filled_in(expression):
    for name, value in (("$__rate_interval", "20s"), ("$job", "sluice"), ("$instance", ".*")):
        expression = expression.replace(name, value)
    assert "$" not in expression
    return expression


def names(expression):
    """The families that an expression is about."""
    found = re.findall(r"\b(?:sluice|process)_\w+", expression)
    return {re.sub("_bucket$", "", name) for name in found}


def dashboard():
    return json.loads(DASHBOARD.read_text(encoding="utf-8"))


def test_the_dashboard_is_laid_out_well():
    panels = dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len({panel["title"] for panel in panels}) == len(panels)
    taken = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                 for y in range(place["y"], place["y"] + place["h"])}
        assert not taken & cells and place["x"] + place["w"] <= 24
        taken |= cells
        assert panel["type"] == "row" or (panel["targets"] and panel["description"])
    used = set().union(*map(names, expressions(dashboard())))
    assert used <= set(documented())


def test_promtool_accepts_alerts_and_example():
    assert promtool("check", "rules", ALERTS)[0] == 0
    assert promtool("check", "config", EXAMPLE)[0] == 0


def asks_at_once(server):
    with closing(server.connection()) as connection:
        for _ in range(20):
            server.check({"user": "v", "resource": "/api/x"}, connection)


def test_a_real_prometheus_answers_every_query_of_the_dashboard_and_of_the_alerts(server):
    """With an embedded table and with Redis, so that there is something for all of them."""
    wanted = [filled_in(expression) for expression in expressions(dashboard())]
    with Redis() as redis, on_redis(redis) as other, \
            Prometheus([server.port, other.port]) as prometheus:
        some_traffic(other)
        looks = 'min(count_over_time(up{job="sluice"}[1m]))'
        wait_until(lambda: prometheus.query(looks) and prometheus.query(looks)[0][1] >= 2, "looks")
        asks_at_once(server)
        asks_at_once(other)
        wait_until(lambda: prometheus.query(looks)[0][1] >= 4, "more looks")
        for expression in wanted:
            found = prometheus.query(expression)
            is_due = "changes(" not in expression
            assert found or not is_due, expression
        rates = dict((labels["rule"], value) for labels, value in prometheus.query(
            filled_in(next(text for text in wanted if text.startswith("sum by (rule)") and
                           "/" in text))))
        assert rates["api"] > 0.5 and rates["all"] == 0
        assert prometheus.query('sum(up{job="sluice"})')[0][1] == 2
        wait_until(lambda: all(rule["health"] == "ok" for rule in prometheus.rules()), "evaluated")
        assert len(prometheus.rules()) == ALERTS.read_text(encoding="utf-8").count("- alert:")
