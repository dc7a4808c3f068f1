#include "base/scratch.h"

#include "unit/base/unit.h"

TEST(what_is_taken_is_aligned_and_ones_own)
{
    enum { PIECES = 200 };
    struct sl_scratch scratch = sl_scratch(256);
    char *pieces[PIECES];
    for (size_t i = 0; i < PIECES; i++) {
        pieces[i] = sl_scratch_take(&scratch, i);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % 16, 0);
        memset(pieces[i], (int)i, i);
    }
    for (size_t i = 0; i < PIECES; i++)
        for (size_t at = 0; at < i; at++)
            assert_int_equal((unsigned char)pieces[i][at], i);
    sl_scratch_release(&scratch);
}

TEST(nothing_at_all_can_be_taken)
{
    struct sl_scratch scratch = sl_scratch(64);
    assert_non_null(sl_scratch_take(&scratch, 0));
    assert_non_null(sl_scratch_take(&scratch, 0));
    sl_scratch_release(&scratch);
}

TEST(a_piece_may_be_larger_than_a_block)
{
    struct sl_scratch scratch = sl_scratch(64);
    for (size_t bytes = 1; bytes <= 1 << 20; bytes *= 4) {
        char *piece = sl_scratch_take(&scratch, bytes);
        assert_non_null(piece);
        memset(piece, 1, bytes);
    }
    sl_scratch_release(&scratch);
}

/* No allocation once there is a block: the same place again. */
TEST(after_a_reset_the_first_block_is_used_again)
{
    struct sl_scratch scratch = sl_scratch(1024);
    char *first = sl_scratch_take(&scratch, 100);
    for (int i = 0; i < 1000; i++) {
        sl_scratch_reset(&scratch);
        assert_ptr_equal(sl_scratch_take(&scratch, 100), first);
        for (int piece = 0; piece < i % 50; piece++) /* beyond the block, now and then */
            assert_non_null(sl_scratch_take(&scratch, 100));
    }
    sl_scratch_release(&scratch);
}

TEST(what_was_taken_is_known_until_it_is_given_back)
{
    struct sl_scratch scratch = sl_scratch(64);
    assert_int_equal(scratch.taken_bytes, 0);
    assert_non_null(sl_scratch_take(&scratch, 1000));
    assert_non_null(sl_scratch_take(&scratch, 1));
    assert_int_equal(scratch.taken_bytes, 1008 + 16);
    sl_scratch_reset(&scratch);
    assert_int_equal(scratch.taken_bytes, 0);
    assert_non_null(sl_scratch_take(&scratch, 16));
    sl_scratch_release(&scratch);
    assert_int_equal(scratch.taken_bytes, 0);
}

TEST(an_unused_one_can_be_reset_and_released)
{
    struct sl_scratch scratch = sl_scratch(1024);
    sl_scratch_reset(&scratch);
    sl_scratch_release(&scratch);
    assert_non_null(sl_scratch_take(&scratch, 1)); /* and goes on afterwards */
    sl_scratch_release(&scratch);
    sl_scratch_release(&scratch);
}
