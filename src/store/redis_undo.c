#include "store/redis_undo.h"

#include <stdlib.h>

#include "base/number.h"
#include "store/redis_ask.h"

enum {
    UNDOS_MAX = 1024, /* at a time, of one channel */
    WORDS_MAX_BYTES = 1 << 20,
    TRIED_FOR_US = 5000000,
    AGAIN_MIN_US = 20000,
    AGAIN_DOUBLINGS = 5,
    SHORT_PART = 4, /* of a deadline */
};

struct undo {
    struct sl_query query; /* first */
    struct sl_undos *undos;
    struct sl_buffer bytes;
    struct sl_undo_told *told; /* NULL: it was */
    int64_t until_us;
    uint32_t tries;
};

static void count_end(struct sl_undos *undos, enum sl_undo_end how)
{
    atomic_fetch_add(&undos->shared->undos[how], 1);
}

static void tell(struct undo *undo)
{
    struct sl_undo_told *told = undo->told;
    undo->told = NULL;
    if (told)
        told->tried(told);
}

static void end(struct undo *undo, enum sl_undo_end how)
{
    count_end(undo->undos, how);
    undo->undos->count--;
    tell(undo);
    sl_buffer_release(&undo->bytes);
    free(undo);
}

static void on_undone(struct sl_query *query, int status, const struct sl_reply *reply)
{
    struct undo *undo = (struct undo *)query;
    int64_t now_us = sl_link_now_us();
    uint32_t doublings = undo->tries < AGAIN_DOUBLINGS ? undo->tries : AGAIN_DOUBLINGS;
    int64_t again_us = now_us + ((int64_t)AGAIN_MIN_US << doublings);
    (void)reply;
    if (status == SLUICE_OK) {
        end(undo, SL_UNDO_DONE);
    } else if (query->may_have_run) {
        end(undo, SL_UNDO_UNSURE);
    } else if (undo->undos->is_closing || again_us > undo->until_us) {
        end(undo, SL_UNDO_GIVEN_UP);
    } else {
        undo->tries++;
        tell(undo);
        if (!sl_route_ask_at(undo->undos->route, query, again_us))
            end(undo, SL_UNDO_GIVEN_UP);
    }
}

/* Where there is hardly any time left, because it was used up by a slot that did not answer, nobody
 * waits: a call that is late before it is sent would only be one that nobody is sure of. */
static void ask(struct undo *undo, int64_t due_us)
{
    struct sl_undos *undos = undo->undos;
    struct sl_undo_told *told = undo->told;
    if (due_us - sl_link_now_us() >= undos->shared->deadline_us / SHORT_PART) {
        sl_route_ask_by(undos->route, &undo->query, due_us);
        return;
    }
    undo->told = NULL;
    sl_route_ask(undos->route, &undo->query);
    told->tried(told);
}

void sl_undo_charges(struct sl_undos *undos, const struct sl_bundle *bundle, int64_t now_us,
                     int64_t due_us, struct sl_undo_told *told)
{
    struct undo *undo = undos->count < UNDOS_MAX ? calloc(1, sizeof *undo) : NULL;
    if (!undo) {
        count_end(undos, SL_UNDO_GIVEN_UP);
        told->tried(told);
        return;
    }
    *undo = (struct undo){ .undos = undos, .bytes = sl_buffer(WORDS_MAX_BYTES), .told = told };
    undo->query.done = on_undone;
    undo->query.is_quiet = true;
    undo->until_us = sl_link_now_us() + TRIED_FOR_US;
    undos->count++;
    if (sl_ask_undo(&undos->shared->scripts, bundle, now_us, &undo->bytes, &undo->query))
        ask(undo, due_us);
    else
        end(undo, SL_UNDO_GIVEN_UP);
}
