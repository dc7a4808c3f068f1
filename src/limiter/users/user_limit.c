/* A user's own limits. Their numbers stand in place of the tier's: they replace the scaled ones,
 * and burst, window and trust are applied to them as to any others. A number that is not given
 * stays the tier's.
 *
 * Composing is exact arithmetic on wide fractions, too slow for every request, so composed numbers
 * are cached: by the user's revision (which changes when the numbers do), the rule and the tier,
 * each in the one place that these hash to. A limiter has one ruleset all its life, so nothing else
 * can change under them.
 *
 * A log's ring must be as long as the limit. The rule's is, for every tier; a user may have more.
 * The shared table keeps rings of one length together and has room for 64 lengths, so a longer ring
 * is a power of two: however many users have whatever numbers, there are at most two dozen lengths.
 * A key's ring only ever grows: a smaller limit counts on in the ring that is there. */
#include "limiter/users/user_limit.h"

#include "rules/numbers.h"

static const char *compose_numbers(const struct sl_rule *rule, ptrdiff_t tier,
                                   const struct sl_user_limit *own, struct sl_numbers *out)
{
    struct sl_numbers_in in = rule->parts[1 + tier];
    sl_numbers_replace(&in, own->capacity, own->rate);
    return sl_numbers_compose(&in, out);
}

const char *sl_rule_user_numbers(const struct sl_rule *rule, const struct sl_user_limit *own,
                                 struct sl_numbers *out)
{
    struct sl_numbers numbers, at_tier;
    if (!own->capacity && !own->rate.digits)
        return "numbers of one's own are `capacity`, `refill_rate` or both";
    if (own->rate.digits && !rule->algo->is_bucket)
        return "`refill_rate` is for buckets, and this rule counts in windows; leave it out";
    const char *wrong = compose_numbers(rule, -1, own, &numbers);
    for (size_t i = 0; i < rule->tier_count && !wrong; i++)
        wrong = compose_numbers(rule, (ptrdiff_t)i, own, &at_tier);
    if (!wrong)
        *out = numbers;
    return wrong;
}

static uint32_t ring_len(const struct sl_rule *rule, const struct sl_numbers *numbers)
{
    int64_t most = sl_numbers_capacity_max(numbers, rule->adaptive);
    int64_t len = 1;
    if (!rule->algo->keeps_ring || most <= rule->ring_len)
        return rule->ring_len;
    while (len < most)
        len *= 2; /* at most the longest ring of the log, itself a power of two */
    return (uint32_t)len;
}

static const struct sl_user_limit *own_limit(const struct sl_user *user, const struct sl_rule *rule)
{
    for (size_t i = 0; i < user->own_count; i++)
        if (strcmp(user->own[i].rule, rule->name) == 0)
            return &user->own[i];
    return NULL;
}

static struct sl_user_numbers *cache_place(struct sl_user_numbers_cache *kept, uint64_t revision,
                                           uint32_t rule, ptrdiff_t tier)
{
    uint64_t mixed = (revision * 31 + rule) * 31 + (uint64_t)tier;
    return &kept->at[mixed * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (SL_USER_NUMBERS_CACHED - 1)];
}

const struct sl_user_numbers *sl_user_numbers_find(struct sl_user_numbers_cache *kept,
                                                   const struct sl_user *user,
                                                   const struct sl_rule *rule, ptrdiff_t tier)
{
    const struct sl_user_limit *limit = own_limit(user, rule);
    if (!limit)
        return NULL;
    struct sl_user_numbers *own = cache_place(kept, user->own_revision, rule->index, tier);
    if (own->revision != user->own_revision || own->rule != rule->index || own->tier != tier) {
        *own = (struct sl_user_numbers){ user->own_revision, rule->index, tier, .good = false };
        bool unfit = limit->rate.digits && !rule->algo->is_bucket; /* the rule was a bucket then */
        own->good = !unfit && !compose_numbers(rule, tier, limit, &own->numbers);
        own->ring_len = own->good ? ring_len(rule, &own->numbers) : 0;
    }
    return own->good ? own : NULL;
}
