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

void sl_spread_take_name(struct sl_spread *spread)
{
    do
        spread->who = sl_random64() >> (64 - SL_EPOCH_RANDOM_BITS);
    while (spread->who == 0);
}

void sl_spread_open(struct sl_spread *spread, struct sl_registry *registry, const char *database)
{
    *spread = (struct sl_spread){ .registry = registry, .database = database };
    sl_spread_take_name(spread);
}

void sl_spread_forget_rows(struct sl_spread *spread)
{
    sl_arena_release(&spread->arena);
    free(spread->rows);
    spread->rows = NULL;
    spread->row_count = spread->row_room = spread->row_bytes = 0;
}

void sl_spread_close(struct sl_spread *spread)
{
    sl_spread_forget_rows(spread);
    free(spread->row_value);
    spread->row_value = NULL;
    sl_scripts_release(&spread->scripts);
}

void sl_spread_begin(struct sl_spread *spread)
{
    sl_spread_forget_rows(spread);
    free(spread->row_value);
    spread->row_value = NULL;
    spread->phase = SL_SPREAD_LOOKS;
}

enum sl_spread_step sl_spread_fail(struct sl_spread *spread)
{
    sl_spread_begin(spread);
    return SL_SPREAD_FAILED;
}

enum sl_spread_step sl_spread_fail_saying(struct sl_spread *spread, const char *why)
{
    sl_error_say(&spread->error, "%s", why);
    return sl_spread_fail(spread);
}

enum sl_spread_step sl_spread_later(struct sl_spread *spread, const char *why)
{
    sl_spread_begin(spread);
    sl_error_say(&spread->error, "%s", why);
    return SL_SPREAD_WAIT;
}

static enum sl_spread_step none(struct sl_spread *spread, const char *why)
{
    sl_spread_begin(spread);
    sl_error_say(&spread->error, "%s", why);
    return SL_SPREAD_NONE;
}

enum sl_spread_step sl_spread_look_again(struct sl_spread *spread)
{
    return sl_spread_later(spread, "the registry in Redis has changed meanwhile");
}

/* ---- looking ---- */

static enum sl_spread_step take_look(struct sl_spread *spread, const struct sl_reply *reply)
{
    bool is_empty;
    if (!sl_answer_look(reply, &spread->looked))
        return sl_spread_fail_saying(spread, "the registry in Redis is none of Sluice's");
    struct sluice_text row = spread->looked.row;
    free(spread->row_value);
    spread->row_value = spread->row ? sl_text_copy(row) : NULL;
    spread->looked.row = (struct sluice_text){ 0 };
    if (spread->row && !spread->row_value)
        return sl_spread_fail_saying(spread, "out of memory");
    if (!sl_copy_place(spread->registry, &spread->place, &spread->error))
        return sl_spread_fail(spread);
    if (spread->looked.epoch.number && !spread->looked.epoch.is_filling)
        return sl_spread_fetch_next(spread);
    if (!sl_copy_is_empty(spread->registry, &is_empty, &spread->error))
        return sl_spread_fail(spread);
    bool may_found = spread->founds == SL_FOUNDS_EMPTY  ? is_empty
                     : spread->founds == SL_FOUNDS_COPY ? !is_empty || spread->place.epoch
                                                        : false;
    if (!may_found)
        return none(spread, is_empty ? "there is no registry in Redis yet"
                                     : "the registry in Redis is about to be filled; try again");
    spread->phase = SL_SPREAD_BIDS;
    return SL_SPREAD_MORE;
}

/* ---- question by question ---- */

bool sl_spread_ask(struct sl_spread *spread, struct sl_channel_call *call)
{
    sl_error_say(&spread->error, "out of memory"); /* unless something else is in its way */
    switch (spread->phase) {
    case SL_SPREAD_LOOKS:
        return sl_ask_look(&spread->scripts, call, SL_LOG_USERS, spread->row, 0);
    case SL_SPREAD_FETCHES:
        return sl_ask_page(&spread->scripts, call,
                           &(struct sl_page_asked){ spread->looked.epoch.number, spread->log,
                                                    spread->from, spread->known });
    case SL_SPREAD_BIDS:
        return sl_spread_ask_bid(spread, call);
    case SL_SPREAD_FILLS:
        return sl_spread_ask_fill(spread, call);
    default:
        return sl_ask_found(&spread->scripts, call, spread->who, 0, true);
    }
}

enum sl_spread_step sl_spread_take(struct sl_spread *spread, const struct sl_channel_call *call)
{
    if (!call->reply)
        return sl_spread_fail_saying(spread, "Redis does not answer");
    switch (spread->phase) {
    case SL_SPREAD_LOOKS:
        return take_look(spread, call->reply);
    case SL_SPREAD_FETCHES:
        return sl_spread_take_page(spread, call->reply);
    case SL_SPREAD_BIDS:
        return sl_spread_take_bid(spread, call->reply);
    case SL_SPREAD_FILLS:
        return sl_spread_take_fill(spread, call->reply);
    default:
        return sl_spread_take_open(spread, call->reply);
    }
}
