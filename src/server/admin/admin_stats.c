/* /v1/stats: statistics of the last minute, hour and day, with the top callers. */
#include <stdlib.h>

#include "base/clock.h"
#include "rules/index.h"
#include "server/admin/stats_json.h"
#include "server/control/admin_json.h"

enum { TOP_DEFAULT = 10, RULES_DEFAULT = 1000, RULES_MAX = 100000 };

/* ---- reading the query ---- */

struct stats_query {
    struct sl_stats_print print;
    const char *rule; /* only this rule; or NULL */
    size_t limit;
};

static bool read_count(struct sl_job *job, const char *name, size_t most, size_t *out)
{
    const char *text = sl_job_query(job, name);
    char *end;
    if (!text)
        return true;
    unsigned long long number = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || number > most)
        return sl_job_refuse(job, 422, "`%s` is a number from 0 to %zu", name, most);
    *out = (size_t)number;
    return true;
}

static bool read_window(struct sl_job *job, struct sl_stats_print *print)
{
    const char *window = sl_job_query(job, "window");
    bool found = false;
    for (size_t i = 0; i < SL_PERIOD_COUNT; i++) {
        print->periods[i] = !window || strcmp(window, sl_period_forms[i].name) == 0;
        found |= print->periods[i];
    }
    return found || sl_job_refuse(job, 422, "`window` is `minute`, `hour` or `day`");
}

static bool read_series(struct sl_job *job, struct sl_stats_print *print)
{
    const char *series = sl_job_query(job, "series");
    if (series && strcmp(series, "true") != 0 && strcmp(series, "false") != 0)
        return sl_job_refuse(job, 422, "`series` is `true` or `false`");
    print->has_series = series && strcmp(series, "true") == 0;
    return true;
}

static bool read_query(struct sl_control *control, struct sl_job *job, struct stats_query *query)
{
    static const char *const parameters[] = { "window", "series", "rule", "top", "limit", NULL };
    *query = (struct stats_query){ .limit = RULES_DEFAULT, .print.top = TOP_DEFAULT };
    if (!sl_job_check_query(job, parameters))
        return false;
    query->rule = sl_job_query(job, "rule");
    if (query->rule && !sl_ruleset_rule(sl_control_rules(control), query->rule))
        return sl_job_refuse(job, 404, "there is no rule `%s`", query->rule);
    query->print.out = &job->out;
    query->print.record = control->server->record;
    query->print.now_s = sl_boottime_us() / 1000000;
    query->print.wall_us = sl_walltime_us();
    query->print.is_watched = sl_is_observed(&sl_control_rules(control)->settings);
    return read_window(job, &query->print) && read_series(job, &query->print) &&
           read_count(job, "top", SL_TOP_ENTRIES, &query->print.top) &&
           read_count(job, "limit", RULES_MAX, &query->limit);
}

/* ---- rules ---- */

static void print_limit(struct sl_buffer *out, const struct sl_rule *rule)
{
    const struct sl_limit *limit = &rule->numbers[0].limit;
    if (rule->numbers[0].unlimited)
        sl_print_text(out, "limit", NULL);
    else
        sl_print_i64(out, "limit", limit->capacity);
    if (limit->window_us)
        sl_print_i64(out, "window_us", limit->window_us);
    else
        sl_print_text(out, "window_us", NULL);
    if (limit->token_ns)
        sl_print_billionths(out, "refill_per_second",
                            (INT64_C(1000000000000000000) + limit->token_ns / 2) / limit->token_ns);
    else
        sl_print_text(out, "refill_per_second", NULL);
}

static void print_rule(const struct stats_query *query, const struct sl_rule *rule, uint32_t number)
{
    const struct sl_stats_print *print = &query->print;
    const struct sl_detail *detail = print->record->ids.rules[number].detail;
    const struct sl_top_term *terms = print->record->terms;
    struct sl_buffer *out = print->out;
    sl_buffer_add(out, SL_TEXT("{"));
    sl_print_text(out, "rule", rule->name);
    sl_print_text(out, "algorithm", rule->algo->name);
    sl_print_per(out, rule);
    sl_print_name(out, "resource");
    if (rule->any_resource)
        sl_buffer_add(out, SL_TEXT("null"));
    else
        sl_json_print_string(out, rule->resource.text);
    sl_print_bool(out, "shadow", rule->shadow);
    sl_print_bool(out, "guarded", rule->guard.window_us);
    print_limit(out, rule);
    sl_stats_print_rule_figure(print, detail, print->is_watched && number < SL_CALLERS_RULES);
    sl_stats_print_use(print, detail);
    sl_stats_print_tops(print, detail);
    int64_t since_us = terms[1].since_us ? terms[1].since_us : terms[0].since_us;
    sl_stats_print_time(out, "top_since", since_us);
    sl_buffer_add(out, SL_TEXT(", \"top_unseen\": {"));
    sl_print_i64(out, "denied", (int64_t)(terms[0].missed_denied + terms[1].missed_denied));
    sl_print_i64(out, "traffic", (int64_t)(terms[0].missed_met + terms[1].missed_met));
    sl_buffer_add(out, SL_TEXT("}}"));
}

/* A rule's place in the file, and its checks. */
struct rank {
    size_t index;
    uint64_t checks;
};

static int by_checks(const void *a, const void *b)
{
    const struct rank *left = a, *right = b;
    if (left->checks != right->checks)
        return left->checks < right->checks ? 1 : -1;
    return left->index < right->index ? -1 : 1;
}

static int by_index(const void *a, const void *b)
{
    const struct rank *left = a, *right = b;
    return left->index < right->index ? -1 : 1;
}

/* Returns the checks of a rule in the longest period of the query. */
static uint64_t checks_of(const struct stats_query *query, uint32_t number)
{
    const struct sl_detail *detail = query->print.record->ids.rules[number].detail;
    struct sl_sums sum = { 0 };
    uint64_t checks = 0;
    enum sl_period period = SL_PERIOD_COUNT - 1;
    while (period > 0 && !query->print.periods[period])
        period--;
    if (detail)
        sl_figure_sum(&detail->figure, period, query->print.now_s, &sum);
    for (size_t i = 0; i < SL_OUTCOME_COUNT; i++)
        checks += sum.outcomes[i];
    return checks;
}

/* Prints the busiest rules, or all, in the order of the file. */
static void print_rules(const struct stats_query *query, struct sl_job *job,
                        const struct sl_edition *edition)
{
    const struct sl_ruleset *rules = edition->rules;
    struct rank *places = sl_arena_take(&job->arena, (rules->rule_count + 1) * sizeof *places);
    size_t count = 0;
    for (size_t i = 0; i < rules->rule_count; i++)
        if (!query->rule || strcmp(query->rule, rules->rules[i].name) == 0)
            places[count++] = (struct rank){ i, checks_of(query, edition->numbers[i]) };
    if (count > query->limit) {
        qsort(places, count, sizeof *places, by_checks);
        count = query->limit;
        qsort(places, count, sizeof *places, by_index);
    }
    sl_print_i64(&job->out, "rules_total", (int64_t)rules->rule_count);
    sl_buffer_add(&job->out, SL_TEXT(", \"rules\": ["));
    for (size_t i = 0; i < count; i++) {
        if (i)
            sl_buffer_add(&job->out, SL_TEXT(", "));
        print_rule(query, &rules->rules[places[i].index], edition->numbers[places[i].index]);
    }
    sl_buffer_add(&job->out, SL_TEXT("]"));
}

/* ---- algorithms, connections, decisions ---- */

static void print_algorithms(const struct stats_query *query)
{
    struct sl_buffer *out = query->print.out;
    sl_buffer_add(out, SL_TEXT(", \"algorithms\": ["));
    for (size_t i = 0; sl_algos[i]; i++) {
        sl_buffer_add(out, i ? SL_TEXT(", {") : SL_TEXT("{"));
        sl_print_text(out, "algorithm", sl_algos[i]->name);
        sl_stats_print_figure(&query->print, &query->print.record->algos[i]);
        sl_buffer_add(out, SL_TEXT("}"));
    }
    sl_buffer_add(out, SL_TEXT("]"));
}

static void print_connections(struct sl_buffer *out, struct sl_server *server)
{
    uint64_t accepted = 0, refused = 0;
    for (size_t i = 0; i < server->worker_count; i++) {
        accepted += atomic_load(&server->workers[i].accepted);
        refused += atomic_load(&server->workers[i].refused);
    }
    sl_buffer_add(out, SL_TEXT(", \"connections\": {"));
    sl_print_i64(out, "open", atomic_load(&server->open));
    sl_print_i64(out, "accepted", (int64_t)accepted);
    sl_print_i64(out, "refused", (int64_t)refused);
    sl_buffer_add(out, SL_TEXT("}"));
}

void sl_run_stats(struct sl_control *control, struct sl_job *job)
{
    struct sl_server *server = control->server;
    struct stats_query query;
    if (!read_query(control, job, &query))
        return;
    struct sl_buffer *out = &job->out;
    sl_buffer_add(out, SL_TEXT("{"));
    sl_print_i64(out, "at_us", query.print.wall_us);
    sl_stats_print_time(out, "at", query.print.wall_us);
    sl_stats_print_time(out, "started_at", server->started_us);
    sl_print_i64(out, "uptime_s", query.print.now_s - server->record->started_s);
    sl_print_bool(out, "identifiers_hashed", sl_control_rules(control)->settings.hash_identifiers);
    /* Read without the lock: this thread is the only writer. */
    sl_buffer_add(out, SL_TEXT(", \"decisions\": {"));
    sl_stats_print_figure(&query.print, &server->record->all);
    sl_buffer_add(out, SL_TEXT("}"));
    print_algorithms(&query);
    print_rules(&query, job, server->edition);
    sl_print_store_stats(out, server);
    sl_print_replication_stats(out, server);
    print_connections(out, server);
    sl_print_audit_stats(out, server);
    sl_buffer_add(out, SL_TEXT("}"));
}
