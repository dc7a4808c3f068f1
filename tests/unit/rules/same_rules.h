/* Do two rulesets mean the same? Field by field, and by asking both. For tests and for the
 * fuzzer: what differs is said, not asserted. */
#ifndef TESTS_SAME_RULES_H
#define TESTS_SAME_RULES_H

#include <stdlib.h>

#include "rules/index.h"
#include "rules/reading/overlay.h"

#define SL_DIFFER(a, b, field)                                                                     \
    if ((a)->field != (b)->field)                                                                  \
    return #field
#define SL_DIFFER_IN(condition, what)                                                              \
    if (!(condition))                                                                              \
    return what

static inline const char *patterns_differ(const struct sl_pattern *a, const struct sl_pattern *b)
{
    SL_DIFFER_IN(sl_text_equal(a->text, b->text), "pattern.text");
    SL_DIFFER(a, b, dotted);
    SL_DIFFER(a, b, everything);
    SL_DIFFER(a, b, prefix);
    SL_DIFFER(a, b, segment_count);
    for (size_t i = 0; i < a->segment_count; i++)
        SL_DIFFER_IN(sl_text_equal(a->segments[i], b->segments[i]) &&
                         !a->segments[i].at == !b->segments[i].at,
                     "segment");
    return NULL;
}

static inline const char *numbers_differ(const struct sl_numbers *a, const struct sl_numbers *b)
{
    SL_DIFFER(a, b, unlimited);
    SL_DIFFER(a, b, limit.capacity);
    SL_DIFFER(a, b, limit.window_us);
    SL_DIFFER(a, b, limit.token_ns);
    SL_DIFFER(a, b, limit.token_part);
    SL_DIFFER(a, b, limit.told_us);
    SL_DIFFER(a, b, limit.token_form);
    SL_DIFFER(a, b, limit.first_request);
    SL_DIFFER(a, b, window_us);
    SL_DIFFER(a, b, capacity_n);
    SL_DIFFER(a, b, capacity_d);
    SL_DIFFER(a, b, token_n);
    SL_DIFFER(a, b, token_d);
    return NULL;
}

static inline bool same_part(const struct sl_part *a, const struct sl_part *b)
{
    return a->attribute == b->attribute && sl_text_equal(a->name, b->name);
}

static inline bool same_texts(const struct sl_texts *a, const struct sl_texts *b)
{
    for (size_t i = 0; a->count == b->count && i < a->count; i++)
        if (!sl_text_equal(a->at[i], b->at[i]))
            return false;
    return a->count == b->count;
}

static inline const char *conditions_differ(const struct sl_condition *a,
                                            const struct sl_condition *b)
{
    SL_DIFFER_IN(same_part(&a->attribute, &b->attribute), "when.attribute");
    SL_DIFFER(a, b, value_count);
    for (size_t i = 0; i < a->value_count; i++)
        SL_DIFFER_IN(sl_text_equal(a->values[i], b->values[i]), "when.value");
    SL_DIFFER(a, b, is_more);
    SL_DIFFER_IN(same_texts(&a->unequal, &b->unequal), "when.not");
    SL_DIFFER_IN(same_texts(&a->like, &b->like), "when.like");
    SL_DIFFER_IN(same_texts(&a->unlike, &b->unlike), "when.unlike");
    return NULL;
}

static inline const char *matches_differ(const struct sl_rule *a, const struct sl_rule *b)
{
    const char *differs = NULL;
    SL_DIFFER(a, b, any_resource);
    if (!a->any_resource)
        differs = patterns_differ(&a->resource, &b->resource);
    SL_DIFFER(a, b, except_count);
    for (size_t i = 0; !differs && i < a->except_count; i++)
        differs = patterns_differ(&a->except[i], &b->except[i]);
    SL_DIFFER(a, b, when_count);
    for (size_t i = 0; !differs && i < a->when_count; i++)
        differs = conditions_differ(&a->when[i], &b->when[i]);
    SL_DIFFER(a, b, per_count);
    for (size_t i = 0; i < a->per_count; i++)
        SL_DIFFER_IN(same_part(&a->per[i], &b->per[i]), "per");
    return differs;
}

/* Everything but where it comes from. */
static inline const char *rule_differs(const struct sl_rule *a, const struct sl_rule *b,
                                       size_t tier_count)
{
    SL_DIFFER_IN(strcmp(a->name, b->name) == 0, "name");
    SL_DIFFER_IN(strcmp(a->json, b->json) == 0, "json");
    SL_DIFFER(a, b, index);
    SL_DIFFER(a, b, algo);
    SL_DIFFER(a, b, spans_tenants);
    SL_DIFFER(a, b, ring_len);
    SL_DIFFER(a, b, window_us);
    SL_DIFFER(a, b, burst.digits);
    SL_DIFFER(a, b, burst.places);
    SL_DIFFER(a, b, adaptive);
    SL_DIFFER(a, b, shadow);
    SL_DIFFER(a, b, deny_missing);
    SL_DIFFER(a, b, guard.window_us);
    SL_DIFFER(a, b, guard.penalty_us);
    SL_DIFFER(a, b, guard.threshold);
    SL_DIFFER(a, b, on_store_failure);
    SL_DIFFER(a, b, lease);
    SL_DIFFER(a, b, replaces_count);
    for (size_t i = 0; i < a->replaces_count; i++)
        SL_DIFFER(a, b, replaces[i]);
    const char *differs = matches_differ(a, b);
    for (size_t i = 0; !differs && i <= tier_count; i++)
        differs = numbers_differ(&a->numbers[i], &b->numbers[i]);
    return differs;
}

static inline const char *tier_differs(const struct sl_tier *a, const struct sl_tier *b)
{
    SL_DIFFER_IN(sl_text_equal(a->name, b->name), "tier.name");
    SL_DIFFER_IN(strcmp(a->json, b->json) == 0, "tier.json");
    SL_DIFFER(a, b, scale.digits);
    SL_DIFFER(a, b, scale.places);
    SL_DIFFER(a, b, unlimited);
    SL_DIFFER(a, b, algorithms);
    return NULL;
}

/* A request that the rule is about, if `except` does not leave it out: each `*` of its
 * pattern is `x`, each condition has its first value, or that of its first pattern. */
static inline struct sluice_request request_for(struct sl_arena *arena, const struct sl_rule *rule)
{
    struct sluice_request request = sluice_request();
    struct sluice_attribute *others = sl_arena_take(arena, (rule->when_count + 1) * sizeof *others);
    char *resource = sl_arena_copy(arena, SL_TEXT(""));
    for (size_t i = 0; !rule->any_resource && i < rule->resource.segment_count; i++) {
        struct sluice_text segment = rule->resource.segments[i];
        const char *glue = !rule->resource.dotted ? "/" : i ? "." : "";
        resource = sl_arena_print(arena, "%s%s%.*s", resource, glue,
                                  segment.at ? (int)segment.len : 1, segment.at ? segment.at : "x");
    }
    request.resource = sl_text(resource);
    request.others = others;
    for (size_t i = 0; i < rule->when_count; i++) {
        const struct sl_condition *when = &rule->when[i];
        struct sluice_text value = when->value_count  ? when->values[0]
                                   : when->like.count ? when->like.at[0]
                                                      : (struct sluice_text){ 0 };
        switch (when->attribute.attribute) {
        case SL_ATTR_TENANT:
            request.tenant = value;
            break;
        case SL_ATTR_METHOD:
            request.method = value;
            break;
        case SL_ATTR_USER:
            request.user = value;
            break;
        case SL_ATTR_IP:
            request.ip = value;
            break;
        case SL_ATTR_CLIENT:
            request.client = value;
            break;
        case SL_ATTR_TIER:
            request.tier = value;
            break;
        case SL_ATTR_RESOURCE:
            request.resource = value;
            break;
        default:
            others[request.other_count++] =
                (struct sluice_attribute){ when->attribute.name, value };
        }
    }
    return request;
}

static inline const char *answers_differ(const struct sl_ruleset *a, const struct sl_ruleset *b,
                                         const struct sluice_request *request)
{
    const struct sl_rule **one = calloc(a->rule_count + 1, sizeof *one);
    const struct sl_rule **two = calloc(b->rule_count + 1, sizeof *two);
    if (!one || !two)
        abort();
    size_t count = sl_index_match(a, request, one);
    bool same = sl_index_match(b, request, two) == count;
    for (size_t i = 0; same && i < count; i++)
        same = one[i]->index == two[i]->index;
    free(one);
    free(two);
    return same ? NULL : "which rules match";
}

/* NULL: they are the same, all in all; else what differs. */
static inline const char *rules_differ(const struct sl_ruleset *a, const struct sl_ruleset *b)
{
    const char *differs = NULL;
    struct sl_arena arena = { 0 };
    SL_DIFFER(a, b, rule_count);
    SL_DIFFER(a, b, tier_count);
    for (size_t i = 0; !differs && i < a->tier_count; i++)
        differs = tier_differs(&a->tiers[i], &b->tiers[i]);
    for (size_t i = 0; !differs && i < a->rule_count; i++)
        differs = rule_differs(&a->rules[i], &b->rules[i], a->tier_count);
    for (size_t i = 0; !differs && i < a->rule_count; i++) {
        struct sluice_request request = request_for(&arena, &a->rules[i]);
        differs = answers_differ(a, b, &request);
        request.resource = SL_TEXT("");
        differs = differs ? differs : answers_differ(a, b, &request);
    }
    sl_arena_release(&arena);
    return differs;
}

/* An overlay that says all that the ruleset does, each rule and tier by its JSON. Texts are
 * the ruleset's. */
static inline struct sl_overlay overlay_of(struct sl_arena *arena, const struct sl_ruleset *from)
{
    struct sl_overlay_rule *rules =
        sl_arena_take(arena, (from->rule_count + from->hidden_count) * sizeof *rules);
    struct sl_overlay_tier *tiers =
        sl_arena_take(arena, (from->tier_count + from->hidden_tier_count) * sizeof *tiers);
    struct sl_overlay overlay = { .rules = rules, .tiers = tiers };
    for (size_t i = 0; i < from->rule_count; i++) {
        const struct sl_rule *rule = &from->rules[i];
        size_t before = rule->tenant ? strlen(rule->tenant) + 1 : 0;
        rules[overlay.rule_count++] =
            (struct sl_overlay_rule){ rule->name + before, rule->tenant, rule->json, i + 1 };
    }
    for (size_t i = 0; i < from->hidden_count; i++)
        rules[overlay.rule_count++] = (struct sl_overlay_rule){ from->hidden[i], NULL, NULL, 1 };
    for (size_t i = 0; i < from->tier_count; i++)
        tiers[overlay.tier_count++] =
            (struct sl_overlay_tier){ from->tiers[i].name.at, from->tiers[i].json, i + 1 };
    for (size_t i = 0; i < from->hidden_tier_count; i++)
        tiers[overlay.tier_count++] = (struct sl_overlay_tier){ from->hidden_tiers[i], NULL, 1 };
    return overlay;
}

#endif
