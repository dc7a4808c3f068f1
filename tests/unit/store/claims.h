/* Claims decided on a table with room for logs. Every limit's span is 10 s. */
#ifndef TEST_STORE_CLAIMS_H
#define TEST_STORE_CLAIMS_H

#include "algo/bucket.h"
#include "store/table/adjust.h"
#include "store/table/decide.h"
#include "unit/store/logs.h"

#define SPAN_US (10 * S)

/* A key of its own, with this home; in an extent, which has fewer lines, its
 * number keeps it apart from its neighbours. */
static inline struct sl_claim claim_at(const struct sl_algo *algo, uint64_t line, uint64_t number,
                                       int64_t capacity)
{
    struct sl_claim claim = { .algo = algo, .key = key_at(line, line << 16 | number) };
    claim.limit.capacity = capacity;
    if (algo->is_bucket) {
        claim.limit.token_ns = SPAN_US * 1000 / (capacity ? capacity : 1);
        claim.limit.token_form = sl_token_short(claim.limit.token_ns);
    } else {
        claim.limit.window_us = SPAN_US;
    }
    claim.ring_len = algo->keeps_ring ? (uint32_t)capacity : 0;
    return claim;
}

static inline struct sl_claim fixed_at(uint64_t line, uint64_t number, int64_t capacity)
{
    return claim_at(&sl_fixed_window, line, number, capacity);
}

static inline struct sl_bundle bundle_of(struct sl_claim *claims, size_t count, int64_t now_us,
                                         uint32_t cost)
{
    return (struct sl_bundle){
        .now_us = now_us, .cost = cost, .max_delay_us = -1, .claims = claims, .claim_count = count
    };
}

/* By the caller's clock. */
static inline bool decide(struct sl_claim *claims, size_t count, int64_t now_us, uint32_t cost)
{
    struct sl_bundle bundle = bundle_of(claims, count, now_us, cost);
    sl_table_decide(&table, &bundle, false);
    assert_int_equal(bundle.status, SLUICE_OK);
    assert_int_equal(bundle.now_us, now_us);
    return bundle.allowed;
}

static inline int status_of(struct sl_claim *claims, size_t count, int64_t now_us, uint32_t cost)
{
    struct sl_bundle bundle = bundle_of(claims, count, now_us, cost);
    sl_table_decide(&table, &bundle, false);
    return bundle.status;
}

/* How much is left, taking nothing. */
static inline int64_t left(struct sl_claim claim, int64_t now_us)
{
    struct sl_bundle bundle = bundle_of(&claim, 1, now_us, 1);
    bundle.peek = true;
    sl_table_decide(&table, &bundle, false);
    assert_int_equal(bundle.status, SLUICE_OK);
    return claim.figures.remaining;
}

static inline struct sl_place place_of(const struct sl_claim *claim)
{
    struct sl_probe probe = sl_claim_probe(&table, claim);
    struct sl_place place;
    return sl_table_find(&probe, &place) ? place : (struct sl_place){ .slot = NULL };
}

static inline bool is_limiting(const struct sl_claim *claim)
{
    return place_of(claim).word.hi & SL_SLOT_FLAG;
}

/* Leaves what a process killed while it inserts the claim leaves. */
static inline struct sl_place leave_tentative(const struct sl_claim *claim, int64_t now_us)
{
    struct sl_probe probe = sl_claim_probe(&table, claim);
    struct sl_survey survey;
    struct sl_place place;
    enum sl_took took;
    do {
        sl_table_survey(&probe, now_us, &survey);
        took = sl_table_take(&probe, now_us, &survey, &place);
    } while (took == SL_TOOK_LOST); /* an extent was claimed */
    assert_int_equal(took, SL_TOOK);
    return place;
}

static inline void freeze(const struct sl_claim *claim)
{
    struct sl_place place = place_of(claim);
    assert_int_equal(sl_slot_kind(place.word.hi), SL_DATED_RING);
    place.slot->hi ^= (uint64_t)(SL_DATED_RING ^ SL_DATED_FROZEN) << SL_SLOT_KIND_SHIFT;
}

#endif
