/* Listening sockets, on TCP and Unix sockets.
 *
 * On TCP each worker has a socket of its own on the same port (SO_REUSEPORT), so
 * that the kernel spreads connections without a lock. That option also lets a
 * second server of the same user take half of them unnoticed; so the port is
 * first bound without it, which fails while another process listens there. A Unix socket
 * is one file, and all workers wait on it. */
#ifndef SL_SERVER_LISTENER_H
#define SL_SERVER_LISTENER_H

#include <sys/types.h>

#include "rules/ruleset.h"
#include "server/front.h"

enum {
    SL_BACKLOG = 4096
}; /* connections that wait to be accepted; the kernel cuts it to somaxconn */

struct sl_listening {
    const struct sl_front *front;
    bool wants_tls;
    bool proxy_protocol;
    bool is_local; /* a Unix socket */
    int *fds;      /* one for each worker */
    size_t fd_count;
    char address[160]; /* as people and `curl` write it, the port filled in */
    char *path;        /* of the Unix socket: removed at the end */
    dev_t device;      /* if it is still this file */
    ino_t inode;
};

/* Returns false where it cannot listen: error->text says why, and what to do. */
bool sl_listening_open(struct sl_listening *listening, const char *address, size_t workers,
                       struct sluice_error *error);

/* Removes a Unix socket's file, unless another file has taken its place. To be called before its
 * sockets are closed: the inode number of a file that is gone may be used again. */
void sl_listening_remove(struct sl_listening *listening);

/* Closes the sockets that are still open, and removes the Unix socket's file. */
void sl_listening_close(struct sl_listening *listening);

/* Accepts the next connection. Returns false if none waits, or if accept failed: *why is an errno
 * then. */
bool sl_listening_accept(const struct sl_listening *listening, size_t worker,
                         struct sl_arrival *out, int *why);

#endif
