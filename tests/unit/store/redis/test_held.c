/* What is held, as text: written by one node, read by the node that settles it. */
#include "store/redis/ask.h"
#include "unit/base/unit.h"

#define S INT64_C(1000000)

/* Exactly as large as it is: reading one byte further is seen. */
static bool parses(const char *at, size_t len)
{
    char *copy = malloc(len ? len : 1);
    struct sl_claim claim;
    struct sl_claim_name name;
    assert_non_null(copy);
    memcpy(copy, at, len);
    bool good = sl_held_parse((struct sluice_text){ copy, len }, &claim, &name);
    if (good) {
        assert_true(claim.limit.capacity > 0);
        assert_true(claim.algo->is_bucket ? claim.limit.token_ns > 0 : claim.limit.window_us > 0);
        assert_true(name.key.at + name.key.len == copy + len);
    }
    free(copy);
    return good;
}

TEST(what_was_printed_is_parsed)
{
    static const char *const keys[] = {
        "rl:{acme}:api:u1", "k", "", "with a blank", " ", "%20:{}"
    };
    static const int64_t capacities[] = { 1, 5, 1 << 20 };
    for (size_t i = 0; i < 6 * 3 * 2 && sl_algos[0]; i++)
        for (size_t a = 0; sl_algos[a]; a++) {
            const struct sl_algo *algo = sl_algos[a];
            struct sl_claim_name name = { .key = sl_text(keys[i % 6]) }, named;
            struct sl_claim claim = { .algo = algo, .name = &name }, again;
            struct sl_buffer text = sl_buffer(4096);
            claim.limit.capacity = capacities[i / 6 % 3];
            claim.ring_len = algo->keeps_ring ? 1 << 21 : 0;
            if (algo->is_bucket)
                claim.limit.token_ns = i < 18 ? 1 : SL_SPAN_MAX_NS / claim.limit.capacity;
            else
                claim.limit.window_us = i < 18 ? SL_WINDOW_MIN_US : SL_WINDOW_MAX_US;
            claim.limit.first_request = algo->takes_align && i % 2;
            sl_held_print(&text, &claim);
            assert_false(text.failed);
            SAME(algo->name,
                 sl_held_parse((struct sluice_text){ text.at, text.len }, &again, &named), true);
            assert_ptr_equal(again.algo, algo);
            assert_ptr_equal(again.name, &named);
            SAME_TEXT(algo->name, named.key, keys[i % 6]);
            SAME(algo->name, again.limit.capacity, claim.limit.capacity);
            SAME(algo->name, again.limit.token_ns, claim.limit.token_ns);
            SAME(algo->name, again.limit.window_us, claim.limit.window_us);
            SAME(algo->name, again.limit.first_request, claim.limit.first_request);
            SAME(algo->name, again.ring_len, claim.ring_len);
            SAME(algo->name, again.no_key || again.shadow || again.guard, false);
            sl_buffer_release(&text);
        }
}

TEST(the_text_is_readable)
{
    struct sl_claim_name name = { .key = SL_TEXT("rl:{acme}:api:u1") };
    struct sl_claim claim = { .algo = &sl_token_bucket, .name = &name };
    struct sl_buffer text = sl_buffer(256);
    claim.limit = (struct sl_limit){ .capacity = 150, .token_ns = 100000000 };
    sl_held_print(&text, &claim);
    SAME_TEXT("as ask.h says", ((struct sluice_text){ text.at, text.len }),
              "token_bucket 150 100000000 0 rl:{acme}:api:u1");
    sl_buffer_release(&text);
}

TEST(a_text_that_was_never_printed_is_refused)
{
    static const char *const texts[] = {
        "",
        " ",
        "    ",
        "token_bucket",
        "token_bucket ",
        "token_bucket 1",
        "token_bucket 1 2",
        "token_bucket 1 2 3",
        " 1 2 3 k",
        "token_bucke 1 2 3 k",
        "token_buckets 1 2 3 k",
        "TOKEN_BUCKET 1 2 3 k",
        "token_bucket  1 2 3 k",
        "token_bucket 0 2 3 k",
        "token_bucket 1 0 3 k",
        "token_bucket -1 2 3 k",
        "token_bucket +1 2 3 k",
        "token_bucket 1.5 2 3 k",
        "token_bucket 0x1 2 3 k",
        "token_bucket 1 2 x k",
        "token_bucket 1\t2 3 k",
        "token_bucket 4294967296 2 3 k",
        "token_bucket 18446744073709551616 2 3 k",
        "token_bucket 1 7776000000000001 3 k",
        "token_bucket 1 9223372036854775808 3 k",
        "token_bucket 2 7776000000000000 3 k",
        "token_bucket 4294967295 4294967295 0 k",
        "leaky_bucket 1 2 4294967296 k",
        "fixed_window 1 999 0 k",
        "fixed_window 1 31622400000001 0 k",
        "fixed_window 0 1000 0 k",
        "sliding_window_log 1 999 1 k",
        "sliding_window_log 1 1000 4294967296 k",
        "sliding_window_counter 1 1 1 k",
    };
    for (size_t i = 0; i < COUNT(texts); i++)
        SAME(texts[i], parses(texts[i], strlen(texts[i])), false);
}

TEST(a_text_cut_before_its_key_is_refused)
{
    static const char text[] = "sliding_window_log 5 10000000 8 rl:{acme}:api:u1";
    size_t key_at = (size_t)(strstr(text, "rl:") - text);
    for (size_t len = 0; len < sizeof text; len++)
        SAME(text, parses(text, len), len >= key_at);
}

TEST(any_change_of_a_text_is_refused_or_safe)
{
    static const char *const texts[] = {
        "token_bucket 150 100000000 0 rl:{acme}:api:u1",
        "fixed_window 5 10000000 1 k",
        "sliding_window_log 5 10000000 8 k",
    };
    uint64_t seed = 1;
    for (int i = 0; i < 100000; i++) {
        char text[64];
        const char *from = texts[i % 3];
        size_t len = strlen(from);
        memcpy(text, from, len);
        for (int j = 0; j < 1 + i % 4; j++)
            text[unit_random(&seed) % len] =
                i % 2 ? (char)unit_random(&seed) : "0123456789 -"[unit_random(&seed) % 12];
        parses(text, len);
    }
}
