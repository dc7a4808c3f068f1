/* Warnings about the effects of a rule's numbers, tier by tier and at full trust, which are hard
 * to work out by hand. */
#include "rules/numbers.h"
#include "rules/lint/lint.h"

static struct sl_limit largest_limit(const struct sl_rule *rule, size_t slot)
{
    struct sl_limit limit;
    sl_numbers_limit(&rule->numbers[slot], rule->adaptive ? SL_TRUST_MAX : 0, &limit);
    return limit;
}

void sl_lint_zero_tier(struct sl_lint *lint, const struct sl_rule *rule)
{
    for (size_t slot = 1; slot <= lint->rules->tier_count; slot++)
        if (sl_lint_reaches(lint, rule, slot) && rule->numbers[slot].limit.capacity == 0)
            sl_lint_warn(lint, rule,
                         "`%s` has a limit of 0%s: its scale makes less than one whole unit, "
                         "and every request is denied for good; give the tier a `capacity` "
                         "in the rule's `tiers`, or a larger `scale`",
                         rule->name, sl_lint_tier(lint, slot));
}

/* ---- rounding -------------------------------------------------------------- */

/* By how much a rate is slower than asked because a token takes whole nanoseconds, in
 * thousandths, rounded up: (T·d − n) / (T·d), where a token should take n/d.
 * T·d is at most n + d, so the products stay below 2^128. */
static int64_t slower_thousandths(const struct sl_numbers *numbers, bool trusted)
{
    sl_u128 n = numbers->token_n * (trusted ? 2 : 1); /* rate · (1 + s/2) */
    sl_u128 d = numbers->token_d * (trusted ? 3 : 1);
    struct sl_limit limit;
    sl_numbers_limit(numbers, trusted ? SL_TRUST_MAX : 0, &limit);
    sl_u128 taken = (sl_u128)(uint64_t)limit.token_ns * d;
    return (int64_t)(((taken - n) * 1000 + taken - 1) / taken);
}

/* Returns true if it has warned. */
static bool warn_rounding(struct sl_lint *lint, const struct sl_rule *rule, size_t slot,
                          bool trusted)
{
    const struct sl_numbers *numbers = &rule->numbers[slot];
    int64_t slower = slower_thousandths(numbers, trusted);
    if (slower <= 1)
        return false;
    struct sl_limit limit;
    sl_numbers_limit(numbers, trusted ? SL_TRUST_MAX : 0, &limit);
    sl_lint_warn(lint, rule,
                 "`%s` refills up to %" PRId64 ".%" PRId64 " %% slower than asked%s%s: a "
                 "token takes whole nanoseconds, here %" PRId64 ", which makes %" PRId64
                 " a second; use a rate that divides 1000000000, or a window algorithm",
                 rule->name, slower / 10, slower % 10, sl_lint_tier(lint, slot),
                 trusted ? " at full trust" : "", limit.token_ns,
                 INT64_C(1000000000) / limit.token_ns);
    return true;
}

void sl_lint_rounding(struct sl_lint *lint, const struct sl_rule *rule)
{
    for (size_t slot = 0; rule->algo->is_bucket && slot <= lint->rules->tier_count; slot++)
        if (sl_lint_reaches(lint, rule, slot) &&
            (warn_rounding(lint, rule, slot, false) ||
             (rule->adaptive && warn_rounding(lint, rule, slot, true))))
            return; /* a warning for one tier is enough */
}

/* ---- the burst guard ------------------------------------------------------- */

/* How far a guard's window can reach past an edge of the limit's. Both start at
 * the epoch, so that they meet at multiples of their common divisor; unless the
 * limit's starts with a key's first request. */
static int64_t reach_us(const struct sl_limit *limit, int64_t span_us)
{
    sl_u128 step_us = sl_gcd_u128((uint64_t)limit->window_us, (uint64_t)span_us);
    return span_us - (limit->first_request ? 1 : (int64_t)step_us);
}

/* The largest number of requests of cost 1 that the limit lets pass in one of the guard's
 * windows: each algorithm's bound, as docs/choosing.md has them. */
static sl_u128 requests_passing(const struct sl_rule *rule, const struct sl_limit *limit,
                                int64_t span_us)
{
    sl_u128 capacity = (sl_u128)(uint64_t)limit->capacity;
    if (rule->algo->is_bucket)
        return capacity + (sl_u128)(uint64_t)span_us * 1000 / (uint64_t)limit->token_ns;
    if (rule->algo->keeps_ring)
        return capacity * (uint64_t)sl_div_ceil(span_us, limit->window_us);
    int64_t past_us = reach_us(limit, span_us);
    sl_u128 aligned = capacity * (uint64_t)(1 + sl_div_ceil(past_us, limit->window_us));
    if (rule->algo != &sl_sliding_window_counter)
        return aligned;
    /* All at the end of a window; then as much as its weight has faded by the
     * last µs. */
    int64_t faded_us = sl_max_i64(past_us - 1, 0);
    sl_u128 weighed = capacity + sl_mul_div_ceil(limit->capacity, faded_us, limit->window_us);
    return weighed < aligned ? weighed : aligned;
}

static sl_u128 passing_in_guard(const struct sl_lint *lint, const struct sl_rule *rule, size_t slot)
{
    if (!sl_lint_reaches(lint, rule, slot))
        return 0;
    struct sl_limit limit = largest_limit(rule, slot);
    return requests_passing(rule, &limit, rule->guard.window_us);
}

static int64_t clamp_to_printable(sl_u128 requests)
{
    return requests < INT64_MAX ? (int64_t)requests : INT64_MAX;
}

/* The tiers share one guard; if not even its default numbers fit, the warning says so too:
 * moving the tiers elsewhere would not be enough. */
static const char *mention_tiers(struct sl_lint *lint, const struct sl_rule *rule, size_t most_slot)
{
    sl_u128 requests = passing_in_guard(lint, rule, 0);
    if (most_slot == 0 || requests <= rule->guard.threshold)
        return "";
    return sl_arena_print(&lint->scratch, " (and %" PRId64 " without a tier)",
                          clamp_to_printable(requests));
}

static bool has_threshold(struct sl_guard guard, sl_u128 threshold)
{
    guard.threshold = (uint32_t)threshold;
    return threshold <= UINT32_MAX && sl_guard_fits(&guard);
}

/* A whole capacity passes in a guard's window however short, and the shortest
 * one has the fewest requests to hold. */
static const char *guard_advice(struct sl_lint *lint, const struct sl_rule *rule, size_t slot)
{
    static const struct sl_guard shortest = { SL_WINDOW_MIN_US, SL_WINDOW_MIN_US, 0 };
    sl_u128 requests = passing_in_guard(lint, rule, slot);
    struct sl_limit limit = largest_limit(rule, slot);
    if (has_threshold(rule->guard, requests))
        return sl_arena_print(&lint->scratch, "raise `threshold` to %" PRId64,
                              clamp_to_printable(requests));
    if (has_threshold(shortest, requests_passing(rule, &limit, shortest.window_us)))
        return "no `threshold` can be so high beside this `window` and `penalty`: shorten them, "
               "or leave the guard out";
    return "no `threshold` can be so high: leave the guard out";
}

void sl_lint_guard(struct sl_lint *lint, const struct sl_rule *rule)
{
    sl_u128 most = 0;
    size_t most_slot = 0;
    for (size_t slot = 0; rule->guard.window_us && slot <= lint->rules->tier_count; slot++) {
        sl_u128 requests = passing_in_guard(lint, rule, slot);
        if (requests > most) {
            most = requests;
            most_slot = slot;
        }
    }
    if (most <= rule->guard.threshold)
        return;
    sl_lint_warn(
        lint, rule,
        "`%s` takes callers that keep to its limit for a burst: it lets up to %" PRId64
        " requests pass in %s%s%s%s, and its `burst_guard` warns, then blocks, above %u; %s%s",
        rule->name, clamp_to_printable(most), sl_lint_duration(lint, rule->guard.window_us),
        sl_lint_tier(lint, most_slot), rule->adaptive ? " at full trust" : "",
        mention_tiers(lint, rule, most_slot), rule->guard.threshold,
        guard_advice(lint, rule, most_slot),
        most_slot ? ", or give larger tiers a rule of their own with `when: { tier: … }`" : "");
}

/* ---- the log's memory ------------------------------------------------------ */

void sl_lint_huge_log(struct sl_lint *lint, const struct sl_rule *rule)
{
    int64_t most = 0;
    size_t most_slot = 0;
    for (size_t slot = 0; rule->algo->keeps_ring && slot <= lint->rules->tier_count; slot++) {
        int64_t capacity =
            sl_lint_reaches(lint, rule, slot) ? largest_limit(rule, slot).capacity : 0;
        if (capacity > most) {
            most = capacity;
            most_slot = slot;
        }
    }
    if (most > SL_LINT_HUGE_LOG)
        sl_lint_warn(lint, rule,
                     "`%s` keeps the time of every unit, 8 bytes each: up to %s for one "
                     "identifier%s, whose limit is %" PRId64 "; use `sliding_window_counter`, "
                     "which keeps 84 bits of state",
                     rule->name, sl_lint_memory(lint, most), sl_lint_tier(lint, most_slot), most);
}

/* The bytes for logs: without `log=` they have half of the table. */
static uint64_t log_room_bytes(const struct sl_store_url *url)
{
    uint64_t size_bytes = url->size_bytes ? url->size_bytes : SL_STORE_SIZE_BYTES;
    return url->log_bytes == SL_STORE_LOG_DEFAULT ? size_bytes / 2 : url->log_bytes;
}

void sl_lint_log_room(struct sl_lint *lint, const struct sl_rule *rule)
{
    const struct sl_store_url *url = &lint->rules->settings.store;
    if (url->kind != SL_STORE_MEMORY || !rule->algo->keeps_ring || rule->ring_len == 0)
        return;
    uint64_t room_bytes = log_room_bytes(url);
    if (rule->ring_len >= room_bytes / 8)
        sl_lint_warn(lint, rule,
                     "`%s` has no room in the store: one identifier takes up to %s, and the store "
                     "has %s for all logs, so that `on_store_failure` decides; write a larger "
                     "`size=` and `log=` in its URL",
                     rule->name, sl_lint_memory(lint, rule->ring_len),
                     sl_lint_memory(lint, (int64_t)(room_bytes / 8)));
}

/* Returns true if the identifier determines the tier. Users, clients and
 * tenants have one; an address does not. */
static bool tells_tiers_apart(const struct sl_rule *rule)
{
    for (size_t i = 0; i < rule->per_count; i++) {
        enum sl_attribute attribute = rule->per[i].attribute;
        if (attribute != SL_ATTR_GLOBAL && attribute != SL_ATTR_IP &&
            attribute != SL_ATTR_RESOURCE && attribute != SL_ATTR_METHOD)
            return true;
    }
    return false;
}

/* Warns because a bucket's debt is cut to the capacity under which it is decided. */
void sl_lint_shared_bucket(struct sl_lint *lint, const struct sl_rule *rule)
{
    const struct sl_numbers *first = sl_lint_numbers(lint, rule);
    if (!rule->algo->is_bucket || !first || tells_tiers_apart(rule))
        return;
    for (size_t slot = 1; slot <= lint->rules->tier_count; slot++) {
        if (!sl_lint_reaches(lint, rule, slot) ||
            rule->numbers[slot].limit.capacity == first->limit.capacity)
            continue;
        sl_lint_warn(lint, rule,
                     "`%s` counts callers of several tiers in one bucket: a request of a smaller "
                     "tier, denied or not, cuts the debt to its own capacity, and the larger tier "
                     "gets the rest again; count per `tier` too, or use a window",
                     rule->name);
        return;
    }
}

/* Warns of a local share, for when the store fails, that is 0. */
void sl_lint_local_share(struct sl_lint *lint, const struct sl_rule *rule)
{
    const struct sl_settings *settings = &lint->rules->settings;
    const struct sl_numbers *numbers = sl_lint_numbers(lint, rule);
    struct sl_decimal share = settings->local_share;
    if (rule->on_store_failure != SL_FAIL_LOCAL || settings->store.kind == SL_STORE_MEMORY ||
        rule->shadow || !numbers || numbers->limit.capacity == 0)
        return;
    if (sl_mul_div_floor(numbers->limit.capacity, (int64_t)share.digits,
                         (int64_t)sl_power_of_ten(share.places)) == 0)
        sl_lint_warn(lint, rule,
                     "`%s` lets nothing pass while the store fails: `local_share` of its limit, "
                     "rounded down, is 0; write a larger share, or another `on_store_failure`",
                     rule->name);
}
