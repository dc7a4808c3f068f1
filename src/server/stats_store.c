/* How the store is doing, as a member of /v1/stats. */
#include "rules/store_url.h"
#include "server/admin_json.h"
#include "server/stats_json.h"
#include "server/store_watch.h"
#include "store/channel.h"

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

/* Of Redis it is the one that decides while Redis does not. */
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
    }
    print_table(out, server);
    sl_buffer_add(out, SL_TEXT("}"));
}

void sl_print_spread_stats(struct sl_buffer *out, const struct sl_server *server)
{
    const struct sl_spread_figures *figures = &server->spread;
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
