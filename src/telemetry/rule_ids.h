/* Numbers for rules that outlive a reload: a rule keeps its number as long as there is a rule of
 * its name. Counts, samples and statistics of a rule go by that number.
 *
 * The number of a rule that is gone is given to another only after a while, when no worker can
 * still be deciding by the old ruleset. */
#ifndef SL_TELEMETRY_RULE_IDS_H
#define SL_TELEMETRY_RULE_IDS_H

#include "rules/ruleset.h"

struct sl_enrolled {
    char *name;       /* NULL: the number is free */
    char *limit_type; /* "per_user", "per_ip_user", "global" */
    const char *algorithm;
    bool is_there; /* in the rules in force */
    bool shadow;
    int64_t gone_us;          /* when it was last seen in force */
    struct sl_detail *detail; /* its statistics, filled in by the owner of the ids; or NULL */
};

struct sl_rule_ids {
    struct sl_enrolled *rules;
    size_t count, room;
    void (*forget)(struct sl_detail *detail); /* frees what a number had before it is given away */
};

/* The numbers of these rules, by their index, which the caller frees. NULL: no memory. */
uint32_t *sl_rule_ids_enrol(struct sl_rule_ids *ids, const struct sl_ruleset *rules,
                            int64_t now_us);

/* Notes that these rules are in force now, and others gone. */
void sl_rule_ids_settle(struct sl_rule_ids *ids, const struct sl_ruleset *rules,
                        const uint32_t *numbers, int64_t now_us);
void sl_rule_ids_release(struct sl_rule_ids *ids);

#endif
