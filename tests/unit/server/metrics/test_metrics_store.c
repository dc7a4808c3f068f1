/* What the page says of where counts live. */
#include "unit/server/on_page.h"

TEST(a_store_that_is_asked_over_connections_has_families_of_its_own)
{
    struct sl_ruleset *rules = rules_of(two_rules);
    struct sl_metrics metrics = metrics_of(rules);
    char *page = print(&metrics);
    assert_null(strstr(page, "sluice_store"));
    free(page);
    metrics.has_store = true;
    metrics.answers[false] = 7;
    metrics.denials_held = 8;
    metrics.store = (struct sl_store_health){ .calls[SL_CALL_LATE] = 3,
                                              .errors[SL_REDIS_OTHER] = INT64_MAX,
                                              .breakers[SL_BREAKER_HALF_OPEN] = 1,
                                              .connects = 5,
                                              .failed_connects = 6,
                                              .trips = 2,
                                              .redirections[SL_REDIRECTION_ASK] = 7,
                                              .undos[SL_UNDO_UNSURE] = 8,
                                              .nodes = 3,
                                              .master_changes = 4 };
    page = print(&metrics);
    assert_line(page, "sluice_store_calls_total{result=\"ok\"} 0");
    assert_line(page, "sluice_store_calls_total{result=\"late\"} 3");
    assert_line(page, "sluice_store_errors_total{code=\"ERR\"} 9223372036854775807");
    assert_line(page, "sluice_store_breaker{state=\"closed\"} 0");
    assert_line(page, "sluice_store_breaker{state=\"half_open\"} 1");
    assert_line(page, "sluice_store_breaker_trips_total 2");
    assert_line(page, "sluice_store_connects_total 5");
    assert_line(page, "sluice_store_connects_failed_total 6");
    assert_line(page, "sluice_store_redirections_total{kind=\"moved\"} 0");
    assert_line(page, "sluice_store_redirections_total{kind=\"ask\"} 7");
    assert_line(page, "sluice_store_undos_total{result=\"done\"} 0");
    assert_line(page, "sluice_store_undos_total{result=\"unsure\"} 8");
    assert_line(page, "sluice_store_nodes 3");
    assert_line(page, "sluice_store_master_changes_total 4");
    assert_line(page, "sluice_decisions_from_memory_total{outcome=\"denied\"} 7");
    assert_line(page, "sluice_decisions_from_memory_total{outcome=\"allowed\"} 0");
    assert_line(page, "sluice_denials_held 8");
    check_page(page);
    free(page);
    sl_metrics_release(&metrics);
    sl_ruleset_free(rules);
}

TEST(a_table_has_families_of_its_own)
{
    struct sl_ruleset *rules = rules_of(two_rules);
    struct sl_metrics metrics = metrics_of(rules);
    char *page = print(&metrics);
    assert_null(strstr(page, "sluice_table"));
    free(page);
    metrics.has_table = true;
    metrics.table = (struct sluice_stats){ .size_bytes = 1,
                                           .slots = 2,
                                           .live = 3,
                                           .limiting = 4,
                                           .insertions = 5,
                                           .evictions = 6,
                                           .full = 7,
                                           .log_bytes = 8,
                                           .log_used_bytes = 9,
                                           .log_live = 10,
                                           .reservations = 11 };
    page = print(&metrics);
    assert_line(page, "sluice_table_size_bytes 1");
    assert_line(page, "sluice_table_slots 2");
    assert_line(page, "sluice_table_live 3");
    assert_line(page, "sluice_table_limiting 4");
    assert_line(page, "sluice_table_insertions_total 5");
    assert_line(page, "sluice_table_evictions_total 6");
    assert_line(page, "sluice_table_full_total 7");
    assert_line(page, "sluice_table_log_bytes 8");
    assert_line(page, "sluice_table_log_used_bytes 9");
    assert_line(page, "sluice_table_log_live 10");
    assert_line(page, "sluice_table_reservations 11");
    check_page(page);
    free(page);
    sl_metrics_release(&metrics);
    sl_ruleset_free(rules);
}
