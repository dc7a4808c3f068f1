/* Looks up the user of a request. Exemptions, accounts and days are dated by the wall clock, which
 * a store's own clock need not be, and which is read only to look up a user. A request with a time
 * of its own is looked up as of that time, so that a replay finds what a live decision would have
 * found then. */
#include "limiter/user_context.h"

#include "base/clock.h"

static int64_t now_us(struct sl_user_context *context, const struct sluice_request *request)
{
    if (request->at_us >= 0)
        return request->at_us;
    if (!context->wall_is_read) {
        context->wall_us = sl_walltime_us();
        context->wall_is_read = true;
    }
    return context->wall_us;
}

static void set_tier(const struct sl_user_context *context, const struct sl_ruleset *rules,
                     struct sl_caller_keys *caller)
{
    if (!sl_text_missing(caller->request.tier) || !context->user.tier[0])
        return;
    caller->request.tier = sl_text(context->user.tier);
    caller->tier = sl_ruleset_tier(rules, caller->request.tier);
}

static bool find_user(struct sl_user_context *context, const struct sluice_request *request)
{
    struct sl_users *users = context->users;
    return !sl_text_missing(request->user) &&
           atomic_load_explicit(&users->count, memory_order_relaxed) > 0 &&
           users->ops->find(users, request->tenant, request->user, now_us(context, request),
                            &context->user);
}

void sl_user_context_meet(struct sl_user_context *context, const struct sl_ruleset *rules,
                          struct sl_caller_keys *caller)
{
    context->is_known = find_user(context, &caller->request);
    context->is_exempt = context->is_known && context->user.is_exempt;
    context->minutes = context->is_known ? context->user.violated_minute + 1 : 0;
    if (context->is_known)
        set_tier(context, rules, caller);
}

int32_t sl_user_context_trust(struct sl_user_context *context, const struct sl_ruleset *rules,
                              const struct sl_caller_keys *caller)
{
    const struct sluice_request *request = &caller->request;
    if (!context->is_known && request->other_count == 0)
        return 0; /* no fact needs the clock */
    return sl_user_trust(&rules->settings.trust, request, context->is_known ? &context->user : NULL,
                         now_us(context, request));
}
