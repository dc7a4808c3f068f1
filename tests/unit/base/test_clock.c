#include "base/clock.h"

#include <time.h>

#include "unit/base/unit.h"

TEST(a_clock_tells_wall_time_and_never_steps_back)
{
    struct sl_clock clock;
    int64_t before_s = (int64_t)time(NULL);
    sl_clock_open(&clock);
    int64_t last_us = sl_clock_now_us(&clock);
    /* Within a minute: time() may be stepped while the test runs. */
    assert_in_range(last_us, (before_s - 60) * 1000000, (before_s + 60) * 1000000);
    for (int i = 0; i < 10000; i++) {
        int64_t now_us = sl_clock_now_us(&clock);
        assert_true(now_us >= last_us);
        last_us = now_us;
    }
}

TEST(monotonic_time_goes_on)
{
    int64_t first_ns = sl_monotonic_ns();
    assert_true(sl_monotonic_ns() >= first_ns);
}

TEST(a_sleep_is_never_shorter)
{
    static const int64_t sleeps_us[] = { INT64_MIN, -1, 0, 1, 1000, 3000 };
    for (size_t i = 0; i < COUNT(sleeps_us); i++) {
        int64_t start_us = sl_boottime_us();
        sl_sleep_us(sleeps_us[i]);
        assert_true(sl_boottime_us() - start_us >= sleeps_us[i]);
    }
}
