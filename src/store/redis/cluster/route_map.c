/* How a route learns the map of its cluster. It sends CLUSTER SLOTS to the nodes in turn, so that a
 * node that is wrong or silent is not asked twice in a row. Any route may learn the map for all;
 * the cluster limits how often. */
#include <stdio.h>

#include "base/check.h"
#include "base/text/number.h"
#include "store/redis/cluster/route_internal.h"

enum {
    LOOK_EVERY_US = 250000,
    MAP_DEADLINE_US = 500000,
    LEAVE_US = 2000000, /* a link without calls for so long, to a node without slots, is closed */
};

static char map_words[] = "$7\r\nCLUSTER\r\n$5\r\nSLOTS\r\n";
static const struct sl_buffer map_bytes = { .at = map_words, .len = sizeof map_words - 1 };

/* ---- links follow the map ---- */

void sl_route_name_probe(struct sl_cluster_node *node)
{
    const struct sl_cluster *cluster = node->route->shared->cluster;
    char digits[16], key[40] = "";
    int32_t tag = sl_cluster_tag(cluster, node->number);
    node->probe_slot = SL_SLOT_COUNT;
    if (tag >= 0) {
        snprintf(digits, sizeof digits, "%d", tag);
        snprintf(key, sizeof key, "rl:~probe:{%d}", tag);
        node->probe_slot = sl_slot_of(sl_text(digits));
    }
    SL_CHECK(node->probe_slot <= SL_SLOT_COUNT);
    sl_link_probe_with(node->link, key);
}

static bool is_probed_well(const struct sl_cluster_node *node)
{
    return node->probe_slot < SL_SLOT_COUNT &&
           sl_cluster_owner(node->route->shared->cluster, node->probe_slot) == node->number;
}

static void open_owners(struct sl_cluster_route *route)
{
    struct sl_cluster *cluster = route->shared->cluster;
    for (uint32_t number = 0; number < sl_cluster_size(cluster); number++) {
        if (sl_cluster_standing(cluster, number, NULL) != SL_MEMBER_OWNER)
            continue;
        struct sl_cluster_node *node = sl_route_node(route, number);
        if (node)
            sl_link_open(node->link);
    }
}

void sl_route_follow_map(struct sl_cluster_route *route)
{
    struct sl_cluster *cluster = route->shared->cluster;
    SL_CHECK(cluster && route->node_count <= SL_MEMBERS_MAX);
    route->version = sl_cluster_version(cluster);
    for (uint32_t number = 0; number < route->node_count; number++) {
        struct sl_cluster_node *node = route->nodes[number];
        if (!node)
            continue;
        if (sl_cluster_standing(cluster, number, node->target) == SL_MEMBER_STRANGER) {
            route->nodes[number] = NULL;
            node->next = route->leaving;
            route->leaving = node;
        } else if (!is_probed_well(node)) {
            sl_route_name_probe(node);
        }
    }
    if (route->opens && !route->is_closing)
        open_owners(route);
}

/* Only an idle link is closed: pending calls are answered first. */
static bool may_close_node(const struct sl_cluster_node *node, int64_t now_us)
{
    return now_us - node->asked_us >= LEAVE_US && sl_link_is_idle(node->link);
}

void sl_route_leave_nodes(struct sl_cluster_route *route, int64_t now_us)
{
    struct sl_cluster *cluster = route->shared->cluster;
    for (uint32_t number = 0; number < route->node_count; number++) {
        struct sl_cluster_node *node = route->nodes[number];
        if (!node || sl_cluster_standing(cluster, number, node->target) == SL_MEMBER_OWNER)
            continue;
        if (may_close_node(node, now_us))
            sl_route_drop_node(node);
        else
            sl_route_wake_by(route, sl_max_i64(node->asked_us, now_us - LEAVE_US / 2) + LEAVE_US);
    }
    for (struct sl_cluster_node **at = &route->leaving; *at;) {
        struct sl_cluster_node *node = *at;
        if (may_close_node(node, now_us)) {
            *at = node->next;
            sl_route_drop_node(node);
        } else {
            sl_route_wake_by(route, now_us + LEAVE_US);
            at = &node->next;
        }
    }
}

/* ---- learning ---- */

void sl_route_want_map(struct sl_cluster_route *route)
{
    SL_CHECK(route->shared->cluster);
    if (route->wants_map || route->is_closing)
        return;
    route->wants_map = true;
    route->lessons = sl_cluster_lessons(route->shared->cluster);
    sl_route_wake_by(route, sl_max_i64(route->map_us, 0));
}

static void use_map(struct sl_cluster_route *route)
{
    route->wants_map = route->is_lost = false;
    route->misses = 0;
    sl_route_follow_map(route);
    sl_route_map_is_there(route);
}

/* While there is no map at all, the next node is asked at once, until all were. */
static void try_next_informant(struct sl_cluster_route *route, int64_t now_us)
{
    struct sl_cluster *cluster = route->shared->cluster;
    if (sl_cluster_lessons(cluster) > 0)
        return;
    if (++route->misses < sl_cluster_size(cluster)) {
        route->map_us = now_us;
    } else {
        route->misses = 0;
        route->is_lost = true;
    }
}

static void on_map(struct sl_redis_query *query, int status, const struct sl_redis_reply *reply)
{
    struct sl_cluster_route *route =
        (struct sl_cluster_route *)(void *)((char *)query -
                                            offsetof(struct sl_cluster_route, map_query));
    const struct sl_target *from = route->informant->target;
    SL_CHECK(route->is_learning);
    route->is_learning = false;
    if (route->is_closing)
        return;
    if (status == SLUICE_OK && sl_cluster_learn(route->shared->cluster, reply, from))
        use_map(route);
    else
        try_next_informant(route, sl_link_now_us());
    if (route->wants_map)
        sl_route_wake_by(route, route->map_us);
}

/* Returns the next node that is connected; else the next that can be tried. Before there is a map
 * no node is preferred: the connected one may belong to no cluster, and the others would never be
 * asked. */
static struct sl_cluster_node *find_informant(struct sl_cluster_route *route)
{
    struct sl_cluster *cluster = route->shared->cluster;
    uint32_t size = sl_cluster_size(cluster), from = route->informant_number + 1;
    bool has_map = sl_cluster_lessons(cluster) > 0;
    for (uint32_t i = 0; has_map && i < size; i++) {
        struct sl_cluster_node *node = route->nodes[(from + i) % size];
        if (node && sl_link_is_up(node->link))
            return node;
    }
    for (uint32_t i = 0; i < size; i++) {
        uint32_t number = (from + i) % size;
        if (sl_cluster_standing(cluster, number, NULL) == SL_MEMBER_STRANGER)
            continue;
        struct sl_cluster_node *node = sl_route_node(route, number);
        if (node && !sl_link_is_tripped(node->link))
            return node;
    }
    return NULL;
}

static void ask_for_map(struct sl_cluster_route *route, int64_t now_us)
{
    SL_CHECK(!route->is_learning);
    struct sl_cluster_node *node = find_informant(route);
    if (!node) {
        route->is_lost = true;
        return;
    }
    route->map_query = (struct sl_redis_query){
        .done = on_map, .bytes = &map_bytes, .len = map_bytes.len, .words = 2, .is_quiet = true
    };
    route->map_query.due_us = now_us + sl_max_i64(MAP_DEADLINE_US, route->shared->deadline_us);
    route->is_learning = true;
    route->informant = node;
    route->informant_number = node->number;
    sl_route_pass(node, &route->map_query);
}

void sl_route_look_for_map(struct sl_cluster_route *route, int64_t now_us)
{
    struct sl_cluster *cluster = route->shared->cluster;
    if (!route->wants_map || route->is_learning)
        return;
    if (route->lessons != sl_cluster_lessons(cluster)) {
        use_map(route); /* another channel has learned it */
        return;
    }
    if (now_us >= route->map_us) {
        route->map_us = now_us + LOOK_EVERY_US;
        if (sl_cluster_lessons(cluster) == 0 || sl_cluster_may_ask(cluster, now_us))
            ask_for_map(route, now_us);
    }
    if (route->wants_map)
        sl_route_wake_by(route, route->map_us);
}
