"""Looking up a user in the dashboard: the counts, a reset, an exemption."""

import time

import pytest

from browsing import Page, needs_browser, use
from serving import Server

pytestmark = needs_browser

RULES = """
rules:
  - { name: few, resource: /few, per: user, algorithm: fixed_window, limit: 3/365d }
  - { name: bucket, resource: /api/*, per: user, algorithm: token_bucket, capacity: 100,
      refill_rate: 10 }
  - { name: login, resource: /login, per: [ip, user], limit: 2/1h, shadow: true }
  - { name: place, resource: /place, per: ip, algorithm: fixed_window, limit: 1/365d }
  - { name: all, resource: /all, per: global, limit: 100/1h }
"""


@pytest.fixture(name="server", scope="module")
def running_server():
    with Server(RULES) as server:
        yield server


def look_up(page, **request):
    page.open("#/look")
    for name, value in request.items():
        page.fill(name, value)
    page.click("Look up", "form")
    page.until(lambda: page.verdict)


def test_a_limited_user_is_found_reset_and_passes(page, server):
    who = {"resource": "/few", "user": "limited"}
    assert use(server, 4, **who) == 1
    look_up(page, **who)
    page.until(lambda: page.verdict == "Limited by few.")
    row = page.row("How it stands", Rule="few")
    assert row["State"] == "✗ limited: the limit is used up"
    assert row["Remaining"] == "0 of 3"
    assert row["Until"].startswith("passes again ") and " d" in row["Until"]
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


def test_a_reset_says_whose_counts_it_forgets(page):
    page.open("#/look?tenant=acme&user=u1&ip=192.0.2.7")
    page.until(lambda: page.row("How it stands", Rule="all"))
    for rule, whom in (("all", "everybody"), ("few", "tenant acme, user u1"),
                       ("place", "ip 192.0.2.7"),
                       ("login", "tenant acme, user u1, ip 192.0.2.7")):
        page.run("document.querySelector(arguments[0]).click()", f"[aria-label='Reset {rule}']")
        words = page.until(lambda: page.text("dialog[open] p"))
        assert words == f"What {rule} has counted for {whom} is forgotten, and so is a block."
        page.confirm("Cancel")
        page.until(lambda: not page.text("dialog"))


def test_a_dialog_ends_with_its_view(page):
    look_up(page, user="asked")
    page.click("Exempt…")
    page.until(lambda: page.text("dialog[open]"))
    page.go("#/audit")
    page.until(lambda: page.text("h1") == "Audit" and page.status == "Live")
    assert page.text("dialog") is None
    assert page.run("return document.activeElement.id") == "main"


def test_a_question_that_is_refused_is_told_once_and_can_be_put_again(page, server):
    page.open("#/look?user=u1&rule=absent")
    page.until(lambda: page.note == "There is no rule `absent`.")
    page.until(lambda: page.status == "Live")
    assert page.rows("How it stands") is None
    assert server.ask("PUT", "/v1/rules/absent", {"per": "user", "limit": "1/1h"}).status == 201
    page.click("Look up", "form")
    page.until(lambda: page.verdict == "Not limited.")
    assert page.note == ""
    assert server.ask("DELETE", "/v1/rules/absent").status == 200
    page.check_manners(expected=["404"])
    page.messages.clear()


def test_a_name_that_no_path_can_hold_is_looked_up_all_the_same(page):
    look_up(page, user="..")
    page.until(lambda: page.row("How it stands", Rule="few"))
    page.until(lambda: page.status == "Live")


# ---- exemptions -------------------------------------------------------------------------


def test_a_user_is_exempt_with_a_reason_and_an_end_and_no_longer(page, server):
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


def test_a_user_that_cannot_be_told_from_another_on_the_list_is_not_exempt(page, server):
    theirs = {"kind": "user", "value": "a/b"}  # user b of tenant a
    assert server.ask("POST", "/v1/exemptions", theirs).status == 201
    for address, who in (("user=a/b", "user a/b"), ("client=a/b", "client a/b"),
                         ("user=c&tenant=a/b", "user a/b/c")):
        page.open(f"#/look?{address}")
        row = page.until(lambda name=who: page.row("Exemption", Who=name))
        assert row["State"] == "not exempt by itself"
        assert "/" in row["Change"] and "Exempt…" not in row["Change"]
    page.open("#/look?user=b/c&tenant=a")  # the first slash is the one that counts
    page.until(lambda: page.row("Exemption", Who="user a/b/c", Change="Exempt…"))


def test_an_address_of_a_list_is_exempt_with_its_network(page, server):
    who = {"resource": "/place", "ip": "2001:db8:1:2::5"}
    assert use(server, 3, **who) == 2
    page.open("#/rule/place")
    page.click("2001:db8:1:2::")
    page.click("Exempt…")
    page.until(lambda: page.run("return document.querySelector('dialog [name=value]').value")
               == "2001:db8:1:2::/64")
    page.confirm("Exempt")
    page.until(lambda: page.verdict.startswith("Exempt:"))
    assert server.check(who).json["reason"] == "exempt"
    page.until(lambda: page.rows("Exemption")[0]["State"].startswith(
        "exempt as 2001:db8:1:2::/64 until "))
    page.open("#/look?ip=2001:DB8:1:2:0::5")  # as people may write it
    page.click("End the exemption")
    page.confirm("End it")
    page.until(lambda: page.row("Exemption", State="not exempt by itself"))
    assert use(server, 1, **who) == 1


def test_one_address_can_be_exempt_and_a_network_suggested(page, server):
    page.open("#/look?ip=2001:db8:9::5")
    page.click("Exempt…")
    page.until(lambda: "2001:db8:9::/64 exempts all of it" in (page.text("dialog") or ""))
    assert page.run("return document.querySelector('dialog [name=value]').value") \
        == "2001:db8:9::5"
    page.fill("value", "2001:db8:9::/48")
    page.confirm("Exempt")
    page.until(lambda: page.row("Exemption", Change="End the exemption"))
    listed = server.ask("GET", "/v1/exemptions").json["exemptions"]
    assert "2001:db8:9::/48" in {one["value"] for one in listed}
    page.open("#/look?ip=192.0.2.9")
    page.click("Exempt…")
    page.fill("value", "192.0.2.9/24")
    page.confirm("Exempt")
    page.until(lambda: "no bits set behind its prefix" in page.note)
    page.check_manners(expected=["422"])
    page.messages.clear()


# ---- digests ----------------------------------------------------------------------------


def not_links(page, title):
    """Identifiers under a heading that lead nowhere, and what is said of each."""
    return page.run("return Object.fromEntries([...[...document.querySelectorAll('section')]"
                    ".find((one) => one.querySelector('h2').textContent === arguments[0])"
                    ".querySelectorAll('td:first-child > span')]"
                    ".map((one) => [one.textContent, one.title]))", title)


def test_what_is_listed_as_a_digest_leads_nowhere(page, server):
    assert use(server, 4, resource="/few", user="long" * 100) == 1
    page.open("#/rule/few")
    texts = page.until(lambda: not_links(page, "Top denied"))
    assert [text[:8] for text in texts] == ["%sha256="]
    assert all("cannot be looked up" in title for title in texts.values())


@pytest.fixture(name="hashed", scope="module")
def server_with_digests():
    with Server(f"hash_identifiers: true\n{RULES}") as server:
        yield server


def test_of_hashed_identifiers_only_all_together_can_be_looked_up(driver, hashed):
    page = Page(driver, hashed)
    assert use(hashed, 4, resource="/few", user="somebody") == 1
    use(hashed, 101, resource="/all")
    page.open()
    page.until(lambda: len(page.rows("Top limited") or ()) == 2)
    assert len(not_links(page, "Top limited")) == 1
    page.click("everybody")
    page.until(lambda: page.verdict == "Limited by all.")
    page.open("#/rule/few")
    page.until(lambda: not_links(page, "Top denied") and not_links(page, "Top traffic"))
    page.check_manners()


def test_an_exemption_that_is_kept_as_a_digest_is_found_and_ended(driver, hashed):
    page = Page(driver, hashed)
    page.open("#/look?user=vip&tenant=acme&rule=few")
    page.click("Exempt…")
    page.confirm("Exempt")
    page.until(lambda: page.verdict.startswith("Exempt:"))
    page.until(lambda: page.row("Exemption", Change="End the exemption"))
    page.open("#/look?user=vip&tenant=acme&rule=few")  # a user that was not seen before
    page.click("End the exemption")
    page.confirm("End it")
    page.until(lambda: page.verdict == "Not limited.")
    page.until(lambda: page.row("Exemption", Change="Exempt…"))
    assert hashed.ask("GET", "/v1/exemptions").json["exemptions"] == []
    page.check_manners()
