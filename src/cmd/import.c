/* sluice import: makes rules from the configuration of other rate limiters. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/file.h"
#include "cmd/options.h"
#include "import/envoy.h"
#include "rules/tree/tree.h"

struct import_arguments {
    struct sl_operands files;
    bool merge_domains;
    const char *listen;
    const char *output;
    bool force;
};

static const struct sl_option options[] = {
    { "FILE...", "which files? name those of the rate limit server's configuration",
      SL_OPTION_OPERANDS, offsetof(struct import_arguments, files),
      "configurations, a domain each; - for input" },
    { "--merge-domains", NULL, SL_OPTION_FLAG, offsetof(struct import_arguments, merge_domains),
      "a domain may be in several files (MERGE_DOMAIN_CONFIG)" },
    { "--listen", "ADDRESS", SL_OPTION_TEXT, offsetof(struct import_arguments, listen),
      "the address that Envoy will call (127.0.0.1:8081)" },
    { "-o", "FILE", SL_OPTION_TEXT, offsetof(struct import_arguments, output),
      "write the rules to this file, which must not be there" },
    { "--force", NULL, SL_OPTION_FLAG, offsetof(struct import_arguments, force),
      "or may be overwritten" },
    { 0 },
};

/* One run: what was read, and the rules that come out. */
struct import_run {
    const struct import_arguments *args;
    struct sl_envoy envoy;
    struct sl_envoy_file *files;
    struct sl_envoy_file **order;
    struct sl_buffer text; /* of the file that is read, then of the rules */
};

static bool read_file(struct import_run *run, struct sl_envoy_file *file)
{
    bool from_input = strcmp(file->name, "-") == 0;
    sl_buffer_clear(&run->text);
    int wrong = from_input ? sl_file_read_fd(STDIN_FILENO, &run->text)
                           : sl_file_read(file->name, &run->text);
    if (wrong)
        fprintf(stderr, "sluice: cannot read `%s`: %s\n", file->name, strerror(wrong));
    return !wrong &&
           sl_envoy_read(&run->envoy, file, (struct sluice_text){ run->text.at, run->text.len });
}

static bool read_files(struct import_run *run)
{
    bool good = true;
    for (size_t i = 0; i < run->args->files.count; i++) {
        run->files[i].name = run->args->files.at[i];
        run->order[i] = &run->files[i];
        good &= read_file(run, &run->files[i]);
    }
    return good;
}

/* Parses the printed rules: rules that cannot be read again would be worse than none. */
static bool make_rules(struct import_run *run)
{
    struct sl_report report = { .file = "the rules" };
    sl_buffer_clear(&run->text);
    sl_envoy_print(&run->envoy, run->order, run->args->files.count, &run->text);
    struct sluice_text text = { run->text.at, run->text.len };
    struct sl_ruleset *rules =
        run->text.failed ? NULL : sl_ruleset_parse("rules.yaml", text, &report);
    if (run->text.failed)
        fprintf(stderr,
                "sluice: the rules would have more than %d bytes, which no rules file can; "
                "import fewer files at a time\n",
                SL_RULES_FILE_MAX_BYTES);
    sl_report_print(&report, stderr);
    bool good = rules != NULL;
    sl_ruleset_free(rules);
    sl_report_release(&report);
    return good;
}

static bool print_rules(const struct import_run *run)
{
    bool good = fwrite(run->text.at, 1, run->text.len, stdout) == run->text.len;
    good &= fflush(stdout) == 0;
    if (!good)
        fprintf(stderr, "sluice: writing the rules: %s\n", strerror(errno));
    return good;
}

/* Returns false with errno set. */
static bool write_fd(int fd, struct sluice_text text)
{
    while (text.len > 0) {
        ssize_t count = write(fd, text.at, text.len);
        if (count < 0 && errno != EINTR)
            return false;
        text.at += count > 0 ? count : 0;
        text.len -= count > 0 ? (size_t)count : 0;
    }
    return true;
}

/* Writes the file whole or not at all: a server may be watching it. Writes a file beside it and
 * renames that; without --force a file of that name is left alone. */
static bool write_whole(const struct import_run *run, struct sluice_text text)
{
    const char *path = run->args->output;
    char *beside = NULL;
    mode_t mask = umask(0);
    umask(mask);
    int fd = asprintf(&beside, "%s.XXXXXX", path) > 0 ? mkostemp(beside, O_CLOEXEC) : -1;
    bool good = fd >= 0 && fchmod(fd, 0666 & ~mask) == 0 && write_fd(fd, text) && fsync(fd) == 0 &&
                (run->args->force ? rename(beside, path) : link(beside, path)) == 0;
    int why = errno;
    if (fd >= 0) {
        close(fd);
        unlink(beside); /* unless it has been renamed */
    }
    free(beside);
    errno = why;
    return good;
}

/* Writes into a pipe or a device, which cannot be replaced. */
static bool write_into(const char *path, struct sluice_text text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool good = fd >= 0 && write_fd(fd, text);
    if (fd >= 0 && close(fd) != 0)
        good = false;
    return good;
}

static bool write_rules(const struct import_run *run)
{
    const char *path = run->args->output;
    struct sluice_text text = { run->text.at, run->text.len };
    struct stat there;
    bool is_special = run->args->force && stat(path, &there) == 0 && !S_ISREG(there.st_mode);
    bool good = is_special ? write_into(path, text) : write_whole(run, text);
    if (!good && errno == EEXIST)
        fprintf(stderr, "sluice: `%s` is there already; choose another, or use --force\n", path);
    else if (!good)
        fprintf(stderr, "sluice: cannot write `%s`: %s\n", path, strerror(errno));
    return good;
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static void summarise(const struct sl_envoy *envoy)
{
    fprintf(stderr, "sluice: %zu limit%s of %u domain%s became %zu rule%s", envoy->limits,
            plural(envoy->limits), envoy->domain_count, plural(envoy->domain_count), envoy->rules,
            plural(envoy->rules));
    if (envoy->unlimited)
        fprintf(stderr, "; %zu %s unlimited", envoy->unlimited,
                envoy->unlimited == 1 ? "is" : "are");
    if (envoy->dead)
        fprintf(stderr, "; %zu %s never reached", envoy->dead, envoy->dead == 1 ? "is" : "are");
    if (envoy->lost)
        fprintf(stderr, "; %zu thing%s could not be translated exactly", envoy->lost,
                plural(envoy->lost));
    fputc('\n', stderr);
}

static int import_envoy(struct import_run *run)
{
    bool good = read_files(run) && make_rules(run) &&
                (run->args->output ? write_rules(run) : print_rules(run));
    for (size_t i = 0; i < run->args->files.count; i++)
        sl_report_print(&run->files[i].report, stderr);
    if (good)
        summarise(&run->envoy);
    return !good ? 2 : run->envoy.lost ? 1 : 0;
}

static int run_envoy(const struct sl_command *command, int argc, char **argv)
{
    static struct import_arguments args = { .listen = "127.0.0.1:8081" };
    enum sl_parsed parsed = sl_options_parse(command, argc, argv, &args);
    if (parsed != SL_PARSED)
        return parsed == SL_PARSED_HELP ? 0 : 2;
    struct import_run run = { .args = &args, .text = sl_buffer(SL_RULES_FILE_MAX_BYTES) };
    run.envoy.merges_domains = args.merge_domains;
    run.envoy.listen = args.listen;
    run.files = calloc(args.files.count, sizeof *run.files);
    run.order = calloc(args.files.count, sizeof *run.order);
    SL_CHECK(run.files && run.order);
    int code = import_envoy(&run);
    for (size_t i = 0; i < args.files.count; i++)
        sl_report_release(&run.files[i].report);
    sl_envoy_release(&run.envoy);
    sl_buffer_release(&run.text);
    free(run.order);
    free(run.files);
    return code;
}

static const struct sl_command envoy = {
    .name = "import envoy",
    .summary = "Makes a rules file of configurations of Envoy's reference rate limit server.",
    .usage = "FILE... [options]",
    .more =
        "The rules go to standard output, with comments that say where each comes from. What\n"
        "cannot be translated exactly is told on standard error, as file:line:column, and in a\n"
        "comment where its rule would be (docs/import.md).\n"
        "Exit: 0 all was translated, 1 all but what was told, 2 a file cannot be read or is\n"
        "wrong: every problem is told, and nothing is written.\n",
    .options = options,
    .run = run_envoy,
};

static const struct sl_command *const members[] = { &envoy, NULL };

const struct sl_command sl_command_import = {
    .name = "import",
    .summary = "Makes a rules file of another rate limiter's configuration.",
    .members = members,
    .run = sl_command_choose,
};
