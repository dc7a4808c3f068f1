"""Takes a picture of the dashboard, with a minute of traffic on it, for the documents:

    /usr/bin/python3 tests/e2e/dashboard/dashboard_picture.py docs/dashboard.png
"""

import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from browsing import Page, start_browser  # noqa: E402
from serving import Server  # noqa: E402

RULES = """
rules:
  - { name: api, resource: /api/*, per: user, algorithm: token_bucket, capacity: 60,
      refill_rate: 12, burst_guard: { window: 10s, threshold: 150, penalty: 20s } }
  - { name: api-preview, resource: /api/*, per: user, algorithm: token_bucket, capacity: 30,
      refill_rate: 8, shadow: true }
  - { name: login, resource: /login, per: [ip, user], limit: 5/15m }
  - { name: per-ip, per: ip, limit: 600/1m }
"""
SECONDS, SIZE = 62, (1280, 1920)


def ask(server, dice, passed_s):
    """Some requests, now more and now fewer of them, most of them by few users."""
    wave = 8 + 6 * (passed_s // 9 % 3)
    requests = [{"resource": dice.choice(["/api/videos", "/api/users", "/api/videos", "/login"]),
                 "user": f"user-{min(30, int(dice.expovariate(0.45)))}",
                 "ip": f"192.0.2.{dice.randrange(1, 20)}"} for _ in range(dice.randrange(4, wave))]
    server.check(requests)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    dice, driver = random.Random(7), start_browser()
    try:
        with Server(RULES) as server:
            page = Page(driver, server)
            page.size(*SIZE)
            page.prefer("light")
            driver.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
            page.open()
            start = time.monotonic()
            while (passed_s := time.monotonic() - start) < SECONDS:
                ask(server, dice, int(passed_s))
                time.sleep(0.1)
            driver.save_screenshot(sys.argv[1])
    finally:
        driver.quit()


if __name__ == "__main__":
    main()
