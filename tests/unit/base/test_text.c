#include "unit/base/unit.h"

TEST(texts_are_equal_by_their_bytes_alone)
{
    struct sluice_text with_null = { "a\0b", 3 };
    struct sluice_text other_null = { "a\0c", 3 };
    assert_true(sl_text_equal(SL_TEXT("abc"), (struct sluice_text){ "abcd", 3 }));
    assert_false(sl_text_equal(SL_TEXT("abc"), SL_TEXT("abd")));
    assert_false(sl_text_equal(SL_TEXT("abc"), SL_TEXT("ab")));
    assert_false(sl_text_equal(SL_TEXT("abc"), SL_TEXT("ABC")));
    assert_true(sl_text_equal(with_null, SL_TEXT("a\0b")));
    assert_false(sl_text_equal(with_null, other_null));
    assert_false(sl_text_is(with_null, "a"));
}

TEST(not_given_and_empty_are_alike)
{
    struct sluice_text none = { 0 };
    assert_true(sl_text_missing(none));
    assert_true(sl_text_missing(SL_TEXT("")));
    assert_false(sl_text_missing(SL_TEXT(" ")));
    assert_true(sl_text_equal(none, SL_TEXT("")));
    assert_true(sl_text_equal(sl_text(NULL), none));
    assert_null(sl_text(NULL).at);
}

TEST(a_hex_digit_is_worth_its_value)
{
    for (int c = 0; c < 256; c++) {
        const char *known = c ? strchr("0123456789abcdef", c | (c > '@' ? 0x20 : 0)) : NULL;
        int worth = known && c < 0x80 ? (int)(known - "0123456789abcdef") : -1;
        SAME("a byte", sl_hex_digit((char)c), worth);
    }
}

TEST(a_byte_inside_a_character_is_known)
{
    for (int c = 0; c < 256; c++)
        SAME("a byte", sl_utf8_continues((char)c), c >= 0x80 && c < 0xc0);
}
