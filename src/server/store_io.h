/* A worker's line to a store that answers later: the store's channel on the worker's loop. */
#ifndef SL_SERVER_STORE_IO_H
#define SL_SERVER_STORE_IO_H

#include <uv.h>

#include "store/redis/channel.h"

struct sl_store_io {
    struct sl_channel *channel; /* NULL: the store answers at once */
    uv_loop_t *loop;
    struct sl_line_poll *polls; /* of the sockets there are */
    uv_timer_t timer;
    uv_timer_t tend;
    uv_timer_t lend;  /* looks after leases */
    int64_t until_us; /* it waits with its end; 0: nobody has asked for that */
};

enum {
    SL_LINE_TENDS = 1, /* gives back what reservations have left; one line of a process is enough */
    SL_LINE_PATIENT = 2 /* waits for a connection, and is none of those that decide */
};

/* Nothing is opened for a store that answers at once. `ways`: of the above. False: no memory. */
bool sl_line_open(struct sl_store_io *store_io, uv_loop_t *loop, struct sl_store *store,
                  unsigned ways);

/* May it be closed? It begins nothing by itself any more, and what was taken away of reservations
 * has a moment to be given back. To be asked again with every turn of the loop. */
bool sl_line_is_quiet(struct sl_store_io *store_io);

/* What is still asked is answered as failed. Its handles are closed with the loop's next turn. */
void sl_line_close(struct sl_store_io *store_io);

#endif
