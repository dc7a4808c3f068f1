/* Decides a request part by part, and gives back what was taken before a denial. */
#include "base/check.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/text/number.h"
#include "store/claim.h"
#include "store/redis/ask.h"
#include "store/redis/left_out.h"
#include "store/redis/parts_internal.h"

enum { WORDS_MAX_BYTES = 1 << 22 }; /* of a reservation */

/* ---- putting the decision together ---- */

static void leave_part_out(struct sl_slot_part *part, int64_t now_us)
{
    part->bundle.now_us = now_us;
    for (size_t i = 0; i < part->bundle.claim_count; i++)
        sl_claim_leave_out(&part->bundle.claims[i], &part->bundle);
}

static void copy_claims_back(struct sl_parts *parts)
{
    struct sl_claim *claims = parts->whole->claims;
    for (size_t i = 0; i < parts->claim_count; i++) {
        struct sl_claim *to = &claims[parts->places[i].claim];
        const struct sl_claim_name *name = to->name;
        *to = parts->claims[i];
        to->name = name;
    }
}

/* Each part was decided by its own node's clock. If none was, leases of this process have one. */
static int64_t decision_time_us(const struct sl_parts *parts)
{
    int64_t now_us = -1;
    for (size_t i = 0; i < parts->count; i++)
        if (parts->part[i].is_known)
            now_us = sl_max_i64(now_us, parts->part[i].bundle.now_us);
    if (now_us < 0)
        now_us = parts->now_us;
    return now_us < 0 ? sl_bundle_time_here_us(parts->whole) : now_us;
}

/* Puts the results of all parts into the whole bundle. */
static void merge_parts(struct sl_parts *parts)
{
    struct sl_bundle *whole = parts->whole;
    int64_t now_us = decision_time_us(parts);
    for (size_t i = 0; i < parts->count; i++) {
        struct sl_slot_part *part = &parts->part[i];
        part->bundle.allowed = !parts->is_denied;
        if (part->is_known)
            sl_answer_finish(&part->bundle);
        else
            leave_part_out(part, now_us);
        whole->is_degraded |= !part->is_known;
        if (part->is_known && parts->teaches)
            sl_answer_cache_learn(parts->undos->shared->answers, &part->bundle, parts->since);
    }
    copy_claims_back(parts);
    whole->now_us = now_us;
    whole->wall_shift_us = 0;
    sl_bundle_judge(whole);
}

static void finish_parts(struct sl_parts *parts)
{
    struct sl_parts_told *told = parts->told;
    SL_CHECK(parts->waiting == 0);
    if (parts->status == SLUICE_OK)
        merge_parts(parts);
    parts->whole->status = parts->status;
    parts->whole->held = parts->id;
    sl_parts_free(parts);
    told->done(told);
}

/* ---- calls and replies ---- */

/* Goes on with `next` when `waiting` replies have come. */
static void count_reply(struct sl_parts *parts)
{
    SL_CHECK(parts->waiting > 0 && parts->next);
    if (--parts->waiting == 0)
        parts->next(parts);
}

static void on_undone(struct sl_undo_told *told, int status)
{
    (void)status; /* if it failed, quota is lost */
    count_reply((struct sl_parts *)told);
}

static void ask_part(struct sl_slot_part *part,
                     void (*done)(struct sl_redis_query *query, int status,
                                  const struct sl_redis_reply *reply))
{
    struct sl_parts *parts = part->parts;
    struct sl_undos *undos = parts->undos;
    part->query.done = done;
    part->query.nonce = parts->nonce + (uint64_t)(part - parts->part);
    if (sl_ask_decide(&undos->shared->scripts, &part->bundle, NULL, &part->bytes, &part->query))
        sl_route_ask_by(undos->route, &part->query, parts->due_us);
    else
        done(&part->query, SLUICE_NO_MEMORY, NULL);
}

static int read_part_reply(struct sl_slot_part *part, int status,
                           const struct sl_redis_reply *reply)
{
    SL_CHECK(!part->is_known && (status == SLUICE_OK) == (reply != NULL));
    if (status == SLUICE_OK)
        status = sl_answer_read(&part->bundle, reply);
    part->is_known = status == SLUICE_OK;
    return status;
}

static bool has_time(const struct sl_parts *parts)
{
    return sl_link_now_us() < parts->due_us;
}

/* ---- parts that fail ---- */

/* The part is left out if it may be; otherwise the decision fails. */
static void lose_part(struct sl_slot_part *part, int status)
{
    part->is_lost = true;
    if (!part->is_optional)
        part->parts->status = status;
    else if (!part->is_shadow)
        part->parts->lost_status = status;
}

/* Is any enforced claim decided? Otherwise the store has failed, and not just some node. */
static bool has_enforced_answer(const struct sl_parts *parts)
{
    const struct sl_bundle *whole = parts->whole;
    for (size_t i = 0; i < whole->claim_count; i++)
        if (!whole->claims[i].shadow && !sl_claim_is_asked(&whole->claims[i]))
            return true;
    for (size_t i = 0; i < parts->count; i++)
        if (parts->part[i].is_known && !parts->part[i].is_shadow)
            return true;
    return false;
}

/* Returns the status without the parts that are left out. */
static int status_without_lost(const struct sl_parts *parts)
{
    if (parts->status != SLUICE_OK || parts->lost_status == SLUICE_OK || has_enforced_answer(parts))
        return parts->status;
    return parts->lost_status;
}

/* ---- looking: all remaining parts at once ---- */

/* A failure does not matter if the request is denied already. */
static void on_part_looked(struct sl_redis_query *query, int status,
                           const struct sl_redis_reply *reply)
{
    struct sl_slot_part *part = (struct sl_slot_part *)query;
    struct sl_parts *parts = part->parts;
    status = read_part_reply(part, status, reply);
    if (status != SLUICE_OK && !parts->takes)
        lose_part(part, status);
    count_reply(parts);
}

static void give_back_charges(struct sl_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++) {
        struct sl_slot_part *part = &parts->part[i];
        if (!part->is_taken)
            continue;
        parts->waiting++;
        sl_undo_charges(parts->undos, &part->bundle, parts->now_us, parts->due_us, &parts->undone);
    }
}

/* Denies: gives back what was taken, and looks at the parts that were not asked, so that their
 * guards count. */
static void deny_request(struct sl_parts *parts)
{
    SL_CHECK(parts->waiting == 0 && parts->takes);
    parts->is_denied = true;
    parts->next = finish_parts;
    parts->waiting = 1;
    for (size_t i = 0; i < parts->count && has_time(parts); i++) {
        if (parts->part[i].is_known || parts->part[i].is_lost)
            continue;
        parts->part[i].bundle.is_denied = true;
        parts->waiting++;
        ask_part(&parts->part[i], on_part_looked);
    }
    give_back_charges(parts);
    count_reply(parts);
}

static void finish_looking(struct sl_parts *parts)
{
    parts->status = status_without_lost(parts);
    finish_parts(parts);
}

/* Looks at all parts. Nothing is taken: it is a peek, has a cost of 0, or lacks an identifier. */
static void look_at_all(struct sl_parts *parts)
{
    parts->next = finish_looking;
    parts->waiting = 1 + parts->count;
    for (size_t i = 0; i < parts->count; i++) {
        parts->part[i].bundle.is_denied = parts->is_denied;
        ask_part(&parts->part[i], on_part_looked);
    }
    count_reply(parts);
}

static void fail_request(struct sl_parts *parts, int status)
{
    SL_CHECK(status != SLUICE_OK && parts->waiting == 0);
    parts->status = status;
    parts->next = finish_parts;
    parts->waiting = 1;
    give_back_charges(parts);
    count_reply(parts);
}

/* ---- reservations ---- */

static void on_reservation_made(struct sl_redis_query *query, int status,
                                const struct sl_redis_reply *reply)
{
    struct sl_parts *parts =
        (struct sl_parts *)(void *)((char *)query - offsetof(struct sl_parts, keep));
    bool is_full = status == SLUICE_OK && reply->value_count == 2 && reply->values[1] == -2;
    if (status == SLUICE_OK && !is_full) {
        finish_parts(parts);
    } else if (status != SLUICE_OK && query->may_have_run) {
        parts->status = status; /* if it was made after all, its expiry gives it back */
        finish_parts(parts);
    } else {
        fail_request(parts, is_full ? SLUICE_STORE_FULL : status);
    }
}

/* All is charged: makes a reservation of it. */
static void make_reservation(struct sl_parts *parts)
{
    struct sl_undos *undos = parts->undos;
    SL_CHECK(parts->whole->hold_us && !parts->is_denied);
    struct sl_bundle held = *parts->whole;
    held.claims = parts->claims;
    held.claim_count = parts->claim_count;
    while (parts->id == 0)
        parts->id = sl_random64();
    SL_CHECK(parts->id);
    struct sl_holding holding = { parts->id, parts->whole->hold_us };
    parts->keep = (struct sl_redis_query){ .done = on_reservation_made, .in_cluster = true };
    parts->keep_bytes = sl_buffer(WORDS_MAX_BYTES);
    if (sl_ask_keep(&undos->shared->scripts, &held, &holding, &parts->keep_bytes, &parts->keep))
        sl_route_ask_by(undos->route, &parts->keep, parts->due_us);
    else
        fail_request(parts, SLUICE_NO_MEMORY);
}

/* ---- taking: one part after another ---- */

static void mark_taken(struct sl_slot_part *part)
{
    SL_CHECK(part->is_known && !part->is_taken);
    part->is_taken = true;
    for (size_t i = 0; i < part->bundle.claim_count; i++) {
        struct sl_claim *claim = &part->bundle.claims[i];
        claim->charged = claim->allowed && sl_claim_takes(&part->bundle, claim);
    }
}

static bool has_charged(const struct sl_slot_part *part)
{
    for (size_t i = 0; i < part->bundle.claim_count; i++)
        if (part->bundle.claims[i].charged)
            return true;
    return false;
}

static void finish_taking(struct sl_parts *parts)
{
    bool has_any = false;
    for (size_t i = 0; i < parts->count; i++)
        has_any |= parts->part[i].is_taken;
    if (parts->whole->hold_us && has_any)
        make_reservation(parts);
    else
        finish_parts(parts);
}

/* A shadow rule never denies, and its failure does not matter. */
static void on_shadow_taken(struct sl_redis_query *query, int status,
                            const struct sl_redis_reply *reply)
{
    struct sl_slot_part *part = (struct sl_slot_part *)query;
    if (read_part_reply(part, status, reply) == SLUICE_OK)
        mark_taken(part);
    part->is_taken &= has_charged(part);
    count_reply(part->parts);
}

static void take_shadows(struct sl_parts *parts)
{
    parts->next = finish_taking;
    parts->waiting = 1;
    for (size_t i = 0; i < parts->count && has_time(parts); i++) {
        if (!parts->part[i].is_shadow)
            continue;
        parts->waiting++;
        ask_part(&parts->part[i], on_shadow_taken);
    }
    count_reply(parts);
}

static void on_part_taken(struct sl_redis_query *query, int status,
                          const struct sl_redis_reply *reply);

/* A part that failed may have used up the time of those behind it. They are not sent then: a call
 * that is late before it is sent only makes its node look slow. */
static void take_next_part(struct sl_parts *parts)
{
    for (size_t i = 0; i < parts->count && parts->status == SLUICE_OK; i++) {
        struct sl_slot_part *part = &parts->part[i];
        if (part->is_known || part->is_shadow || part->is_lost)
            continue;
        if (has_time(parts)) {
            ask_part(part, on_part_taken);
            return;
        }
        lose_part(part, SLUICE_STORE_DOWN);
    }
    int status = status_without_lost(parts);
    if (status == SLUICE_OK)
        take_shadows(parts);
    else
        fail_request(parts, status);
}

static void on_part_taken(struct sl_redis_query *query, int status,
                          const struct sl_redis_reply *reply)
{
    struct sl_slot_part *part = (struct sl_slot_part *)query;
    struct sl_parts *parts = part->parts;
    status = read_part_reply(part, status, reply);
    if (status != SLUICE_OK) {
        lose_part(part, status);
        take_next_part(parts);
    } else if (!part->bundle.allowed) {
        deny_request(parts);
    } else {
        mark_taken(part);
        part->is_taken = has_charged(part);
        take_next_part(parts);
    }
}

/* ---- entry ---- */

/* Would the request take anything if it is allowed, and can it be allowed at all? */
static void judge_whole(struct sl_parts *parts)
{
    const struct sl_bundle *whole = parts->whole;
    for (size_t i = 0; i < whole->claim_count; i++) {
        const struct sl_claim *claim = &whole->claims[i];
        parts->takes |= !claim->no_key && sl_claim_takes(whole, claim);
        parts->is_denied |= claim->no_key && !claim->shadow;
    }
    parts->takes &= !parts->is_denied;
}

void sl_parts_decide(struct sl_undos *undos, struct sl_bundle *bundle, uint64_t nonce,
                     struct sl_parts_told *told)
{
    SL_CHECK(undos->shared->cluster && told->done && bundle->claim_count > 0);
    struct sl_parts *parts = sl_parts_new(bundle, undos->shared->cluster);
    bundle->held = 0;
    if (!parts) {
        bundle->status = SLUICE_NO_MEMORY;
        told->done(told);
        return;
    }
    parts->undone.tried = on_undone;
    parts->undos = undos;
    parts->told = told;
    parts->nonce = nonce;
    parts->now_us = bundle->now_us;
    parts->since = sl_answer_cache_since(undos->shared->answers);
    parts->teaches = sl_answer_cache_may_learn(bundle);
    parts->due_us = sl_link_now_us() + undos->shared->deadline_us;
    judge_whole(parts);
    if (parts->takes)
        take_next_part(parts);
    else
        look_at_all(parts);
}
