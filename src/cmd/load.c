#include "cmd/load.h"

#include <errno.h>
#include <unistd.h>

#include "base/file.h"

static bool say_unreadable(const char *path, int error)
{
    if (error == EFBIG)
        fprintf(stderr,
                "sluice: the rules file `%s` is too large: it can have at most %d bytes (16 MiB)\n",
                path, SL_RULES_FILE_MAX_BYTES);
    else
        fprintf(stderr, "sluice: cannot read the rules file `%s`: %s\n", path, strerror(error));
    return false;
}

bool sl_load_file(const char *path, struct sl_buffer *out)
{
    bool from_input = strcmp(path, "-") == 0;
    int wrong = from_input ? sl_file_read_fd(STDIN_FILENO, out) : sl_file_read(path, out);
    return wrong == 0 || say_unreadable(path, wrong);
}

/* Keys that change decisions, and that a later version will heed. */
static void note_unused(const struct sl_ruleset *rules)
{
    static const char note[] = "sluice: note: this version does not use `%s`\n";
    if (rules->settings.identity.user_id_sha256_email_ip)
        fprintf(stderr, note, "identity.user_id");
    if (rules->exempt.api_key_count)
        fprintf(stderr, note, "exempt.api_keys");
}

struct sl_ruleset *sl_load_rules(const char *path)
{
    struct sl_buffer text = sl_buffer(SL_RULES_FILE_MAX_BYTES);
    struct sl_report report = { .file = path };
    struct sl_ruleset *rules = NULL;
    if (sl_load_file(path, &text)) {
        rules = sl_ruleset_parse(path, (struct sluice_text){ text.at, text.len }, &report);
        if (rules)
            note_unused(rules);
        else
            sl_report_print(&report, stderr);
    }
    sl_report_release(&report);
    sl_buffer_release(&text);
    return rules;
}

/* What the URL leaves out is left out there too. */
_Static_assert(SL_STORE_SIZE_BYTES == SL_MEMORY_SIZE_BYTES, "one standard size");
_Static_assert(SL_STORE_LOG_DEFAULT == SL_LOG_DEFAULT, "one word for the standard share");
_Static_assert(SL_STORE_SYNC_OFF == SL_SYNC_OFF && SL_STORE_SYNC_CLOSE == SL_SYNC_CLOSE,
               "one way to write when");

static bool keeps_logs(const struct sl_ruleset *rules)
{
    size_t i = 0;
    while (i < rules->rule_count && !rules->rules[i].algo->keeps_ring)
        i++;
    return i < rules->rule_count;
}

struct sl_store *sl_load_table(const struct sl_memory_config *config)
{
    struct sluice_error error = { 0 };
    struct sl_store *store = sl_memory_open(config, &error);
    if (!store || *error.text)
        fprintf(stderr, "sluice: %s%s\n", store ? "note: " : "", error.text);
    return store;
}

struct sl_store *sl_load_store(const struct sl_store_url *url, const struct sl_ruleset *rules)
{
    if (url->kind != SL_STORE_MEMORY) {
        /* Not its text: that may hold a password. */
        fprintf(stderr, "sluice: a Redis store is asked for, which this version does not have; "
                        "use `memory`\n");
        return NULL;
    }
    return sl_load_table(&(struct sl_memory_config){
        .path = url->path,
        .size_bytes = url->size_bytes,
        .log_bytes = url->log_bytes,
        .logs_wanted = keeps_logs(rules),
        .sync_us = url->sync_us,
    });
}

void sl_say_store_failed(const struct sl_store_url *url, int status)
{
    fprintf(stderr, "sluice: %s", sluice_status_text(status));
    if (status == SLUICE_STORE_FULL && url->path)
        fprintf(stderr, "; see `sluice table %s`", url->path);
    else if (status == SLUICE_STORE_FULL)
        fprintf(stderr, "; give it more, as in `memory:?size=1G`");
    fputc('\n', stderr);
}
