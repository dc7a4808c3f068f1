/* A non-blocking socket to Redis, with TLS on it where the URL asks for that. */
#ifndef SL_STORE_REDIS_LINK_SOCKET_H
#define SL_STORE_REDIS_LINK_SOCKET_H

#include "store/redis/link/target.h"

struct sl_socket {
    int fd; /* -1: closed */
    bool is_connecting;
    bool is_anothers; /* it belongs to the process we were forked from: nothing is sent on it */
    struct sl_tls_stream *tls;
};

/* Begins to connect to the address of this number. Returns false if that fails at once
 * (error->text); the socket is closed then. */
bool sl_socket_open(struct sl_socket *socket, struct sl_target *target, uint32_t address,
                    struct sluice_error *error);
void sl_socket_close(struct sl_socket *socket);

/* Call when the socket can be written, or is broken. Returns false if it is not connected
 * (error->text). */
bool sl_socket_finish(struct sl_socket *socket, struct sl_target *target,
                      struct sluice_error *error);

/* As sl_tls_read and sl_tls_write. */
ssize_t sl_socket_read(struct sl_socket *socket, char *at, size_t room);
ssize_t sl_socket_write(struct sl_socket *socket, const char *at, size_t len);

#endif
