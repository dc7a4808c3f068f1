#include "wire/http/bytes.h"

#include "unit/base/unit.h"

static bool is_letter_or_digit(int byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= 'a' && byte <= 'z');
}

static bool one_of(int byte, const char *set)
{
    return byte && strchr(set, byte);
}

/* As the grammars say it: tchar, field-vchar with blanks, VCHAR, unreserved with
 * pct-encoded and sub-delims. */
TEST(every_byte_stands_where_the_grammar_lets_it)
{
    for (int byte = 0; byte < 256; byte++) {
        char row[16];
        snprintf(row, sizeof row, "byte %02x", (unsigned)byte);
        bool common = is_letter_or_digit(byte);
        char c = (char)byte;
        SAME(row, !!sl_byte_fits(c, SL_BYTE_TOKEN), common || one_of(byte, "!#$%&'*+-.^_`|~"));
        SAME(row, !!sl_byte_fits(c, SL_BYTE_VALUE), byte == 9 || (byte >= 0x20 && byte != 0x7f));
        SAME(row, !!sl_byte_fits(c, SL_BYTE_TARGET), byte > 0x20 && byte < 0x7f && byte != '#');
        SAME(row, !!sl_byte_fits(c, SL_BYTE_HOST), common || one_of(byte, "-._~%!$&'()*+,;="));
        SAME(row, !!sl_byte_is_blank(c), byte == ' ' || byte == '\t');
    }
}
