"""Two tenants that have everything a tenant can have.

    with Server(RULES) as server:
        acme, bravo = two_of(Caller(server))
        before = bravo.seen()
"""

import re

from admin_api import Caller

RULES = """
workers: 2
identity: { headers: { tenant: X-Tenant, user: X-User } }
tiers:
  free: {}
  pro: { scale: 10, algorithms: [token_bucket, fixed_window] }
rules:
  - { name: file, resource: /*, per: [tenant, user], algorithm: fixed_window, limit: 100/365d }
  - { name: of-acme, per: user, when: { tenant: acme }, limit: 5000/1h }
  - { name: of-bravo, per: user, when: { tenant: bravo }, limit: 5000/1h }
  - { name: of-both, per: user, when: { tenant: [acme, bravo] }, limit: 5000/1h }
"""
RULE = {"resource": "/a", "per": "user", "algorithm": "fixed_window", "limit": "10/365d"}
TENANTS = ("acme", "bravo")


class Tenant:
    """One that has everything a tenant can have."""

    def __init__(self, admin, name, tier=None):
        self.name, self.admin = name, admin
        admin.put(f"/v1/tenants/{name}", {"tier": tier}, 201)
        self.made = [admin.post(f"/v1/tenants/{name}/keys", {"label": f"{name}-{number}"}).json
                     for number in range(2)]
        self.keys = [Caller(admin.server, x_api_key=one["key"]) for one in self.made]

    def fill(self):
        first, second = self.keys
        first.put("/v1/rules/own", RULE, 201)
        second.put(f"/v1/rules/{self.name}-only", {**RULE, "per": "global"}, 201)
        first.put(f"/v1/users/{self.name}-user", {"email_verified": True}, 201)
        first.put("/v1/users/shared", {"email_verified": True}, 201)
        second.post("/v1/outcomes", [{"user": "shared", "success": True}] * 3)
        first.spend(3, user="shared", resource="/a")
        body = {"user": "shared", "resource": "/a", "cost": 2, "expires_in": 86400}
        self.reservation = second.post("/v1/reserve", body, 200).json["reservation"]
        assert self.reservation

    def seen(self):
        """All that is this tenant's, as it and the admin see it."""
        paths = ["/v1/rules", "/v1/rules/own", f"/v1/rules/{self.name}-only",
                 f"/v1/tenants/{self.name}", f"/v1/tenants/{self.name}/rules",
                 f"/v1/users/{self.name}-user", "/v1/users/shared", "/v1/users/nobody"]
        looks = [key.get(path).body for key in self.keys for path in paths]
        looks += [self.admin.get(f"/v1/users/{user}?tenant={self.name}").body
                  for user in (f"{self.name}-user", "shared")]
        looks += [key.post("/v1/check", {"user": "shared", "resource": "/a", "peek": True,
                                         "explain": True}, 200).json["rules"] for key in self.keys]
        return [as_it_stays(look) for look in looks]


def as_it_stays(look):
    """Without what changes with time, or with another caller's change: the revision of all."""
    if isinstance(look, bytes):
        return re.sub(rb'"revision": \d+', b"", look)
    return [{key: row[key] for key in ("rule", "limit", "remaining")} for row in look]


def two_of(admin):
    both = [Tenant(admin, name) for name in TENANTS]
    for one in both:
        one.fill()
    return both
