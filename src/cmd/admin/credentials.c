/* Reads a token or a key, and makes a header field of it. */
#include "cmd/admin/credentials.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/file.h"

enum { SECRET_MAX_BYTES = 8 * 1024 };

static const char token_name[] = "Authorization: Bearer ";
static const char key_name[] = "X-API-Key: ";

static struct sluice_text trim(struct sluice_text text)
{
    static const char space[] = " \t\r\n";
    while (text.len && memchr(space, text.at[0], 4))
        text = (struct sluice_text){ text.at + 1, text.len - 1 };
    while (text.len && memchr(space, text.at[text.len - 1], 4))
        text.len--;
    return text;
}

/* One word of ASCII: with a line break in it, it would be two header fields. */
static bool is_word(struct sluice_text text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] <= ' ' || text.at[i] > '~')
            return false;
    return text.len > 0;
}

static bool make_field(const char *name, struct sluice_text secret, struct sl_credentials *out,
                       struct sluice_error *error)
{
    secret = trim(secret);
    if (!is_word(secret))
        return sl_error_say(error, "%s holds %s", out->source,
                            secret.len ? "more than one word, or a byte that a token cannot have"
                                       : "nothing");
    size_t name_len = strlen(name);
    out->field = malloc(name_len + secret.len + 1);
    if (!out->field)
        return sl_error_say(error, "out of memory");
    memcpy(out->field, name, name_len);
    memcpy(out->field + name_len, secret.at, secret.len);
    out->field[name_len + secret.len] = 0;
    return true;
}

static bool read_file(const char *path, struct sl_credentials *out, struct sluice_error *error)
{
    struct sl_buffer text = sl_buffer(SECRET_MAX_BYTES);
    int wrong = sl_file_read(path, &text);
    bool good = wrong == 0;
    out->source = "the token file";
    if (wrong == EFBIG)
        sl_error_say(error, "the token file `%s` has more than %d bytes", path, SECRET_MAX_BYTES);
    else if (wrong)
        sl_error_say(error, "cannot read the token file `%s`: %s", path, strerror(wrong));
    else
        good = make_field(token_name, (struct sluice_text){ text.at, text.len }, out, error);
    if (text.at)
        explicit_bzero(text.at, text.room);
    sl_buffer_release(&text);
    return good;
}

bool sl_credentials_read(const char *token_file, struct sl_credentials *out,
                         struct sluice_error *error)
{
    const char *token = getenv("SLUICE_TOKEN");
    const char *key = getenv("SLUICE_API_KEY");
    *out = (struct sl_credentials){ 0 };
    if (token_file)
        return read_file(token_file, out, error);
    if (token && *token) {
        out->source = "$SLUICE_TOKEN";
        return make_field(token_name, sl_text(token), out, error);
    }
    if (key && *key) {
        out->source = "$SLUICE_API_KEY";
        return make_field(key_name, sl_text(key), out, error);
    }
    return true;
}

void sl_credentials_release(struct sl_credentials *credentials)
{
    if (credentials->field)
        explicit_bzero(credentials->field, strlen(credentials->field));
    free(credentials->field);
    *credentials = (struct sl_credentials){ 0 };
}
