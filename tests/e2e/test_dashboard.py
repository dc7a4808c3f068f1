"""The dashboard's views, in a real browser on a real server: figures that move, identifiers that
are looked up, reset and exempt, rules that are edited.

What it is like on a phone, in the dark, by keyboard, with a token and with hostile names is in
test_dashboard_ways.py.
"""

import time

import pytest

from browsing import Page, needs_browser, start_browser
from serving import Server

pytestmark = needs_browser

RULES = """
rules:
  - { name: few, resource: /few, per: user, algorithm: fixed_window, limit: 3/365d }
  - { name: bucket, resource: /api/*, per: user, algorithm: token_bucket, capacity: 100,
      refill_rate: 10, burst_guard: { window: 10s, threshold: 500, penalty: 5m } }
  - { name: login, resource: /login, per: [ip, user], limit: 2/1h, shadow: true }
"""


@pytest.fixture(name="driver", scope="module")
def running_browser():
    driver = start_browser()
    yield driver
    driver.quit()


@pytest.fixture(name="server", scope="module")
def running_server():
    with Server(RULES) as server:
        yield server


@pytest.fixture(name="page")
def opened_page(driver, server):
    page = Page(driver, server)
    yield page
    page.check_manners()


def use(server, times, **request):
    """Asks so often, at once; how many were denied."""
    decisions = server.check([request] * times).json
    return sum(not decision["allowed"] for decision in decisions)


# ---- the overview -----------------------------------------------------------------------


def test_figures_tables_and_the_curve_follow_the_traffic(driver):
    with Server(RULES) as server:
        page = Page(driver, server)
        page.open()
        page.until(lambda: page.status == "Live")
        assert sum(page.until(page.curve)["Denied"]) == 0
        assert use(server, 10, resource="/few", user="moving") == 7
        page.until(lambda: sum(page.curve()["Denied"]) == 7, "a curve that has moved")
        page.until(lambda: page.row("Rules", Rule="few", Checks="10", Denied="7"))
        assert page.row("Rules", Rule="few")["Hit rate"] == "70%"
        assert use(server, 5, resource="/few", user="moving") == 5
        page.until(lambda: page.row("Rules", Rule="few", Checks="15", Denied="12"))
        page.until(lambda: page.row("Top limited", Identifier="moving", Rule="few", Count="12"))
        assert page.tile("Denied") == "80%"
        assert page.tile("Callers limited") == "1"
        assert float(page.tile("Checks a second")) > 0
        for title in ("Median latency", "p99 latency"):
            assert page.tile(title).endswith(("µs", "ms"))
        assert [row["Share of requests"] for row in page.rows("Latency")] == [
            "50 %", "95 %", "99 %", "99.9 %"]
        assert page.row("Bursts", Rule="bucket", Warnings="0", Blocks="0")
        assert page.row("Health", What="Health", State="✓ healthy")
        page.check_manners()


def test_the_curve_is_there_as_a_table_too(page, server):
    use(server, 4, resource="/few", user="read")
    page.open()
    page.until(lambda: page.status == "Live" and sum(page.curve()["Denied"]) > 0)
    page.driver.find_element("css selector", "summary").click()

    def is_the_same():
        rows = page.rows("Over time")
        return len(rows) == 59 and all(
            [int(row[name]) for row in reversed(rows)] == values
            for name, values in page.curve().items())
    page.until(is_the_same)
    page.until(lambda: f"Denied {sum(page.curve()['Denied'])}" in page.run(
        "return document.querySelector('canvas').getAttribute('aria-label')"))


def test_one_rule_or_all_that_deny_can_be_shown(page, server):
    use(server, 2, resource="/few", user="shown")
    page.open()
    page.until(lambda: "few" in page.run(
        "return [...document.querySelector('select').options].map((one) => one.value)"))

    def show(value):
        page.run("const list = document.querySelector('select'); list.value = arguments[0];"
                 "list.dispatchEvent(new Event('change'))", value)
    show("/by-rule")
    assert set(page.curve()) == {"few", "bucket", "login"}
    show("login")
    assert set(page.curve()) == {"Allowed", "Would be denied"}
    time.sleep(1.2)  # the choice stays when new figures come
    assert set(page.curve()) == {"Allowed", "Would be denied"}


def test_hour_and_day_have_their_steps(page, server):
    use(server, 1, resource="/few", user="hour")
    page.open()
    for window, steps in (("hour", 60), ("day", 24), ("minute", 59)):
        page.until(lambda: page.status == "Live")
        page.driver.find_element("css selector", f"input[value={window}]").click()
        page.until(lambda n=steps: len(page.curve()["Allowed"]) == n)
        assert page.address == f"#/?window={window}"
        assert sum(page.curve()["Allowed"]) > 0
        assert page.run("return document.activeElement.value") == window


def test_rules_are_sorted_by_what_is_asked_for(page, server):
    use(server, 6, resource="/api/x", user="sorting")
    page.open()
    for title, down in (("Checks", True), ("Checks", False), ("Rule", True)):
        page.until(lambda: page.rows("Rules"))
        page.click(title)
        rows = page.rows("Rules")
        keys = [row["Rule"] if title == "Rule" else int(row["Checks"].replace(",", ""))
                for row in rows]
        keys = [str(key).removesuffix("shadow") if title == "Rule" else key for key in keys]
        assert keys == sorted(keys, reverse=down)
        state = page.run("return document.querySelector('[aria-sort]:not([aria-sort=none])')"
                         ".getAttribute('aria-sort')")
        assert state == ("descending" if down else "ascending")


def test_of_many_rules_the_busiest_are_shown_and_the_others_can_be_opened(driver):
    many = "".join(f"  - {{ name: r{i}, resource: /r{i}, per: user, limit: 5/1h }}\n"
                   for i in range(60))
    with Server(f"rules:\n{many}") as server:
        page = Page(driver, server)
        use(server, 7, resource="/r57", user="u")
        page.open()
        page.until(lambda: page.row("Rules", Rule="r57", Checks="7", Denied="2"))
        assert len(page.rows("Rules")) == 50
        assert "The 50 busiest of 60 rules." in page.text("main")
        page.fill("rule", "r59")
        page.click("Open")
        page.until(lambda: page.row("Numbers", What="Resource", Value="/r59"))
        page.check_manners()


def test_a_hidden_page_asks_nothing(page):
    hide = """Object.defineProperty(document, "hidden",
                                    { value: arguments[0], configurable: true });
              document.dispatchEvent(new Event("visibilitychange"));"""
    page.open()
    page.until(lambda: page.status == "Live")
    page.run(hide, True)
    page.until(lambda: page.status.startswith("Paused"))
    page.collect()
    page.requests.clear()
    time.sleep(1.5)
    page.collect()
    assert not list(page.urls())
    page.run(hide, False)
    page.until(lambda: page.status == "Live")
    page.collect()
    assert list(page.urls())


def test_a_server_that_went_is_said_and_one_that_came_back_is_heard(driver):
    with Server(RULES) as server:
        page = Page(driver, server)
        page.open()
        page.until(lambda: page.status == "Live")
        port = server.port
    page.until(lambda: page.status.startswith("The server does not answer."))
    assert page.rows("Rules")  # what it had is still there
    with Server(RULES, {"http": f"127.0.0.1:{port}"}) as server:
        page.until(lambda: page.status == "Live")
        use(server, 4, resource="/few", user="again")
        page.until(lambda: page.row("Rules", Rule="few", Checks="4", Denied="1"))
    page.check_manners(expected=["net::ERR_CONNECTION_REFUSED"])


# ---- a rule -----------------------------------------------------------------------------


def test_a_rule_tells_its_numbers_and_its_traffic_against_its_limit(page, server):
    assert use(server, 120, resource="/api/x", user="one") > 10
    page.open("#/")
    page.click("bucket")
    page.until(lambda: page.row("Numbers", What="Limit"))
    facts = {row["What"]: row["Value"] for row in page.rows("Numbers")}
    assert facts["Limit"] == "100 at once, 10 a second"
    assert facts["Algorithm"] == "token_bucket"
    assert facts["Counts per"] == "user"
    assert facts["Resource"] == "/api/*"
    assert facts["Comes from"] == "the rules file"
    page.until(lambda: sum(page.curve()["Denied"]) > 10)
    assert set(page.curve()["One caller's limit, used evenly"]) == {10}
    minute = page.row("Figures", Last="minute")
    assert int(minute["Allowed"]) + int(minute["Denied"]) == int(minute["Checks"])
    assert [row["Last"] for row in page.rows("Figures")] == ["minute", "hour", "day"]
    assert page.row("Top denied", Identifier="one")
    assert page.row("Top traffic", Identifier="one")
    assert page.row("Room", In_use="at most", Share="100%")
    page.click("one")
    page.until(lambda: page.verdict)
    assert page.address.startswith("#/look?") and "user=one" in page.address


def test_a_rule_that_is_not_there_is_said(page):
    page.open("#/rule/nobody")
    page.until(lambda: page.run("return !document.querySelector('p.note').hidden"))
    assert "no such rule" in page.text("p.note")


# ---- looking up -------------------------------------------------------------------------


def look_up(page, **request):
    page.open("#/look")
    for name, value in request.items():
        page.fill(name, value)
    page.click("Look up", "form")
    page.until(lambda: page.verdict)


def test_somebody_limited_is_found_reset_and_passes(page, server):
    who = {"resource": "/few", "user": "limited"}
    assert use(server, 4, **who) == 1
    look_up(page, **who)
    page.until(lambda: page.verdict == "Limited by few.")
    row = page.row("How it stands", Rule="few")
    assert row["State"] == "✗ limited: the limit is used up"
    assert row["Remaining"] == "0 of 3"
    assert row["Until"].startswith("passes again ") and " d " in row["Until"]
    assert row["Asked"] == "yes"
    assert page.row("How it stands", Rule="bucket", Asked="not by this request",
                    Remaining="100 of 100")
    page.click("Reset")
    page.confirm("Cancel")
    assert use(server, 1, **who) == 1
    page.click("Reset")
    page.confirm("Reset")
    page.until(lambda: page.note == "Forgotten: few.")
    page.until(lambda: page.verdict == "Not limited.")
    assert page.row("How it stands", Rule="few", Remaining="3 of 3")
    assert use(server, 1, **who) == 0


def test_the_time_that_is_left_is_counted_down(page, server):
    assert use(server, 150, resource="/api/x", user="waiting") > 10
    look_up(page, user="waiting", resource="/api/x")

    def left():
        row = page.row("How it stands", Rule="bucket")
        return row["Until"].split("(in ")[1]
    first = page.until(left)
    page.until(lambda: left() != first, "another number of seconds")


def test_somebody_is_exempt_with_a_reason_and_an_end_and_no_longer(page, server):
    who = {"tenant": "acme", "user": "vip", "resource": "/few"}
    assert use(server, 4, **who) == 1
    look_up(page, **who)
    page.until(lambda: page.row("Exemption", Who="user acme/vip", State="not exempt by itself"))
    page.click("Exempt…")
    page.fill("reason", "load test <b>")
    page.choose("span", "3600")
    page.confirm("Exempt")
    page.until(lambda: page.verdict.startswith("Exempt:"))
    listed = server.ask("GET", "/v1/exemptions").json["exemptions"]
    one = next(one for one in listed if one["value"] == "acme/vip")
    assert one["kind"] == "user" and one["reason"] == "load test <b>"
    assert abs(one["until"] - time.time() - 3600) < 60
    page.until(lambda: "because: load test <b>" in page.rows("Exemption")[0]["State"])
    assert server.check(who).json["reason"] == "exempt"
    page.click("End the exemption")
    page.confirm("End it")
    page.until(lambda: page.verdict == "Limited by few.")
    assert use(server, 1, **who) == 1


def test_a_reset_of_an_address_and_a_user_together_is_that_of_the_shadow_rule(page, server):
    who = {"ip": "192.0.2.1", "user": "both", "resource": "/login"}
    use(server, 3, **who)
    look_up(page, **who)
    page.until(lambda: page.row("How it stands", Rule="login (shadow)")["State"]
               == "◇ would be denied: the limit is used up")
    assert page.verdict == "Not limited."
    page.open("#/rule/login")
    page.click("192.0.2.1 + both")
    page.until(lambda: page.rows("How it stands"))
    assert [row["Rule"] for row in page.rows("How it stands")] == ["login (shadow)"]
    assert page.run("return document.querySelector('[name=ip]').value") == "192.0.2.1"


# ---- editing ----------------------------------------------------------------------------


def text_of(page):
    return page.run("return document.querySelector('textarea').value")


def in_force(server, name):
    rules = {rule["name"]: rule for rule in server.ask("GET", "/v1/rules").json["rules"]}
    return rules.get(name)


def test_a_rule_is_checked_tried_as_a_shadow_put_in_force_and_taken_back(page, server):
    page.open("#/edit/few")
    page.until(lambda: '"3/365d"' in text_of(page))
    page.fill("limit", "nonsense")
    page.click("Check")
    page.until(lambda: "rule `few`" in page.note and "limit" in page.note)
    page.fill("limit", "2/365d")
    assert '"2/365d"' in text_of(page)
    page.click("Check")
    page.until(lambda: page.note.startswith("It is good, and would replace the rule."))
    assert in_force(server, "few")["rule"]["limit"] == "3/365d"
    page.click("Try as shadow first")
    page.until(lambda: page.note.startswith("It is tried as few-preview, and denies nothing."))
    tried = in_force(server, "few-preview")["rule"]
    assert tried["shadow"] is True and tried["limit"] == "2/365d"
    assert use(server, 3, resource="/few", user="trying") == 0
    page.click("See both beside each other")
    page.until(lambda: len(page.rows("Shadow and enforced") or ()) == 2)
    both = page.rows("Shadow and enforced")
    assert [row["Rule"] for row in both] == ["few (in force)", "few-preview (shadow)"]
    page.until(lambda: page.rows("Shadow and enforced")[1]["Hit rate, last minute"] == "33.3%")
    page.click("Edit it")
    page.click("Take over the preview's text")
    assert '"2/365d"' in text_of(page) and "shadow" not in text_of(page)
    page.click("Put in force")
    page.confirm("Put in force")
    page.until(lambda: page.note.startswith("few is in force."))
    assert in_force(server, "few")["rule"]["limit"] == "2/365d"
    assert use(server, 3, resource="/few", user="enforced") == 1
    page.click("End the preview")
    page.confirm("End it")
    page.until(lambda: page.note == "few-preview is gone.")
    assert in_force(server, "few-preview") is None
    page.click("Undo: back to the rules file")
    page.confirm("Undo")
    page.until(lambda: page.note == "few is again what the rules file says.")
    assert in_force(server, "few")["rule"]["limit"] == "3/365d"
    assert '"3/365d"' in text_of(page)
    page.check_manners(expected=["422"])
    page.messages.clear()


def test_what_somebody_else_changed_meanwhile_is_not_overwritten(page, server):
    page.open("#/edit/bucket")
    page.until(lambda: "token_bucket" in text_of(page))
    page.fill("capacity", "50")
    body = {**in_force(server, "bucket")["rule"], "capacity": 70}
    assert server.ask("PUT", "/v1/rules/bucket", body).status == 200
    page.click("Put in force")
    page.confirm("Put in force")
    page.until(lambda: "changed meanwhile" in page.note)
    assert in_force(server, "bucket")["rule"]["capacity"] == 70
    assert server.ask("DELETE", "/v1/rules/bucket?undo=true").status == 200
    page.check_manners(expected=["412"])
    page.messages.clear()


def test_a_new_rule_is_made_and_deleted(page, server):
    page.open("#/edit")
    page.until(lambda: "per" in text_of(page))
    page.click("Put in force")
    page.until(lambda: page.note == "Give the rule a name.")
    page.fill("name", "made-here")
    page.click("Put in force")
    page.confirm("Put in force")
    page.until(lambda: page.note.startswith("made-here is in force."))
    assert in_force(server, "made-here")["rule"]["per"] == "user"
    page.click("Undo: delete it")
    page.confirm("Undo")
    page.until(lambda: page.note == "made-here is gone.")
    assert in_force(server, "made-here") is None


def test_a_tenants_own_rule_is_seen_and_edited_where_it_is(page, server):
    assert server.ask("PUT", "/v1/tenants/acme", {}).status == 201
    own = {"per": "user", "algorithm": "fixed_window", "limit": "2/365d"}
    assert server.ask("PUT", "/v1/tenants/acme/rules/own", own).status == 201
    assert use(server, 5, tenant="acme", user="theirs") == 3
    page.open("#/")
    page.click("acme/own")
    page.until(lambda: page.row("Top denied", Identifier="acme/theirs", Count="3"))
    page.click("Edit it")
    page.until(lambda: '"2/365d"' in text_of(page))
    page.fill("limit", "6/365d")
    page.click("Put in force")
    page.confirm("Put in force")
    page.until(lambda: page.note.startswith("acme/own is in force."))
    now = server.ask("GET", "/v1/tenants/acme/rules/own").json["rule"]["limit"]
    assert now == "6/365d"
    page.click("Try as shadow first")
    page.until(lambda: page.note.startswith("It is tried as acme/own-preview"))
    assert server.ask("DELETE", "/v1/tenants/acme").status == 200


# ---- events -----------------------------------------------------------------------------


def test_events_are_shown_and_filtered(page, server):
    use(server, 4, resource="/few", user="audited")
    server.ask("POST", "/v1/exemptions", {"kind": "user", "value": "told", "reason": "so"})
    page.open("#/")
    page.until(lambda: page.row("Recent events", Event="rate_limit_whitelist_added"))
    page.click("All events")
    page.until(lambda: page.row("Events", Event="rate_limit_exceeded", Identifier="audited",
                                Rule="few", Severity="⚠ warning"))
    page.choose("event", "rate_limit_whitelist_added")
    page.click("Show")
    page.until(lambda: {row["Event"] for row in page.rows("Events")}
               == {"rate_limit_whitelist_added"})
    assert "event=rate_limit_whitelist_added" in page.address
    assert "reason: so" in page.rows("Events")[0]["Figures"]
