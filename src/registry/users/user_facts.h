/* Facts of a user: from the registry's record, and as a decision reads them. */
#ifndef SL_REGISTRY_USERS_USER_FACTS_H
#define SL_REGISTRY_USERS_USER_FACTS_H

#include "registry/registry.h"
#include "registry/users/user_table.h"

/* Replaces the record's part of the facts. Does not read the record's own limits: the facts
 * have none then. */
void sl_facts_take_record(struct sl_facts *facts, const struct sl_user_record *record);

bool sl_facts_exempt(const struct sl_facts *facts, int64_t now_us);

/* Fills in all but the own limits. Returns false if there is nothing that a decision would miss. */
bool sl_facts_show(const struct sl_facts *facts, int64_t now_us, struct sl_user *out);

#endif
