/* Giving rules numbers that outlive a reload. */
#include "telemetry/rule_ids.h"

#include <stdlib.h>

#include "base/buffer.h"
#include "base/text/textmap.h"

enum { KEPT_US = 60 * 1000000, TYPE_MAX_BYTES = 4096 };

/* ---- one rule ---- */

/* "per_ip_user" */
static char *limit_type(const struct sl_rule *rule)
{
    struct sl_buffer out = sl_buffer(TYPE_MAX_BYTES);
    bool is_global = rule->per_count == 0 || rule->per[0].attribute == SL_ATTR_GLOBAL;
    sl_buffer_add(&out, is_global ? SL_TEXT("global") : SL_TEXT("per"));
    for (size_t i = 0; !is_global && i < rule->per_count; i++) {
        sl_buffer_add(&out, SL_TEXT("_"));
        sl_buffer_add(&out, rule->per[i].name);
    }
    sl_buffer_add(&out, (struct sluice_text){ "", 1 });
    char *copy = out.failed ? NULL : strdup(out.at);
    sl_buffer_release(&out);
    return copy;
}

/* Returns false if there is no memory; the entry is unchanged then. */
static bool fill_entry(struct sl_enrolled *rule, const struct sl_rule *from)
{
    char *type = limit_type(from);
    char *name = rule->name ? rule->name : strdup(from->name);
    if (!type || !name) {
        free(type);
        if (name != rule->name)
            free(name);
        return false;
    }
    free(rule->limit_type);
    rule->name = name;
    rule->limit_type = type;
    rule->algorithm = from->algo->name;
    rule->shadow = from->shadow;
    return true;
}

static void empty_entry(struct sl_rule_ids *ids, struct sl_enrolled *rule)
{
    free(rule->name);
    free(rule->limit_type);
    if (rule->detail)
        ids->forget(rule->detail);
    *rule = (struct sl_enrolled){ 0 };
}

/* ---- all of them ---- */

/* Finds a number that is free, or whose rule has been gone for long; else adds one. Returns NULL
 * if there is no memory. */
static struct sl_enrolled *take_number(struct sl_rule_ids *ids, size_t *from, int64_t now_us)
{
    for (; *from < ids->count; ++*from) {
        struct sl_enrolled *rule = &ids->rules[*from];
        if (rule->is_there || (rule->name && now_us - rule->gone_us < KEPT_US))
            continue;
        empty_entry(ids, rule);
        return rule;
    }
    if (ids->count == ids->room) {
        size_t room = ids->room ? 2 * ids->room : 64;
        struct sl_enrolled *grown = realloc(ids->rules, room * sizeof *grown);
        if (!grown)
            return NULL;
        ids->rules = grown;
        ids->room = room;
    }
    struct sl_enrolled *rule = &ids->rules[ids->count++];
    *rule = (struct sl_enrolled){ 0 };
    *from = ids->count;
    return rule;
}

/* Finds the rules that have a number, before any number is given out: they keep it. */
static void find_numbers(const struct sl_rule_ids *ids, const struct sl_ruleset *rules,
                         uint32_t *numbers)
{
    struct sl_arena arena = { 0 };
    struct sl_textmap places = { 0 }; /* name → number + 1 */
    for (size_t i = 0; i < ids->count; i++)
        if (ids->rules[i].name)
            sl_textmap_add(&arena, &places, 0, sl_text(ids->rules[i].name), (uint32_t)i + 1);
    for (size_t i = 0; i < rules->rule_count; i++)
        numbers[i] = sl_textmap_get(&places, 0, sl_text(rules->rules[i].name));
    sl_arena_release(&arena);
}

/* Marks the rule as just seen, so that its number is not given away before it is in force. */
static void mark_seen(struct sl_enrolled *rule, int64_t now_us)
{
    if (rule->gone_us < now_us)
        rule->gone_us = now_us;
}

uint32_t *sl_rule_ids_enrol(struct sl_rule_ids *ids, const struct sl_ruleset *rules, int64_t now_us)
{
    uint32_t *numbers = calloc(rules->rule_count + 1, sizeof *numbers);
    size_t from = 0;
    if (!numbers)
        return NULL;
    find_numbers(ids, rules, numbers);
    for (size_t i = 0; i < rules->rule_count; i++)
        if (numbers[i])
            mark_seen(&ids->rules[numbers[i] - 1], now_us);
    for (size_t i = 0; i < rules->rule_count; i++) {
        struct sl_enrolled *rule =
            numbers[i] ? &ids->rules[numbers[i] - 1] : take_number(ids, &from, now_us);
        if (!rule || (!numbers[i] && !fill_entry(rule, &rules->rules[i]))) {
            free(numbers);
            return NULL;
        }
        mark_seen(rule, now_us);
        numbers[i] = (uint32_t)(rule - ids->rules);
    }
    return numbers;
}

void sl_rule_ids_settle(struct sl_rule_ids *ids, const struct sl_ruleset *rules,
                        const uint32_t *numbers, int64_t now_us)
{
    for (size_t i = 0; i < ids->count; i++) {
        if (ids->rules[i].is_there)
            mark_seen(&ids->rules[i], now_us);
        ids->rules[i].is_there = false;
    }
    for (size_t i = 0; i < rules->rule_count; i++) {
        struct sl_enrolled *rule = &ids->rules[numbers[i]];
        fill_entry(rule, &rules->rules[i]);
        rule->is_there = true;
    }
}

void sl_rule_ids_release(struct sl_rule_ids *ids)
{
    for (size_t i = 0; i < ids->count; i++)
        empty_entry(ids, &ids->rules[i]);
    free(ids->rules);
    *ids = (struct sl_rule_ids){ 0 };
}
