"""`store: memory:FILE`: counts that processes share, and that outlive them.

Limits are so long that nothing comes back while a test runs: what was counted
can be told from what is left, whenever one looks.
"""

import json
import os
import random
import resource
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest

from program import SLUICE, TIMEOUT_S, Done, run

HEADER = 4096
FIXED = range(88)  # the bytes of the header that never change

ALGORITHMS = ("fixed_window", "sliding_window_log", "sliding_window_counter", "token_bucket",
              "leaky_bucket")
ALL = pytest.mark.parametrize("algorithm", ALGORITHMS)


def rule(algorithm, limit, name="api", more=""):
    numbers = f"limit: {limit}/365d"
    if algorithm.endswith("bucket"):  # the slowest there is: full again after 87 days
        numbers = f"capacity: {limit}, refill_rate: {limit / 7_500_000:.9f}"
    return f"  - {{ name: {name}, per: user, algorithm: {algorithm}, {numbers}{more} }}\n"


def write_rules(folder, rules, store="memory:limits.slu?size=1M", more=""):
    path = folder / "rules.yaml"
    path.write_text(f"store: \"{store}\"\n{more}rules:\n{rules}", encoding="utf-8")
    return path


def check(rules, *arguments, user="u"):
    return run("check", "-c", rules, "--user", user, "--json", *arguments)


def start(rules, *arguments, user="u"):
    return subprocess.Popen([SLUICE, "check", "-c", rules, "--user", user, "--json", *arguments],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def verdicts(lines):
    """All that does not depend on the time of day."""
    return [(d["allowed"], d["reason"], d["limit"], d["remaining"]) for d in lines]


def admitted(lines):
    return sum(d["allowed"] for d in lines)


@pytest.fixture(name="tmp_path")
def vanishing_folder():
    """Tables are large: nothing of them is kept."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.fixture(name="fixed")
def fixed_rules(tmp_path):
    return write_rules(tmp_path, rule("fixed_window", 5))


def table_of(rules):
    return rules.parent / "limits.slu"


# ---- sharing --------------------------------------------------------------------------


@ALL
def test_processes_count_together(tmp_path, algorithm):
    private = write_rules(tmp_path, rule(algorithm, 5), store="memory:")
    alone = verdicts(check(private, "--times", "8").lines)
    shared = write_rules(tmp_path, rule(algorithm, 5))
    together = []
    for times in (1, 2, 3, 2):
        done = check(shared, "--times", str(times))
        assert done.err == ""
        together += verdicts(done.lines)
    assert together == alone
    assert admitted(check(shared, "--times", "8", user="another").lines) == 5


@ALL
def test_costs_are_shared(tmp_path, algorithm):
    rules = write_rules(tmp_path, rule(algorithm, 10))
    assert check(rules, "--cost", "7").lines[0]["remaining"] == 3
    assert check(rules, "--cost", "4").lines[0]["allowed"] is False
    assert check(rules, "--cost", "3").lines[0]["remaining"] == 0


def test_a_burst_guard_is_shared(tmp_path):
    """More than one in 1 ms warns; again, in a later window, blocks: 20 in a run are
    sure to be too many, and no two runs fall into one window."""
    guard = ", burst_guard: { window: 1ms, threshold: 1, penalty: 1h }"
    rules = write_rules(tmp_path, rule("fixed_window", 1000, more=guard))
    check(rules, "--times", "20")
    check(rules, "--times", "20")
    done = check(rules)
    assert done.code == 1
    assert done.lines[0]["reason"] == "burst_blocked"
    assert check(rules, user="another").lines[0]["reason"] == "ok"


def test_all_rules_of_a_request_are_shared(tmp_path):
    rules = write_rules(tmp_path, "".join(
        rule(algorithm, 3 + i, algorithm) for i, algorithm in enumerate(ALGORITHMS)))
    for left in (2, 1):
        rows = check(rules, "--explain").lines[0]["rules"]
        assert [row["remaining"] for row in rows] == [left + i for i in range(len(ALGORITHMS))]


def test_a_private_store_is_not_shared(tmp_path):
    for store in ("memory", "memory:", "memory:?size=2M&log=1M"):
        rules = write_rules(tmp_path, rule("fixed_window", 5), store=store)
        for _ in range(2):
            assert check(rules, "--times", "5").code == 0
        assert os.listdir(tmp_path) == ["rules.yaml"]


def test_rules_of_one_file_may_be_many(tmp_path):
    """Two rules files that name one table: counts go by the rule's name."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    a = write_rules(tmp_path / "a", rule("fixed_window", 5), store="memory:../t?size=1M")
    b = write_rules(tmp_path / "b", rule("fixed_window", 5) + rule("fixed_window", 5, "other"),
                    store=f"memory:{tmp_path}/t?size=1M")
    assert check(a, "--times", "3").code == 0
    rows = check(b, "--explain").lines[0]["rules"]
    assert [row["remaining"] for row in rows] == [1, 4]


# ---- at once ---------------------------------------------------------------------------


def run_at_once(count, rules, *arguments):
    processes = [start(rules, *arguments) for _ in range(count)]
    lines = []
    for process in processes:
        out, err = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode in (0, 1)
        assert err == b""
        lines.append([json.loads(line) for line in out.splitlines()])
    return lines


@ALL
def test_eight_at_once_admit_exactly_the_limit(tmp_path, algorithm):
    """The file is created by the first process, too."""
    rules = write_rules(tmp_path, rule(algorithm, 1000), store="memory:limits.slu?size=4M")
    runs = run_at_once(8, rules, "--times", "400")
    assert sum(admitted(lines) for lines in runs) == 1000
    if not algorithm.endswith("bucket"):  # there a clock read earlier has more to wait for
        left = Counter(d["remaining"] for lines in runs for d in lines if d["allowed"])
        assert left == Counter(range(1000))  # each was decided on what the one before it left
    assert admitted(check(rules, "--times", "10").lines) == 0
    assert sorted(os.listdir(tmp_path)) == ["limits.slu", "rules.yaml"]


def test_several_rules_at_once_never_admit_more_and_lose_nothing(tmp_path):
    rules = write_rules(tmp_path, rule("fixed_window", 900, "a") + rule("fixed_window", 800, "b"))
    total = sum(admitted(lines) for lines in run_at_once(8, rules, "--times", "150"))
    assert total <= 800
    assert total + admitted(check(rules, "--times", "800").lines) == 800
    assert check(rules, "--explain", "--peek").lines[0]["rules"][0]["remaining"] == 100


def test_eight_make_one_table(tmp_path):
    """Of those that create it at once one wins, and all use it."""
    rules = write_rules(tmp_path, rule("fixed_window", 1000), store="memory:limits.slu?size=16M")
    runs = run_at_once(8, rules)
    assert sorted(lines[0]["remaining"] for lines in runs) == list(range(992, 1000))


# ---- lasting ---------------------------------------------------------------------------


@ALL
def test_a_killed_process_has_counted_what_it_printed(tmp_path, algorithm):
    rules = write_rules(tmp_path, rule(algorithm, 15000), store="memory:limits.slu?size=8M")
    with start(rules, "--times", "1000000") as process:
        lines = [process.stdout.readline() for _ in range(3000)]
        process.send_signal(signal.SIGKILL)
        lines += process.stdout.read().split(b"\n")[:-1]  # the last may be cut
    assert process.returncode == -signal.SIGKILL
    printed = admitted(json.loads(line) for line in lines)
    assert printed >= 3000

    before = check(rules, "--peek").lines[0]["remaining"]
    assert 15000 - before >= printed
    if before:  # it goes on where it was
        after = [d["remaining"] for d in check(rules, "--times", "5").lines]
        assert after == [max(0, before - i) for i in range(1, 6)]


def test_a_table_may_be_moved_and_copied(fixed):
    check(fixed, "--times", "4")
    os.rename(table_of(fixed), table_of(fixed).with_suffix(".old"))
    assert check(fixed).lines[0]["remaining"] == 4
    shutil.copy(table_of(fixed).with_suffix(".old"), table_of(fixed))
    assert check(fixed).lines[0]["remaining"] == 0


@pytest.mark.parametrize("sync", ["off", "close", "10ms", "1h"])
def test_when_it_is_written_to_disk_changes_no_count(tmp_path, sync):
    rules = write_rules(tmp_path, rule("fixed_window", 5),
                        store=f"memory:limits.slu?size=1M&sync={sync}")
    for _ in range(2):
        assert check(rules, "--times", "2").code == 0
    assert check(rules, "--times", "2").code == 1


@ALL
def test_a_peek_writes_nothing(tmp_path, algorithm):
    guard = ", burst_guard: { window: 1h, threshold: 10, penalty: 1h }"
    rules = write_rules(tmp_path, rule(algorithm, 5, more=guard))
    check(rules, "--times", "2")
    check(rules, "--times", "6", user="denied")
    before = table_of(rules).read_bytes()
    for user in ("u", "denied", "nobody"):
        check(rules, "--peek", "--times", "3", user=user)
    after = table_of(rules).read_bytes()
    assert after[HEADER:] == before[HEADER:]
    assert after[:len(FIXED)] == before[:len(FIXED)]


@ALL
def test_a_denial_is_free(tmp_path, algorithm):
    """The first one marks the state as limiting, the others find it so."""
    rules = write_rules(tmp_path, rule(algorithm, 5))
    check(rules, "--times", "6")
    before = table_of(rules).read_bytes()
    assert check(rules, "--times", "100").code == 1
    assert table_of(rules).read_bytes()[HEADER:] == before[HEADER:]


def test_times_are_the_walls(fixed):
    year_us = 365 * 86400 * 10**6
    for _ in range(2):
        before_us = time.time_ns() // 1000
        line, = check(fixed).lines
        assert abs((line["reset_at_us"] + year_us // 2) % year_us - year_us // 2) < 60 * 10**6
        assert -60 * 10**6 < line["reset_at_us"] - before_us <= year_us + 60 * 10**6


# ---- the file --------------------------------------------------------------------------


def run_in(folder, *arguments, stdin=b"", **more):
    return Done(subprocess.run([SLUICE, *arguments], input=stdin, capture_output=True, cwd=folder,
                               timeout=TIMEOUT_S, check=False, **more))


def test_a_relative_path_starts_at_the_rules_file(fixed, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert run_in(elsewhere, "check", "-c", "../rules.yaml", "--user", "u").code == 0
    assert run_in(tmp_path, "check", "-c", "rules.yaml", "--user", "u").code == 0
    assert run_in("/", "check", "-c", fixed, "--user", "u").code == 0
    assert os.listdir(elsewhere) == []
    assert check(fixed, "--peek").lines[0]["remaining"] == 2


def test_a_store_on_the_command_line_starts_here(fixed, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = run_in(elsewhere, "replay", "-c", "../rules.yaml", "--store", "memory:t.slu?size=1M",
                  stdin=b'{"at_us": 1, "user": "u"}\n')
    assert done.code == 0
    assert os.listdir(elsewhere) == ["t.slu"]
    assert not table_of(fixed).exists()


@pytest.mark.parametrize("umask", [0, 0o022, 0o777])
def test_only_its_owner_may_read_it(fixed, tmp_path, umask):
    """It holds the secret that keeps others from aiming at a slot."""
    if umask == 0o777 and os.geteuid() != 0:
        pytest.skip("nobody but root opens a file without any permission")
    assert run_in(tmp_path, "check", "-c", fixed, umask=umask).code == 0
    mode = stat.S_IMODE(table_of(fixed).stat().st_mode)
    assert mode == 0o600 & ~umask


@pytest.mark.parametrize("size, bytes_", [("1M", 1 << 20), ("3M", 3 << 20), ("1500K", 1500 << 10)])
def test_it_is_as_large_as_asked(tmp_path, size, bytes_):
    rules = write_rules(tmp_path, rule("fixed_window", 5), store=f"memory:limits.slu?size={size}")
    check(rules)
    status = table_of(rules).stat()
    assert status.st_size == bytes_
    assert status.st_blocks * 512 >= bytes_  # allocated: a full disk is found out now


def test_another_size_is_a_note(tmp_path, fixed):
    check(fixed)
    again = write_rules(tmp_path, rule("fixed_window", 5), store="memory:limits.slu?size=2M")
    done = check(again)
    assert done.code == 0
    assert done.lines[0]["remaining"] == 3
    assert done.err.startswith("sluice: note: ")
    assert "1048576" in done.err and "2097152" in done.err
    assert done.err.count("\n") == 1
    assert table_of(fixed).stat().st_size == 1 << 20
    for store in ("memory:limits.slu", "memory:limits.slu?size=1M"):
        assert check(write_rules(tmp_path, rule("fixed_window", 5), store=store)).err == ""


def test_a_table_without_logs_is_a_note_to_rules_that_need_one(tmp_path):
    rules = write_rules(tmp_path, rule("sliding_window_log", 5), more="on_store_failure: deny\n",
                        store="memory:limits.slu?size=1M&log=0")
    done = check(rules, "--times", "2")
    assert done.code == 2
    assert [d["reason"] for d in done.lines] == ["store_unavailable"] * 2
    assert "log=0" in done.err
    assert done.err.count("no room left") == 1


def damaged(good):
    """Files that are no table: a name, the bytes, a part of what is said."""
    def changed(at, *values):
        return good[:at] + bytes(values) + good[at + len(values):]

    yield "empty", b"", "is not a table of Sluice"
    yield "one byte", b"S", "is not a table of Sluice"
    yield "magic alone", good[:8], "is not a table of Sluice"
    yield "half a header", good[:HEADER - 1], "is not a table of Sluice"
    yield "text", b"rules: []\n" * 1000, "is not a table of Sluice"
    yield "zeroes", bytes(len(good)), "is not a table of Sluice"
    yield "magic", changed(0, *b"SLUICETA"), "is not a table of Sluice"
    yield "version 0", changed(8, 0), "has version 0"
    yield "version 2", changed(8, 2), "has version 2"
    yield "byte order", changed(12, 1, 2, 3, 4), "byte order"
    yield "header alone", good[:HEADER], "is damaged"
    yield "a byte short", good[:-1], "is damaged"
    yield "a byte long", good + b"\0", "is damaged"
    yield "a page short", good[:-4096], "is damaged"
    yield "twice", good + good, "is damaged"


def refused(rules, part):
    """Refused in a sentence, and left alone."""
    table = table_of(rules)
    before = table.read_bytes()
    listing = sorted(os.listdir(rules.parent))
    by_check, by_table = check(rules), run("table", table)
    for done in (by_check, by_table):
        assert done.code == 2
        assert done.out == ""
        assert done.err.startswith("sluice: ") and done.err.count("\n") == 1
        assert str(table) in done.err
        assert part in done.err
    assert by_check.err == by_table.err
    assert table.read_bytes() == before
    assert sorted(os.listdir(rules.parent)) == listing


def test_what_is_no_table_is_refused(fixed):
    check(fixed)
    good = table_of(fixed).read_bytes()
    for name, content, part in damaged(good):
        table_of(fixed).write_bytes(content)
        try:
            refused(fixed, part)
        except AssertionError as error:
            raise AssertionError(name) from error
    table_of(fixed).write_bytes(good)
    assert check(fixed).lines[0]["remaining"] == 3


def test_every_byte_of_the_header_is_checked(fixed):
    check(fixed)
    good = table_of(fixed).read_bytes()
    for at in FIXED:
        flipped = bytearray(good)
        flipped[at] ^= 1 << at % 8
        table_of(fixed).write_bytes(flipped)
        done = check(fixed)
        assert (done.code, done.out) == (2, ""), at
        assert done.err.count("\n") == 1, done.err
    table_of(fixed).write_bytes(good)
    assert check(fixed).lines[0]["remaining"] == 3


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("start_at", [len(FIXED), 256, HEADER])
def test_noise_is_survived(tmp_path, start_at, seed):
    """In the slots, or in all of the header that may change: whatever stands there is
    something, wrong perhaps, but never fatal and never endless."""
    rules = write_rules(tmp_path, "".join(rule(name, 5, name) for name in ALGORITHMS))
    check(rules)
    good = table_of(rules).read_bytes()
    noise = random.Random(seed).randbytes(len(good) - start_at)
    table_of(rules).write_bytes(good[:start_at] + noise)
    for user in range(6):
        done = check(rules, "--times", "10", user=str(user))
        assert done.code in (0, 1)
        assert len(done.lines) == 10
    assert run("table", table_of(rules)).code == 0


def test_a_folder_is_no_table(tmp_path):
    rules = write_rules(tmp_path, rule("fixed_window", 5), store="memory:limits.slu")
    table_of(rules).mkdir()
    done = check(rules)
    assert (done.code, done.out) == (2, "")
    assert f"`{table_of(rules)}`: Is a directory" in done.err


def test_a_device_or_a_pipe_is_no_table(tmp_path):
    os.mkfifo(tmp_path / "limits.slu")
    for store in ("memory:limits.slu", "memory:/dev/null", "memory:/dev/zero"):
        done = check(write_rules(tmp_path, rule("fixed_window", 5), store=store))
        assert (done.code, done.out) == (2, "")
        assert "is not a file" in done.err


def test_a_missing_folder_is_not_made(tmp_path):
    rules = write_rules(tmp_path, rule("fixed_window", 5), store="memory:nowhere/limits.slu")
    done = check(rules)
    assert (done.code, done.out) == (2, "")
    assert f"`{tmp_path}/nowhere/limits.slu`" in done.err
    assert "No such file or directory" in done.err
    assert os.listdir(tmp_path) == ["rules.yaml"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may do anything")
def test_a_table_that_may_not_be_written(fixed, tmp_path):
    check(fixed)
    table_of(fixed).chmod(0o400)
    done = check(fixed)
    assert done.code == 2
    assert "Permission denied" in done.err
    table_of(fixed).unlink()
    tmp_path.chmod(0o500)
    done = check(fixed)
    tmp_path.chmod(0o700)
    assert done.code == 2
    assert "Permission denied" in done.err


def test_a_limit_on_file_sizes_leaves_nothing_behind(tmp_path):
    rules = write_rules(tmp_path, rule("fixed_window", 5), store="memory:limits.slu?size=8M")

    def forbid():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    done = run_in(tmp_path, "check", "-c", rules, "--user", "u", restore_signals=False,
                  preexec_fn=forbid)
    assert (done.code, done.out) == (2, "")
    assert "cannot create the table" in done.err and "File too large" in done.err
    assert os.listdir(tmp_path) == ["rules.yaml"]


@pytest.fixture(name="shm")
def shm_folder():
    """A folder in memory that says at once that it has no room for 1T."""
    shm = Path("/dev/shm")
    if not os.access(shm, os.W_OK) or not os.path.ismount(shm):
        pytest.skip("there is no /dev/shm")
    room = os.statvfs(shm)
    if not 0 < room.f_blocks * room.f_frsize < 1 << 40:
        pytest.skip("/dev/shm has no limit below 1T")
    with tempfile.TemporaryDirectory(dir=shm) as folder:
        yield Path(folder)


def test_a_full_disk_leaves_nothing_behind(shm):
    rules = write_rules(shm, rule("fixed_window", 5), store="memory:limits.slu?size=1T")
    done = check(rules)
    assert (done.code, done.out) == (2, "")
    assert "cannot create the table" in done.err and "No space left on device" in done.err
    assert os.listdir(shm) == ["rules.yaml"]


def test_memory_is_a_good_place(shm):
    rules = write_rules(shm, rule("fixed_window", 5))
    assert admitted(line for _ in range(7) for line in check(rules).lines) == 5


# ---- no room left -----------------------------------------------------------------------


@pytest.fixture(name="full_table", scope="module")
def full_table_file(tmp_path_factory):
    """A table whose every slot denies a user: of few slots, the rest is for logs."""
    folder = tmp_path_factory.mktemp("full")
    table = folder / "limits.slu"
    rules = write_rules(folder, rule("fixed_window", 1), more="on_store_failure: deny\n",
                        store="memory:limits.slu?size=1M&log=1000K")
    check(rules, "--peek")
    slots = json.loads(run("table", table, "--json").out)["slots"]
    line = f'{{"at_us": {time.time_ns() // 1000}, "user": "%d"}}\n' * 2
    trace = "".join(line % (user, user) for user in range(4 * slots))
    done = run("replay", "-c", rules, "--store", f"memory:{table}", stdin=trace)
    assert done.code == 2
    assert done.err.count("no room left") == 1
    reasons = Counter(d["reason"] for d in done.lines)
    assert reasons["ok"] == reasons["rate_limit_exceeded"]
    assert slots * 0.99 < reasons["ok"] <= slots
    assert reasons["store_unavailable"] == 8 * slots - 2 * reasons["ok"]
    return table


@pytest.mark.parametrize("policy, allowed, code", [("allow", True, 0), ("deny", False, 2),
                                                   ("local", True, 0)])
def test_where_there_is_no_room_the_rules_say_what_happens(tmp_path, full_table, policy, allowed,
                                                           code):
    rules = write_rules(tmp_path, rule("fixed_window", 5, "fresh"),
                        more=f"on_store_failure: {policy}\n")
    shutil.copy(full_table, table_of(rules))
    before = json.loads(run("table", table_of(rules), "--json").out)
    full = 0
    for user in range(10):  # a window or two may have a slot left
        done = check(rules, "--times", "3", user=f"late-{user}")
        reasons = {d["reason"] for d in done.lines}
        assert len(reasons) == 1
        if reasons == {"ok"}:
            continue
        assert reasons == {"store_unavailable"}
        assert [d["allowed"] for d in done.lines] == [allowed] * 3
        assert done.code == code
        assert done.err == ("sluice: the store has no room left that it may take; "
                            f"see `sluice table {table_of(rules)}`\n")
        full += 3
    assert full >= 15
    after = json.loads(run("table", table_of(rules), "--json").out)
    assert after["full"] - before["full"] == full
    assert after["evictions"] == before["evictions"]
    # Denied users still are: a flood buys no fresh start.
    old = write_rules(tmp_path, rule("fixed_window", 1))
    assert check(old, user="0").lines[0]["reason"] == "rate_limit_exceeded"
