/* A user's facts: from the registry's record, and as a decision reads them. */
#include "registry/users/user_facts.h"

#include <string.h>

static uint8_t flags_of(const struct sl_user_record *record)
{
    uint8_t flags = SL_FACT_RECORD;
    if (record->has_created_at)
        flags |= SL_FACT_CREATED_AT;
    if (record->has_email_verified)
        flags |= SL_FACT_EMAIL;
    if (record->has_email_verified && record->email_verified)
        flags |= SL_FACT_EMAIL_VERIFIED;
    return flags;
}

void sl_facts_take_record(struct sl_facts *facts, const struct sl_user_record *record)
{
    size_t tier_len = record->tier ? strlen(record->tier) : 0;
    facts->flags = (facts->flags & SL_FACT_EXEMPT) | flags_of(record);
    facts->created_at_us = record->has_created_at ? record->created_at_us : 0;
    facts->tier_len = tier_len <= sizeof facts->tier ? (uint8_t)tier_len : 0;
    memset(facts->tier, 0, sizeof facts->tier);
    if (facts->tier_len)
        memcpy(facts->tier, record->tier, facts->tier_len);
    facts->own = 0;
    facts->own_count = 0;
}

bool sl_facts_exempt(const struct sl_facts *facts, int64_t now_us)
{
    return facts->flags & SL_FACT_EXEMPT &&
           (facts->exempt_until_us == 0 || now_us < facts->exempt_until_us);
}

static void show_record(const struct sl_facts *facts, struct sl_user *out)
{
    out->has_created_at = facts->flags & SL_FACT_CREATED_AT;
    out->created_at_us = facts->created_at_us;
    out->has_email_verified = facts->flags & SL_FACT_EMAIL;
    out->email_verified = facts->flags & SL_FACT_EMAIL_VERIFIED;
    if (facts->tier_len)
        memcpy(out->tier, facts->tier, facts->tier_len);
    out->tier[facts->tier_len] = '\0';
}

/* An exemption that is over, and days of long ago, do not count. */
bool sl_facts_show(const struct sl_facts *facts, int64_t now_us, struct sl_user *out)
{
    struct sl_days_sum sum = sl_days_sum(&facts->days, now_us / SL_DAY_US);
    show_record(facts, out);
    out->is_exempt = sl_facts_exempt(facts, now_us);
    out->calls = sum.calls;
    out->successes = sum.successes;
    out->violations = sum.violations;
    out->violated_minute = (int64_t)facts->days.violated - 1;
    return facts->flags & SL_FACT_RECORD || out->is_exempt || sum.calls || sum.violations;
}
