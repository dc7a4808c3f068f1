#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "props/scenario.h"

void world_init(struct world *world, const struct scenario *scenario, struct sl_store *store)
{
    *world = (struct world){ .store = store,
                             .key = { random_u64(), random_u64() },
                             .now_us = scenario->start_us,
                             .reset_us = scenario->start_us };
}

static struct sl_claim ask(const struct world *world, const struct scenario *scenario, struct op op)
{
    uint32_t ring_len = 0;
    for (size_t i = 0; i < scenario->limit_count; i++)
        if (scenario->algo->keeps_ring && scenario->limits[i].limit.capacity > ring_len)
            ring_len = (uint32_t)scenario->limits[i].limit.capacity;
    char text[64];
    int len = snprintf(text, sizeof text, "rl:-:props:{%016" PRIx64 "%016" PRIx64 "}",
                       world->key.low, world->key.high);
    struct sl_claim_name name = { .key = { text, (size_t)len } };
    struct sl_claim claim = { .name = &name,
                              .algo = scenario->algo,
                              .limit = scenario->limits[op.limit].limit,
                              .ring_len = ring_len,
                              .cost = op.cost,
                              .peek = op.peek,
                              .key = world->key };
    /* Of a bundle that is mixed the claim's own cost counts: now and then it is one. */
    bool is_mixed = (op.at_us + op.cost) % 3 == 0;
    struct sl_bundle bundle = { .now_us = op.at_us,
                                .is_mixed = is_mixed,
                                .cost = is_mixed ? 1000003 : op.cost,
                                .peek = op.peek != is_mixed,
                                .max_delay_us = -1,
                                .claims = &claim,
                                .claim_count = 1 };
    SL_CHECK(sl_store_decide(world->store, &bundle) == SLUICE_OK);
    return claim;
}

static struct sl_claim peek(const struct world *world, const struct scenario *scenario,
                            struct op op, int64_t at_us, uint32_t cost)
{
    op.at_us = at_us;
    op.cost = cost;
    op.peek = true;
    return ask(world, scenario, op);
}

static const char *check_retry(const struct world *world, const struct scenario *scenario,
                               struct op op, const struct sl_claim *claim)
{
    int64_t wait_us = claim->answer.retry_after_us;
    int64_t limit = claim->limit.capacity;
    if (claim->allowed)
        return wait_us ? "allowed, and yet a retry_after" : NULL;
    if (op.cost == 0)
        return "cost 0 is always allowed";
    if ((wait_us == SL_NEVER) != (op.cost > limit))
        return "never is for costs above the limit, and for those alone";
    if (wait_us == SL_NEVER)
        return NULL;
    if (wait_us <= 0)
        return "denied with nothing to wait for";
    if (op.at_us + wait_us > SL_TIME_MAX_US)
        return NULL;
    if (peek(world, scenario, op, op.at_us + wait_us - 1, op.cost).allowed)
        return "P1: allowed before retry_after";
    if (!peek(world, scenario, op, op.at_us + wait_us, op.cost).allowed)
        return "P1: denied at retry_after";
    return NULL;
}

static const char *check_reset(const struct world *world, const struct scenario *scenario,
                               struct op op, const struct sl_claim *claim)
{
    int64_t reset_us = claim->figures.reset_at_us;
    int64_t limit = claim->limit.capacity;
    if (claim->figures.remaining < 0 || claim->figures.remaining > limit)
        return "remaining is not between 0 and the limit";
    if (reset_us < op.at_us)
        return "reset_at lies in the past";
    if (reset_us > SL_TIME_MAX_US)
        return NULL;
    if (peek(world, scenario, op, reset_us, 0).figures.remaining != limit)
        return "P2: not all is back at reset_at";
    if (reset_us > op.at_us &&
        peek(world, scenario, op, reset_us - 1, 0).figures.remaining == limit)
        return "P2: all is back before reset_at";
    return NULL;
}

/* What `remaining` promises: so many of cost 1 pass, taken at once, and no more. */
static const char *check_remaining(const struct world *world, const struct scenario *scenario,
                                   struct op op, const struct sl_claim *claim)
{
    int64_t left = claim->figures.remaining;
    if (left > 0 && left <= UINT32_MAX &&
        !peek(world, scenario, op, op.at_us, (uint32_t)left).allowed)
        return "what remains cannot be taken";
    if (left < UINT32_MAX && peek(world, scenario, op, op.at_us, (uint32_t)left + 1).allowed)
        return "more than what remains can be taken";
    return NULL;
}

static const char *check_free(const struct sl_figures *before, const struct sl_claim *after,
                              struct op op)
{
    if (after->allowed && op.cost && !op.peek) {
        if (after->figures.remaining > before->remaining)
            return "a charge left more than there was";
        return NULL;
    }
    if (memcmp(before, &after->figures, sizeof *before) != 0)
        return "P3: a denial, a peek or cost 0 changed the figures";
    return NULL;
}

/* P5: no request waits longer than one span for a stored time to come, and then as
 * long as its state lasts, which is one span more. A bucket's debt is its whole
 * state. */
static const char *check_lockout(const struct scenario *scenario, const struct sl_claim *claim)
{
    int64_t span_us = limit_span_us(scenario->algo, &claim->limit);
    int64_t most_us = scenario->algo->is_bucket ? span_us + 1 : 2 * span_us;
    return claim->answer.retry_after_us > most_us
               ? "P5: locked out by a stored time for longer than it may"
               : NULL;
}

/* P5 for a single step back: what is left may not grow by it. Buckets and a
 * repair may give back the step itself, no more; windows give back nothing. */
static const char *check_step_back(const struct world *world, const struct scenario *scenario,
                                   struct op op, const struct sl_figures *before)
{
    if (op.at_us >= world->now_us || scenario->algo->is_bucket)
        return NULL;
    struct sl_claim then = peek(world, scenario, op, world->now_us, 0);
    return before->remaining > then.figures.remaining ? "P5: a step back handed out more" : NULL;
}

/* What was counted carries over to another limit: exactly in a window; in a
 * bucket in tokens, to the precision of the token time that a state keeps. */
static const char *check_carry(const struct world *world, const struct scenario *scenario,
                               struct op op, const struct sl_claim *claim)
{
    int64_t counted = claim->limit.capacity - claim->figures.remaining;
    bool bucket = scenario->algo->is_bucket;
    int64_t slack = bucket ? 1 + (counted >> 14) : 0;
    if (claim->figures.remaining == 0 || (claim->answer.repair && !bucket))
        return NULL; /* there may be more than the limit shows */
    for (uint8_t i = 0; i < scenario->limit_count; i++) {
        struct op other = op;
        other.limit = i;
        struct sl_claim seen = peek(world, scenario, other, op.at_us, 0);
        int64_t expected = sl_max_i64(seen.limit.capacity - counted, 0);
        int64_t left = seen.figures.remaining;
        if (left > expected + slack || left < expected - slack)
            return "a change of limits lost or invented what was counted";
    }
    return NULL;
}

static const char *check_all(struct world *world, const struct scenario *scenario, struct op op,
                             const struct sl_claim *claim)
{
    const char *broken = check_lockout(scenario, claim);
    if (!broken)
        broken = check_remaining(world, scenario, op, claim);
    if (!broken)
        broken = check_carry(world, scenario, op, claim);
    /* A peek saves no repair, so what it says of later holds only if another
     * request saves it. Nor does a denial save a debt carried over from a
     * token time that is only known roughly. */
    bool settled = (!op.peek || !claim->answer.repair) &&
                   (!world->written || world->token_form == claim->limit.token_form);
    if (!broken && settled)
        broken = check_retry(world, scenario, op, claim);
    if (!broken && settled && claim->limit.capacity)
        broken = check_reset(world, scenario, op, claim);
    if (!broken && scenario->steady_clock)
        broken = ledger_check(world, scenario);
    return broken;
}

const char *world_step(struct world *world, const struct scenario *scenario, struct op op)
{
    struct sl_figures before = peek(world, scenario, op, op.at_us, 0).figures;
    const char *broken = check_step_back(world, scenario, op, &before);
    if (broken)
        return broken;
    struct sl_claim claim = ask(world, scenario, op);
    broken = check_free(&before, &claim, op);
    if (broken)
        return broken;
    if (claim.allowed && op.cost && !op.peek)
        world->ledger[world->ledger_count++] = (struct admitted){ op.at_us, op.cost };
    if (!op.peek && ((claim.allowed && op.cost) || claim.answer.repair)) {
        world->written = true;
        world->token_form = claim.limit.token_form;
    }
    world->now_us = op.at_us;
    world->retry_us = claim.answer.retry_after_us > 0 ? claim.answer.retry_after_us : 0;
    world->reset_us = claim.figures.reset_at_us;
    return check_all(world, scenario, op, &claim);
}
