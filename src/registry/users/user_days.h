/* A user's days: calls and how they ended, and violations. Pure. */
#ifndef SL_REGISTRY_USERS_USER_DAYS_H
#define SL_REGISTRY_USERS_USER_DAYS_H

#include <stdbool.h>
#include <stdint.h>

#define SL_DAY_US INT64_C(86400000000)

enum { SL_OUTCOME_DAYS = 7, SL_VIOLATION_DAYS = 30 }; /* today and those before */
enum { SL_OUTCOME_SLOTS = 8, SL_VIOLATION_SLOTS = 32 };

/* All zero: nothing has happened. */
struct sl_days {
    uint32_t violated;         /* the minute of the last violation, since 1970, plus 1; 0: none */
    uint16_t outcomes_until;   /* the newest day, since 1970, plus 1; 0: none */
    uint16_t violations_until; /* the same */
    struct {
        uint32_t calls, successes;
    } outcomes[SL_OUTCOME_SLOTS];
    uint16_t violations[SL_VIOLATION_SLOTS];
};

struct sl_days_sum {
    uint64_t calls, successes, violations;
};

/* The day is today, by any instance's clock. */
void sl_days_add_outcomes(struct sl_days *days, int64_t day, uint64_t calls, uint64_t successes);

/* Returns true if that minute is a violation that is not counted yet. */
bool sl_days_is_news(const struct sl_days *days, int64_t minute);
void sl_days_add_violation(struct sl_days *days, int64_t minute);

/* Replaces the outcomes of a day, which may be long ago. */
void sl_days_put_outcomes(struct sl_days *days, int64_t day, uint64_t calls, uint64_t successes);
/* Raises a day's violations to at least so many, the last of them in that minute (-1: there is
 * none). */
void sl_days_put_violations(struct sl_days *days, int64_t day, uint64_t violations,
                            int64_t last_minute);

/* The sum of today and the 6 (29) days before; later days do not count. */
struct sl_days_sum sl_days_sum(const struct sl_days *days, int64_t today);

/* The newest day with a count, or -1. */
int64_t sl_days_newest(const struct sl_days *days);

#endif
