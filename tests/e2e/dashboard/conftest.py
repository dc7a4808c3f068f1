"""One browser for all tests of the dashboard."""

import pytest

from browsing import Page, start_browser


@pytest.fixture(name="driver", scope="session")
def running_browser():
    driver = start_browser()
    yield driver
    driver.quit()


@pytest.fixture(name="page")
def opened_page(driver, server):
    """On the server of the test's own file; it has behaved when the test ends."""
    page = Page(driver, server)
    yield page
    page.prefer("light")
    page.check_manners()
