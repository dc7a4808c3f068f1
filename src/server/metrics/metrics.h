/* Metrics for Prometheus, in its text format (version 0.0.4).
 *
 * Labels are rules, reasons and outcomes, all of them written down in the rules file or here: never
 * a user, an address or anything else of a request, or clients could make the page as long as they
 * like.
 *
 *   init with the rules in force → add what every worker has counted → print → release */
#ifndef SL_SERVER_METRICS_METRICS_H
#define SL_SERVER_METRICS_METRICS_H

#include "base/buffer.h"
#include "base/text/textmap.h"
#include "limiter/limiter.h"
#include "server/auth/auth_throttle.h"
#include "server/figures/process.h"
#include "server/figures/replication_figures.h"
#include "server/traffic.h"
#include "store/redis/channel.h"
#include "telemetry/audit/audit.h"

#define SL_METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct sl_rule_stats;

struct sl_metric_rule {
    const char *name;
    const char *algorithm;
    bool shadow;
    uint64_t counts[SL_OUTCOME_COUNT];
};

struct sl_metrics {
    /* Set by the caller: */
    const char *version;
    uint64_t workers;
    uint64_t connections; /* open now, */
    uint64_t *by_worker;  /* open at each worker; NULL: not known */
    uint64_t accepted;    /* connections since the start */
    uint64_t refused;
    uint64_t reloads;
    uint64_t failed_reloads;
    uint64_t start_time_s; /* since 1970 */
    struct sl_process_figures process;
    bool has_store; /* a store that is asked over connections */
    struct sl_store_health store;
    struct sl_leases *leases; /* of that store; or NULL */
    uint64_t denials_held;    /* denials that need no call */
    bool has_table;           /* an embedded table */
    struct sluice_stats table;
    struct sl_audit_counts audit;
    const struct sl_replication_figures *spread; /* NULL: no replication */
    struct sl_rule_stats *record;                /* the measurements; NULL: there are none */
    const uint32_t *numbers;                     /* the numbers of the rules in them */
    bool is_watched;                             /* else it has counts alone */

    /* Summed up: */
    struct sl_metric_rule *rules; /* in the order of the file */
    uint64_t rule_count;
    uint64_t tier_count;
    uint64_t decisions[SL_REASON_COUNT][2]; /* [reason][allowed] */
    uint64_t trust[SL_TRUST_TENTHS + 1];    /* the last stays 0: no score is above 1 */
    uint64_t trust_thousandths;
    uint64_t answers[2];                                /* [allowed]: without asking the store */
    uint64_t direct[SL_DIRECT_COUNT][SL_OUTCOME_COUNT]; /* of limits that requests brought */
    struct sl_traffic traffic;
    uint64_t auth_throttle[SL_ATTEMPT_COUNT]; /* wrong credentials */

    const struct sl_ruleset *ruleset;
    struct sl_textmap places; /* name → place in `rules` + 1, once it is needed */
    struct sl_arena arena;
};

/* Everything is zero but the rules, which must live longer. Returns false if there is no memory. */
bool sl_metrics_init(struct sl_metrics *metrics, const struct sl_ruleset *rules);

/* From now on by_worker has a place for each worker. */
void sl_metrics_set_workers(struct sl_metrics *metrics, size_t count);
void sl_metrics_release(struct sl_metrics *metrics);

/* Adds the counts of this limiter. If its worker still has older rules, they count for rules of the
 * same name. */
void sl_metrics_add(struct sl_metrics *metrics, const struct sl_limiter *limiter);

/* Adds a worker's traffic, and its counts of wrong credentials. */
void sl_metrics_add_traffic(struct sl_metrics *metrics, const struct sl_traffic *traffic);
void sl_metrics_add_auth_throttle(struct sl_metrics *metrics,
                                  const struct sl_limiter *auth_throttle);

void sl_metrics_print(struct sl_buffer *out, const struct sl_metrics *metrics);

#endif
