/* The list of a file's problems.
 *
 * A reader that stops at the first mistake must be run once per mistake, so every
 * part of the reader reports and goes on. The parts do not run in the order of the
 * file (unknown keys are noticed after the known ones are read), so each problem is
 * put in its place as it comes; problems of one place stay in the order in which they
 * were found. Nearly all arrive in order, and there are at most SL_REPORT_MAX, so
 * moving the few behind it beats sorting at the end.
 *
 * An overlay on top of the file (overlay.h) has places of its own: its problems
 * carry a subject and stand behind the file's, each subject's together.
 *
 * Texts quote the file, and a file may hold any bytes: control characters, and bytes
 * that are not UTF-8, are shown as `?`, so that a problem is one line, no terminal
 * obeys it and every JSON can hold it. */
#include "rules/tree/report.h"

#include <ctype.h>

#include "base/text/utf8.h"

enum { FIRST_ROOM = 16, WORD_MAX = 48, QUOTE_MAX = 60, SUBJECT_MAX = 160 };

static bool is_last(const struct sl_problem *problem)
{
    return problem->mark.line == SL_MARK_LAST.line;
}

/* The file comes before every subject. */
static int by_subject(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

static bool comes_before(const struct sl_problem *a, const struct sl_problem *b)
{
    int order = is_last(a) - is_last(b);
    if (order == 0)
        order = by_subject(a->subject, b->subject);
    if (order)
        return order < 0;
    return a->mark.line != b->mark.line ? a->mark.line < b->mark.line
                                        : a->mark.column < b->mark.column;
}

static void grow_report(struct sl_report *report)
{
    size_t room = report->room ? report->room * 2 : FIRST_ROOM;
    struct sl_problem *problems = sl_arena_take(&report->arena, room * sizeof *problems);
    if (report->count)
        memcpy(problems, report->problems, report->count * sizeof *problems);
    report->problems = problems;
    report->room = room;
}

static void insert_problem(struct sl_report *report, struct sl_problem problem)
{
    if (report->count == report->room)
        grow_report(report);
    size_t place = report->count;
    for (; place > 0 && comes_before(&problem, &report->problems[place - 1]); place--)
        report->problems[place] = report->problems[place - 1];
    report->problems[place] = problem;
}

static void make_printable(char *text)
{
    size_t left = strlen(text), bytes;
    for (char *at = text; left; at += bytes, left -= bytes) {
        unsigned char first = (unsigned char)at[0];
        bytes = sl_utf8_len((struct sluice_text){ at, left });
        if (bytes == 0 || first < 0x20 || first == 0x7f) {
            *at = '?';
            bytes = 1;
        } else if (first == 0xc2 && (unsigned char)at[1] <= 0x9f) { /* U+0080 to U+009F */
            at[0] = at[1] = '?';
        }
    }
}

__attribute__((format(printf, 3, 0))) static void
add(struct sl_report *report, struct sl_problem problem, const char *format, va_list arguments)
{
    if (!sl_report_is_full(report)) {
        char *text = sl_arena_vprint(&report->arena, format, arguments);
        make_printable(text);
        problem.text = text;
        problem.subject = report->subject;
        insert_problem(report, problem);
    }
    report->count++;
}

size_t sl_report_kept(const struct sl_report *report)
{
    return sl_report_is_full(report) ? SL_REPORT_MAX : report->count;
}

bool sl_report_is_full(const struct sl_report *report)
{
    return report->count >= SL_REPORT_MAX;
}

void sl_report_error(struct sl_report *report, struct sl_mark mark, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add(report, (struct sl_problem){ .mark = mark }, format, arguments);
    va_end(arguments);
    report->errors++;
}

void sl_report_warning(struct sl_report *report, struct sl_mark mark, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add(report, (struct sl_problem){ .mark = mark, .warning = true }, format, arguments);
    va_end(arguments);
}

void sl_report_print(struct sl_report *report, FILE *out)
{
    const char *file = report->file ? report->file : "-";
    size_t kept = sl_report_kept(report), left_out = report->count - kept;
    for (size_t i = 0; i < kept; i++) {
        const struct sl_problem *problem = &report->problems[i];
        fprintf(out, "%s:", problem->subject ? problem->subject : file);
        if (problem->mark.line && !is_last(problem))
            fprintf(out, "%u:%u:", problem->mark.line, problem->mark.column);
        fprintf(out, " %s%s\n", problem->warning ? "warning: " : "", problem->text);
    }
    if (left_out)
        fprintf(out, "%s: %zu more %s not shown\n", file, left_out,
                left_out == 1 ? "problem is" : "problems are");
}

void sl_report_release(struct sl_report *report)
{
    sl_arena_release(&report->arena);
    report->problems = NULL;
    report->subject = NULL;
    report->count = report->room = report->errors = 0;
}

const char *sl_report_subject(struct sl_report *report, const char *what, const char *name)
{
    size_t len = strlen(name);
    /* No right name is so long: only one that is going to be refused is cut. */
    if (len > SUBJECT_MAX)
        name = sl_report_quote(report, (struct sluice_text){ name, len });
    char *subject = sl_arena_print(&report->arena, "%s `%s`", what, name);
    make_printable(subject);
    return subject;
}

const char *sl_report_quote(struct sl_report *report, struct sluice_text text)
{
    if (sl_report_is_full(report))
        return "";
    size_t len = text.len <= QUOTE_MAX ? text.len : QUOTE_MAX;
    while (len < text.len && len && sl_utf8_continues(text.at[len]))
        len--; /* not inside a character */
    char *quote = sl_arena_print(&report->arena, "%*s%s", (int)len, "", len < text.len ? "…" : "");
    for (size_t i = 0; i < len; i++)
        quote[i] = text.at[i] ? text.at[i] : '?';
    return quote;
}

/* Other tools spell the same words in upper case and with dashes. */
static char fold_letter(char c)
{
    return c == '-' ? '_' : (char)tolower((unsigned char)c);
}

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Insertions, deletions, substitutions and swaps of neighbours between two
 * words of at most WORD_MAX bytes: three rows of the usual table. */
static size_t edit_distance(struct sluice_text a, struct sluice_text b)
{
    size_t rows[3][WORD_MAX + 1];
    for (size_t j = 0; j <= b.len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        const size_t *two_up = rows[(i + 1) % 3], *up = rows[(i - 1) % 3];
        size_t *row = rows[i % 3];
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            char x = fold_letter(a.at[i - 1]), y = fold_letter(b.at[j - 1]);
            row[j] = min_size(min_size(up[j], row[j - 1]) + 1, up[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == fold_letter(b.at[j - 2]) && fold_letter(a.at[i - 2]) == y)
                row[j] = min_size(row[j], two_up[j - 2] + 1);
        }
    }
    return rows[a.len % 3][b.len];
}

/* One mistake in a word of up to five letters, two up to nine, three beyond: in
 * a short word two mistakes make any word of any other. */
static size_t slips_allowed(size_t len)
{
    return len < 6 ? 1 : len < 10 ? 2 : 3;
}

const char *sl_did_you_mean(struct sluice_text word, const char *const *candidates)
{
    const char *best = NULL;
    size_t best_distance = SIZE_MAX;
    if (word.len < 2 || word.len > WORD_MAX)
        return NULL;
    for (; *candidates; candidates++) {
        struct sluice_text candidate = sl_text(*candidates);
        if (candidate.len > WORD_MAX)
            continue;
        size_t slips = edit_distance(word, candidate);
        if (slips <= slips_allowed(min_size(word.len, candidate.len)) && slips < best_distance) {
            best = *candidates;
            best_distance = slips;
        }
    }
    return best;
}
