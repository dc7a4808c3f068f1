#include "base/buffer.h"

#include "unit/base/unit.h"

static struct sluice_text written(const struct sl_buffer *buffer)
{
    return (struct sluice_text){ buffer->at, buffer->len };
}

TEST(what_is_added_stands_in_order)
{
    struct sl_buffer buffer = sl_buffer(1000);
    sl_buffer_add(&buffer, SL_TEXT(""));
    sl_buffer_add(&buffer, (struct sluice_text){ 0 });
    assert_int_equal(buffer.len, 0);
    sl_buffer_add(&buffer, SL_TEXT("a"));
    sl_buffer_add(&buffer, SL_TEXT("bc"));
    sl_buffer_add_i64(&buffer, -7);
    SAME_TEXT("three pieces", written(&buffer), "abc-7");
    sl_buffer_release(&buffer);
}

TEST(numbers_are_written_whole)
{
    static const int64_t numbers[] = {
        0, 1, -1, 9, 10, -10, 1700000000000000, INT64_MAX, INT64_MIN
    };
    for (size_t i = 0; i < COUNT(numbers); i++) {
        struct sl_buffer buffer = sl_buffer(100);
        char wanted[32];
        snprintf(wanted, sizeof wanted, "%" PRId64, numbers[i]);
        sl_buffer_add_i64(&buffer, numbers[i]);
        SAME_TEXT(wanted, written(&buffer), wanted);
        sl_buffer_release(&buffer);
    }
}

TEST(numbers_of_every_length_are_written_whole)
{
    struct sl_buffer buffer = sl_buffer(100);
    for (uint64_t power = 1; power < UINT64_C(1000000000000000000); power *= 10)
        for (int64_t off = -1; off <= 101; off++) {
            char wanted[64];
            int64_t number = (int64_t)power + off;
            snprintf(wanted, sizeof wanted, "%" PRId64 "%" PRId64, number, -number);
            sl_buffer_clear(&buffer);
            sl_buffer_add_i64(&buffer, number);
            sl_buffer_add_i64(&buffer, -number);
            SAME_TEXT(wanted, written(&buffer), wanted);
        }
    sl_buffer_release(&buffer);
}

TEST(a_number_that_does_not_fit_is_not_written_in_part)
{
    struct sl_buffer buffer = sl_buffer(4);
    sl_buffer_add_i64(&buffer, 12);
    sl_buffer_add_i64(&buffer, 345);
    assert_true(buffer.failed);
    SAME_TEXT("the first", written(&buffer), "12");
    sl_buffer_add_i64(&buffer, 6);
    SAME_TEXT("nothing behind a gap", written(&buffer), "12");
    sl_buffer_release(&buffer);
}

TEST(it_grows_to_its_ceiling_and_not_beyond)
{
    static const size_t ceilings[] = { 1, 2, 255, 256, 257, 511, 512, 1000, 70000 };
    for (size_t i = 0; i < COUNT(ceilings); i++) {
        struct sl_buffer buffer = sl_buffer(ceilings[i]);
        for (size_t n = 0; n < ceilings[i]; n++)
            sl_buffer_add(&buffer, SL_TEXT("x"));
        assert_false(buffer.failed);
        assert_int_equal(buffer.len, ceilings[i]);
        assert_true(buffer.room <= ceilings[i]);
        sl_buffer_add(&buffer, SL_TEXT("y"));
        assert_true(buffer.failed);
        assert_int_equal(buffer.len, ceilings[i]);
        sl_buffer_release(&buffer);
    }
}

TEST(what_does_not_fit_is_dropped_and_so_is_the_rest)
{
    struct sl_buffer buffer = sl_buffer(4);
    sl_buffer_add(&buffer, SL_TEXT("abc"));
    sl_buffer_add(&buffer, SL_TEXT("de"));
    assert_true(buffer.failed);
    sl_buffer_add(&buffer, SL_TEXT("f"));
    SAME_TEXT("nothing behind a gap", written(&buffer), "abc");
    sl_buffer_clear(&buffer);
    assert_false(buffer.failed);
    sl_buffer_add(&buffer, SL_TEXT("wxyz"));
    SAME_TEXT("cleared, it takes again", written(&buffer), "wxyz");
    sl_buffer_release(&buffer);
    assert_int_equal(buffer.most, 4);
    assert_null(buffer.at);
}

TEST(a_piece_larger_than_all_before_fits)
{
    static char large[100000];
    memset(large, 'z', sizeof large);
    struct sl_buffer buffer = sl_buffer(SIZE_MAX);
    sl_buffer_add(&buffer, SL_TEXT("a"));
    sl_buffer_add(&buffer, (struct sluice_text){ large, sizeof large });
    assert_int_equal(buffer.len, sizeof large + 1);
    assert_memory_equal(buffer.at + 1, large, sizeof large);
    sl_buffer_release(&buffer);
}

/* As for a line that may be a little longer at its end than before it. */
TEST(a_ceiling_below_what_it_holds_refuses)
{
    static const char piece[100];
    struct sl_buffer buffer = sl_buffer(1000);
    for (int i = 0; i < 10; i++)
        sl_buffer_add(&buffer, (struct sluice_text){ piece, sizeof piece });
    sl_buffer_clear(&buffer);
    buffer.most = 950; /* there is room for more */
    for (int i = 0; i < 10; i++)
        sl_buffer_add(&buffer, (struct sluice_text){ piece, sizeof piece });
    assert_false(buffer.failed);
    sl_buffer_add(&buffer, SL_TEXT("x"));
    assert_true(buffer.failed);
    assert_int_equal(buffer.len, 1000);
    assert_true(buffer.room >= buffer.len);
    sl_buffer_release(&buffer);
}
