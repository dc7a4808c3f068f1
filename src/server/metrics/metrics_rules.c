/* Metrics of rules: their settings, and their outcomes.
 *
 * sluice_rule_info has everything about a rule that is not a number, so that the other families
 * need the rule's name alone and a query joins what it wants to group by:
 *
 *   sum by (resource) (rate(sluice_rule_decisions_total[5m])
 *                      * on (rule) group_left (resource) sluice_rule_info) */
#include "rules/numbers.h"
#include "server/metrics/metrics_internal.h"

/* ---- settings ---- */

/* Prints `user`, or `ip,user`. */
static void print_per(struct sl_metrics_page *page, const struct sl_rule *rule)
{
    char text[2048];
    size_t len = 0;
    for (size_t i = 0; i < rule->per_count; i++) {
        struct sluice_text name = rule->per[i].name;
        if (len + name.len + 1 > sizeof text)
            break;
        if (i)
            text[len++] = ',';
        memcpy(text + len, name.at, name.len);
        len += name.len;
    }
    sl_page_label(page, "per", (struct sluice_text){ text, len });
}

static void print_info(struct sl_metrics_page *page, const struct sl_rule *rule)
{
    sl_page_label(page, "rule", sl_text(rule->name));
    sl_page_label(page, "algorithm", sl_text(rule->algo->name));
    print_per(page, rule);
    sl_page_label(page, "resource", rule->any_resource ? SL_TEXT("*") : rule->resource.text);
    sl_page_label(page, "shadow", rule->shadow ? SL_TEXT("true") : SL_TEXT("false"));
    sl_page_number(page, 1);
}

static void print_limit(struct sl_metrics_page *page, const struct sl_rule *rule)
{
    sl_page_label(page, "rule", sl_text(rule->name));
    sl_page_number(page, (uint64_t)rule->numbers[0].limit.capacity);
}

static void print_window(struct sl_metrics_page *page, const struct sl_rule *rule)
{
    sl_page_label(page, "rule", sl_text(rule->name));
    sl_page_decimal(page, (uint64_t)rule->numbers[0].limit.told_us, 6);
}

static void print_refill(struct sl_metrics_page *page, const struct sl_rule *rule)
{
    struct sl_buffer text = sl_buffer(64);
    if (!rule->algo->is_bucket)
        return;
    sl_numbers_print_rate(&rule->numbers[0], &text);
    sl_page_label(page, "rule", sl_text(rule->name));
    sl_page_text(page, (struct sluice_text){ text.at, text.len });
    sl_buffer_release(&text);
}

static const struct of_rule {
    const char *name, *help;
    void (*print)(struct sl_metrics_page *page, const struct sl_rule *rule);
} families[] = {
    { "sluice_rule_info", "Always 1; the labels tell what a rule is; resource * is every one.",
      print_info },
    { "sluice_rule_limit", "The rule's limit without a tier and without trust, burst included.",
      print_limit },
    { "sluice_rule_window_seconds", "The rule's window, or how long its bucket takes to fill.",
      print_window },
    { "sluice_rule_refill_per_second", "What a bucket gets back each second, without a tier.",
      print_refill },
};

static void print_families(struct sl_metrics_page *page, const struct sl_ruleset *rules)
{
    for (const struct of_rule *family = families; family < families + SL_COUNT_OF(families);
         family++) {
        sl_page_family(page, family->name, "gauge", family->help);
        for (size_t i = 0; i < rules->rule_count; i++)
            family->print(page, &rules->rules[i]);
    }
}

/* ---- outcomes ---- */

static const char *const outcome_names[] = {
#define NAME(constant, name) [constant] = name,
    SL_OUTCOMES(NAME)
#undef NAME
};

/* Prints samples from the start, at 0, so that the first increase is seen; but not impossible ones,
 * such as denials of a shadow rule. If there are counts all the same (the rule was enforced before
 * the last reload), they are printed: a counter must not vanish. */
static void print_outcomes(struct sl_metrics_page *page, const struct sl_metric_rule *rule)
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

/* Limits that requests bring are never shadow. */
static void print_direct(struct sl_metrics_page *page, const struct sl_metrics *metrics)
{
    static const char *const kinds[] = { "bucket", "window" };
    sl_page_family(page, "sluice_direct_decisions_total", "counter",
                   "What limits said that requests brought along: a bucket is CL.THROTTLE's, a "
                   "window the limit in a descriptor of Envoy's.");
    for (size_t kind = 0; kind < SL_DIRECT_COUNT; kind++)
        for (size_t i = 0; i < SL_OUTCOME_COUNT; i++) {
            if (i == SL_OUTCOME_SHADOW_DENIED)
                continue;
            sl_page_label(page, "kind", sl_text(kinds[kind]));
            sl_page_label(page, "outcome", sl_text(outcome_names[i]));
            sl_page_number(page, metrics->direct[kind][i]);
        }
}

void sl_metrics_print_rules(struct sl_metrics_page *page, const struct sl_metrics *metrics)
{
    print_families(page, metrics->ruleset);
    sl_page_family(page, "sluice_rule_decisions_total", "counter",
                   "What each rule said when it was asked, whatever the others said.");
    for (size_t i = 0; i < metrics->rule_count; i++)
        print_outcomes(page, &metrics->rules[i]);
    print_direct(page, metrics);
}
