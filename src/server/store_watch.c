#include "server/store_watch.h"

#include <stdio.h>

#include "base/clock.h"
#include "store/channel.h"

static void tell(const struct sl_store_watch *watch, struct sl_store *store, struct sl_audit *audit)
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
    sl_audit_write(audit,
                   &(struct sl_audit_event){
                       .name = watch->is_down ? "store_unavailable" : "store_recovered",
                       .severity = watch->is_down ? "error" : "info",
                       .store = watch->name,
                       .reason = *why.text ? why.text : NULL,
                   },
                   sl_walltime_us());
}

/* Down: a breaker is not closed, or calls fail and none succeeds. Up: all are closed, and calls
 * succeed again or there are none. */
void sl_store_look(struct sl_store_watch *watch, struct sl_store *store, struct sl_audit *audit)
{
    struct sl_store_health health;
    if (!store->ops->health)
        return;
    store->ops->health(store, &health);
    uint64_t good = health.calls[SL_CALL_OK], bad = 0;
    for (size_t i = 0; i < SL_CALL_END_COUNT; i++)
        bad += i == SL_CALL_OK ? 0 : health.calls[i];
    bool is_open = health.breakers[SL_BREAKER_OPEN] + health.breakers[SL_BREAKER_HALF_OPEN] > 0;
    bool is_down = is_open || (bad > watch->bad && good == watch->good);
    watch->good = good;
    watch->bad = bad;
    if (is_down == watch->is_down)
        return;
    watch->is_down = is_down;
    tell(watch, store, audit);
}
