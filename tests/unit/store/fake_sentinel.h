/* Sentinels that say what the test wants, each a thread with a socket of its own. */
#ifndef TEST_STORE_FAKE_SENTINEL_H
#define TEST_STORE_FAKE_SENTINEL_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit/base/unit.h"

enum fake_mood { NAMES, KNOWS_NONE, IS_SILENT, HANGS_UP, WANTS_A_PASSWORD, IS_NO_SENTINEL };

struct fake_sentinel {
    int port;
    int listener, peer, woken;
    pthread_t thread;
    _Atomic int mood, names_port; /* of the master, at 127.0.0.1 */
    _Atomic int asked, connected;
    _Atomic int tells; /* 1: news, 2: hangs up; the thread makes it 0 */
    _Atomic bool ends;
};

static inline int listen_somewhere(int *port)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001) };
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

__attribute__((format(printf, 2, 3))) static inline void fake_says(struct fake_sentinel *fake,
                                                                   const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    int len = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    ssize_t ignored = send(fake->peer, text, (size_t)len, MSG_NOSIGNAL);
    (void)ignored;
}

static inline void fake_hangs_up(struct fake_sentinel *fake)
{
    if (fake->peer >= 0)
        close(fake->peer);
    fake->peer = -1;
}

static inline void fake_answers(struct fake_sentinel *fake)
{
    char port[16];
    int len = snprintf(port, sizeof port, "%d", fake->names_port);
    fake->asked++;
    switch (fake->mood) {
    case NAMES:
    case KNOWS_NONE:
        fake_says(fake, "*3\r\n$11\r\nunsubscribe\r\n$14\r\n+switch-master\r\n:0\r\n");
        if (fake->mood == NAMES)
            fake_says(fake, "*2\r\n$9\r\n127.0.0.1\r\n$%d\r\n%s\r\n", len, port);
        else
            fake_says(fake, "*-1\r\n");
        fake_says(fake, "*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n");
        return;
    case HANGS_UP:
        fake_hangs_up(fake);
        return;
    case WANTS_A_PASSWORD:
        fake_says(fake, "-NOAUTH Authentication required.\r\n");
        return;
    case IS_NO_SENTINEL:
        fake_says(fake, "HTTP/1.1 400 Bad Request\r\n\r\n");
        return;
    default:
        return;
    }
}

static inline void fake_reads(struct fake_sentinel *fake)
{
    static const char question[] = "GET-MASTER-ADDR-BY-NAME";
    char bytes[4096]; /* its words come together */
    ssize_t count = recv(fake->peer, bytes, sizeof bytes, MSG_DONTWAIT);
    if (count == 0)
        fake_hangs_up(fake);
    else if (count > 0 && memmem(bytes, (size_t)count, question, sizeof question - 1))
        fake_answers(fake);
}

static inline void fake_tells(struct fake_sentinel *fake)
{
    static const char news[] = "mymaster 127.0.0.1 1 127.0.0.1 2";
    int what = atomic_exchange(&fake->tells, 0);
    if (what == 1)
        fake_says(fake, "*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$%zu\r\n%s\r\n",
                  sizeof news - 1, news);
    else if (what == 2)
        fake_hangs_up(fake);
}

static inline void *fake_lives(void *about)
{
    struct fake_sentinel *fake = about;
    while (!fake->ends) {
        struct pollfd watched[3] = { { fake->listener, POLLIN, 0 },
                                     { fake->peer, POLLIN, 0 },
                                     { fake->woken, POLLIN, 0 } };
        uint64_t count;
        poll(watched, 3, -1);
        if (watched[2].revents && read(fake->woken, &count, sizeof count) > 0)
            fake_tells(fake);
        if (watched[1].revents && fake->peer >= 0)
            fake_reads(fake);
        if (watched[0].revents) {
            fake_hangs_up(fake);
            fake->peer = accept4(fake->listener, NULL, NULL, SOCK_CLOEXEC);
            fake->connected++;
        }
    }
    fake_hangs_up(fake);
    return NULL;
}

static inline void start_fake(struct fake_sentinel *fake, enum fake_mood mood, int names_port)
{
    *fake = (struct fake_sentinel){ .peer = -1, .mood = (int)mood, .names_port = names_port };
    fake->listener = listen_somewhere(&fake->port);
    fake->woken = eventfd(0, EFD_CLOEXEC);
    assert_int_equal(pthread_create(&fake->thread, NULL, fake_lives, fake), 0);
}

static inline void wake_fake(struct fake_sentinel *fake)
{
    uint64_t one = 1;
    assert_int_equal(write(fake->woken, &one, sizeof one), sizeof one);
}

static inline void stop_fake(struct fake_sentinel *fake)
{
    fake->ends = true;
    wake_fake(fake);
    pthread_join(fake->thread, NULL);
    close(fake->listener);
    close(fake->woken);
}

/* "127.0.0.1:1,127.0.0.1:2" */
static inline const char *hosts_of(const struct fake_sentinel *fakes, size_t count)
{
    static char text[256];
    size_t len = 0;
    for (size_t i = 0; i < count; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s127.0.0.1:%d", i ? "," : "",
                                fakes[i].port);
    return text;
}

#endif
