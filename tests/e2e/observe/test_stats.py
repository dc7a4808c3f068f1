"""/v1/stats: counts that add up, over windows, rules, workers and reloads."""

import time

import pytest
from messages import post
from redis_requests import on, one
from redis_running import Redis
from serving import Server
from stats_reader import WINDOWS, counts_of, names_of, rule_of, seen, stats, told_of

RULES = """\
workers: 2
exempt: { users: [root] }
rules:
  - { name: api, resource: /api/*, per: user, algorithm: fixed_window, limit: 5/365d }
  - { name: all, per: global, algorithm: sliding_window_counter, limit: 100000/365d }
  - { name: tried, resource: /api/*, per: user, algorithm: token_bucket, capacity: 2,
      refill_rate: 0.000001, shadow: true }
"""


def send(server, times, connection=None, **request):
    """How many of them were allowed."""
    request = {"user": "u", "resource": "/api/x", **request}
    return sum(server.check(request, connection).json["allowed"] for _ in range(times))


@pytest.fixture(name="servers", scope="module")
def _servers():
    """Each with the time of its first check."""
    servers = []
    yield servers
    for server, _ in servers:
        server.__exit__(None)


@pytest.fixture(name="used")
def _used(servers):
    """A server after 12 checks of u, 3 of v, 2 of an exempt user and one without a user. Another
    one, where the last minute may soon have forgotten them."""
    if not servers or time.monotonic() - servers[-1][1] > 20:
        server = Server(RULES)
        servers.append((server, time.monotonic()))
        assert send(server, 12) == 5
        assert send(server, 3, user="v") == 3
        assert send(server, 2, user="root") == 2
        assert send(server, 1, user=None, resource="/other") == 1
        assert send(server, 4, peek=True) == 0
        seen(server, 18)
    return servers[-1][0]


# ---- counts -----------------------------------------------------------------------------


def test_allowed_and_denied_are_what_was_sent(used):
    told = seen(used, 18)
    for window in WINDOWS:  # the server has just begun: a minute is all there is
        figure = told["decisions"][window]
        assert counts_of(figure) == (18, 11, 7)
        assert abs(figure["hit_rate"] - 7 / 18) < 1e-8
        assert figure == {**told["decisions"]["minute"], "latency_us": figure["latency_us"]}


def test_each_rule_counts_what_it_said_itself(used):
    told = seen(used, 18)
    for window in WINDOWS:
        api, all_, tried = (rule_of(told, name)[window] for name in ("api", "all", "tried"))
        assert counts_of(api) == (15, 8, 7)
        assert counts_of(all_) == (16, 16, 0)
        assert (tried["checks"], tried["allowed"], tried["denied"]) == (15, 4, 0)
        assert tried["shadow_denied"] == 11
        assert abs(tried["hit_rate"] - 11 / 15) < 1e-8
        assert api["store_failed"] == tried["store_failed"] == 0


def test_algorithms_are_the_sum_of_their_rules(used):
    told = seen(used, 18)
    algorithms = {row["algorithm"]: row for row in told["algorithms"]}
    assert len(algorithms) == 5
    for window in WINDOWS:
        assert counts_of(algorithms["fixed_window"][window]) == (15, 8, 7)
        assert algorithms["leaky_bucket"][window]["checks"] == 0
        assert algorithms["leaky_bucket"][window]["hit_rate"] is None
        assert algorithms["leaky_bucket"][window]["latency_us"] is None


def test_the_same_counts_are_at_metrics(used):
    page = used.ask("GET", "/metrics").body.decode()
    assert 'sluice_decisions_total{reason="rate_limit_exceeded",outcome="denied"} 7\n' in page
    assert ('sluice_rule_decisions_total{rule="tried",algorithm="token_bucket",'
            'outcome="shadow_denied"} 11\n') in page


def test_callers_latencies_and_use_are_told(used):
    told = told_of(used, lambda told: rule_of(told, "tried")["minute"]["callers_limited"]
                   and rule_of(told, "api")["in_use"], "callers and use")
    api, tried = rule_of(told, "api"), rule_of(told, "tried")
    # Of 256 registers two callers may have one and the same, by a secret of every start.
    assert api["minute"]["callers"] == tried["minute"]["callers_limited"] in (1, 2)
    assert api["minute"]["callers_limited"] == 1
    assert rule_of(told, "all")["minute"]["callers"] == 1  # the whole world is one
    latency = api["minute"]["latency_us"]
    assert 0 < latency["p50"] <= latency["p95"] <= latency["p99"] <= latency["p999"] < 60e6
    assert 1 <= latency["samples"] <= 15
    assert told["decisions"]["minute"]["latency_us"]["samples"] <= 16
    assert 0 < api["in_use"]["mean"] <= api["in_use"]["max"] <= 1


def test_top_denied_and_top_traffic(used):
    told = told_of(used, lambda told: names_of(rule_of(told, "api")["top_traffic"]) ==
                   {"u": 12, "v": 3}, "whom it met")
    api = rule_of(told, "api")
    assert api["top_denied"] == [{"tenant": None, "identifier": "u", "count": 7, "error": 0}]
    assert api["top_unseen"] == {"denied": 0, "traffic": 0}
    assert names_of(rule_of(told, "tried")["top_denied"]) == {"u": 10, "v": 1}
    assert told["started_at"][:10] <= api["top_since"][:10] <= told["at"][:10]


def test_a_rule_is_told_with_what_it_is(used):
    told = stats(used)
    assert told["rules_total"] == 3
    assert [rule["rule"] for rule in told["rules"]] == ["api", "all", "tried"]
    api, all_, tried = told["rules"]
    assert (api["per"], api["resource"], api["shadow"]) == (["user"], "/api/*", False)
    assert (api["limit"], api["window_us"], api["refill_per_second"]) == (5, 365 * 86400 * 10**6,
                                                                          None)
    assert (all_["per"], all_["resource"]) == (["global"], None)
    assert (tried["shadow"], tried["limit"], tried["window_us"]) == (True, 2, None)
    assert tried["refill_per_second"] == 1e-6
    assert told["store"]["kind"] == "memory" and told["store"]["healthy"] is True
    assert told["connections"]["accepted"] >= 18


# ---- parameters -------------------------------------------------------------------------


@pytest.mark.parametrize("window, steps, step_s", [("minute", 60, 1), ("hour", 60, 60),
                                                   ("day", 24, 3600)])
def test_series_add_up_to_their_window(used, window, steps, step_s):
    told = stats(used, f"window={window}&series=true")
    others = set(WINDOWS) - {window}
    for figure in [told["decisions"], *told["algorithms"], *told["rules"]]:
        assert window in figure and not others & set(figure)
        series = figure[window]["series"]
        assert (series["step_s"], series["end_us"]) == (step_s, told["at_us"])
        for name in series.keys() - {"step_s", "end_us"}:
            assert len(series[name]) == steps
            assert sum(series[name]) == figure[window][name]
    assert "shadow_denied" in rule_of(told, "tried")[window]["series"]
    assert "series" not in stats(used, f"window={window}&series=false")["decisions"][window]


def test_one_rule_some_rules_and_short_lists(used):
    assert [rule["rule"] for rule in stats(used, "rule=all")["rules"]] == ["all"]
    assert stats(used, "rule=all")["rules_total"] == 3
    assert [rule["rule"] for rule in stats(used, "limit=1")["rules"]] == ["all"]  # the busiest
    assert [rule["rule"] for rule in stats(used, "limit=2")["rules"]] == ["api", "all"]
    assert stats(used, "limit=0")["rules"] == []
    assert len(stats(used, "top=1")["rules"][0]["top_traffic"]) == 1
    assert stats(used, "top=0")["rules"][0]["top_traffic"] == []
    assert len(stats(used, "top=64")["rules"][0]["top_traffic"]) == 2


@pytest.mark.parametrize("query, status", [
    ("window=week", 422), ("window=", 422), ("window=Minute", 422),
    ("window=minute&window=hour", 422), ("series=1", 422), ("series=", 422), ("series=True", 422),
    ("top=65", 422), ("top=-1", 422), ("top=+1", 422), ("top=1.0", 422), ("top=", 422),
    ("top=x", 422), ("top=%00", 422), ("limit=100001", 422),
    ("limit=99999999999999999999", 422), ("limit=%201", 422),
    ("rule=nobody", 404), ("rule=", 404), ("rule=API", 404), ("rule=%22%3Cb%3E", 404),
    ("windows=minute", 422), ("=", 422),
])
def test_what_it_does_not_understand_is_refused(used, query, status):
    answer = used.ask("GET", f"/v1/stats?{query}")
    assert (answer.status, answer.json["status"]) == (status, status)
    assert answer.headers["content-type"] == "application/problem+json"


def test_it_is_only_looked_at(used):
    for method in ("POST", "PUT", "DELETE"):
        assert used.ask(method, "/v1/stats", {}).status == 405
    assert used.ask("HEAD", "/v1/stats").status == 200
    assert used.ask("GET", "/v1/stats", headers={"X-Forwarded-For": "192.0.2.1"}).status == 403


# ---- bursts, workers, reloads -----------------------------------------------------------


def test_bursts_are_counted(tmp_path):
    rules = "rules: [{ name: b, per: user, limit: 100000/h, burst_guard: " \
            "{ window: 1s, threshold: 5, penalty: 1h } }]\n"
    with Server(rules, folder=tmp_path) as server:
        sent = 0
        end = time.monotonic() + 20
        while server.check({"user": "u"}).json["allowed"]:
            assert time.monotonic() < end
            sent += 1
        for _ in range(4):
            assert not server.check({"user": "u"}).json["allowed"]
        seen(server, sent + 5)
        told = told_of(server, lambda told: told["decisions"]["day"]["burst_blocks"], "the block")
        rule = rule_of(told, "b")
        assert rule["guarded"] is True
        assert (rule["minute"]["burst_warnings"], rule["minute"]["burst_blocks"]) == (1, 1)
        assert rule["minute"]["denied"] == 5
        assert told["decisions"]["day"]["burst_blocks"] == 1


ONE_RULE = "rules: [{ name: api, per: user, limit: 2/h }]\n"


def test_without_statistics_there_are_counts_and_the_rest_is_not_known():
    with Server("statistics: false\n" + ONE_RULE) as server:
        assert send(server, 5, user="u") == 2
        told = seen(server, 5)
        rule = rule_of(told, "api")
        assert counts_of(rule["minute"]) == (5, 2, 3)
        unknown = ("callers", "callers_limited", "burst_warnings", "burst_blocks", "latency_us")
        assert [rule["minute"][name] for name in unknown] == [None] * len(unknown)
        assert told["decisions"]["minute"]["latency_us"] is None
        assert (rule["in_use"], rule["top_denied"], rule["top_traffic"]) == (None, [], [])
        page = server.ask("GET", "/metrics").body.decode()
        assert "sluice_rule_callers" not in page and "sluice_decision_duration" not in page
        assert 'sluice_rule_decisions_total{rule="api"' in page


def test_an_audit_log_needs_the_identifier(tmp_path):
    with Server(f"statistics: false\naudit: file:{tmp_path}/log\n{ONE_RULE}") as server:
        assert send(server, 5, user="u") == 2
        told_of(server, lambda told: names_of(rule_of(told, "api")["top_denied"]) == {"u": 3},
                "who was denied")


def test_the_busiest_are_those_of_the_window_that_is_asked_for():
    """As far as that can be seen within a minute: they are picked by counts at all."""
    rules = "".join(f"  - {{ name: r{i}, resource: /r{i}, per: user, limit: 9/h }}\n" for i in range(9))
    with Server("rules:\n" + rules) as server:
        send(server, 3, user="u", resource="/r7")
        send(server, 1, user="u", resource="/r2")
        for window in WINDOWS:
            told = seen(server, 4, "window=minute") and stats(server, f"window={window}&limit=2")
            assert [rule["rule"] for rule in told["rules"]] == ["r2", "r7"]
            assert told["rules_total"] == 9


def test_a_tier_that_is_known_of_a_user_is_part_of_its_identity():
    rules = "tiers: { pro: {} }\nrules: [{ name: api, per: [user, tier], limit: 1/h }]\n"
    with Server(rules) as server:
        assert server.ask("PUT", "/v1/users/u", {"tier": "pro"}).status == 201
        assert send(server, 3, user="u") == 1
        told_of(server, lambda told: names_of(rule_of(told, "api")["top_denied"]) == {"u:pro": 2},
                "whom, by tier too")


def test_all_workers_are_summed_up():
    with Server(RULES.replace("workers: 2", "workers: 3")) as server:
        raws = [server.raw() for _ in range(30)]
        try:
            for raw in raws:
                raw.send(post(b'{"user": "u", "resource": "/api/x"}') * 10)
            allowed = sum(raw.response().json["allowed"] for raw in raws for _ in range(10))
        finally:
            for raw in raws:
                raw.socket.close()
        assert allowed == 5
        seen(server, 300)
        told = told_of(server, lambda told: names_of(rule_of(told, "api")["top_denied"]) ==
                       {"u": 295}, "whom all of them denied")
        assert counts_of(rule_of(told, "api")["minute"]) == (300, 5, 295)


def test_figures_outlive_a_reload_by_the_rules_name():
    with Server(RULES) as server:
        send(server, 8)
        seen(server, 8)
        changed = RULES.replace("name: tried", "name: renamed").replace("5/365d", "7/365d")
        server.write_rules(changed)
        assert server.ask("POST", "/v1/reload").status == 200
        send(server, 4)
        told = seen(server, 12)
        assert counts_of(rule_of(told, "api")["hour"]) == (12, 7, 5)
        assert rule_of(told, "api")["limit"] == 7
        assert rule_of(told, "renamed")["minute"]["checks"] == 4
        assert [rule["rule"] for rule in told["rules"]] == ["api", "all", "renamed"]
        told = told_of(server, lambda told: names_of(rule_of(told, "api")["top_traffic"]) ==
                       {"u": 12}, "whom it met before and after")
        assert names_of(rule_of(told, "renamed")["top_traffic"]) == {"u": 4}
        assert server.ask("GET", "/v1/stats?rule=tried").status == 404


def test_a_rule_of_the_api_has_figures_from_its_first_moment():
    with Server(RULES) as server:
        rule = {"resource": "/api/*", "per": "ip", "algorithm": "fixed_window", "limit": "1/1h"}
        assert server.ask("PUT", "/v1/rules/more", rule).status == 201
        send(server, 3, ip="192.0.2.1")
        told = seen(server, 3)
        assert counts_of(rule_of(told, "more")["minute"]) == (3, 1, 2)


def test_on_redis_it_is_the_same():
    with Redis() as redis:
        rules = on(redis, one("api", "fixed_window", 5), "store_deadline: 10s\nworkers: 2\n")
        with Server(rules) as server:
            assert send(server, 12, resource="/api") == 5
            seen(server, 12)
            told = told_of(server, lambda told: names_of(rule_of(told, "api")["top_traffic"]) ==
                           {"u": 12} and rule_of(told, "api")["minute"]["callers_limited"], "whom")
            api = rule_of(told, "api")
            assert counts_of(api["minute"]) == (12, 5, 7)
            assert names_of(api["top_denied"]) == {"u": 7}
            assert api["minute"]["callers"] == 1
            assert api["minute"]["latency_us"]["p50"] > 1
            assert told["store"]["kind"] == "redis" and told["store"]["healthy"] is True
            assert told["store"]["calls"]["ok"] >= 6  # the rest was denied from memory
            redis.kill()
            down = told_of(server, lambda told: not told["store"]["healthy"], "it is down")
            assert down["store"]["why"]
            assert send(server, 3, user="v", resource="/api") == 3  # the policy lets them pass
            told = seen(server, 15)
            assert counts_of(told["decisions"]["minute"]) == (15, 8, 7)
            assert rule_of(told, "api")["minute"]["store_failed"] == 3
            assert names_of(rule_of(told, "api")["top_traffic"]) == {"u": 12}
