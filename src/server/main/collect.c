/* Collects statistics from the workers. */
#include "server/main/collect.h"
#include "base/clock.h"
#include "server/worker.h"

/* ---- counts ---- */

static void add_limiter(struct sl_counted *to, const struct sl_edition *edition, size_t worker)
{
    const struct sl_counts *counts = sl_limiter_counts(edition->limiters[worker]);
    for (size_t i = 0; i < SL_REASON_COUNT; i++)
        for (size_t k = 0; k < 2; k++)
            to->decisions[k] += sl_count_read(&counts->decisions[i][k]);
    for (size_t i = 0; i < counts->rules->rule_count; i++)
        for (size_t k = 0; k < SL_OUTCOME_COUNT; k++)
            to->by_rule[edition->numbers[i]][k] += sl_count_read(&counts->by_rule[i][k]);
}

/* Adds up the decisions of all workers. A worker that has not taken a new edition yet has its
 * counts in the old one. */
static void count_decisions(struct sl_rule_stats *record, struct sl_server *server, int64_t now_s)
{
    struct sl_counted counted;
    if (!sl_rule_stats_begin_count(record, &counted))
        return; /* the next call tries again */
    pthread_mutex_lock(&server->counts_lock);
    for (size_t i = 0; i < server->worker_count; i++)
        if (server->workers[i].edition)
            add_limiter(&counted, server->workers[i].edition, i);
    pthread_mutex_unlock(&server->counts_lock);
    sl_rule_stats_count(record, &counted, now_s);
}

/* ---- every look ---- */

/* Does what is due once a second, except for printing denials, which needs no lock: this thread is
 * their only writer. */
static void update_second(struct sl_rule_stats *record, struct sl_server *server)
{
    int64_t now_s = sl_boottime_us() / 1000000;
    record->counted_s = now_s;
    count_decisions(record, server, now_s);
    sl_rule_stats_take_callers(record, now_s);
    sl_rule_stats_turn(record, now_s, sl_walltime_us());
}

void sl_collect_rule_stats(struct sl_rule_stats *record, struct sl_server *server,
                           struct sl_audit *audit)
{
    int64_t now_s = sl_boottime_us() / 1000000;
    bool is_due = now_s != record->counted_s;
    pthread_mutex_lock(&record->lock);
    for (size_t i = 0; i < server->worker_count; i++) {
        sl_rule_stats_absorb(record, i, now_s);
        if (sl_observer_has_samples(record->observers[i]))
            sl_worker_wake(&server->workers[i]);
    }
    if (is_due)
        update_second(record, server);
    pthread_mutex_unlock(&record->lock);
    if (is_due)
        sl_denials_flush(record->denials, &record->ids, audit);
}

void sl_rule_stats_end(struct sl_rule_stats *record, struct sl_server *server,
                       struct sl_audit *audit)
{
    int64_t now_s = sl_boottime_us() / 1000000;
    pthread_mutex_lock(&record->lock);
    for (size_t i = 0; i < server->worker_count; i++) {
        sl_rule_stats_absorb(record, i, now_s);
        sl_observer_hand_over(record->observers[i]);
        sl_rule_stats_absorb(record, i, now_s);
    }
    update_second(record, server);
    pthread_mutex_unlock(&record->lock);
    sl_denials_flush(record->denials, &record->ids, audit);
}
