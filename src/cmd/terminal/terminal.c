/* The terminal's screen, keys and signals. */
#include "cmd/terminal/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text/number.h"

/* The alternate screen, no cursor; long lines are cut and not wrapped. */
static const char enter_text[] = "\033[?1049h\033[?25l\033[?7l\033[2J";
static const char leave_text[] = "\033[0m\033[?7h\033[?25h\033[?1049l";

static struct {
    struct termios before, while_open;
    int events[2]; /* a pipe of signals' numbers; 0: sl_terminal_wake */
    char typed[64];
    size_t typed_len;
    volatile sig_atomic_t is_in_front;
    bool has_keys; /* standard input is a terminal too, and still open */
} terminal = { .events = { -1, -1 } };

/* ---- the alternate screen ---- */

/* Signal handlers call it too. */
static void write_text(const char *text, size_t len)
{
    int before = errno;
    ssize_t ignored = write(STDOUT_FILENO, text, len);
    (void)ignored;
    errno = before;
}

static void enter_screen(void)
{
    tcsetattr(STDOUT_FILENO, TCSANOW, &terminal.while_open);
    write_text(enter_text, sizeof enter_text - 1);
    terminal.is_in_front = 1;
}

static void leave_screen(void)
{
    if (!terminal.is_in_front)
        return;
    terminal.is_in_front = 0;
    write_text(leave_text, sizeof leave_text - 1);
    tcsetattr(STDOUT_FILENO, TCSANOW, &terminal.before);
}

/* ---- signals ---- */

static const int told[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH };
static const int broken[] = { SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE };

enum { TOLD = sizeof told / sizeof *told, BROKEN = sizeof broken / sizeof *broken };

static void post_signal(int number)
{
    int before = errno;
    unsigned char byte = (unsigned char)number;
    ssize_t ignored =
        write(terminal.events[1], &byte, 1); /* full: the reader has a wake-up already */
    (void)ignored;
    errno = before;
}

static void break_down(int number)
{
    leave_screen();
    raise(number); /* now with the default action: SA_RESETHAND */
}

static void set_handler(int number, void (*handler)(int), int flags)
{
    sigaction(number, &(struct sigaction){ .sa_handler = handler, .sa_flags = flags }, NULL);
}

static void set_handlers(void (*on_told)(int), void (*on_broken)(int))
{
    for (size_t i = 0; i < TOLD; i++)
        set_handler(told[i], on_told, SA_RESTART);
    for (size_t i = 0; i < BROKEN; i++)
        set_handler(broken[i], on_broken,
                    on_broken == SIG_DFL ? 0 : (int)SA_RESETHAND | SA_NODEFER);
}

/* Stops the process; returns after SIGCONT. */
static void stop_process(void)
{
    leave_screen();
    set_handler(SIGTSTP, SIG_DFL, 0);
    raise(SIGTSTP);
    set_handler(SIGTSTP, post_signal, SA_RESTART);
    enter_screen();
}

/* ---- opening and closing ---- */

bool sl_terminal_is_there(void)
{
    const char *kind = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(kind && strcmp(kind, "dumb") == 0);
}

bool sl_terminal_open(struct sluice_error *error)
{
    static bool is_registered;
    if (tcgetattr(STDOUT_FILENO, &terminal.before) != 0 ||
        pipe2(terminal.events, O_CLOEXEC | O_NONBLOCK) != 0)
        return sl_error_say(error, "the terminal cannot be used: %s", strerror(errno));
    terminal.while_open = terminal.before;
    terminal.while_open.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    terminal.while_open.c_iflag &= ~(tcflag_t)(IXON | ICRNL);
    terminal.has_keys = isatty(STDIN_FILENO);
    if (!is_registered)
        is_registered = atexit(leave_screen) == 0;
    set_handlers(post_signal, break_down);
    enter_screen();
    return true;
}

/* The pipe stays: a thread may still wake us. */
void sl_terminal_close(void)
{
    leave_screen();
    set_handlers(SIG_DFL, SIG_DFL);
}

struct sl_terminal_size sl_terminal_size(void)
{
    struct winsize size = { 0 };
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    return (struct sl_terminal_size){
        size.ws_col ? size.ws_col : 80,
        size.ws_row ? size.ws_row : 24,
    };
}

bool sl_terminal_write(struct sluice_text text)
{
    while (text.len > 0) {
        ssize_t count = write(STDOUT_FILENO, text.at, text.len);
        if (count < 0 && errno == EAGAIN)
            poll(&(struct pollfd){ .fd = STDOUT_FILENO, .events = POLLOUT }, 1, -1);
        else if (count < 0 && errno != EINTR)
            return false;
        if (count > 0)
            text = (struct sluice_text){ text.at + count, text.len - (size_t)count };
    }
    return true;
}

/* ---- keys ---- */

/* Returns the key of an escape sequence, from what follows ESC [: a number or none, and a last
 * byte. */
static int sequence_key(struct sluice_text parameters, char last)
{
    static const struct {
        const char *text; /* number and last byte */
        int key;
    } keys[] = {
        { "A", SL_KEY_UP },    { "B", SL_KEY_DOWN },     { "C", SL_KEY_RIGHT },
        { "D", SL_KEY_LEFT },  { "H", SL_KEY_HOME },     { "F", SL_KEY_END },
        { "1~", SL_KEY_HOME }, { "7~", SL_KEY_HOME },    { "4~", SL_KEY_END },
        { "8~", SL_KEY_END },  { "5~", SL_KEY_PAGE_UP }, { "6~", SL_KEY_PAGE_DOWN },
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        size_t len = strlen(keys[i].text) - 1;
        if (keys[i].text[len] == last &&
            sl_text_equal(parameters, (struct sluice_text){ keys[i].text, len }))
            return keys[i].key;
    }
    return SL_KEY_NONE;
}

size_t sl_key_parse(struct sluice_text typed, int *key)
{
    unsigned char first = typed.len ? (unsigned char)typed.at[0] : 0;
    *key = SL_KEY_NONE;
    if (typed.len == 0)
        return 0;
    if (first != '\033') {
        *key = first < 128 ? first : SL_KEY_NONE;
        return 1;
    }
    if (typed.len == 1)
        return 0;
    if (typed.at[1] != '[' && typed.at[1] != 'O')
        return 1; /* Escape, and then something else */
    for (size_t at = 2; at < typed.len; at++) {
        if (typed.at[at] < '@' || typed.at[at] > '~')
            continue;
        *key = sequence_key((struct sluice_text){ typed.at + 2, at - 2 }, typed.at[at]);
        return at + 1;
    }
    return 0;
}

static int take_typed_key(void)
{
    int key = SL_KEY_NONE;
    size_t took = sl_key_parse((struct sluice_text){ terminal.typed, terminal.typed_len }, &key);
    if (took == 0 && terminal.typed_len == sizeof terminal.typed)
        took = sizeof terminal.typed; /* no key is that long */
    terminal.typed_len -= took;
    memmove(terminal.typed, terminal.typed + took, terminal.typed_len);
    return key;
}

/* ---- waiting ---- */

static enum sl_event event_of(int number, int *out)
{
    switch (number) {
    case 0:
        return SL_EVENT_WOKEN;
    case SIGTSTP:
        stop_process();
        return SL_EVENT_DRAW;
    case SIGCONT: /* after SIGSTOP another program had the screen */
        enter_screen();
        return SL_EVENT_DRAW;
    case SIGWINCH:
        return SL_EVENT_DRAW;
    default:
        *out = number;
        return SL_EVENT_END;
    }
}

static enum sl_event next_key(int *out)
{
    while (terminal.typed_len > 0) {
        size_t before = terminal.typed_len;
        *out = take_typed_key();
        if (*out != SL_KEY_NONE)
            return SL_EVENT_KEY;
        if (terminal.typed_len == before)
            break; /* the rest of it is to come */
    }
    return SL_EVENT_NONE;
}

static enum sl_event read_keys(int *out)
{
    ssize_t count = read(STDIN_FILENO, terminal.typed + terminal.typed_len,
                         sizeof terminal.typed - terminal.typed_len);
    if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) {
        *out = 0;
        return SL_EVENT_END;
    }
    terminal.typed_len += count > 0 ? (size_t)count : 0;
    return next_key(out);
}

enum sl_event sl_terminal_wait(int64_t at_most_us, int *number)
{
    unsigned char byte;
    struct pollfd ready[] = {
        { .fd = terminal.events[0], .events = POLLIN },
        { .fd = terminal.has_keys ? STDIN_FILENO : -1, .events = POLLIN },
    };
    if (next_key(number) == SL_EVENT_KEY)
        return SL_EVENT_KEY;
    int64_t ms = sl_min_i64(sl_div_ceil(sl_max_i64(at_most_us, 0), 1000), 3600000);
    if (poll(ready, 2, (int)ms) <= 0)
        return SL_EVENT_NONE;
    if (ready[0].revents && read(terminal.events[0], &byte, 1) == 1)
        return event_of(byte, number);
    return ready[1].revents ? read_keys(number) : SL_EVENT_NONE;
}

void sl_terminal_wake(void)
{
    post_signal(0);
}
