/* Token bucket: requests spend tokens, which are refilled evenly up to the capacity.
 *
 * Bursts up to the capacity pass at once, then requests pass at the refill
 * rate: at most C + t/T in any interval t. The arithmetic is in bucket.c. */
#include "algo/bucket.h"

const struct sl_algo sl_token_bucket = {
    .name = "token_bucket",
    .number = 4,
    .dating = SL_DATED_NS,
    .leases = true,
    .is_bucket = true,
    .takes_burst = true,
    .decide = sl_bucket_decide,
    .charge = sl_bucket_charge,
    .figures = sl_bucket_figures,
    .take = sl_bucket_take,
    .refund = sl_bucket_refund,
    .overcharge = sl_bucket_overcharge,
    .load = sl_bucket_load,
};
