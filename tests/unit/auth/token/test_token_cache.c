#include "auth/token/token_cache.h"

#include "unit/base/unit.h"

static struct sl_token_cache *cache;
static struct sl_claims claims; /* what the next put keeps */

static int open_cache(void **unused)
{
    (void)unused;
    cache = sl_token_cache_new();
    memset(&claims, 0, sizeof claims);
    claims.span = (struct sl_token_span){ INT64_MIN, INT64_MAX };
    claims.count = 1;
    return cache ? 0 : -1;
}

static int close_cache(void **unused)
{
    (void)unused;
    sl_token_cache_free(cache);
    return 0;
}

/* A digest whose first two bytes choose the group, and whose last tell it from others
 * there. */
static struct sl_digest digest_of(uint32_t group, uint32_t number)
{
    struct sl_digest digest = { { (uint8_t)(group >> 8), (uint8_t)group } };
    memcpy(digest.byte + sizeof digest.byte - sizeof number, &number, sizeof number);
    return digest;
}

static void put(struct sl_digest digest, const char *value)
{
    claims.values[0] = sl_text(value);
    sl_token_cache_put(cache, &digest, &claims);
}

/* NULL: it is not there. */
static const char *get(struct sl_digest digest)
{
    static char text[SL_KEPT_MAX_BYTES + 1];
    struct sl_token token;
    if (!sl_token_cache_get(cache, &digest, 0, &token))
        return NULL;
    assert_int_equal(token.count, 1);
    snprintf(text, sizeof text, "%.*s", (int)token.values[0].len, token.values[0].at);
    return text;
}

static bool is_there(uint32_t group, uint32_t number)
{
    return get(digest_of(group, number)) != NULL;
}

#define WITH_CACHE(name) TEST_WITH(name, open_cache, close_cache)

WITH_CACHE(what_was_put_is_found_and_nothing_else)
{
    struct sl_digest one = digest_of(7, 1);
    assert_null(get(one));
    put(one, "u1");
    assert_string_equal(get(one), "u1");
    for (size_t bit = 0; bit < 256; bit++) {
        struct sl_digest other = one;
        other.byte[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_null(get(other));
    }
    put(one, "u2");
    assert_string_equal(get(one), "u2");
    put(digest_of(7, 2), "u3");
    assert_string_equal(get(one), "u2");
}

WITH_CACHE(an_all_zero_digest_is_not_there_by_itself)
{
    assert_null(get(digest_of(0, 0)));
    put(digest_of(0, 0), "zero");
    assert_string_equal(get(digest_of(0, 0)), "zero");
}

WITH_CACHE(values_come_back_as_they_were)
{
    struct sl_digest one = digest_of(1, 1);
    struct sl_token token;
    claims.count = 5;
    claims.values[0] = SL_TEXT("first");
    claims.values[1] = (struct sluice_text){ 0 };
    claims.values[2] = SL_TEXT("");
    claims.values[3] = SL_TEXT("with\0nul");
    claims.values[4] = SL_TEXT("last");
    sl_token_cache_put(cache, &one, &claims);
    assert_true(sl_token_cache_get(cache, &one, 0, &token));
    assert_int_equal(token.count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_true(sl_text_equal(token.values[i], claims.values[i]));
        assert_int_equal(!token.values[i].at, !claims.values[i].at);
        assert_true(!token.values[i].len || token.values[i].at != claims.values[i].at);
    }
}

WITH_CACHE(a_span_holds_to_the_microsecond)
{
    static const struct sl_token_span spans[] = {
        { INT64_MIN, INT64_MAX }, { 1000, 2000 }, { -5, 0 }, { 0, 1 }, { INT64_MIN, 77 },
    };
    for (size_t i = 0; i < COUNT(spans); i++) {
        struct sl_digest one = digest_of(3, 3);
        struct sl_token token;
        claims.span = spans[i];
        put(one, "u1");
        assert_true(sl_token_cache_get(cache, &one, spans[i].from_us, &token));
        assert_true(sl_token_cache_get(cache, &one, spans[i].until_us - 1, &token));
        assert_false(sl_token_cache_get(cache, &one, spans[i].until_us, &token));
        if (spans[i].from_us > INT64_MIN)
            assert_false(sl_token_cache_get(cache, &one, spans[i].from_us - 1, &token));
        assert_true(sl_token_cache_get(cache, &one, spans[i].from_us, &token));
    }
}

WITH_CACHE(the_longest_unused_of_a_group_makes_room)
{
    for (uint32_t i = 0; i < 8; i++)
        put(digest_of(5, i), "x");
    for (uint32_t i = 0; i < 8; i++)
        assert_true(is_there(5, i));
    assert_true(is_there(5, 0)); /* so that 1 is the oldest now */
    put(digest_of(5, 8), "x");
    assert_false(is_there(5, 1));
    put(digest_of(5, 9), "x");
    assert_false(is_there(5, 2));
    for (uint32_t i = 3; i < 10; i++)
        assert_true(is_there(5, i));
    assert_true(is_there(5, 0));
}

WITH_CACHE(a_full_group_leaves_the_others_alone)
{
    put(digest_of(4, 0), "below");
    put(digest_of(6, 0), "above");
    for (uint32_t i = 0; i < 1000; i++)
        put(digest_of(5, i), "x");
    assert_string_equal(get(digest_of(4, 0)), "below");
    assert_string_equal(get(digest_of(6, 0)), "above");
}

WITH_CACHE(at_most_4096_are_kept_each_with_its_own_value)
{
    char value[16];
    size_t found = 0;
    for (uint32_t i = 0; i < 3 * SL_TOKENS_KEPT; i++) {
        snprintf(value, sizeof value, "v%u", i);
        put(digest_of(i, i), value);
    }
    for (uint32_t i = 0; i < 3 * SL_TOKENS_KEPT; i++) {
        const char *got = get(digest_of(i, i));
        snprintf(value, sizeof value, "v%u", i);
        if (got)
            assert_string_equal(got, value);
        found += got != NULL;
    }
    assert_int_equal(found, SL_TOKENS_KEPT);
}

WITH_CACHE(nothing_is_left_after_a_clear)
{
    for (uint32_t i = 0; i < 2000; i++)
        put(digest_of(i, i), "x");
    sl_token_cache_clear(cache);
    for (uint32_t i = 0; i < 2000; i++)
        assert_false(is_there(i, i));
    put(digest_of(9, 9), "again");
    assert_string_equal(get(digest_of(9, 9)), "again");
}

WITH_CACHE(what_takes_more_than_its_room_is_not_kept)
{
    char value[SL_KEPT_MAX_BYTES + 1];
    memset(value, 'x', sizeof value);
    claims.count = 2;
    claims.values[1] = SL_TEXT("ab");
    for (size_t len = SL_KEPT_MAX_BYTES - 10; len <= SL_KEPT_MAX_BYTES; len++) {
        struct sl_digest one = digest_of(1, (uint32_t)len);
        struct sl_token token;
        claims.values[0] = (struct sluice_text){ value, len };
        sl_token_cache_put(cache, &one, &claims);
        bool fits = len + 2 + 2 + 2 <= SL_KEPT_MAX_BYTES;
        assert_int_equal(sl_token_cache_get(cache, &one, 0, &token), fits);
        if (fits)
            assert_true(sl_text_equal(token.values[0], claims.values[0]) &&
                        sl_text_is(token.values[1], "ab"));
    }
}
