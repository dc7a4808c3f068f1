/* sluice bench: measures the cost of a decision on this machine, in process. */
#include "cmd/bench/bench.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include "base/text/number.h"
#include "cmd/options.h"
#include "cmd/terminal/screen.h"
#include "rules/tree/report.h"

struct options {
    const char *seconds;
    const char *only;
    const char *store;
    uint64_t keys;
    bool json;
};

#define FIELD(name) offsetof(struct options, name)

static const struct sl_option options[] = {
    { "--seconds", "S", SL_OPTION_TEXT, FIELD(seconds), "measure each row for so long (1)" },
    { "--keys", "N", SL_OPTION_TIMES, FIELD(keys),
      "so many keys, instead of a million and 10 million" },
    { "--only", "NAME", SL_OPTION_TEXT, FIELD(only), "these rows alone" },
    { "--store", "URL", SL_OPTION_TEXT, FIELD(store),
      "on this table, such as memory:FILE?size=1G; it is kept" },
    { "--json", NULL, SL_OPTION_FLAG, FIELD(json), "one JSON object" },
    { 0 },
};

static const struct sl_bench_shape shapes[] = {
    { 1, 1, 1 }, { 1, 1, SL_BENCH_BATCH }, { 2, 1, 1 }, { 2, 1, SL_BENCH_BATCH },
    { 1, 2, 1 }, { 1, 2, SL_BENCH_BATCH },
};

enum { SHAPES = sizeof shapes / sizeof *shapes, KEYS_MIN = 16, KEYS_MAX = 100000000 };

#define SPAN_MIN_US INT64_C(1000)
#define SPAN_MAX_US INT64_C(3600000000)

/* A run of the command. */
struct bench_run {
    const struct sl_command *command;
    struct options given;
    const struct sl_bench_teller *teller;
    struct sl_bench_conditions conditions;
    struct sluice_store *store; /* of --store, else NULL */
    struct sl_progress progress;
    uint64_t rows_done;
};

/* ---- loads ---- */

static bool has_many_keys(const struct sl_bench_load *load)
{
    return !load->rules && load->keys > 1;
}

/* Returns the n-th load of this run, or NULL behind the last. */
static const struct sl_bench_load *load_at(const struct bench_run *run, size_t n)
{
    size_t seen = 0;
    bool own_keys = run->given.keys > 0, keys_told = false;
    for (const struct sl_bench_load *load = sl_bench_loads; load->name; load++) {
        const struct sl_bench_load *meant = load;
        if (own_keys && has_many_keys(load)) {
            if (keys_told)
                continue;
            meant = &sl_bench_keys;
            keys_told = true;
        }
        if (run->given.only && strcmp(run->given.only, meant->name) != 0)
            continue;
        if (seen++ == n)
            return meant;
    }
    return NULL;
}

static uint64_t keys_of(const struct bench_run *run, const struct sl_bench_load *load)
{
    uint64_t given = run->given.keys;
    if (!given || load->keys == 1)
        return load->keys;
    return load->rules && given > load->keys ? load->keys : given;
}

static int unknown_load(const struct bench_run *run)
{
    const char *names[32] = { 0 };
    char list[256] = "";
    struct bench_run all = *run;
    all.given.only = NULL;
    const struct sl_bench_load *load;
    for (size_t i = 0; i < 31 && (load = load_at(&all, i)); i++) {
        names[i] = load->name;
        size_t len = strlen(list);
        snprintf(list + len, sizeof list - len, "%s%s", i ? ", " : "", load->name);
    }
    const char *meant = sl_did_you_mean(sl_text(run->given.only), names);
    if (meant)
        return sl_command_wrong(run->command, "there is no `--only %s` (did you mean `%s`?)",
                                run->given.only, meant);
    return sl_command_wrong(run->command, "there is no `--only %s`; there are %s", run->given.only,
                            list);
}

/* ---- conditions ---- */

/* The value behind `name` in a file of "name : value" lines. */
static bool look_up(const char *file, const char *name, char *out, size_t room)
{
    char line[512];
    bool found = false;
    FILE *in = fopen(file, "re");
    while (in && !found && fgets(line, sizeof line, in)) {
        const char *colon = strchr(line, ':');
        if (!colon || strncmp(line, name, strlen(name)) != 0)
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        snprintf(out, room, "%.*s", (int)strcspn(colon, "\n"), colon);
        found = true;
    }
    if (in)
        fclose(in);
    return found;
}

void sl_bench_conditions(struct sl_bench_conditions *out)
{
    struct utsname system;
    cpu_set_t allowed;
    char text[64];
    if (!look_up("/proc/cpuinfo", "model name", out->cpu, sizeof out->cpu))
        snprintf(out->cpu, sizeof out->cpu, "unknown processor");
    if (uname(&system) == 0)
        snprintf(out->kernel, sizeof out->kernel, "%.60s %.60s", system.sysname, system.release);
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        out->cores = (unsigned)CPU_COUNT(&allowed);
    if (getloadavg(&out->load_average, 1) != 1)
        out->load_average = 0;
    if (look_up("/proc/meminfo", "MemAvailable", text, sizeof text))
        out->available_bytes = strtoull(text, NULL, 10) * 1024;
    out->clock_ns = sl_bench_clock_ns();
}

/* ---- running ---- */

/* Returns true if a private table and its keys fit into a third of the available memory, or if a
 * given table can hold the keys in half its slots. */
static bool has_room(const struct bench_run *run, const struct sl_bench_load *load,
                     struct sl_bench_left_out *out)
{
    uint64_t keys = keys_of(run, load);
    struct sluice_stats stats;
    *out = (struct sl_bench_left_out){ .name = load->name };
    if (run->store && sluice_store_stats(run->store, &stats) == SLUICE_OK) {
        out->needs_bytes = sl_bench_table_bytes(load, keys);
        out->has_bytes = stats.size_bytes;
        return stats.slots / 2 >= keys && stats.log_bytes >= load->log_bytes;
    }
    out->needs_bytes = sl_bench_table_bytes(load, keys) + sl_bench_key_bytes(load, keys);
    out->has_bytes = run->conditions.available_bytes / 3;
    return !out->has_bytes || out->needs_bytes <= out->has_bytes;
}

static bool run_shapes(struct bench_run *run, const struct sl_bench *bench,
                       struct sluice_error *error)
{
    bool first = true;
    for (size_t i = 0; i < SHAPES; i++) {
        struct sl_bench_figures figures;
        bool single = shapes[i].threads * shapes[i].processes == 1;
        if (!single && !bench->load->every_shape)
            continue;
        if (!sl_bench_run(bench, shapes[i], run->conditions.span_ns, &figures, error))
            return false;
        sl_progress_end(&run->progress); /* the bar may stand where the row goes */
        run->teller->row(bench, shapes[i], &figures, first);
        fflush(stdout);
        run->rows_done++;
        sl_progress_step(&run->progress, run->rows_done, run->rows_done);
        first = false;
    }
    return true;
}

static bool run_load(struct bench_run *run, const struct sl_bench_load *load,
                     struct sluice_error *error)
{
    struct sl_bench_left_out left_out;
    struct sl_bench bench;
    if (!has_room(run, load, &left_out)) {
        run->teller->left_out(&left_out);
        return true;
    }
    bool good = sl_bench_open(&bench, load, keys_of(run, load), run->store, error) &&
                run_shapes(run, &bench, error);
    sl_bench_release(&bench, !run->store);
    return good;
}

static uint64_t rows_of(const struct bench_run *run)
{
    uint64_t rows = 0;
    const struct sl_bench_load *load;
    for (size_t i = 0; (load = load_at(run, i)); i++)
        rows += load->every_shape ? SHAPES : 2;
    return rows;
}

static int run_all(struct bench_run *run)
{
    struct sluice_error error = { "" };
    bool good = true;
    const struct sl_bench_load *load;
    if (run->given.store && sluice_open(run->given.store, &run->store, &error) != SLUICE_OK) {
        fprintf(stderr, "sluice: %s\n", error.text);
        return 2;
    }
    sl_bench_conditions(&run->conditions);
    run->teller->start(&run->conditions);
    sl_progress_start(&run->progress, rows_of(run));
    run->progress.unit = "rows";
    for (size_t i = 0; good && (load = load_at(run, i)); i++)
        good = run_load(run, load, &error);
    sl_progress_end(&run->progress);
    run->teller->end();
    if (!good)
        fprintf(stderr, "sluice: %s\n", error.text);
    if (run->store)
        sluice_close(run->store);
    return good ? 0 : 2;
}

static int run_bench(const struct sl_command *command, int argc, char **argv)
{
    struct bench_run run = { .command = command, .given = { .seconds = "1" } };
    int64_t span_us;
    enum sl_parsed parsed = sl_options_parse(command, argc, argv, &run.given);
    if (parsed != SL_PARSED)
        return parsed == SL_PARSED_HELP ? 0 : 2;
    if (!sl_parse_duration_us(sl_text(run.given.seconds), &span_us) || span_us < SPAN_MIN_US ||
        span_us > SPAN_MAX_US)
        return sl_command_wrong(command, "`--seconds %s` is not from 0.001 to 3600",
                                run.given.seconds);
    if (run.given.keys && (run.given.keys < KEYS_MIN || run.given.keys > KEYS_MAX))
        return sl_command_wrong(command, "`--keys` is from 16 to 100000000");
    if (!load_at(&run, 0))
        return unknown_load(&run);
    run.conditions.span_ns = span_us * 1000;
    run.conditions.store = run.given.store;
    run.teller = run.given.json ? &sl_bench_json : &sl_bench_screen;
    return run_all(&run);
}

const struct sl_command sl_command_bench = {
    .name = "bench",
    .summary = "Measures decisions on this machine.",
    .usage = "[options]",
    .more =
        "Rows, by the names for --only: hot, hot-leaky, hot-fixed, hot-counter, hot-log (one key,\n"
        "everything passes), denied (one key, nothing passes), rules (five rules in layers),\n"
        "keys-1m, keys-10m (or with --keys: keys). One thread, two threads, two processes; one\n"
        "by one and in batches of 16.\n\n"
        "Every 127th decision is timed by itself; a latency of a batch is that of all 16. Rows\n"
        "that need more than a third of the memory that is available are left out.\n\n"
        "Exit: 0 measured, 2 error.\n\n"
        "  sluice bench --only hot\n"
        "  sluice bench --keys 5000000 --store 'memory:/dev/shm/bench.slu?size=256M'\n",
    .options = options,
    .run = run_bench,
};
