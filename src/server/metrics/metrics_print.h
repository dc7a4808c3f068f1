/* The text format of Prometheus (version 0.0.4): a family is a `# HELP` and a `# TYPE` line and,
 * right behind them, its samples.
 *
 *   sl_page_family(&page, "sluice_x_total", "counter", "What it counts.");
 *   sl_page_label(&page, "rule", name);     as many as there are, or none
 *   sl_page_number(&page, 7);               the value: it ends the sample */
#ifndef SL_SERVER_METRICS_METRICS_PRINT_H
#define SL_SERVER_METRICS_METRICS_PRINT_H

#include "base/buffer.h"

struct sl_metrics_page {
    struct sl_buffer *out;
    const char *family; /* the family of the samples that follow */
    bool has_name;      /* the sample's name is printed */
    bool has_label;     /* and a label of it */
};

/* All texts but `out` are static. */
void sl_page_family(struct sl_metrics_page *page, const char *name, const char *type,
                    const char *help);

/* Escapes the value. */
void sl_page_label(struct sl_metrics_page *page, const char *name, struct sluice_text value);
void sl_page_label_i64(struct sl_metrics_page *page, const char *name, int64_t value);

void sl_page_number(struct sl_metrics_page *page, uint64_t value);

/* Prints units / 10^places, without trailing zeros. */
void sl_page_decimal(struct sl_metrics_page *page, uint64_t units, uint32_t places);

/* Prints a value that is text already. */
void sl_page_text(struct sl_metrics_page *page, struct sluice_text value);

/* A family of one number: a uint64_t at `offset` of some struct. */
struct sl_single {
    const char *name, *type, *help;
    size_t offset;
};

void sl_page_singles(struct sl_metrics_page *page, const struct sl_single *singles, size_t count,
                     const void *figures);

/* The samples of one histogram of a family. */
struct sl_page_buckets {
    const char *label; /* in addition to `le`; NULL: none */
    const char *value;
    const char *const *bounds; /* upper bound of each bucket, as text */
    const uint64_t *counts;    /* of each bucket alone; the last: above all bounds */
    size_t bound_count;
    uint64_t sum; /* the sum of all values, in units of 10^-places */
    uint32_t sum_places;
};

void sl_page_histogram(struct sl_metrics_page *page, const struct sl_page_buckets *histogram);

#endif
