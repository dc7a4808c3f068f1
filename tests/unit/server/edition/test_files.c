/* What other files than the rules say: read, kept, dropped. What a failure leaves behind
 * is the sanitizer's to see. */
#include "server/edition/files.h"

#include "unit/server/captured.h"
#include "unit/server/certificates.h"

#define RULES "rules: [{ name: all, per: global, limit: 1/h }]\n"
#define HTTPS                                                                                      \
    "listen: { https: '127.0.0.1:0' }\ntls: { certificate: $/server.pem, key: $/server.key }\n"
#define TOKENS "admin: { token_file: $/admin, readonly_token_file: $/reader }\n"
#define JWT    "identity: { jwt: { algorithms: [HS256], keys: [{ secret_file: $/secret }] } }\n"

static struct sl_sha256 *hasher;
static struct sluice_error error;

static int make_files(void **state)
{
    if (open_folder(state) != 0)
        return -1;
    struct paper server = paper_of("localhost", (struct wish){ 0 });
    struct paper old = paper_of("old", (struct wish){ .from_s = -9 * DAY_S, .until_s = -DAY_S });
    save_certificate("server.pem", "w", server.certificate);
    save_key("server.key", "w", server.key, NULL);
    save_certificate("old.pem", "w", old.certificate);
    save_key("old.key", "w", old.key, NULL);
    save_text("admin", "the-token-of-the-admin\n");
    save_text("reader", "the-token-of-the-reader\n");
    save_text("secret", "0123456789abcdef0123456789abcdef");
    save_text("short", "short");
    paper_free(&server);
    paper_free(&old);
    hasher = sl_sha256_new();
    return hasher ? 0 : -1;
}

static int drop_files(void **state)
{
    sl_sha256_free(hasher);
    return close_folder(state);
}

#define WITH_FILES(name) TEST_WITH(name, make_files, drop_files)

/* `$` is the folder. */
static struct sl_ruleset *rules_of(const char *yaml)
{
    char text[4096];
    size_t len = 0;
    for (; *yaml; yaml++)
        len += (size_t)snprintf(text + len, sizeof text - len, *yaml == '$' ? "%s" : "%.1s",
                                *yaml == '$' ? folder : yaml);
    struct sl_report report = { .file = "rules.yaml" };
    struct sl_ruleset *rules = sl_ruleset_parse("rules.yaml", sl_text(text), &report);
    if (!rules)
        sl_report_print(&report, stderr);
    sl_report_release(&report);
    assert_non_null(rules);
    return rules;
}

static struct sl_files *load(const char *yaml, bool speaks_tls, const struct sl_files *old)
{
    struct sl_files_config config = { speaks_tls, old, hasher };
    memset(&error, 0, sizeof error);
    return sl_files_load(rules_of(yaml), &config, &error);
}

static enum sl_role role_of(const struct sl_files *files, const char *token)
{
    struct sl_digest digest;
    sl_sha256_of(hasher, sl_text(token), &digest);
    return sl_tokens_role(&files->tokens, &digest);
}

/* ---- loading ---- */

WITH_FILES(where_nothing_is_named_nothing_is_read)
{
    struct sl_files *files = load(RULES, false, NULL);
    assert_non_null(files);
    assert_int_equal(atomic_load(&files->holders), 1);
    assert_null(files->tls);
    assert_null(files->keyset);
    assert_false(files->tokens.has_admin || files->tokens.has_reader);
    assert_string_equal(files->settings_of->rules[0].name, "all");
    sl_files_drop(files);
}

WITH_FILES(everything_that_is_named_is_read)
{
    struct sl_files *files = load(HTTPS TOKENS JWT RULES, true, NULL);
    assert_non_null(files);
    assert_non_null(files->tls);
    assert_non_null(files->keyset);
    assert_int_equal(role_of(files, "the-token-of-the-admin"), SL_ROLE_ADMIN);
    assert_int_equal(role_of(files, "the-token-of-the-reader"), SL_ROLE_READER);
    sl_files_drop(files);
}

/* It is the listeners' question, and they cannot change. */
WITH_FILES(a_certificate_is_read_where_a_listener_speaks_tls_and_not_otherwise)
{
    struct sl_files *files =
        load("tls: { certificate: $/none.pem, key: $/none.key }\n" RULES, false, NULL);
    assert_non_null(files);
    assert_null(files->tls);
    sl_files_drop(files);
}

WITH_FILES(what_cannot_be_read_is_named_and_nothing_is_kept)
{
    static const struct {
        const char *yaml, *guilty, *words;
    } rows[] = {
        { "listen: { https: '127.0.0.1:0' }\ntls: { certificate: $/none, key: $/server.key }\n",
          "none", "" },
        { "listen: { https: '127.0.0.1:0' }\ntls: { certificate: $/server.pem, key: $/old.key }\n",
          "old.key", "" },
        { HTTPS "admin: { token_file: $/none }\n", "none", "No such file" },
        { HTTPS "admin: { token_file: $/short }\n", "short", "too short" },
        { HTTPS "admin: { token_file: $/admin, readonly_token_file: $/short }\n", "short",
          "too short" },
        { HTTPS TOKENS
          "identity: { jwt: { algorithms: [HS256], keys: [{ secret_file: $/none }] } }\n",
          "none", "" },
        { HTTPS TOKENS
          "identity: { jwt: { algorithms: [HS256], keys: [{ secret_file: $/short }] } }\n",
          "short", "" },
        { TOKENS "identity: { jwt: { algorithms: [ES256], jwks_file: $/secret } }\n", "secret",
          "" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char yaml[1024];
        snprintf(yaml, sizeof yaml, "%s" RULES, rows[i].yaml);
        struct sl_files *files = load(yaml, strstr(yaml, "https") != NULL, NULL);
        if (files || !strstr(error.text, rows[i].guilty) || !strstr(error.text, rows[i].words))
            fail_msg("%s: %s", rows[i].yaml, files ? "read" : error.text);
        assert_null(strstr(error.text, "0123456789abcdef"));
    }
}

static void load_old_certificate(void *about)
{
    struct sl_files **files = about;
    *files = load("listen: { https: '127.0.0.1:0' }\n"
                  "tls: { certificate: $/old.pem, key: $/old.key }\n" RULES,
                  true, NULL);
}

WITH_FILES(what_is_only_noted_about_a_certificate_is_said_and_is_no_error)
{
    struct sl_files *files = NULL;
    const char *said = said_by(load_old_certificate, &files);
    assert_non_null(files);
    assert_non_null(strstr(said, "sluice: note: "));
    assert_non_null(strstr(said, "old.pem"));
    assert_int_equal(error.text[0], 0);
    sl_files_drop(files);
}

/* ---- the next reading ---- */

WITH_FILES(where_the_rules_name_no_certificate_any_more_the_old_one_stays)
{
    struct sl_files *old = load(HTTPS RULES, true, NULL);
    assert_non_null(old);
    struct sl_files *files = load(RULES, true, old);
    assert_non_null(files);
    assert_ptr_equal(files->tls, old->tls);
    struct sl_files *third = load(HTTPS RULES, true, files);
    assert_non_null(third);
    assert_ptr_not_equal(third->tls, files->tls);
    sl_files_drop(old);
    sl_files_drop(third);
    assert_non_null(files->tls); /* and is still there */
    sl_files_drop(files);
}

WITH_FILES(tokens_and_keys_of_the_old_files_do_not_stay)
{
    struct sl_files *old = load(TOKENS JWT RULES, false, NULL);
    assert_non_null(old);
    struct sl_files *files = load(RULES, false, old);
    assert_non_null(files);
    assert_null(files->keyset);
    assert_int_equal(role_of(files, "the-token-of-the-admin"), SL_ROLE_NOBODY);
    assert_int_equal(role_of(old, "the-token-of-the-admin"), SL_ROLE_ADMIN);
    sl_files_drop(files);
    sl_files_drop(old);
}

WITH_FILES(a_failure_leaves_the_old_files_as_they_are)
{
    struct sl_files *old = load(HTTPS TOKENS RULES, true, NULL);
    assert_non_null(old);
    assert_null(load("admin: { token_file: $/none }\n" RULES, true, old));
    assert_int_equal(atomic_load(&old->holders), 1);
    assert_non_null(old->tls);
    assert_int_equal(role_of(old, "the-token-of-the-admin"), SL_ROLE_ADMIN);
    sl_files_drop(old);
}

/* ---- keeping and dropping ---- */

TEST(the_last_to_drop_them_frees_them)
{
    struct sl_files *files = sl_files_new();
    assert_non_null(files);
    assert_int_equal(atomic_load(&files->holders), 1);
    assert_ptr_equal(sl_files_keep(files), files);
    assert_int_equal(atomic_load(&files->holders), 2);
    sl_files_drop(files);
    assert_int_equal(atomic_load(&files->holders), 1);
    sl_files_drop(files);
    sl_files_drop(NULL);
}

/* ---- watching ---- */

WITH_FILES(every_file_that_is_read_is_watched)
{
    static const struct {
        const char *yaml;
        bool speaks_tls;
        const char *files[8];
    } rows[] = {
        { RULES, true, { NULL } },
        { HTTPS TOKENS JWT RULES,
          true,
          { "server.pem", "server.key", "admin", "reader", "secret" } },
        { HTTPS TOKENS RULES, false, { "admin", "reader" } },
        { "identity: { jwt: { algorithms: [ES256], jwks_file: $/jwks } }\n" RULES,
          false,
          { "jwks" } },
        { "identity: { jwt: { algorithms: [ES256], keys: [{ kid: a, pem_file: $/a },\n"
          "  { kid: b, pem_file: $/b }] } }\n" RULES,
          false,
          { "a", "b" } },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_watch watch = { 0 };
        struct sl_ruleset *rules = rules_of(rows[i].yaml);
        size_t count = 0;
        sl_files_watch(&rules->settings, rows[i].speaks_tls, &watch);
        for (; rows[i].files[count]; count++) {
            assert_true(count < watch.count);
            assert_string_equal(watch.files[count].path, in_folder(rows[i].files[count]));
        }
        SAME(rows[i].yaml, watch.count, count);
        sl_watch_release(&watch);
        sl_ruleset_free(rules);
    }
}
