/* Printing YAML: keys, scalars with quotes where they are needed, comments. */
#include "import/yaml_print.h"

#include <strings.h>

#include "base/text/utf8.h"

enum { LINE_MAX_BYTES = 100 };

bool sl_yaml_can_say(struct sluice_text text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.at[i] < 0x20 || text.at[i] == 0x7f)
            return false;
    return text.len > 0;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Words that some or all YAML parsers read as something else. */
static bool is_word(struct sluice_text text)
{
    static const char *const words[] = {
        "null", "true", "false", "yes", "no", "on", "off", "y", "n"
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (text.len == strlen(words[i]) && strncasecmp(text.at, words[i], text.len) == 0)
            return true;
    return false;
}

/* A few kinds of text are plain to every parser: words, dotted names, paths, and addresses with a
 * port. */
static bool is_plain(struct sluice_text text)
{
    bool has_dots = memchr(text.at, '.', text.len) && memchr(text.at, ':', text.len);
    if (!(is_letter(text.at[0]) || text.at[0] == '/' || (is_digit(text.at[0]) && has_dots)) ||
        is_word(text) || text.at[text.len - 1] == ':')
        return false;
    for (size_t i = 1; i < text.len; i++)
        if (!is_letter(text.at[i]) && !is_digit(text.at[i]) && !memchr("./-:", text.at[i], 4))
            return false;
    return true;
}

/* Characters that YAML does not accept as they are: C1 controls, line separators, marks. */
static bool is_escaped(uint32_t c)
{
    return c < 0xa0 || c == 0x2028 || c == 0x2029 || c == 0xfeff || c == 0xfffe || c == 0xffff;
}

/* Adds a character of more than one byte; returns its bytes. */
static size_t add_wide(struct sl_buffer *out, struct sluice_text text)
{
    size_t len = sl_utf8_len(text);
    if (len < 2)
        return 1; /* trees are UTF-8 */
    uint32_t c = (unsigned char)text.at[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++)
        c = c << 6 | ((unsigned char)text.at[i] & 0x3f);
    char escape[8];
    if (is_escaped(c)) {
        static const char digits[] = "0123456789abcdef";
        memcpy(escape, "\\u", 2);
        for (int i = 0; i < 4; i++)
            escape[2 + i] = digits[c >> (12 - 4 * i) & 15];
        sl_buffer_add(out, (struct sluice_text){ escape, 6 });
    } else {
        sl_buffer_add(out, (struct sluice_text){ text.at, len });
    }
    return len;
}

static void add_quoted(struct sl_buffer *out, struct sluice_text text)
{
    sl_buffer_add(out, SL_TEXT("\""));
    for (size_t i = 0; i < text.len;) {
        struct sluice_text rest = { text.at + i, text.len - i };
        if ((unsigned char)*rest.at >= 0x80) {
            i += add_wide(out, rest);
            continue;
        }
        if (*rest.at == '"' || *rest.at == '\\')
            sl_buffer_add(out, SL_TEXT("\\"));
        sl_buffer_add(out, (struct sluice_text){ rest.at, 1 });
        i++;
    }
    sl_buffer_add(out, SL_TEXT("\""));
}

void sl_yaml_text(struct sl_buffer *out, struct sluice_text text)
{
    if (is_plain(text))
        sl_buffer_add(out, text);
    else
        add_quoted(out, text);
}

/* The number of bytes on the line so far. */
static size_t bytes_on_line(const struct sl_buffer *out)
{
    const char *newline = out->len ? memrchr(out->at, '\n', out->len) : NULL;
    return newline ? (size_t)(out->at + out->len - newline) - 1 : out->len;
}

static void add_space(struct sl_buffer *out, size_t wanted, size_t indent)
{
    if (bytes_on_line(out) + wanted <= LINE_MAX_BYTES) {
        sl_buffer_add(out, SL_TEXT(" "));
        return;
    }
    sl_buffer_add(out, SL_TEXT("\n"));
    for (size_t i = 0; i < indent; i++)
        sl_buffer_add(out, SL_TEXT(" "));
}

void sl_yaml_texts(struct sl_buffer *out, const char *key, const struct sl_texts *texts,
                   size_t indent)
{
    sl_buffer_add(out, sl_text(key));
    sl_buffer_add(out, SL_TEXT(": "));
    if (texts->count > 1)
        sl_buffer_add(out, SL_TEXT("["));
    for (size_t i = 0; i < texts->count; i++) {
        if (i) {
            sl_buffer_add(out, SL_TEXT(","));
            add_space(out, texts->at[i].len + 4, indent);
        }
        sl_yaml_text(out, texts->at[i]);
    }
    if (texts->count > 1)
        sl_buffer_add(out, SL_TEXT("]"));
}

void sl_yaml_comment(struct sl_buffer *out, struct sluice_text text)
{
    for (size_t i = 0; i < text.len;) {
        struct sluice_text rest = { text.at + i, text.len - i };
        bool is_wide = (unsigned char)*rest.at >= 0x80;
        bool is_control = (unsigned char)*rest.at < 0x20 || *rest.at == 0x7f;
        if (is_wide) {
            i += add_wide(out, rest);
            continue;
        }
        sl_buffer_add(out, is_control ? SL_TEXT("?") : (struct sluice_text){ rest.at, 1 });
        i++;
    }
}
