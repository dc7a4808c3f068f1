/* Where counts live: a store that is asked over connections, and the embedded table. */
#include "server/metrics_own.h"

static const char *const call_ends[] = {
#define NAME(constant, name) [constant] = name,
    SL_CALL_ENDS(NAME)
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
#undef AT
};

static void print_health(struct sl_page *page, const struct sl_store_health *store)
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
}

static const struct sl_single of_table[] = {
#define AT(field) offsetof(struct sluice_stats, field)
    { "sluice_table_size_bytes", "gauge", "Size of the embedded table.", AT(size_bytes) },
    { "sluice_table_slots", "gauge", "Slots of the table; it is meant for half as many keys.",
      AT(slots) },
    { "sluice_table_live", "gauge", "Keys whose state still matters, logs aside.", AT(live) },
    { "sluice_table_limiting", "gauge", "Of all keys those that denied somebody.", AT(limiting) },
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

void sl_metrics_print_store(struct sl_page *page, const struct sl_metrics *metrics)
{
    if (metrics->has_store)
        print_health(page, &metrics->store);
    if (metrics->has_table)
        sl_page_singles(page, of_table, SL_COUNT_OF(of_table), &metrics->table);
}
