/* Facts of a user: from the registry's record, and as a decision wants them. */
#ifndef SL_REGISTRY_USERS_USER_FACTS_H
#define SL_REGISTRY_USERS_USER_FACTS_H

#include "registry/registry.h"
#include "registry/users/user_table.h"

/* The record takes the place of the one before. Its own limits are not looked at: there
 * are none then. */
void sl_facts_take_record(struct sl_facts *facts, const struct sl_user_record *record);

bool sl_facts_exempt(const struct sl_facts *facts, int64_t now_us);

/* All but the own limits. False: there is nothing that would be missed. */
bool sl_facts_show(const struct sl_facts *facts, int64_t now_us, struct sl_user *out);

#endif
