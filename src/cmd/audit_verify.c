/* sluice audit verify: checks that no line of the audit log was edited, moved or removed. */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "cmd/audit.h"
#include "cmd/input/lines.h"
#include "cmd/options.h"
#include "cmd/terminal/screen.h"
#include "telemetry/audit/head.h"
#include "telemetry/audit/verify.h"

struct verify_arguments {
    const char *head;
    struct sl_operands files;
};

static const struct sl_option options[] = {
    { "FILE...", "which files? name them, the oldest first", SL_OPTION_OPERANDS,
      offsetof(struct verify_arguments, files), "the log, the oldest first; - for input" },
    { "--head", "HASH", SL_OPTION_TEXT, offsetof(struct verify_arguments, head),
      "a line with this hash must be among them" },
    { 0 },
};

struct verify_run {
    struct sl_verify verify;
    uint64_t problems;
    struct sl_chain_file before; /* the last file's PATH.chain before reading, */
    bool has_chain;              /* if there is one */
    size_t chain_wanted;
};

static void report_problem(struct verify_run *run, const char *where, const char *what)
{
    run->problems++;
    printf("%s: %s\n", where, what);
}

/* ---- lines ---- */

static void check_line(struct verify_run *run, const char *file, uint64_t number,
                       const struct sl_input_line *line)
{
    const char *wrong =
        line->too_long ? "is longer than any line of the audit log"
                       : sl_verify_line(&run->verify, (struct sluice_text){ line->at, line->len });
    if (!wrong)
        return;
    run->problems++;
    printf("%s:%" PRIu64 ": %s\n", file, number, wrong);
}

/* Returns false, with a message, if the file cannot be read. */
static bool check_file(struct verify_run *run, const char *file)
{
    struct sl_lines lines;
    struct sl_input_line line;
    struct sl_progress progress;
    uint64_t number = 0;
    if (!sl_lines_open(&lines, file)) {
        fprintf(stderr, "sluice: cannot read `%s`: %s\n", file, strerror(errno));
        return false;
    }
    if (strcmp(file, "-") == 0 && isatty(STDIN_FILENO))
        fprintf(stderr, "sluice: reading the log from the terminal; end it with Ctrl-D\n");
    sl_progress_start(&progress, lines.size);
    while (sl_lines_next(&lines, &line)) {
        check_line(run, file, ++number, &line);
        if (number % 4096 == 0)
            sl_progress_step(&progress, lines.bytes, number);
    }
    sl_progress_end(&progress);
    sl_lines_close(&lines);
    if (lines.error)
        fprintf(stderr, "sluice: reading `%s`: %s\n", file, strerror(lines.error));
    return !lines.error;
}

/* ---- heads ---- */

/* Read before the lines are: a running server may add lines meanwhile. */
static void read_chain(struct verify_run *run, const char *file)
{
    char where[4200];
    int error = strcmp(file, "-") == 0 ? ENOENT : sl_chain_file_read(file, &run->before);
    run->has_chain = error == 0;
    snprintf(where, sizeof where, "%s.chain", file);
    if (error == EINVAL)
        report_problem(run, where, "is no head of a chain");
    else if (error && error != ENOENT)
        report_problem(run, where, strerror(error));
    if (run->has_chain && run->before.head.n)
        run->chain_wanted = sl_verify_want(&run->verify, run->before.head.hash);
    else if (run->has_chain)
        run->chain_wanted = SL_VERIFY_WANTED_MAX;
}

/* Checks that the head's line is there, and no line behind it that the chain does not know. */
static void check_chain(struct verify_run *run, const char *file)
{
    const struct sl_verify *verify = &run->verify;
    struct sl_chain_file now;
    char where[4200], what[200];
    snprintf(where, sizeof where, "%s.chain", file);
    if (!run->has_chain || sl_chain_file_read(file, &now) != 0)
        return;
    uint64_t last = now.has_next ? now.next.n : now.head.n;
    if (run->chain_wanted < verify->wanted_count && !verify->wanted[run->chain_wanted].is_seen) {
        snprintf(what, sizeof what,
                 "the chain ends with n=%" PRIu64 ", which is not there: lines were cut off, or "
                 "are in a file that was not given",
                 run->before.head.n);
        report_problem(run, where, what);
    } else if (verify->last.n > last) {
        snprintf(what, sizeof what,
                 "the chain ends with n=%" PRIu64 ", but there are lines up to n=%" PRIu64, last,
                 verify->last.n);
        report_problem(run, where, what);
    }
}

/* Returns false, with a message, if it is no hash. */
static bool want_head(struct verify_run *run, const struct sl_command *command, const char *head)
{
    struct sl_digest digest;
    char hash[SL_DIGEST_HEX + 1];
    if (!head)
        return true;
    if (!sl_digest_parse(sl_text(head), &digest)) {
        sl_command_wrong(command, "`--head %s` is no hash: 64 hex digits", head);
        return false;
    }
    sl_digest_print(&digest, hash);
    sl_verify_want(&run->verify, hash);
    return true;
}

/* ---- the command ---- */

static int print_result(const struct verify_run *run)
{
    const struct sl_verify *verify = &run->verify;
    if (verify->first > 1)
        fprintf(stderr,
                "note: the first line of the chain is n=%" PRIu64 "; earlier ones were not given\n",
                verify->first);
    printf("%" PRIu64 " chained line%s, %" PRIu64 " other%s: ", verify->chained,
           verify->chained == 1 ? "" : "s", verify->others, verify->others == 1 ? "" : "s");
    if (run->problems)
        printf("%" PRIu64 " problem%s\n", run->problems, run->problems == 1 ? "" : "s");
    else
        printf("whole\n");
    return run->problems ? 1 : 0;
}

static int verify_all(struct verify_run *run, const struct verify_arguments *args)
{
    const char *last = args->files.at[args->files.count - 1];
    read_chain(run, last);
    for (size_t i = 0; i < args->files.count; i++)
        if (!check_file(run, args->files.at[i]))
            return 2;
    check_chain(run, last);
    if (args->head && !run->verify.wanted[0].is_seen)
        report_problem(run, "--head",
                       "no line has this hash: it was cut off, or is in a file that was not given");
    return print_result(run);
}

static int run_verify(const struct sl_command *command, int argc, char **argv)
{
    struct verify_arguments args = { 0 };
    struct verify_run run = { 0 };
    enum sl_parsed parsed = sl_options_parse(command, argc, argv, &args);
    if (parsed != SL_PARSED)
        return parsed == SL_PARSED_HELP ? 0 : 2;
    struct sl_sha256 *hasher = sl_sha256_new();
    if (!hasher) {
        fprintf(stderr, "sluice: out of memory\n");
        return 2;
    }
    sl_verify_init(&run.verify, hasher);
    int code = want_head(&run, command, args.head) ? verify_all(&run, &args) : 2;
    sl_sha256_free(hasher);
    return code;
}

const struct sl_command sl_command_audit_verify = {
    .name = "audit verify",
    .summary = "Checks that no line of changes was edited, moved or taken out.",
    .usage = "[--head HASH] FILE...",
    .more = "  sluice audit verify audit.jsonl.2 audit.jsonl.1 audit.jsonl\n\n"
            "Beside the last file, FILE.chain says where the chain ends. A hash that was noted\n"
            "elsewhere (`sluice audit list --json` has it) shows with --head that nothing before\n"
            "it was written anew.\n\n"
            "Problems go to standard output. Exit: 0 whole, 1 problems, 2 a file cannot be read.\n",
    .options = options,
    .run = run_verify,
};
