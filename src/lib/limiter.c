/* A limiter: rules, the store they count on, and scratch for its callers.
 *
 * The rules are immutable and the store is shared; scratch for a decision comes out of the pool and
 * goes back into it (decide.c). */
#include "lib/handles.h"

#include <errno.h>
#include <stdlib.h>

#include "base/file.h"
#include "lib/error.h"
#include "rules/tree/tree.h"

/* Notes settings that change decisions and that only the server has: the library has no SHA-256. */
static void note_unused(const struct sl_ruleset *rules, struct sluice_error *error)
{
    if (rules->settings.identity.user_id_sha256_email_ip)
        sl_error_add(error, 0, "`identity.user_id` is for the server; give the id as `user` here");
}

/* Sets the limiter's store: the given one, or one that it opens. */
static int use_store(struct sluice_limiter *limiter, struct sluice_store *given,
                     struct sluice_error *error)
{
    limiter->store = given;
    if (given)
        return SLUICE_OK;
    limiter->owns_store = true;
    return sl_handle_open(&limiter->rules->settings.store, limiter->rules, &limiter->store, error);
}

static int say_too_large(const char *name, struct sluice_error *error)
{
    return sl_error_add(error, SLUICE_BAD_RULES,
                        "%s: the rules are too large: they can have at most %d bytes (16 MiB)",
                        name, SL_RULES_FILE_MAX_BYTES);
}

static int read_rules(const char *name, struct sluice_text text, struct sl_ruleset **out,
                      struct sluice_error *error)
{
    struct sl_report report = { .file = name };
    if (text.len > SL_RULES_FILE_MAX_BYTES)
        return say_too_large(name, error);
    *out = sl_ruleset_parse(name, text, &report);
    int status = *out ? SLUICE_OK : sl_error_report(error, SLUICE_BAD_RULES, &report);
    sl_report_release(&report);
    return status;
}

static int open_limiter(struct sluice_store *store, const char *name, struct sluice_text text,
                        struct sluice_limiter **out, struct sluice_error *error)
{
    struct sluice_limiter *limiter =
        aligned_alloc(_Alignof(struct sluice_limiter), sizeof *limiter);
    if (!limiter)
        return sl_error_add(error, SLUICE_NO_MEMORY, "out of memory");
    memset(limiter, 0, sizeof *limiter);
    int status = read_rules(name, text, &limiter->rules, error);
    if (status == SLUICE_OK)
        status = use_store(limiter, store, error);
    if (status == SLUICE_OK && !sl_pool_init(&limiter->pool, limiter->rules, limiter->store->store))
        status = sl_error_add(error, SLUICE_NO_MEMORY, "out of memory");
    if (status != SLUICE_OK) {
        sluice_limiter_close(limiter);
        return status;
    }
    note_unused(limiter->rules, error);
    *out = limiter;
    return SLUICE_OK;
}

int sluice_limiter_parse(struct sluice_store *store, const char *name, struct sluice_text rules,
                         struct sluice_limiter **out, struct sluice_error *error)
{
    struct sluice_error own;
    error = sl_error_start(error, &own);
    if (!rules.at || !out)
        return sl_error_add(error, SLUICE_INVALID, "`%s` is NULL", rules.at ? "out" : "rules");
    return open_limiter(store, name ? name : "rules", rules, out, error);
}

int sluice_limiter_open(struct sluice_store *store, const char *rules_file,
                        struct sluice_limiter **out, struct sluice_error *error)
{
    struct sluice_error own;
    struct sl_buffer text = sl_buffer(SL_RULES_FILE_MAX_BYTES);
    error = sl_error_start(error, &own);
    if (!rules_file || !out)
        return sl_error_add(error, SLUICE_INVALID, "`%s` is NULL",
                            rules_file ? "out" : "rules_file");
    int unread = sl_file_read(rules_file, &text);
    int status;
    if (unread == EFBIG)
        status = say_too_large(rules_file, error);
    else if (unread)
        status = sl_error_add(error, SLUICE_BAD_RULES, "cannot read the rules file `%s`: %s",
                              rules_file, strerror(unread));
    else
        status =
            open_limiter(store, rules_file, (struct sluice_text){ text.at, text.len }, out, error);
    sl_buffer_release(&text);
    return status;
}

void sluice_limiter_close(struct sluice_limiter *limiter)
{
    if (!limiter)
        return;
    sl_pool_release(&limiter->pool);
    sl_ruleset_free(limiter->rules);
    if (limiter->owns_store)
        sluice_close(limiter->store);
    free(limiter);
}

struct sluice_store *sluice_limiter_store(struct sluice_limiter *limiter)
{
    return limiter ? limiter->store : NULL;
}
