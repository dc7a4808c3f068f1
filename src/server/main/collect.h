/* Brings the rule statistics up to date from the workers of a server. */
#ifndef SL_SERVER_MAIN_COLLECT_H
#define SL_SERVER_MAIN_COLLECT_H

#include "telemetry/rule_stats.h"

struct sl_server;

/* Does everything that is due, and wakes workers that have samples to hand over. Takes the lock. */
void sl_collect_rule_stats(struct sl_rule_stats *record, struct sl_server *server,
                           struct sl_audit *audit);

/* The last collection, after the workers have ended. */
void sl_rule_stats_end(struct sl_rule_stats *record, struct sl_server *server,
                       struct sl_audit *audit);

#endif
