/* The one place that reads a clock, and sleeps by it. */
#ifndef SL_BASE_CLOCK_H
#define SL_BASE_CLOCK_H

#include <pthread.h>
#include <stdint.h>

/* Wall time at the moment it was opened, continued by a clock that cannot be
 * set and that counts while the machine sleeps. */
struct sl_clock {
    int64_t offset_us;
};

void sl_clock_open(struct sl_clock *clock);
int64_t sl_clock_now_us(const struct sl_clock *clock);

/* Time since the machine was started, including sleep. This clock cannot be set. */
int64_t sl_boottime_us(void);

/* The wall clock: for people, and to start a table's clock from. */
int64_t sl_walltime_us(void);

/* For measuring durations. */
int64_t sl_monotonic_ns(void);

/* Blocks this thread for at least that long by sl_boottime_us, despite signals. */
void sl_sleep_us(int64_t us);

/* Waits for `wake`, at most that long, even if the wall clock is set meanwhile. */
void sl_wait_init(pthread_cond_t *wake);
void sl_wait_us(pthread_cond_t *wake, pthread_mutex_t *lock, int64_t at_most_us);

/* Waits for the thread's end, at most that long, then detaches it. */
void sl_join_us(pthread_t thread, int64_t at_most_us);

#endif
