/* The names of versions, statuses and reasons. */
#include "lib/handles.h"

#include "wire/json/decision.h"

const char *sluice_version(void)
{
    return SLUICE_VERSION;
}

const char *sluice_status_text(int status)
{
    switch (status) {
#define CASE(constant, number, text)                                                               \
    case constant:                                                                                 \
        return text;
        SLUICE_STATUSES(CASE)
#undef CASE
    default:
        return "no status of this version";
    }
}

const char *sluice_reason_name(enum sluice_reason reason)
{
#define ONE(constant, name) +1
    enum { COUNT = SLUICE_REASONS(ONE) };
#undef ONE
    return (unsigned)reason < COUNT ? sl_reason_name(reason) : "no reason of this version";
}
