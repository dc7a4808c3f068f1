"""Waiting until a request may pass, so that Ctrl-C ends the wait.

The library can wait too (sluice_acquire), but a signal's handler in Python runs
only when the C call is over. So the library is called with no time to wait, and
this module sleeps.
"""

from __future__ import annotations

import time
from typing import Callable, Optional

from ._decision import Decision

LIMITED = "rate_limit_exceeded"


def _sleep_us(us: int) -> None:
    time.sleep(us / 1_000_000)


def _hold(decision: Decision, give_back: Callable[[Decision], None]) -> None:
    """Waits in a leaky bucket's queue; if interrupted, gives the place back."""
    try:
        _sleep_us(decision.delay_us)
    except BaseException:
        give_back(decision)
        raise


def _too_late(decision: Decision, left_us: int) -> Decision:
    """Turns an admission that comes after the timeout into a denial. The queue shortens
    by a microsecond every microsecond."""
    return decision._replace(allowed=False, reason=LIMITED, delay_us=0,
                             retry_after_us=decision.delay_us - left_us)


def _wait_us(decision: Decision) -> Optional[int]:
    """How long until the request has passed, without other requests; None: never. A full
    leaky bucket has room again after retry_after, at the end of its queue: a request
    let in then leaves when all that is queued now has left."""
    if decision.allowed:
        return decision.delay_us
    if decision.algorithm == "leaky_bucket" and decision.retry_after_us and decision.reset_at_us:
        queue_us = decision.reset_at_us - (decision.decided_at_us or 0)
        return max(decision.retry_after_us, queue_us)
    return decision.retry_after_us


def acquire(first: Decision, peek: Callable[[], Decision], decide: Callable[[], Decision],
            give_back: Callable[[Decision], None], timeout_us: int) -> Decision:
    """`first` is the library's answer for no waiting at all. Allowed, or denied
    and uncharged because it would take longer than `timeout_us`."""
    deadline_us = time.monotonic_ns() // 1000 + timeout_us
    decision = first
    while not decision.allowed and not decision.status:
        decision = peek()
        left_us = max(0, deadline_us - time.monotonic_ns() // 1000)
        wait_us = _wait_us(decision)
        if wait_us is None:
            return decision
        if wait_us > left_us:
            return _too_late(decision, left_us) if decision.allowed else decision
        if not decision.allowed:
            _sleep_us(decision.retry_after_us or 0)
            continue
        decision = decide()
        if decision.allowed and decision.delay_us <= left_us:
            _hold(decision, give_back)
        elif decision.allowed:  # others were faster
            give_back(decision)
            decision = _too_late(decision, left_us)
    return decision
