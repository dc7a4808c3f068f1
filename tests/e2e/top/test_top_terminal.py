"""sluice top on a terminal: what is drawn, what keys do, and that the terminal is afterwards as it
was before."""

import signal
import threading
import time

import pytest

from admin_commands import Fake, json_answer, problem
from stats_answers import THREE, rule, stats
from terminal import TIMEOUT_S, Terminal
from watching import is_sanitized

ESCAPES = "a\x1b[31m\x1b]0;title\x07\x9b31m\u202e\r\nb"
UP, DOWN, RIGHT, LEFT = "\033[A", "\033[B", "\033[C", "\033[D"
PAGE_UP, PAGE_DOWN, HOME, END = "\033[5~", "\033[6~", "\033[H", "\033OF"


@pytest.fixture(name="fake")
def three_rules():
    with Fake(json_answer(THREE)) as fake:
        yield fake


def top(fake, *arguments, **how):
    return Terminal("top", "--server", fake.url, "--every", "100ms", *arguments, **how)


def is_quiet(fake, seconds=0.5):
    """Nothing is asked meanwhile: five times as long as from one question to the next."""
    asked = len(fake.asked)
    time.sleep(seconds)
    return len(fake.asked) == asked


def names(screen):
    """Of the rules, from top to bottom; none yet, if there are no headings."""
    lines = iter(screen.lines)
    for line in lines:
        if line.startswith("RULE"):
            break
    found = []
    for line in lines:
        if not line or line.startswith(("     DENIED", "rules ")):
            break
        found.append(line.split()[0])
    return found


def wait_for_names(terminal, *wanted):
    terminal.wait_until(lambda screen: names(screen) == list(wanted), f"rules {wanted}")


def footer(screen):
    return screen.lines[-1]


# ---- the picture ----------------------------------------------------------------------------


def test_it_is_drawn_on_another_screen(fake):
    with top(fake, columns=130) as terminal:
        wait_for_names(terminal, "api", "~login", "global")
        screen = terminal.screen
        assert screen.in_front and not screen.cursor_shown
        assert screen.lines[0].startswith(f"{fake.url}  up 2h 13m  last minute:  220 checks/s")
        assert footer(screen) == "by denied  ? help  q quit"
        assert "acme/u1" in screen.text and "DENIED↓" in screen.text
        assert "".join(screen.main[0]).strip() == ""
        terminal.press("q")
        assert terminal.end() == 0
        assert terminal.is_as_before()
    assert fake.asked[0].target == "/v1/stats?window=minute&top=10&limit=500"


def test_figures_are_refreshed(fake):
    with top(fake) as terminal:
        terminal.wait_for("220 checks/s")
        fake.response = json_answer(stats(rule("other", 60)))
        wait_for_names(terminal, "other")
        terminal.wait_for("  1 checks/s")
        assert "api" not in terminal.screen.text


@pytest.mark.parametrize("columns, rows", [(60, 24), (60, 10), (40, 12), (20, 5), (4, 3), (1, 1),
                                           (300, 100)])
def test_it_fits_every_terminal(fake, columns, rows):
    """The screen fails where anything scrolls or is erased at the edge."""
    with top(fake, columns=columns, rows=rows) as terminal:
        start = fake.url[:columns - 1]
        terminal.wait_until(lambda screen: screen.lines[0].startswith(start), "drawn")
        terminal.wait_until(lambda _: len(fake.asked) > 3, "asked again")
        if rows > 9:
            wait_for_names(terminal, "api", "~login", "global")
        terminal.press("?")
        terminal.press("q")
        terminal.press("q")
        assert terminal.end() == 0
        assert terminal.is_as_before()


def test_another_size_is_taken_at_once(fake):
    with top(fake, columns=130, rows=40) as terminal:
        terminal.wait_for("MOST LIMITED")
        assert "ALGORITHM" in terminal.screen.text
        terminal.resize(60, 20)
        terminal.wait_until(lambda screen: footer(screen).startswith("by denied"), "smaller")
        terminal.screen.strict = True
        asked = len(fake.asked)
        terminal.wait_until(lambda _: len(fake.asked) > asked + 2, "drawn again")
        assert "ALGORITHM" not in terminal.screen.text
        assert names(terminal.screen) == ["api", "~login", "global"]
        terminal.resize(130, 30)
        terminal.wait_for("ALGORITHM")


@pytest.mark.parametrize("variables, coloured", [
    ({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True),
])
def test_colour_is_there_where_it_is_wanted(fake, variables, coloured):
    with top(fake, **variables) as terminal:
        terminal.wait_for("acme/u1")
        assert terminal.screen.styles == ({"0", "1", "2", "31", "33"} if coloured else set())


def test_nothing_that_a_server_sends_moves_the_terminal():
    """The screen fails on what is no escape of ours."""
    evil = rule(ESCAPES, denied=5, algorithm=ESCAPES, top=[(ESCAPES, ESCAPES, 5), (None, "漢字" * 40, 1)])
    store = {"name": ESCAPES, "healthy": False, "why": ESCAPES}
    with Fake(json_answer(stats(evil, store=store))) as fake, top(fake, columns=200) as terminal:
        terminal.wait_for("\\u001b[31m")
        terminal.wait_until(lambda _: len(fake.asked) > 2, "asked again")
        fake.response = problem(403, ESCAPES)
        terminal.wait_for("the server said no (403)")
        terminal.press("q")
        assert terminal.end() == 0


# ---- keys -------------------------------------------------------------------------------------


def test_keys_sort(fake):
    with top(fake) as terminal:
        wait_for_names(terminal, "api", "~login", "global")
        for key, by, wanted in [("n", "name", ("api", "global", "~login")),
                                ("c", "checks", ("global", "api", "~login")),
                                ("p", "p99", ("~login", "api", "global")),
                                ("a", "allowed", ("global", "api", "~login")),
                                ("h", "hit_rate", ("api", "~login", "global")),
                                ("r", "hit_rate, reversed", ("global", "~login", "api")),
                                ("d", "denied, reversed", ("global", "~login", "api")),
                                ("r", "denied", ("api", "~login", "global"))]:
            terminal.press(key)
            terminal.wait_for(f"by {by}  ?")
            assert tuple(names(terminal.screen)) == wanted, key


def test_the_column_to_the_left_and_to_the_right(fake):
    with top(fake, "--sort", "name") as terminal:
        terminal.wait_for("by name")
        for by in ("checks", "allowed", "denied", "hit_rate", "p99", "name"):
            terminal.press(">" if by != "denied" else RIGHT)
            terminal.wait_for(f"by {by}")
        for by in ("p99", "hit_rate"):
            terminal.press("<" if by == "p99" else LEFT)
            terminal.wait_for(f"by {by}")


def test_a_key_changes_the_window(fake):
    with top(fake) as terminal:
        for name in ("hour", "day", "minute"):
            terminal.press("w")
            terminal.wait_for(f"last {name}:")
            assert any(f"window={name}" in asked.target for asked in fake.asked)


def test_the_space_bar_pauses(fake):
    with top(fake) as terminal:
        wait_for_names(terminal, "api", "~login", "global")
        terminal.press(" ")
        terminal.wait_for("paused")
        fake.response = json_answer(stats(rule("other")))
        terminal.wait_until(lambda _: is_quiet(fake), "nothing is asked any more")
        asked = len(fake.asked)
        terminal.press("n")  # it can still be sorted
        terminal.wait_for("by name")
        assert len(fake.asked) == asked
        terminal.press(" ")
        wait_for_names(terminal, "other")
        assert "paused" not in terminal.screen.text


def test_rules_are_scrolled():
    rules = [rule(f"r{number:02d}", denied=100 - number) for number in range(50)]
    with Fake(json_answer(stats(*rules))) as fake, top(fake, rows=20) as terminal:
        first = 0

        def shows(wanted):
            terminal.wait_until(lambda screen: names(screen)[:1] == [f"r{wanted:02d}"],
                                f"r{wanted:02d} on top")
            return names(terminal.screen)

        page = len(shows(first))
        assert 8 < page < 20
        assert footer(terminal.screen).startswith(f"rules 1-{page} of 50")
        for key, wanted in [(UP, 0), (DOWN, 1), (DOWN, 2), (UP, 1), (PAGE_DOWN, 1 + page),
                            (PAGE_UP, 1), (PAGE_UP, 0), (END, 50 - page), (DOWN, 50 - page),
                            (HOME, 0), (PAGE_DOWN * 20, 50 - page)]:
            terminal.press(key)
            shows(wanted)
        assert footer(terminal.screen).startswith(f"rules {51 - page}-50 of 50")


def test_help_is_a_key_away(fake):
    with top(fake, columns=60, rows=24) as terminal:
        wait_for_names(terminal, "api", "~login", "global")
        terminal.press("?")
        terminal.wait_for("any key: back")
        for text in ("sort by name, checks", "PgDn", "w            last minute", "~ is a shadow"):
            assert text in terminal.screen.text
        terminal.press("d")
        wait_for_names(terminal, "api", "~login", "global")


def test_what_means_nothing_does_nothing(fake):
    with top(fake) as terminal:
        wait_for_names(terminal, "api", "~login", "global")
        terminal.press("x\033[1;5Azö\t\r" + "\033[" + "1" * 200 + "n")
        terminal.wait_for("by name")


# ---- the server --------------------------------------------------------------------------------


def test_a_server_that_went_away_is_asked_again():
    fake = Fake(json_answer(THREE))
    port = fake.port
    with top(fake, columns=150) as terminal:
        with fake:
            wait_for_names(terminal, "api", "~login", "global")
        terminal.wait_for(f"no server can be reached at `{fake.url}`: Connection refused")
        wait_for_names(terminal, "api", "~login", "global")  # the last that is known
        terminal.wait_for("figures are ")
        with Fake(json_answer(stats(rule("again"))), port=port):
            wait_for_names(terminal, "again")
            assert "no server" not in terminal.screen.text
            assert "figures are" not in terminal.screen.text


def test_one_that_was_never_there_is_waited_for():
    with Fake(b"") as fake:
        port = fake.port
    with top(fake) as terminal:
        terminal.wait_for("Connection refused")
        with Fake(json_answer(THREE), port=port):
            wait_for_names(terminal, "api", "~login", "global")


def test_a_no_is_told_in_the_head():
    with Fake(problem(401, "Show a token.")) as fake, top(fake) as terminal:
        terminal.wait_for("the server said no (401) (no token was sent): Show a token.")
        fake.response = json_answer({"something": "else"})
        terminal.wait_for("is it the right server?")
        fake.response = json_answer(THREE)
        wait_for_names(terminal, "api", "~login", "global")


def test_keys_do_not_wait_for_a_server_that_hangs(fake):
    over = threading.Event()
    with top(fake) as terminal:
        wait_for_names(terminal, "api", "~login", "global")
        fake.response = lambda _: over.wait(TIMEOUT_S)
        asked = len(fake.asked)
        terminal.wait_until(lambda _: len(fake.asked) > asked, "asked")
        terminal.press("n")
        wait_for_names(terminal, "api", "global", "~login")
        terminal.wait_for("figures are ")
        started = time.monotonic()
        terminal.press("q")
        assert terminal.end() == 0
        assert time.monotonic() - started < 20  # a server has 30 s for an answer
        assert terminal.is_as_before()
        over.set()


# ---- its end ------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT,
                                    signal.SIGABRT, signal.SIGSEGV])
def test_a_signal_leaves_the_terminal_as_it_was(fake, number):
    with top(fake) as terminal:
        if number == signal.SIGSEGV and is_sanitized():
            pytest.skip("the sanitizer has its own way with it")
        wait_for_names(terminal, "api", "~login", "global")
        assert not terminal.is_as_before()
        terminal.signal(number)
        assert terminal.end() == -number
        assert terminal.is_as_before()


@pytest.mark.parametrize("keys, status", [("\x03", -signal.SIGINT), ("\x1c", -signal.SIGQUIT),
                                          ("q", 0), ("Q", 0), ("nq", 0)])
def test_keys_end_it(fake, keys, status):
    with top(fake) as terminal:
        wait_for_names(terminal, "api", "~login", "global")
        terminal.press(keys)
        assert terminal.end() == status
        assert terminal.is_as_before()


@pytest.mark.parametrize("how", ["key", "signal", "SIGSTOP"])
def test_it_can_be_stopped_and_goes_on(fake, how):
    with top(fake) as terminal:
        wait_for_names(terminal, "api", "~login", "global")
        if how == "key":
            terminal.press("\x1a")
        else:
            terminal.signal(signal.SIGSTOP if how == "SIGSTOP" else signal.SIGTSTP)
        terminal.wait_until(lambda _: terminal.is_stopped(), "stopped")
        terminal.read(0.05)
        assert how == "SIGSTOP" or terminal.is_as_before()
        fake.response = json_answer(stats(rule("later")))
        terminal.go_on()
        wait_for_names(terminal, "later")
        assert terminal.screen.in_front and not terminal.is_as_before()
        terminal.press("q")
        assert terminal.end() == 0
        assert terminal.is_as_before()


def test_without_a_terminal_it_ends(fake):
    with top(fake) as terminal:
        wait_for_names(terminal, "api", "~login", "global")
        terminal.hang_up()
        assert terminal.shell.wait(TIMEOUT_S) in (0, -signal.SIGHUP)  # whichever it sees first
