/* Flushes the guard backlog to Redis. Each account is a call of its own, because each has a key of
 * its own. A flush only adds: warnings and blocks are given to requests, with a name in the audit
 * log. So where the count is over the guard's threshold, Redis says so, and the next request of
 * that key is asked of Redis itself.
 *
 * A flush that is lost is not sent again: it may have been counted. */
#include "store/redis/guard_flush.h"

#include <stdlib.h>

#include "base/clock.h"
#include "store/cache/guard_backlog.h"
#include "store/redis/ask.h"

enum { SUMS_MAX = 256 }; /* at a time; the others come first the next time */

struct flush {
    struct sl_channel_call call; /* first */
    struct sl_guard_backlog *backlog;
    struct sl_guard_backlog_sum sum;
};

static void on_flushed(struct sl_channel_call *call)
{
    struct flush *flush = (struct flush *)call;
    if (call->status == SLUICE_OK && call->said == 1)
        sl_guard_backlog_wake(flush->backlog, &flush->sum);
    sl_buffer_release(&call->bytes);
    free(flush);
}

/* Returns false if there is no memory. */
static bool send_sum(struct sl_channel *channel, struct sl_scripts *scripts, struct flush *flush)
{
    struct sl_channel_call *call = &flush->call;
    call->bytes = sl_buffer(1 << 12);
    call->query.is_quiet = true;
    call->done = on_flushed;
    if (sl_ask_count(scripts, &flush->sum, &call->bytes, &call->query)) {
        sl_channel_call(channel, call);
        return true;
    }
    sl_buffer_release(&call->bytes);
    free(flush);
    return false;
}

void sl_guard_flush(struct sl_channel *channel, struct sl_scripts *scripts,
                    struct sl_guard_backlog *backlog)
{
    bool good = true;
    if (!sl_guard_backlog_begin(backlog, sl_boottime_us()))
        return;
    for (size_t i = 0; good && i < SUMS_MAX; i++) {
        struct flush *flush = calloc(1, sizeof *flush);
        if (!flush)
            return;
        flush->backlog = backlog;
        if (!sl_guard_backlog_take(backlog, &flush->sum)) {
            free(flush);
            return;
        }
        good = send_sum(channel, scripts, flush);
    }
}
