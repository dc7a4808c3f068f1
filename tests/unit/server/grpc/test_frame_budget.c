#include "server/grpc/frame_budget.h"

#include "unit/base/unit.h"

/* How many frames of that price are borne, one every `apart_ms`; up to `most`. */
static int64_t borne(int32_t price, uint64_t apart_ms, int64_t most)
{
    struct sl_frame_budget budget = sl_frame_budget(5000);
    uint64_t now_ms = 5000;
    int64_t count = 0;
    while (count < most && sl_frame_budget_take(&budget, price, now_ms)) {
        now_ms += apart_ms;
        count++;
    }
    return count;
}

TEST(it_ends_after_so_much_at_once)
{
    SAME("frames", borne(SL_FRAME_BUDGET_FRAME, 0, 10000), 1000);
    SAME("resets", borne(SL_FRAME_BUDGET_RESET, 0, 10000), 500);
    SAME("settings", borne(SL_FRAME_BUDGET_SETTINGS, 0, 10000), 100);
}

TEST(time_brings_it_back)
{
    SAME("100 a second", borne(SL_FRAME_BUDGET_FRAME, 10, 100000), 100000);
    SAME("one a millisecond", borne(SL_FRAME_BUDGET_FRAME, 1, 100000), 1111);
    SAME("three a time", borne(3, 10, 100000), 499);
}

TEST(it_never_grows_beyond_its_start)
{
    struct sl_frame_budget budget = sl_frame_budget(0);
    sl_frame_budget_give(&budget, INT32_C(1000000));
    SAME("given", budget.left, SL_FRAME_BUDGET_MAX);
    assert_true(sl_frame_budget_take(&budget, 0, UINT64_MAX / 2));
    SAME("by time", budget.left, SL_FRAME_BUDGET_MAX);
}
