"""The alerts of packaging/: each goes off when it should and only then, by promtool's own tests."""

import json
import re

import pytest
from prometheus import ALERTS, promtool


def of_a(name, **labels):
    labels = {"job": "sluice", "instance": "a", **labels}
    return name + "{" + ",".join(f'{key}="{value}"' for key, value in labels.items()) + "}"


# Alert: what must make it go off, what must not, each [(series, its values every minute)].
CASES = {
    "SluiceDown": ([("up", {}, "0x30")], [("up", {}, "1x30")]),
    "SluiceHitRateHigh": (
        [("sluice_rule_decisions_total", {"rule": "api", "outcome": "allowed"}, "0+980x30"),
         ("sluice_rule_decisions_total", {"rule": "api", "outcome": "denied"}, "0+20x30")],
        [("sluice_rule_decisions_total", {"rule": "api", "outcome": "allowed"}, "0+995x30"),
         ("sluice_rule_decisions_total", {"rule": "api", "outcome": "denied"}, "0+5x30")]),
    "SluiceCallersLimited": (
        [("sluice_rule_callers", {"rule": "api", "span": "hour"}, "100x30"),
         ("sluice_rule_callers_limited", {"rule": "api", "span": "hour"}, "20x30")],
        [("sluice_rule_callers", {"rule": "api", "span": "hour"}, "3x30"),
         ("sluice_rule_callers_limited", {"rule": "api", "span": "hour"}, "1x30")]),
    "SluiceBurstsBlocked": (
        [("sluice_burst_blocks_total", {"rule": "api"}, "0+1x30")],
        [("sluice_burst_blocks_total", {"rule": "api"}, "7x30")]),
    "SluiceLatencyHigh": (
        [("sluice_decision_duration_seconds_bucket", {"algorithm": "x", "le": "0.001"},
          "0+100x70 7000x30"),
         ("sluice_decision_duration_seconds_bucket", {"algorithm": "x", "le": "1"},
          "0+100x100"),
         ("sluice_decision_duration_seconds_bucket", {"algorithm": "x", "le": "+Inf"},
          "0+100x100")],
        [("sluice_decision_duration_seconds_bucket", {"algorithm": "x", "le": "0.001"}, "0+100x100"),
         ("sluice_decision_duration_seconds_bucket", {"algorithm": "x", "le": "+Inf"},
          "0+100x100")]),
    "SluiceStoreFailing": (
        [("sluice_store_calls_total", {"result": "ok"}, "0+90x30"),
         ("sluice_store_calls_total", {"result": "late"}, "0+10x30")],
        [("sluice_store_calls_total", {"result": "ok"}, "0+1000x30"),
         ("sluice_store_calls_total", {"result": "late"}, "0+1x30")]),
    "SluiceBreakerOpen": (
        [("sluice_store_breaker", {"state": "open"}, "1x30")],
        [("sluice_store_breaker", {"state": "closed"}, "2x30"),
         ("sluice_store_breaker", {"state": "open"}, "0x30")]),
    "SluiceTableFilling": (
        [("sluice_table_slots", {}, "1000x30"), ("sluice_table_live", {}, "450x30")],
        [("sluice_table_slots", {}, "1000x30"), ("sluice_table_live", {}, "350x30")]),
    "SluiceTableEvicting": ([("sluice_table_evictions_total", {}, "0+1x30")],
                            [("sluice_table_evictions_total", {}, "9x30")]),
    "SluiceTableFull": ([("sluice_table_full_total", {}, "0+1x30")],
                        [("sluice_table_full_total", {}, "9x30")]),
    "SluiceAuditDropping": ([("sluice_audit_events_total", {"result": "dropped"}, "0+1x30")],
                            [("sluice_audit_events_total", {"result": "written"}, "0+1x30")]),
    "SluiceReloadFailed": ([("sluice_reloads_total", {"result": "failed"}, "0x20 1x10")],
                           [("sluice_reloads_total", {"result": "ok"}, "0x20 1x10")]),
    "SluiceConnectionsRefused": ([("sluice_connections_refused_total", {}, "0+1x30")],
                                 [("sluice_connections_refused_total", {}, "3x30")]),
    "SluiceFilesRunningOut": ([("process_open_fds", {}, "95x30"), ("process_max_fds", {}, "100x30")],
                              [("process_open_fds", {}, "50x30"), ("process_max_fds", {}, "100x30")]),
    "SluiceCredentialsGuessed": (
        [("sluice_callers_refused_total", {"code": "429"}, "0+1x30")],
        [("sluice_callers_refused_total", {"code": "401"}, "0+1x30")]),
}


def asked(alert, series, minutes, is_on):
    """Whether it is on by then, as promtool's own test of rules asks it."""
    expression = f'count(ALERTS{{alertname="{alert}",alertstate="firing"}}) or vector(0)'
    return {"interval": "1m",
            "input_series": [{"series": of_a(name, **labels), "values": values}
                             for name, labels, values in series],
            "promql_expr_test": [{"expr": expression, "eval_time": f"{minutes}m",
                                  "exp_samples": [{"labels": "{}", "value": int(is_on)}]}]}


@pytest.mark.parametrize("alert", CASES)
def test_an_alert_goes_off_when_it_should_and_only_then(tmp_path, alert):
    minutes = 80 if alert == "SluiceLatencyHigh" else 25
    for series, is_on in zip(CASES[alert], (True, False)):
        case = asked(alert, series, minutes, is_on)
        path = tmp_path / f"{is_on}.yaml"
        path.write_text(json.dumps({"rule_files": [str(ALERTS)], "evaluation_interval": "1m",
                                    "tests": [case]}), encoding="utf-8")
        code, said = promtool("test", "rules", path)
        assert code == 0, said


def test_every_alert_has_a_case():
    found = re.findall(r"- alert: (\w+)", ALERTS.read_text(encoding="utf-8"))
    assert sorted(found) == sorted(CASES)
