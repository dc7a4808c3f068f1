/* Splits a typed line into words. A word is never longer unquoted than quoted, so it is
 * unquoted in place. */
#include "base/check.h"
#include "wire/resp/resp.h"

struct inline_words {
    char *at;
    const char *end;
    char *to; /* the end of the current word, unquoted */
};

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Returns the byte for the letter behind a backslash, in double quotes. */
static char escaped(char c)
{
    switch (c) {
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case 'b':
        return '\b';
    case 'a':
        return '\a';
    default:
        return c;
    }
}

static void take_escape(struct inline_words *words)
{
    SL_CHECK(words->end - words->at >= 2 && words->to <= words->at);
    bool has_hex = words->end - words->at >= 4 && words->at[1] == 'x' &&
                   sl_hex_digit(words->at[2]) >= 0 && sl_hex_digit(words->at[3]) >= 0;
    if (has_hex) {
        *words->to++ = (char)(sl_hex_digit(words->at[2]) << 4 | sl_hex_digit(words->at[3]));
        words->at += 4;
        return;
    }
    *words->to++ = escaped(words->at[1]);
    words->at += 2;
}

/* Reads from a quote to the one that closes it. Returns false if the word does not end
 * behind that. In single quotes only the quote itself can be escaped. */
static bool take_quoted(struct inline_words *words)
{
    char quote = *words->at++;
    while (words->at < words->end && *words->at != quote) {
        bool has_next = words->end - words->at >= 2 && *words->at == '\\';
        if (has_next && quote == '"') {
            take_escape(words);
        } else {
            words->at += has_next && words->at[1] == quote;
            *words->to++ = *words->at++;
        }
    }
    if (words->at == words->end)
        return false;
    words->at++;
    return words->at == words->end || is_space(*words->at);
}

static bool take_word(struct inline_words *words, struct sluice_text *out)
{
    char *start = words->to = words->at;
    while (words->at < words->end && !is_space(*words->at)) {
        bool is_quote = *words->at == '"' || *words->at == '\'';
        if (is_quote && !take_quoted(words))
            return false;
        if (!is_quote)
            *words->to++ = *words->at++;
    }
    SL_CHECK(words->to <= words->at && words->at <= words->end);
    *out = (struct sluice_text){ start, (size_t)(words->to - start) };
    return true;
}

bool sl_resp_split(char *line, size_t len, struct sl_resp_command *out)
{
    struct inline_words words = { .at = line, .end = line + len };
    SL_CHECK(line || len == 0);
    for (out->count = 0;; out->count++) {
        while (words.at < words.end && is_space(*words.at))
            words.at++;
        if (words.at == words.end)
            return true;
        if (out->count == SL_RESP_ARGS_MAX || !take_word(&words, &out->args[out->count]))
            return false;
    }
}
