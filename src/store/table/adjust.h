/* Adjusting a state without a decision: refund, overcharge, forget. */
#ifndef SL_STORE_TABLE_ADJUST_H
#define SL_STORE_TABLE_ADJUST_H

#include "store/claim.h"
#include "store/store.h"
#include "store/table/table_log.h"

/* Returns the search for a claim's state. */
static inline struct sl_probe sl_claim_probe(struct sl_table *table, const struct sl_claim *claim)
{
    struct sl_probe probe = sl_probe(table, claim->key, sl_dating_of(claim->algo, &claim->limit));
    if (claim->algo->keeps_ring) {
        int64_t len = sl_max_i64(claim->ring_len, claim->limit.capacity);
        probe.ring_len = sl_ring_class((uint32_t)sl_max_i64(len, 1));
    }
    return probe;
}

/* Both return a status. now_us -1: by the table's clock. */
int sl_adjust_refund(struct sl_table *table, const struct sl_claim *claim, struct sl_charge charge,
                     int64_t now_us);
int sl_adjust_overcharge(struct sl_table *table, const struct sl_claim *claim, uint32_t cost,
                         int64_t now_us);

/* Deletes the claim's state and its guard's. */
void sl_adjust_forget(struct sl_table *table, const struct sl_claim *claim);

#endif
