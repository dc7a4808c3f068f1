"""The table's protocol and that of leases, searched through by spin: every interleaving
of a few processes, and that a broken protocol would be noticed.

A configuration is compiled once. The environment's BREAK then breaks one thing
at run time: what is found wrong is the very program that was found right.
"""

import os
import re
import subprocess
from functools import lru_cache
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
TIMEOUT_S = 300

# No partial-order reduction: every step is on shared memory, and some hold C.
# The models' indices are checked without NOBOUNDCHECK, by hand: see README.md.
CFLAGS = ["-O1", "-w", "-DSAFETY", "-DNOREDUCE", "-DNOFAIR", "-DNOBOUNDCHECK", "-DMEMLIM=2000"]
DEPTH, HASH_BITS = 200_000, 22

INSERTS = ("table.pml", "PROCS=3", "SLOTS=3", "LIMIT=2", "LAST=1")
MOVES = ("table.pml", "MOVES", "PROCS=2", "SLOTS=3", "LIMIT=1", "LAST=0")
MOVES_COUNTING = ("table.pml", "MOVES", "PROCS=2", "SLOTS=2", "LIMIT=2", "LAST=1")
RESETS = ("table.pml", "MOVES", "RESETS", "PROCS=1", "SLOTS=3", "LIMIT=1", "LAST=0")
RING = ("ring.pml", "PROCS=2", "LAST=2")
SLEEPERS = ("ring.pml", "SLEEPERS", "LAST=2")
COUNTER = ("lease_window.pml", "PROCS=2", "LIMIT=2")
FIXED = ("lease_window.pml", "FIXED", "PROCS=3", "LIMIT=1")
STEPS_BACK = ("lease_window.pml", "BACK", "PROCS=2", "LIMIT=1")
BUCKET = ("lease_bucket.pml", "PROCS=2", "LIMIT=2")
BUCKET_OF_THREE = ("lease_bucket.pml", "PROCS=3", "LIMIT=1")

INSERTED = {"ADOPTED", "FINISHED", "OVERTAKEN", "LOSER_KILLED", "LOSER_GONE", "SWAP_LOST", "DENIED",
            "FULL", "KILLED_TENTATIVE", "TENTATIVE_TAKEN", "EVICTED"}
MOVED = {"KILLED_FROZEN", "FROZE", "FOUND_FROZEN", "MOVED", "MOVED_GONE", "BURIED", "CLEARED"}
RUNG = {"DENIED", "SETTLED", "RAISE_LOST", "LATE_RAISE", "FOUND_FROZEN", "MARKED", "LATE_MARK",
        "FILLED", "LATE_FILL", "MOVED", "LATER_THAN_IT_WAS"}
LEASED = {"SPENT", "SPENT_WHILE_ASKING", "DIRECT", "GRANTED", "KEPT", "GIVEN_BACK", "UNKNOWN",
          "ENDED_UNSPENT", "CRASHED", "RUN_FOR_NOBODY", "LOST", "UNSENT", "TOO_LATE", "RESET"}

# What holds, where, and what must have happened in a search that is to count.
HOLDS = {
    "three processes insert, charge and are killed: one slot, never more than the limit, no lock":
        (INSERTS, INSERTED | {"FRESH_TAKEN", "RESET"}),
    "two processes move a state to a third slot: one slot, one frozen, no lock":
        (MOVES, INSERTED | MOVED | {"RESET"}),
    "a state that is moved while it is charged forgets no charge":
        (MOVES_COUNTING, INSERTED | MOVED | {"FRESH_TAKEN", "RESET", "BURIED_FRESH"}),
    "a reset is not undone by one who moves the state":
        (RESETS, INSERTED | MOVED | {"FORGOTTEN"}),
    "state and ring of a log never lose or back-date an admission":
        (RING, RUNG | {"REFUNDED", "RESURRECTED"}),
    "two who fell asleep before they wrote to a ring do no harm":
        (SLEEPERS, RUNG),
    "units leased of a counter are spent as it would have let them pass itself":
        (COUNTER, LEASED | {"GIVEN_BACK_LATE"}),
    "three instances never spend more of a fixed window than its limit":
        (FIXED, LEASED),
    "a clock that steps back lets no leased unit pass in another window":
        (STEPS_BACK, LEASED | {"GIVEN_BACK_LATE", "STEPPED_BACK"}),
    "a bucket and what is leased of it never let more pass in any interval":
        (BUCKET, LEASED | {"LAPSED"}),
    "three instances that lease of a bucket never let more pass in any interval":
        (BUCKET_OF_THREE, LEASED | {"LAPSED"}),
}

# What goes wrong if one thing is broken.
BREAKS = {
    "T2: a reset that empties the slot puts a key out of reach": (INSERTS, "RESET_EMPTIES"),
    "T3: a slot behind an empty one is out of reach": (INSERTS, "ANY_EMPTY"),
    "T4: without a second scan there are two": (INSERTS, "NO_RESCAN"),
    "T4: losers that live become a second": (INSERTS, "LOSER_LIVES"),
    "T5: a loser that could not be killed may be live": (INSERTS, "LOSER_UNCHECKED"),
    "T5: a tentative slot must be there before the scan": (INSERTS, "HASTY_ADOPTION"),
    "T6: a nonce used twice commits somebody else's slot": (INSERTS, "SAME_NONCE"),
    "T7: a state taken before it is fresh is forgotten": (INSERTS, "TAKEN_EARLY"),
    "T8: a miss decided at an old reading admits too much": (INSERTS, "ONE_READING"),
    "T9: an eviction that compares the key takes a limiting state": (INSERTS, "EVICT_BY_KEY"),
    "T14: who finishes only his own tentative slot is locked out": (INSERTS, "OWN_ONLY"),
    "a store instead of a swap forgets a charge": (INSERTS, "BLIND_STORE"),
    "moving without freezing leaves two": (MOVES, "NO_FREEZE"),
    "moving without scanning again leaves two": (MOVES, "NO_CONFIRM"),
    "moving beside a tentative slot leaves two": (MOVES, "RIVAL_LIVES"),
    "T12: freezing while a frozen one is left over makes two": (MOVES, "NO_SWEEP"),
    "T12: a live slot seen before the frozen one proves nothing": (MOVES, "NO_LOOK"),
    "a moved state that comes back in the same words is buried by one who is late":
        (MOVES, "SAME_STATE"),
    "a left-over frozen state moved when it is fresh has forgotten charges":
        (MOVES_COUNTING, "RESURRECT"),
    "a reset without a tentative slot of its own is undone": (RESETS, "UNMARKED_RESET"),
    "a reset that is content with one scan is undone": (RESETS, "HASTY_RESET"),
    "T11: a charge that does not settle loses the one before": (RING, "NO_SETTLE"),
    "T11: settling gives up too early after a lost swap": (RING, "RAISE_ONCE"),
    "T11: settling by a store back-dates": (RING, "BLIND_RAISE"),
    "T11: a decision on entries of a state that has changed admits too much": (RING, "BLIND_SWAP"),
    "a ring moved without freezing is in two places": (RING, "NO_FREEZE"),
    "a copy of another state than the frozen one loses admissions": (RING, "FREEZE_ANY"),
    "a copy written into a block that is not his back-dates": (RING, "UNOWNED"),
    "a copy written over entries that were not marked back-dates": (RING, "UNMARKED"),
    "one who is late and settles over a mark back-dates": (SLEEPERS, "TRUSTS_MARK"),
    "L1: a call by a lower limit that cuts the debt to that has it run up twice": (BUCKET, "CUTS"),
    "L2: units that are leased and not counted are there twice": (COUNTER, "NOT_COUNTED"),
    "L3: a unit that outlives its window is one too many in the next":
        (COUNTER, "OUTLIVES_WINDOW"),
    "L4: a window's lease measured from the reply outlives the window":
        (COUNTER, "FROM_REPLY"),
    "L4: a bucket's lease measured from the reply outlives its term": (BUCKET, "FROM_REPLY"),
    "L5: a unit of a window that was given back and spent is there twice":
        (COUNTER, "SPENDS_RETURNED"),
    "L5: a unit of a bucket that was given back and spent is there twice":
        (BUCKET, "SPENDS_RETURNED"),
    "L6: units of a window that is over are not there in the next": (COUNTER, "KEEPS_UNKNOWN"),
    "L6: units of a term that has lapsed are not there any more": (BUCKET, "KEEPS_UNKNOWN"),
    "L6: a term that has lapsed is settled already": (BUCKET, "SETTLES_LATE"),
    "L6: what comes back late is not taken off another window": (COUNTER, "RETURNS_LATE"),
    "L6: what was kept may be spent by the time its window is over":
        (COUNTER, "KEPT_GIVEN_BACK"),
    "L6: units that are kept go into the new term": (BUCKET, "KEPT_STAYS"),
    "L7: a call that is run twice gives back twice, of a window": (COUNTER, "ASKED_AGAIN"),
    "L7: a call that is run twice gives back twice, of a bucket": (BUCKET, "ASKED_AGAIN"),
    "L8: a lease that drains while it is held admits the capacity and the lease":
        (BUCKET, "DRAINS"),
    "L8: what has lapsed may have been spent": (BUCKET, "LAPSES_UNSPENT"),
    "L8: who decides without a lease counts what is out": (BUCKET, "OUT_IGNORED"),
    "L9: a reset of a window forgets not what is out": (COUNTER, "RESET_FORGETS"),
    "L9: a reset of a bucket forgets not what is out": (BUCKET, "RESET_FORGETS"),
}


@pytest.fixture(scope="session", name="programs")
def fixture_programs(tmp_path_factory):
    @lru_cache(maxsize=None)
    def build(configuration):
        model, *switches = configuration
        folder = tmp_path_factory.mktemp(model.partition(".")[0])
        run(folder, "spin", "-a", *(f"-D{switch}" for switch in switches), HERE / model)
        run(folder, "gcc", *CFLAGS, "-o", "pan", "pan.c")
        return folder
    return build


def run(folder, *command, **environment):
    done = subprocess.run(command, cwd=folder, env={**os.environ, **environment}, text=True,
                          timeout=TIMEOUT_S, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def search(folder, broken=0):
    return run(folder, "./pan", f"-m{DEPTH}", f"-w{HASH_BITS}", BREAK=str(broken))


def switches_of(model):
    text = (HERE / model).read_text()
    listed = re.search(r"---- for test_model.py.*?(?=#ifdef|#include)", text, re.S)[0]
    return {name: int(number) for name, number in re.findall(r"#define (\w+) +(\d+)\n", listed)}


@pytest.mark.parametrize("claim", HOLDS)
def test_whatever_the_order(programs, claim):
    configuration, must_happen = HOLDS[claim]
    found = search(programs(configuration))
    print(found)
    assert "errors: 0" in found
    assert "Full statespace search" in found
    assert not re.search(r"not completed|too small|out of memory|MEMLIM|truncated", found)
    assert set(re.findall(r"happened: (\w+)", found)) == must_happen


@pytest.mark.parametrize("claim", BREAKS)
def test_it_is_noticed_that(programs, claim):
    configuration, switch = BREAKS[claim]
    found = search(programs(configuration), switches_of(configuration[0])[switch])
    print(found)
    assert "assertion violated" in found and "errors: 1" in found


def test_every_switch_of_the_models_is_tried():
    tried = {(configuration[0], switch) for configuration, switch in BREAKS.values()}
    models = {configuration[0] for configuration, _ in HOLDS.values()}
    assert tried == {(model, switch) for model in models for switch in switches_of(model)}
