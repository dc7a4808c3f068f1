/* A family is a `# HELP` and a `# TYPE` line and, right behind them, its samples.
 *
 * A sample is there from the start, at 0, so that its first increase is seen; but
 * not those that cannot be, such as what a shadow rule denied. If one of these was
 * counted all the same (the rule was enforced before the last reload), it is shown:
 * a counter must not vanish. */
#include "server/metrics.h"

#include <stdlib.h>

#include "wire/json_decision.h"

/* ---- summing up ---- */

bool sl_metrics_init(struct sl_metrics *metrics, const struct sl_ruleset *rules)
{
    *metrics = (struct sl_metrics){ .ruleset = rules, .rule_count = rules->rule_count };
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

static void know_places(struct sl_metrics *metrics)
{
    for (size_t i = 0; i < metrics->rule_count; i++)
        sl_textmap_add(&metrics->arena, &metrics->places, 0, sl_text(metrics->rules[i].name),
                       (uint32_t)i + 1);
}

/* The row for rule number `index` of those rules, or NULL. */
static struct sl_metric_rule *row_of(struct sl_metrics *metrics, const struct sl_ruleset *rules,
                                     size_t index)
{
    if (rules == metrics->ruleset)
        return &metrics->rules[index];
    if (!metrics->places.entries)
        know_places(metrics);
    uint32_t place = sl_textmap_get(&metrics->places, 0, sl_text(rules->rules[index].name));
    return place ? &metrics->rules[place - 1] : NULL;
}

void sl_metrics_add(struct sl_metrics *metrics, const struct sl_limiter *limiter)
{
    const struct sl_counts *counts = sl_limiter_counts(limiter);
    for (size_t i = 0; i < SL_REASON_COUNT; i++)
        for (size_t k = 0; k < 2; k++)
            metrics->decisions[i][k] += sl_count_read(&counts->decisions[i][k]);
    for (size_t i = 0; i < counts->rules->rule_count; i++) {
        struct sl_metric_rule *row = row_of(metrics, counts->rules, i);
        for (size_t k = 0; row && k < SL_OUTCOME_COUNT; k++)
            row->counts[k] += sl_count_read(&counts->by_rule[i][k]);
    }
}

/* ---- printing ---- */

static void start_family(struct sl_buffer *out, const char *name, const char *type,
                         const char *help)
{
    sl_buffer_add(out, SL_TEXT("# HELP "));
    sl_buffer_add(out, sl_text(name));
    sl_buffer_add(out, SL_TEXT(" "));
    sl_buffer_add(out, sl_text(help));
    sl_buffer_add(out, SL_TEXT("\n# TYPE "));
    sl_buffer_add(out, sl_text(name));
    sl_buffer_add(out, SL_TEXT(" "));
    sl_buffer_add(out, sl_text(type));
    sl_buffer_add(out, SL_TEXT("\n"));
}

/* A label's value, between its quotes. */
static void add_value(struct sl_buffer *out, const char *value)
{
    for (size_t plain; *value; value += plain + (value[plain] != 0)) {
        plain = strcspn(value, "\\\"\n");
        sl_buffer_add(out, (struct sluice_text){ value, plain });
        if (value[plain] == '\n')
            sl_buffer_add(out, SL_TEXT("\\n"));
        else if (value[plain])
            sl_buffer_add(out, (struct sluice_text){ (char[]){ '\\', value[plain] }, 2 });
    }
}

static void end_sample(struct sl_buffer *out, uint64_t value)
{
    sl_buffer_add(out, SL_TEXT("\"} "));
    sl_buffer_add_i64(out, (int64_t)value);
    sl_buffer_add(out, SL_TEXT("\n"));
}

static void print_version(struct sl_buffer *out, const char *version)
{
    start_family(out, "sluice_build_info", "gauge", "Always 1; the label tells the version.");
    sl_buffer_add(out, SL_TEXT("sluice_build_info{version=\""));
    add_value(out, version);
    end_sample(out, 1);
}

/* Reasons that a decision can have: [reason][allowed]. */
static const bool can_be[SL_REASON_COUNT][2] = {
    [SLUICE_REASON_OK][true] = true,       [SLUICE_REASON_EXEMPT][true] = true,
    [SLUICE_REASON_NO_RULE][true] = true,  [SLUICE_REASON_LIMITED][false] = true,
    [SLUICE_REASON_COST][false] = true,    [SLUICE_REASON_BURST_BLOCKED][false] = true,
    [SLUICE_REASON_MISSING][false] = true, [SLUICE_REASON_STORE] = { true, true },
    [SLUICE_REASON_SHADOW][true] = true,
};

static void print_decisions(struct sl_buffer *out, const struct sl_metrics *metrics)
{
    start_family(out, "sluice_decisions_total", "counter",
                 "Decisions by reason and outcome; peeks are not counted.");
    for (size_t i = 0; i < SL_REASON_COUNT; i++)
        for (size_t allowed = 0; allowed < 2; allowed++) {
            if (!can_be[i][allowed] && !metrics->decisions[i][allowed])
                continue;
            sl_buffer_add(out, SL_TEXT("sluice_decisions_total{reason=\""));
            add_value(out, sl_reason_name((enum sluice_reason)i));
            sl_buffer_add(out, SL_TEXT("\",outcome=\""));
            sl_buffer_add(out, allowed ? SL_TEXT("allowed") : SL_TEXT("denied"));
            end_sample(out, metrics->decisions[i][allowed]);
        }
}

static const char *const outcome_names[] = {
#define NAME(constant, name) [constant] = name,
    SL_OUTCOMES(NAME)
#undef NAME
};

static void print_rule(struct sl_buffer *out, const struct sl_metric_rule *rule)
{
    enum sl_outcome cannot_be = rule->shadow ? SL_OUTCOME_DENIED : SL_OUTCOME_SHADOW_DENIED;
    for (size_t i = 0; i < SL_OUTCOME_COUNT; i++) {
        if (i == cannot_be && !rule->counts[i])
            continue;
        sl_buffer_add(out, SL_TEXT("sluice_rule_decisions_total{rule=\""));
        add_value(out, rule->name);
        sl_buffer_add(out, SL_TEXT("\",algorithm=\""));
        add_value(out, rule->algorithm);
        sl_buffer_add(out, SL_TEXT("\",outcome=\""));
        add_value(out, outcome_names[i]);
        end_sample(out, rule->counts[i]);
    }
}

static void print_rules(struct sl_buffer *out, const struct sl_metrics *metrics)
{
    start_family(out, "sluice_rule_decisions_total", "counter",
                 "What each rule said when it was asked, whatever the others said.");
    for (size_t i = 0; i < metrics->rule_count; i++)
        print_rule(out, &metrics->rules[i]);
}

static void print_reloads(struct sl_buffer *out, const struct sl_metrics *metrics)
{
    start_family(out, "sluice_reloads_total", "counter",
                 "Reloads of the rules, by how they ended.");
    sl_buffer_add(out, SL_TEXT("sluice_reloads_total{result=\"ok"));
    end_sample(out, metrics->reloads);
    sl_buffer_add(out, SL_TEXT("sluice_reloads_total{result=\"failed"));
    end_sample(out, metrics->failed_reloads);
}

static void print_by_worker(struct sl_buffer *out, const struct sl_metrics *metrics)
{
    if (!metrics->by_worker)
        return;
    start_family(out, "sluice_worker_connections", "gauge",
                 "Connections open now, by the thread that serves them.");
    for (size_t i = 0; i < metrics->workers; i++) {
        sl_buffer_add(out, SL_TEXT("sluice_worker_connections{worker=\""));
        sl_buffer_add_i64(out, (int64_t)i);
        end_sample(out, metrics->by_worker[i]);
    }
}

/* One number each. */
static const struct single {
    const char *name, *type, *help;
    size_t offset;
} singles[] = {
#define AT(field) offsetof(struct sl_metrics, field)
    { "sluice_connections", "gauge", "Connections open now.", AT(connections) },
    { "sluice_connections_accepted_total", "counter", "Connections accepted.", AT(accepted) },
    { "sluice_connections_refused_total", "counter",
      "Connections refused because there were too many.", AT(refused) },
    { "sluice_rules", "gauge", "Rules in force.", AT(rule_count) },
    { "sluice_workers", "gauge", "Threads that decide.", AT(workers) },
    { "sluice_start_time_seconds", "gauge", "When the server started, in seconds since 1970.",
      AT(start_time_s) },
#undef AT
};

static void print_number(struct sl_buffer *out, const char *name, uint64_t number)
{
    sl_buffer_add(out, sl_text(name));
    sl_buffer_add(out, SL_TEXT(" "));
    sl_buffer_add_i64(out, (int64_t)number);
    sl_buffer_add(out, SL_TEXT("\n"));
}

static void print_single(struct sl_buffer *out, const struct single *single,
                         const struct sl_metrics *metrics)
{
    start_family(out, single->name, single->type, single->help);
    print_number(out, single->name, *(const uint64_t *)((const char *)metrics + single->offset));
}

/* ---- the store ---- */

static const char *const call_ends[] = {
#define NAME(constant, name) [constant] = name,
    SL_CALL_ENDS(NAME)
#undef NAME
};

static const char *const breakers[] = {
    [SL_BREAKER_CLOSED] = "closed", [SL_BREAKER_OPEN] = "open", [SL_BREAKER_HALF_OPEN] = "half_open"
};

static void print_labelled(struct sl_buffer *out, const char *start, const char *value,
                           uint64_t number)
{
    sl_buffer_add(out, sl_text(start));
    add_value(out, value);
    end_sample(out, number);
}

static void print_store(struct sl_buffer *out, const struct sl_store_health *store)
{
    start_family(out, "sluice_store_calls_total", "counter",
                 "Calls of the store, by how they ended; all but ok were answered by "
                 "on_store_failure.");
    for (size_t i = 0; i < SL_CALL_END_COUNT; i++)
        print_labelled(out, "sluice_store_calls_total{result=\"", call_ends[i], store->calls[i]);
    start_family(out, "sluice_store_errors_total", "counter", "Errors of Redis, by their code.");
    for (size_t i = 0; i < SL_REDIS_ERROR_COUNT; i++)
        print_labelled(out, "sluice_store_errors_total{code=\"", sl_redis_meanings[i].code,
                       store->errors[i]);
    start_family(out, "sluice_store_breaker", "gauge",
                 "Connections to the store whose circuit breaker is in this state now.");
    for (size_t i = 0; i < SL_BREAKER_COUNT; i++)
        print_labelled(out, "sluice_store_breaker{state=\"", breakers[i], store->breakers[i]);
    start_family(out, "sluice_store_breaker_trips_total", "counter",
                 "How often a breaker has opened.");
    print_number(out, "sluice_store_breaker_trips_total", store->trips);
    start_family(out, "sluice_store_connects_total", "counter",
                 "Connections to the store that were made.");
    print_number(out, "sluice_store_connects_total", store->connects);
    start_family(out, "sluice_store_connects_failed_total", "counter",
                 "Connections to the store that were not, or were lost too soon.");
    print_number(out, "sluice_store_connects_failed_total", store->failed_connects);
}

void sl_metrics_print(struct sl_buffer *out, const struct sl_metrics *metrics)
{
    print_version(out, metrics->version);
    print_decisions(out, metrics);
    print_rules(out, metrics);
    for (size_t i = 0; i < sizeof singles / sizeof *singles; i++)
        print_single(out, &singles[i], metrics);
    print_by_worker(out, metrics);
    print_reloads(out, metrics);
    if (metrics->has_store)
        print_store(out, &metrics->store);
}
