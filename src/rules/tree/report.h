/* The problems of a file: every one with its place, in order. */
#ifndef SL_RULES_TREE_REPORT_H
#define SL_RULES_TREE_REPORT_H

#include <stdio.h>

#include "base/arena.h"

/* Both from 1; 0 stands for the file as a whole. */
struct sl_mark {
    uint32_t line;
    uint32_t column;
};

/* The file as a whole too, reported behind everything that has a place. */
#define SL_MARK_LAST ((struct sl_mark){ UINT32_MAX, 0 })

struct sl_problem {
    struct sl_mark mark;
    bool warning;
    const char *subject; /* the text that the place is in, if not the file: "rule `api`"; or NULL */
    const char *text;
};

/* A zeroed struct with a file name is an empty report. */
struct sl_report {
    const char *file;
    const char *what;    /* what the file should be; NULL: "a rules file" */
    const char *subject; /* of problems from now on (sl_report_subject); NULL: the file */
    struct sl_arena arena;
    struct sl_problem *problems;
    size_t count; /* all problems; `problems` has at most SL_REPORT_MAX of them */
    size_t room;
    size_t errors;
};

enum { SL_REPORT_MAX = 1000 }; /* problems kept; later ones are only counted */

__attribute__((format(printf, 3, 4))) void
sl_report_error(struct sl_report *report, struct sl_mark mark, const char *format, ...);
__attribute__((format(printf, 3, 4))) void
sl_report_warning(struct sl_report *report, struct sl_mark mark, const char *format, ...);

static inline const char *sl_report_what(const struct sl_report *report)
{
    return report->what ? report->what : "a rules file";
}

/* The number of problems in report->problems, which are in the order of the file, those of
 * subjects behind it. */
size_t sl_report_kept(const struct sl_report *report);

/* Returns true if further problems are only counted: the caller need not make a costly
 * text for them. */
bool sl_report_is_full(const struct sl_report *report);

/* Prints one line a problem, in the order of the file, and then of each subject:
 * file:line:column: [warning: ]the fault, and the cure
 * rule `api`:line:column: … */
void sl_report_print(struct sl_report *report, FILE *out);

void sl_report_release(struct sl_report *report);

/* Makes "rule `api`" of "rule" and "api"; lives as long as the report. */
const char *sl_report_subject(struct sl_report *report, const char *what, const char *name);

/* Makes a text from the file as a problem quotes it: terminated, and cut if long. */
const char *sl_report_quote(struct sl_report *report, struct sluice_text text);

/* Returns the candidate that a misspelt word may have meant, or NULL.
 * `candidates` ends with NULL. */
const char *sl_did_you_mean(struct sluice_text word, const char *const *candidates);

#endif
