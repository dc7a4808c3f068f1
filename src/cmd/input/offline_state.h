/* The state for a command that decides without a server: the rules file with the admin
 * API's database on top, and the user table. Read-only. */
#ifndef SL_CMD_INPUT_OFFLINE_STATE_H
#define SL_CMD_INPUT_OFFLINE_STATE_H

#include "registry/users/users.h"
#include "rules/ruleset.h"

struct sl_offline_state {
    struct sl_ruleset *rules;
    struct sl_users *users; /* NULL: no user is known */
};

/* Returns false, with a message and nothing to release, if it cannot be loaded. */
bool sl_offline_state_load(const char *rules_file, struct sl_offline_state *out);
void sl_offline_state_release(struct sl_offline_state *kept);

#endif
