/* What a gRPC server on nghttp2 costs when it does nothing: the end of the scale for `listen.grpc`.
 *
 *   bench-grpc-bare ANSWER
 *
 *   epoll_wait ──> recv ──> nghttp2_session_mem_recv ──> a stream's end? its response, queued
 *                                                                    │
 *                  send <── nghttp2_session_mem_send, until it is empty
 *                   └───────── per readable socket, once ─────────┘
 *
 * One thread. Headers are decoded, because HPACK's table has to follow, and then ignored;
 * the message is dropped as it comes; the response is HEADERS, one DATA frame with ANSWER and
 * HEADERS with `grpc-status: 0`. ANSWER is a gRPC message with its prefix of five bytes, in hex,
 * which tools/bench_grpc.py takes from Sluice. So frames, header compression, flow control and
 * streams are nghttp2's here and there, and what a server loses to this one is its own.
 *
 * It is no server: there is no limit of time, streams or connections, and a client that does not
 * read ends the program, better than to measure something else unnoticed.
 *
 * `listening on http://127.0.0.1:PORT` is printed at first, and for each SIGUSR1 one line, the
 * connections and the requests so far: by them a load generator's count can be checked. SIGTERM
 * ends it the way the system does, there is nothing to put away. */
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_BYTES = 65536, WRITE_BYTES = 262144, ANSWER_MAX = 4096, EVENTS = 128, BACKLOG = 512 };
enum { STREAMS_MAX = 256 };

static struct loop {
    int epoll, listener, asked; /* `asked`: readable after a SIGUSR1 */
    uint8_t answer[ANSWER_MAX];
    size_t answer_len;
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    uint64_t connections, requests;
} loop;

struct conn {
    int fd;
    nghttp2_session *session;
};

#define FIELD(name, value)                                                                         \
    {                                                                                              \
        (uint8_t *)(name), (uint8_t *)(value), sizeof(name) - 1, sizeof(value) - 1,                \
            NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE                           \
    }
static const nghttp2_nv head[] = { FIELD(":status", "200"),
                                   FIELD("content-type", "application/grpc") };
static const nghttp2_nv trailers[] = { FIELD("grpc-status", "0") };

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void insist(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "bench-grpc-bare: %s\n", what);
    exit(1);
}

/* ---- HTTP/2 ---- */

/* The whole message at once, and behind it trailers in place of the stream's end. */
static ssize_t read_answer(nghttp2_session *session, int32_t stream, uint8_t *buffer, size_t len,
                           uint32_t *flags, nghttp2_data_source *source, void *about)
{
    (void)source, (void)about;
    insist(len >= loop.answer_len, "no room for the answer in one frame");
    memcpy(buffer, loop.answer, loop.answer_len);
    *flags = NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    insist(nghttp2_submit_trailer(session, stream, trailers, 1) == 0, "no trailers");
    return (ssize_t)loop.answer_len;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *about)
{
    static const nghttp2_data_provider provider = { .read_callback = read_answer };
    bool has_end = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    (void)about;
    if (!has_end || (frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS))
        return 0;
    loop.requests++;
    return nghttp2_submit_response(session, frame->hd.stream_id, head, 2, &provider);
}

/* As Sluice has them: no tree of priorities, closed streams forgotten. */
static nghttp2_session *open_session(void)
{
    nghttp2_session *session;
    nghttp2_settings_entry settings[] = {
        { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS_MAX },
        { NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1 },
    };
    insist(nghttp2_session_server_new2(&session, loop.callbacks, NULL, loop.option) == 0 &&
               nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, 2) == 0,
           "no session");
    return session;
}

/* ---- sockets ---- */

static void watch(int fd, void *about)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = about };
    if (epoll_ctl(loop.epoll, EPOLL_CTL_ADD, fd, &event) != 0)
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

static void let_in(void)
{
    int one = 1, fd = accept4(loop.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct conn *conn = malloc(sizeof *conn);
    if (fd < 0 || !conn || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0)
        fail("accept");
    *conn = (struct conn){ fd, open_session() };
    loop.connections++;
    watch(fd, conn);
}

static void let_go(struct conn *conn)
{
    nghttp2_session_del(conn->session);
    close(conn->fd);
    free(conn);
}

/* Everything that is queued, in one write. */
static void flush(struct conn *conn)
{
    static uint8_t out[WRITE_BYTES];
    const uint8_t *piece;
    size_t len = 0;
    ssize_t more;
    while ((more = nghttp2_session_mem_send(conn->session, &piece)) > 0) {
        insist((size_t)more <= sizeof out - len, "more to say at once than there is room for");
        memcpy(out + len, piece, (size_t)more);
        len += (size_t)more;
    }
    insist(more == 0, "nothing can be said");
    if (len && send(conn->fd, out, len, MSG_NOSIGNAL) != (ssize_t)len)
        insist(false, "a client does not read");
}

static void answer(struct conn *conn)
{
    static uint8_t in[READ_BYTES];
    ssize_t len = recv(conn->fd, in, sizeof in, 0);
    if (len <= 0) {
        let_go(conn);
        return;
    }
    insist(nghttp2_session_mem_recv(conn->session, in, (size_t)len) == len, "this is no HTTP/2");
    flush(conn);
}

static void print_counts(void)
{
    struct signalfd_siginfo signal;
    if (read(loop.asked, &signal, sizeof signal) != sizeof signal)
        fail("signalfd");
    printf("%" PRIu64 " %" PRIu64 "\n", loop.connections, loop.requests);
    fflush(stdout);
}

/* ---- all of it ---- */

static bool read_hex(const char *text)
{
    unsigned byte;
    for (; sscanf(text, "%2x", &byte) == 1; text += 2) {
        if (!text[1] || loop.answer_len == ANSWER_MAX)
            return false;
        loop.answer[loop.answer_len++] = (uint8_t)byte;
    }
    return !*text && loop.answer_len > 0;
}

static void open_loop(void)
{
    loop.asked = open_signal();
    loop.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (loop.epoll < 0)
        fail("epoll_create1");
    insist(nghttp2_session_callbacks_new(&loop.callbacks) == 0 &&
               nghttp2_option_new(&loop.option) == 0,
           "no memory");
    nghttp2_option_set_no_closed_streams(loop.option, 1);
    nghttp2_session_callbacks_set_on_frame_recv_callback(loop.callbacks, on_frame);
    loop.listener = open_listener();
    watch(loop.listener, &loop.listener);
    watch(loop.asked, &loop.asked);
}

int main(int argc, char **argv)
{
    struct epoll_event events[EVENTS];
    if (argc != 2 || !read_hex(argv[1])) {
        fprintf(stderr, "usage: bench-grpc-bare ANSWER, in hex\n");
        return 2;
    }
    open_loop();
    for (;;) {
        int ready = epoll_wait(loop.epoll, events, EVENTS, -1);
        for (int i = 0; i < ready; i++) {
            if (events[i].data.ptr == &loop.listener)
                let_in();
            else if (events[i].data.ptr == &loop.asked)
                print_counts();
            else
                answer(events[i].data.ptr);
        }
    }
}
