/* Non-blocking connecting, reading and writing, in the clear or over TLS. */
#include "store/redis/link/socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "base/check.h"
#include "base/error.h"

static bool start_connecting(struct sl_socket *socket, const struct sockaddr_storage *address,
                             socklen_t len)
{
    int on = 1;
    if (address->ss_family != AF_UNIX) {
        setsockopt(socket->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        setsockopt(socket->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    }
    int result = connect(socket->fd, (const struct sockaddr *)address, len);
    /* A Unix socket whose queue is full says EAGAIN, and does not go on by itself. */
    socket->is_connecting = result != 0 && errno == EINPROGRESS;
    return result == 0 || socket->is_connecting;
}

bool sl_socket_open(struct sl_socket *out, struct sl_target *target, uint32_t number,
                    struct sluice_error *error)
{
    struct sockaddr_storage address;
    socklen_t len;
    SL_CHECK(target && error && !*error->text);
    *out = (struct sl_socket){ .fd = -1 };
    if (!sl_target_address(target, number, &address, &len)) {
        sl_target_why_none(target, error);
        return false;
    }
    out->fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool good = out->fd >= 0 && start_connecting(out, &address, len) &&
                (out->is_connecting || sl_socket_finish(out, target, error));
    SL_CHECK(!good || out->fd >= 0);
    if (good)
        return true;
    if (!*error->text)
        sl_error_say(error, "%s", strerror(errno));
    sl_socket_close(out);
    return false;
}

bool sl_socket_finish(struct sl_socket *socket, struct sl_target *target,
                      struct sluice_error *error)
{
    int code = 0;
    socklen_t len = sizeof code;
    SL_CHECK(socket->fd >= 0 && !socket->tls);
    socket->is_connecting = false;
    if (getsockopt(socket->fd, SOL_SOCKET, SO_ERROR, &code, &len) != 0)
        code = errno;
    if (code)
        return sl_error_say(error, "%s", strerror(code));
    if (sl_target_tls(target))
        socket->tls = sl_target_shake_hands(target, socket->fd);
    if (sl_target_tls(target) && !socket->tls)
        return sl_error_say(error, "out of memory");
    return true;
}

void sl_socket_close(struct sl_socket *socket)
{
    if (socket->tls && !socket->is_anothers)
        sl_tls_finish(socket->tls);
    sl_tls_stream_free(socket->tls);
    if (socket->fd >= 0)
        close(socket->fd);
    *socket = (struct sl_socket){ .fd = -1 };
}

ssize_t sl_socket_read(struct sl_socket *socket, char *at, size_t room)
{
    SL_CHECK(socket->fd >= 0 && room > 0);
    if (socket->tls)
        return sl_tls_read(socket->tls, at, room);
    ssize_t count = recv(socket->fd, at, room, MSG_DONTWAIT);
    SL_CHECK(count <= (ssize_t)room);
    if (count >= 0)
        return count;
    return errno == EAGAIN || errno == EINTR ? SL_IO_WANT_READ : SL_IO_BROKEN;
}

ssize_t sl_socket_write(struct sl_socket *socket, const char *at, size_t len)
{
    SL_CHECK(socket->fd >= 0 && !socket->is_connecting && len > 0);
    if (socket->tls)
        return sl_tls_write(socket->tls, at, len);
    ssize_t count = send(socket->fd, at, len, MSG_NOSIGNAL | MSG_DONTWAIT);
    SL_CHECK(count <= (ssize_t)len);
    if (count >= 0)
        return count;
    return errno == EAGAIN || errno == EINTR ? SL_IO_WANT_WRITE : SL_IO_BROKEN;
}
