/* The page that Prometheus reads. */
#include "unit/server/on_page.h"

static struct model model;

TEST(its_first_families_are_as_written_here)
{
    struct sl_ruleset *rules = rules_of(two_rules);
    struct sl_metrics metrics = metrics_of(rules);
    model_open(&model);
    struct sl_limiter *limiter = sl_limiter_new(rules, &model.store);
    ask(limiter, "u", "/api", 5);
    ask(limiter, "u", "/try", 2);
    ask(limiter, "root", "/api", 1);
    sl_metrics_add(&metrics, limiter);
    char *page = print(&metrics);
    assert_lines(
        page,
        "# HELP sluice_build_info Always 1; the label tells the version.\n"
        "# TYPE sluice_build_info gauge\n"
        "sluice_build_info{version=\"1.2.3\"} 1\n"
        "# HELP sluice_decisions_total Decisions by reason and outcome; peeks are not counted.\n"
        "# TYPE sluice_decisions_total counter\n"
        "sluice_decisions_total{reason=\"ok\",outcome=\"allowed\"} 3\n"
        "sluice_decisions_total{reason=\"exempt\",outcome=\"allowed\"} 1\n"
        "sluice_decisions_total{reason=\"no_rule\",outcome=\"allowed\"} 1\n"
        "sluice_decisions_total{reason=\"rate_limit_exceeded\",outcome=\"denied\"} 2\n"
        "sluice_decisions_total{reason=\"burst_blocked\",outcome=\"denied\"} 0\n"
        "sluice_decisions_total{reason=\"cost_exceeds_limit\",outcome=\"denied\"} 0\n"
        "sluice_decisions_total{reason=\"missing_identity\",outcome=\"denied\"} 0\n"
        "sluice_decisions_total{reason=\"store_unavailable\",outcome=\"denied\"} 0\n"
        "sluice_decisions_total{reason=\"store_unavailable\",outcome=\"allowed\"} 0\n"
        "sluice_decisions_total{reason=\"shadow\",outcome=\"allowed\"} 1\n"
        "# HELP sluice_exemptions_used_total Requests that passed because their caller is exempt, "
        "or "
        "of an unlimited tier.\n"
        "# TYPE sluice_exemptions_used_total counter\n"
        "sluice_exemptions_used_total 1\n");
    assert_int_equal(strncmp(page, "# HELP sluice_build_info", 24), 0);
    free(page);
    sl_metrics_release(&metrics);
    sl_limiter_free(limiter);
    sl_ruleset_free(rules);
    model_close(&model.store);
}

TEST(the_server_s_own_figures_are_as_written_here)
{
    struct sl_ruleset *rules = rules_of("tiers: { pro: { scale: 2 } }\n"
                                        "rules: [{ name: a, per: user, limit: 1/s },\n"
                                        "        { name: b, per: user, limit: 1/s }]\n");
    struct sl_metrics metrics = metrics_of(rules);
    metrics.workers = 2;
    metrics.reloads = 4;
    metrics.failed_reloads = 3;
    metrics.start_time_s = 1700000000;
    char *page = print(&metrics);
    assert_lines(
        page, "# HELP sluice_rules Rules in force.\n"
              "# TYPE sluice_rules gauge\n"
              "sluice_rules 2\n"
              "# HELP sluice_tiers Tiers that the rules know.\n"
              "# TYPE sluice_tiers gauge\n"
              "sluice_tiers 1\n"
              "# HELP sluice_workers Threads that decide.\n"
              "# TYPE sluice_workers gauge\n"
              "sluice_workers 2\n"
              "# HELP sluice_start_time_seconds When the server started, in seconds since 1970.\n"
              "# TYPE sluice_start_time_seconds gauge\n"
              "sluice_start_time_seconds 1700000000\n"
              "# HELP sluice_reloads_total Reloads of the rules, by how they ended.\n"
              "# TYPE sluice_reloads_total counter\n"
              "sluice_reloads_total{result=\"ok\"} 4\n"
              "sluice_reloads_total{result=\"failed\"} 3\n");
    free(page);
    sl_metrics_release(&metrics);
    sl_ruleset_free(rules);
}

TEST(trust_is_told_as_a_histogram)
{
    struct sl_ruleset *rules = rules_of(two_rules);
    struct sl_metrics metrics = metrics_of(rules);
    metrics.trust[0] = 1;
    metrics.trust[4] = 2;
    metrics.trust[9] = 3;
    metrics.trust_thousandths = 4050;
    char *page = print(&metrics);
    assert_lines(page, "# TYPE sluice_trust_score histogram\n"
                       "sluice_trust_score_bucket{le=\"0.1\"} 1\n"
                       "sluice_trust_score_bucket{le=\"0.2\"} 1\n"
                       "sluice_trust_score_bucket{le=\"0.3\"} 1\n"
                       "sluice_trust_score_bucket{le=\"0.4\"} 1\n"
                       "sluice_trust_score_bucket{le=\"0.5\"} 3\n"
                       "sluice_trust_score_bucket{le=\"0.6\"} 3\n"
                       "sluice_trust_score_bucket{le=\"0.7\"} 3\n"
                       "sluice_trust_score_bucket{le=\"0.8\"} 3\n"
                       "sluice_trust_score_bucket{le=\"0.9\"} 3\n"
                       "sluice_trust_score_bucket{le=\"1\"} 6\n"
                       "sluice_trust_score_bucket{le=\"+Inf\"} 6\n"
                       "sluice_trust_score_sum 4.05\n"
                       "sluice_trust_score_count 6\n");
    free(page);
    sl_metrics_release(&metrics);
    sl_ruleset_free(rules);
}

TEST(the_process_is_told_by_the_names_that_all_use)
{
    static const struct sl_ruleset none;
    struct sl_metrics metrics = metrics_of(&none);
    metrics.process = (struct sl_process_figures){
        .resident_bytes = 1, .virtual_bytes = 2, .open_files = 3, .most_files = 4, .cpu_us = 1500000
    };
    metrics.start_time_s = 1700000000;
    char *page = print(&metrics);
    assert_line(page, "process_resident_memory_bytes 1");
    assert_line(page, "process_virtual_memory_bytes 2");
    assert_line(page, "process_open_fds 3");
    assert_line(page, "process_max_fds 4");
    assert_line(page, "process_cpu_seconds_total 1.5");
    assert_line(page, "process_start_time_seconds 1700000000");
    free(page);
    sl_metrics_release(&metrics);
}

TEST(families_are_told_once_and_are_contiguous)
{
    struct sl_ruleset *rules = rules_of(two_rules);
    struct sl_metrics metrics = metrics_of(rules);
    char *page = print(&metrics);
    assert_true(check_page(page) > 50);
    free(page);
    sl_metrics_release(&metrics);
    sl_ruleset_free(rules);
}

TEST(a_page_without_rules_is_a_page)
{
    static const struct sl_ruleset none;
    struct sl_metrics metrics = metrics_of(&none);
    char *page = print(&metrics);
    assert_line(page, "sluice_rules 0");
    assert_null(strstr(page, "rule=\""));
    check_page(page);
    free(page);
    sl_metrics_release(&metrics);
}

TEST(the_values_of_labels_are_escaped)
{
    struct sl_ruleset *rules = rules_of("rules: [{ name: a, per: user, limit: 1/s }]\n");
    struct sl_metrics metrics = metrics_of(rules);
    metrics.version = "\"1\\\n\"";
    metrics.rules[0].name = "\\"; /* no rules file can say that */
    metrics.rules[0].algorithm = "a\"b\nc";
    char *page = print(&metrics);
    assert_line(page, "sluice_build_info{version=\"\\\"1\\\\\\n\\\"\"} 1");
    assert_line(page, "sluice_rule_decisions_total{rule=\"\\\\\",algorithm=\"a\\\"b\\nc\","
                      "outcome=\"allowed\"} 0");
    check_page(page);
    free(page);
    sl_metrics_release(&metrics);
    sl_ruleset_free(rules);
}

TEST(what_several_limiters_counted_is_summed)
{
    struct sl_ruleset *rules = rules_of(two_rules);
    struct sl_metrics metrics = metrics_of(rules);
    model_open(&model);
    struct sl_limiter *limiters[3];
    for (int i = 0; i < 3; i++) {
        limiters[i] = sl_limiter_new(rules, &model.store);
        ask(limiters[i], "u", "/api", 2); /* three of these six pass */
        sl_metrics_add(&metrics, limiters[i]);
    }
    char *page = print(&metrics);
    assert_line(page, "sluice_decisions_total{reason=\"ok\",outcome=\"allowed\"} 3");
    assert_line(page,
                "sluice_decisions_total{reason=\"rate_limit_exceeded\",outcome=\"denied\"} 3");
    assert_line(page, "sluice_rule_decisions_total{rule=\"api\","
                      "algorithm=\"sliding_window_counter\",outcome=\"denied\"} 3");
    free(page);
    for (int i = 0; i < 3; i++)
        sl_limiter_free(limiters[i]);
    sl_metrics_release(&metrics);
    sl_ruleset_free(rules);
    model_close(&model.store);
}

/* A worker that has not gone over to the new rules yet. */
TEST(a_limiter_of_older_rules_counts_by_name)
{
    struct sl_ruleset *older = rules_of(two_rules);
    struct sl_ruleset *newer =
        rules_of("rules: [{ name: new, per: user, limit: 1/s },\n"
                 "        { name: try.it, resource: /try, per: user, limit: 1/m },\n"
                 "        { name: zz, per: user, limit: 1/s }]\n");
    struct sl_metrics metrics = metrics_of(newer);
    model_open(&model);
    struct sl_limiter *limiter = sl_limiter_new(older, &model.store);
    ask(limiter, "u", "/api", 2);
    ask(limiter, "u", "/try", 4);
    sl_metrics_add(&metrics, limiter);
    sl_metrics_add(&metrics, limiter);
    char *page = print(&metrics);
    assert_line(page, "sluice_rules 3");
    assert_line(page, "sluice_decisions_total{reason=\"ok\",outcome=\"allowed\"} 4");
#define LINE(rule, outcome)                                                                        \
    "sluice_rule_decisions_total{rule=\"" rule "\",algorithm=\"sliding_window_counter\",outcome="  \
    "\"" outcome "\"} "
    assert_line(page, LINE("new", "allowed") "0");
    assert_line(page, LINE("try.it", "allowed") "2");
    assert_line(page, LINE("try.it", "denied") "0");
    assert_line(page, LINE("try.it", "shadow_denied") "6"); /* it was one; that is not forgotten */
    assert_line(page, LINE("zz", "allowed") "0");
    assert_null(strstr(page, "rule=\"api\""));
    assert_null(strstr(page, "rule=\"zz\",algorithm=\"sliding_window_counter\",outcome=\"shadow"));
    check_page(page);
    free(page);
    sl_limiter_free(limiter);
    sl_metrics_release(&metrics);
    sl_ruleset_free(older);
    sl_ruleset_free(newer);
    model_close(&model.store);
}
