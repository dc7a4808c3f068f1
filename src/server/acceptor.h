/* A worker's door: who comes is let in, handed to a worker with fewer, or refused. */
#ifndef SL_SERVER_ACCEPTOR_H
#define SL_SERVER_ACCEPTOR_H

#include "server/worker.h"

/* Waits for connections on every listener. False: no memory or files. */
bool sl_door_open(struct sl_worker *worker);

/* Takes in those whom others have handed over. */
void sl_door_take_in(struct sl_worker *worker);

/* Nobody comes in any more. */
void sl_door_shut(struct sl_worker *worker);

#endif
