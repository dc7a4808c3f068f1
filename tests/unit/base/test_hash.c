#include "base/hash.h"

#include "unit/base/unit.h"

TEST(the_same_text_and_seed_give_the_same_hash)
{
    char copy[] = "some text";
    assert_int_equal(sl_hash64(SL_TEXT("some text"), 7), sl_hash64(sl_text(copy), 7));
    struct sl_hash128 a = sl_hash128(SL_TEXT("some text"), 7);
    struct sl_hash128 b = sl_hash128(sl_text(copy), 7);
    assert_int_equal(a.low, b.low);
    assert_int_equal(a.high, b.high);
}

TEST(another_text_or_seed_gives_another)
{
    uint64_t hash = sl_hash64(SL_TEXT("some text"), 7);
    assert_true(hash != sl_hash64(SL_TEXT("some test"), 7));
    assert_true(hash != sl_hash64(SL_TEXT("some tex"), 7));
    assert_true(hash != sl_hash64(SL_TEXT("some text"), 8));
    struct sl_hash128 a = sl_hash128(SL_TEXT("some text"), 7);
    struct sl_hash128 b = sl_hash128(SL_TEXT("some text"), 8);
    assert_true(a.low != b.low && a.high != b.high);
}

TEST(nothing_has_a_hash_too)
{
    assert_int_equal(sl_hash64((struct sluice_text){ 0 }, 7), sl_hash64(SL_TEXT(""), 7));
}

TEST(the_hash_is_xxh3)
{
    /* Published values of XXH3 for an empty input, seed 0. */
    assert_int_equal(sl_hash64(SL_TEXT(""), 0), UINT64_C(0x2d06800538d394c2));
    struct sl_hash128 empty = sl_hash128(SL_TEXT(""), 0);
    assert_int_equal(empty.low, UINT64_C(0x6001c324468d497f));
    assert_int_equal(empty.high, UINT64_C(0x99aa06d3014798d8));
}

TEST(random_seeds_differ)
{
    uint64_t first = sl_random64();
    assert_true(first != sl_random64() || first != sl_random64());
}
