/* Limits that requests bring along, decided under rules made here, whose names no file can use: so
 * they have the failure policy, the names in Redis and the arithmetic of any rule. The window's
 * length is mixed into the keys, as for rules: another length counts afresh. */
#include "limiter/direct.h"

#include "algo/bucket.h"

_Static_assert((int)SL_COUNTS_DIRECT == (int)SL_DIRECT_COUNT, "all kinds are counted");

static const struct sl_part by_key[] = { { SL_ATTR_OTHER,
                                           { SL_DIRECT_KEY, sizeof SL_DIRECT_KEY - 1 } } };

bool sl_direct_bucket(int64_t capacity, int64_t token_ns, struct sl_direct *out)
{
    if (capacity < 0 || token_ns < 1 || (capacity && token_ns > SL_SPAN_MAX_NS / capacity))
        return false;
    *out = (struct sl_direct){
        .kind = SL_DIRECT_BUCKET,
        .limit = { .capacity = capacity,
                   .token_ns = token_ns,
                   .told_us = sl_div_ceil(capacity * token_ns, 1000),
                   .token_form = sl_token_short(token_ns) },
    };
    return true;
}

bool sl_direct_window(int64_t capacity, int64_t window_us, struct sl_direct *out)
{
    if (capacity < 0 || window_us < SL_WINDOW_MIN_US || window_us > SL_WINDOW_MAX_US ||
        capacity > sl_fixed_window.capacity_max(window_us))
        return false;
    *out = (struct sl_direct){
        .kind = SL_DIRECT_WINDOW,
        .limit = { .capacity = capacity, .window_us = window_us, .told_us = window_us },
    };
    return true;
}

void sl_direct_init(struct sl_direct_rules *direct, const struct sl_ruleset *rules, uint64_t secret)
{
    static const char *const names[] = { "@bucket", "@window" };
    static const struct sl_algo *const algos[] = { &sl_token_bucket, &sl_fixed_window };
    for (uint32_t i = 0; i < SL_DIRECT_COUNT; i++) {
        direct->rules[i] = (struct sl_rule){
            .name = names[i],
            .index = (uint32_t)rules->rule_count + i,
            .algo = algos[i],
            .any_resource = true,
            .per = by_key,
            .per_count = 1,
            .deny_missing = true,
            .on_store_failure = rules->settings.on_store_failure,
        };
        struct sl_limit none = { 0 };
        direct->windows_us[i] = 0;
        direct->seeds[i] = sl_limit_seeds(&direct->rules[i], &none, secret);
    }
}

const struct sl_rule_seeds *sl_direct_seeds(struct sl_direct_rules *direct,
                                            const struct sl_direct *asked, uint64_t secret)
{
    enum sl_direct_kind kind = asked->kind;
    if (direct->windows_us[kind] != asked->limit.window_us) {
        direct->windows_us[kind] = asked->limit.window_us;
        direct->seeds[kind] = sl_limit_seeds(&direct->rules[kind], &asked->limit, secret);
    }
    return &direct->seeds[kind];
}
