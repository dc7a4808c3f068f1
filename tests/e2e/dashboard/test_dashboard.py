"""The dashboard's figures, in a real browser on a real server: the overview, a rule, the events.

Looking up is in test_dashboard_look.py, editing in test_dashboard_edit.py; what it is like on a
phone, in the dark, by keyboard, with a token and with hostile names in test_dashboard_access.py.
"""

import time

import pytest

from browsing import Page, needs_browser, use
from redis_running import Redis
from serving import Server
from watching import is_sanitized

# What the server does for it is in the other files, and in those of statistics, audit and admin.
pytestmark = [needs_browser, pytest.mark.skipif(is_sanitized(), reason="about the page alone")]

RULES = """
rules:
  - { name: few, resource: /few, per: user, algorithm: fixed_window, limit: 3/365d }
  - { name: bucket, resource: /api/*, per: user, algorithm: token_bucket, capacity: 100,
      refill_rate: 10, burst_guard: { window: 10s, threshold: 500, penalty: 5m } }
  - { name: login, resource: /login, per: [ip, user], limit: 2/1h, shadow: true }
"""
NUMBERS = """
  - { name: short, resource: /numbers, per: user, limit: 10/500ms }
  - { name: odd, resource: /numbers, per: user, capacity: 1000, window: 3601 }
  - { name: drops, resource: /numbers, per: user, algorithm: token_bucket, capacity: 5,
      refill_rate: 1234.5 }
"""


@pytest.fixture(name="server", scope="module")
def running_server():
    with Server(RULES + NUMBERS) as server:
        yield server


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
    assert {"few", "bucket", "login"} <= set(page.curve())
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
        for part in ("Top limited", "Bursts"):
            assert "Only of the 50 busiest of 60 rules." in page.part(part)
        assert "by the 50 busiest of 60 rules" in page.text(".tiles")
        page.fill("rule", "r59")
        page.click("Open")
        page.until(lambda: page.row("Numbers", What="Resource", Value="/r59"))
        page.check_manners()


def test_what_is_not_known_is_not_said_to_be_none(driver):
    with Server(f"statistics: false\n{RULES}") as server:
        page = Page(driver, server)
        assert use(server, 5, resource="/few", user="u") == 2
        page.open()
        page.until(lambda: page.row("Rules", Rule="few", Denied="2", Callers="–", Limited="–"))
        assert page.tile("Callers limited") == page.tile("Burst blocks") == "–"
        assert page.row("Bursts", Rule="bucket", Warnings="–", Blocks="–")
        assert "Not known" in page.part("Top limited")
        page.open("#/rule/few")
        page.until(lambda: page.row("Figures", Last="minute", Denied="2", Callers="–"))
        assert "Not known" in page.part("Top denied")
        page.check_manners()


def test_a_table_is_meant_for_half_as_many_keys_as_it_has_slots(page, server):
    slots = server.ask("GET", "/v1/stats").json["store"]["table"]["slots"]
    page.open()
    page.until(lambda: page.rows("Health"))
    kept = {row["What"]: row["State"] for row in page.rows("Health")}["Counts kept"]
    assert kept.endswith(f" of {slots // 2:,}")


def test_the_table_beside_redis_is_said_to_be_for_when_that_is_away(driver):
    with Redis() as redis, Server(f"store: {redis.url()}\non_store_failure: local\n{RULES}") \
            as server:
        page = Page(driver, server)
        use(server, 1, resource="/few", user="u")
        page.open()
        page.until(lambda: page.rows("Health"))
        names = [row["What"] for row in page.rows("Health")]
        assert "Counts kept, in the table for when Redis is away" in names
        assert "Counts kept" not in names
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


@pytest.mark.parametrize("name, words", [
    ("short", "10 in 500 ms"), ("odd", "1,000 in 1 h 1 s"),
    ("drops", "5 at once, 1,234.5 a second")])
def test_the_numbers_of_a_limit_are_exact(page, name, words):
    page.open(f"#/rule/{name}")
    page.until(lambda: page.row("Numbers", What="Limit"))
    assert page.row("Numbers", What="Limit")["Value"] == words


def test_a_rule_that_is_not_there_is_said(page):
    page.open("#/rule/absent")
    page.until(lambda: page.run("return !document.querySelector('p.note').hidden"))
    assert "no such rule" in page.text("p.note")


def test_a_rule_that_goes_while_it_is_looked_at_is_said(page, server):
    assert server.ask("PUT", "/v1/rules/brief", {"per": "user", "limit": "1/1h"}).status == 201
    page.open("#/rule/brief")
    page.until(lambda: page.row("Numbers", What="Limit"))
    assert server.ask("DELETE", "/v1/rules/brief").status == 200
    page.until(lambda: page.run("return !document.querySelector('p.note').hidden"))
    assert page.status == "Live"
    page.check_manners(expected=["404"])
    page.messages.clear()


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


def test_events_of_a_name_with_a_space_are_found(page, server):
    use(server, 4, resource="/few", user="two words+more")
    page.open("#/audit")
    page.fill("identifier", "two words+more")
    page.click("Show")
    page.until(lambda: page.address.startswith("#/audit?") and page.rows("Events"))
    assert {row["Identifier"] for row in page.rows("Events")} == {"two words+more"}


def test_a_question_about_events_that_is_refused_is_told_once(page):
    page.open("#/audit?severity=none-of-them")
    page.until(lambda: "severity" in page.note)
    assert page.status == "Live"
    page.check_manners(expected=["422"])
    page.messages.clear()
