/* The guard backlog: requests that were denied without asking Redis, and that burst guards there
 * have yet to count. They are summed up, in an account for each guard and identifier.
 *
 *   sl_guard_backlog_open    finds or opens the account
 *   sl_guard_backlog_add     adds one request, in the guard's window
 *   sl_guard_backlog_take    takes the sums to flush, account by account: guard_flush.c
 *
 * Adding takes no lock. Opening and taking share a lock that no thread waits for: a thread that
 * does not get it asks Redis instead, or flushes a little later. */
#ifndef SL_STORE_CACHE_GUARD_BACKLOG_H
#define SL_STORE_CACHE_GUARD_BACKLOG_H

#include "store/store.h"

enum { SL_GUARD_BACKLOG_MAX = 4096, SL_GUARD_BACKLOG_NAME_MAX = 256 };

/* The requests for one guard in one window. */
struct sl_guard_backlog_sum {
    uint32_t account; /* with `opening`: for sl_guard_backlog_wake */
    uint32_t opening;
    struct sl_guard guard;
    char name[SL_GUARD_BACKLOG_NAME_MAX]; /* of the guard's key */
    size_t name_len;
    int64_t start_us; /* of the window, by Redis' clock */
    uint32_t count;
};

struct sl_guard_backlog;

/* Returns NULL if there is no memory. */
struct sl_guard_backlog *sl_guard_backlog_new(void);
void sl_guard_backlog_free(struct sl_guard_backlog *backlog);

/* Makes sure that requests of this claim, which has a guard, can be counted later. Returns false if
 * Redis must count this one itself. */
bool sl_guard_backlog_open(struct sl_guard_backlog *backlog, const struct sl_claim *claim);

/* Adds one request, at now_us by Redis' clock. A sum of an earlier window that was not taken is
 * lost.
 */
void sl_guard_backlog_add(struct sl_guard_backlog *backlog, const struct sl_claim *claim,
                          int64_t now_us);

/* Is it time to flush, by sl_boottime_us? */
bool sl_guard_backlog_is_due(const struct sl_guard_backlog *backlog, int64_t now_us);

/* Begins a flush. Returns false if it is not time, or if another thread does it. */
bool sl_guard_backlog_begin(struct sl_guard_backlog *backlog, int64_t now_us);

/* Takes the next sum, in a circle through all accounts. Returns false if all accounts were visited
 * since the flush began. Closes accounts that have been idle for long. */
bool sl_guard_backlog_take(struct sl_guard_backlog *backlog, struct sl_guard_backlog_sum *out);

/* The guard is about to warn or block: the next request of this account must be asked of Redis. */
void sl_guard_backlog_wake(struct sl_guard_backlog *backlog,
                           const struct sl_guard_backlog_sum *sum);

/* Returns the number of open accounts. */
size_t sl_guard_backlog_held(const struct sl_guard_backlog *backlog);

#endif
