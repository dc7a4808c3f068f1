/* A worker's line to a store that answers later: the store's channel on the worker's loop. */
#ifndef SL_SERVER_LINE_H
#define SL_SERVER_LINE_H

#include <uv.h>

#include "store/channel.h"

struct sl_line {
    struct sl_channel *channel; /* NULL: the store answers at once */
    uv_loop_t *loop;
    uv_poll_t *poll; /* of the socket there is; or NULL */
    uv_timer_t timer;
    uv_timer_t tend;
};

/* Nothing is opened for a store that answers at once. `tends`: gives back what reservations
 * have left; one line of a process is enough. False: no memory. */
bool sl_line_open(struct sl_line *line, uv_loop_t *loop, struct sl_store *store, bool tends);

/* What is still asked is answered as failed. Its handles are closed with the loop's next turn. */
void sl_line_close(struct sl_line *line);

#endif
