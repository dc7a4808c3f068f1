/* A conversation from the inside: replication.c is what is asked next and looking,
 * replication_fetch.c how rows come here, replication_found.c how they get there where there are
 * none. */
#ifndef SL_REGISTRY_REPLICATION_REPLICATION_INTERNAL_H
#define SL_REGISTRY_REPLICATION_REPLICATION_INTERNAL_H

#include "registry/replication/replication.h"

/* ---- how a step ends: each begins anew ---- */

enum sl_replication_step
sl_replication_fail(struct sl_replication *spread); /* `error` is there already */
enum sl_replication_step sl_replication_fail_saying(struct sl_replication *spread, const char *why);
enum sl_replication_step sl_replication_later(struct sl_replication *spread, const char *why);

/* Something is not as it was a moment ago. */
enum sl_replication_step sl_replication_look_again(struct sl_replication *spread);

void sl_replication_forget_rows(struct sl_replication *spread);

/* Another one for every registry that is founded: its epoch is called so, behind its generation
 * (replication_found.c). */
enum { SL_EPOCH_RANDOM_BITS = 51 };

void sl_replication_take_name(struct sl_replication *spread);

/* ---- replication_fetch.c ---- */

/* What of the two logs is not here yet. */
enum sl_replication_step sl_replication_fetch_next(struct sl_replication *spread);
enum sl_replication_step sl_replication_take_page(struct sl_replication *spread,
                                                  const struct sl_redis_reply *reply);

/* ---- replication_found.c ---- */

bool sl_replication_ask_bid(struct sl_replication *spread, struct sl_channel_call *call);
bool sl_replication_ask_fill(struct sl_replication *spread, struct sl_channel_call *call);
enum sl_replication_step sl_replication_take_bid(struct sl_replication *spread,
                                                 const struct sl_redis_reply *reply);
enum sl_replication_step sl_replication_take_fill(struct sl_replication *spread,
                                                  const struct sl_redis_reply *reply);
enum sl_replication_step sl_replication_take_open(struct sl_replication *spread,
                                                  const struct sl_redis_reply *reply);

#endif
