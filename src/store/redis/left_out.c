/* Decides without claims that the store did not answer. */
#include "store/redis/left_out.h"

#include "base/check.h"
#include "base/clock.h"
#include "store/claim.h"

void sl_claim_leave_out(struct sl_claim *claim, struct sl_bundle *bundle)
{
    struct sl_state nothing = { 0 };
    claim->guard_answer = (struct sl_guard_answer){ 0 };
    sl_claim_decide(claim, bundle, &nothing);
    claim->charged = false;
    claim->allowed = claim->is_lost = true;
    sl_claim_measure(claim, bundle, &nothing);
    bundle->is_degraded = true;
    SL_CHECK(claim->allowed && !claim->charged);
}

int64_t sl_bundle_time_here_us(const struct sl_bundle *bundle)
{
    for (size_t i = 0; i < bundle->claim_count; i++)
        if (bundle->claims[i].is_here)
            return bundle->claims[i].answer.as_of_us;
    return sl_walltime_us();
}

bool sl_bundle_decide_without(struct sl_bundle *bundle)
{
    bool has_any = false;
    SL_CHECK(bundle->claims || bundle->claim_count == 0);
    for (size_t i = 0; i < bundle->claim_count; i++) {
        const struct sl_claim *claim = &bundle->claims[i];
        if (sl_claim_is_asked(claim) && !sl_claim_may_be_left_out(claim))
            return false;
        has_any |= claim->is_here && !claim->shadow;
    }
    if (!has_any)
        return false;
    if (bundle->now_us < 0)
        bundle->now_us = sl_bundle_time_here_us(bundle);
    bundle->wall_shift_us = 0;
    bundle->held = 0;
    bundle->status = SLUICE_OK;
    for (size_t i = 0; i < bundle->claim_count; i++)
        if (sl_claim_is_asked(&bundle->claims[i]))
            sl_claim_leave_out(&bundle->claims[i], bundle);
    sl_bundle_judge(bundle);
    return true;
}
