/* Asks Sentinels for the master, and listens for news. One connection is kept, to the Sentinel that
 * answered last: questions go over it again and again, and it announces a new master.
 *
 * Why not a connection to each, and a majority? Sentinels agree among themselves before one of them
 * names another master. One that is cut off from the others names a Redis that is not a master any
 * more; the link finds that out, and the next Sentinel is asked. */
#include "store/redis/link/sentinel.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/error.h"
#include "store/redis/link/socket.h"

enum { SENTINELS_MAX = 64, ANSWER_US = 500000, WORDS_MAX_BYTES = 8192 };

struct sl_sentinels {
    char *hosts[SENTINELS_MAX]; /* "host:port" or "[v6]:port" */
    size_t count, first;
    char *master, *password;
    struct sl_tls *tls;

    struct sl_socket socket; /* to hosts[first] */
    short wants;             /* the poll events without which it cannot be read */
    struct sl_reply_reader *reader;
    struct sl_talk talk;
};

/* ---- new and free ---- */

static void close_connection(struct sl_sentinels *sentinels)
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
    close_connection(sentinels);
    for (size_t i = 0; i < sentinels->count; i++)
        free(sentinels->hosts[i]);
    free(sentinels->master);
    free(sentinels->password);
    free(sentinels);
}

/* Copies the hosts; those beyond SENTINELS_MAX are left out. */
static bool copy_hosts(struct sl_sentinels *sentinels, const char *hosts)
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
    SL_CHECK(hosts && master);
    struct sl_sentinels *sentinels = calloc(1, sizeof *sentinels);
    if (!sentinels)
        return NULL;
    sl_sentinels_abandon(sentinels);
    sentinels->tls = tls;
    sentinels->master = strdup(master);
    sentinels->password = password ? strdup(password) : NULL;
    sentinels->talk = (struct sl_talk){ sentinels->master, sentinels->password, SL_TALK_NEW };
    if (copy_hosts(sentinels, hosts) && sentinels->master && (!password || sentinels->password))
        return sentinels;
    sl_sentinels_free(sentinels);
    return NULL;
}

/* ---- bytes ---- */

/* Returns false if nothing happened by then, or poll failed. */
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

/* Returns a socket that is connected to the address; -1: errno. */
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

/* Tries one address after another, within ANSWER_US together: each has its share of the time that
 * is left. Returns -1 if none answers, and the first one's reason, as link_connect.c does. */
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

/* Connects to hosts[first]. */
static bool connect_to_first(struct sl_sentinels *sentinels, struct sluice_error *why)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *all = NULL;
    char host[256];
    const char *whole = sentinels->hosts[sentinels->first], *colon = strrchr(whole, ':');
    bool in_brackets = whole[0] == '[';
    SL_CHECK(colon); /* the URL's reader adds the port */
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

/* Reads all that has arrived. Returns false if the connection is closed, or a reply too long. */
static bool read_some(struct sl_sentinels *sentinels)
{
    char bytes[4096];
    SL_CHECK(sentinels->reader && sentinels->socket.fd >= 0);
    for (;;) { /* TLS may hold bytes that poll does not show */
        ssize_t count = sl_socket_read(&sentinels->socket, bytes, sizeof bytes);
        sentinels->wants = count == SL_IO_WANT_WRITE ? POLLOUT : POLLIN;
        if (count == SL_IO_WANT_READ || count == SL_IO_WANT_WRITE)
            return true;
        if (count <= 0 || !sl_reply_reader_feed(sentinels->reader, bytes, (size_t)count))
            return false;
    }
}

static const char *reason_of_cut(const struct sl_sentinels *sentinels)
{
    struct sl_tls_stream *tls = sentinels->socket.tls;
    const char *certificate = tls ? sl_tls_why_broken(tls) : NULL;
    return certificate ? certificate : "the connection was cut";
}

/* Goes through the replies that have arrived, up to the first that says something. */
static enum sl_heard next_news(struct sl_sentinels *sentinels, struct sl_master *master,
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

static enum sl_heard wait_for_master(struct sl_sentinels *sentinels, struct sl_master *out,
                                     struct sluice_error *why)
{
    int64_t until_us = sl_boottime_us() + ANSWER_US;
    for (;;) {
        enum sl_heard heard = next_news(sentinels, out, why);
        if (heard != SL_HEARD_NOTHING)
            return heard;
        bool is_ready = wait_for(sentinels->socket.fd, sentinels->wants, until_us);
        if (is_ready && read_some(sentinels))
            continue;
        sl_error_say(why, "%s", is_ready ? reason_of_cut(sentinels) : "it does not answer");
        return SL_HEARD_WRONG;
    }
}

/* Asks hosts[first]. A connection that was kept may have been closed meanwhile: then asks once more
 * over a new one. */
static enum sl_heard ask_first(struct sl_sentinels *sentinels, struct sl_master *out,
                               struct sluice_error *why)
{
    enum sl_heard heard = SL_HEARD_WRONG;
    bool was_kept = sentinels->socket.fd >= 0;
    struct sl_buffer words = sl_buffer(WORDS_MAX_BYTES);
    if (was_kept || connect_to_first(sentinels, why)) {
        sl_talk_ask(&sentinels->talk, &words);
        if (send_all(sentinels, &words))
            heard = wait_for_master(sentinels, out, why);
        else
            sl_error_say(why, "%s", reason_of_cut(sentinels));
    }
    sl_buffer_release(&words);
    if (heard == SL_HEARD_MASTER)
        return heard;
    close_connection(sentinels);
    return was_kept && heard == SL_HEARD_WRONG ? ask_first(sentinels, out, why) : heard;
}

bool sl_sentinels_ask(struct sl_sentinels *sentinels, struct sl_master *out,
                      struct sluice_error *why)
{
    bool is_unknown = false;
    SL_CHECK(sentinels->count > 0 && sentinels->first < sentinels->count);
    struct sluice_error one = { 0 };
    for (size_t i = 0; i < sentinels->count; i++) {
        enum sl_heard heard = ask_first(sentinels, out, &one);
        SL_CHECK(heard != SL_HEARD_MASTER || (*out->host && *out->port));
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
    close_connection(sentinels);
    sentinels->first = (sentinels->first + 1) % sentinels->count;
}

void sl_sentinels_wait(struct sl_sentinels *sentinels, int woken, int64_t at_most_us)
{
    SL_CHECK(at_most_us >= 0); /* `woken` may be -1 in a child without descriptors: poll skips it */
    int64_t until_us = sl_boottime_us() + at_most_us;
    struct sluice_error error;
    struct sl_master ignored;
    for (;;) {
        int64_t rest_us = until_us - sl_boottime_us();
        struct pollfd watched[2] = { { .fd = woken, .events = POLLIN },
                                     { sentinels->socket.fd, sentinels->wants, 0 } };
        enum sl_heard heard =
            sentinels->reader ? next_news(sentinels, &ignored, &error) : SL_HEARD_NOTHING;
        if (heard != SL_HEARD_NOTHING && heard != SL_HEARD_CHANGED)
            close_connection(sentinels);
        if (heard != SL_HEARD_NOTHING || rest_us <= 0)
            return;
        int count = poll(watched, 2, (int)(rest_us / 1000) + 1);
        if (count > 0 && watched[0].revents)
            return;
        if (count > 0 && watched[1].revents && !read_some(sentinels)) {
            close_connection(sentinels);
            return;
        }
    }
}
