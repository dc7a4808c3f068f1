/* Where counts live: a store that is asked over connections. */
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

void sl_metrics_print_store(struct sl_page *page, const struct sl_metrics *metrics)
{
    if (metrics->has_store)
        print_health(page, &metrics->store);
}
