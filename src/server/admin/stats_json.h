/* Statistics as JSON: see docs/observability.md. */
#ifndef SL_SERVER_ADMIN_STATS_JSON_H
#define SL_SERVER_ADMIN_STATS_JSON_H

#include "base/buffer.h"
#include "telemetry/rule_stats.h"

struct sl_stats_print {
    struct sl_buffer *out;
    const struct sl_rule_stats *record;
    int64_t now_s, wall_us;
    bool periods[SL_PERIOD_COUNT]; /* to print */
    bool has_series;
    bool is_watched; /* else only counts are known */
    size_t top;      /* at most, in each list */
};

/* Prints a member for each period of the query. */
void sl_stats_print_figure(const struct sl_stats_print *print, const struct sl_figure *figure);
void sl_stats_print_rule_figure(const struct sl_stats_print *print, const struct sl_detail *detail,
                                bool has_callers);

/* Prints members: how much of the limit was in use, and the top identifiers. */
void sl_stats_print_use(const struct sl_stats_print *print, const struct sl_detail *detail);
void sl_stats_print_tops(const struct sl_stats_print *print, const struct sl_detail *detail);

struct sl_server;

/* Prints members: the state of the store and the audit log. Implemented in stats_store.c. */
void sl_print_store_stats(struct sl_buffer *out, const struct sl_server *server);
void sl_print_replication_stats(struct sl_buffer *out, const struct sl_server *server);
void sl_print_audit_stats(struct sl_buffer *out, const struct sl_server *server);

/* Prints "name": "2026-11-16T12:00:00.123456Z" */
void sl_stats_print_time(struct sl_buffer *out, const char *name, int64_t at_us);

#endif
