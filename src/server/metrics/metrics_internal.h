/* The parts of the page of metrics, each in a file of its own, for metrics.c. */
#ifndef SL_SERVER_METRICS_METRICS_INTERNAL_H
#define SL_SERVER_METRICS_METRICS_INTERNAL_H

#include "server/metrics/metrics.h"
#include "server/metrics/metrics_print.h"

/* How many rows a table of families has. */
#define SL_COUNT_OF(table) (sizeof(table) / sizeof *(table))

void sl_metrics_print_rules(struct sl_metrics_page *page, const struct sl_metrics *metrics);
void sl_metrics_print_traffic(struct sl_metrics_page *page, const struct sl_metrics *metrics);
void sl_metrics_print_store(struct sl_metrics_page *page, const struct sl_metrics *metrics);
void sl_metrics_print_leases(struct sl_metrics_page *page, const struct sl_metrics *metrics);
void sl_metrics_print_replication(struct sl_metrics_page *page, const struct sl_metrics *metrics);
void sl_metrics_print_rule_stats(struct sl_metrics_page *page, const struct sl_metrics *metrics);
void sl_metrics_print_process(struct sl_metrics_page *page, const struct sl_metrics *metrics);

#endif
