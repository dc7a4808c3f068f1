/* sluice table: shows the figures of a shared table.
 *
 * All figures but two are the store's own. Counting keys reads every slot, which takes
 * seconds for gigabytes. */
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/text/time.h"
#include "cmd/input/table_look.h"
#include "cmd/options.h"
#include "cmd/terminal/screen.h"

struct table {
    const char *file;
    bool json;
};

static const struct sl_option options[] = {
    { "FILE", NULL, SL_OPTION_OPERAND, offsetof(struct table, file), "the table's file" },
    { "--json", NULL, SL_OPTION_FLAG, offsetof(struct table, json), "one JSON object" },
    { 0 },
};

#define FIELD(field) .name = #field, .offset = offsetof(struct sluice_stats, field)

static const struct field {
    const char *name;
    size_t offset;
} fields[] = {
    { FIELD(size_bytes) },     { FIELD(slots) },     { FIELD(live) },         { FIELD(limiting) },
    { FIELD(insertions) },     { FIELD(evictions) }, { FIELD(full) },         { FIELD(log_bytes) },
    { FIELD(log_used_bytes) }, { FIELD(log_live) },  { FIELD(reservations) },
};

enum { FIELD_COUNT = sizeof fields / sizeof *fields };

_Static_assert(sizeof(struct sluice_stats) == FIELD_COUNT * sizeof(uint64_t),
               "every field of the figures has its row");

static void print_json(const struct sl_table_figures *figures)
{
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        uint64_t number;
        memcpy(&number, (const char *)&figures->stats + fields[i].offset, sizeof number);
        printf("%s\"%s\": %" PRIu64, i ? ", " : "{", fields[i].name, number);
    }
    printf(", \"now_us\": %" PRId64 ", \"created_at_us\": %" PRId64 "}\n", figures->now_us,
           figures->created_at_us);
}

enum { SHORT_MAX = 64 };

static const char *percent(uint64_t part, uint64_t whole, char out[SHORT_MAX])
{
    double share = whole ? 100.0 * (double)part / (double)whole : 0;
    snprintf(out, SHORT_MAX, share > 0 && share < 0.1 ? "below 0.1%%" : "%.1f%%", share);
    return out;
}

static const char *wall_time(int64_t us, char out[SHORT_MAX])
{
    if (!sl_time_print_short(out, us / 1000000))
        snprintf(out, SHORT_MAX, "%" PRId64 " us", us);
    return out;
}

static void print_advice(const struct sluice_stats *stats)
{
    if (stats->evictions == 0 && stats->full == 0)
        return;
    bool log_is_used_up = stats->log_bytes && stats->log_used_bytes >= stats->log_bytes / 10 * 9;
    printf("\nthe table is too small: create it anew with a larger `size=`%s\n",
           log_is_used_up ? " and `log=`" : "");
}

static void print_table(const char *file, const struct sl_table_figures *figures)
{
    const struct sluice_stats *stats = &figures->stats;
    char a[SHORT_MAX], b[SHORT_MAX], age[SL_DURATION_MAX];
    int64_t age_us = figures->now_us - figures->created_at_us;
    static const char number[] = "  %-14s %" PRIu64 "%s\n";

    printf("%s\n", file);
    printf("  %-14s %s\n", "size", sl_screen_bytes(stats->size_bytes, a));
    printf("  %-14s %s, %s ago\n", "created", wall_time(figures->created_at_us, a),
           sl_screen_duration(age_us > 0 ? age_us : 0, age));
    printf("  %-14s %s\n", "its time", wall_time(figures->now_us, a));
    printf("  %-14s %" PRIu64 ", meant for %" PRIu64 " keys\n", "slots", stats->slots,
           stats->slots / 2);
    printf("  %-14s %" PRIu64 ", %s of these\n", "live keys", stats->live,
           percent(stats->live, stats->slots / 2, a));
    printf(number, "limiting now", stats->limiting, "");
    printf(number, "insertions", stats->insertions, "");
    printf(number, "evictions", stats->evictions, " (live states given up for want of room)");
    printf(number, "full answers", stats->full, " (only limiting states were left)");
    printf("  %-14s %s of %s, %" PRIu64 " key%s\n", "log area",
           sl_screen_bytes(stats->log_used_bytes, a), sl_screen_bytes(stats->log_bytes, b),
           stats->log_live, stats->log_live == 1 ? "" : "s");
    printf(number, "reservations", stats->reservations, " held");
    print_advice(stats);
}

/* ---- looking ----------------------------------------------------------------- */

/* Prints a dot a second on a terminal, after the first two: the count is one call
 * that does not report progress. */
static volatile sig_atomic_t ticks;

static void tick(int signal)
{
    static const char start[] = "counting keys, slot by slot .";
    (void)signal;
    const char *text = ticks ? "." : start;
    ssize_t ignored = write(STDERR_FILENO, text, ticks ? 1 : sizeof start - 1);
    (void)ignored;
    ticks = 1;
}

static void tick_after(time_t seconds)
{
    struct itimerval timer = { .it_value.tv_sec = seconds, .it_interval.tv_sec = seconds ? 1 : 0 };
    setitimer(ITIMER_REAL, &timer, NULL);
}

static bool look_at_table(struct sl_store *store, const char *file, struct sl_table_figures *out,
                          struct sluice_error *error)
{
    if (isatty(STDERR_FILENO)) {
        sigaction(SIGALRM, &(struct sigaction){ .sa_handler = tick, .sa_flags = SA_RESTART }, NULL);
        tick_after(2);
    }
    bool good = sl_table_look_now(store, file, out, error);
    tick_after(0);
    if (ticks)
        fprintf(stderr, "\r\033[K");
    return good;
}

static int run_table(const struct sl_command *command, int argc, char **argv)
{
    struct table table = { 0 };
    enum sl_parsed parsed = sl_options_parse(command, argc, argv, &table);
    if (parsed != SL_PARSED)
        return parsed == SL_PARSED_HELP ? 0 : 2;
    if (!table.file)
        return sl_command_wrong(command, "which table? name its file");

    struct sl_table_figures figures;
    struct sluice_error error;
    struct sl_store *store = sl_table_look_open(table.file, &error);
    if (store && *error.text)
        fprintf(stderr, "sluice: note: %s\n", error.text);
    bool good = store && look_at_table(store, table.file, &figures, &error);
    if (!good)
        fprintf(stderr, "sluice: %s\n", error.text);
    else if (table.json)
        print_json(&figures);
    else
        print_table(table.file, &figures);
    sl_table_look_close(store);
    return good ? 0 : 2;
}

const struct sl_command sl_command_table = {
    .name = "table",
    .summary = "Shows how full a shared table is, and whether it is large enough.",
    .usage = "FILE [--json]",
    .more =
        "FILE is what the rules name as `store: memory:FILE`. Exit: 0, or 2 if it is no table.\n\n"
        "  sluice table /dev/shm/limits.slu\n",
    .options = options,
    .run = run_table,
};
