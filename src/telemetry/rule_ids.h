/* Rules by numbers that outlive a reload: a rule keeps its number as long as there is one of its
 * name. What is counted, seen and remembered of it goes by that number.
 *
 * The number of a rule that is gone is given to another one only after a while, when nobody can
 * still be deciding by the old one. */
#ifndef SL_TELEMETRY_RULE_IDS_H
#define SL_TELEMETRY_RULE_IDS_H

#include "rules/ruleset.h"

struct sl_enrolled {
    char *name;       /* NULL: the number is free */
    char *limit_type; /* "per_user", "per_ip_user", "global" */
    const char *algorithm;
    bool is_there; /* in the rules in force */
    bool shadow;
    int64_t gone_us;          /* when it was last known to be there */
    struct sl_detail *detail; /* what is known of it; the owner of the roll fills it in; or NULL */
};

struct sl_rule_ids {
    struct sl_enrolled *rules;
    size_t count, room;
    void (*forget)(struct sl_detail *detail); /* of a number that is given away */
};

/* The numbers of these rules, by their index, to be freed. NULL: no memory. */
uint32_t *sl_rule_ids_enrol(struct sl_rule_ids *ids, const struct sl_ruleset *rules,
                            int64_t now_us);

/* These are in force now; others are gone. */
void sl_rule_ids_settle(struct sl_rule_ids *ids, const struct sl_ruleset *rules,
                        const uint32_t *numbers, int64_t now_us);
void sl_rule_ids_release(struct sl_rule_ids *ids);

#endif
