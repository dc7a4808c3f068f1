/* The inside of replication: replication.c chooses the next question, replication_fetch.c fetches
 * rows, replication_found.c writes them to Redis where there is no registry. */
#ifndef SL_REGISTRY_REPLICATION_REPLICATION_INTERNAL_H
#define SL_REGISTRY_REPLICATION_REPLICATION_INTERNAL_H

#include "registry/replication/replication.h"

/* ---- ends of a step: each starts the conversation again ---- */

enum sl_replication_step
sl_replication_fail(struct sl_replication *replication); /* `error` is set already */
enum sl_replication_step sl_replication_fail_saying(struct sl_replication *replication,
                                                    const char *why);
enum sl_replication_step sl_replication_later(struct sl_replication *replication, const char *why);

/* The registry in Redis has changed since the last look. */
enum sl_replication_step sl_replication_look_again(struct sl_replication *replication);

void sl_replication_forget_rows(struct sl_replication *replication);

/* Draws a new `who` for every registry that is founded: its epoch is that number, with its
 * generation in front (replication_found.c). */
enum { SL_EPOCH_RANDOM_BITS = 51 };

void sl_replication_take_name(struct sl_replication *replication);

/* ---- replication_fetch.c ---- */

/* Chooses the log to fetch next, or ends the conversation. */
enum sl_replication_step sl_replication_fetch_next(struct sl_replication *replication);
enum sl_replication_step sl_replication_take_page(struct sl_replication *replication,
                                                  const struct sl_redis_reply *reply);

/* ---- replication_found.c ---- */

bool sl_replication_ask_bid(struct sl_replication *replication, struct sl_channel_call *call);
bool sl_replication_ask_fill(struct sl_replication *replication, struct sl_channel_call *call);
enum sl_replication_step sl_replication_take_bid(struct sl_replication *replication,
                                                 const struct sl_redis_reply *reply);
enum sl_replication_step sl_replication_take_fill(struct sl_replication *replication,
                                                  const struct sl_redis_reply *reply);
enum sl_replication_step sl_replication_take_open(struct sl_replication *replication,
                                                  const struct sl_redis_reply *reply);

#endif
