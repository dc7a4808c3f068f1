/* A link on a Unix socket whose other end is the test: both in one thread, and time passes when
 * the test says so. */
#ifndef TEST_STORE_FAKE_REDIS_H
#define TEST_STORE_FAKE_REDIS_H

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "store/redis/link/link_internal.h"
#include "unit/store/folder.h"

#define MS        INT64_C(1000)
#define S         INT64_C(1000000)
#define REDIS_US  (INT64_C(1700000000) * S) /* what Redis' clock says when ours says START_US */
#define START_US  (1000 * S)
#define CLOCK_FMT "*2\r\n:%" PRId64 "\r\n:1\r\n"

enum { DEADLINE_US = 30000, QUESTIONS = 9000 };

/* ---- time ---- */

static int64_t clock_us = START_US;
static int64_t boot_us; /* what the boot clock shows; 0: the machine's */

int clock_gettime(clockid_t id, struct timespec *now)
{
    int64_t us = id == CLOCK_MONOTONIC ? clock_us : id == CLOCK_BOOTTIME ? boot_us : 0;
    if (us == 0)
        return (int)syscall(SYS_clock_gettime, id, now);
    *now = (struct timespec){ us / S, us % S * 1000 };
    return 0;
}

static inline int64_t redis_us(void)
{
    return REDIS_US + clock_us - START_US;
}

/* ---- both ends ---- */

static struct sl_link_shared shared;
static struct sl_link *link_;
static int listener = -1, peer = -1; /* Redis' side; -1: not connected */
static int watched_fd = -1;
static short watched_events;
static int64_t wake_us = INT64_MAX;
static bool is_patient;

/* Tells the link, or its owner. */
static inline void link_is_ready(void)
{
    sl_link_on_ready(link_);
}

static inline void link_is_due(void)
{
    sl_link_on_time(link_);
}

static void (*on_ready)(void) = link_is_ready, (*on_time)(void) = link_is_due;

static inline void watch(void *about, int fd, bool reads, bool writes)
{
    (void)about;
    watched_fd = reads || writes ? fd : -1;
    watched_events = (short)((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
}

static inline void wake_at(void *about, int64_t at_us)
{
    (void)about;
    wake_us = at_us;
}

static inline void start_listening(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    unlink(path);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 16), 0);
}

static inline void stop_listening(void)
{
    close(listener);
    listener = -1;
}

static inline void hang_up(void)
{
    if (peer >= 0)
        close(peer);
    peer = -1;
}

/* The newest connection is the one that counts. */
static inline void accept_peers(void)
{
    int fd;
    while (listener >= 0 && (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        hang_up();
        peer = fd;
    }
}

/* What is ready and what is due, until there is nothing more of either. */
static inline void turn(void)
{
    for (int i = 0; i < 100; i++) {
        struct pollfd watched = { .fd = watched_fd, .events = watched_events };
        accept_peers();
        bool ready = watched_fd >= 0 && poll(&watched, 1, 0) > 0;
        if (ready)
            on_ready();
        bool due = clock_us >= wake_us;
        if (due) {
            wake_us = INT64_MAX;
            on_time();
        }
        if (!ready && !due)
            return;
    }
    fail_msg("it never comes to rest");
}

static inline void pass_us(int64_t us)
{
    int64_t until_us = clock_us + us;
    while (wake_us < until_us) { /* step by step, as a loop is woken */
        clock_us = wake_us > clock_us ? wake_us : clock_us;
        turn();
    }
    clock_us = until_us;
    turn();
}

static inline void open_target(const char *user, const char *password, uint32_t database)
{
    struct sl_store_url url = {
        .path = path, .user = user, .password = password, .database = database
    };
    struct sluice_error error = { 0 };
    memset(&shared, 0, sizeof shared);
    shared.deadline_us = DEADLINE_US;
    pthread_mutex_init(&shared.why_lock, NULL);
    shared.target = sl_target_open(&url, &(struct sl_tls_client){ 0 }, &error);
    assert_non_null(shared.target);
}

static inline void close_target(void)
{
    sl_target_close(shared.target);
    pthread_mutex_destroy(&shared.why_lock);
    hang_up();
}

static inline void new_link(const char *user, const char *password, uint32_t database)
{
    struct sl_link_host host = { NULL, watch, wake_at, is_patient, NULL, NULL };
    open_target(user, password, database);
    link_ = sl_link_new(&shared, &host);
    assert_non_null(link_);
}

static inline void free_link(void)
{
    sl_link_free(link_);
    link_ = NULL;
    close_target();
}

/* ---- Redis' side ---- */

/* One command's words: "PROBE", "LOAD", "CALL words…", or as it is. */
static inline size_t print_command(const char *at, char *out, size_t room)
{
    const char *words[64];
    int lens[64];
    char *next;
    size_t count = strtoul(at + 1, &next, 10), len = 0, first = 0;
    assert_true(*at == '*' && count > 0 && count <= COUNT(words));
    for (size_t i = 0; i < count; i++) {
        lens[i] = (int)strtol(next + 3, &next, 10);
        words[i] = next + 2;
        next = next + 2 + lens[i];
    }
    if (strncmp(words[0], "EVAL\r", 5) == 0)
        len += (size_t)snprintf(out, room, "PROBE"), first = count;
    else if (strncmp(words[0], "SCRIPT", 6) == 0)
        len += (size_t)snprintf(out, room, "LOAD %.*s", lens[2], words[2]), first = count;
    else if (strncmp(words[0], "EVALSHA", 7) == 0)
        len += (size_t)snprintf(out, room, "CALL"), first = 2;
    for (size_t i = first; i < count; i++)
        len += (size_t)snprintf(out + len, room - len, len ? " %.*s" : "%.*s", lens[i], words[i]);
    return len;
}

/* Where a command ends. */
static inline const char *end_of_command(const char *at)
{
    char *next;
    for (size_t count = strtoul(at + 1, &next, 10); count > 0; count--) {
        long len = strtol(next + 3, &next, 10);
        next += 2 + len;
    }
    return next + 2;
}

/* What has arrived since: commands with a bar between them. "(closed)": no connection. */
static inline const char *heard(void)
{
    static char bytes[1 << 20], text[1 << 20];
    size_t len = 0, printed = 0;
    ssize_t got = -1;
    size_t before;
    text[0] = 0;
    turn();
    do { /* what had no room in the socket comes now */
        before = len;
        while (peer >= 0 && (got = read(peer, bytes + len, sizeof bytes - 1 - len)) > 0)
            len += (size_t)got;
        turn();
    } while (len > before);
    bytes[len] = 0;
    for (const char *at = bytes; at < bytes + len; at = end_of_command(at)) {
        if (printed)
            printed += (size_t)snprintf(text + printed, sizeof text - printed, " | ");
        printed += print_command(at, text + printed, sizeof text - printed);
    }
    if (peer < 0 || got == 0)
        return "(closed)";
    return text;
}

__attribute__((format(printf, 1, 2))) static inline void say(const char *format, ...)
{
    char text[4096];
    va_list list;
    va_start(list, format);
    int len = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    assert_int_equal(send(peer, text, (size_t)len, MSG_NOSIGNAL), len);
    turn();
}

/* As a script that packs its reply. */
static inline void say_packed(const int64_t *values, size_t count)
{
    char text[4096];
    int len = snprintf(text, sizeof text, "$%zu\r\n", count * 8);
    for (size_t i = 0; i < count * 8; i++)
        text[len++] = (char)((uint64_t)values[i / 8] >> (i % 8 * 8));
    memcpy(text + len, "\r\n", 2);
    assert_int_equal(send(peer, text, (size_t)len + 2, MSG_NOSIGNAL), len + 2);
    turn();
}

/* Connected, and the probe answered at once. */
static inline void greet(void)
{
    sl_link_open(link_);
    assert_string_equal(heard(), "PROBE");
    say(CLOCK_FMT, redis_us());
    assert_true(sl_link_is_up(link_));
}

/* ---- questions ---- */

static const struct sl_script script = { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                                         SL_TEXT("one") };
static const struct sl_script other = { "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
                                        SL_TEXT("two") };

static struct question {
    struct sl_redis_query query; /* first */
    int ends;                    /* how often it was answered */
    int status;
    int64_t value; /* the answer's first number */
    int asks_again;
    bool flushes; /* what it asks again */
} questions[QUESTIONS];

static struct sl_buffer words;

static inline void on_end(struct sl_redis_query *query, int status,
                          const struct sl_redis_reply *reply)
{
    struct question *question = (struct question *)query;
    question->ends++;
    question->status = status;
    question->value = reply && reply->value_count ? reply->values[0] : -1;
    assert_true((status == SLUICE_OK) == (reply != NULL));
    if (question->asks_again > 0) {
        question->asks_again--;
        sl_link_ask(link_, query);
        if (question->flushes)
            sl_link_flush(link_);
    }
}

/* Question number i, whose only word is its name. */
static inline struct question *prepare(size_t i, const struct sl_script *of)
{
    char word[32];
    struct question *question = &questions[i];
    size_t start = words.len;
    int len = snprintf(word, sizeof word, "$5\r\nq%04zu\r\n", i);
    sl_buffer_add(&words, (struct sluice_text){ word, (size_t)len });
    *question = (struct question){ .query = { .done = on_end,
                                              .script = of,
                                              .bytes = &words,
                                              .start = start,
                                              .len = words.len - start,
                                              .words = 1 } };
    return question;
}

static inline void ask_of(size_t i, const struct sl_script *of)
{
    sl_link_ask(link_, &prepare(i, of)->query);
}

/* Those of the numbers from `first` on. */
static inline void ask_all(size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++)
        ask_of(i, &script);
    sl_link_flush(link_);
}

/* Each was answered exactly once, and so. */
static inline void expect_ends(const char *row, size_t first, size_t count, int status)
{
    for (size_t i = first; i < first + count; i++) {
        SAME(row, questions[i].ends, 1);
        SAME(row, questions[i].status, status);
    }
}

static inline void expect_waiting(const char *row, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++)
        SAME(row, questions[i].ends, 0);
}

/* ---- around a test ---- */

static inline int start_redis(void **unused)
{
    if (open_folder(unused) != 0)
        return -1;
    clock_us = START_US;
    wake_us = INT64_MAX;
    watched_fd = -1;
    is_patient = false;
    words = sl_buffer(1 << 20);
    start_listening();
    return 0;
}

static inline int stop_redis(void **unused)
{
    if (listener >= 0)
        stop_listening();
    sl_buffer_release(&words);
    return close_folder(unused);
}

static inline int set_up(void **unused)
{
    if (start_redis(unused) != 0)
        return -1;
    new_link(NULL, NULL, 0);
    return 0;
}

static inline int tear_down(void **unused)
{
    free_link();
    return stop_redis(unused);
}

#define ON_A_LINK(name) TEST_WITH(name, set_up, tear_down)

#endif
