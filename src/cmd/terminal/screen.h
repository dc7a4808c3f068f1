/* Output for people: figures, colours, durations, a progress bar. */
#ifndef SL_CMD_TERMINAL_SCREEN_H
#define SL_CMD_TERMINAL_SCREEN_H

#include <stdio.h>

#include "sluice.h"

/* Returns true if colour may be used: on a terminal, with NO_COLOR unset. */
bool sl_screen_colour(FILE *out);

enum { SL_DURATION_MAX = 32 };

/* "98ms", "14.998s", "3h 25m", "never" for a negative one. */
const char *sl_screen_duration(int64_t us, char out[SL_DURATION_MAX]);

/* The same in whole seconds, rounded down: "14s", "3h 25m". */
const char *sl_screen_age(int64_t us, char out[SL_DURATION_MAX]);

enum { SL_FIGURE_MAX = 64 };

/* In at most six columns, "-" where it is negative: 7, 0.3, 12345, 1.23M; 20.0%, <0.1% of a
 * share; 1.2us, 45ms, 2.0s of microseconds. */
const char *sl_screen_count(double number, char out[SL_FIGURE_MAX]);
const char *sl_screen_share(double share, char out[SL_FIGURE_MAX]);
const char *sl_screen_latency(double us, char out[SL_FIGURE_MAX]);

/* "64M", as in a store's URL, or "3.2M". */
const char *sl_screen_bytes(uint64_t count, char out[SL_FIGURE_MAX]);

void sl_screen_header(FILE *out);
void sl_screen_decision(FILE *out, uint64_t number, const struct sluice_decision *decision);

/* A rule's part in that decision. */
void sl_screen_explained(FILE *out, const struct sluice_explained *row, int64_t decided_at_us);

/* A bar that appears after half a second of work. A zeroed struct is hidden. */
struct sl_progress {
    bool shown; /* standard error is a terminal */
    int64_t started_ns;
    int64_t drawn_ns;
    uint64_t total;   /* 0: unknown */
    const char *unit; /* of what is counted beside the bar; NULL: lines */
};

void sl_progress_start(struct sl_progress *progress, uint64_t total);
/* `done` of the total; `count` is what stands beside it. */
void sl_progress_step(struct sl_progress *progress, uint64_t done, uint64_t count);
void sl_progress_end(struct sl_progress *progress);

#endif
