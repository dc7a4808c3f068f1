/* Sends each call to the node that owns its slot, and follows redirections. */
#include <stdlib.h>

#include "base/check.h"
#include "base/text/number.h"
#include "store/redis/cluster/route_internal.h"

enum {
    REDIRECTIONS_MAX = 8,
    AGAIN_MIN_US = 1000,
    LATER_MAX = 8192,
};

/* ---- host of links, and its own host ---- */

void sl_route_wake_by(struct sl_cluster_route *route, int64_t at_us)
{
    if (at_us >= route->wake_us)
        return;
    route->wake_us = at_us;
    route->host.wake_at(route->host.about, at_us);
}

static void watch_node(void *about, int fd, bool reads, bool writes)
{
    struct sl_cluster_node *node = about;
    node->fd = reads || writes ? fd : -1;
    node->route->host.watch(node->route->host.about, fd, reads, writes);
}

static void wake_node_at(void *about, int64_t at_us)
{
    struct sl_cluster_node *node = about;
    node->wake_us = at_us;
    sl_route_wake_by(node->route, at_us);
}

/* The key of the node's probes may have moved, or be moving: it is chosen again with the map. */
static void note_node_failed(void *about)
{
    struct sl_cluster_node *node = about;
    node->probe_slot = SL_SLOT_COUNT;
    sl_route_want_map(node->route);
}

/* ---- calls ---- */

static void put_off_call(struct sl_cluster_route *route, struct sl_redis_query *query,
                         int64_t at_us)
{
    if (route->is_closing || route->later_count == LATER_MAX) {
        enum sl_call_end how = route->is_closing ? SL_CALL_LOST : SL_CALL_FULL;
        sl_link_finish(route->shared, query, how, SLUICE_STORE_DOWN, NULL);
        return;
    }
    query->again_us = at_us;
    query->next = route->later;
    route->later = query;
    route->later_count++;
    SL_CHECK(route->later_count <= LATER_MAX);
    sl_route_wake_by(route, query->due_us ? sl_min_i64(at_us, query->due_us) : at_us);
}

void sl_route_pass(struct sl_cluster_node *node, struct sl_redis_query *query)
{
    node->asked_us = sl_link_now_us();
    node->route->has_news = true;
    sl_link_pass(node->link, query);
}

/* The slot has no known owner. Without a map calls wait for one; once no node knew a map, only
 * those of blocking callers do. */
static void wait_for_map(struct sl_cluster_route *route, struct sl_redis_query *query)
{
    bool has_map = sl_cluster_lessons(route->shared->cluster) > 0;
    sl_route_want_map(route);
    if (has_map || (route->is_lost && !route->host.is_patient))
        sl_link_finish(route->shared, query, SL_CALL_REFUSED, SLUICE_STORE_DOWN, NULL);
    else
        put_off_call(route, query, INT64_MAX);
}

static void send_to_owner(struct sl_cluster_route *route, struct sl_redis_query *query)
{
    struct sl_cluster *cluster = route->shared->cluster;
    uint32_t number = 0;
    SL_CHECK(!cluster || query->slot < SL_SLOT_COUNT);
    if (route->is_closing) {
        sl_link_finish(route->shared, query, SL_CALL_LOST, SLUICE_STORE_DOWN, NULL);
        return;
    }
    if (cluster) {
        if (route->version != sl_cluster_version(cluster))
            sl_route_follow_map(route);
        number = sl_cluster_owner(cluster, query->slot);
    }
    struct sl_cluster_node *node = number == SL_NO_MEMBER ? NULL : sl_route_node(route, number);
    if (node)
        sl_route_pass(node, query);
    else if (cluster && number == SL_NO_MEMBER)
        wait_for_map(route, query);
    else
        sl_link_finish(route->shared, query, SL_CALL_FULL, SLUICE_NO_MEMORY, NULL);
}

void sl_route_ask_by(struct sl_cluster_route *route, struct sl_redis_query *query, int64_t due_us)
{
    SL_CHECK(query->done && due_us > 0);
    query->due_us = due_us;
    query->redirections = query->tries = 0;
    query->is_asking = query->may_have_run = false;
    send_to_owner(route, query);
}

void sl_route_ask(struct sl_cluster_route *route, struct sl_redis_query *query)
{
    sl_route_ask_by(route, query, sl_redis_query_due_us(query, route->shared));
}

bool sl_route_ask_at(struct sl_cluster_route *route, struct sl_redis_query *query, int64_t at_us)
{
    if (route->is_closing || route->later_count == LATER_MAX)
        return false; /* a caller that asks again on failure would never end */
    SL_CHECK(query->done);
    query->due_us = 0; /* set when it is sent */
    query->redirections = query->tries = 0;
    query->is_asking = query->may_have_run = false;
    put_off_call(route, query, at_us);
    return true;
}

/* Sends the calls whose time has come, and ends those whose deadline has passed. */
static void resume_calls(struct sl_cluster_route *route, int64_t now_us)
{
    struct sl_redis_query *query = route->later, *next;
    route->later = NULL;
    route->later_count = 0;
    for (; query; query = next) {
        next = query->next;
        if (query->due_us && query->due_us <= now_us) {
            sl_link_finish(route->shared, query, SL_CALL_LATE, SLUICE_STORE_DOWN, NULL);
        } else if (query->again_us <= now_us) {
            query->due_us = query->due_us ? query->due_us : now_us + route->shared->deadline_us;
            send_to_owner(route, query);
        } else {
            put_off_call(route, query, query->again_us);
        }
    }
}

void sl_route_map_is_there(struct sl_cluster_route *route)
{
    for (struct sl_redis_query *query = route->later; query; query = query->next)
        if (query->again_us == INT64_MAX)
            query->again_us = 0;
    if (route->later)
        sl_route_wake_by(route, 0);
}

/* ---- redirections ---- */

/* Reads the address in "MOVED 3999 127.0.0.1:6381", the last word. */
static uint32_t redirect_target(struct sl_cluster_node *node, struct sluice_text sentence)
{
    const char *blank = sentence.len ? memrchr(sentence.at, ' ', sentence.len) : NULL;
    if (!blank)
        return SL_NO_MEMBER;
    struct sluice_text address = { blank + 1, (size_t)(sentence.at + sentence.len - blank - 1) };
    return sl_cluster_number(node->route->shared->cluster, address, node->target);
}

static bool pass_to_member(struct sl_cluster_route *route, struct sl_redis_query *query,
                           uint32_t number)
{
    struct sl_cluster_node *node = number == SL_NO_MEMBER ? NULL : sl_route_node(route, number);
    if (node)
        sl_route_pass(node, query);
    return node;
}

static bool redirect_call(void *about, struct sl_redis_query *query, enum sl_redis_error error,
                          struct sluice_text sentence)
{
    struct sl_cluster_node *node = about;
    struct sl_cluster_route *route = node->route;
    struct sl_cluster *cluster = route->shared->cluster;
    int64_t now_us = sl_link_now_us();
    uint32_t number;
    SL_CHECK(cluster);
    SL_CHECK(error == SL_REDIS_MOVED || error == SL_REDIS_ASK || error == SL_REDIS_TRYAGAIN);
    query->is_asking = false;
    if (error != SL_REDIS_MOVED)
        sl_cluster_note_move(cluster, query->slot, now_us);
    if (now_us >= query->due_us)
        return false;
    if (error == SL_REDIS_TRYAGAIN) { /* as often as the deadline allows */
        atomic_fetch_add(&route->shared->redirections[SL_REDIRECTION_TRYAGAIN], 1);
        int64_t wait_us = (int64_t)AGAIN_MIN_US << (query->tries < 6 ? query->tries++ : 6);
        query->redirections = 0; /* an ASK may lead here again */
        put_off_call(route, query, now_us + wait_us);
        return true;
    }
    if (error == SL_REDIS_MOVED)
        sl_route_want_map(route);
    if (query->redirections++ == REDIRECTIONS_MAX ||
        (number = redirect_target(node, sentence)) == SL_NO_MEMBER)
        return false;
    query->is_asking = error == SL_REDIS_ASK;
    if (!query->is_asking)
        sl_cluster_move(cluster, query->slot, number);
    atomic_fetch_add(
        &route->shared->redirections[query->is_asking ? SL_REDIRECTION_ASK : SL_REDIRECTION_MOVED],
        1);
    return pass_to_member(route, query, number);
}

/* ---- nodes ---- */

static struct sl_cluster_node *new_node(struct sl_cluster_route *route, uint32_t number,
                                        struct sl_target *target)
{
    struct sl_cluster_node *node = calloc(1, sizeof *node);
    bool is_one_of_many = route->shared->cluster;
    struct sl_link_host host = { node,
                                 watch_node,
                                 wake_node_at,
                                 route->host.is_patient,
                                 is_one_of_many ? redirect_call : NULL,
                                 is_one_of_many ? note_node_failed : NULL };
    if (!node)
        return NULL;
    *node =
        (struct sl_cluster_node){ .route = route, .number = number, .target = target, .fd = -1 };
    node->wake_us = INT64_MAX;
    node->asked_us = sl_link_now_us();
    node->link = sl_link_new_to(route->shared, target, &host);
    if (node->link)
        return node;
    free(node);
    return NULL;
}

struct sl_cluster_node *sl_route_node(struct sl_cluster_route *route, uint32_t number)
{
    struct sl_cluster *cluster = route->shared->cluster;
    SL_CHECK(number < SL_MEMBERS_MAX && (cluster || number == 0));
    if (route->nodes[number])
        return route->nodes[number];
    struct sl_target *target =
        cluster ? sl_cluster_target(cluster, number) : sl_target_keep(route->shared->target);
    if (!target)
        return NULL;
    struct sl_cluster_node *node = new_node(route, number, target);
    if (!node) {
        sl_target_close(target);
        return NULL;
    }
    if (cluster)
        sl_route_name_probe(node);
    route->nodes[number] = node;
    if (number >= route->node_count)
        route->node_count = number + 1;
    SL_CHECK(node->number == number && route->node_count <= SL_MEMBERS_MAX);
    return node;
}

void sl_route_drop_node(struct sl_cluster_node *node)
{
    SL_CHECK(node->number < SL_MEMBERS_MAX);
    if (node->route->nodes[node->number] == node)
        node->route->nodes[node->number] = NULL;
    if (node->route->is_parents)
        sl_link_abandon(node->link);
    else
        sl_link_free(node->link);
    sl_target_close(node->target);
    free(node);
}

/* ---- called by the host ---- */

/* Callbacks may add calls or lose links: repeats until all is sent, a bounded number of times. */
void sl_route_flush(struct sl_cluster_route *route)
{
    for (int i = 0; i < REDIRECTIONS_MAX && route->has_news; i++) {
        route->has_news = false;
        for (uint32_t number = 0; number < route->node_count; number++)
            if (route->nodes[number])
                sl_link_flush(route->nodes[number]->link);
    }
    if (route->has_news)
        sl_route_wake_by(route, 0);
}

void sl_route_on_ready(struct sl_cluster_route *route, int fd)
{
    struct sl_cluster_node *node = NULL;
    for (uint32_t number = 0; !node && number < route->node_count; number++)
        if (route->nodes[number] && route->nodes[number]->fd == fd)
            node = route->nodes[number];
    for (struct sl_cluster_node *left = route->leaving; !node && left; left = left->next)
        if (left->fd == fd)
            node = left;
    if (node)
        sl_link_on_ready(node->link);
    sl_route_flush(route);
}

static void wake_node(struct sl_cluster_node *node, int64_t now_us)
{
    if (node->wake_us <= now_us) {
        node->wake_us = INT64_MAX;
        sl_link_on_time(node->link);
    }
    sl_route_wake_by(node->route, node->wake_us);
}

void sl_route_on_time(struct sl_cluster_route *route)
{
    int64_t now_us = sl_link_now_us();
    route->wake_us = INT64_MAX;
    if (route->shared->cluster)
        sl_route_leave_nodes(route, now_us);
    resume_calls(route, now_us);
    for (uint32_t number = 0; number < route->node_count; number++)
        if (route->nodes[number])
            wake_node(route->nodes[number], now_us);
    for (struct sl_cluster_node *node = route->leaving; node; node = node->next)
        wake_node(node, now_us);
    if (route->shared->cluster)
        sl_route_look_for_map(route, now_us);
    sl_route_flush(route);
}

bool sl_route_is_up(const struct sl_cluster_route *route)
{
    struct sl_cluster *cluster = route->shared->cluster;
    uint32_t up = 0;
    for (uint32_t number = 0; number < route->node_count; number++) {
        const struct sl_cluster_node *node = route->nodes[number];
        if (!node || !sl_link_is_up(node->link))
            continue;
        if (!cluster || sl_cluster_standing(cluster, number, node->target) == SL_MEMBER_OWNER)
            up++;
    }
    return up > 0 && (!cluster || up >= sl_cluster_masters(cluster));
}

void sl_route_open(struct sl_cluster_route *route)
{
    route->opens = true;
    if (route->shared->cluster) {
        sl_route_want_map(route);
        sl_route_look_for_map(route, sl_link_now_us());
    } else if (sl_route_node(route, 0)) {
        sl_link_open(route->nodes[0]->link);
    }
}

/* ---- new and free ---- */

struct sl_cluster_route *sl_route_new(struct sl_link_shared *shared,
                                      const struct sl_link_host *host)
{
    SL_CHECK(shared && host->watch && host->wake_at);
    struct sl_cluster_route *route = calloc(1, sizeof *route);
    if (!route)
        return NULL;
    route->shared = shared;
    route->host = *host;
    route->wake_us = INT64_MAX;
    if (shared->cluster || sl_route_node(route, 0))
        return route;
    free(route);
    return NULL;
}

void sl_route_free(struct sl_cluster_route *route, bool is_parents)
{
    if (!route)
        return;
    struct sl_redis_query *query = route->later, *after;
    route->is_closing = true;
    route->is_parents = is_parents;
    route->later = NULL;
    for (; query; query = after) {
        after = query->next;
        sl_link_finish(route->shared, query, SL_CALL_LOST, SLUICE_STORE_DOWN, NULL);
    }
    for (uint32_t number = 0; number < route->node_count; number++)
        if (route->nodes[number])
            sl_route_drop_node(route->nodes[number]);
    for (struct sl_cluster_node *node = route->leaving, *next; node; node = next) {
        next = node->next;
        sl_route_drop_node(node);
    }
    SL_CHECK(!route->later);
    free(route);
}
