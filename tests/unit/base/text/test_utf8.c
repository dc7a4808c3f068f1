#include "base/text/utf8.h"

#include "unit/base/unit.h"

TEST(characters_of_every_length_are_told_by_their_first_byte)
{
    static const struct {
        const char *text;
        size_t len;
    } rows[] = {
        { "a", 1 },
        { "\x7f", 1 },
        { "\xc2\x80", 2 },
        { "\xdf\xbf", 2 },
        { "\xe0\xa0\x80", 3 },
        { "\xed\x9f\xbf", 3 },
        { "\xee\x80\x80", 3 },
        { "\xef\xbf\xbf", 3 },
        { "\xf0\x90\x80\x80", 4 },
        { "\xf4\x8f\xbf\xbf", 4 },
        { "\xc3\xa9tude", 2 }, /* only the first counts */
        { "a\xff", 1 },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        SAME(rows[i].text, sl_utf8_len(sl_text(rows[i].text)), rows[i].len);
}

TEST(what_is_no_character_has_no_length)
{
    static const char *const rows[] = {
        "",
        "\x80",
        "\xbf",
        "\xc0\xaf", /* overlong */
        "\xc1\xbf",
        "\xe0\x80\xaf",
        "\xe0\x9f\xbf",
        "\xf0\x8f\xbf\xbf",
        "\xed\xa0\x80", /* surrogates */
        "\xed\xbf\xbf",
        "\xf4\x90\x80\x80", /* above the last */
        "\xf5\x80\x80\x80",
        "\xf8\x88\x80\x80\x80",
        "\xff",
        "\xfe",
        "\xc3", /* cut */
        "\xe2\x82",
        "\xf0\x9f\x98",
        "\xc3(",
        "\xe2(\xa1",
        "\xe2\x82(",
        "\xf0\x9f(\x80",
        "\xf0\x9f\x98(",
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        SAME(rows[i], sl_utf8_len(sl_text(rows[i])), 0);
}

TEST(every_character_is_put_as_it_is_read)
{
    for (uint32_t character = 0; character <= 0x10ffff; character++) {
        char text[SL_UTF8_MAX_BYTES];
        if (character == 0xd800)
            character = 0xe000;
        size_t len = sl_utf8_put(text, character);
        assert_int_equal(sl_utf8_len((struct sluice_text){ text, len }), len);
        assert_int_equal(len, character < 0x80      ? 1
                              : character < 0x800   ? 2
                              : character < 0x10000 ? 3
                                                    : 4);
    }
    char euro[SL_UTF8_MAX_BYTES];
    assert_int_equal(sl_utf8_put(euro, 0x20ac), 3);
    assert_memory_equal(euro, "\xe2\x82\xac", 3);
}

TEST(a_text_is_characters_from_one_end_to_the_other)
{
    assert_true(sl_utf8_is_text(SL_TEXT("")) && sl_utf8_is_text(SL_TEXT("a\xe2\x82\xac b")));
    assert_false(sl_utf8_is_text(SL_TEXT("\xff")) || sl_utf8_is_text(SL_TEXT("ab\xe2\x82")));
}
