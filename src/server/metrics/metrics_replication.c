/* Metrics of replication: how far this instance is, and how its changes ended. */
#include "server/metrics/metrics_internal.h"
#include "store/redis/channel.h"

static const char *const log_names[SL_LOG_COUNT] = { "rules", "users" };

/* The families of one number each, with their current values. */
struct now {
    uint64_t applied, conflicts, failures, is_refused;
};

static const struct sl_single singles[] = {
#define AT(field) offsetof(struct now, field)
    { "sluice_spread_applied_total", "counter", "Rows that other instances had changed.",
      AT(applied) },
    { "sluice_spread_conflicts_total", "counter",
      "Changes that were done again because another instance was faster.", AT(conflicts) },
    { "sluice_spread_failures_total", "counter", "Looks at the shared registry that failed.",
      AT(failures) },
    { "sluice_spread_refused", "gauge",
      "1: what the shared registry holds does not go together with the rules file here.",
      AT(is_refused) },
#undef AT
};

static void print_versions(struct sl_metrics_page *page,
                           const struct sl_replication_figures *figures)
{
    sl_page_family(page, "sluice_spread_version", "gauge",
                   "The version of the shared registry that is known here, by its log.");
    for (size_t i = 0; i < SL_LOG_COUNT; i++) {
        sl_page_label(page, "log", sl_text(log_names[i]));
        sl_page_number(page, atomic_load(&figures->versions[i]));
    }
}

void sl_metrics_print_replication(struct sl_metrics_page *page, const struct sl_metrics *metrics)
{
    const struct sl_replication_figures *figures = metrics->spread;
    if (!figures)
        return;
    int64_t looked_us = atomic_load(&figures->looked_us);
    struct now now = { atomic_load(&figures->applied), atomic_load(&figures->conflicts),
                       atomic_load(&figures->failures), atomic_load(&figures->is_refused) };
    print_versions(page, figures);
    if (looked_us) {
        sl_page_family(page, "sluice_spread_age_seconds", "gauge",
                       "How long ago the shared registry was last looked at.");
        sl_page_decimal(page, (uint64_t)(sl_link_now_us() - looked_us), 6);
    }
    sl_page_singles(page, singles, SL_COUNT_OF(singles), &now);
}
