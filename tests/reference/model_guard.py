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

    def ask(self, key, now, counts, may_write):
        """When the block that denies this request ends; None if none does."""
        stored = self.states.get(key, EMPTY)
        state = self.cut(stored, now)
        if state.block_end and now >= state.block_end:
            state = EMPTY if counts else state
        elif state.block_end:
            counts = False
        if counts:
            state = self.count(state, now)
        if may_write and state is not stored:
            self.states[key] = state
        return state.block_end if now < state.block_end else None

    def cut(self, state, now):
        """A penalty that ends later than one begun now could: cut short."""
        if state.block_end - now > 2 * self.penalty:
            return state._replace(block_end=now + 2 * self.penalty)
        if state.warn_end - now > self.penalty:
            return state._replace(
                warn_end=now + self.penalty, warn_window=now // self.window)
        return state

    def count(self, state, now):
        """One more request: over the threshold it warns, and later blocks."""
        current, count = now // self.window, state.count + 1
        if state.window < current:
            count = 1
        elif state.window * self.window - now > self.window:
            count = self.threshold + 1
        else:
            current = state.window
        state = state._replace(window=current, count=count)
        if count <= self.threshold:
            return state
        if now >= state.warn_end:
            return state._replace(warn_end=now + self.penalty, warn_window=current)
        if current > state.warn_window:
            return EMPTY._replace(block_end=now + 2 * self.penalty)
        return state
