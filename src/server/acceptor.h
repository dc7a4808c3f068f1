/* A worker's acceptor: a new connection is served here, handed to a less busy worker, or refused.
 */
#ifndef SL_SERVER_ACCEPTOR_H
#define SL_SERVER_ACCEPTOR_H

#include "server/worker.h"

/* Waits for connections on every listener. Returns false if memory or file descriptors are used up.
 */
bool sl_acceptor_open(struct sl_worker *worker);

/* Serves the connections that other workers have handed over. */
void sl_acceptor_admit(struct sl_worker *worker);

/* Accepts what still waits in the kernel, then closes the listeners. */
void sl_acceptor_close(struct sl_worker *worker);

#endif
