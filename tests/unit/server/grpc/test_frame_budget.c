#include "server/grpc/frame_budget.h"

#include "unit/base/unit.h"

/* How many frames of that price are borne, one every `apart_ms`; up to `most`. */
static int64_t borne(int32_t price, uint64_t apart_ms, int64_t most)
{
    struct sl_patience patience = sl_patience(5000);
    uint64_t now_ms = 5000;
    int64_t count = 0;
    while (count < most && sl_patience_take(&patience, price, now_ms)) {
        now_ms += apart_ms;
        count++;
    }
    return count;
}

static void it_ends_after_so_much_at_once(void **unused)
{
    (void)unused;
    SAME("frames", borne(SL_PATIENCE_FRAME, 0, 10000), 1000);
    SAME("resets", borne(SL_PATIENCE_RESET, 0, 10000), 500);
    SAME("settings", borne(SL_PATIENCE_SETTINGS, 0, 10000), 100);
}

static void time_brings_it_back(void **unused)
{
    (void)unused;
    SAME("100 a second", borne(SL_PATIENCE_FRAME, 10, 100000), 100000);
    SAME("one a millisecond", borne(SL_PATIENCE_FRAME, 1, 100000), 1111);
    SAME("three a time", borne(3, 10, 100000), 499);
}

static void it_never_grows_beyond_its_start(void **unused)
{
    (void)unused;
    struct sl_patience patience = sl_patience(0);
    sl_patience_give(&patience, INT32_C(1000000));
    SAME("given", patience.left, SL_PATIENCE_MAX);
    assert_true(sl_patience_take(&patience, 0, UINT64_MAX / 2));
    SAME("by time", patience.left, SL_PATIENCE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(it_ends_after_so_much_at_once),
        CLAIM(time_brings_it_back),
        CLAIM(it_never_grows_beyond_its_start),
    };
    return RUN(tests);
}
