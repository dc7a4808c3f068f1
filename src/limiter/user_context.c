/* Exemptions, accounts and days are dated by the wall clock, which a store's own clock
 * need not be, and which is read only where somebody is to be looked up. A request with
 * a time of its own is asked for as of that time, so that a replay finds what a live
 * decision would have found then. */
#include "limiter/user_context.h"

#include "base/clock.h"

static int64_t now_us(struct sl_known *known, const struct sluice_request *request)
{
    if (request->at_us >= 0)
        return request->at_us;
    if (!known->wall_is_read) {
        known->wall_us = sl_walltime_us();
        known->wall_is_read = true;
    }
    return known->wall_us;
}

static void take_tier(const struct sl_known *known, const struct sl_ruleset *rules,
                      struct sl_asker *asker)
{
    if (!sl_text_missing(asker->request.tier) || !known->person.tier[0])
        return;
    asker->request.tier = sl_text(known->person.tier);
    asker->tier = sl_ruleset_tier(rules, asker->request.tier);
}

static bool find(struct sl_known *known, const struct sluice_request *request)
{
    struct sl_people *people = known->people;
    return !sl_text_missing(request->user) &&
           atomic_load_explicit(&people->count, memory_order_relaxed) > 0 &&
           people->ops->find(people, request->tenant, request->user, now_us(known, request),
                             &known->person);
}

void sl_known_meet(struct sl_known *known, const struct sl_ruleset *rules, struct sl_asker *asker)
{
    known->is_somebody = find(known, &asker->request);
    known->is_exempt = known->is_somebody && known->person.is_exempt;
    known->minutes = known->is_somebody ? known->person.violated_minute + 1 : 0;
    if (known->is_somebody)
        take_tier(known, rules, asker);
}

int32_t sl_known_trust(struct sl_known *known, const struct sl_ruleset *rules,
                       const struct sl_asker *asker)
{
    const struct sluice_request *request = &asker->request;
    if (!known->is_somebody && request->other_count == 0)
        return 0; /* nothing to read the clock for */
    return sl_person_trust(&rules->settings.trust, request,
                           known->is_somebody ? &known->person : NULL, now_us(known, request));
}
