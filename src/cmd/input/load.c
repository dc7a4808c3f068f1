/* Reads rules files and opens stores, with messages on standard error. */
#include "cmd/input/load.h"

#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "store/open.h"

/* Reads it; false: error->text. */
static bool read_text(const char *path, struct sl_buffer *out, struct sluice_error *error)
{
    bool from_input = strcmp(path, "-") == 0;
    int wrong = from_input ? sl_file_read_fd(STDIN_FILENO, out) : sl_file_read(path, out);
    if (wrong == EFBIG)
        return sl_error_say(
            error, "the rules file `%s` is too large: it can have at most %d bytes (16 MiB)", path,
            SL_RULES_FILE_MAX_BYTES);
    if (wrong)
        return sl_error_say(error, "cannot read the rules file `%s`: %s", path, strerror(wrong));
    return true;
}

bool sl_load_file(const char *path, struct sl_buffer *out)
{
    struct sluice_error error;
    if (read_text(path, out, &error))
        return true;
    fprintf(stderr, "sluice: %s\n", error.text);
    return false;
}

bool sl_load_text(const char *path, struct sl_buffer *out, struct sl_report *report)
{
    struct sluice_error error;
    if (read_text(path, out, &error))
        return true;
    sl_report_error(report, (struct sl_mark){ 0, 0 }, "%s", error.text);
    return false;
}

struct sl_ruleset *sl_load_rules(const char *path)
{
    struct sl_buffer text = sl_buffer(SL_RULES_FILE_MAX_BYTES);
    struct sl_report report = { .file = path };
    struct sl_ruleset *rules = NULL;
    if (sl_load_file(path, &text)) {
        rules = sl_ruleset_parse(path, (struct sluice_text){ text.at, text.len }, &report);
        if (!rules)
            sl_report_print(&report, stderr);
    }
    sl_report_release(&report);
    sl_buffer_release(&text);
    return rules;
}

struct sl_store *sl_load_store(const struct sl_store_url *url, const struct sl_ruleset *rules)
{
    struct sluice_error error = { 0 };
    struct sl_store *store = NULL;
    sl_store_open(url, rules, &store, &error);
    if (!store || *error.text)
        fprintf(stderr, "sluice: %s%s\n", store ? "note: " : "", error.text);
    return store;
}

void sl_say_store_failed(const struct sl_store_url *url, struct sl_store *store, int status)
{
    struct sluice_error why = { 0 };
    fprintf(stderr, "sluice: %s", sluice_status_text(status));
    if (store->ops->why)
        store->ops->why(store, &why);
    if (*why.text)
        fprintf(stderr, " (%s)", why.text);
    else if (status == SLUICE_STORE_FULL && url->path)
        fprintf(stderr, "; see `sluice table %s`", url->path);
    else if (status == SLUICE_STORE_FULL)
        fprintf(stderr, "; give it more, as in `memory:?size=1G`");
    fputc('\n', stderr);
}
