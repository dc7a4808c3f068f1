"""Closing twice and use after closing raise; nothing ever crashes."""

import gc
import os
import pickle
import subprocess
import sys
import threading
import warnings

import pytest
import sluice

RULES = "rules:\n  - {name: api, per: user, limit: 5/366d}\n"


@pytest.fixture
def opened(url):
    store = sluice.open(url)
    return store, store.limit("api", capacity=5, window=60), sluice.Limiter.from_text(
        RULES, store=store)


STORE = [lambda it: it.sync(), lambda it: it.stats(), lambda it: it.commit(1, 1),
         lambda it: it.cancel(1), lambda it: it.limit("x", capacity=1, window=1),
         lambda it: sluice.Limiter.from_text(RULES, store=it), lambda it: it.__enter__(),
         lambda it: it.close()]
LIMIT = [lambda it: it.decide("u"), lambda it: it.peek("u"), lambda it: it.decide_batch(["u"]),
         lambda it: it.decide_batch([]), lambda it: it.reset("u"), lambda it: it.acquire("u"),
         lambda it: it.reserve("u", expires=1), lambda it: it.__enter__(), lambda it: it.close()]
LIMITER = [lambda it: it.decide(user="u"), lambda it: it.decide_batch([{}]),
           lambda it: it.explain(user="u"), lambda it: it.reset(user="u"),
           lambda it: it.acquire(user="u"), lambda it: it.reserve(user="u", expires=1),
           lambda it: it.__enter__(), lambda it: it.close()]


def all_raise(calls, closed):
    for call in calls:
        with pytest.raises(sluice.ClosedError, match="closed"):
            call(closed)


def test_use_after_close_raises(opened):
    store, limit, limiter = opened
    decision = limit.decide("u")
    limit.close()
    all_raise(LIMIT + [lambda it: it.refund("u", decision)], limit)
    limiter.close()
    all_raise(LIMITER + [lambda it: it.refund(decision, user="u")], limiter)
    store.close()
    all_raise(STORE, store)
    assert store.closed and "closed" in repr(store) + repr(limit)


def test_closing_a_store_closes_what_was_made_from_it(opened):
    store, limit, limiter = opened
    reservation = limit.reserve("u", expires=60)
    store.close()
    all_raise(LIMIT, limit)
    all_raise(LIMITER, limiter)
    for settle in (lambda: reservation.commit(1), reservation.cancel):
        with pytest.raises(sluice.ClosedError):
            settle()


def test_closing_a_limiter_closes_the_store_that_it_owns_and_no_other(url, opened):
    store, _, limiter = opened
    limiter.close()
    assert store.stats()
    own = sluice.Limiter.from_text(f"store: {url}\n{RULES}")
    inner = own.store
    assert inner.stats()
    own.close()
    all_raise(STORE, inner)


def test_a_store_closed_before_its_limiter_s_is_only_the_view(url):
    own = sluice.Limiter.from_text(f"store: {url}\n{RULES}")
    own.store.close()
    assert own.decide(user="u1")


def test_a_block_that_closed_itself_ends_quietly(url):
    with sluice.open(url) as store:
        with store.limit("x", capacity=1, window=1) as limit:
            limit.close()
        store.close()


def test_a_limit_keeps_its_store(url):
    limit = sluice.open(url).limit("api", capacity=5, window=60)
    gc.collect()
    assert limit.decide("u")
    store = sluice.Limiter.from_text(f"store: {url}\n{RULES}").store
    gc.collect()
    assert store.stats().slots > 0


def mapped(name):
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return name in maps.read()


def test_what_is_dropped_is_closed(url, tmp_path):
    limit = sluice.open(url).limit("api", capacity=5, window=60)
    assert mapped(str(tmp_path))
    del limit
    assert not mapped(str(tmp_path))


def test_close_lets_go_at_once_even_while_limits_are_about(url, tmp_path):
    store = sluice.open(url)
    limit = store.limit("api", capacity=5, window=60)
    limiter = sluice.Limiter.from_text(RULES, store=store)
    store.close()
    assert not mapped(str(tmp_path))
    assert limit.closed and limiter.closed


def test_closing_while_threads_ask_is_safe(url):
    for _ in range(20):
        store = sluice.open(url)
        limit = store.limit("api", capacity=5, window=60)
        limiter = sluice.Limiter.from_text(RULES, store=store)
        started, ended = threading.Barrier(4), []

        def ask(limit=limit, limiter=limiter, started=started, ended=ended):
            started.wait()
            try:
                while True:
                    limit.decide("u1")
                    limiter.decide(user="u1")
                    limit.decide_batch(["u1", "u2"])
            except sluice.ClosedError:
                ended.append(True)

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        started.wait()
        store.close()
        for thread in threads:
            thread.join()
        assert len(ended) == 3


def test_the_interpreter_ends_quietly_with_everything_open(url):
    code = ("import sluice, sys\n"
            "store = sluice.open(sys.argv[1])\n"
            "limit = store.limit('api', capacity=5, window=60)\n"
            f"limiter = sluice.Limiter.from_text({RULES!r}, store=store)\n"
            "cycle = [store, limit, limiter]; cycle.append(cycle)\n"
            "reservation = limit.reserve('u', expires=60)\n"
            "print(bool(limiter.decide(user='u')))\n")
    done = subprocess.run([sys.executable, "-X", "dev", "-c", code, url], capture_output=True,
                          text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


def test_what_failed_to_open_leaves_nothing_behind(store):
    for _ in range(100):
        with pytest.raises(sluice.InvalidArgument):
            store.limit("x", capacity=1, window=60, algorithm="none")
        with pytest.raises(sluice.RulesError):
            sluice.Limiter.from_text("rules: 5", store=store)


@pytest.mark.parametrize("sync", ["off", "close", "1s"])
def test_parent_and_child_close_each_for_itself(tmp_path, sync):
    store = sluice.open(f"memory:{tmp_path}/x.slu?size=1M&sync={sync}")
    limit = store.limit("api", algorithm="token_bucket", capacity=5, window=86400)
    child = os.fork()
    if child == 0:
        good = bool(limit.decide("u1"))
        store.sync()
        store.close()
        os._exit(0 if good and store.closed else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert limit.decide("u1").remaining == 3
    store.close()


def test_handles_are_not_pickled(opened):
    for handle in opened:
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(handle)


def test_a_note_is_a_warning_at_the_caller(url, store):
    with pytest.warns(sluice.SluiceWarning) as caught:
        with sluice.open(url.replace("1M", "2M")) as again:
            assert again.note == str(caught[0].message)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with sluice.open(url) as quiet:
            assert quiet.note == "" == store.note


def test_memory_alone_is_private(store):
    numbers = {"algorithm": "token_bucket", "capacity": 1, "window": 86400}
    with sluice.open() as first, sluice.open("memory:") as second:
        assert first.limit("x", **numbers).decide("u")
        assert second.limit("x", **numbers).decide("u")


def test_stats_count(store):
    limit = store.limit("x", algorithm="token_bucket", capacity=1, window=86400)
    before = store.stats()
    assert before.live == before.limiting == before.insertions == 0
    assert before.size_bytes == 1 << 20 and before.slots > 1000
    for key in ("a", "b", "b"):
        limit.decide(key)
    after = store.stats()
    assert (after.live, after.limiting, after.insertions, after.evictions) == (2, 1, 2, 0)


def test_sync_works(store):
    store.sync()
