/* The one place that reads a clock. */
#ifndef SL_BASE_CLOCK_H
#define SL_BASE_CLOCK_H

#include <stdint.h>

/* Wall time as of the moment it was opened, going on by a clock that nobody
 * can step and that counts while the machine sleeps. */
struct sl_clock {
    int64_t offset_us;
};

void sl_clock_open(struct sl_clock *clock);
int64_t sl_clock_now_us(const struct sl_clock *clock);

/* For measuring how long something took. */
int64_t sl_monotonic_ns(void);

#endif
