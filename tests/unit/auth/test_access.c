/* Tokens out of a file and the environment, and the tenants of API keys. */
#include "auth/access.h"

#include <errno.h>

#include "unit/store/folder.h"

TESTS_ALONE;

/* ---- in place of OpenSSL's ------------------------------------------------------------ */

/* The program's own goes before the library's: what is compared with it is seen here. */
int CRYPTO_memcmp(const void *a, const void *b, size_t len);

static size_t compared, compared_bytes;

int CRYPTO_memcmp(const void *a, const void *b, size_t len)
{
    const volatile uint8_t *one = a, *other = b;
    int differs = 0;
    compared++;
    compared_bytes += len;
    for (size_t i = 0; i < len; i++)
        differs |= one[i] ^ other[i];
    return differs;
}

/* ---- tokens ------------------------------------------------------------------------- */

#define TOKEN  "0123456789abcdef"
#define OTHER  "the-admin's-other-token"
#define READER "somebody-who-only-looks"

static struct sl_sha256 *hasher;
static struct sl_tokens tokens;
static struct sluice_error error;

static int open_access(void **unused)
{
    hasher = sl_sha256_new();
    memset(&tokens, 0, sizeof tokens);
    unsetenv("SLUICE_TEST_TOKEN");
    return hasher ? open_folder(unused) : -1;
}

static int close_access(void **unused)
{
    sl_sha256_free(hasher);
    return close_folder(unused);
}

#define WITH_FILES(name) TEST_WITH(name, open_access, close_access)

static const char *saved(const char *name, struct sluice_text bytes)
{
    static char paths[4][128];
    static unsigned turn;
    char *out = paths[turn++ % 4];
    snprintf(out, sizeof paths[0], "%s/%s", folder, name);
    FILE *file = fopen(out, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes.at, 1, bytes.len, file), bytes.len);
    fclose(file);
    return out;
}

static bool load(const char *file, const char *variable, const char *reader)
{
    struct sl_settings settings = { 0 };
    settings.admin.token_file = file;
    settings.admin.token_env = variable;
    settings.admin.readonly_token_file = reader;
    memset(&error, 0, sizeof error);
    return sl_tokens_load(&settings, hasher, &tokens, &error);
}

static enum sl_role role_of(const char *token)
{
    struct sl_digest digest;
    sl_sha256_of(hasher, sl_text(token), &digest);
    return sl_tokens_role(&tokens, &digest);
}

WITH_FILES(without_settings_there_are_none)
{
    assert_true(load(NULL, NULL, NULL));
    assert_false(tokens.has_admin);
    assert_false(tokens.has_reader);
    assert_int_equal(role_of(""), SL_ROLE_NOBODY);
    assert_int_equal(role_of(TOKEN), SL_ROLE_NOBODY);
}

WITH_FILES(a_token_is_of_the_file_or_of_the_environment_and_each_is_good)
{
    setenv("SLUICE_TEST_TOKEN", OTHER, 1);
    assert_true(load(saved("a", SL_TEXT(TOKEN)), "SLUICE_TEST_TOKEN", saved("r", SL_TEXT(READER))));
    assert_true(tokens.has_admin && tokens.has_reader);
    assert_int_equal(tokens.admin_count, 2);
    assert_int_equal(role_of(TOKEN), SL_ROLE_ADMIN);
    assert_int_equal(role_of(OTHER), SL_ROLE_ADMIN);
    assert_int_equal(role_of(READER), SL_ROLE_READER);
    static const char *const others[] = { "",        "0123456789abcde", TOKEN "0",
                                          " " TOKEN, "Bearer",          "0123456789ABCDEF" };
    for (size_t i = 0; i < COUNT(others); i++)
        SAME(others[i], role_of(others[i]), SL_ROLE_NOBODY);
}

/* A zeroed digest is one like any other, and belongs to no token. */
WITH_FILES(a_readers_token_alone_gives_no_token_the_role_of_admin)
{
    assert_true(load(NULL, NULL, saved("r", SL_TEXT(READER))));
    assert_false(tokens.has_admin);
    assert_int_equal(role_of(READER), SL_ROLE_READER);
    assert_int_equal(sl_tokens_role(&tokens, &(struct sl_digest){ { 0 } }), SL_ROLE_NOBODY);
    assert_true(load(saved("a", SL_TEXT(TOKEN)), NULL, NULL));
    assert_int_equal(sl_tokens_role(&tokens, &(struct sl_digest){ { 0 } }), SL_ROLE_NOBODY);
}

WITH_FILES(the_same_token_for_both_is_the_admins)
{
    assert_true(load(saved("a", SL_TEXT(TOKEN)), NULL, saved("r", SL_TEXT(TOKEN))));
    assert_int_equal(role_of(TOKEN), SL_ROLE_ADMIN);
}

WITH_FILES(white_space_around_a_token_is_cut_off_and_inside_it_is_refused)
{
    static const struct {
        struct sluice_text text;
        bool is_good;
    } rows[] = {
        { SL_TEXT(TOKEN "\n"), true },
        { SL_TEXT(TOKEN "\r\n\r\n"), true },
        { SL_TEXT(" \t\r\n" TOKEN " \t"), true },
        { SL_TEXT("01234567 89abcdef"), false },
        { SL_TEXT("01234567\n89abcdef"), false },
        { SL_TEXT("\v" TOKEN), false },
        { SL_TEXT(TOKEN "\f"), false },
        { SL_TEXT(TOKEN "\0"), false },
        { SL_TEXT("0123456789abcdef\x7f"), false },
        { SL_TEXT("0123456789abcde\xc3\xa9"), false },
        { SL_TEXT("\xff" TOKEN), false },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        SAME(rows[i].text.at, load(saved("a", rows[i].text), NULL, NULL), rows[i].is_good);
        if (rows[i].is_good)
            SAME(rows[i].text.at, role_of(TOKEN), SL_ROLE_ADMIN);
        else
            assert_non_null(strstr(error.text, "cannot be sent in a header"));
    }
}

WITH_FILES(a_token_has_at_least_16_bytes)
{
    static const struct {
        const char *text;
        bool is_good;
    } rows[] = {
        { "", false },
        { "\n", false },
        { "0123456789abcde", false },
        { TOKEN, true },
        { "               \n                ", false },
        { TOKEN "0", true },
        { "0123456789abcde\n", false },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        SAME(rows[i].text, load(saved("a", sl_text(rows[i].text)), NULL, NULL), rows[i].is_good);
        setenv("SLUICE_TEST_TOKEN", rows[i].text, 1);
        SAME(rows[i].text, load(NULL, "SLUICE_TEST_TOKEN", NULL), rows[i].is_good);
        SAME(rows[i].text, load(NULL, NULL, saved("r", sl_text(rows[i].text))), rows[i].is_good);
        if (!rows[i].is_good)
            assert_non_null(strstr(error.text, "too short: at least 16 bytes"));
    }
}

WITH_FILES(what_cannot_be_read_says_which_and_why)
{
    static char large[8192];
    char missing[128];
    memset(large, 'a', sizeof large);
    snprintf(missing, sizeof missing, "%s/missing", folder);
    assert_false(load(missing, NULL, NULL));
    assert_non_null(strstr(error.text, missing));
    assert_non_null(strstr(error.text, strerror(ENOENT)));
    assert_false(load(NULL, NULL, missing));
    assert_non_null(strstr(error.text, missing));
    assert_false(load(folder, NULL, NULL));
    assert_non_null(strstr(error.text, folder));
    const char *path_of_large = saved("large", (struct sluice_text){ large, sizeof large });
    assert_false(load(path_of_large, NULL, NULL));
    assert_non_null(strstr(error.text, "too large"));
    assert_false(load(NULL, "SLUICE_TEST_TOKEN", NULL));
    assert_non_null(strstr(error.text, "`SLUICE_TEST_TOKEN`"));
}

/* Whatever is wrong with the file: no token is written to a log. */
WITH_FILES(no_message_has_a_byte_of_the_token)
{
    static const char *const wrong[] = { "QZX-QZX-QZX", "QZXQZXQZXQZX QZXQZXQZX",
                                         "QZXQZXQZXQZXQZXQZX\x01", "QZXQZXQZXQZXQZXQZX\xc3\xa9" };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        assert_false(load(saved("a", sl_text(wrong[i])), NULL, NULL));
        assert_null(strstr(error.text, "QZX"));
        setenv("SLUICE_TEST_TOKEN", wrong[i], 1);
        assert_false(load(NULL, "SLUICE_TEST_TOKEN", NULL));
        assert_null(strstr(error.text, "QZX"));
    }
}

WITH_FILES(a_failure_leaves_the_tokens_as_they_were)
{
    assert_true(load(saved("a", SL_TEXT(TOKEN)), NULL, NULL));
    assert_false(load(saved("b", SL_TEXT(OTHER)), NULL, saved("r", SL_TEXT("short"))));
    assert_int_equal(role_of(TOKEN), SL_ROLE_ADMIN);
    assert_int_equal(role_of(OTHER), SL_ROLE_NOBODY);
}

/* Every one of them, whole, whichever it is. */
WITH_FILES(tokens_are_compared_as_digests_and_in_constant_time)
{
    static const char *const sent[] = { TOKEN, OTHER, "", "0123456789abcdeX", "X123456789abcdef" };
    setenv("SLUICE_TEST_TOKEN", OTHER, 1);
    assert_true(load(saved("a", SL_TEXT(TOKEN)), "SLUICE_TEST_TOKEN", NULL));
    for (size_t i = 0; i < COUNT(sent); i++) {
        compared = compared_bytes = 0;
        role_of(sent[i]);
        SAME(sent[i], compared, 2);
        SAME(sent[i], compared_bytes, 2 * sizeof(struct sl_digest));
    }
}

/* ---- keys --------------------------------------------------------------------------- */

enum { MANY = 1000, KEYS_EACH = 7 };

static struct sl_digest digest_of(unsigned number)
{
    char text[32];
    struct sl_digest digest;
    snprintf(text, sizeof text, "key %u", number);
    sl_sha256_of(hasher, sl_text(text), &digest);
    return digest;
}

WITH_FILES(without_tenants_no_key_is_found)
{
    struct sl_keyring *ring = sl_keyring_new(NULL, 0);
    struct sl_digest key = digest_of(1), zero = { { 0 } };
    assert_non_null(ring);
    assert_false(sl_keyring_has_tenants(ring));
    assert_null(sl_keyring_find(ring, &key));
    assert_null(sl_keyring_find(ring, &zero));
    sl_keyring_free(ring);
    sl_keyring_free(NULL);
}

WITH_FILES(a_tenant_without_a_key_is_a_tenant)
{
    struct sl_keyring *ring = sl_keyring_new(&(struct sl_tenant){ .name = "acme" }, 1);
    struct sl_digest key = digest_of(1);
    assert_true(sl_keyring_has_tenants(ring));
    assert_null(sl_keyring_find(ring, &key));
    sl_keyring_free(ring);
}

WITH_FILES(a_key_has_its_own_tier_or_its_tenants)
{
    struct sl_tenant_key keys[] = { { .digest = digest_of(1) },
                                    { .digest = digest_of(2), .tier = "free" } };
    struct sl_tenant tenants[] = {
        { .name = "acme", .tier = "pro", .keys = keys, .key_count = 2 },
        { .name = "bolt",
          .keys = (struct sl_tenant_key[]){ { .digest = digest_of(3) },
                                            { .digest = digest_of(4), .tier = "free" } },
          .key_count = 2 },
    };
    static const struct {
        const char *tenant, *tier; /* NULL: none */
    } wanted[] = { { "acme", "pro" }, { "acme", "free" }, { "bolt", NULL }, { "bolt", "free" } };
    struct sl_keyring *ring = sl_keyring_new(tenants, COUNT(tenants));
    for (unsigned i = 0; i < COUNT(wanted); i++) {
        struct sl_digest key = digest_of(i + 1);
        const struct sl_key_owner *owner = sl_keyring_find(ring, &key);
        assert_non_null(owner);
        SAME_TEXT("tenant", owner->tenant, wanted[i].tenant);
        SAME_TEXT("tier", owner->tier, wanted[i].tier ? wanted[i].tier : "");
        SAME("no tier has no place", owner->tier.at == NULL, wanted[i].tier == NULL);
    }
    sl_keyring_free(ring);
}

/* Their texts are the registry's, and gone by then. */
WITH_FILES(many_keys_are_found_and_no_other_when_their_texts_are_gone)
{
    static char names[MANY][16];
    static struct sl_tenant_key keys[MANY][KEYS_EACH];
    static struct sl_tenant tenants[MANY];
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "t%u", i);
        for (unsigned j = 0; j < KEYS_EACH; j++)
            keys[i][j] = (struct sl_tenant_key){ .digest = digest_of(i * KEYS_EACH + j) };
        tenants[i] = (struct sl_tenant){ names[i], names[i], 1, keys[i], KEYS_EACH };
    }
    struct sl_keyring *ring = sl_keyring_new(tenants, MANY);
    memset(names, 'x', sizeof names);
    for (unsigned i = 0; i < MANY * KEYS_EACH; i++) {
        char wanted[16];
        struct sl_digest key = digest_of(i);
        const struct sl_key_owner *owner = sl_keyring_find(ring, &key);
        assert_non_null(owner);
        snprintf(wanted, sizeof wanted, "t%u", i / KEYS_EACH);
        SAME_TEXT("tenant", owner->tenant, wanted);
        SAME_TEXT("tier", owner->tier, wanted);
        key = digest_of(MANY * KEYS_EACH + i);
        assert_null(sl_keyring_find(ring, &key));
    }
    sl_keyring_free(ring);
}

/* By which the place is chosen: the last of them lie behind the table's end. */
WITH_FILES(keys_with_the_same_first_bytes_are_told_apart)
{
    struct sl_tenant_key keys[40];
    for (size_t i = 0; i < COUNT(keys); i++) {
        keys[i] = (struct sl_tenant_key){ .tier = i % 2 ? "odd" : "even" };
        memset(keys[i].digest.byte, 0xff, sizeof keys[i].digest.byte);
        keys[i].digest.byte[31] = (uint8_t)i;
    }
    struct sl_tenant tenant = { .name = "acme", .keys = keys, .key_count = COUNT(keys) };
    struct sl_keyring *ring = sl_keyring_new(&tenant, 1);
    for (size_t i = 0; i < COUNT(keys); i++) {
        const struct sl_key_owner *owner = sl_keyring_find(ring, &keys[i].digest);
        assert_non_null(owner);
        SAME_TEXT("tier", owner->tier, i % 2 ? "odd" : "even");
    }
    keys[0].digest.byte[31] = 40;
    assert_null(sl_keyring_find(ring, &keys[0].digest));
    keys[0].digest.byte[31] = 0;
    keys[0].digest.byte[8] = 0;
    assert_null(sl_keyring_find(ring, &keys[0].digest));
    sl_keyring_free(ring);
}
