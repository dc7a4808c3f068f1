/* What the API has changed, for a command that decides here: the rules file with the
 * database on top, and the users that it knows. Only read. */
#ifndef SL_CMD_INPUT_OFFLINE_STATE_H
#define SL_CMD_INPUT_OFFLINE_STATE_H

#include "registry/users/users.h"
#include "rules/ruleset.h"

struct sl_offline_state {
    struct sl_ruleset *rules;
    struct sl_users *users; /* NULL: nobody is known */
};

/* False after saying why; nothing is to be released then. */
bool sl_offline_state_load(const char *rules_file, struct sl_offline_state *out);
void sl_offline_state_release(struct sl_offline_state *kept);

#endif
