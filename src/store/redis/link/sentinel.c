/* One connection is kept, to the Sentinel that answered last: it is asked over it again and
 * again, and says on it when the master changes.
 *
 * Why not a connection to each, and the majority's word? Sentinels agree among themselves before
 * one of them says anything new; one that is cut off from the others is found out because what it
 * names is not a master, and then the next is asked. */
#include "store/redis/link/sentinel.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "store/redis/link/socket.h"

enum { SENTINELS_MAX = 64, ANSWER_US = 500000, WORDS_MAX_BYTES = 8192 };

struct sl_sentinels {
    char *hosts[SENTINELS_MAX]; /* "host:port" or "[v6]:port" */
    size_t count, first;
    char *master, *password;
    struct sl_tls *tls;

    struct sl_socket socket; /* to `first` */
    short wants;             /* what it waits for, to be read from */
    struct sl_reply_reader *reader;
    struct sl_talk talk;
};

/* ---- beginning and end ---- */

static void hang_up(struct sl_sentinels *sentinels)
{
    sl_socket_close(&sentinels->socket);
    sl_reply_reader_free(sentinels->reader);
    sl_sentinels_abandon(sentinels);
}

void sl_sentinels_abandon(struct sl_sentinels *sentinels)
{
    sentinels->socket = (struct sl_socket){ .fd = -1 };
    sentinels->wants = POLLIN;
    sentinels->reader = NULL;
    sentinels->talk.stage = SL_TALK_NEW;
}

void sl_sentinels_free(struct sl_sentinels *sentinels)
{
    if (!sentinels)
        return;
    hang_up(sentinels);
    for (size_t i = 0; i < sentinels->count; i++)
        free(sentinels->hosts[i]);
    free(sentinels->master);
    free(sentinels->password);
    free(sentinels);
}

/* Those beyond the last place are left out: nobody has so many. */
static bool keep_hosts(struct sl_sentinels *sentinels, const char *hosts)
{
    for (const char *at = hosts; at && sentinels->count < SENTINELS_MAX;) {
        const char *comma = strchrnul(at, ',');
        char *host = strndup(at, (size_t)(comma - at));
        if (!host)
            return false;
        sentinels->hosts[sentinels->count++] = host;
        at = *comma ? comma + 1 : NULL;
    }
    return true;
}

struct sl_sentinels *sl_sentinels_new(const char *hosts, const char *master, const char *password,
                                      struct sl_tls *tls)
{
    struct sl_sentinels *sentinels = calloc(1, sizeof *sentinels);
    if (!sentinels)
        return NULL;
    sl_sentinels_abandon(sentinels);
    sentinels->tls = tls;
    sentinels->master = strdup(master);
    sentinels->password = password ? strdup(password) : NULL;
    sentinels->talk = (struct sl_talk){ sentinels->master, sentinels->password, SL_TALK_NEW };
    if (keep_hosts(sentinels, hosts) && sentinels->master && (!password || sentinels->password))
        return sentinels;
    sl_sentinels_free(sentinels);
    return NULL;
}

/* ---- bytes ---- */

/* False: not by then, or the connection is broken. */
static bool wait_for(int fd, short events, int64_t until_us)
{
    for (;;) {
        int64_t rest_us = until_us - sl_boottime_us();
        struct pollfd watched = { .fd = fd, .events = events };
        int count = rest_us > 0 ? poll(&watched, 1, (int)(rest_us / 1000) + 1) : 0;
        if (count >= 0 || errno != EINTR)
            return count > 0;
    }
}

/* A socket that is connected there; -1: errno. */
static int connect_to(const struct addrinfo *address, int64_t until_us)
{
    int code = 0;
    socklen_t len = sizeof code;
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, address->ai_addr, address->ai_addrlen) == 0)
        return fd;
    code = errno;
    if (code == EINPROGRESS) {
        if (!wait_for(fd, POLLOUT, until_us))
            code = ETIMEDOUT;
        else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &len) != 0)
            code = errno;
    }
    if (code == 0)
        return fd;
    close(fd);
    errno = code;
    return -1;
}

/* One address after another, within ANSWER_US together: each has its share of the time that is
 * left. Returns -1 if none does, and why the first did not, as in link_connect.c. */
static int connect_to_any(const struct addrinfo *all, struct sluice_error *why)
{
    int64_t until_us = sl_boottime_us() + ANSWER_US;
    int left = 0;
    for (const struct addrinfo *one = all; one && left < SL_ADDRESSES_MAX; one = one->ai_next)
        left++;
    for (bool is_first = true; left > 0; left--, all = all->ai_next, is_first = false) {
        int64_t now_us = sl_boottime_us();
        int fd = connect_to(all, now_us + sl_max_i64(until_us - now_us, 0) / left);
        if (fd >= 0)
            return fd;
        if (is_first)
            sl_error_say(why, "%s", strerror(errno));
    }
    return -1;
}

/* To number `first`. */
static bool dial(struct sl_sentinels *sentinels, struct sluice_error *why)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *all = NULL;
    char host[256];
    const char *whole = sentinels->hosts[sentinels->first], *colon = strrchr(whole, ':');
    bool in_brackets = whole[0] == '[';
    size_t len = (size_t)(colon - whole) - (in_brackets ? 2 : 0);
    if (len >= sizeof host)
        return sl_error_say(why, "its name is too long");
    memcpy(host, whole + in_brackets, len);
    host[len] = 0;
    int code = getaddrinfo(host, colon + 1, &hints, &all);
    if (code != 0)
        return sl_error_say(why, "%s", gai_strerror(code));
    int fd = connect_to_any(all, why);
    freeaddrinfo(all);
    if (fd < 0)
        return false;
    sentinels->socket.fd = fd;
    sentinels->socket.tls = sentinels->tls ? sl_tls_connect(sentinels->tls, fd, host) : NULL;
    sentinels->reader = sl_reply_reader_new();
    if (!sentinels->reader || (sentinels->tls && !sentinels->socket.tls))
        return sl_error_say(why, "out of memory");
    return true;
}

static bool send_all(struct sl_sentinels *sentinels, const struct sl_buffer *words)
{
    int64_t until_us = sl_boottime_us() + ANSWER_US;
    for (size_t sent = 0; sent < words->len;) {
        ssize_t count = sl_socket_write(&sentinels->socket, words->at + sent, words->len - sent);
        short wants = count == SL_IO_WANT_READ ? POLLIN : POLLOUT;
        if (count > 0)
            sent += (size_t)count;
        else if (count == SL_IO_BROKEN || !wait_for(sentinels->socket.fd, wants, until_us))
            return false;
    }
    return !words->failed;
}

/* All that is there to be read. False: it is closed, or no Redis' protocol. */
static bool read_some(struct sl_sentinels *sentinels)
{
    char bytes[4096];
    for (;;) { /* of TLS there may be more than the socket shows */
        ssize_t count = sl_socket_read(&sentinels->socket, bytes, sizeof bytes);
        sentinels->wants = count == SL_IO_WANT_WRITE ? POLLOUT : POLLIN;
        if (count == SL_IO_WANT_READ || count == SL_IO_WANT_WRITE)
            return true;
        if (count <= 0 || !sl_reply_reader_feed(sentinels->reader, bytes, (size_t)count))
            return false;
    }
}

static const char *why_cut(const struct sl_sentinels *sentinels)
{
    struct sl_tls_stream *tls = sentinels->socket.tls;
    const char *certificate = tls ? sl_tls_why_broken(tls) : NULL;
    return certificate ? certificate : "the connection was cut";
}

/* Through replies that are there, to the first that says something. */
static enum sl_heard hear(struct sl_sentinels *sentinels, struct sl_master *master,
                          struct sluice_error *why)
{
    for (;;) {
        struct sl_redis_reply *reply;
        enum sl_heard heard;
        switch (sl_reply_reader_next(sentinels->reader, &reply)) {
        case SL_READ_MORE:
            return SL_HEARD_NOTHING;
        case SL_READ_WRONG:
            sl_error_say(why, "it does not speak Redis' protocol");
            return SL_HEARD_WRONG;
        default:
            heard = sl_talk_hear(&sentinels->talk, reply, master, why);
            if (heard != SL_HEARD_NOTHING)
                return heard;
        }
    }
}

/* ---- asking ---- */

static enum sl_heard answer(struct sl_sentinels *sentinels, struct sl_master *out,
                            struct sluice_error *why)
{
    int64_t until_us = sl_boottime_us() + ANSWER_US;
    for (;;) {
        enum sl_heard heard = hear(sentinels, out, why);
        if (heard != SL_HEARD_NOTHING)
            return heard;
        bool is_ready = wait_for(sentinels->socket.fd, sentinels->wants, until_us);
        if (is_ready && read_some(sentinels))
            continue;
        sl_error_say(why, "%s", is_ready ? why_cut(sentinels) : "it does not answer");
        return SL_HEARD_WRONG;
    }
}

/* Number `first`. One that was kept may have been closed meanwhile: then once more, anew. */
static enum sl_heard ask_one(struct sl_sentinels *sentinels, struct sl_master *out,
                             struct sluice_error *why)
{
    enum sl_heard heard = SL_HEARD_WRONG;
    bool was_kept = sentinels->socket.fd >= 0;
    struct sl_buffer words = sl_buffer(WORDS_MAX_BYTES);
    if (was_kept || dial(sentinels, why)) {
        sl_talk_ask(&sentinels->talk, &words);
        if (send_all(sentinels, &words))
            heard = answer(sentinels, out, why);
        else
            sl_error_say(why, "%s", why_cut(sentinels));
    }
    sl_buffer_release(&words);
    if (heard == SL_HEARD_MASTER)
        return heard;
    hang_up(sentinels);
    return was_kept && heard == SL_HEARD_WRONG ? ask_one(sentinels, out, why) : heard;
}

bool sl_sentinels_ask(struct sl_sentinels *sentinels, struct sl_master *out,
                      struct sluice_error *why)
{
    bool is_unknown = false;
    struct sluice_error one = { 0 };
    for (size_t i = 0; i < sentinels->count; i++) {
        enum sl_heard heard = ask_one(sentinels, out, &one);
        if (heard == SL_HEARD_MASTER)
            return true;
        is_unknown |= heard == SL_HEARD_UNKNOWN;
        if (!is_unknown)
            sl_error_say(why, "no Sentinel answers (%s: %.120s)",
                         sentinels->hosts[sentinels->first], one.text);
        sl_sentinels_doubt(sentinels);
    }
    if (is_unknown)
        sl_error_say(why,
                     "no Sentinel knows a master `%s`; write the name that their configuration "
                     "has behind `sentinel monitor`",
                     sentinels->master);
    return false;
}

void sl_sentinels_doubt(struct sl_sentinels *sentinels)
{
    if (sentinels->count == 1)
        return;
    hang_up(sentinels);
    sentinels->first = (sentinels->first + 1) % sentinels->count;
}

void sl_sentinels_wait(struct sl_sentinels *sentinels, int woken, int64_t at_most_us)
{
    int64_t until_us = sl_boottime_us() + at_most_us;
    struct sluice_error error;
    struct sl_master nobody;
    for (;;) {
        int64_t rest_us = until_us - sl_boottime_us();
        struct pollfd watched[2] = { { .fd = woken, .events = POLLIN },
                                     { sentinels->socket.fd, sentinels->wants, 0 } };
        enum sl_heard heard =
            sentinels->reader ? hear(sentinels, &nobody, &error) : SL_HEARD_NOTHING;
        if (heard != SL_HEARD_NOTHING && heard != SL_HEARD_CHANGED)
            hang_up(sentinels);
        if (heard != SL_HEARD_NOTHING || rest_us <= 0)
            return;
        int count = poll(watched, 2, (int)(rest_us / 1000) + 1);
        if (count > 0 && watched[0].revents)
            return;
        if (count > 0 && watched[1].revents && !read_some(sentinels)) {
            hang_up(sentinels);
            return;
        }
    }
}
