/* What a look says decides what follows:
 *
 *   no epoch                 → bid, fill, open: replication_found.c; or wait for who does
 *   another epoch            → everything afresh     ┐
 *   another last change      → what is new           ├ replication_fetch.c
 *   users not all here       → the next page         ┘
 *   else                     → done */
#include "registry/replication/replication_internal.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"

void sl_replication_take_name(struct sl_replication *spread)
{
    do
        spread->who = sl_random64() >> (64 - SL_EPOCH_RANDOM_BITS);
    while (spread->who == 0);
}

void sl_replication_open(struct sl_replication *spread, struct sl_registry *registry,
                         const char *database)
{
    *spread = (struct sl_replication){ .registry = registry, .database = database };
    sl_replication_take_name(spread);
}

void sl_replication_forget_rows(struct sl_replication *spread)
{
    sl_arena_release(&spread->arena);
    free(spread->rows);
    spread->rows = NULL;
    spread->row_count = spread->row_room = spread->row_bytes = 0;
}

void sl_replication_close(struct sl_replication *spread)
{
    sl_replication_forget_rows(spread);
    free(spread->row_value);
    spread->row_value = NULL;
    sl_scripts_release(&spread->scripts);
}

void sl_replication_begin(struct sl_replication *spread)
{
    sl_replication_forget_rows(spread);
    free(spread->row_value);
    spread->row_value = NULL;
    spread->phase = SL_REPLICATION_LOOKS;
}

enum sl_replication_step sl_replication_fail(struct sl_replication *spread)
{
    sl_replication_begin(spread);
    return SL_REPLICATION_FAILED;
}

enum sl_replication_step sl_replication_fail_saying(struct sl_replication *spread, const char *why)
{
    sl_error_say(&spread->error, "%s", why);
    return sl_replication_fail(spread);
}

enum sl_replication_step sl_replication_later(struct sl_replication *spread, const char *why)
{
    sl_replication_begin(spread);
    sl_error_say(&spread->error, "%s", why);
    return SL_REPLICATION_MUST_WAIT;
}

static enum sl_replication_step none(struct sl_replication *spread, const char *why)
{
    sl_replication_begin(spread);
    sl_error_say(&spread->error, "%s", why);
    return SL_REPLICATION_NONE;
}

enum sl_replication_step sl_replication_look_again(struct sl_replication *spread)
{
    return sl_replication_later(spread, "the registry in Redis has changed meanwhile");
}

/* ---- looking ---- */

static enum sl_replication_step take_look(struct sl_replication *spread,
                                          const struct sl_redis_reply *reply)
{
    bool is_empty;
    if (!sl_answer_look(reply, &spread->looked))
        return sl_replication_fail_saying(spread, "the registry in Redis is none of Sluice's");
    struct sluice_text row = spread->looked.row;
    free(spread->row_value);
    spread->row_value = spread->row ? sl_text_copy(row) : NULL;
    spread->looked.row = (struct sluice_text){ 0 };
    if (spread->row && !spread->row_value)
        return sl_replication_fail_saying(spread, "out of memory");
    if (!sl_replica_place(spread->registry, &spread->place, &spread->error))
        return sl_replication_fail(spread);
    if (spread->looked.epoch.number && !spread->looked.epoch.is_filling)
        return sl_replication_fetch_next(spread);
    if (!sl_replica_is_empty(spread->registry, &is_empty, &spread->error))
        return sl_replication_fail(spread);
    bool may_found = spread->founds == SL_FOUNDS_EMPTY     ? is_empty
                     : spread->founds == SL_FOUNDS_REPLICA ? !is_empty || spread->place.epoch
                                                           : false;
    if (!may_found)
        return none(spread, is_empty ? "there is no registry in Redis yet"
                                     : "the registry in Redis is about to be filled; try again");
    spread->phase = SL_REPLICATION_BIDS;
    return SL_REPLICATION_MORE;
}

/* ---- question by question ---- */

bool sl_replication_ask(struct sl_replication *spread, struct sl_channel_call *call)
{
    sl_error_say(&spread->error, "out of memory"); /* unless something else is in its way */
    switch (spread->phase) {
    case SL_REPLICATION_LOOKS:
        return sl_ask_look(&spread->scripts, call, SL_LOG_USERS, spread->row, 0);
    case SL_REPLICATION_FETCHES:
        return sl_ask_page(&spread->scripts, call,
                           &(struct sl_page_asked){ spread->looked.epoch.number, spread->log,
                                                    spread->from, spread->known });
    case SL_REPLICATION_BIDS:
        return sl_replication_ask_bid(spread, call);
    case SL_REPLICATION_FILLS:
        return sl_replication_ask_fill(spread, call);
    default:
        return sl_ask_found(&spread->scripts, call, spread->who, 0, true);
    }
}

enum sl_replication_step sl_replication_take(struct sl_replication *spread,
                                             const struct sl_channel_call *call)
{
    if (!call->reply)
        return sl_replication_fail_saying(spread, "Redis does not answer");
    switch (spread->phase) {
    case SL_REPLICATION_LOOKS:
        return take_look(spread, call->reply);
    case SL_REPLICATION_FETCHES:
        return sl_replication_take_page(spread, call->reply);
    case SL_REPLICATION_BIDS:
        return sl_replication_take_bid(spread, call->reply);
    case SL_REPLICATION_FILLS:
        return sl_replication_take_fill(spread, call->reply);
    default:
        return sl_replication_take_open(spread, call->reply);
    }
}
