/* Reads the answer of GET /v1/stats, and sorts rules. */
#include "cmd/top/top_figures.h"

#include <stdlib.h>

#include "cmd/terminal/columns.h"

/* ---- reading ---- */

static double number_of(const json_t *object, const char *member)
{
    const json_t *value = json_object_get(object, member);
    double number = json_number_value(value);
    return json_is_number(value) && number >= 0 ? number : -1;
}

/* Returns how much of the window has passed: a server that just started has less than a minute. */
static double span_s(const char *window, double uptime_s)
{
    double whole_s = strcmp(window, "minute") == 0 ? 60
                     : strcmp(window, "hour") == 0 ? 3600
                                                   : 86400;
    if (uptime_s < 0 || uptime_s > whole_s)
        return whole_s;
    return uptime_s > 1 ? uptime_s : 1;
}

static double per_s(double count, double seconds)
{
    return count < 0 ? -1 : count / seconds;
}

/* Returns "acme/u1"; "u1" without a tenant. */
static const char *caller_of(struct sl_arena *arena, const json_t *entry)
{
    const char *identifier = sl_cell_of(arena, entry, "identifier");
    if (!sl_member(entry, "tenant"))
        return identifier;
    return sl_arena_print(arena, "%s/%s", sl_cell_of(arena, entry, "tenant"), identifier);
}

static void read_limited(struct sl_board_figures *out, const struct sl_board_rule *rule,
                         const json_t *denied)
{
    for (size_t i = 0; i < json_array_size(denied); i++) {
        const json_t *entry = json_array_get(denied, i);
        out->limited[out->limited_count++] = (struct sl_board_who){
            .who = caller_of(&out->arena, entry),
            .rule = rule->shown,
            .count = number_of(entry, "count"),
            .error = number_of(entry, "error"),
        };
    }
}

static void read_rule(struct sl_board_figures *out, const json_t *answer, const char *window)
{
    struct sl_arena *arena = &out->arena;
    const json_t *figures = json_object_get(answer, window);
    const json_t *latency = json_object_get(figures, "latency_us");
    const json_t *denied = json_object_get(answer, "top_denied");
    bool shadow = json_is_true(json_object_get(answer, "shadow"));
    struct sl_board_rule *rule = &out->rules[out->rule_count++];
    *rule = (struct sl_board_rule){
        .name = sl_cell_of(arena, answer, "rule"),
        .algorithm = sl_cell_of(arena, answer, "algorithm"),
        .shadow = shadow,
        .checks_per_s = per_s(number_of(figures, "checks"), span_s(window, out->uptime_s)),
        .allowed = number_of(figures, "allowed"),
        .denied = number_of(figures, shadow ? "shadow_denied" : "denied"),
        .hit_rate = number_of(figures, "hit_rate"),
        .p50_us = number_of(latency, "p50"),
        .p99_us = number_of(latency, "p99"),
        .in_use = number_of(json_object_get(answer, "in_use"), "mean"),
        .callers = number_of(figures, "callers"),
        .callers_limited = number_of(figures, "callers_limited"),
        .most_limited = json_array_size(denied) ? caller_of(arena, json_array_get(denied, 0)) : "-",
    };
    rule->shown = shadow ? sl_arena_print(arena, "~%s", rule->name) : rule->name;
    read_limited(out, rule, denied);
    double unseen = number_of(json_object_get(answer, "top_unseen"), "denied");
    out->unseen = unseen > out->unseen ? unseen : out->unseen;
}

static int most_often_first(const void *left, const void *right)
{
    const struct sl_board_who *a = left, *b = right;
    if (a->count != b->count)
        return a->count < b->count ? 1 : -1;
    int by_name = strcmp(a->who, b->who);
    return by_name != 0 ? by_name : strcmp(a->rule, b->rule);
}

static void read_rules(struct sl_board_figures *out, const json_t *rules, const char *window)
{
    size_t count = json_array_size(rules), limited = 0;
    for (size_t i = 0; i < count; i++)
        limited += json_array_size(json_object_get(json_array_get(rules, i), "top_denied"));
    out->rules = sl_arena_take(&out->arena, count * sizeof *out->rules);
    out->limited = sl_arena_take(&out->arena, limited * sizeof *out->limited);
    for (size_t i = 0; i < count; i++)
        read_rule(out, json_array_get(rules, i), window);
    qsort(out->limited, out->limited_count, sizeof *out->limited, most_often_first);
}

static void read_store(struct sl_board_figures *out, const json_t *store)
{
    const json_t *table = json_object_get(store, "table");
    out->store = sl_cell_of(&out->arena, store, "name");
    if (json_is_false(json_object_get(store, "healthy")))
        out->store_why = sl_cell_of(&out->arena, store, "why");
    out->slots = number_of(table, "slots");
    out->live = number_of(table, "live");
}

bool sl_board_read(struct sl_board_figures *out, const json_t *answer, const char *window)
{
    const json_t *all = json_object_get(json_object_get(answer, "decisions"), window);
    const json_t *rules = json_object_get(answer, "rules");
    const json_t *latency = json_object_get(all, "latency_us");
    if (!json_is_object(all) || !json_is_array(rules))
        return false;
    *out = (struct sl_board_figures){ .uptime_s = number_of(answer, "uptime_s") };
    out->checks_per_s = per_s(number_of(all, "checks"), span_s(window, out->uptime_s));
    out->denied_share = number_of(all, "hit_rate");
    out->p50_us = number_of(latency, "p50");
    out->p99_us = number_of(latency, "p99");
    out->rules_total = number_of(answer, "rules_total");
    read_store(out, json_object_get(answer, "store"));
    read_rules(out, rules, window);
    return true;
}

void sl_board_release(struct sl_board_figures *figures)
{
    sl_arena_release(&figures->arena);
    *figures = (struct sl_board_figures){ 0 };
}

/* ---- sorting ---- */

struct sorting {
    enum sl_board_order order;
    bool reverse;
};

static double key_of(const struct sl_board_rule *rule, enum sl_board_order order)
{
    switch (order) {
    case SL_BY_CHECKS:
        return rule->checks_per_s;
    case SL_BY_ALLOWED:
        return rule->allowed;
    case SL_BY_DENIED:
        return rule->denied;
    case SL_BY_HIT_RATE:
        return rule->hit_rate;
    case SL_BY_P99:
        return rule->p99_us;
    case SL_BY_NAME:
    case SL_ORDERS:
        break;
    }
    return 0;
}

static int in_order(const void *left, const void *right, void *about)
{
    const struct sl_board_rule *a = left, *b = right;
    const struct sorting *sorting = about;
    double of_a = key_of(a, sorting->order), of_b = key_of(b, sorting->order);
    int by_name = strcmp(a->name, b->name);
    if (sorting->order == SL_BY_NAME)
        return sorting->reverse ? -by_name : by_name;
    if ((of_a < 0) != (of_b < 0))
        return of_a < 0 ? 1 : -1;
    if (of_a != of_b)
        return (of_a < of_b) == sorting->reverse ? -1 : 1;
    return by_name;
}

void sl_board_sort(struct sl_board_figures *figures, enum sl_board_order order, bool reverse)
{
    struct sorting sorting = { order, reverse };
    if (figures->rule_count > 0)
        qsort_r(figures->rules, figures->rule_count, sizeof *figures->rules, in_order, &sorting);
}
