/* Chooses the next question of a conversation. It begins with a look at the logs:
 *
 *   no epoch                 → bid, fill, open: replication_found.c; or wait for another founder
 *   another epoch            → fetch everything      ┐
 *   another last change      → fetch the new rows    ├ replication_fetch.c
 *   users incomplete         → fetch the next page   ┘
 *   else                     → done */
#include "registry/replication/replication_internal.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/error.h"
#include "base/hash.h"

void sl_replication_take_name(struct sl_replication *replication)
{
    do
        replication->who = sl_random64() >> (64 - SL_EPOCH_RANDOM_BITS);
    while (replication->who == 0);
    SL_CHECK(replication->who >> SL_EPOCH_RANDOM_BITS == 0);
}

void sl_replication_open(struct sl_replication *replication, struct sl_registry *registry,
                         const char *database)
{
    SL_CHECK(registry);
    *replication = (struct sl_replication){ .registry = registry, .database = database };
    sl_replication_take_name(replication);
}

void sl_replication_forget_rows(struct sl_replication *replication)
{
    sl_arena_release(&replication->arena);
    free(replication->rows);
    replication->rows = NULL;
    replication->row_count = replication->row_room = replication->row_bytes = 0;
}

void sl_replication_close(struct sl_replication *replication)
{
    sl_replication_forget_rows(replication);
    free(replication->row_value);
    replication->row_value = NULL;
    sl_scripts_release(&replication->scripts);
}

void sl_replication_begin(struct sl_replication *replication)
{
    sl_replication_forget_rows(replication);
    free(replication->row_value);
    replication->row_value = NULL;
    replication->phase = SL_REPLICATION_LOOKS;
}

enum sl_replication_step sl_replication_fail(struct sl_replication *replication)
{
    sl_replication_begin(replication);
    return SL_REPLICATION_FAILED;
}

enum sl_replication_step sl_replication_fail_saying(struct sl_replication *replication,
                                                    const char *why)
{
    sl_error_say(&replication->error, "%s", why);
    return sl_replication_fail(replication);
}

enum sl_replication_step sl_replication_later(struct sl_replication *replication, const char *why)
{
    sl_replication_begin(replication);
    sl_error_say(&replication->error, "%s", why);
    return SL_REPLICATION_MUST_WAIT;
}

static enum sl_replication_step end_without_registry(struct sl_replication *replication,
                                                     const char *why)
{
    sl_replication_begin(replication);
    sl_error_say(&replication->error, "%s", why);
    return SL_REPLICATION_NONE;
}

enum sl_replication_step sl_replication_look_again(struct sl_replication *replication)
{
    return sl_replication_later(replication, "the registry in Redis has changed meanwhile");
}

/* ---- looking ---- */

static enum sl_replication_step read_look(struct sl_replication *replication,
                                          const struct sl_redis_reply *reply)
{
    bool is_empty;
    if (!sl_answer_look(reply, &replication->looked))
        return sl_replication_fail_saying(replication,
                                          "the registry in Redis was not written by Sluice");
    struct sluice_text row = replication->looked.row;
    free(replication->row_value);
    replication->row_value = replication->row ? sl_text_copy(row) : NULL;
    replication->looked.row = (struct sluice_text){ 0 };
    if (replication->row && !replication->row_value)
        return sl_replication_fail_saying(replication, "out of memory");
    if (!sl_replica_place(replication->registry, &replication->place, &replication->error))
        return sl_replication_fail(replication);
    if (replication->looked.epoch.number && !replication->looked.epoch.is_filling)
        return sl_replication_fetch_next(replication);
    if (!sl_replica_is_empty(replication->registry, &is_empty, &replication->error))
        return sl_replication_fail(replication);
    bool may_found = replication->founds == SL_FOUNDS_EMPTY ? is_empty
                     : replication->founds == SL_FOUNDS_REPLICA
                         ? !is_empty || replication->place.epoch
                         : false;
    if (!may_found)
        return end_without_registry(
            replication, is_empty ? "there is no registry in Redis yet"
                                  : "the registry in Redis is about to be filled; try again");
    replication->phase = SL_REPLICATION_BIDS;
    return SL_REPLICATION_MORE;
}

/* ---- questions and answers ---- */

bool sl_replication_ask(struct sl_replication *replication, struct sl_channel_call *call)
{
    sl_error_say(&replication->error,
                 "out of memory"); /* unless the function below says otherwise */
    switch (replication->phase) {
    case SL_REPLICATION_LOOKS:
        return sl_ask_look(&replication->scripts, call, SL_LOG_USERS, replication->row, 0);
    case SL_REPLICATION_FETCHES:
        return sl_ask_page(&replication->scripts, call,
                           &(struct sl_page_asked){ replication->looked.epoch.number,
                                                    replication->log, replication->from,
                                                    replication->known });
    case SL_REPLICATION_BIDS:
        return sl_replication_ask_bid(replication, call);
    case SL_REPLICATION_FILLS:
        return sl_replication_ask_fill(replication, call);
    default:
        return sl_ask_found(&replication->scripts, call, replication->who, 0, true);
    }
}

enum sl_replication_step sl_replication_take(struct sl_replication *replication,
                                             const struct sl_channel_call *call)
{
    SL_CHECK(replication->phase <= SL_REPLICATION_OPENS);
    if (!call->reply)
        return sl_replication_fail_saying(replication, "Redis does not answer");
    switch (replication->phase) {
    case SL_REPLICATION_LOOKS:
        return read_look(replication, call->reply);
    case SL_REPLICATION_FETCHES:
        return sl_replication_take_page(replication, call->reply);
    case SL_REPLICATION_BIDS:
        return sl_replication_take_bid(replication, call->reply);
    case SL_REPLICATION_FILLS:
        return sl_replication_take_fill(replication, call->reply);
    default:
        return sl_replication_take_open(replication, call->reply);
    }
}
