#include "base/atomic128.h"

#include <pthread.h>

#include "unit/base/unit.h"

/* Both ways to load: by a move, and where that is not atomic by a swap. */
static void both_ways(void (*claim)(void))
{
    assert_true(sl_word_supported());
    bool loads = sl_word_loads;
    claim();
    sl_word_loads = !loads;
    claim();
    sl_word_loads = loads;
}

static void load_some_words(void)
{
    static const uint64_t parts[] = { 0, 1, UINT64_MAX, UINT64_C(0x8000000000000000) };
    for (size_t i = 0; i < COUNT(parts) * COUNT(parts); i++) {
        struct sl_word word = { parts[i / COUNT(parts)], parts[i % COUNT(parts)] };
        struct sl_word read = sl_word_load(&word);
        assert_true(sl_word_equal(read, word));
        assert_true(word.lo == parts[i / COUNT(parts)] && word.hi == parts[i % COUNT(parts)]);
    }
}

TEST(a_load_reads_both_halves_and_changes_nothing)
{
    both_ways(load_some_words);
}

TEST(words_are_equal_only_in_both_halves)
{
    struct sl_word word = { 5, 9 };
    assert_true(sl_word_equal(word, (struct sl_word){ 5, 9 }));
    for (int bit = 0; bit < 64; bit++) {
        uint64_t other = UINT64_C(1) << bit;
        assert_false(sl_word_equal(word, (struct sl_word){ 5 ^ other, 9 }));
        assert_false(sl_word_equal(word, (struct sl_word){ 5, 9 ^ other }));
        assert_false(sl_word_equal(word, (struct sl_word){ 5 ^ other, 9 ^ other }));
    }
}

TEST(a_swap_that_expects_what_is_there_puts_both_halves)
{
    struct sl_word line[3] = { { 1, 2 }, { 3, 4 }, { 5, 6 } };
    struct sl_word expected = { 3, 4 };
    assert_true(sl_word_swap(&line[1], &expected, (struct sl_word){ 7, 8 }));
    assert_true(sl_word_equal(line[1], (struct sl_word){ 7, 8 }));
    assert_true(sl_word_equal(expected, (struct sl_word){ 3, 4 }));
    assert_true(sl_word_equal(line[0], (struct sl_word){ 1, 2 }));
    assert_true(sl_word_equal(line[2], (struct sl_word){ 5, 6 }));
}

TEST(a_swap_that_is_wrong_in_either_half_puts_nothing_and_says_what_is_there)
{
    static const struct sl_word wrong[] = { { 3, 5 }, { 2, 4 }, { 4, 3 }, { 0, 0 } };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct sl_word word = { 3, 4 }, expected = wrong[i];
        assert_false(sl_word_swap(&word, &expected, (struct sl_word){ 7, 8 }));
        assert_true(sl_word_equal(word, (struct sl_word){ 3, 4 }));
        assert_true(sl_word_equal(expected, (struct sl_word){ 3, 4 }));
    }
}

/* hi is always ~lo: a mixture of two words would not be. */
static struct sl_word shared;

static void *count_up(void *unused)
{
    (void)unused;
    for (int i = 0; i < 20000; i++) {
        struct sl_word seen = sl_word_load(&shared), to;
        do {
            if (seen.hi != ~seen.lo)
                return &shared;
            to = (struct sl_word){ seen.lo + 1, ~(seen.lo + 1) };
        } while (!sl_word_swap(&shared, &seen, to));
    }
    return NULL;
}

static void count_up_together(void)
{
    pthread_t threads[4];
    shared = (struct sl_word){ 0, UINT64_MAX };
    for (size_t i = 0; i < COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_up, NULL), 0);
    for (size_t i = 0; i < COUNT(threads); i++) {
        void *torn;
        pthread_join(threads[i], &torn);
        assert_null(torn);
    }
    assert_true(sl_word_equal(shared, (struct sl_word){ 80000, ~UINT64_C(80000) }));
}

TEST(between_threads_no_word_is_torn_and_no_swap_lost)
{
    both_ways(count_up_together);
}
