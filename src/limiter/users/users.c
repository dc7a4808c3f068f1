/* Makes a trust score of what is known of a user and what a request says.
 *
 * A fact that cannot be read counts as not given: a token with an odd claim is no reason to deny,
 * and a missing fact never raises a score. */
#include "limiter/users/users.h"

#include "base/text/time.h"

/* Returns an attribute of the request; missing if the request has none. */
static struct sluice_text attribute_named(const struct sluice_request *request, const char *name)
{
    for (size_t i = 0; request && i < request->other_count; i++)
        if (sl_text_is(request->others[i].name, name))
            return request->others[i].value;
    return (struct sluice_text){ NULL, 0 };
}

static bool created_at(const struct sluice_request *request, const struct sl_user *user,
                       int64_t *out_us)
{
    if (sl_time_parse(attribute_named(request, "created_at"), out_us))
        return true;
    if (!user || !user->has_created_at)
        return false;
    *out_us = user->created_at_us;
    return true;
}

static bool email_is_verified(const struct sluice_request *request, const struct sl_user *user)
{
    struct sluice_text text = attribute_named(request, "email_verified");
    if (sl_text_is(text, "true"))
        return true;
    if (sl_text_is(text, "false"))
        return false;
    return user && user->has_email_verified && user->email_verified;
}

struct sl_trust_facts sl_user_facts(const struct sluice_request *request,
                                    const struct sl_user *user, int64_t now_us)
{
    struct sl_trust_facts facts = { .email_verified = email_is_verified(request, user) };
    int64_t created_us;
    if (created_at(request, user, &created_us) &&
        __builtin_sub_overflow(now_us, created_us, &facts.account_age_us))
        facts.account_age_us = created_us < 0 ? INT64_MAX : 0;
    facts.account_age_us = sl_max_i64(facts.account_age_us, 0);
    if (user) {
        facts.calls = user->calls;
        facts.successes = user->successes;
        facts.violations = user->violations;
    }
    return facts;
}

int32_t sl_user_trust(const struct sl_trust_weights *weights, const struct sluice_request *request,
                      const struct sl_user *user, int64_t now_us)
{
    if (!user && (!request || request->other_count == 0))
        return 0; /* common: an unknown user */
    struct sl_trust_facts facts = sl_user_facts(request, user, now_us);
    return sl_trust_score(weights, &facts);
}
