/* What a server over HTTP costs when it does nothing: the end of the scale for `sluice serve`.
 *
 *   bench-http-bare ANSWER
 *
 *   epoll_wait ──> recv ──> how many empty lines? ──> send that many times ANSWER
 *                   └───────── per readable socket, once ─────────┘
 *
 * One thread. Nothing is parsed, looked up, decided or printed: ANSWER,
 * which tools/bench_http.py takes from Sluice, lies in memory as often as it can be wanted.
 * What is left is the kernel's work to bring a request in and an answer out. A server on
 * sockets and epoll can come near to that and not past it, so what it loses to this loop is
 * its own and what this loop takes is not.
 *
 * It is no server. A request is whatever ends in an empty line, and has to arrive whole, as
 * those of wrk do here; a piece of one ends the program: better than to wait for the rest with
 * code that a bare loop does not have, or to measure something else unnoticed. Nor is there a
 * limit of time or of connections.
 *
 * `listening on http://127.0.0.1:PORT` is printed at first, and for each SIGUSR1 one line, the
 * connections and the requests so far: by them a load generator's count can be checked. SIGTERM
 * ends it the way the system does, there is nothing to put away. */
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_BYTES = 16384, TOGETHER = 64, EVENTS = 128, BACKLOG = 512 };

struct loop {
    int epoll, listener, asked; /* `asked`: readable after a SIGUSR1 */
    char *answers;              /* TOGETHER of them */
    size_t answer_len;
    uint64_t connections, requests;
};

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void watch(const struct loop *loop, int fd)
{
    struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };
    if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        fail("epoll_ctl");
}

static int open_listener(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, size) != 0 || listen(fd, BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &size) != 0)
        fail("listen");
    printf("listening on http://127.0.0.1:%d\n", ntohs(at.sin_port));
    fflush(stdout);
    return fd;
}

/* As a descriptor: a handler could come just before the wait and stay unnoticed in it. */
static int open_signal(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
        fail("sigprocmask");
    int fd = signalfd(-1, &set, SFD_CLOEXEC);
    if (fd < 0)
        fail("signalfd");
    return fd;
}

static void open_loop(struct loop *loop, const char *answer)
{
    *loop = (struct loop){ .answer_len = strlen(answer), .asked = open_signal() };
    loop->answers = malloc(TOGETHER * loop->answer_len);
    if (!loop->answers)
        fail("malloc");
    for (size_t i = 0; i < TOGETHER; i++)
        memcpy(loop->answers + i * loop->answer_len, answer, loop->answer_len);
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll < 0)
        fail("epoll_create1");
    loop->listener = open_listener();
    watch(loop, loop->listener);
    watch(loop, loop->asked);
}

static void let_in(struct loop *loop)
{
    int one = 1, fd = accept4(loop->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0)
        fail("accept");
    loop->connections++;
    watch(loop, fd);
}

static void print_counts(const struct loop *loop)
{
    struct signalfd_siginfo signal;
    if (read(loop->asked, &signal, sizeof signal) != sizeof signal)
        fail("signalfd");
    printf("%" PRIu64 " %" PRIu64 "\n", loop->connections, loop->requests);
    fflush(stdout);
}

/* By the ends of lines that another line's end follows; memmem would go byte by byte. */
static size_t count_requests(const char *at, size_t len)
{
    const char *end = at + len;
    size_t count = 0;
    if (len < 4 || memcmp(end - 4, "\r\n\r\n", 4) != 0)
        return 0;
    for (; (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++)
        count += end - at > 1 && at[1] == '\r';
    return count;
}

static void answer(struct loop *loop, int fd)
{
    static char in[READ_BYTES];
    ssize_t len = recv(fd, in, sizeof in, 0);
    if (len <= 0) {
        close(fd);
        return;
    }
    size_t count = count_requests(in, (size_t)len);
    if (count == 0 || count > TOGETHER) {
        fprintf(stderr, "bench-http-bare: a read ended within a request, or had too many\n");
        exit(1);
    }
    loop->requests += count;
    size_t size = count * loop->answer_len;
    if (send(fd, loop->answers, size, MSG_NOSIGNAL) != (ssize_t)size)
        close(fd); /* the client has closed it */
}

int main(int argc, char **argv)
{
    struct loop loop;
    struct epoll_event events[EVENTS];
    if (argc != 2) {
        fprintf(stderr, "usage: bench-http-bare ANSWER\n");
        return 2;
    }
    open_loop(&loop, argv[1]);
    for (;;) {
        int ready = epoll_wait(loop.epoll, events, EVENTS, -1);
        for (int i = 0; i < ready; i++) {
            int fd = events[i].data.fd;
            if (fd == loop.listener)
                let_in(&loop);
            else if (fd == loop.asked)
                print_counts(&loop);
            else
                answer(&loop, fd);
        }
    }
}
