/* Reads the clocks, and waits by them. */
#include "base/clock.h"

#include <errno.h>
#include <time.h>

static int64_t read_ns(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Every decision calls this: seconds and nanoseconds are converted apart, which saves a long
 * division. */
int64_t sl_boottime_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + (uint32_t)now.tv_nsec / 1000;
}

int64_t sl_walltime_us(void)
{
    return read_ns(CLOCK_REALTIME) / 1000;
}

void sl_clock_open(struct sl_clock *clock)
{
    clock->offset_us = sl_walltime_us() - sl_boottime_us();
}

int64_t sl_clock_now_us(const struct sl_clock *clock)
{
    return sl_boottime_us() + clock->offset_us;
}

int64_t sl_monotonic_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

/* Sleeps until a moment, not for a time: after a signal there is nothing to add up. */
void sl_sleep_us(int64_t us)
{
    if (us <= 0)
        return;
    int64_t until_ns = read_ns(CLOCK_BOOTTIME) + us * 1000;
    struct timespec until = { until_ns / 1000000000, until_ns % 1000000000 };
    while (clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &until, NULL) == EINTR)
        continue;
}

void sl_wait_init(pthread_cond_t *wake)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(wake, &attributes);
    pthread_condattr_destroy(&attributes);
}

void sl_join_us(pthread_t thread, int64_t at_most_us)
{
    int64_t until_ns = read_ns(CLOCK_MONOTONIC) + at_most_us * 1000;
    struct timespec until = { until_ns / 1000000000, until_ns % 1000000000 };
    if (pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until) != 0)
        pthread_detach(thread);
}

void sl_wait_us(pthread_cond_t *wake, pthread_mutex_t *lock, int64_t at_most_us)
{
    int64_t until_ns = read_ns(CLOCK_MONOTONIC) + at_most_us * 1000;
    struct timespec until = { until_ns / 1000000000, until_ns % 1000000000 };
    pthread_cond_timedwait(wake, lock, &until);
}
