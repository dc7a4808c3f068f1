/* A channel's ways to Redis: one link, or in a cluster one to each node that it needs.
 *
 *   query->slot ──→ owner in the map (cluster.h) ──→ its link
 *                        ^                                   |
 *                        |   MOVED: the slot is there now    |
 *                        +-----------------------------------+   ASK: this once, with ASKING
 *                                                                TRYAGAIN: in a while
 *
 * What a node does not answer goes on to who does, within the query's deadline and so many times.
 * The map is asked for when somebody was sent on, a node fails, or there is none yet, of whoever
 * answers; nothing waits for it but what cannot go anywhere without one. A link whose node has no
 * slots any more is closed. */
#ifndef SL_STORE_REDIS_CLUSTER_ROUTE_H
#define SL_STORE_REDIS_CLUSTER_ROUTE_H

#include "store/redis/cluster/cluster.h"
#include "store/redis/link/link.h"

struct sl_cluster_route;

struct sl_cluster_route *sl_route_new(struct sl_link_shared *shared,
                                      const struct sl_link_host *host);

/* Questions that are still there fail. `is_parents`: after a fork, by who has only inherited it. */
void sl_route_free(struct sl_cluster_route *route, bool is_parents);

/* Connects before anybody asks; can everything be asked? */
void sl_route_open(struct sl_cluster_route *route);
bool sl_route_is_up(const struct sl_cluster_route *route);

/* Asks; sent with the next flush. `by`: with the deadline that it has; `at`: not before, and false
 * where there is no room for it: then nothing is called. */
void sl_route_ask(struct sl_cluster_route *route, struct sl_redis_query *query);
void sl_route_ask_by(struct sl_cluster_route *route, struct sl_redis_query *query, int64_t due_us);
bool sl_route_ask_at(struct sl_cluster_route *route, struct sl_redis_query *query, int64_t at_us);
void sl_route_flush(struct sl_cluster_route *route);

/* What its host has seen. */
void sl_route_on_ready(struct sl_cluster_route *route, int fd);
void sl_route_on_time(struct sl_cluster_route *route);

#endif
