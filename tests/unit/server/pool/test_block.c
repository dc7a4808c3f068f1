/* Blocks that come and go. */
#include "server/pool/block.h"

#include "unit/base/unit.h"

static struct sl_blocks blocks;

static int release(void **unused)
{
    (void)unused;
    sl_blocks_release(&blocks);
    return blocks.free_count ? -1 : 0;
}

#define WITH_BLOCKS(name) TEST_WITH(name, NULL, release)

static char *take_block(void)
{
    char *block = sl_block_take(&blocks);
    assert_non_null(block);
    memset(block, 0xa5, SL_BLOCK_BYTES); /* all of it is the taker's */
    return block;
}

WITH_BLOCKS(a_block_that_was_given_is_the_next_to_be_taken)
{
    char *first = take_block(), *second = take_block();
    assert_ptr_not_equal(first, second);
    sl_block_give(&blocks, first, SL_BLOCK_BYTES);
    sl_block_give(&blocks, second, SL_BLOCK_BYTES);
    assert_int_equal(blocks.free_count, 2);
    assert_ptr_equal(take_block(), second);
    assert_ptr_equal(take_block(), first);
    assert_int_equal(blocks.free_count, 0);
    sl_block_give(&blocks, first, SL_BLOCK_BYTES);
    sl_block_give(&blocks, second, SL_BLOCK_BYTES);
}

WITH_BLOCKS(no_more_than_the_most_are_kept)
{
    static char *taken[SL_BLOCKS_KEPT + 3];
    for (size_t i = 0; i < COUNT(taken); i++)
        taken[i] = take_block();
    for (size_t i = 0; i < COUNT(taken); i++) {
        sl_block_give(&blocks, taken[i], SL_BLOCK_BYTES);
        assert_int_equal(blocks.free_count, i < SL_BLOCKS_KEPT ? i + 1 : SL_BLOCKS_KEPT);
    }
    /* What was kept is what came first: the last ones are gone, and none is there twice. */
    for (size_t i = SL_BLOCKS_KEPT; i-- > 0;) {
        assert_ptr_equal(take_block(), taken[i]);
        assert_int_equal(blocks.free_count, i);
    }
    for (size_t i = 0; i < SL_BLOCKS_KEPT; i++)
        sl_block_give(&blocks, taken[i], SL_BLOCK_BYTES);
}

/* The caller that takes a block relies on its length. */
WITH_BLOCKS(a_block_of_another_length_is_not_kept)
{
    static const size_t lengths[] = { 1, SL_BLOCK_BYTES - 1, SL_BLOCK_BYTES + 1,
                                      4 * SL_BLOCK_BYTES };
    for (size_t i = 0; i < COUNT(lengths); i++) {
        char *grown = realloc(take_block(), lengths[i]);
        assert_non_null(grown);
        sl_block_give(&blocks, grown, lengths[i]);
        SAME("kept", blocks.free_count, 0);
    }
}

WITH_BLOCKS(giving_nothing_changes_nothing)
{
    sl_block_give(&blocks, NULL, 0);
    sl_block_give(&blocks, NULL, SL_BLOCK_BYTES);
    assert_int_equal(blocks.free_count, 0);
}
