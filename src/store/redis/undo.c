/* Sends undos, and sends them again while it is certain that they have not run. */
#include "store/redis/undo.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/text/number.h"
#include "store/cache/answer_cache.h"
#include "store/redis/ask.h"

enum {
    AGAIN_MAX = 1024, /* undos that one channel sends again at a time */
    WORDS_MAX_BYTES = 1 << 20,
    TRIED_FOR_US = 5000000,
    AGAIN_MIN_US = 20000,
    AGAIN_DOUBLINGS = 5,
    SHORT_PART = 4, /* with less than this part of a deadline no caller waits */
};

struct sl_undo {
    struct sl_redis_query query; /* first */
    struct sl_undos *undos;
    struct sl_buffer bytes;
    struct sl_undo_told *told; /* NULL: no caller waits (any more) */
    int64_t until_us;
    uint32_t tries;
};

static void count_end(struct sl_undos *undos, enum sl_undo_end how)
{
    atomic_fetch_add(&undos->shared->undos[how], 1);
}

static void tell_caller(struct sl_undo *undo, int status)
{
    struct sl_undo_told *told = undo->told;
    undo->told = NULL;
    if (told)
        told->tried(told, status);
}

static void end_undo(struct sl_undo *undo, enum sl_undo_end how, int status)
{
    struct sl_undos *undos = undo->undos;
    SL_CHECK(undos->count > 0 && how < SL_UNDO_COUNT);
    count_end(undos, how);
    undos->count--;
    undos->again -= undo->tries > 0;
    SL_CHECK(undos->again <= undos->count);
    if (undo->tries > 0)
        sl_answer_cache_forget(
            undos->shared->answers); /* what it has learned since may be wrong now */
    tell_caller(undo, status);
    sl_buffer_release(&undo->bytes);
    free(undo);
}

static void on_undone(struct sl_redis_query *query, int status, const struct sl_redis_reply *reply)
{
    struct sl_undo *undo = (struct sl_undo *)query;
    struct sl_undos *undos = undo->undos;
    SL_CHECK(undos->again <= AGAIN_MAX);
    int64_t now_us = sl_link_now_us();
    uint32_t doublings = undo->tries < AGAIN_DOUBLINGS ? undo->tries : AGAIN_DOUBLINGS;
    int64_t again_us = now_us + ((int64_t)AGAIN_MIN_US << doublings);
    bool is_full = undo->tries == 0 && undos->again == AGAIN_MAX;
    (void)reply;
    if (status == SLUICE_OK) {
        end_undo(undo, SL_UNDO_DONE, status);
    } else if (query->may_have_run) {
        end_undo(undo, SL_UNDO_UNSURE, status);
    } else if (undos->is_closing || is_full || again_us > undo->until_us) {
        end_undo(undo, SL_UNDO_GIVEN_UP, status);
    } else {
        undos->again += undo->tries == 0;
        undo->tries++;
        query->is_quiet = true;
        tell_caller(undo, status);
        if (!sl_route_ask_at(undos->route, query, again_us))
            end_undo(undo, SL_UNDO_GIVEN_UP, status);
    }
}

static struct sl_undo *new_undo(struct sl_undos *undos, struct sl_undo_told *told)
{
    struct sl_undo *undo = calloc(1, sizeof *undo);
    if (!undo) {
        count_end(undos, SL_UNDO_GIVEN_UP);
        return NULL;
    }
    *undo = (struct sl_undo){ .undos = undos, .bytes = sl_buffer(WORDS_MAX_BYTES), .told = told };
    undo->query.done = on_undone;
    undo->query.is_quiet = true;
    undo->until_us = sl_link_now_us() + TRIED_FOR_US;
    undos->count++;
    return undo;
}

/* If hardly any time is left, because a slot that did not answer has used it up, the caller does
 * not wait, and the call has a deadline of its own: one that is late at once only ends unsure. */
static void send_first_try(struct sl_undo *undo, int64_t due_us)
{
    struct sl_undos *undos = undo->undos;
    struct sl_undo_told *told = undo->told;
    if (due_us - sl_link_now_us() >= undos->shared->deadline_us / SHORT_PART) {
        sl_route_ask_by(undos->route, &undo->query, due_us);
        return;
    }
    undo->told = NULL;
    sl_route_ask(undos->route, &undo->query);
    told->tried(told, SLUICE_STORE_DOWN);
}

void sl_undo_charges(struct sl_undos *undos, const struct sl_bundle *bundle, int64_t now_us,
                     int64_t due_us, struct sl_undo_told *told)
{
    SL_CHECK(told && told->tried && bundle->claim_count > 0);
    struct sl_undo *undo = new_undo(undos, told);
    if (!undo)
        told->tried(told, SLUICE_NO_MEMORY);
    else if (sl_ask_undo(&undos->shared->scripts, bundle, now_us, &undo->bytes, &undo->query))
        send_first_try(undo, due_us);
    else
        end_undo(undo, SL_UNDO_GIVEN_UP, SLUICE_NO_MEMORY);
}

struct sl_undo *sl_undo_prepare(struct sl_undos *undos, const struct sl_changing *changes,
                                size_t count, uint64_t nonce, struct sl_undo_told *told)
{
    SL_CHECK(changes && count > 0);
    struct sl_undo *undo = new_undo(undos, told);
    if (!undo)
        return NULL;
    undo->query.nonce = nonce;
    if (sl_ask_change(&undos->shared->scripts, changes, count, &undo->bytes, &undo->query))
        return undo;
    undo->told = NULL;
    end_undo(undo, SL_UNDO_GIVEN_UP, SLUICE_NO_MEMORY);
    return NULL;
}

void sl_undo_send(struct sl_undo *undo, bool is_quiet)
{
    SL_CHECK(undo->query.done && undo->query.words > 0);
    undo->query.is_quiet = is_quiet;
    sl_route_ask(undo->undos->route, &undo->query);
}
