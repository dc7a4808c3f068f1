"""Rules are replicated over a Redis Cluster and behind Sentinels as over one Redis, through
failovers: what no instance has lost meanwhile (replication is asynchronous; here nothing is on its
way when a master dies) is there afterwards, and all agree."""

from fleet import Fleet, capacity, everything, limit
from redis_cluster import Cluster
from redis_sentinel import Sentinels
from watching import wait_until


def change(fleet, number):
    """Through any instance, as soon as there is a master to take it; all have it then."""
    wait_until(lambda: fleet[number % 3].put("/v1/rules/api", limit(number), (200, 503)).status
               == 200, "a change is taken")
    fleet.say(capacity, number)


def test_rules_are_replicated_over_a_cluster_whose_slots_move_and_whose_masters_die():
    with Cluster() as cluster, Fleet(cluster.url(), count=3) as fleet:
        change(fleet, 5)
        fleet[1].put("/v1/users/u1", {"tier": "pro"})
        fleet.say(lambda admin: admin.get("/v1/users/u1").json["tier"], "pro")
        slot = cluster.slot_of("rl:{~registry}:state")
        cluster.move(slot)
        change(fleet, 6)
        cluster.owner(slot).kill()
        cluster.wait_until_whole()
        change(fleet, 7)
        assert fleet.agree(lambda admin: admin.get("/v1/users/u1").json["tier"]) == "pro"
        fleet.agree(everything)


def test_rules_are_replicated_behind_sentinels():
    with Sentinels() as sentinels, Fleet(sentinels.url(), count=3) as fleet:
        change(fleet, 5)
        old = sentinels.master()
        old.kill()
        sentinels.wait_for_another(old)
        change(fleet, 7)
        fleet.agree(everything)
