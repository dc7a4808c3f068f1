#include "base/clock.h"

#include <time.h>

static int64_t read_ns(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void sl_clock_open(struct sl_clock *clock)
{
    clock->offset_us = read_ns(CLOCK_REALTIME) / 1000 - read_ns(CLOCK_BOOTTIME) / 1000;
}

int64_t sl_clock_now_us(const struct sl_clock *clock)
{
    return read_ns(CLOCK_BOOTTIME) / 1000 + clock->offset_us;
}

int64_t sl_monotonic_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}
