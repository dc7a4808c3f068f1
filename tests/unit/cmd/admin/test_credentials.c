/* Commands are no part of the library, so the file itself is taken in. */
#include "cmd/admin/credentials.c"

#include <fcntl.h>
#include <unistd.h>

#include "unit/base/unit.h"

TESTS_ALONE;

static char path[] = "/tmp/sluice-token-XXXXXX";

static int make_file(void **unused)
{
    (void)unused;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **unused)
{
    (void)unused;
    return unlink(path);
}

static void write_file(const char *text, size_t len)
{
    int fd = open(path, O_WRONLY | O_TRUNC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, len), (ssize_t)len);
    close(fd);
}

static void set(const char *token, const char *key)
{
    token ? setenv("SLUICE_TOKEN", token, 1) : unsetenv("SLUICE_TOKEN");
    key ? setenv("SLUICE_API_KEY", key, 1) : unsetenv("SLUICE_API_KEY");
}

TEST(a_file_goes_before_a_token_and_a_token_before_a_key)
{
    static const struct {
        const char *row, *file, *token, *key, *field;
    } rows[] = {
        { "none", NULL, NULL, NULL, NULL },
        { "empty ones are none", NULL, "", "", NULL },
        { "a key", NULL, NULL, "sk_1", "X-API-Key: sk_1" },
        { "an empty token and a key", NULL, "", "sk_1", "X-API-Key: sk_1" },
        { "a token", NULL, "t1", NULL, "Authorization: Bearer t1" },
        { "a token and a key", NULL, "t1", "sk_1", "Authorization: Bearer t1" },
        { "all", "f1", "t1", "sk_1", "Authorization: Bearer f1" },
        { "white space around it", " \t f1\r\n\n", NULL, NULL, "Authorization: Bearer f1" },
        { "white space around a variable", NULL, " t1\n", NULL, "Authorization: Bearer t1" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_credentials credentials;
        struct sluice_error error = { 0 };
        set(rows[i].token, rows[i].key);
        if (rows[i].file)
            write_file(rows[i].file, strlen(rows[i].file));
        SAME(rows[i].row, sl_credentials_read(rows[i].file ? path : NULL, &credentials, &error),
             true);
        SAME_TEXT(rows[i].row, sl_text(credentials.field), rows[i].field);
        sl_credentials_release(&credentials);
        assert_null(credentials.field);
    }
}

TEST(what_is_no_single_word_is_refused_and_not_repeated)
{
    static const struct sluice_text rows[] = {
        SL_TEXT(""),
        SL_TEXT(" \r\n"),
        SL_TEXT("sesame open"),
        SL_TEXT("sesame\r\nX-Evil: 1"),
        SL_TEXT("sesame\nsesame\n"),
        SL_TEXT("sesame\0"),
        SL_TEXT("sesam\xc3\xa9"),
        SL_TEXT("sesame\x7f"),
    };
    set("a-good-one", "another");
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_credentials credentials;
        struct sluice_error error = { 0 };
        write_file(rows[i].at, rows[i].len);
        SAME(rows[i].at, sl_credentials_read(path, &credentials, &error), false);
        SAME(rows[i].at, strstr(error.text, "the token file holds") != NULL, true);
        SAME(rows[i].at, strstr(error.text, "sesam") == NULL, true);
        SAME(rows[i].at, credentials.field == NULL, true);
    }
}

TEST(a_file_that_cannot_be_read_is_an_error_and_nothing_else_is_taken)
{
    struct sl_credentials credentials;
    struct sluice_error error = { 0 };
    set("a-good-one", NULL);
    assert_false(sl_credentials_read("/nonexistent/token", &credentials, &error));
    assert_non_null(strstr(error.text, "`/nonexistent/token`: No such file"));
    assert_false(sl_credentials_read("/", &credentials, &error));
    assert_non_null(strstr(error.text, "directory"));
}

TEST(a_token_has_at_most_8_kib)
{
    char text[SECRET_MAX_BYTES + 1];
    struct sl_credentials credentials;
    struct sluice_error error = { 0 };
    memset(text, 'x', sizeof text);
    write_file(text, SECRET_MAX_BYTES);
    assert_true(sl_credentials_read(path, &credentials, &error));
    assert_int_equal(strlen(credentials.field), SECRET_MAX_BYTES + sizeof token_name - 1);
    sl_credentials_release(&credentials);
    write_file(text, SECRET_MAX_BYTES + 1);
    assert_false(sl_credentials_read(path, &credentials, &error));
    assert_non_null(strstr(error.text, "more than 8192 bytes"));
}

TESTS_WITH(make_file, remove_file)
