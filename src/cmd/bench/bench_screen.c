/* The rows of `sluice bench` as a table for people. */
#include <inttypes.h>
#include <stdio.h>

#include "cmd/bench/bench.h"

/* 12,345,678 */
static const char *grouped(uint64_t number, char out[32])
{
    char digits[32];
    int len = snprintf(digits, sizeof digits, "%" PRIu64, number), to = 0;
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            out[to++] = ',';
        out[to++] = digits[i];
    }
    out[to] = 0;
    return out;
}

static void print_conditions(const struct sl_bench_conditions *conditions)
{
    printf("%s, %u cores, %s, load %.1f, %s\n", conditions->cpu, conditions->cores,
           conditions->kernel, conditions->load_average, "sluice " SLUICE_VERSION);
    printf("table: %s; %.3g s a row; times in ns, a latency includes one reading of the clock: "
           "%.0f ns\n\n",
           conditions->store ? conditions->store : "private memory, of the size each load needs",
           (double)conditions->span_ns / 1e9, conditions->clock_ns);
    printf("%-30s %13s %8s %8s %8s %8s %9s %10s %9s\n", "", "decisions/s", "mean", "p50", "p95",
           "p99", "p99.9", "max", "admitted");
}

static void print_title(const struct sl_bench *bench)
{
    char keys[32];
    printf("%s: %s", bench->load->name, bench->load->title);
    if (bench->keys > 1)
        printf(", %s %s", grouped(bench->keys, keys), bench->load->rules ? "users" : "keys");
    printf(" (table of %.1f MB)\n", (double)bench->table_bytes / 1e6);
}

static void print_row(const struct sl_bench *bench, struct sl_bench_shape shape,
                      const struct sl_bench_figures *figures, bool first)
{
    char name[64], rate[32];
    if (first)
        print_title(bench);
    snprintf(name, sizeof name, "  %s%s",
             shape.processes > 1 ? "2 processes"
             : shape.threads > 1 ? "2 threads"
                                 : "1 thread",
             shape.batch > 1 ? ", batches of 16" : "");
    printf("%-30s %13s %8.1f %8" PRId64 " %8" PRId64 " %8" PRId64 " %9" PRId64 " %10" PRId64
           " %8.2f%%\n",
           name, grouped((uint64_t)figures->per_second, rate), figures->ns, figures->p50_ns,
           figures->p95_ns, figures->p99_ns, figures->p999_ns, figures->max_ns,
           100 * (double)figures->admitted / (double)figures->decisions);
    if (figures->errors)
        printf("  ... of these %" PRIu64 " failed\n", figures->errors);
}

static void print_left_out(const struct sl_bench_left_out *load)
{
    printf("%s: left out, it needs %.0f MB and may have %.0f\n", load->name,
           (double)load->needs_bytes / 1e6, (double)load->has_bytes / 1e6);
}

static void print_end(void)
{
    printf("\nmean: of a thread's time, per decision. Latencies: of a batch, for all 16.\n");
}

const struct sl_bench_teller sl_bench_screen = { print_conditions, print_row, print_left_out,
                                                 print_end };
