"""Ways to use the dashboard: with a token and without, on a phone, in the dark, by keyboard, by
ear, and with names that were made to do harm."""

import re

import pytest

from browsing import Keys, Page, needs_browser
from openapi_calls import READER, TOKEN, start
from serving import Server
from watching import is_sanitized

# It is about the page and not about the server, in which a sanitizer would look for faults.
pytestmark = [needs_browser, pytest.mark.skipif(is_sanitized(), reason="about the page alone")]

RULES = """
identity: { headers: { user: X-User } }
rules:
  - { name: few, resource: /few, per: user, algorithm: fixed_window, limit: 3/365d }
  - { name: place, resource: /place/*, per: resource, algorithm: fixed_window, limit: 1/365d }
  - { name: LONG, resource: /long, per: user, limit: 5/1h }
""".replace("LONG", "a_name_as_long_as_it_may_be".ljust(64, "_"))
LIMITED = {"resource": "/few", "user": "limited"}
VIEWS = ["#/", "#/?window=day", "#/rule/few", "#/look?user=limited&resource=/few", "#/audit",
         "#/edit/few", "#/edit"]
REFUSALS = ["401 (Unauthorized)", "403 (Forbidden)"]


@pytest.fixture(name="server", scope="module")
def running_server():
    with Server(RULES) as server:
        for _ in range(5):
            server.check(LIMITED)
        yield server


def is_shown(page):
    """The view has been filled by an answer."""
    return page.status in ("Live", "Ready")


# ---- access -----------------------------------------------------------------------------


@pytest.fixture(name="guarded", scope="module")
def server_with_tokens(tmp_path_factory):
    with start(tmp_path_factory.mktemp("tokens"), f"admin: {{ token_file: token, "
               f"readonly_token_file: reader }}\n{RULES}") as server:
        yield server


def give_token(page, token):
    page.until(lambda: page.text("h1") == "Who is asking?")
    page.driver.find_element("css selector", "input[type=password]").send_keys(token, Keys.ENTER)


def test_a_token_is_asked_for_and_kept_for_this_tab_alone(driver, guarded):
    page = Page(driver, guarded)
    page.open("#/edit/few")
    give_token(page, "a-wrong-token-of-somebody")
    page.until(lambda: "neither" in page.note or "token" in page.note)
    give_token(page, TOKEN)
    page.until(lambda: is_shown(page))
    assert page.address == "#/edit/few"  # where it was going
    page.driver.refresh()
    page.until(lambda: is_shown(page))
    kept = page.run("return [Object.values(sessionStorage), Object.values(localStorage),"
                    "document.cookie]")
    assert kept == [[TOKEN], [], ""]
    assert TOKEN not in page.run("return document.documentElement.outerHTML")
    page.fill("limit", "4/365d")
    page.click("Put in force")
    page.confirm("Put in force")
    page.until(lambda: page.note.startswith("few is in force."))
    page.click("Forget the token")
    page.until(lambda: page.text("h1") == "Who is asking?")
    assert page.run("return sessionStorage.length") == 0
    page.check_manners(expected=REFUSALS)


def test_the_readers_token_looks_and_is_told_that_it_changes_nothing(driver, guarded):
    page = Page(driver, guarded)
    page.open("#/look?user=limited&resource=/few")
    give_token(page, READER)
    page.until(lambda: page.verdict)
    page.click("Reset")
    page.confirm("Reset")
    page.until(lambda: page.note == "That token may only look.")
    page.click("Exempt…")
    page.confirm("Exempt")
    page.until(lambda: page.note == "That token may only look.")
    assert page.verdict  # and goes on looking
    page.go("#/edit/few")
    page.until(lambda: is_shown(page))
    page.click("Put in force")
    page.confirm("Put in force")
    page.until(lambda: page.note == "That token may only look.")
    page.go("#/")
    page.until(lambda: page.rows("Rules"))
    page.check_manners(expected=REFUSALS)


# ---- large and small, light and dark ----------------------------------------------------


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_no_view_is_wider_than_the_screen(page, width):
    page.size(width, 700)
    for view in VIEWS:
        page.open(view)
        page.until(lambda: is_shown(page))
        page.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        wide = page.run("return [document.documentElement.scrollWidth, innerWidth]")
        assert wide[0] <= wide[1], (view, wide)


def test_buttons_can_be_hit_by_a_thumb(page):
    page.size(320, 700)
    for view in VIEWS:
        page.open(view)
        page.until(lambda: is_shown(page))
        heights = page.run("return [...document.querySelectorAll('main button:not(.sort), nav a')]"
                           ".filter((one) => one.checkVisibility())"
                           ".map((one) => one.getBoundingClientRect().height)")
        assert min(heights) >= 32, view


def luminance(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
              for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_good_in_light_and_dark_and_the_curve_follows(page):
    seen = {}
    names = ["text", "faint", "link", "bad", "good", "allowed", "denied", "would", "other"]
    for scheme in ("light", "dark"):
        page.prefer(scheme)
        page.open()
        page.until(lambda: is_shown(page) and page.curve())
        colours = page.run("const style = getComputedStyle(document.documentElement);"
                           "return Object.fromEntries([...arguments[0], 'page', 'raised'].map("
                           "(name) => [name, style.getPropertyValue(`--${name}`).trim()]))", names)
        colours = {name: colour if len(colour) == 7 else f"#{''.join(2 * c for c in colour[1:])}"
                   for name, colour in colours.items()}
        for name in names:
            least = 4.5 if name in ("text", "faint", "link", "bad", "good") else 3
            for ground in ("page", "raised"):
                assert contrast(colours[name], colours[ground]) >= least, (scheme, name, ground)
        assert page.run("return Chart.getChart(document.querySelector('canvas')).data.datasets[0]"
                        ".borderColor") == colours["allowed"]
        seen[scheme] = colours
    page.prefer("light")  # while it is open
    page.until(lambda: page.run("return Chart.getChart(document.querySelector('canvas'))"
                                ".data.datasets[0].borderColor") == seen["light"]["allowed"])
    assert luminance(seen["dark"]["page"]) < 0.05 < 0.9 < luminance(seen["light"]["page"])


def test_lines_differ_by_more_than_colour(page):
    page.open()
    page.until(lambda: is_shown(page) and page.curve())
    styles = page.run("return Chart.getChart(document.querySelector('canvas')).data.datasets.map("
                      "(one) => [one.borderDash.join(), one.pointStyle])")
    assert len({dash for dash, _ in styles}) == len({mark for _, mark in styles}) == len(styles)


# ---- by keyboard, by ear ----------------------------------------------------------------


def tab_to(page, name, most=60):
    """Goes on with the tabulator until that has the focus, which is seen."""
    for _ in range(most):
        if page.focused() == name:
            assert page.run("return getComputedStyle(document.activeElement).outlineStyle") \
                == "solid", f"the focus on {name} is not seen"
            return
        page.press(Keys.TAB)
    raise AssertionError(f"no way to {name}; at {page.focused()}")


def test_the_main_flow_goes_by_keyboard_alone(page, server):
    for _ in range(4):
        server.check({"resource": "/few", "user": "keys"})
    page.open()
    page.until(lambda: is_shown(page))
    page.press(Keys.TAB)
    assert page.focused() == "To the content"
    page.press(Keys.ENTER)
    assert page.run("return document.activeElement.id") == "main"
    page.open()
    page.until(lambda: is_shown(page))
    tab_to(page, "Look up")
    page.press(Keys.ENTER)
    page.until(lambda: page.address == "#/look")
    tab_to(page, "User")
    page.press("keys")
    tab_to(page, "Resource")
    page.press("/few", Keys.ENTER)
    page.until(lambda: page.verdict == "Limited by few.")
    tab_to(page, "Reset few")
    page.press(Keys.ENTER)
    page.until(lambda: page.focused() == "Cancel")  # the safe answer is at hand
    page.press(Keys.ESCAPE)
    page.until(lambda: page.focused() == "Reset few")  # and back where it was
    page.press(Keys.ENTER)
    page.until(lambda: page.focused() == "Cancel")
    page.press(Keys.TAB, Keys.ENTER)
    page.until(lambda: page.verdict == "Not limited.")
    assert page.focused() == "Reset few"


def test_what_had_the_focus_keeps_it_while_figures_come_in(page, server):
    page.open()
    page.until(lambda: page.rows("Rules")[0]["Rule"] == "few")
    tab_to(page, "place")
    for _ in range(200):
        server.check({"resource": "/place/a"})
    page.until(lambda: page.rows("Rules")[0]["Rule"] == "place")  # its row was moved
    assert page.focused() == "place"


NAMED = {"button", "link", "textbox", "combobox", "radio", "checkbox", "table", "img", "region"}


@pytest.mark.parametrize("view", VIEWS)
def test_everything_that_can_be_used_has_a_name_for_screen_readers(page, view):
    page.open(view)
    page.until(lambda: is_shown(page))
    page.driver.execute_cdp_cmd("Accessibility.enable", {})
    nodes = page.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    roles = [(node["role"]["value"], node.get("name", {}).get("value", "").strip())
             for node in nodes if not node["ignored"]]
    nameless = [role for role, name in roles if role in NAMED and not name]
    assert not nameless, nameless
    assert [name for role, name in roles if role == "heading"]
    assert {"main", "navigation", "status"} <= {role for role, _ in roles}


# ---- names made to do harm --------------------------------------------------------------


HOSTILE = ["<img src=x onerror=\"document.title='harm'\">",
           "\"'><script>document.title='harm'</script>", "{{7*7}}${7*7}", "javascript:alert(1)",
           "a/b?c=d&e#f%41", "line\nbreak\ttab", "\u202egnp.exe", "zero\u200bwidth",
           "filled\u3164", "tagged\U000e0041",
           "naïve-日本-🙂", "x" * 200, "-", "%", ":"]


def test_hostile_names_are_text_and_lead_to_their_users(page, server):
    for user in HOSTILE:
        for _ in range(5):
            server.check({"resource": "/few", "user": user, "tenant": "<b>t</b>"})
    page.open("#/rule/few")
    page.until(lambda: len(page.rows("Top denied") or ()) >= len(HOSTILE))
    shown = [row["Identifier"] for row in page.rows("Top denied")]
    assert f"<b>t</b>/{HOSTILE[0]}"[:47] + "…" in shown
    assert "<b>t</b>/-" in shown  # one user, not all of them
    assert "<b>t</b>/line␊break␉tab" in shown
    assert "<b>t</b>/‹U+202E›gnp.exe" in shown
    assert "<b>t</b>/zero‹U+200B›width" in shown
    assert "<b>t</b>/filled‹U+3164›" in shown
    assert "<b>t</b>/tagged‹U+E0041›" in shown
    assert "<b>t</b>/naïve-日本-🙂" in shown
    long = next(text for text in shown if "xxxx" in text)
    assert len(long) == 48 and long.endswith("…")
    assert page.run("return [...document.querySelectorAll('a')].some((one) => one.title"
                    ".endsWith('x'.repeat(200)))")
    links = page.run("return [...document.querySelectorAll('td a')].map((one) => one.hash)")
    for link in {link for link in links if "look" in link and "tenant" in link}:
        page.open(link)
        page.until(lambda: page.verdict)
        assert page.verdict == "Limited by few.", link
    assert "harm" not in page.driver.title
    assert page.run("return document.querySelectorAll('img, b, main script').length") == 0


def test_bytes_that_are_no_text_do_not_break_a_view(page, server):
    with server.raw() as raw:
        for _ in range(5):
            raw.send(b"GET /v1/authorize HTTP/1.1\r\nHost: x\r\nX-Forwarded-Uri: /few\r\n"
                     b"X-User: \xff\xfe<i>\r\n\r\n")
            raw.response()
            raw.send(b"GET /v1/authorize HTTP/1.1\r\nHost: x\r\n"
                     b"X-Forwarded-Uri: /place/%ff%fe%00%0a<i>\r\n\r\n")
            raw.response()
    page.open("#/rule/few")
    page.until(lambda: any("\ufffd<i>" in row["Identifier"] for row in page.rows("Top traffic")))
    assert not page.run("return [...document.querySelectorAll('td a')].some((one) =>"
                        "one.textContent.includes('\\ufffd'))")  # no user is called that
    page.open("#/rule/place")
    page.until(lambda: page.rows("Top denied"))
    page.open("#/")
    page.until(lambda: is_shown(page) and page.rows("Top limited"))
    assert page.run("return document.querySelectorAll('main i').length") == 0


@pytest.mark.parametrize("address", [
    "#/nowhere", "#/toString", "#/rule/", "#/rule/%ff", "#/look?%ff=%fe&=x&user=%",
    "#/?window=year", "#/?window=toString", "#/audit?limit=100", "#main", "#", "#/rule/a/b/c"])
def test_no_address_breaks_the_page(page, address):
    page.open(address)
    page.until(lambda: is_shown(page))
    assert re.search(r" – Sluice$", page.driver.title)
