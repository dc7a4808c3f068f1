/* A route from the inside: route.c is asking and redirections, route_map.c how the map
 * of a cluster is learned, and which links that makes. */
#ifndef SL_STORE_REDIS_CLUSTER_ROUTE_INTERNAL_H
#define SL_STORE_REDIS_CLUSTER_ROUTE_INTERNAL_H

#include "store/redis/cluster/route.h"

/* A link, and its host. */
struct sl_cluster_node {
    struct sl_cluster_route *route;
    uint32_t number;
    struct sl_target *target;
    struct sl_link *link;
    int fd; /* that is watched; or -1 */
    int64_t wake_us;
    int64_t asked_us;
    uint32_t probe_slot;          /* of its probes' key; SL_SLOT_COUNT: they have none */
    struct sl_cluster_node *next; /* that leaves */
};

struct sl_cluster_route {
    struct sl_link_shared *shared;
    struct sl_link_host host;
    struct sl_cluster_node
        *nodes[SL_MEMBERS_MAX];      /* by number; without a cluster there is 0 alone */
    uint32_t node_count;             /* numbers are below it */
    struct sl_cluster_node *leaving; /* the number is another's now; or NULL */
    bool opens;                      /* links, before anybody asks */
    bool has_news;                   /* for the next flush */
    bool is_closing, is_parents;
    int64_t wake_us;

    struct sl_redis_query *later; /* in a while, or when there is a map */
    size_t later_count;

    uint64_t version; /* of the map, as our links are */
    bool wants_map, is_learning;
    bool is_lost;     /* nobody that was asked knew one */
    uint64_t lessons; /* when it was wanted */
    int64_t map_us;   /* not asked for before */
    uint32_t misses;  /* without a map: who was asked in vain */
    struct sl_cluster_node *informant;
    uint32_t informant_number;
    struct sl_redis_query map_query;
};

/* ---- route.c ---- */

/* Who has the number, made if need be. NULL: nobody, or no memory. */
struct sl_cluster_node *sl_route_node(struct sl_cluster_route *route, uint32_t number);
void sl_route_drop_node(struct sl_cluster_node *node);
void sl_route_pass(struct sl_cluster_node *node, struct sl_redis_query *query);
void sl_route_wake_by(struct sl_cluster_route *route, int64_t at_us);

/* What waits for a map goes on. */
void sl_route_map_is_there(struct sl_cluster_route *route);

/* ---- route_map.c ---- */

void sl_route_want_map(struct sl_cluster_route *route);

/* Asks for it, if it is wanted and may be asked for. */
void sl_route_look_for_map(struct sl_cluster_route *route, int64_t now_us);

/* Links follow the map: who has another's number is left. */
void sl_route_follow_map(struct sl_cluster_route *route);

/* Gives its probes a key in one of its slots. */
void sl_route_name_probe(struct sl_cluster_node *node);

/* Closes links to nodes without slots. Not from within a link. */
void sl_route_leave_nodes(struct sl_cluster_route *route, int64_t now_us);

#endif
