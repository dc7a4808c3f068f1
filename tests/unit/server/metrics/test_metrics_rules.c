/* What the page says of rules. */
#include "unit/server/on_page.h"

static struct model model;

TEST(what_a_rule_said_is_as_written_here)
{
    struct sl_ruleset *rules = rules_of(two_rules);
    struct sl_metrics metrics = metrics_of(rules);
    model_open(&model);
    struct sl_limiter *limiter = sl_limiter_new(rules, &model.store);
    ask(limiter, "u", "/api", 5);
    ask(limiter, "u", "/try", 2);
    sl_metrics_add(&metrics, limiter);
    char *page = print(&metrics);
    assert_lines(
        page,
        "# HELP sluice_rule_decisions_total What each rule said when it was asked, whatever the "
        "others said.\n"
        "# TYPE sluice_rule_decisions_total counter\n"
        "sluice_rule_decisions_total{rule=\"api\",algorithm=\"sliding_window_counter\","
        "outcome=\"allowed\"} 3\n"
        "sluice_rule_decisions_total{rule=\"api\",algorithm=\"sliding_window_counter\","
        "outcome=\"denied\"} 2\n"
        "sluice_rule_decisions_total{rule=\"api\",algorithm=\"sliding_window_counter\","
        "outcome=\"store_failed\"} 0\n"
        "sluice_rule_decisions_total{rule=\"try.it\",algorithm=\"fixed_window\","
        "outcome=\"allowed\"} 1\n"
        "sluice_rule_decisions_total{rule=\"try.it\",algorithm=\"fixed_window\","
        "outcome=\"shadow_denied\"} 1\n"
        "sluice_rule_decisions_total{rule=\"try.it\",algorithm=\"fixed_window\","
        "outcome=\"store_failed\"} 0\n");
    free(page);
    sl_metrics_release(&metrics);
    sl_limiter_free(limiter);
    sl_ruleset_free(rules);
    model_close(&model.store);
}

TEST(limits_that_requests_bring_are_told_by_their_kind)
{
    struct sl_ruleset *rules = rules_of(two_rules);
    struct sl_metrics metrics = metrics_of(rules);
    model_open(&model);
    struct sl_limiter *limiter = sl_limiter_new(rules, &model.store);
    struct sl_direct window;
    assert_true(sl_direct_window(2, 1000000, &window));
    struct sluice_attribute key = { SL_TEXT(SL_DIRECT_KEY), SL_TEXT("k") };
    struct sluice_request request = sluice_request();
    request.others = &key;
    request.other_count = 1;
    struct sl_request_options options = { .direct = &window };
    struct sluice_decision decision;
    for (int i = 0; i < 3; i++)
        sl_limiter_decide_with_options(limiter,
                                       &(struct sl_batch_in){ &request, &options, 1, &decision });
    sl_metrics_add(&metrics, limiter);
    char *page = print(&metrics);
    assert_lines(page, "# TYPE sluice_direct_decisions_total counter\n"
                       "sluice_direct_decisions_total{kind=\"bucket\",outcome=\"allowed\"} 0\n"
                       "sluice_direct_decisions_total{kind=\"bucket\",outcome=\"denied\"} 0\n"
                       "sluice_direct_decisions_total{kind=\"bucket\",outcome=\"store_failed\"} 0\n"
                       "sluice_direct_decisions_total{kind=\"window\",outcome=\"allowed\"} 2\n"
                       "sluice_direct_decisions_total{kind=\"window\",outcome=\"denied\"} 1\n");
    free(page);
    sl_metrics_release(&metrics);
    sl_limiter_free(limiter);
    sl_ruleset_free(rules);
    model_close(&model.store);
}

static const char many_rules[] =
    "tiers: { pro: { scale: 10 } }\n"
    "rules: [{ name: all, per: global, algorithm: fixed_window, limit: 500/500ms },\n"
    "        { name: login, resource: '/lo\"g\\in', per: [ip, user], limit: 5/15m,\n"
    "          algorithm: sliding_window_log, shadow: true },\n"
    "        { name: api, resource: /api/*, per: user, algorithm: token_bucket, capacity: 100,\n"
    "          refill_rate: 0.083, burst_allowance: 1.5, adaptive: true },\n"
    "        { name: third, per: team, algorithm: leaky_bucket, capacity: 1, window: 3s }]\n";

TEST(what_a_rule_is_is_as_written_here)
{
    struct sl_ruleset *rules = rules_of(many_rules);
    struct sl_metrics metrics = metrics_of(rules);
    char *page = print(&metrics);
    assert_lines(page, "# TYPE sluice_rule_info gauge\n"
                       "sluice_rule_info{rule=\"all\",algorithm=\"fixed_window\",per=\"global\","
                       "resource=\"*\",shadow=\"false\"} 1\n"
                       "sluice_rule_info{rule=\"login\",algorithm=\"sliding_window_log\","
                       "per=\"ip,user\",resource=\"/lo\\\"g\\\\in\",shadow=\"true\"} 1\n"
                       "sluice_rule_info{rule=\"api\",algorithm=\"token_bucket\",per=\"user\","
                       "resource=\"/api/*\",shadow=\"false\"} 1\n"
                       "sluice_rule_info{rule=\"third\",algorithm=\"leaky_bucket\",per=\"team\","
                       "resource=\"*\",shadow=\"false\"} 1\n");
    assert_lines(page, "# TYPE sluice_rule_limit gauge\n"
                       "sluice_rule_limit{rule=\"all\"} 500\n"
                       "sluice_rule_limit{rule=\"login\"} 5\n"
                       "sluice_rule_limit{rule=\"api\"} 150\n"
                       "sluice_rule_limit{rule=\"third\"} 1\n");
    assert_lines(page, "# TYPE sluice_rule_window_seconds gauge\n"
                       "sluice_rule_window_seconds{rule=\"all\"} 0.5\n"
                       "sluice_rule_window_seconds{rule=\"login\"} 900\n"
                       "sluice_rule_window_seconds{rule=\"api\"} 1807.228916\n"
                       "sluice_rule_window_seconds{rule=\"third\"} 3\n");
    assert_lines(page, "# TYPE sluice_rule_refill_per_second gauge\n"
                       "sluice_rule_refill_per_second{rule=\"api\"} 0.083\n"
                       "sluice_rule_refill_per_second{rule=\"third\"} 0.333333333333333\n"
                       "# HELP");
    check_page(page);
    free(page);
    sl_metrics_release(&metrics);
    sl_ruleset_free(rules);
}
