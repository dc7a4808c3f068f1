/* Requests that were denied without asking Redis, and that burst guards there have yet to count:
 * sums, an account for each guard and identifier.
 *
 *   sl_guard_backlog_open    there is an account, or now there is one
 *   sl_guard_backlog_add     one more, in the guard's window
 *   sl_guard_backlog_take    what is to be reported, account by account: guard_flush.c
 *
 * Adding takes no lock. Opening and taking have a turn of their own, and who does not get it does
 * without: Redis is asked then, or it is reported a little later. */
#ifndef SL_STORE_CACHE_GUARD_BACKLOG_H
#define SL_STORE_CACHE_GUARD_BACKLOG_H

#include "store/store.h"

enum { SL_GUARD_BACKLOG_MAX = 4096, SL_GUARD_BACKLOG_NAME_MAX = 256 };

/* So many requests for a guard, in the window that began then by Redis' clock. */
struct sl_guard_backlog_sum {
    uint32_t account; /* for sl_guard_backlog_wake, with */
    uint32_t opening;
    struct sl_guard guard;
    char name[SL_GUARD_BACKLOG_NAME_MAX]; /* of the guard's key */
    size_t name_len;
    int64_t start_us;
    uint32_t count;
};

struct sl_guard_backlog;

/* NULL: no memory. */
struct sl_guard_backlog *sl_guard_backlog_new(void);
void sl_guard_backlog_free(struct sl_guard_backlog *backlog);

/* Can requests of this claim, which has a guard and a name, be counted later? False: Redis must
 * count this one itself. */
bool sl_guard_backlog_open(struct sl_guard_backlog *backlog, const struct sl_claim *claim);

/* One more, at now_us by Redis' clock. What of a window that is over was not taken is lost. */
void sl_guard_backlog_add(struct sl_guard_backlog *backlog, const struct sl_claim *claim,
                          int64_t now_us);

/* Is it time to report, by sl_boottime_us? */
bool sl_guard_backlog_is_due(const struct sl_guard_backlog *backlog, int64_t now_us);

/* Then one begins, and takes them; false: another does. */
bool sl_guard_backlog_begin(struct sl_guard_backlog *backlog, int64_t now_us);

/* The next one, round and round; false: all have been looked at once since it was begun. Accounts
 * that nobody uses any more are closed on the way. */
bool sl_guard_backlog_take(struct sl_guard_backlog *backlog, struct sl_guard_backlog_sum *out);

/* The guard has something to say: the next request is to be asked of Redis itself. */
void sl_guard_backlog_wake(struct sl_guard_backlog *backlog,
                           const struct sl_guard_backlog_sum *sum);

/* Accounts that are open. */
size_t sl_guard_backlog_held(const struct sl_guard_backlog *backlog);

#endif
