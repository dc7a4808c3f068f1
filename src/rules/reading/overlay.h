/* The overlay on top of a rules file: the changes that were made through the API.
 *
 * A rules file and an overlay are read together into one ruleset, by the same
 * readers and checks, so that a rule means the same in either place. The
 * overlay's rules and tiers are JSON objects with the keys of the file; numbers are
 * read from their text, never through floating point. */
#ifndef SL_RULES_READING_OVERLAY_H
#define SL_RULES_READING_OVERLAY_H

#include "rules/ruleset.h"

/* A rule, or (json NULL) the hiding of the file's rule of that name. */
struct sl_overlay_rule {
    const char *name;
    const char *tenant; /* the tenant whose own rule it is; NULL: a rule for all */
    const char *json;   /* an object */
    uint64_t revision;  /* of its last change; greater than 0 */
};

/* A tier, or (json NULL) the hiding of the file's tier. */
struct sl_overlay_tier {
    const char *name;
    const char *json;
    uint64_t revision;
};

/* SL_EXEMPT_USER is not used here: limiter/users/users.h finds exempt users. */
enum sl_exempt_kind { SL_EXEMPT_USER, SL_EXEMPT_CLIENT, SL_EXEMPT_IP, SL_EXEMPT_API_KEY };

struct sl_overlay_exemption {
    enum sl_exempt_kind kind; /* not SL_EXEMPT_USER */
    const char *value;        /* as in the file's lists */
    int64_t until_us;         /* wall time of its end; 0: it does not end */
};

/* Rules come in the order in which they were made. Names are unique among common rules and
 * within each tenant. Texts need to last only while the ruleset is read. */
struct sl_overlay {
    const struct sl_overlay_rule *rules;
    size_t rule_count;
    const struct sl_overlay_tier *tiers;
    size_t tier_count;
    const struct sl_overlay_exemption *exemptions;
    size_t exemption_count;
};

/* As sl_ruleset_parse, with the overlay (NULL: none) on top. A rule that replaces one of
 * the file's has its place; others stand behind the file's, in their order. Parts of the
 * file that are replaced or hidden need not even be right. A tenant's own rule is named
 * "TENANT/NAME" in the ruleset and matches that tenant's requests alone. Problems of the overlay
 * are in the report with the subject "rule `NAME`" and the like; their places are those in the
 * JSON. */
struct sl_ruleset *sl_ruleset_parse_over(const char *name, struct sluice_text yaml,
                                         const struct sl_overlay *overlay,
                                         struct sl_report *report);

#endif
