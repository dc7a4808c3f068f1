/* Watching whether the store answers: see store_watch.h. */
#include "server/figures/store_watch.h"

#include <stdio.h>

#include "base/clock.h"
#include "store/redis/channel.h"

static void log_change(const struct sl_store_watch *watch, struct sl_store *store,
                       struct sl_audit *audit)
{
    struct sluice_error why = { 0 };
    if (watch->is_down) {
        store->ops->why(store, &why);
        fprintf(stderr,
                "sluice: the store does not answer (%s); answering as `on_store_failure` "
                "says\n",
                why.text);
    } else {
        fprintf(stderr, "sluice: the store is back\n");
    }
    struct sl_audit_figure figures[] = {
        { .name = "store", .type = SL_FIGURE_TEXT, .text = sl_text(watch->name) },
        { .name = "reason", .type = SL_FIGURE_TEXT, .text = sl_text(why.text) },
    };
    sl_audit_write(
        audit,
        &(struct sl_audit_event){
            .kind = watch->is_down ? SL_AUDIT_STORE_UNAVAILABLE : SL_AUDIT_STORE_RECOVERED,
            .figures = figures,
            .figure_count = *why.text ? 2 : 1,
        },
        sl_walltime_us());
}

static uint64_t failed_calls(const struct sl_store_health *health)
{
    uint64_t bad = 0;
    for (size_t i = 0; i < SL_CALL_END_COUNT; i++)
        bad += i == SL_CALL_OK ? 0 : health->calls[i];
    return bad;
}

/* The store is down if a breaker is open, or was open since the last look; if all calls fail, or
 * one in ten; or if calls fail because Redis is out of memory, though reads may still succeed. It
 * is up again when all breakers have closed, after their probes, or when calls succeed. Without
 * calls nothing changes. */
static bool is_down(struct sl_store_watch *watch, const struct sl_store_health *health)
{
    uint64_t good = health->calls[SL_CALL_OK], bad = failed_calls(health);
    uint64_t full = health->errors[SL_REDIS_OOM], all = bad - watch->bad + good - watch->good;
    bool is_open = health->breakers[SL_BREAKER_OPEN] + health->breakers[SL_BREAKER_HALF_OPEN] > 0;
    bool trips = health->trips > watch->trips;
    bool fails =
        bad > watch->bad && (10 * (bad - watch->bad) >= all || full > watch->full || trips);
    bool succeeds = good > watch->good;
    watch->good = good;
    watch->bad = bad;
    watch->full = full;
    watch->trips = health->trips;
    watch->was_open |= is_open || trips;
    if (is_open || fails)
        return true;
    return watch->is_down && !watch->was_open && !succeeds;
}

void sl_store_look(struct sl_store_watch *watch, struct sl_store *store, struct sl_audit *audit)
{
    struct sl_store_health health;
    if (!store->ops->health)
        return;
    store->ops->health(store, &health);
    bool was_down = watch->is_down;
    watch->is_down = is_down(watch, &health);
    if (!watch->is_down)
        watch->was_open = false;
    if (watch->is_down != was_down)
        log_change(watch, store, audit);
}
