/* A worker's door: who comes is let in, handed to a worker with fewer, or refused. */
#ifndef SL_SERVER_ACCEPTOR_H
#define SL_SERVER_ACCEPTOR_H

#include "server/worker.h"

/* Waits for connections on every listener. False: no memory or files. */
bool sl_acceptor_open(struct sl_worker *worker);

/* Takes in those whom others have handed over. */
void sl_acceptor_admit(struct sl_worker *worker);

/* Nobody comes in any more. */
void sl_acceptor_close(struct sl_worker *worker);

#endif
