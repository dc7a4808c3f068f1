/* The machine's clocks, moved by hand: what base/clock.c reads is what a test
 * has put here. Any program may define clock_gettime; libc's is then not asked. */
#ifndef TEST_STORE_HAND_CLOCK_H
#define TEST_STORE_HAND_CLOCK_H

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "unit/base/unit.h"

static int64_t boot_us = INT64_C(1000000000);
static int64_t wall_us = INT64_C(1700000000000000);

/* Called before each reading of the boot clock, if it is not NULL. */
static void (*before_reading)(void);

static inline void pass_us(int64_t us)
{
    boot_us += us;
    wall_us += us;
}

int clock_gettime(clockid_t id, struct timespec *now)
{
    if (id != CLOCK_BOOTTIME && id != CLOCK_REALTIME)
        return (int)syscall(SYS_clock_gettime, id, now);
    if (id == CLOCK_BOOTTIME && before_reading)
        before_reading();
    int64_t us = id == CLOCK_BOOTTIME ? boot_us : wall_us;
    *now = (struct timespec){ us / 1000000, us % 1000000 * 1000 };
    return 0;
}

#endif
