/* A holder whose clock is ours, and a store that says what it is told to. */
#ifndef TEST_STORE_LEASES_H
#define TEST_STORE_LEASES_H

#include "algo/bucket.h"
#include "store/lease/lease.h"
#include "unit/base/unit.h"

#define S  INT64_C(1000000)
#define MS INT64_C(1000)

/* The store's clock is ahead of ours by so much. */
#define AHEAD_US (1700000000 * S)

static struct sl_leases *leases;

static inline int open_leases(void **unused)
{
    (void)unused;
    leases = sl_leases_new();
    return leases ? 0 : -1;
}

static inline int close_leases(void **unused)
{
    (void)unused;
    sl_leases_free(leases);
    return 0;
}

static const struct sl_claim_name name = { .key = { "rl:-:world:{-}", 14 } };

static inline struct sl_claim fixed_claim(uint64_t key, int64_t capacity)
{
    return (struct sl_claim){ .algo = &sl_fixed_window,
                              .limit = { .capacity = capacity, .window_us = 3600 * S },
                              .key = { key, ~key },
                              .lease = SL_LEASE_BY_DEMAND,
                              .rule = 7,
                              .name = &name };
}

static inline struct sl_claim bucket_claim(uint64_t key, int64_t capacity)
{
    struct sl_claim claim = fixed_claim(key, capacity);
    claim.algo = &sl_token_bucket;
    claim.limit.window_us = 0;
    claim.limit.token_ns = 1000000;
    claim.limit.token_form = sl_token_short(1000000);
    return claim;
}

/* Takes so much, if it is there. */
static inline bool takes(struct sl_claim *claim, int64_t now_us, uint32_t cost)
{
    int64_t ahead_us;
    return sl_leases_take(leases, claim, (struct sl_ask){ now_us, cost }, &ahead_us,
                          sl_lease_ticket_of(claim));
}

/* A request that found nothing here. */
static inline struct sl_lease *wants(struct sl_claim *claim, int64_t now_us, uint32_t cost)
{
    return sl_leases_want(leases, claim, (struct sl_ask){ now_us, cost }, 0);
}

/* The answer of a script that ran at that moment of ours, for a term of the second after next. */
static inline struct sl_lease_reply reply_at(int64_t ran_us, uint32_t granted)
{
    int64_t now_us = ran_us + AHEAD_US, term_us = now_us / S * S + 2 * S;
    return (struct sl_lease_reply){ .now_us = now_us,
                                    .is_known = true,
                                    .granted = granted,
                                    .term_us = term_us,
                                    .end_us = term_us,
                                    .out = granted,
                                    .told = { now_us / S * S, 0, 0 } };
}

/* The claim is busy: a call for it. */
static inline struct sl_lease *call_for(struct sl_claim *claim, int64_t now_us)
{
    struct sl_lease *lease = NULL;
    for (int i = 0; i < 200 && !lease; i++)
        lease = wants(claim, now_us, 8);
    assert_non_null(lease);
    return lease;
}

/* It has been lent so much in a call at now_us. */
static inline struct sl_lease *lend(struct sl_claim *claim, int64_t now_us, uint32_t granted)
{
    struct sl_lease *lease = call_for(claim, now_us);
    struct sl_lease_reply reply = reply_at(now_us, granted);
    sl_lease_answer(leases, lease, &reply, now_us);
    return lease;
}

/* The same, of so much that was left: of a window that began that second, or of a bucket. */
static inline struct sl_lease *lend_of(struct sl_claim *claim, int64_t now_us, uint32_t granted,
                                       int64_t left)
{
    struct sl_lease *lease = call_for(claim, now_us);
    struct sl_lease_reply reply = reply_at(now_us, granted);
    int64_t used = claim->limit.capacity - left;
    if (claim->algo->is_bucket)
        memcpy(reply.told,
               (int64_t[]){ used * claim->limit.token_ns, reply.now_us, claim->limit.token_ns },
               sizeof reply.told);
    else
        reply.told[1] = used;
    sl_lease_answer(leases, lease, &reply, now_us);
    return lease;
}

#endif
