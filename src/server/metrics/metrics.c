/* Sums up the counts of all workers, and orders the page of metrics. A new family of one number is
 * a row of `singles`; others have a function here or in a metrics_X.c of their own. */
#include "server/metrics/metrics.h"

#include <stdlib.h>

#include "server/metrics/metrics_internal.h"
#include "wire/json/decision.h"

/* ---- summing up ---- */

bool sl_metrics_init(struct sl_metrics *metrics, const struct sl_ruleset *rules)
{
    *metrics = (struct sl_metrics){ .ruleset = rules,
                                    .rule_count = rules->rule_count,
                                    .tier_count = rules->tier_count };
    metrics->rules = calloc(rules->rule_count + 1, sizeof *metrics->rules);
    for (size_t i = 0; metrics->rules && i < rules->rule_count; i++)
        metrics->rules[i] = (struct sl_metric_rule){ .name = rules->rules[i].name,
                                                     .algorithm = rules->rules[i].algo->name,
                                                     .shadow = rules->rules[i].shadow };
    return metrics->rules;
}

void sl_metrics_set_workers(struct sl_metrics *metrics, size_t count)
{
    metrics->workers = count;
    metrics->by_worker = sl_arena_take(&metrics->arena, count * sizeof *metrics->by_worker);
}

void sl_metrics_release(struct sl_metrics *metrics)
{
    free(metrics->rules);
    metrics->rules = NULL;
    sl_arena_release(&metrics->arena);
}

static void index_rules(struct sl_metrics *metrics)
{
    for (size_t i = 0; i < metrics->rule_count; i++)
        sl_textmap_add(&metrics->arena, &metrics->places, 0, sl_text(metrics->rules[i].name),
                       (uint32_t)i + 1);
}

/* Returns the row for rule number `index` of those rules, or NULL. */
static struct sl_metric_rule *row_of(struct sl_metrics *metrics, const struct sl_ruleset *rules,
                                     size_t index)
{
    if (rules == metrics->ruleset)
        return &metrics->rules[index];
    if (!metrics->places.entries)
        index_rules(metrics);
    uint32_t place = sl_textmap_get(&metrics->places, 0, sl_text(rules->rules[index].name));
    return place ? &metrics->rules[place - 1] : NULL;
}

void sl_metrics_add(struct sl_metrics *metrics, const struct sl_limiter *limiter)
{
    const struct sl_counts *counts = sl_limiter_counts(limiter);
    for (size_t i = 0; i < SL_REASON_COUNT; i++)
        for (size_t k = 0; k < 2; k++)
            metrics->decisions[i][k] += sl_count_read(&counts->decisions[i][k]);
    for (size_t i = 0; i < SL_TRUST_TENTHS; i++)
        metrics->trust[i] += sl_count_read(&counts->trust[i]);
    metrics->trust_thousandths += sl_count_read(&counts->trust_thousandths);
    for (size_t i = 0; i < 2; i++)
        metrics->answers[i] += sl_count_read(&counts->answers[i]);
    for (size_t i = 0; i < counts->rules->rule_count; i++) {
        struct sl_metric_rule *row = row_of(metrics, counts->rules, i);
        for (size_t k = 0; row && k < SL_OUTCOME_COUNT; k++)
            row->counts[k] += sl_count_read(&counts->by_rule[i][k]);
    }
    for (size_t i = 0; i < SL_DIRECT_COUNT; i++)
        for (size_t k = 0; k < SL_OUTCOME_COUNT; k++)
            metrics->direct[i][k] +=
                sl_count_read(&counts->by_rule[counts->rules->rule_count + i][k]);
}

/* ---- printing ---- */

static void print_version(struct sl_metrics_page *page, const char *version)
{
    sl_page_family(page, "sluice_build_info", "gauge", "Always 1; the label tells the version.");
    sl_page_label(page, "version", sl_text(version));
    sl_page_number(page, 1);
}

/* Reasons that a decision can have: [reason][allowed]. */
static const bool can_be[SL_REASON_COUNT][2] = {
    [SLUICE_REASON_OK][true] = true,       [SLUICE_REASON_EXEMPT][true] = true,
    [SLUICE_REASON_NO_RULE][true] = true,  [SLUICE_REASON_LIMITED][false] = true,
    [SLUICE_REASON_COST][false] = true,    [SLUICE_REASON_BURST_BLOCKED][false] = true,
    [SLUICE_REASON_MISSING][false] = true, [SLUICE_REASON_STORE] = { true, true },
    [SLUICE_REASON_SHADOW][true] = true,
};

/* metrics_rules.c says which samples are printed. */
static void print_decisions(struct sl_metrics_page *page, const struct sl_metrics *metrics)
{
    sl_page_family(page, "sluice_decisions_total", "counter",
                   "Decisions by reason and outcome; peeks are not counted.");
    for (size_t i = 0; i < SL_REASON_COUNT; i++)
        for (size_t allowed = 0; allowed < 2; allowed++) {
            if (!can_be[i][allowed] && !metrics->decisions[i][allowed])
                continue;
            sl_page_label(page, "reason", sl_text(sl_reason_name((enum sluice_reason)i)));
            sl_page_label(page, "outcome", allowed ? SL_TEXT("allowed") : SL_TEXT("denied"));
            sl_page_number(page, metrics->decisions[i][allowed]);
        }
}

static void print_trust(struct sl_metrics_page *page, const struct sl_metrics *metrics)
{
    static const char *const bounds[SL_TRUST_TENTHS] = { "0.1", "0.2", "0.3", "0.4", "0.5",
                                                         "0.6", "0.7", "0.8", "0.9", "1" };
    sl_page_family(page, "sluice_trust_score", "histogram",
                   "Trust scores of requests that an adaptive rule was asked about.");
    sl_page_histogram(page, &(struct sl_page_buckets){ .bounds = bounds,
                                                       .bound_count = SL_TRUST_TENTHS,
                                                       .counts = metrics->trust,
                                                       .sum = metrics->trust_thousandths,
                                                       .sum_places = 3 });
}

static void print_exemptions(struct sl_metrics_page *page, const struct sl_metrics *metrics)
{
    const uint64_t *exempt = metrics->decisions[SLUICE_REASON_EXEMPT];
    sl_page_family(page, "sluice_exemptions_used_total", "counter",
                   "Requests that passed because their caller is exempt, or of an unlimited tier.");
    sl_page_number(page, exempt[false] + exempt[true]);
}

static void print_reloads(struct sl_metrics_page *page, const struct sl_metrics *metrics)
{
    sl_page_family(page, "sluice_reloads_total", "counter",
                   "Reloads of the rules, by how they ended.");
    sl_page_label(page, "result", SL_TEXT("ok"));
    sl_page_number(page, metrics->reloads);
    sl_page_label(page, "result", SL_TEXT("failed"));
    sl_page_number(page, metrics->failed_reloads);
}

static const struct sl_single singles[] = {
#define AT(field) offsetof(struct sl_metrics, field)
    { "sluice_rules", "gauge", "Rules in force.", AT(rule_count) },
    { "sluice_tiers", "gauge", "Tiers that the rules know.", AT(tier_count) },
    { "sluice_workers", "gauge", "Threads that decide.", AT(workers) },
    { "sluice_start_time_seconds", "gauge", "When the server started, in seconds since 1970.",
      AT(start_time_s) },
#undef AT
};

void sl_metrics_print(struct sl_buffer *out, const struct sl_metrics *metrics)
{
    struct sl_metrics_page page = { .out = out };
    print_version(&page, metrics->version);
    print_decisions(&page, metrics);
    print_exemptions(&page, metrics);
    print_trust(&page, metrics);
    sl_metrics_print_rules(&page, metrics);
    sl_page_singles(&page, singles, SL_COUNT_OF(singles), metrics);
    print_reloads(&page, metrics);
    sl_metrics_print_traffic(&page, metrics);
    sl_metrics_print_store(&page, metrics);
    sl_metrics_print_leases(&page, metrics);
    sl_metrics_print_replication(&page, metrics);
    sl_metrics_print_rule_stats(&page, metrics);
    sl_metrics_print_process(&page, metrics);
}
