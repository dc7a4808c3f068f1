#include "cmd/load.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static bool read_all(int fd, struct sl_buffer *out)
{
    char chunk[64 * 1024];
    for (;;) {
        ssize_t got = read(fd, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0;
        sl_buffer_add(out, (struct sluice_text){ chunk, (size_t)got });
        if (out->failed) {
            errno = EFBIG;
            return false;
        }
    }
}

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
    int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return say_unreadable(path, errno);
    bool good = read_all(fd, out);
    int error = errno;
    close(fd);
    return good || say_unreadable(path, error);
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

struct sl_store *sl_load_store(const struct sl_store_url *url)
{
    if (url->kind != SL_STORE_MEMORY) {
        /* Not its text: that may hold a password. */
        fprintf(stderr, "sluice: a Redis store is asked for, which this version does not have; "
                        "use `memory`\n");
        return NULL;
    }
    if (url->path)
        fprintf(stderr,
                "sluice: note: this version keeps counts in the process alone; `%s` is neither "
                "read nor written\n",
                url->text);
    struct sl_store *store = sl_memory_open();
    if (!store)
        fprintf(stderr, "sluice: out of memory\n");
    return store;
}
