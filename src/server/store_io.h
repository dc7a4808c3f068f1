/* A worker's I/O with a store that answers later: the store's channel on the worker's loop. */
#ifndef SL_SERVER_STORE_IO_H
#define SL_SERVER_STORE_IO_H

#include <uv.h>

#include "store/redis/channel.h"

struct sl_store_io {
    struct sl_channel *channel; /* NULL: the store answers at once */
    uv_loop_t *loop;
    struct sl_line_poll *polls; /* one for each socket of the channel */
    uv_timer_t timer;
    uv_timer_t tend;
    uv_timer_t lend;  /* looks after leases */
    int64_t until_us; /* closing waits until then; 0: it is not closing */
};

enum {
    SL_LINE_TENDS = 1,  /* gives back what expired reservations hold; one in a process is enough */
    SL_LINE_PATIENT = 2 /* waits for a connection; for channels that decide nothing */
};

/* Opens nothing for a store that answers at once. `ways`: of the above. Returns false without
 * memory. */
bool sl_line_open(struct sl_store_io *store_io, uv_loop_t *loop, struct sl_store *store,
                  unsigned ways);

/* May it be closed? From the first call on it begins nothing by itself, and waits a moment (END_US)
 * for units of reservations to be given back. To be called with every turn of the loop. */
bool sl_line_is_quiet(struct sl_store_io *store_io);

/* Answers requests that wait as failed. The handles are closed with the loop's next turn. */
void sl_line_close(struct sl_store_io *store_io);

#endif
