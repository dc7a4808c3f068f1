"""Costs that are known only afterwards."""

import os
import subprocess
import sys
import time
from datetime import timedelta

import pytest
import sluice

ALGORITHMS = ["token_bucket", "leaky_bucket", "fixed_window", "sliding_window_log",
              "sliding_window_counter"]


@pytest.fixture(params=ALGORITHMS)
def limit(request, store):
    days = 366 if request.param == "sliding_window_counter" else 1
    align = "first_request" if request.param == "fixed_window" else "epoch"
    return store.limit("api", algorithm=request.param, capacity=10, window=timedelta(days=days),
                       align=align)


def left(limit):
    return limit.peek("u1").remaining


def test_a_commit_of_less_gives_the_rest_back(limit):
    reservation = limit.reserve("u1", 8, expires=60)
    assert reservation and reservation.decision.remaining == 2 and reservation.id > 0
    assert left(limit) == 2
    reservation.commit(3)
    assert left(limit) == 7


def test_a_commit_of_more_charges_the_excess(limit):
    limit.reserve("u1", 4, expires=60).commit(6)
    assert left(limit) == 4


def test_a_commit_of_all_and_of_nothing(limit):
    limit.reserve("u1", 4, expires=60).commit(4)
    assert left(limit) == 6
    limit.reserve("u1", 4, expires=60).commit(0)
    assert left(limit) == 6


def test_a_commit_beyond_the_limit_leaves_nothing(limit):
    limit.reserve("u1", 4, expires=60).commit(12)
    assert left(limit) == 0 and not limit.decide("u1")


def test_cancel_gives_all_back(limit):
    limit.reserve("u1", 10, expires=60).cancel()
    assert left(limit) == 10


def test_expiry_gives_all_back(limit):
    assert limit.reserve("u1", 10, expires=0.020).decision.remaining == 0
    deadline = time.monotonic() + 60
    while not limit.decide("u1", 10):
        assert time.monotonic() < deadline, "an expired reservation came back too late"
        time.sleep(0.005)


def test_a_settlement_after_the_expiry_is_refused(limit):
    reservation = limit.reserve("u1", 10, expires=0.001)
    time.sleep(0.005)
    for settle in (lambda: reservation.commit(1), reservation.cancel):
        with pytest.raises(sluice.NoReservation) as caught:
            settle()
        assert caught.value.status == -7


def test_a_reservation_is_settled_once(limit):
    reservation = limit.reserve("u1", 5, expires=60)
    reservation.commit(1)
    for settle in (lambda: reservation.commit(1), reservation.cancel):
        with pytest.raises(sluice.NoReservation):
            settle()
    assert left(limit) == 9


def test_leaving_the_block_cancels(limit):
    with limit.reserve("u1", 5, expires=60):
        assert left(limit) == 5
    assert left(limit) == 10
    with pytest.raises(RuntimeError), limit.reserve("u1", 5, expires=60):
        raise RuntimeError
    assert left(limit) == 10


def test_leaving_the_block_after_a_commit_keeps_it(limit):
    with limit.reserve("u1", 5, expires=60) as reservation:
        reservation.commit(2)
    assert left(limit) == 8


def test_leaving_the_block_after_the_expiry_is_quiet(limit):
    with limit.reserve("u1", 5, expires=0.001):
        time.sleep(0.005)
    assert limit.decide("u1", 10)


def test_a_denied_reservation_holds_nothing(limit):
    limit.decide("u1", 8)
    with limit.reserve("u1", 5, expires=60) as reservation:
        assert not reservation and reservation.id is None
        assert reservation.decision.reason == "rate_limit_exceeded"
        with pytest.raises(sluice.NoReservation, match="rate_limit_exceeded"):
            reservation.commit(1)
    assert left(limit) == 2


def test_reservations_are_counted(store, limit):
    held = [limit.reserve("u1", 2, expires=60) for _ in range(3)]
    assert store.stats().reservations == 3
    for one in held:
        one.cancel()
    assert store.stats().reservations == 0


def test_any_process_may_settle_it(url, store, limit):
    reservation = limit.reserve("u1", 8, expires=60)
    code = "import sluice, sys; sluice.open(sys.argv[1]).commit(int(sys.argv[2]), 3)"
    subprocess.run([sys.executable, "-c", code, url, str(reservation.id)], check=True)
    assert left(limit) == 7
    with pytest.raises(sluice.NoReservation):
        reservation.cancel()


def test_a_killed_process_s_reservation_expires(store, limit):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, b"%d" % limit.reserve("u1", 10, expires=0.1).decision.remaining)
        time.sleep(60)
    assert os.read(read, 10) == b"0"
    os.close(read), os.close(write)
    os.kill(child, 9)
    os.waitpid(child, 0)
    deadline = time.monotonic() + 60
    while not limit.decide("u1", 10):
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("number", [1, 2**32, 2**64 - 1])
def test_an_unknown_number_is_no_reservation(store, number):
    with pytest.raises(sluice.NoReservation):
        store.commit(number, 1)
    with pytest.raises(sluice.NoReservation):
        store.cancel(number)


@pytest.mark.parametrize("number, cost, kind", [
    (-1, 1, ValueError), (2**64, 1, ValueError), ("1", 1, TypeError), (None, 1, TypeError),
    (1, -1, ValueError), (1, 2**32, ValueError), (1, None, TypeError)])
def test_bad_numbers_are_refused(store, number, cost, kind):
    with pytest.raises(kind):
        store.commit(number, cost)
