"""Editing rules in the dashboard: checked, tried as a shadow, put in force, taken back; and what
another admin does meanwhile.
"""

import pytest

from browsing import needs_browser, use
from serving import Server

pytestmark = needs_browser

RULES = """
rules:
  - { name: few, resource: /few, per: user, algorithm: fixed_window, limit: 3/365d }
  - { name: bucket, resource: /api/*, per: user, algorithm: token_bucket, capacity: 100,
      refill_rate: 10 }
  - { name: taken, resource: /taken, per: user, limit: 5/1h }
  - { name: taken-preview, resource: /taken, per: user, limit: 50/1d }
  - { name: tried, resource: /tried, per: user, limit: 5/1h }
  - { name: tried-preview, resource: /tried, per: user, limit: 4/1h, shadow: true }
  - { name: FITS, resource: /long, per: user, limit: 5/1h }
  - { name: LONG, resource: /long, per: user, limit: 6/1h }
""".replace("FITS", "f" * 56).replace("LONG", "l" * 57)


@pytest.fixture(name="server", scope="module")
def running_server():
    with Server(RULES) as server:
        yield server


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


def test_what_another_admin_changed_meanwhile_is_not_overwritten(page, server):
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


# ---- another admin's changes meanwhile --------------------------------------------------


def change(server, name, **members):
    """A colleague changes these of a rule, or makes it."""
    now = in_force(server, name)
    body = {**(now["rule"] if now else {}), **members}
    assert server.ask("PUT", f"/v1/rules/{name}", body).status in (200, 201)


def put_in_force(page):
    page.click("Put in force")
    page.confirm("Put in force")


def test_neither_a_check_nor_a_try_makes_an_old_text_a_new_one(page, server):
    page.open("#/edit/bucket")
    page.until(lambda: "token_bucket" in text_of(page))
    page.fill("capacity", "50")
    change(server, "bucket", capacity=70)
    page.click("Check")
    page.until(lambda: page.note.startswith("It is good"))
    page.click("Try as shadow first")
    page.until(lambda: page.note.startswith("It is tried as"))
    put_in_force(page)
    page.until(lambda: "changed meanwhile" in page.note)
    assert in_force(server, "bucket")["rule"]["capacity"] == 70
    page.click("Load what is in force, drop this text")
    page.until(lambda: '"capacity": 70' in text_of(page))
    for capacity in (60, 61):  # and then again: the answer to one's own change is the newest
        page.fill("capacity", str(capacity))
        put_in_force(page)
        page.until(lambda: page.note.startswith("bucket is in force."))
        page.until(lambda n=capacity: in_force(server, "bucket")["rule"]["capacity"] == n)
        page.run("document.querySelector('.notes').replaceChildren()")
    page.check_manners(expected=["412"])
    page.messages.clear()


def test_a_new_rule_does_not_replace_one_that_was_made_meanwhile(page, server):
    page.open("#/edit")
    page.until(lambda: "per" in text_of(page))
    page.fill("name", "late")
    page.click("Check")
    page.until(lambda: page.note.startswith("It is good, and would create"))
    change(server, "late", per="ip", limit="7/1h")
    put_in_force(page)
    page.until(lambda: "there already" in page.note and "not seen here" in page.note)
    assert in_force(server, "late")["rule"]["limit"] == "7/1h"
    page.check_manners(expected=["412"])
    page.messages.clear()


def test_a_rule_that_limits_is_no_preview(page, server):
    page.open("#/edit/taken")
    page.until(lambda: '"5/1h"' in text_of(page))
    page.click("Try as shadow first")
    page.until(lambda: "taken-preview is a rule in force" in page.note)
    assert in_force(server, "taken-preview")["source"] == "file"
    for text in ("Take over the preview's text", "End the preview"):
        assert page.button(text) is None


def test_another_admins_preview_is_seen_before_it_is_replaced(page, server):
    page.open("#/edit/few")
    page.until(lambda: '"3/365d"' in text_of(page))
    change(server, "few-preview", per="user", limit="9/1h", shadow=True)
    page.fill("limit", "2/365d")
    page.click("Try as shadow first")
    page.until(lambda: "there already" in page.note)
    assert in_force(server, "few-preview")["rule"]["limit"] == "9/1h"
    page.click("Look for it")
    page.until(lambda: page.button("Take over the preview's text"))
    change(server, "few-preview", limit="8/1h")
    page.click("End the preview")
    page.confirm("End it")
    page.until(lambda: "changed meanwhile" in page.note)
    assert in_force(server, "few-preview")["rule"]["limit"] == "8/1h"
    page.click("Look for it")
    page.until(lambda: page.note == "")
    page.click("Try as shadow first")
    page.until(lambda: page.note.startswith("It is tried as few-preview"))
    assert in_force(server, "few-preview")["rule"]["limit"] == "2/365d"
    assert server.ask("DELETE", "/v1/rules/few-preview").status == 200
    page.check_manners(expected=["412"])
    page.messages.clear()


def test_the_end_of_a_preview_leaves_what_the_rules_file_says(page, server):
    page.open("#/edit/tried")
    page.until(lambda: page.button("Take over the preview's text"))
    assert page.button("End the preview") is None  # it is the file's
    page.click("Try as shadow first")
    page.until(lambda: page.note.startswith("It is tried as tried-preview"))
    assert in_force(server, "tried-preview")["rule"]["limit"] == "5/1h"
    page.click("End the preview")
    page.confirm("End it")
    page.until(lambda: page.note == "tried-preview is again what the rules file says.")
    assert in_force(server, "tried-preview")["rule"]["limit"] == "4/1h"


# ---- names ------------------------------------------------------------------------------


def test_a_rule_is_tried_where_the_name_of_its_preview_is_not_too_long(page):
    for name, is_offered in (("f" * 56, True), ("l" * 57, False)):
        page.open(f"#/edit/{name}")
        page.until(lambda: page.status == "Ready" and "/long" in text_of(page))
        assert bool(page.button("Try as shadow first")) == is_offered


def test_of_a_name_with_slashes_nothing_is_lost(page, server):
    assert server.ask("PUT", "/v1/tenants/own", {}).status == 201
    page.open("#/edit")
    page.until(lambda: "per" in text_of(page))
    page.fill("name", "own/rule/more")
    put_in_force(page)
    page.until(lambda: "A rule's name has" in page.note)
    assert server.ask("GET", "/v1/tenants/own/rules").json["rules"] == []
    page.check_manners(expected=["422"])
    page.messages.clear()
