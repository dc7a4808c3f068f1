"""The dashboard in a real browser: Debian's chromium, driven by selenium.

    page = Page(driver, server)
    page.open("#/look?user=u1")
    page.until(lambda: page.verdict == "Limited by few.")
    page.click("Reset")

What is shown is read as a person would: a table's rows by its heading and the titles of its
columns, a curve by the numbers that Chart.js draws.
"""

import json
import os
import shutil
import time
from urllib.parse import urlsplit

import pytest

WAIT_S = 60
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")

try:
    from selenium import webdriver
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys
    HAS_SELENIUM = True
except ImportError:
    Keys, HAS_SELENIUM = None, False

needs_browser = pytest.mark.skipif(not (CHROMIUM and DRIVER and HAS_SELENIUM),
                                   reason="no chromium, chromedriver or selenium")

ROWS = """
const section = [...document.querySelectorAll("section")].find((one) =>
    one.querySelector("h2").textContent.startsWith(arguments[0]));
if (!section || section.hidden) return null;
const table = section.querySelector(".table > table");
const titles = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
return [...table.tBodies[0].rows].map((row) =>
    Object.fromEntries([...row.cells].map((cell, i) => [titles[i], cell.textContent])));
"""
CURVE = """
const chart = Chart.getChart(document.querySelector("canvas"));
return chart && Object.fromEntries(chart.data.datasets.map((one) => [one.label, one.data]));
"""
BUTTON = """
const within = arguments[1] ? document.querySelector(arguments[1]) : document;
return [...within.querySelectorAll("button, a")].find((one) =>
    one.textContent === arguments[0] && one.checkVisibility());
"""


def start_browser():
    """Its words are English, its time is ours, and it asks no other server by itself."""
    options = Options()
    options.binary_location = CHROMIUM
    arguments = ["--headless=new", "--lang=en-US", "--disable-gpu", "--disable-dev-shm-usage",
                 "--no-first-run", "--disable-background-networking", "--disable-extensions"]
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")  # it refuses to run as root with one
    for argument in arguments:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(service=Service(DRIVER), options=options)


def use(server, times, **request):
    """Asks so often, at once; how many were denied."""
    decisions = server.check([request] * times).json
    return sum(not decision["allowed"] for decision in decisions)


class Page:
    """The dashboard of a server, in a browser that knows nothing of an earlier one."""

    def __init__(self, driver, server):
        self.driver = driver
        self.base = f"http://127.0.0.1:{server.port}/"
        self.size(1280, 1000)
        driver.get("about:blank")
        self.messages, self.requests = [], []
        self.collect()
        self.messages, self.requests = [], []

    # ---- where it is ----

    def open(self, address="#/"):
        """Loads the page anew."""
        self.driver.get("about:blank")
        self.driver.get(self.base + address)

    def go(self, address):
        """Within the page that is there."""
        self.run("location.hash = arguments[0]", address)

    @property
    def address(self):
        return self.run("return location.hash")

    def size(self, width, height):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def prefer(self, scheme):
        """`light` or `dark`"""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    # ---- what it shows ----

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0])?.textContent ?? null",
                        selector)

    def rows(self, title):
        """Of the table under a heading that begins so, a dict each; None: it is not shown."""
        return self.run(ROWS, title)

    def row(self, title, **wanted):
        """The row with these texts, or None. Underscores in names are spaces."""
        for row in self.rows(title) or ():
            if all(row[name.replace("_", " ")] == text for name, text in wanted.items()):
                return row
        return None

    def curve(self):
        """{name of a line: its values}"""
        return self.run(CURVE)

    def tile(self, title):
        return self.run("return [...document.querySelectorAll('.tiles div')].find((one) => one"
                        ".firstChild.firstChild.textContent === arguments[0])"
                        "?.lastChild.textContent", title)

    def part(self, title):
        """All that is said under a heading that begins so."""
        return self.run("return [...document.querySelectorAll('section')].find((one) => one"
                        ".firstChild.textContent.startsWith(arguments[0]))?.innerText", title)

    def button(self, text, within=None):
        """The visible button or link that says so, or None."""
        return self.run(BUTTON, text, within)

    @property
    def status(self):
        return self.text("#status")

    @property
    def verdict(self):
        return self.text(".verdict")

    @property
    def note(self):
        return self.text(".notes .note, p.note.bad:not([hidden])") or ""

    def until(self, is_so, what=""):
        """Looks until it is so; what it found."""
        end = time.monotonic() + WAIT_S
        while True:
            try:
                if found := is_so():
                    return found
            except (WebDriverException, TypeError, KeyError):
                pass  # it is being drawn
            assert time.monotonic() < end, f"waited in vain: {what}\n{self.text('body')}"
            time.sleep(0.05)

    # ---- what is done to it ----

    def click(self, text, within=None):
        """The visible button or link that says so, as soon as there is one."""
        self.until(lambda: self.button(text, within), f"a button {text}").click()

    def confirm(self, text):
        """The strong button of the dialog."""
        self.click(text, "dialog[open]")

    def fill(self, name, text):
        """Writes into an input as fingers do."""
        field = self.until(lambda: self.driver.find_element("css selector", f"[name={name}]"))
        field.clear()
        field.send_keys(text)
        return field

    def choose(self, name, value):
        self.run("const list = document.querySelector(`[name=${arguments[0]}]`);"
                 "list.value = arguments[1]; list.dispatchEvent(new Event('change'))", name, value)

    def press(self, *keys):
        """Keys, to whatever has the focus."""
        ActionChains(self.driver).send_keys(*keys).perform()

    def focused(self):
        """What has the focus, in words."""
        return self.run("const one = document.activeElement;"
                        "return one.getAttribute('aria-label')"
                        "|| one.labels?.[0]?.textContent.trim()"
                        "|| one.textContent.trim().slice(0, 40)")

    # ---- what it did ----

    def collect(self):
        """Reads the browser's logs: messages of the console, and every request that was sent."""
        self.messages += [one["message"] for one in self.driver.get_log("browser")]
        self.requests += [one["message"] for one in self.driver.get_log("performance")]

    def check_manners(self, expected=()):
        """No message in the console but those that have one of `expected` in them, no request to
        any other server."""
        self.collect()
        bad = [one for one in self.messages if not any(word in one for word in expected)]
        assert not bad, bad
        hosts = set()
        for url in self.urls():
            parts = urlsplit(url)
            if parts.scheme not in ("data", "about"):
                hosts.add(f"{parts.scheme}://{parts.netloc}/")
        assert hosts <= {self.base}, hosts

    def urls(self):
        """Of every request there was."""
        for text in self.requests:
            message = json.loads(text)["message"]
            if message["method"] == "Network.requestWillBeSent":
                yield message["params"]["request"]["url"]
