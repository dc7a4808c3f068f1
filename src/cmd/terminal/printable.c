/* Escapes what could confuse a terminal. */
#include "cmd/terminal/printable.h"

/* Returns the length of the character that the text starts with; 0 if there is none.
 * Strict: no overlong form, no surrogate, nothing above U+10FFFF. */
static size_t read_character(struct sluice_text text, uint32_t *out)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    unsigned char first = (unsigned char)text.at[0];
    size_t len = first < 0x80 ? 1 : first < 0xc0 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (len == 0 || len > text.len || first >= 0xf8)
        return 0;
    uint32_t code = len == 1 ? first : first & (0xffu >> (len + 1));
    for (size_t i = 1; i < len; i++) {
        if (!sl_utf8_continues(text.at[i]))
            return 0;
        code = code << 6 | ((unsigned char)text.at[i] & 0x3f);
    }
    if (code < least[len] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    *out = code;
    return len;
}

/* Returns true for control characters, and for invisible characters that change the text
 * around them: direction marks, line separators, zero-width characters. */
static bool is_unseen(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0xad || code == 0x61c ||
           (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2060 && code <= 0x206f) || code == 0xfeff ||
           (code >= 0xfff9 && code <= 0xfffb);
}

static void add_escape(struct sl_buffer *out, const char *format, uint32_t number)
{
    char escape[16];
    snprintf(escape, sizeof escape, format, (unsigned)number);
    sl_buffer_add(out, sl_text(escape));
}

void sl_printable_add(struct sl_buffer *out, struct sluice_text text, enum sl_printable how)
{
    while (text.len) {
        uint32_t code = 0;
        size_t len = read_character(text, &code);
        bool stays = how == SL_KEEP_LINES && len && (code == '\n' || code == '\t');
        if (len == 0)
            add_escape(out, "\\x%02x", (unsigned char)text.at[0]);
        else if (is_unseen(code) && !stays)
            add_escape(out, "\\u%04x", code);
        else
            sl_buffer_add(out, (struct sluice_text){ text.at, len });
        len = len ? len : 1;
        text = (struct sluice_text){ text.at + len, text.len - len };
    }
}

const char *sl_printable_copy(struct sl_arena *arena, struct sluice_text text)
{
    struct sl_buffer line = sl_buffer(SIZE_MAX);
    sl_printable_add(&line, text, SL_ONE_LINE);
    const char *copy = sl_arena_copy(arena, (struct sluice_text){ line.at, line.len });
    sl_buffer_release(&line);
    return copy;
}

size_t sl_printable_width(struct sluice_text text)
{
    size_t width = 0;
    for (size_t i = 0; i < text.len; i++)
        width += !sl_utf8_continues(text.at[i]);
    return width;
}
