#include "limiter/observe/samples.h"

#include "unit/base/unit.h"

static bool are_empty(const struct sl_samples *samples)
{
    return samples->count + samples->sample_count + samples->missed_denials + samples->missed_met ==
           0;
}

static struct sl_samples *samples;

static int open_samples(void **unused)
{
    (void)unused;
    samples = sl_samples_new();
    return samples ? 0 : -1;
}

static int close_samples(void **unused)
{
    (void)unused;
    free(samples);
    return 0;
}

#define WITH_SAMPLES(name) TEST_WITH(name, open_samples, close_samples)

static struct sl_hash128 key_of(uint64_t low, uint64_t high)
{
    return (struct sl_hash128){ .low = low, .high = high };
}

static struct sl_noted *find(uint64_t low, uint64_t high)
{
    return sl_samples_find(samples, key_of(low, high));
}

/* One that is not there yet; NULL: there is no room. */
static struct sl_noted *add(uint64_t low, uint64_t high)
{
    assert_null(find(low, high));
    struct sl_noted *noted = sl_samples_add(samples, key_of(low, high));
    assert_ptr_equal(find(low, high), noted);
    return noted;
}

WITH_SAMPLES(a_key_has_one_place)
{
    assert_true(are_empty(samples));
    struct sl_noted *one = add(1, 2);
    one->denied = 7;
    assert_false(are_empty(samples));
    assert_ptr_equal(find(1, 2), one);
    assert_ptr_not_equal(add(1, 3), one); /* each half counts */
    assert_ptr_not_equal(add(2, 2), one);
    assert_int_equal(find(1, 2)->denied, 7);
    assert_int_equal(samples->count, 3);
}

/* Those that fall on the same set, their bits there too: the halves tell them apart. */
WITH_SAMPLES(a_set_has_room_for_four)
{
    for (uint64_t i = 0; i < SL_NOTED_WAYS; i++)
        assert_non_null(add(7 + i * SL_NOTED_SETS, i));
    assert_null(add(7 + SL_NOTED_WAYS * SL_NOTED_SETS, SL_NOTED_WAYS));
    assert_non_null(add(8, 0)); /* another has room */
    assert_int_equal(samples->count, SL_NOTED_WAYS + 1);
    for (uint64_t i = 0; i < SL_NOTED_WAYS; i++)
        assert_ptr_equal(find(7 + i * SL_NOTED_SETS, i), &samples->noted[i]);
}

/* Bits of the key stand in the place: the highest and the lowest of them. */
WITH_SAMPLES(any_bits_of_a_key_are_told_apart)
{
    for (uint64_t bit = 0; bit < 64; bit++) {
        sl_samples_clear(samples);
        struct sl_noted *zero = add(0, 0);
        struct sl_noted *high = add(0, UINT64_C(1) << bit);
        struct sl_noted *low = bit >= 8 ? add(UINT64_C(1) << bit, 0) : NULL;
        assert_ptr_equal(find(0, 0), zero);
        assert_ptr_equal(find(0, UINT64_C(1) << bit), high);
        if (low)
            assert_ptr_equal(find(UINT64_C(1) << bit, 0), low);
    }
}

WITH_SAMPLES(there_is_room_for_512_and_they_are_still_found)
{
    for (uint64_t i = 0; i < SL_NOTED_MAX; i++)
        assert_non_null(add(i * 37, i << 40 | i));
    assert_null(add(5, 5));
    for (uint64_t i = 0; i < SL_NOTED_MAX; i++)
        assert_ptr_equal(find(i * 37, i << 40 | i), &samples->noted[i]);
}

/* Before a set is full: of keys that are spread, nearly all of the room is used. */
WITH_SAMPLES(hashes_fill_most_of_it)
{
    uint64_t seed = 1, tried = 0;
    while (samples->count < SL_NOTED_MAX && tried++ < 2000)
        sl_samples_add(samples, key_of(unit_random(&seed), unit_random(&seed)));
    assert_int_equal(samples->count, SL_NOTED_MAX);
    assert_true(tried < SL_NOTED_MAX * 6 / 5);
}

WITH_SAMPLES(what_is_cleared_is_as_new)
{
    struct sluice_text text;
    for (uint64_t i = 0; i < SL_NOTED_MAX; i++)
        add(i, i)->denied = 1;
    assert_true(sl_samples_keep(samples, SL_TEXT("abc"), &text));
    sl_samples_wanted(samples, 0, &(struct sl_sample){ .rule = 1, .times = 1 });
    samples->missed_denials = samples->missed_met = 3;
    samples->stride = 8;
    samples->in_step = 5;
    sl_samples_clear(samples);
    assert_true(are_empty(samples));
    assert_int_equal(samples->text_len, 0);
    assert_int_equal(samples->stride, 1);
    assert_int_equal(samples->in_step, 0);
    for (uint64_t i = 0; i < SL_NOTED_MAX; i++)
        assert_int_equal(add(i, i)->denied, 0);
}

/* Any one of these alone is something. */
WITH_SAMPLES(what_was_missed_is_not_nothing)
{
    samples->missed_denials = 1;
    assert_false(are_empty(samples));
    sl_samples_clear(samples);
    samples->missed_met = 1;
    assert_false(are_empty(samples));
    sl_samples_clear(samples);
    sl_samples_wanted(samples, 0, &(struct sl_sample){ .times = 1 });
    assert_false(are_empty(samples));
}

WITH_SAMPLES(the_last_one_can_be_dropped_again)
{
    for (uint64_t i = 0; i < 4; i++)
        add(SL_NOTED_SETS - 1, i);
    sl_samples_drop_last(samples);
    assert_int_equal(samples->count, 3);
    assert_null(find(SL_NOTED_SETS - 1, 3));
    for (uint64_t i = 0; i < 3; i++)
        assert_ptr_equal(find(SL_NOTED_SETS - 1, i), &samples->noted[i]);
    assert_non_null(add(SL_NOTED_SETS - 1, 9));
    assert_int_equal(samples->count, 4);
}

/* ---- texts ---- */

WITH_SAMPLES(a_text_is_a_copy_and_none_stays_none)
{
    char name[] = "u1";
    struct sluice_text kept, empty, none;
    assert_true(sl_samples_keep(samples, sl_text(name), &kept));
    assert_true(sl_samples_keep(samples, SL_TEXT(""), &empty));
    assert_true(sl_samples_keep(samples, (struct sluice_text){ 0 }, &none));
    name[0] = '?';
    SAME_TEXT("kept", kept, "u1");
    assert_non_null(empty.at);
    assert_int_equal(empty.len, 0);
    assert_null(none.at);
}

/* So many bytes, and then these: how much of it is kept. */
static size_t kept_of(size_t len, const char *behind)
{
    static char text[2000];
    struct sluice_text kept;
    memset(text, 'a', sizeof text);
    strcpy(text + len, behind);
    sl_samples_clear(samples);
    assert_true(sl_samples_keep(samples, sl_text(text), &kept));
    assert_memory_equal(kept.at, text, kept.len);
    return kept.len;
}

WITH_SAMPLES(a_long_text_is_cut_between_two_characters)
{
    static const struct {
        size_t len;
        const char *behind;
        size_t kept;
    } rows[] = {
        { 511, "", 511 },
        { 512, "", 512 },
        { 513, "", 512 },
        { 1900, "", 512 },
        { 510, "\xc3\xa4", 512 },              /* ends just there */
        { 511, "\xc3\xa4", 511 },              /* would be cut in two */
        { 510, "\xe2\x82\xac", 510 },          /* three bytes, two of them before the cut */
        { 509, "\xf0\x9f\x98\x80", 509 },      /* four, three before it */
        { 508, "\xf0\x9f\x98\x80", 512 },      /* all four before it */
        { 508, "\xf0\x9f\x98\x80 more", 512 }, /* and it goes on */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char row[32];
        snprintf(row, sizeof row, "row %zu", i);
        SAME(row, kept_of(rows[i].len, rows[i].behind), rows[i].kept);
    }
}

/* Bytes that only look like the middle of characters: never far less than there is room for. */
WITH_SAMPLES(what_is_no_utf8_is_cut_too)
{
    char bytes[1000];
    struct sluice_text kept;
    memset(bytes, 0x80, sizeof bytes);
    assert_true(sl_samples_keep(samples, (struct sluice_text){ bytes, sizeof bytes }, &kept));
    assert_in_range(kept.len, 508, 512);
}

WITH_SAMPLES(texts_have_a_bound)
{
    char long_one[512];
    struct sluice_text kept;
    memset(long_one, 'x', sizeof long_one);
    for (size_t i = 0; i < SL_SAMPLES_TEXT_BYTES / sizeof long_one; i++)
        assert_true(
            sl_samples_keep(samples, (struct sluice_text){ long_one, sizeof long_one }, &kept));
    assert_int_equal(samples->text_len, SL_SAMPLES_TEXT_BYTES);
    assert_false(sl_samples_keep(samples, SL_TEXT("1"), &kept));
    assert_true(sl_samples_keep(samples, SL_TEXT(""), &kept));
}

/* ---- samples ---- */

static void take_sample(size_t from, uint32_t rule, uint32_t in_use)
{
    sl_samples_wanted(samples, from,
                      &(struct sl_sample){ .rule = rule,
                                           .times = 1,
                                           .ns = 100 * rule,
                                           .in_use_sum = in_use,
                                           .in_use_max = in_use });
}

WITH_SAMPLES(a_batch_has_one_sample_for_each_rule)
{
    take_sample(0, 1, 300);
    take_sample(0, 2, 10);
    take_sample(0, 1, 900);
    take_sample(0, 1, 600);
    assert_int_equal(samples->sample_count, 2);
    assert_int_equal(samples->samples[0].times, 3);
    assert_int_equal(samples->samples[0].ns, 100);
    assert_int_equal(samples->samples[0].in_use_sum, 1800);
    assert_int_equal(samples->samples[0].in_use_max, 900);
    take_sample(2, 1, 5); /* of the next batch */
    assert_int_equal(samples->sample_count, 3);
    assert_int_equal(samples->samples[2].in_use_max, 5);
    assert_int_equal(samples->samples[0].times, 3);
}

WITH_SAMPLES(samples_have_a_bound)
{
    for (uint32_t i = 0; i < SL_SAMPLES_MAX + 10; i++)
        take_sample(samples->sample_count, i, 0);
    assert_int_equal(samples->sample_count, SL_SAMPLES_MAX);
    assert_int_equal(samples->samples[SL_SAMPLES_MAX - 1].rule, SL_SAMPLES_MAX - 1);
}
