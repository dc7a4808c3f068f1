/* A route: a channel's links to Redis, one in all, or in a cluster one to each node that it needs.
 *
 *   query->slot ──→ owner in the map (cluster.h) ──→ its link
 *                        ^                                   |
 *                        |   MOVED: the slot is there now    |
 *                        +-----------------------------------+   ASK: for this call, with ASKING
 *                                                                TRYAGAIN: later
 *
 * A call that a node redirects goes on to the other node, within the call's deadline and a bounded
 * number of times. The map is asked for after a redirection, when a node fails, or if there is none
 * yet, from any node that answers; a call waits for it only if its slot has no known owner. A link
 * to a node without slots is closed. */
#ifndef SL_STORE_REDIS_CLUSTER_ROUTE_H
#define SL_STORE_REDIS_CLUSTER_ROUTE_H

#include "store/redis/cluster/cluster.h"
#include "store/redis/link/link.h"

struct sl_cluster_route;

struct sl_cluster_route *sl_route_new(struct sl_link_shared *shared,
                                      const struct sl_link_host *host);

/* Pending calls fail. `is_parents`: after a fork, in a process that has inherited the route. */
void sl_route_free(struct sl_cluster_route *route, bool is_parents);

/* Connects ahead of the first call. sl_route_is_up: is every master connected? */
void sl_route_open(struct sl_cluster_route *route);
bool sl_route_is_up(const struct sl_cluster_route *route);

/* Add a call; it is sent with the next flush. sl_route_ask_by sets its deadline. sl_route_ask_at
 * sends it not before `at_us`, and returns false if there is no room: then `done` is not called. */
void sl_route_ask(struct sl_cluster_route *route, struct sl_redis_query *query);
void sl_route_ask_by(struct sl_cluster_route *route, struct sl_redis_query *query, int64_t due_us);
bool sl_route_ask_at(struct sl_cluster_route *route, struct sl_redis_query *query, int64_t at_us);
void sl_route_flush(struct sl_cluster_route *route);

/* The host calls these: a socket is ready; the time of `wake_at` has come. */
void sl_route_on_ready(struct sl_cluster_route *route, int fd);
void sl_route_on_time(struct sl_cluster_route *route);

#endif
