/* Reads and writes characters of UTF-8. */
#include "base/text/utf8.h"

/* By the number of bytes that follow the first: its lead bits, and the mask for them. */
static const struct form {
    unsigned char mask, lead;
    uint32_t least; /* the first character that needs so many bytes */
} forms[] = {
    { 0x80, 0x00, 0x0 },
    { 0xe0, 0xc0, 0x80 },
    { 0xf0, 0xe0, 0x800 },
    { 0xf8, 0xf0, 0x10000 },
};

static bool is_character(uint32_t code)
{
    return code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

size_t sl_utf8_len(struct sluice_text text)
{
    if (text.len == 0)
        return 0;
    unsigned char first = (unsigned char)text.at[0];
    size_t more = 0;
    while (more < SL_UTF8_MAX_BYTES && (first & forms[more].mask) != forms[more].lead)
        more++;
    if (more >= SL_UTF8_MAX_BYTES || more >= text.len)
        return 0;
    uint32_t code = first & (unsigned char)~forms[more].mask;
    for (size_t i = 1; i <= more; i++) {
        if (!sl_utf8_continues(text.at[i]))
            return 0;
        code = code << 6 | ((unsigned char)text.at[i] & 0x3f);
    }
    return is_character(code) && code >= forms[more].least ? more + 1 : 0;
}

size_t sl_utf8_put(char *out, uint32_t character)
{
    size_t more = 0;
    while (more + 1 < SL_UTF8_MAX_BYTES && character >= forms[more + 1].least)
        more++;
    out[0] = (char)(forms[more].lead | character >> 6 * more);
    for (size_t i = 1; i <= more; i++)
        out[i] = (char)(0x80 | (character >> 6 * (more - i) & 0x3f));
    return more + 1;
}

bool sl_utf8_is_text(struct sluice_text text)
{
    while (text.len) {
        size_t len = sl_utf8_len(text);
        if (len == 0)
            return false;
        text.at += len;
        text.len -= len;
    }
    return true;
}
