/* The parts of `sluice bench`.
 *
 *   load     what is measured: a limit or rules, over a number of keys
 *   shape    how: threads, processes, one by one or in batches
 *   figures  the result: one load in one shape is one row
 *
 * bench.c walks the rows, bench_load.c makes stores and keys, bench_row.c runs
 * a row, bench_screen.c and bench_json.c print. */
#ifndef SL_CMD_BENCH_BENCH_H
#define SL_CMD_BENCH_BENCH_H

#include "sluice.h"

struct sl_bench_load {
    const char *name; /* for --only */
    const char *title;
    const char *algorithm; /* NULL: `rules` */
    const char *rules;
    int64_t capacity;
    int64_t window_us;
    uint64_t keys;
    uint64_t log_bytes; /* of its table */
    bool every_shape;   /* else one thread only */
};

/* Ended by a row without a name. */
extern const struct sl_bench_load sl_bench_loads[];

/* Replaces the loads of many keys if --keys is given. */
extern const struct sl_bench_load sl_bench_keys;

struct sl_bench_shape {
    unsigned threads;
    unsigned processes;
    unsigned batch;
};

enum { SL_BENCH_BATCH = 16, SL_BENCH_WORKERS = 2, SL_BENCH_KEY_BYTES = 24 };

/* A load made ready: its table filled, its keys written to memory. */
struct sl_bench {
    const struct sl_bench_load *load;
    uint64_t keys;
    uint64_t table_bytes;
    struct sluice_store *store;
    struct sluice_limit *limit;
    struct sluice_limiter *limiter;
    char *key_bytes;                 /* SL_BENCH_KEY_BYTES each */
    struct sluice_request *requests; /* of a load with rules */
    char *request_bytes;
};

/* Return the size of a table for that many keys, and of the keys of a load. */
uint64_t sl_bench_table_bytes(const struct sl_bench_load *load, uint64_t keys);
uint64_t sl_bench_key_bytes(const struct sl_bench_load *load, uint64_t keys);

/* Opens a private table for the load unless `store` is given, and decides once for
 * every key. Returns false with *error set. Release it in either case. */
bool sl_bench_open(struct sl_bench *bench, const struct sl_bench_load *load, uint64_t keys,
                   struct sluice_store *store, struct sluice_error *error);
void sl_bench_release(struct sl_bench *bench, bool close_store);

/* The latencies are those of every 127th decision or batch, which is timed by itself. */
struct sl_bench_figures {
    uint64_t decisions;
    uint64_t admitted;
    uint64_t errors;
    uint64_t samples;
    double per_second;
    double ns;
    int64_t p50_ns, p95_ns, p99_ns, p999_ns, max_ns;
};

bool sl_bench_run(const struct sl_bench *bench, struct sl_bench_shape shape, int64_t span_ns,
                  struct sl_bench_figures *out, struct sluice_error *error);

/* Returns the cost of reading the clock; each latency contains it once. */
double sl_bench_clock_ns(void);

/* ---- output ---- */

struct sl_bench_conditions {
    char cpu[128];
    char kernel[128];
    unsigned cores;
    double load_average;
    double clock_ns;
    int64_t span_ns;
    const char *store; /* a URL, or NULL: private memory */
    uint64_t available_bytes;
};

void sl_bench_conditions(struct sl_bench_conditions *out);

struct sl_bench_left_out {
    const char *name;
    uint64_t needs_bytes;
    uint64_t has_bytes;
};

/* One output format. `first` is true for a load's first row. */
struct sl_bench_teller {
    void (*start)(const struct sl_bench_conditions *conditions);
    void (*row)(const struct sl_bench *bench, struct sl_bench_shape shape,
                const struct sl_bench_figures *figures, bool first);
    void (*left_out)(const struct sl_bench_left_out *load);
    void (*end)(void);
};

extern const struct sl_bench_teller sl_bench_screen;
extern const struct sl_bench_teller sl_bench_json;

#endif
