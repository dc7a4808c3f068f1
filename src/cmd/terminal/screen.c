/* Prints figures, decisions and a progress bar. */
#include "cmd/terminal/screen.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text/number.h"
#include "wire/json/decision.h"

static const char red[] = "\033[31m";
static const char green[] = "\033[32m";
static const char dim[] = "\033[2m";
static const char bold[] = "\033[1m";
static const char plain[] = "\033[0m";

bool sl_screen_colour(FILE *out)
{
    const char *no_colour = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    return isatty(fileno(out)) && !(no_colour && *no_colour) &&
           !(terminal && strcmp(terminal, "dumb") == 0);
}

const char *sl_screen_duration(int64_t us, char out[SL_DURATION_MAX])
{
    int64_t ms = sl_div_ceil(us, 1000);
    int64_t s = sl_div_ceil(us, 1000000);
    if (us < 0)
        snprintf(out, SL_DURATION_MAX, "never");
    else if (us < 1000)
        snprintf(out, SL_DURATION_MAX, us ? "%dus" : "-", (int)us);
    else if (ms < 1000)
        snprintf(out, SL_DURATION_MAX, "%dms", (int)ms);
    else if (ms < 60000)
        snprintf(out, SL_DURATION_MAX, "%d.%03ds", (int)(ms / 1000), (int)(ms % 1000));
    else if (s < 3600)
        snprintf(out, SL_DURATION_MAX, "%dm %02ds", (int)(s / 60), (int)(s % 60));
    else if (s < 86400)
        snprintf(out, SL_DURATION_MAX, "%dh %02dm", (int)(s / 3600), (int)(s / 60 % 60));
    else
        snprintf(out, SL_DURATION_MAX, "%dd %02dh", (int)(s / 86400), (int)(s / 3600 % 24));
    return out;
}

const char *sl_screen_age(int64_t us, char out[SL_DURATION_MAX])
{
    int64_t s = sl_max_i64(us, 0) / 1000000;
    if (s >= 60)
        return sl_screen_duration(s * 1000000, out);
    snprintf(out, SL_DURATION_MAX, "%ds", (int)s);
    return out;
}

/* ---- figures ---- */

const char *sl_screen_count(double number, char out[SL_FIGURE_MAX])
{
    static const char suffixes[] = "kMGTPE";
    const char *suffix = suffixes;
    if (number < 0)
        snprintf(out, SL_FIGURE_MAX, "-");
    else if (number > 0 && number < 0.05)
        snprintf(out, SL_FIGURE_MAX, "<0.1");
    else if (number < 99999.5)
        snprintf(out, SL_FIGURE_MAX,
                 number < 9.95 && number != (double)(int)number ? "%.1f" : "%.0f", number);
    if (number < 99999.5)
        return out;
    for (number /= 1000; number >= 999.5 && suffix[1]; suffix++)
        number /= 1000;
    snprintf(out, SL_FIGURE_MAX, "%.*f%c", number < 9.995 ? 2 : number < 99.95, number, *suffix);
    return out;
}

const char *sl_screen_share(double share, char out[SL_FIGURE_MAX])
{
    double percent = share < 1 && share > 0.999 ? 99.9 : share * 100;
    if (share < 0)
        snprintf(out, SL_FIGURE_MAX, "-");
    else if (share > 0 && share < 0.001)
        snprintf(out, SL_FIGURE_MAX, "<0.1%%");
    else
        snprintf(out, SL_FIGURE_MAX, "%.*f%%", share > 0 && share < 1, percent);
    return out;
}

const char *sl_screen_latency(double us, char out[SL_FIGURE_MAX])
{
    static const char *const units[] = { "us", "ms", "s" };
    size_t unit = 0;
    double number = us;
    for (; unit < 2 && number >= 999.5; unit++)
        number /= 1000;
    if (us < 0)
        snprintf(out, SL_FIGURE_MAX, "-");
    else
        snprintf(out, SL_FIGURE_MAX, "%.*f%s", number < 9.95, number, units[unit]);
    return out;
}

const char *sl_screen_bytes(uint64_t count, char out[SL_FIGURE_MAX])
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
        snprintf(out, SL_FIGURE_MAX, "%" PRIu64 ".%" PRIu64 "%s", count / unit, tenths, suffix);
    else
        snprintf(out, SL_FIGURE_MAX, "%" PRIu64 "%s", count / unit, suffix);
    return out;
}

/* ---- decisions ---- */

static const char format[] = "%s%6s  %-8s %-20s %-23s %10s %10s %12s %12s  %s%s\n";

void sl_screen_header(FILE *out)
{
    bool colour = sl_screen_colour(out);
    fprintf(out, format, colour ? bold : "", "#", "verdict", "rule", "algorithm", "limit",
            "remaining", "retry after", "reset in", "reason", colour ? plain : "");
}

static const char *number_or_dash(int64_t number, char out[SL_DURATION_MAX])
{
    if (number == SLUICE_NONE)
        return "-";
    snprintf(out, SL_DURATION_MAX, "%lld", (long long)number);
    return out;
}

static const char *reset_in(int64_t reset_at_us, int64_t now_us, char out[SL_DURATION_MAX])
{
    return reset_at_us == SLUICE_NONE ? "-" : sl_screen_duration(reset_at_us - now_us, out);
}

void sl_screen_decision(FILE *out, uint64_t number, const struct sluice_decision *decision)
{
    bool colour = sl_screen_colour(out);
    char limit[SL_DURATION_MAX], remaining[SL_DURATION_MAX], retry[SL_DURATION_MAX],
        reset[SL_DURATION_MAX], count[SL_DURATION_MAX], reason[64], delay[SL_DURATION_MAX];
    snprintf(count, sizeof count, "%llu", (unsigned long long)number);
    snprintf(reason, sizeof reason, "%s%s%s", sl_reason_name(decision->reason),
             decision->delay_us ? ", send after " : "",
             decision->delay_us ? sl_screen_duration(decision->delay_us, delay) : "");
    fprintf(out, format,
            !colour             ? ""
            : decision->allowed ? green
                                : red,
            count, decision->allowed ? "allowed" : "denied", decision->rule ? decision->rule : "-",
            decision->algorithm ? decision->algorithm : "-", number_or_dash(decision->limit, limit),
            number_or_dash(decision->remaining, remaining),
            sl_screen_duration(decision->retry_after_us, retry),
            reset_in(decision->reset_at_us, decision->decided_at_us, reset), reason,
            colour ? plain : "");
}

void sl_screen_explained(FILE *out, const struct sluice_explained *row, int64_t decided_at_us)
{
    bool colour = sl_screen_colour(out);
    char limit[SL_DURATION_MAX], remaining[SL_DURATION_MAX], retry[SL_DURATION_MAX],
        reset[SL_DURATION_MAX];
    fprintf(out, format, colour ? dim : "", "", row->allowed ? "allows" : "denies", row->rule,
            row->algorithm, number_or_dash(row->limit, limit),
            number_or_dash(row->remaining, remaining),
            sl_screen_duration(row->retry_after_us, retry),
            reset_in(row->reset_at_us, decided_at_us, reset), row->shadow ? "shadow" : "",
            colour ? plain : "");
}

/* ---- progress ---- */

static const int64_t patience_ns = INT64_C(500000000);
static const int64_t redraw_ns = INT64_C(100000000);

void sl_progress_start(struct sl_progress *progress, uint64_t total)
{
    int64_t now_ns = sl_monotonic_ns();
    *progress = (struct sl_progress){
        .shown = isatty(STDERR_FILENO),
        .started_ns = now_ns,
        .total = total,
    };
}

static void draw(const struct sl_progress *progress, uint64_t done, uint64_t count)
{
    const char *unit = progress->unit ? progress->unit : "lines";
    enum { WIDTH = 40 };
    char bar[WIDTH + 1];
    if (!progress->total) {
        fprintf(stderr, "\r%llu %s", (unsigned long long)count, unit);
        return;
    }
    if (done > progress->total)
        done = progress->total; /* the file has grown meanwhile */
    uint64_t filled = done * WIDTH / progress->total;
    memset(bar, '.', WIDTH);
    memset(bar, '#', filled);
    bar[WIDTH] = 0;
    fprintf(stderr, "\r[%s] %3d%%  %llu %s", bar, (int)(done * 100 / progress->total),
            (unsigned long long)count, unit);
}

void sl_progress_step(struct sl_progress *progress, uint64_t done, uint64_t count)
{
    if (!progress->shown)
        return;
    int64_t now_ns = sl_monotonic_ns();
    if (now_ns - progress->started_ns < patience_ns || now_ns - progress->drawn_ns < redraw_ns)
        return;
    progress->drawn_ns = now_ns;
    draw(progress, done, count);
}

void sl_progress_end(struct sl_progress *progress)
{
    if (progress->shown && progress->drawn_ns)
        fprintf(stderr, "\r\033[K");
}
