/* One limit on any key, without a rules file.
 *
 *   key → hash → a bundle of one claim, on the stack → store → decision
 *
 * Everything about the limit is worked out when it is made; a decision hashes the key and calls the
 * store. It allocates nothing and locks nothing. */
#include "lib/handles.h"

#include <stdlib.h>

#include "lib/error.h"
#include "limiter/identity.h"
#include "rules/reading/rule_config.h"

enum { BATCH_MAX = 32 }; /* decided together, with 14 KiB of stack */

static void init_limit(struct sluice_limit *limit, const struct sl_rule *rule,
                       struct sl_store *store)
{
    limit->store = store;
    limit->seed = sl_rule_seeds(rule, store->secret).limit;
    limit->algo = rule->algo;
    limit->numbers = rule->numbers[0].limit;
    limit->ring_len = rule->ring_len;
    limit->name = rule->name;
}

int sluice_limit_new(struct sluice_store *store, const struct sluice_limit_config *config,
                     struct sluice_limit **out, struct sluice_error *error)
{
    struct sluice_error own;
    error = sl_error_start(error, &own);
    if (!store || !config || !out)
        return sl_error_add(error, SLUICE_INVALID, "`%s` is NULL",
                            !store    ? "store"
                            : !config ? "config"
                                      : "out");
    struct sluice_limit *limit = calloc(1, sizeof *limit);
    if (!limit)
        return sl_error_add(error, SLUICE_NO_MEMORY, "out of memory");
    struct sl_report report = { .file = "limit" };
    struct sl_rule rule;
    int status = SLUICE_OK;
    if (sl_rule_of_config(&limit->arena, config, &report, &rule)) {
        init_limit(limit, &rule, store->store);
        *out = limit;
    } else {
        status = sl_error_report(error, SLUICE_INVALID, &report);
        sluice_limit_free(limit);
    }
    sl_report_release(&report);
    return status;
}

void sluice_limit_free(struct sluice_limit *limit)
{
    if (!limit)
        return;
    sl_arena_release(&limit->arena);
    free(limit);
}

/* Filled in place: a copy of the whole right after its parts were written would stall. */
static inline void fill_fast_path(const struct sluice_limit *limit, struct sluice_text key,
                                  uint32_t cost, struct sl_fast_path *ask)
{
    struct sl_hash128 hash = sl_limit_key(limit, key);
    ask->algo = limit->algo;
    ask->limit = &limit->numbers;
    ask->key.low = hash.low;
    ask->key.high = hash.high;
    ask->cost = cost;
    ask->done = false;
}

/* Not inline: the fast path needs none of its stack. */
__attribute__((noinline)) static int decide_alone(const struct sluice_limit *limit,
                                                  struct sluice_text key, uint32_t cost, bool peek,
                                                  struct sluice_decision *out)
{
    struct sl_limit_call call;
    int status = sl_limit_begin(limit, key, &call);
    call.bundle.cost = cost;
    call.bundle.peek = peek;
    if (status == SLUICE_OK)
        status = sl_limit_decide(limit, &call.bundle, out);
    sl_limit_end(&call);
    return status;
}

int sluice_limit_decide(struct sluice_limit *limit, struct sluice_text key, uint32_t cost,
                        struct sluice_decision *out)
{
    if (!limit || !sl_key_is_good(key) || !out)
        return SLUICE_INVALID;
    struct sl_fast_path ask;
    fill_fast_path(limit, key, cost, &ask);
    if (limit->store->ops->once && !limit->algo->keeps_ring)
        limit->store->ops->once(limit->store, &ask, 1);
    if (!ask.done)
        return decide_alone(limit, key, cost, false, out);
    sl_decision_fast_path(&ask, limit->name, out);
    return SLUICE_OK;
}

int sluice_limit_peek(struct sluice_limit *limit, struct sluice_text key, uint32_t cost,
                      struct sluice_decision *out)
{
    if (!limit || !sl_key_is_good(key) || !out)
        return SLUICE_INVALID;
    return decide_alone(limit, key, cost, true, out);
}

/* A limit has no failure policy: a failure looks like a decision without a rule, as under the
 * default policy of rules. */
static int decide_rest(const struct sluice_limit *limit, const struct sl_fast_path *asks,
                       const struct sluice_text *keys, size_t count, struct sluice_decision *out)
{
    struct sl_namer namer = { 0 };
    bool names = limit->store->wants_names;
    struct sl_bundle bundles[BATCH_MAX];
    struct sl_claim claims[BATCH_MAX];
    size_t which[BATCH_MAX], left = 0;
    int first_bad = SLUICE_OK;
    if (names && !sl_namer_init(&namer, NULL))
        return SLUICE_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        if (asks[i].done)
            continue;
        sl_limit_claim(limit, asks[i].key, &bundles[left], &claims[left]);
        bundles[left].cost = asks[i].cost;
        if (names)
            claims[left].name = sl_name_key(&namer, limit->name, keys[i]);
        which[left++] = i;
    }
    if (left)
        limit->store->ops->decide(limit->store, bundles, left);
    if (names)
        sl_namer_release(&namer);
    for (size_t i = 0; i < left; i++) {
        if (bundles[i].status == SLUICE_OK)
            sl_decision_show(&bundles[i], &claims[i], limit->name, &out[which[i]]);
        else
            sl_decision_nobody(SLUICE_REASON_STORE, &out[which[i]]);
        first_bad = first_bad ? first_bad : bundles[i].status;
    }
    return first_bad;
}

/* Decides at most BATCH_MAX. */
static int decide_chunk(const struct sluice_limit *limit, const struct sluice_text *keys,
                        size_t count, uint32_t cost, struct sluice_decision *out)
{
    struct sl_fast_path asks[BATCH_MAX];
    size_t done = 0;
    for (size_t i = 0; i < count; i++)
        fill_fast_path(limit, keys[i], cost, &asks[i]);
    if (limit->store->ops->once && !limit->algo->keeps_ring)
        limit->store->ops->once(limit->store, asks, count);
    for (size_t i = 0; i < count; i++) {
        if (asks[i].done)
            sl_decision_fast_path(&asks[i], limit->name, &out[i]);
        done += asks[i].done;
    }
    return done == count ? SLUICE_OK : decide_rest(limit, asks, keys, count, out);
}

int sluice_limit_decide_batch(struct sluice_limit *limit, const struct sluice_text *keys,
                              size_t count, uint32_t cost, struct sluice_decision *out)
{
    if (!limit || (count && (!keys || !out)))
        return SLUICE_INVALID;
    for (size_t i = 0; i < count; i++)
        if (!sl_key_is_good(keys[i]))
            return SLUICE_INVALID;
    int first_bad = SLUICE_OK;
    for (size_t done = 0; done < count; done += BATCH_MAX) {
        size_t some = count - done < BATCH_MAX ? count - done : BATCH_MAX;
        int status = decide_chunk(limit, keys + done, some, cost, out + done);
        first_bad = first_bad ? first_bad : status;
    }
    return first_bad;
}

int sluice_limit_refund(struct sluice_limit *limit, struct sluice_text key, uint32_t cost,
                        const struct sluice_decision *decision)
{
    struct sl_limit_call call;
    if (!limit || !sl_key_is_good(key) || !sl_charge_is_good(decision))
        return SLUICE_INVALID;
    const struct sl_store_ops *ops = limit->store->ops;
    if (!decision->charged || cost == 0)
        return SLUICE_OK;
    if (!ops->refund)
        return SLUICE_UNSUPPORTED;
    int status = sl_limit_begin(limit, key, &call);
    if (status == SLUICE_OK)
        status = ops->refund(limit->store, &call.claim,
                             (struct sl_charge){ cost, decision->charged_at_us });
    sl_limit_end(&call);
    return status;
}

int sluice_limit_reset(struct sluice_limit *limit, struct sluice_text key)
{
    struct sl_limit_call call;
    if (!limit || !sl_key_is_good(key))
        return SLUICE_INVALID;
    const struct sl_store_ops *ops = limit->store->ops;
    if (!ops->reset)
        return SLUICE_UNSUPPORTED;
    int status = sl_limit_begin(limit, key, &call);
    if (status == SLUICE_OK)
        status = ops->reset(limit->store, &call.claim);
    sl_limit_end(&call);
    return status;
}
