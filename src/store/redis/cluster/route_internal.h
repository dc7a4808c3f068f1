/* A route from the inside: route.c has calls and redirections, route_map.c how the map of a cluster
 * is learned, and how links follow it. */
#ifndef SL_STORE_REDIS_CLUSTER_ROUTE_INTERNAL_H
#define SL_STORE_REDIS_CLUSTER_ROUTE_INTERNAL_H

#include "store/redis/cluster/route.h"

/* A link to one node, and the host of that link. */
struct sl_cluster_node {
    struct sl_cluster_route *route;
    uint32_t number;
    struct sl_target *target;
    struct sl_link *link;
    int fd; /* the socket that is watched; -1: none */
    int64_t wake_us;
    int64_t asked_us;
    uint32_t probe_slot;          /* of the key that probes use; SL_SLOT_COUNT: none */
    struct sl_cluster_node *next; /* in `leaving` */
};

struct sl_cluster_route {
    struct sl_link_shared *shared;
    struct sl_link_host host;
    struct sl_cluster_node *nodes[SL_MEMBERS_MAX]; /* by number; without a cluster only 0 */
    uint32_t node_count;                           /* numbers are below it */
    struct sl_cluster_node *leaving;               /* their numbers belong to other addresses now */
    bool opens;                                    /* links are opened ahead of the first call */
    bool has_news;                                 /* something is to be sent with the next flush */
    bool is_closing, is_parents;
    int64_t wake_us;

    struct sl_redis_query *later; /* calls that wait for a time, or for a map */
    size_t later_count;

    uint64_t version; /* of the map that our links follow */
    bool wants_map, is_learning;
    bool is_lost;                      /* no node that was asked had a map */
    uint64_t lessons;                  /* how many there were when the map was wanted */
    int64_t map_us;                    /* the map is not asked for before this */
    uint32_t misses;                   /* how many nodes were asked in vain */
    struct sl_cluster_node *informant; /* the node that is asked for the map */
    uint32_t informant_number;
    struct sl_redis_query map_query;
};

/* ---- route.c ---- */

/* Returns the number's node, made if there is none; NULL if the number is free, or no memory. */
struct sl_cluster_node *sl_route_node(struct sl_cluster_route *route, uint32_t number);
void sl_route_drop_node(struct sl_cluster_node *node);
void sl_route_pass(struct sl_cluster_node *node, struct sl_redis_query *query);
void sl_route_wake_by(struct sl_cluster_route *route, int64_t at_us);

/* Sends the calls that waited for a map. */
void sl_route_map_is_there(struct sl_cluster_route *route);

/* ---- route_map.c ---- */

void sl_route_want_map(struct sl_cluster_route *route);

/* Asks for the map, if it is wanted and may be asked for. */
void sl_route_look_for_map(struct sl_cluster_route *route, int64_t now_us);

/* Makes links follow the map: a link whose number belongs to another address now is left. */
void sl_route_follow_map(struct sl_cluster_route *route);

/* Gives the node's probes a key in one of its slots. */
void sl_route_name_probe(struct sl_cluster_node *node);

/* Closes links to nodes without slots. Never call it from within a link. */
void sl_route_leave_nodes(struct sl_cluster_route *route, int64_t now_us);

#endif
