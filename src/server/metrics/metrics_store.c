/* Metrics of the store: one that is asked over connections, and the embedded table. */
#include "server/metrics/metrics_internal.h"

static const char *const call_ends[] = {
#define NAME(constant, name) [constant] = name,
    SL_CALL_ENDS(NAME)
#undef NAME
};

static const char *const redirections[] = {
#define NAME(constant, name) [constant] = name,
    SL_REDIRECTIONS(NAME)
#undef NAME
};

static const char *const undos[] = {
#define NAME(constant, name) [constant] = name,
    SL_UNDOS(NAME)
#undef NAME
};

static const char *const breakers[] = {
    [SL_BREAKER_CLOSED] = "closed", [SL_BREAKER_OPEN] = "open", [SL_BREAKER_HALF_OPEN] = "half_open"
};

static const struct sl_single of_health[] = {
#define AT(field) offsetof(struct sl_store_health, field)
    { "sluice_store_breaker_trips_total", "counter", "How often a breaker has opened.", AT(trips) },
    { "sluice_store_connects_total", "counter", "Connections to the store that were made.",
      AT(connects) },
    { "sluice_store_connects_failed_total", "counter",
      "Connections to the store that were not, or were lost too soon.", AT(failed_connects) },
    { "sluice_store_master_changes_total", "counter",
      "How often Sentinels have named another master.", AT(master_changes) },
    { "sluice_store_nodes", "gauge",
      "Masters of the Redis Cluster that have slots; a single Redis is one.", AT(nodes) },
#undef AT
};

/* Prints what only a cluster does, or does more often than one Redis. */
static void print_cluster(struct sl_metrics_page *page, const struct sl_store_health *store)
{
    sl_page_family(page, "sluice_store_redirections_total", "counter",
                   "Calls that a node of the Redis Cluster sent on, by how.");
    for (size_t i = 0; i < SL_REDIRECTION_COUNT; i++) {
        sl_page_label(page, "kind", sl_text(redirections[i]));
        sl_page_number(page, store->redirections[i]);
    }
    sl_page_family(page, "sluice_store_undos_total", "counter",
                   "Charges taken back because another slot denied or failed, or changed when "
                   "a reservation was settled, by how that ended; all but done are lost until "
                   "they drain.");
    for (size_t i = 0; i < SL_UNDO_COUNT; i++) {
        sl_page_label(page, "result", sl_text(undos[i]));
        sl_page_number(page, store->undos[i]);
    }
}

static void print_health(struct sl_metrics_page *page, const struct sl_store_health *store)
{
    sl_page_family(page, "sluice_store_calls_total", "counter",
                   "Calls of the store, by how they ended; all but ok were answered by "
                   "on_store_failure.");
    for (size_t i = 0; i < SL_CALL_END_COUNT; i++) {
        sl_page_label(page, "result", sl_text(call_ends[i]));
        sl_page_number(page, store->calls[i]);
    }
    sl_page_family(page, "sluice_store_errors_total", "counter", "Errors of Redis, by their code.");
    for (size_t i = 0; i < SL_REDIS_ERROR_COUNT; i++) {
        sl_page_label(page, "code", sl_text(sl_redis_meanings[i].code));
        sl_page_number(page, store->errors[i]);
    }
    sl_page_family(page, "sluice_store_breaker", "gauge",
                   "Connections to the store whose circuit breaker is in this state now.");
    for (size_t i = 0; i < SL_BREAKER_COUNT; i++) {
        sl_page_label(page, "state", sl_text(breakers[i]));
        sl_page_number(page, store->breakers[i]);
    }
    sl_page_singles(page, of_health, SL_COUNT_OF(of_health), store);
    print_cluster(page, store);
}

static void print_caches(struct sl_metrics_page *page, const struct sl_metrics *metrics)
{
    sl_page_family(page, "sluice_decisions_from_memory_total", "counter",
                   "Of all decisions those that the store was not asked for, because what it would "
                   "say was known.");
    for (size_t allowed = 0; allowed < 2; allowed++) {
        sl_page_label(page, "outcome", allowed ? SL_TEXT("allowed") : SL_TEXT("denied"));
        sl_page_number(page, metrics->answers[allowed]);
    }
    sl_page_family(page, "sluice_denials_held", "gauge",
                   "Claims that were denied a moment ago, and are denied again from memory.");
    sl_page_number(page, metrics->denials_held);
}

static const struct sl_single of_table[] = {
#define AT(field) offsetof(struct sluice_stats, field)
    { "sluice_table_size_bytes", "gauge", "Size of the embedded table.", AT(size_bytes) },
    { "sluice_table_slots", "gauge", "Slots of the table; it is meant for half as many keys.",
      AT(slots) },
    { "sluice_table_live", "gauge", "Keys whose state still matters, logs aside.", AT(live) },
    { "sluice_table_limiting", "gauge", "Live keys that have denied a request.", AT(limiting) },
    { "sluice_table_insertions_total", "counter", "Keys put in, since the table was created.",
      AT(insertions) },
    { "sluice_table_evictions_total", "counter", "States given up that still mattered.",
      AT(evictions) },
    { "sluice_table_full_total", "counter",
      "Answers that failed because only limiting states were left.", AT(full) },
    { "sluice_table_log_bytes", "gauge", "The table's area for sliding window logs.",
      AT(log_bytes) },
    { "sluice_table_log_used_bytes", "gauge", "How much of that area belongs to logs.",
      AT(log_used_bytes) },
    { "sluice_table_log_live", "gauge", "Keys with a log that still matters.", AT(log_live) },
    { "sluice_table_reservations", "gauge", "Reservations that are held, or a few more.",
      AT(reservations) },
#undef AT
};

void sl_metrics_print_store(struct sl_metrics_page *page, const struct sl_metrics *metrics)
{
    if (metrics->has_store) {
        print_health(page, &metrics->store);
        print_caches(page, metrics);
    }
    if (metrics->has_table)
        sl_page_singles(page, of_table, SL_COUNT_OF(of_table), &metrics->table);
}
