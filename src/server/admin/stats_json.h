/* Figures as JSON: see docs/observability.md. */
#ifndef SL_SERVER_ADMIN_STATS_JSON_H
#define SL_SERVER_ADMIN_STATS_JSON_H

#include "base/buffer.h"
#include "telemetry/rule_stats.h"

struct sl_stats_print {
    struct sl_buffer *out;
    const struct sl_rule_stats *record;
    int64_t now_s, wall_us;
    bool periods[SL_PERIOD_COUNT]; /* which */
    bool has_series;
    bool is_watched; /* else there are counts alone */
    size_t top;      /* identifiers in each list */
};

/* A member for each period that was asked for. */
void sl_stats_print_figure(const struct sl_stats_print *print, const struct sl_figure *figure);
void sl_stats_print_rule_figure(const struct sl_stats_print *print, const struct sl_detail *detail,
                                bool has_callers);

/* Members: how much of the limit was in use, and who. */
void sl_stats_print_use(const struct sl_stats_print *print, const struct sl_detail *detail);
void sl_stats_print_tops(const struct sl_stats_print *print, const struct sl_detail *detail);

struct sl_server;

/* Members: how the store is doing, and the audit log. stats_store.c */
void sl_print_store_stats(struct sl_buffer *out, const struct sl_server *server);
void sl_print_replication_stats(struct sl_buffer *out, const struct sl_server *server);
void sl_print_audit_stats(struct sl_buffer *out, const struct sl_server *server);

/* "name": "2026-11-16T12:00:00.123456Z" */
void sl_stats_print_time(struct sl_buffer *out, const char *name, int64_t at_us);

#endif
