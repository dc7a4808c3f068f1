/* Commands are no part of the library, so the file itself is taken in. */
#include "cmd/terminal/terminal.c"

#include "unit/base/unit.h"

TESTS_ALONE;

TEST(a_key_is_read_of_its_bytes)
{
    static const struct {
        const char *typed;
        size_t took;
        int key;
    } rows[] = {
        { "", 0, SL_KEY_NONE },
        { "q", 1, 'q' },
        { "qq", 1, 'q' },
        { "\r", 1, '\r' },
        { "\xc3\xb6", 1, SL_KEY_NONE },
        { "\033", 0, SL_KEY_NONE },
        { "\033[", 0, SL_KEY_NONE },
        { "\033[5", 0, SL_KEY_NONE },
        { "\033[A", 3, SL_KEY_UP },
        { "\033OA", 3, SL_KEY_UP },
        { "\033[Bq", 3, SL_KEY_DOWN },
        { "\033[C", 3, SL_KEY_RIGHT },
        { "\033[D", 3, SL_KEY_LEFT },
        { "\033[H", 3, SL_KEY_HOME },
        { "\033OF", 3, SL_KEY_END },
        { "\033[1~", 4, SL_KEY_HOME },
        { "\033[4~", 4, SL_KEY_END },
        { "\033[5~", 4, SL_KEY_PAGE_UP },
        { "\033[6~", 4, SL_KEY_PAGE_DOWN },
        { "\033[1;5A", 6, SL_KEY_NONE },
        { "\033[200~x", 6, SL_KEY_NONE },
        { "\033q", 1, SL_KEY_NONE },
        { "\033\033[A", 1, SL_KEY_NONE },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int key = -1;
        SAME(rows[i].typed, sl_key_parse(sl_text(rows[i].typed), &key), rows[i].took);
        SAME(rows[i].typed, key, rows[i].key);
    }
}

static void type(const char *bytes)
{
    memcpy(terminal.typed + terminal.typed_len, bytes, strlen(bytes));
    terminal.typed_len += strlen(bytes);
}

TEST(keys_come_one_by_one_and_in_parts)
{
    int key = 0;
    type("d\033q\033[");
    assert_int_equal(next_key(&key), SL_EVENT_KEY);
    assert_int_equal(key, 'd');
    assert_int_equal(next_key(&key), SL_EVENT_KEY);
    assert_int_equal(key, 'q');
    assert_int_equal(next_key(&key), SL_EVENT_NONE);
    type("6~x");
    assert_int_equal(next_key(&key), SL_EVENT_KEY);
    assert_int_equal(key, SL_KEY_PAGE_DOWN);
    assert_int_equal(next_key(&key), SL_EVENT_KEY);
    assert_int_equal(key, 'x');
    assert_int_equal(next_key(&key), SL_EVENT_NONE);
}

/* So that there is always room for what is typed next. */
TEST(a_sequence_without_an_end_is_dropped)
{
    int key = 0;
    type("\033[");
    while (terminal.typed_len < sizeof terminal.typed) {
        assert_int_equal(next_key(&key), SL_EVENT_NONE);
        type("1");
    }
    assert_int_equal(next_key(&key), SL_EVENT_NONE);
    assert_int_equal(terminal.typed_len, 0);
}
