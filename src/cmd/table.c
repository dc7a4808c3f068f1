/* sluice table: how a table is doing.
 *
 * All figures but two are the store's own. Counting keys reads every slot: seconds
 * where there are gigabytes. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "cmd/load.h"
#include "cmd/options.h"
#include "cmd/screen.h"
#include "store/table.h"

struct table {
    const char *file;
    bool json;
};

static const struct sl_option options[] = {
    { "FILE", NULL, SL_OPTION_OPERAND, offsetof(struct table, file), "the table's file" },
    { "--json", NULL, SL_OPTION_FLAG, offsetof(struct table, json), "one JSON object" },
    { 0 },
};

/* What is shown: the store's figures, and its times as wall time. */
struct figures {
    struct sluice_stats stats;
    int64_t now_us;
    int64_t created_at_us;
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

static void print_json(const struct figures *figures)
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

/* "64M", as in a store's URL, or "3.2M". */
static const char *bytes(uint64_t count, char out[SHORT_MAX])
{
    static const char suffixes[] = "KMGT";
    uint64_t unit = 1;
    size_t power = 0;
    while (power < 4 && count / unit >= 1024) {
        unit *= 1024;
        power++;
    }
    const char suffix[2] = { power ? suffixes[power - 1] : 0 };
    uint64_t tenths = unit > 1 ? count % unit * 10 / unit : 0;
    if (tenths)
        snprintf(out, SHORT_MAX, "%" PRIu64 ".%" PRIu64 "%s", count / unit, tenths, suffix);
    else
        snprintf(out, SHORT_MAX, "%" PRIu64 "%s", count / unit, suffix);
    return out;
}

static const char *percent(uint64_t part, uint64_t whole, char out[SHORT_MAX])
{
    double share = whole ? 100.0 * (double)part / (double)whole : 0;
    snprintf(out, SHORT_MAX, share > 0 && share < 0.1 ? "below 0.1%%" : "%.1f%%", share);
    return out;
}

static const char *wall_time(int64_t us, char out[SHORT_MAX])
{
    time_t seconds = us / 1000000;
    struct tm utc;
    if (!gmtime_r(&seconds, &utc) || !strftime(out, SHORT_MAX, "%Y-%m-%d %H:%M:%S UTC", &utc))
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

static void print_table(const char *file, const struct figures *figures)
{
    const struct sluice_stats *stats = &figures->stats;
    char a[SHORT_MAX], b[SHORT_MAX], age[SL_DURATION_MAX];
    int64_t age_us = figures->now_us - figures->created_at_us;
    static const char number[] = "  %-14s %" PRIu64 "%s\n";

    printf("%s\n", file);
    printf("  %-14s %s\n", "size", bytes(stats->size_bytes, a));
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
    printf("  %-14s %s of %s, %" PRIu64 " key%s\n", "log area", bytes(stats->log_used_bytes, a),
           bytes(stats->log_bytes, b), stats->log_live, stats->log_live == 1 ? "" : "s");
    printf(number, "reservations", stats->reservations, " held");
    print_advice(stats);
}

/* ---- looking ----------------------------------------------------------------- */

/* A dot a second on a terminal, once two have passed: the count is one call, and
 * does not say how far it is. */
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

static void measure(struct sl_store *store, struct figures *out)
{
    struct sl_bundle nobody = { .now_us = -1, .peek = true, .max_delay_us = -1 };
    if (isatty(STDERR_FILENO)) {
        sigaction(SIGALRM, &(struct sigaction){ .sa_handler = tick, .sa_flags = SA_RESTART }, NULL);
        tick_after(2);
    }
    store->ops->measure(store, &out->stats);
    tick_after(0);
    if (ticks)
        fprintf(stderr, "\r\033[K");
    sl_store_decide(store, &nobody);
    out->now_us = nobody.now_us + nobody.wall_shift_us;
}

/* False after saying why not. The file has been accepted as a table. */
static bool read_birth(const char *file, int64_t *out_us)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && pread(fd, out_us, sizeof *out_us,
                                 offsetof(struct sl_header, created_at_us)) == sizeof *out_us;
    if (!good)
        fprintf(stderr, "sluice: cannot read the table `%s`: %s\n", file, strerror(errno));
    if (fd >= 0)
        close(fd);
    return good;
}

/* To open a table that is not there is to create it. */
static bool is_there(const char *file)
{
    struct stat status;
    if (stat(file, &status) == 0)
        return true;
    if (errno == ENOENT)
        fprintf(stderr, "sluice: there is no table `%s`; the first to use `memory:%s` creates it\n",
                file, file);
    else
        fprintf(stderr, "sluice: cannot open the table `%s`: %s\n", file, strerror(errno));
    return false;
}

static int run(const struct sl_command *command, int argc, char **argv)
{
    struct table table = { 0 };
    enum sl_parsed parsed = sl_options_parse(command, argc, argv, &table);
    if (parsed != SL_PARSED)
        return parsed == SL_PARSED_HELP ? 0 : 2;
    if (!table.file)
        return sl_command_wrong(command, "which table? name its file");

    struct figures figures = { 0 };
    struct sl_store *store = NULL;
    if (is_there(table.file))
        store = sl_load_table(&(struct sl_memory_config){
            .path = table.file,
            .log_bytes = SL_LOG_DEFAULT,
            .sync_us = SL_SYNC_OFF,
        });
    bool good = store && read_birth(table.file, &figures.created_at_us);
    if (good)
        measure(store, &figures);
    if (good && table.json)
        print_json(&figures);
    else if (good)
        print_table(table.file, &figures);
    sl_store_close(store);
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
    .run = run,
};
