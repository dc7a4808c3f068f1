/* The figures that `sluice top` shows of a server: its answer to GET /v1/stats, read once and
 * sorted any number of times. Missing numbers are negative, texts are printable. */
#ifndef SL_CMD_TOP_TOP_FIGURES_H
#define SL_CMD_TOP_TOP_FIGURES_H

#include <jansson.h>

#include "base/arena.h"

struct sl_board_rule {
    const char *name, *algorithm;
    const char *shown; /* the name; "~name" for a shadow rule, which denies nothing */
    bool shadow;
    /* In the window; for a shadow rule, what it would have denied. */
    double checks_per_s, allowed, denied, hit_rate;
    double p50_us, p99_us;
    double in_use; /* of the limit, a share */
    double callers, callers_limited;
    const char *most_limited; /* "acme/u1", or "-" */
};

/* A caller that a rule has denied. */
struct sl_board_who {
    const char *who, *rule; /* as shown */
    double count, error;    /* `error` of `count` denials may not have happened */
};

/* A zeroed struct holds nothing. */
struct sl_board_figures {
    struct sl_arena arena;
    double uptime_s;
    double checks_per_s, denied_share, p50_us, p99_us;
    const char *store, *store_why; /* why it fails, NULL while it does not */
    double slots, live;            /* of a table */
    struct sl_board_rule *rules;
    size_t rule_count;
    double rules_total;           /* the answer may leave out some */
    struct sl_board_who *limited; /* over all rules, most often first */
    size_t limited_count;
    double unseen; /* denials, by any rule, that came too fast to name their callers */
};

/* The orders of rules, in the order of the columns. */
enum sl_board_order {
    SL_BY_NAME,
    SL_BY_CHECKS,
    SL_BY_ALLOWED,
    SL_BY_DENIED,
    SL_BY_HIT_RATE,
    SL_BY_P99,
    SL_ORDERS,
};

/* Reads an answer; `window` is minute, hour or day. Returns false if it is no such answer. */
bool sl_board_read(struct sl_board_figures *out, const json_t *answer, const char *window);
void sl_board_release(struct sl_board_figures *figures);

/* Sorts names upwards and numbers downwards, or the other way round. Rules without a number come
 * last, rules of the same number by name. */
void sl_board_sort(struct sl_board_figures *figures, enum sl_board_order order, bool reverse);

#endif
