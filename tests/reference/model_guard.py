"""The burst guard: short windows of requests, a warning, then a block."""

from collections import namedtuple

State = namedtuple("State", "window count warn_end warn_window block_end")
EMPTY = State(-1, 0, 0, -1, 0)


class Guard:
    """Counts requests, whatever becomes of them; one state per identifier."""

    def __init__(self, window, threshold, penalty):
        self.window = window
        self.threshold = threshold
        self.penalty = penalty
        self.states = {}

    def ask(self, key, now, counts):
        """When the block that denies this request ends; None if none does.

        Only a request that counts writes anything.
        """
        state = self.states.get(key, EMPTY)
        if now >= state.block_end and state.block_end:
            state = EMPTY
        if state.block_end:
            state = state._replace(block_end=min(state.block_end, now + 2 * self.penalty))
        elif counts:
            state = self.count(state, now)
        if counts:
            self.states[key] = state
        return state.block_end or None

    def count(self, state, now):
        """One more request: over the threshold it warns, and later blocks.

        A window that lies ahead by up to its length is believed, and the
        request judged as of its start; a block runs from the caller's now.
        """
        as_of, count = now, state.count
        if state.window * self.window - now > self.window:
            count = self.threshold
        elif state.window * self.window > now:
            as_of = state.window * self.window
        elif state.window < now // self.window:
            count = 0
        window, count = as_of // self.window, count + 1
        warn_end, warn_window = state.warn_end, state.warn_window
        if warn_end - as_of > self.penalty:
            warn_end, warn_window = as_of + self.penalty, window
        elif warn_end <= as_of:  # over, and forgotten should the clock go back
            warn_end = 0
        if count > self.threshold:
            if not warn_end:
                warn_end, warn_window = as_of + self.penalty, window
            elif window > warn_window:
                return EMPTY._replace(block_end=now + 2 * self.penalty)
        return State(window, count, warn_end, warn_window, 0)
