/* Sockets that are listened on.
 *
 * On TCP each worker has a socket of its own on the same port (SO_REUSEPORT), so
 * that the kernel spreads connections without a lock. That option also lets a
 * second server of the same user take half of them unnoticed; so the port is
 * first bound without it, which fails while anybody listens there. A Unix socket
 * is one file, and all workers wait on it. */
#ifndef SL_SERVER_LISTENER_H
#define SL_SERVER_LISTENER_H

#include <sys/types.h>

#include "rules/ruleset.h"
#include "server/front.h"

enum { SL_BACKLOG = 4096 }; /* who waits to be accepted; the kernel cuts it to somaxconn */

struct sl_listening {
    const struct sl_front *front;
    bool wants_tls;
    bool proxy_protocol;
    bool is_local; /* a Unix socket */
    int *fds;      /* one for each worker */
    size_t fd_count;
    char address[160]; /* as people and `curl` write it, the port filled in */
    char *path;        /* of the Unix socket: removed at the end, */
    dev_t device;      /* if it is still the one */
    ino_t inode;
};

/* False: error->text says why not, and what to do. */
bool sl_listening_open(struct sl_listening *listening, const char *address, size_t workers,
                       struct sluice_error *error);

/* A Unix socket's file, unless somebody has put theirs in its place: before its
 * sockets are closed, since a number of a file that is gone may be given again. */
void sl_listening_remove(struct sl_listening *listening);

/* The sockets that are still open, and the Unix socket's file. */
void sl_listening_close(struct sl_listening *listening);

/* The next connection that waits. False: there is none now; or *why is an errno
 * worth a message. */
bool sl_listening_accept(const struct sl_listening *listening, size_t worker,
                         struct sl_arrival *out, int *why);

#endif
