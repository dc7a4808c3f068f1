/* Counts of decisions. Rules are counted by their place in the file, which is all that a decision
 * knows without looking further; only inheriting, once per reload, goes by name. */
#include "limiter/observe/counts.h"

#include <stdlib.h>

#include "base/text/textmap.h"

enum { LINE_BYTES = 64 };

struct sl_counts *sl_counts_new(const struct sl_ruleset *rules)
{
    struct sl_counts *counts;
    size_t size = sizeof *counts + (rules->rule_count + SL_COUNTS_DIRECT) * sizeof *counts->by_rule;
    size =
        (size + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES; /* the last cache line is not shared */
    counts = aligned_alloc(LINE_BYTES, size);
    if (!counts)
        return NULL;
    memset(counts, 0, size);
    counts->rules = rules;
    return counts;
}

void sl_counts_free(struct sl_counts *counts)
{
    free(counts);
}

static void move_count(_Atomic uint64_t *to, _Atomic uint64_t *from)
{
    sl_count_add(to, sl_count_read(from));
    atomic_store_explicit(from, 0, memory_order_relaxed);
}

static void inherit_rules(struct sl_counts *to, struct sl_counts *from)
{
    struct sl_arena arena = { 0 };
    struct sl_textmap places = { 0 }; /* name → index in `to` + 1 */
    for (size_t i = 0; i < to->rules->rule_count; i++)
        sl_textmap_add(&arena, &places, 0, sl_text(to->rules->rules[i].name), (uint32_t)i + 1);
    for (size_t i = 0; i < from->rules->rule_count; i++) {
        uint32_t place = sl_textmap_get(&places, 0, sl_text(from->rules->rules[i].name));
        for (size_t k = 0; place && k < SL_OUTCOME_COUNT; k++)
            move_count(&to->by_rule[place - 1][k], &from->by_rule[i][k]);
    }
    sl_arena_release(&arena);
}

void sl_counts_inherit(struct sl_counts *to, struct sl_counts *from)
{
    for (size_t i = 0; i < SL_REASON_COUNT; i++)
        for (size_t k = 0; k < 2; k++)
            move_count(&to->decisions[i][k], &from->decisions[i][k]);
    for (size_t i = 0; i < SL_TRUST_TENTHS; i++)
        move_count(&to->trust[i], &from->trust[i]);
    move_count(&to->trust_thousandths, &from->trust_thousandths);
    for (size_t i = 0; i < 2; i++)
        move_count(&to->answers[i], &from->answers[i]);
    inherit_rules(to, from);
    for (size_t i = 0; i < SL_COUNTS_DIRECT; i++)
        for (size_t k = 0; k < SL_OUTCOME_COUNT; k++)
            move_count(&to->by_rule[to->rules->rule_count + i][k],
                       &from->by_rule[from->rules->rule_count + i][k]);
}
