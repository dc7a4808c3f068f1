/* Each account is a call of its own, because each is on a key of its own. It only adds: who is
 * warned, or blocked, is a request, with a name in the audit log. So where the count is over what
 * the guard allows, Redis says so, and the next request of that key is asked of Redis itself.
 *
 * A report that is lost is not sent again: it may have been counted. */
#include "store/redis/guard_flush.h"

#include <stdlib.h>

#include "base/clock.h"
#include "store/cache/guard_backlog.h"
#include "store/redis/ask.h"

enum { REPORTS_MAX = 256 }; /* at a time; those that are left come first the next time */

struct report {
    struct sl_channel_call call; /* first */
    struct sl_guard_backlog *backlog;
    struct sl_guard_backlog_sum sum;
};

static void on_reported(struct sl_channel_call *call)
{
    struct report *report = (struct report *)call;
    if (call->status == SLUICE_OK && call->said == 1)
        sl_guard_backlog_wake(report->backlog, &report->sum);
    sl_buffer_release(&call->bytes);
    free(report);
}

/* False: no memory. */
static bool send_one(struct sl_channel *channel, struct sl_scripts *scripts, struct report *report)
{
    struct sl_channel_call *call = &report->call;
    call->bytes = sl_buffer(1 << 12);
    call->query.is_quiet = true;
    call->done = on_reported;
    if (sl_ask_count(scripts, &report->sum, &call->bytes, &call->query)) {
        sl_channel_call(channel, call);
        return true;
    }
    sl_buffer_release(&call->bytes);
    free(report);
    return false;
}

void sl_guard_flush(struct sl_channel *channel, struct sl_scripts *scripts,
                    struct sl_guard_backlog *backlog)
{
    bool good = true;
    if (!sl_guard_backlog_begin(backlog, sl_boottime_us()))
        return;
    for (size_t i = 0; good && i < REPORTS_MAX; i++) {
        struct report *report = calloc(1, sizeof *report);
        if (!report)
            return;
        report->backlog = backlog;
        if (!sl_guard_backlog_take(backlog, &report->sum)) {
            free(report);
            return;
        }
        good = send_one(channel, scripts, report);
    }
}
