/* The rows of `sluice bench` as one JSON object. */
#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "cmd/bench/bench.h"
#include "wire/json/decision.h"

/* For the comma between two rows; loads left out come after all rows. */
static unsigned rows_told;
static struct sl_bench_left_out left[16];
static unsigned left_count;

static void print_text(const char *name, const char *value)
{
    struct sl_buffer text = sl_buffer(4096);
    sl_json_print_string(&text, sl_text(value));
    printf("\"%s\": %.*s", name, (int)text.len, text.at);
    sl_buffer_release(&text);
}

static void print_start(const struct sl_bench_conditions *conditions)
{
    printf("{");
    print_text("version", SLUICE_VERSION);
    printf(", ");
    print_text("cpu", conditions->cpu);
    printf(", \"cores\": %u, ", conditions->cores);
    print_text("kernel", conditions->kernel);
    printf(", \"load_average\": %.2f, \"clock_ns\": %.1f, \"seconds\": %g, ",
           conditions->load_average, conditions->clock_ns, (double)conditions->span_ns / 1e9);
    print_text("store", conditions->store ? conditions->store : "memory:");
    printf(",\n\"rows\": [");
    rows_told = left_count = 0;
}

static void print_row(const struct sl_bench *bench, struct sl_bench_shape shape,
                      const struct sl_bench_figures *figures, bool first)
{
    (void)first;
    printf("%s\n  {\"name\": \"%s\", \"algorithm\": \"%s\", \"keys\": %" PRIu64
           ", \"table_bytes\": %" PRIu64 ",\n   \"threads\": %u, \"processes\": %u, \"batch\": %u,",
           rows_told++ ? "," : "", bench->load->name,
           bench->load->algorithm ? bench->load->algorithm : "rules", bench->keys,
           bench->table_bytes, shape.threads, shape.processes, shape.batch);
    printf(" \"decisions\": %" PRIu64 ", \"errors\": %" PRIu64
           ",\n   \"decisions_per_second\": %.0f, \"mean_ns\": %.2f, \"admitted\": %.6f,\n",
           figures->decisions, figures->errors, figures->per_second, figures->ns,
           (double)figures->admitted / (double)figures->decisions);
    printf("   \"latency_of\": \"%s\", \"samples\": %" PRIu64 ", \"p50_ns\": %" PRId64
           ", \"p95_ns\": %" PRId64 ", \"p99_ns\": %" PRId64 ", \"p99_9_ns\": %" PRId64
           ", \"max_ns\": %" PRId64 "}",
           shape.batch > 1 ? "batch" : "decision", figures->samples, figures->p50_ns,
           figures->p95_ns, figures->p99_ns, figures->p999_ns, figures->max_ns);
}

static void print_left_out(const struct sl_bench_left_out *load)
{
    if (left_count < sizeof left / sizeof *left)
        left[left_count++] = *load;
}

static void print_end(void)
{
    printf("],\n\"left_out\": [");
    for (unsigned i = 0; i < left_count; i++)
        printf("%s{\"name\": \"%s\", \"needs_bytes\": %" PRIu64 ", \"has_bytes\": %" PRIu64 "}",
               i ? ", " : "", left[i].name, left[i].needs_bytes, left[i].has_bytes);
    printf("]}\n");
}

const struct sl_bench_teller sl_bench_json = { print_start, print_row, print_left_out, print_end };
