/* Opening and accepting on listening sockets: see listener.h. */
#include "server/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "rules/host.h"

/* ---- saying why not ---- */

static bool tell_failure(struct sluice_error *error, const char *address, const char *why,
                         const char *what)
{
    return sl_error_say(error, "cannot listen on %s: %s%s%s", address, why, *what ? "; " : "",
                        what);
}

static bool tell_errno(struct sluice_error *error, const char *address, int number)
{
    const char *what = "";
    if (number == EADDRINUSE && strncmp(address, "unix:", 5) == 0)
        what = "stop what listens there (`ss -lxp` shows it), or choose another path";
    else if (number == EADDRINUSE)
        what = "stop what listens there (`ss -ltnp` shows it), or choose another address with "
               "`listen:` in the rules file or on the command line";
    else if (number == EADDRNOTAVAIL)
        what = "this machine has no such address; 0.0.0.0 and [::] stand for all it has";
    else if (number == EACCES)
        what = "ports below 1024 need CAP_NET_BIND_SERVICE, and a socket's folder must be yours";
    return tell_failure(error, address, strerror(number), what);
}

/* ---- TCP ---- */

static int turn_option_on(int fd, int level, int option)
{
    return setsockopt(fd, level, option, &(int){ 1 }, sizeof(int));
}

static int bind_tcp(const struct addrinfo *to, bool shares)
{
    int fd = socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    turn_option_on(fd, SOL_SOCKET, SO_REUSEADDR);
    if (to->ai_family == AF_INET6)
        turn_option_on(fd, IPPROTO_IPV6, IPV6_V6ONLY);
    if ((shares && turn_option_on(fd, SOL_SOCKET, SO_REUSEPORT) != 0) ||
        bind(fd, to->ai_addr, to->ai_addrlen) != 0) {
        int number = errno;
        close(fd);
        errno = number;
        return -1;
    }
    return fd;
}

/* Is the port free? Binding alone does not tell, listening does. */
static bool is_free(const struct addrinfo *to)
{
    int fd = bind_tcp(to, false);
    if (fd < 0)
        return false;
    bool is_listening = listen(fd, 1) == 0;
    int number = errno;
    close(fd);
    errno = number;
    return is_listening;
}

static void set_port(struct addrinfo *to, in_port_t port)
{
    if (to->ai_family == AF_INET6)
        ((struct sockaddr_in6 *)(void *)to->ai_addr)->sin6_port = port;
    else
        ((struct sockaddr_in *)(void *)to->ai_addr)->sin_port = port;
}

static in_port_t port_of(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET6)
        return ((const struct sockaddr_in6 *)address)->sin6_port;
    return ((const struct sockaddr_in *)address)->sin_port;
}

/* TCP keep-alive, which accepted sockets inherit: a client that is gone without a word is noticed
 * after some minutes, though the server never sends it anything. */
static void keep_alive(int fd)
{
    static const int idle_s = 300, again_s = 60, times = 3;
    turn_option_on(fd, SOL_SOCKET, SO_KEEPALIVE);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &again_s, sizeof again_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
}

static bool open_each(struct sl_listening *listening, struct addrinfo *to, size_t workers)
{
    for (size_t i = 0; i < workers; i++) {
        struct sockaddr_storage bound;
        socklen_t len = sizeof bound;
        int fd = bind_tcp(to, true);
        if (fd < 0)
            return false;
        listening->fds[listening->fd_count++] = fd;
        if (listening->front->stays)
            keep_alive(fd);
        if (listen(fd, SL_BACKLOG) != 0 || getsockname(fd, (struct sockaddr *)&bound, &len) != 0)
            return false;
        set_port(to, port_of(&bound)); /* port 0 meant any; the others join the first */
    }
    return true;
}

static void write_address(struct sl_listening *listening, struct sluice_text host,
                          const struct addrinfo *to)
{
    struct sockaddr_storage bound = { 0 };
    memcpy(&bound, to->ai_addr, to->ai_addrlen);
    snprintf(listening->address, sizeof listening->address, "%s://%.*s:%u",
             listening->front->schemes[listening->wants_tls], (int)host.len, host.at,
             (unsigned)ntohs(port_of(&bound)));
}

static bool open_tcp(struct sl_listening *listening, const char *address, size_t workers,
                     struct sluice_error *error)
{
    struct addrinfo wanted = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *found;
    struct sluice_text host, port;
    char name[256], digits[8];
    sl_host_cut(sl_text(address), &host, &port);
    struct sluice_text bare = host;
    if (bare.len > 1 && bare.at[0] == '[')
        bare = (struct sluice_text){ host.at + 1, host.len - 2 };
    snprintf(name, sizeof name, "%.*s", (int)bare.len, bare.at);
    snprintf(digits, sizeof digits, "%.*s", (int)port.len, port.at);
    int wrong = getaddrinfo(name, digits, &wanted, &found);
    if (wrong != 0)
        return tell_failure(error, address, gai_strerror(wrong),
                            "write an address of this machine");
    bool good = is_free(found) && open_each(listening, found, workers);
    if (good)
        write_address(listening, host, found);
    else
        tell_errno(error, address, errno);
    freeaddrinfo(found);
    return good;
}

/* ---- Unix sockets ---- */

/* Removes the socket file that a server which is gone has left. Leaves a socket on which a process
 * answers, and a file that is no socket. */
static bool remove_stale_socket(const struct sockaddr_un *to, struct sluice_error *error,
                                const char *address)
{
    struct stat there;
    if (lstat(to->sun_path, &there) != 0)
        return errno == ENOENT || tell_errno(error, address, errno);
    if (!S_ISSOCK(there.st_mode))
        return tell_failure(error, address, "there is a file of that name",
                            "it is no socket, so it is left alone: choose another path");
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int number = fd < 0 || connect(fd, (const struct sockaddr *)to, sizeof *to) != 0 ? errno : 0;
    bool answers = number == 0 || number == EAGAIN; /* it listens, and its backlog is full */
    bool is_left = number == ECONNREFUSED;
    if (fd >= 0)
        close(fd);
    if (answers)
        return tell_errno(error, address, EADDRINUSE);
    if (!is_left)
        return tell_failure(error, address, "there is a socket that cannot be looked at",
                            "remove it, or choose another path");
    return unlink(to->sun_path) == 0 || tell_errno(error, address, errno);
}

static bool open_unix(struct sl_listening *listening, const char *address, size_t workers,
                      struct sluice_error *error)
{
    const char *path = address + strlen("unix:");
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
    if (!remove_stale_socket(&to, error, address))
        return false;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return tell_errno(error, address, errno);
    listening->fds[0] = fd;
    listening->fd_count = 1;
    listening->is_local = true;
    if (bind(fd, (const struct sockaddr *)&to, sizeof to) != 0)
        return tell_errno(error, address, errno);
    struct stat made;
    if (stat(path, &made) != 0)
        return tell_errno(error, address, errno);
    listening->path = strdup(path);
    listening->device = made.st_dev;
    listening->inode = made.st_ino;
    if (listen(fd, SL_BACKLOG) != 0)
        return tell_errno(error, address, errno);
    for (size_t i = 1; i < workers; i++, listening->fd_count++) {
        listening->fds[i] = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        if (listening->fds[i] < 0)
            return tell_errno(error, address, errno);
    }
    snprintf(listening->address, sizeof listening->address, "%s", address);
    return true;
}

/* ---- the seam ---- */

bool sl_listening_open(struct sl_listening *listening, const char *address, size_t workers,
                       struct sluice_error *error)
{
    listening->fds = calloc(workers, sizeof *listening->fds);
    if (!listening->fds)
        return tell_errno(error, address, ENOMEM);
    bool is_path = strncmp(address, "unix:", 5) == 0;
    bool good = is_path ? open_unix(listening, address, workers, error)
                        : open_tcp(listening, address, workers, error);
    if (!good)
        sl_listening_close(listening);
    return good;
}

void sl_listening_remove(struct sl_listening *listening)
{
    struct stat there;
    if (listening->path && lstat(listening->path, &there) == 0 &&
        there.st_dev == listening->device && there.st_ino == listening->inode)
        unlink(listening->path);
    free(listening->path);
    listening->path = NULL;
}

void sl_listening_close(struct sl_listening *listening)
{
    sl_listening_remove(listening);
    for (size_t i = 0; i < listening->fd_count; i++)
        if (listening->fds[i] >= 0)
            close(listening->fds[i]);
    free(listening->fds);
    listening->fds = NULL;
    listening->fd_count = 0;
}

static void copy_peer(const struct sockaddr_storage *from, struct sl_arrival *out)
{
    if (from->ss_family == AF_INET6) {
        memcpy(out->peer.byte, &((const struct sockaddr_in6 *)from)->sin6_addr, 16);
    } else if (from->ss_family == AF_INET) {
        memset(out->peer.byte + 10, 0xff, 2);
        memcpy(out->peer.byte + 12, &((const struct sockaddr_in *)from)->sin_addr, 4);
    }
}

bool sl_listening_accept(const struct sl_listening *listening, size_t worker,
                         struct sl_arrival *out, int *why)
{
    struct sockaddr_storage from = { 0 };
    socklen_t len = sizeof from;
    int fd;
    do
        fd = accept4(listening->fds[worker], (struct sockaddr *)&from, &len,
                     SOCK_NONBLOCK | SOCK_CLOEXEC);
    while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
    *why = fd < 0 && errno != EAGAIN ? errno : 0;
    if (fd < 0)
        return false;
    if (!listening->is_local)
        turn_option_on(fd, IPPROTO_TCP, TCP_NODELAY);
    *out = (struct sl_arrival){
        .fd = fd,
        .front = listening->front,
        .wants_tls = listening->wants_tls,
        .proxy_protocol = listening->proxy_protocol,
        .is_local = listening->is_local,
    };
    copy_peer(&from, out);
    return true;
}
