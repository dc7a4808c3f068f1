/* The state of the store, as a member of /v1/stats. */
#include "base/clock.h"
#include "rules/store_url.h"
#include "server/admin/stats_json.h"
#include "server/control/admin_json.h"
#include "server/figures/store_watch.h"
#include "store/lease/lease.h"
#include "store/redis/channel.h"

static void print_why(struct sl_buffer *out, const struct sl_server *server)
{
    struct sluice_error why = { 0 };
    if (server->store_watch->is_down)
        server->store->ops->why(server->store, &why);
    sl_print_text(out, "why", *why.text ? why.text : NULL);
}

static void print_calls(struct sl_buffer *out, const struct sl_store_health *health)
{
    static const char *const ends[] = {
#define NAME(constant, name) [constant] = name,
        SL_CALL_ENDS(NAME)
#undef NAME
    };
    sl_buffer_add(out, SL_TEXT(", \"calls\": {"));
    for (size_t i = 0; i < SL_CALL_END_COUNT; i++)
        sl_print_i64(out, ends[i], (int64_t)health->calls[i]);
    sl_buffer_add(out, SL_TEXT("}, \"breakers\": {"));
    sl_print_i64(out, "closed", (int64_t)health->breakers[SL_BREAKER_CLOSED]);
    sl_print_i64(out, "open", (int64_t)health->breakers[SL_BREAKER_OPEN]);
    sl_print_i64(out, "half_open", (int64_t)health->breakers[SL_BREAKER_HALF_OPEN]);
    sl_buffer_add(out, SL_TEXT("}"));
}

/* Sums over all rules. */
struct lease_totals {
    uint64_t held, most, units[SL_LEASE_END_COUNT], calls[SL_LEASE_RESULT_COUNT], short_of;
};

static void add_rule_leases(struct sl_leases *leases, struct lease_totals *sum)
{
    struct sl_lease_held held[SL_LEASE_RULES];
    sl_leases_held(leases, held, sl_boottime_us());
    *sum = (struct lease_totals){ 0 };
    for (uint32_t i = 0; i < SL_LEASE_RULES; i++) {
        const struct sl_lease_counts *counts = sl_leases_counts(leases, i);
        sum->held += held[i].units;
        sum->most += held[i].most;
        for (size_t k = 0; k < SL_LEASE_END_COUNT; k++)
            sum->units[k] += atomic_load(&counts->units[k]);
        for (size_t k = 0; k < SL_LEASE_RESULT_COUNT; k++)
            sum->calls[k] += atomic_load(&counts->calls[k]);
        sum->short_of += atomic_load(&counts->short_of);
    }
}

/* Prints how many units leases hold at most, and what became of units. /metrics has each rule,
 * under the same names. */
static void print_leases(struct sl_buffer *out, struct sl_leases *leases)
{
    struct lease_totals sum;
    add_rule_leases(leases, &sum);
    sl_buffer_add(out, SL_TEXT(", \"leases\": {"));
    sl_print_i64(out, "held_units", (int64_t)sum.held);
    sl_print_i64(out, "most_units", (int64_t)sum.most);
    sl_buffer_add(out, SL_TEXT(", \"units\": {"));
#define PRINT(constant, name) sl_print_i64(out, name, (int64_t)sum.units[constant]);
    SL_LEASE_ENDS(PRINT)
#undef PRINT
    sl_buffer_add(out, SL_TEXT("}, \"calls\": {"));
#define PRINT(constant, name) sl_print_i64(out, name, (int64_t)sum.calls[constant]);
    SL_LEASE_RESULTS(PRINT)
#undef PRINT
    sl_buffer_add(out, SL_TEXT("}"));
    sl_print_i64(out, "short", (int64_t)sum.short_of);
    sl_buffer_add(out, SL_TEXT("}"));
}

/* With Redis it is the table that decides while Redis does not answer. */
static void print_table(struct sl_buffer *out, const struct sl_server *server)
{
    struct sluice_stats table;
    if (!sl_table_read(&server->table_watch, &table)) {
        sl_print_text(out, "table", NULL);
        return;
    }
    sl_buffer_add(out, SL_TEXT(", \"table\": {"));
    sl_print_i64(out, "slots", (int64_t)table.slots);
    sl_print_i64(out, "live", (int64_t)table.live);
    sl_print_i64(out, "limiting", (int64_t)table.limiting);
    sl_print_i64(out, "insertions", (int64_t)table.insertions);
    sl_print_i64(out, "evictions", (int64_t)table.evictions);
    sl_print_i64(out, "full", (int64_t)table.full);
    sl_buffer_add(out, SL_TEXT("}"));
}

void sl_print_store_stats(struct sl_buffer *out, const struct sl_server *server)
{
    struct sl_store_health health;
    bool has_health = server->store->ops->health;
    sl_buffer_add(out, SL_TEXT(", \"store\": {"));
    sl_print_text(out, "name", server->store_watch->name);
    sl_print_text(out, "kind", has_health ? "redis" : "memory");
    sl_print_bool(out, "healthy", !server->store_watch->is_down);
    print_why(out, server);
    if (has_health) {
        server->store->ops->health(server->store, &health);
        print_calls(out, &health);
        if (sl_answer_cache_leases(server->store->answers))
            print_leases(out, sl_answer_cache_leases(server->store->answers));
    }
    print_table(out, server);
    sl_buffer_add(out, SL_TEXT("}"));
}

void sl_print_replication_stats(struct sl_buffer *out, const struct sl_server *server)
{
    const struct sl_replication_figures *figures = &server->spread;
    int64_t looked_us = atomic_load(&figures->looked_us);
    if (!figures->is_on) {
        sl_print_text(out, "spread", NULL);
        return;
    }
    sl_buffer_add(out, SL_TEXT(", \"spread\": {"));
    sl_print_i64(out, "rules_version", (int64_t)atomic_load(&figures->versions[SL_LOG_RULES]));
    sl_print_i64(out, "users_version", (int64_t)atomic_load(&figures->versions[SL_LOG_USERS]));
    if (looked_us)
        sl_print_moment(out, "age", sl_link_now_us() - looked_us);
    else
        sl_print_text(out, "age", NULL);
    sl_print_i64(out, "applied", (int64_t)atomic_load(&figures->applied));
    sl_print_i64(out, "conflicts", (int64_t)atomic_load(&figures->conflicts));
    sl_print_i64(out, "failures", (int64_t)atomic_load(&figures->failures));
    sl_print_bool(out, "refused", atomic_load(&figures->is_refused));
    sl_buffer_add(out, SL_TEXT("}"));
}

void sl_print_audit_stats(struct sl_buffer *out, const struct sl_server *server)
{
    struct sl_audit_counts counts;
    sl_audit_counts(server->audit, &counts);
    sl_buffer_add(out, SL_TEXT(", \"audit\": {"));
    sl_print_i64(out, "written", (int64_t)counts.written);
    sl_print_i64(out, "dropped", (int64_t)counts.dropped);
    sl_print_i64(out, "failed", (int64_t)counts.failed);
    sl_buffer_add(out, SL_TEXT("}"));
}
