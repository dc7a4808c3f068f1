/* Rules: what they said. */
#include "server/metrics_own.h"

static const char *const outcome_names[] = {
#define NAME(constant, name) [constant] = name,
    SL_OUTCOMES(NAME)
#undef NAME
};

/* A sample is there from the start, at 0, so that its first increase is seen; but not one that
 * cannot be, such as what a shadow rule denied. If that was counted all the same (the rule was
 * enforced before the last reload), it is shown: a counter must not vanish. */
static void print_outcomes(struct sl_page *page, const struct sl_metric_rule *rule)
{
    enum sl_outcome cannot_be = rule->shadow ? SL_OUTCOME_DENIED : SL_OUTCOME_SHADOW_DENIED;
    for (size_t i = 0; i < SL_OUTCOME_COUNT; i++) {
        if (i == cannot_be && !rule->counts[i])
            continue;
        sl_page_label(page, "rule", sl_text(rule->name));
        sl_page_label(page, "algorithm", sl_text(rule->algorithm));
        sl_page_label(page, "outcome", sl_text(outcome_names[i]));
        sl_page_number(page, rule->counts[i]);
    }
}

void sl_metrics_print_rules(struct sl_page *page, const struct sl_metrics *metrics)
{
    sl_page_family(page, "sluice_rule_decisions_total", "counter",
                   "What each rule said when it was asked, whatever the others said.");
    for (size_t i = 0; i < metrics->rule_count; i++)
        print_outcomes(page, &metrics->rules[i]);
}
