/* A conversation from the inside: replication.c is what is asked next and looking,
 * replication_fetch.c how rows come here, replication_found.c how they get there where there are
 * none. */
#ifndef SL_REGISTRY_REPLICATION_REPLICATION_INTERNAL_H
#define SL_REGISTRY_REPLICATION_REPLICATION_INTERNAL_H

#include "registry/replication/replication.h"

/* ---- how a step ends: each begins anew ---- */

enum sl_spread_step sl_spread_fail(struct sl_spread *spread); /* `error` is there already */
enum sl_spread_step sl_spread_fail_saying(struct sl_spread *spread, const char *why);
enum sl_spread_step sl_spread_later(struct sl_spread *spread, const char *why);

/* Something is not as it was a moment ago. */
enum sl_spread_step sl_spread_look_again(struct sl_spread *spread);

void sl_spread_forget_rows(struct sl_spread *spread);

/* Another one for every registry that is founded: its epoch is called so, behind its generation
 * (replication_found.c). */
enum { SL_EPOCH_RANDOM_BITS = 51 };

void sl_spread_take_name(struct sl_spread *spread);

/* ---- replication_fetch.c ---- */

/* What of the two logs is not here yet. */
enum sl_spread_step sl_spread_fetch_next(struct sl_spread *spread);
enum sl_spread_step sl_spread_take_page(struct sl_spread *spread, const struct sl_reply *reply);

/* ---- replication_found.c ---- */

bool sl_spread_ask_bid(struct sl_spread *spread, struct sl_channel_call *call);
bool sl_spread_ask_fill(struct sl_spread *spread, struct sl_channel_call *call);
enum sl_spread_step sl_spread_take_bid(struct sl_spread *spread, const struct sl_reply *reply);
enum sl_spread_step sl_spread_take_fill(struct sl_spread *spread, const struct sl_reply *reply);
enum sl_spread_step sl_spread_take_open(struct sl_spread *spread, const struct sl_reply *reply);

#endif
