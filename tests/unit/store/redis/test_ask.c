/* The words of calls, and what is held as text. */
#include "store/redis/ask.h"

#include "algo/bucket.h"
#include "unit/base/unit.h"

#define S INT64_C(1000000)

#define FRAME " '' 9999999999999999" /* Redis' own time, and by when */

static struct sl_scripts scripts;
static struct sl_buffer bytes;
static struct sl_redis_query query;
static size_t nonce_at; /* words behind the keys; 0: it has none */

static const struct sl_guard guard = { .window_us = 10 * S, .penalty_us = 60 * S, .threshold = 3 };

static const struct sl_claim_name names[] = {
    { SL_TEXT("k1"), SL_TEXT("g1") },
    { SL_TEXT("k2"), SL_TEXT("g2") },
    { SL_TEXT("k3"), SL_TEXT("g3") },
};

static int set_up(void **unused)
{
    (void)unused;
    bytes = sl_buffer(1 << 20);
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    sl_buffer_release(&bytes);
    sl_scripts_release(&scripts);
    return 0;
}

static struct sl_claim claim_on(const struct sl_algo *algo, size_t number)
{
    struct sl_claim claim = { .algo = algo, .name = &names[number] };
    claim.limit.capacity = 5;
    if (algo->is_bucket) {
        claim.limit.token_ns = 100000000;
        claim.limit.token_form = sl_token_short(claim.limit.token_ns);
    } else {
        claim.limit.window_us = 10 * S;
    }
    claim.ring_len = algo->keeps_ring ? 8 : 0;
    return claim;
}

static struct sl_bundle bundle_of(struct sl_claim *claims, size_t count)
{
    return (struct sl_bundle){
        .now_us = -1, .cost = 1, .max_delay_us = -1, .claims = claims, .claim_count = count
    };
}

/* ---- words ---- */

/* The next word of the call; each is "$LEN\r\n…\r\n". */
static struct sluice_text next_word(const char **at, const char *end)
{
    char *rest;
    assert_true(*at < end && **at == '$');
    size_t len = strtoul(*at + 1, &rest, 10);
    assert_memory_equal(rest, "\r\n", 2);
    struct sluice_text word = { rest + 2, len };
    assert_true(word.at + len + 2 <= end);
    assert_memory_equal(word.at + len, "\r\n", 2);
    *at = word.at + len + 2;
    return word;
}

static bool is_nonce(struct sluice_text word)
{
    for (size_t i = 0; i < word.len; i++)
        if (sl_hex_digit(word.at[i]) < 0)
            return false;
    return word.len == 16;
}

/* All words with a blank between them; what is empty or has blanks itself in quotes. The one
 * that is new in every call is NONCE. */
static const char *spoken(void)
{
    static char text[4096];
    const char *at = query.bytes->at + query.start, *end = at + query.len;
    size_t len = 0, keys = 0;
    assert_ptr_equal(query.bytes, &bytes);
    for (uint32_t i = 0; i < query.words; i++) {
        struct sluice_text word = next_word(&at, end);
        bool quoted = word.len == 0 || memchr(word.at, ' ', word.len);
        if (i == 0)
            keys = strtoul(word.at, NULL, 10);
        if (nonce_at && i == keys + nonce_at && is_nonce(word))
            word = SL_TEXT("NONCE");
        len += (size_t)snprintf(text + len, sizeof text - len, quoted ? "%s'%.*s'" : "%s%.*s",
                                i ? " " : "", (int)word.len, word.at);
    }
    assert_ptr_equal(at, end);
    if (query.deadline_at)
        assert_memory_equal(bytes.at + query.start + query.deadline_at - 5,
                            "$16\r\n9999999999999999\r\n", 23);
    return text;
}

static const char *asked(const struct sl_bundle *bundle, const struct sl_holding *holding)
{
    query = (struct sl_redis_query){ 0 };
    nonce_at = 6;
    assert_true(sl_ask_decide(&scripts, bundle, holding, &bytes, &query));
    assert_non_null(query.script);
    assert_true(query.is_packed);
    return spoken();
}

#define WITH_A_BUFFER(name) TEST_WITH(name, set_up, tear_down)

WITH_A_BUFFER(a_claim_says_its_algorithm_and_numbers)
{
    static const struct {
        const struct sl_algo *algo;
        const char *words;
    } rows[] = {
        { &sl_fixed_window, "'' fixed_window/10000000 5 10000000 ''" },
        { &sl_sliding_window_counter, "'' sliding_window_counter/10000000 5 10000000 ''" },
        { &sl_sliding_window_log, "NONCE 10000000: 5 10000000 ''" },
        { &sl_token_bucket, "'' token_bucket 5 100000000 ''" },
        { &sl_leaky_bucket, "'' leaky_bucket 5 100000000 ''" },
    };
    size_t algos = 0;
    while (sl_algos[algos])
        algos++;
    assert_int_equal(algos, COUNT(rows));
    for (size_t i = 0; i < COUNT(rows); i++) {
        char wanted[256];
        struct sl_claim claim = claim_on(rows[i].algo, 0);
        struct sl_bundle bundle = bundle_of(&claim, 1);
        snprintf(wanted, sizeof wanted, "1 k1" FRAME " 1 '' '' %s", rows[i].words);
        SAME_TEXT(rows[i].algo->name, sl_text(asked(&bundle, NULL)), wanted);
        SAME(rows[i].algo->name, query.deadline_at != 0, true);
    }
}

WITH_A_BUFFER(a_first_request_window_is_another_state)
{
    struct sl_claim claim = claim_on(&sl_fixed_window, 0);
    struct sl_bundle bundle = bundle_of(&claim, 1);
    claim.limit.first_request = true;
    assert_string_equal(asked(&bundle, NULL), "1 k1" FRAME " 1 '' '' '' fixed_window/10000000/"
                                              "first_request 5 10000000 f");
    claim.shadow = true;
    assert_string_equal(asked(&bundle, NULL), "1 k1" FRAME " 1 '' '' '' fixed_window/10000000/"
                                              "first_request 5 10000000 sf");
}

WITH_A_BUFFER(a_guard_adds_its_key_and_its_numbers)
{
    struct sl_claim claims[] = { claim_on(&sl_token_bucket, 0), claim_on(&sl_leaky_bucket, 1) };
    struct sl_bundle bundle = bundle_of(claims, 2);
    claims[0].guard = &guard;
    claims[1].shadow = true;
    assert_string_equal(asked(&bundle, NULL),
                        "3 k1 g1 k2" FRAME " 1 '' '' '' token_bucket 5 100000000 '' token_bucket "
                        "10000000/60000000/3 10000000 60000000 3 "
                        "leaky_bucket 5 100000000 s leaky_bucket ''");
}

WITH_A_BUFFER(what_the_request_wants_is_said_once)
{
    struct sl_claim claim = claim_on(&sl_token_bucket, 0);
    struct sl_bundle bundle = bundle_of(&claim, 1);
    bundle.cost = UINT32_MAX;
    bundle.peek = true;
    bundle.max_delay_us = 250000;
    assert_string_equal(asked(&bundle, NULL), "1 k1" FRAME " 4294967295 p 250000 '' "
                                              "token_bucket 5 100000000 ''");
}

WITH_A_BUFFER(a_claim_without_a_key_is_left_out_and_denies_unless_it_is_a_shadow)
{
    struct sl_claim claims[] = { { .no_key = true }, claim_on(&sl_token_bucket, 0) };
    struct sl_bundle bundle = bundle_of(claims, 2);
    assert_string_equal(asked(&bundle, NULL),
                        "1 k1" FRAME " 1 d '' '' token_bucket 5 100000000 ''");
    bundle.peek = true;
    assert_string_equal(asked(&bundle, NULL),
                        "1 k1" FRAME " 1 pd '' '' token_bucket 5 100000000 ''");
    claims[0].shadow = true;
    assert_string_equal(asked(&bundle, NULL),
                        "1 k1" FRAME " 1 p '' '' token_bucket 5 100000000 ''");
}

WITH_A_BUFFER(a_replay_brings_its_time_and_has_no_deadline)
{
    struct sl_claim claim = claim_on(&sl_token_bucket, 0);
    struct sl_bundle bundle = bundle_of(&claim, 1);
    bundle.now_us = 1700000000 * S;
    assert_string_equal(asked(&bundle, NULL), "1 k1 1700000000000000 9999999999999999 1 '' '' '' "
                                              "token_bucket 5 100000000 ''");
    assert_int_equal(query.deadline_at, 0);
}

WITH_A_BUFFER(a_reservation_names_its_keys_and_describes_every_claim)
{
    struct sl_claim claims[] = { claim_on(&sl_token_bucket, 0),
                                 { .no_key = true, .shadow = true },
                                 claim_on(&sl_sliding_window_log, 2) };
    struct sl_bundle bundle = bundle_of(claims, 3);
    struct sl_holding holding = { .id = 42, .expiry_us = 30 * S };
    assert_string_equal(asked(&bundle, &holding),
                        "4 k1 k3 rl:~reservation:{000000000000002a} rl:~reservations" FRAME
                        " 1 '' '' NONCE token_bucket 5 100000000 '' token_bucket '' "
                        "10000000: 5 10000000 '' sliding_window_log '' "
                        "hold 30000000 65536 000000000000002a "
                        "'token_bucket 5 100000000 0 k1' 'sliding_window_log 5 10000000 8 k3'");
}

WITH_A_BUFFER(decisions_and_reservations_on_other_algorithms_are_other_scripts)
{
    struct sl_claim claim = claim_on(&sl_token_bucket, 0);
    struct sl_bundle bundle = bundle_of(&claim, 1);
    struct sl_holding holding = { .id = 1, .expiry_us = S };
    asked(&bundle, NULL);
    const struct sl_script *first = query.script;
    asked(&bundle, &holding);
    assert_ptr_not_equal(query.script, first);
    claim.guard = &guard;
    asked(&bundle, NULL);
    assert_ptr_not_equal(query.script, first);
    claim = claim_on(&sl_leaky_bucket, 1);
    asked(&bundle, NULL);
    assert_ptr_not_equal(query.script, first);
    claim = claim_on(&sl_token_bucket, 2);
    asked(&bundle, NULL);
    assert_ptr_equal(query.script, first);
}

WITH_A_BUFFER(only_algorithms_that_keep_a_log_send_the_nonce)
{
    for (size_t a = 0; sl_algos[a]; a++) {
        struct sl_claim claims[] = { claim_on(sl_algos[a], 0), claim_on(sl_algos[a], 1) };
        struct sl_changing change = { .claim = claims };
        for (size_t count = 1; count <= 2; count++) {
            struct sl_bundle bundle = bundle_of(claims, count);
            query = (struct sl_redis_query){ .nonce = 0x0123456789abcdef };
            assert_true(sl_ask_decide(&scripts, &bundle, NULL, &bytes, &query));
            nonce_at = 0;
            SAME(sl_algos[a]->name, strstr(spoken(), " 0123456789abcdef ") != NULL,
                 sl_algos[a]->keeps_ring);
        }
        assert_true(sl_ask_change(&scripts, &change, 1, &bytes, &query));
        SAME(sl_algos[a]->name, strstr(spoken(), " 0123456789abcdef ") != NULL,
             sl_algos[a]->keeps_ring);
    }
}

WITH_A_BUFFER(a_change_says_what_is_given_back_or_taken)
{
    struct sl_claim claims[] = { claim_on(&sl_fixed_window, 0), claim_on(&sl_token_bucket, 1),
                                 claim_on(&sl_sliding_window_log, 2) };
    struct sl_changing changes[] = {
        { &claims[0], { 2, 1700000000 * S }, false },
        { &claims[1], { 7, 5 }, true },
        { &claims[2], { UINT32_MAX, 0 }, true },
    };
    claims[0].limit.first_request = true;
    query = (struct sl_redis_query){ 0 };
    nonce_at = 3;
    assert_true(sl_ask_change(&scripts, changes, 3, &bytes, &query));
    assert_false(query.is_packed);
    assert_string_equal(spoken(), "3 k1 k2 k3" FRAME " NONCE fixed_window "
                                  "fixed_window/10000000/first_request 5 10000000 1 refund 2 "
                                  "1700000000000000 "
                                  "token_bucket token_bucket 5 100000000 0 overcharge 7 5 "
                                  "sliding_window_log 10000000: 5 10000000 8 overcharge "
                                  "4294967295 0");
    assert_true(sl_ask_change(&scripts, changes + 1, 1, &bytes, &query)); /* no log, no nonce */
    assert_string_equal(spoken(), "1 k2" FRAME " '' token_bucket token_bucket 5 100000000 0 "
                                  "overcharge 7 5");
}

WITH_A_BUFFER(the_other_calls_say_little)
{
    struct sl_claim claim = claim_on(&sl_fixed_window, 0);
    nonce_at = 0;
    assert_true(sl_ask_take(&scripts, UINT64_MAX, false, &bytes, &query));
    assert_string_equal(spoken(), "2 rl:~reservation:{ffffffffffffffff} rl:~reservations" FRAME
                                  " ffffffffffffffff held");
    assert_true(sl_ask_take(&scripts, 1, true, &bytes, &query));
    assert_string_equal(spoken(), "2 rl:~reservation:{0000000000000001} rl:~reservations" FRAME
                                  " 0000000000000001 due");
    assert_true(sl_ask_due(&scripts, 0, &bytes, &query));
    assert_string_equal(spoken(), "1 rl:~reservations" FRAME);
    assert_true(sl_ask_forget(&scripts, &claim, &bytes, &query));
    assert_string_equal(spoken(), "1 k1" FRAME " 5");
    claim.guard = &guard;
    assert_true(sl_ask_forget(&scripts, &claim, &bytes, &query));
    assert_string_equal(spoken(), "2 k1 g1" FRAME " 5");
}

WITH_A_BUFFER(a_call_for_a_lease_tells_of_the_last_one_and_asks_for_the_next)
{
    char name[] = "k1";
    struct sl_lease lease = { .algo = &sl_fixed_window,
                              .limit = { .capacity = 500, .window_us = 10000000 },
                              .name = name,
                              .name_len = 2,
                              .ask = { 12000000, 10000000, 30, 4, 5, 96, 1 } };
    nonce_at = 0;
    assert_true(sl_ask_lease(&scripts, &lease, &bytes, &query));
    assert_string_equal(spoken(), "1 k1" FRAME " fixed_window/10000000 500 10000000 '' "
                                  "12000000 10000000 30 4 5 96 1");
    assert_true(query.is_packed);
    lease.limit.first_request = true;
    lease.ask = (struct sl_lease_ask){ .want = 8 };
    assert_true(sl_ask_lease(&scripts, &lease, &bytes, &query));
    assert_string_equal(spoken(), "1 k1" FRAME " fixed_window/10000000/first_request 500 10000000 "
                                  "f 0 0 0 0 0 8 0");
}

WITH_A_BUFFER(an_answer_about_a_lease_is_nine_numbers_that_can_be)
{
    int64_t values[] = { 11500000, 1, 40, 13000000, 12900000, 70, 1, 2, 3 };
    struct sl_redis_reply reply = { .values = values, .value_count = COUNT(values) };
    struct sl_lease_reply heard;
    assert_true(sl_answer_lease(&reply, &heard));
    assert_true(heard.is_known);
    assert_int_equal(heard.granted, 40);
    assert_int_equal(heard.term_us, 13000000);
    assert_int_equal(heard.end_us, 12900000);
    assert_int_equal(heard.out, 70);
    assert_int_equal(heard.told[2], 3);
    values[2] = -1;
    assert_false(sl_answer_lease(&reply, &heard));
    values[2] = INT64_C(1) << 32;
    assert_false(sl_answer_lease(&reply, &heard));
    values[2] = 40;
    values[4] = INT64_MIN;
    assert_false(sl_answer_lease(&reply, &heard));
    values[4] = 12900000;
    reply.value_count = 2; /* it came too late */
    assert_false(sl_answer_lease(&reply, &heard));
}

WITH_A_BUFFER(a_sum_for_a_guard_says_its_window_and_how_many)
{
    struct sl_guard_backlog_sum sum = {
        .guard = guard, .name = "g1", .name_len = 2, .start_us = 1700 * S, .count = 99
    };
    nonce_at = 0;
    assert_true(sl_ask_count(&scripts, &sum, &bytes, &query));
    assert_string_equal(spoken(),
                        "1 g1" FRAME " 10000000/60000000/3 10000000 60000000 3 1700000000 99");
}

WITH_A_BUFFER(any_bytes_may_be_a_key)
{
    static const char odd[] = "a\r\n$3\r\n\0\xff*";
    struct sl_claim_name name = { .key = { odd, sizeof odd } };
    struct sl_claim claim = claim_on(&sl_token_bucket, 0);
    struct sl_bundle bundle = bundle_of(&claim, 1);
    claim.name = &name;
    asked(&bundle, NULL);
    const char *at = bytes.at + query.start, *end = at + query.len;
    next_word(&at, end);
    struct sluice_text word = next_word(&at, end);
    assert_int_equal(word.len, sizeof odd);
    assert_memory_equal(word.at, odd, sizeof odd);
}

WITH_A_BUFFER(what_does_not_fit_is_not_asked)
{
    struct sl_claim claim = claim_on(&sl_token_bucket, 0);
    struct sl_bundle bundle = bundle_of(&claim, 1);
    struct sl_changing change = { .claim = &claim };
    struct sl_buffer small = sl_buffer(64);
    assert_false(sl_ask_decide(&scripts, &bundle, NULL, &small, &query));
    sl_buffer_clear(&small);
    assert_false(sl_ask_change(&scripts, &change, 1, &small, &query));
    sl_buffer_clear(&small);
    assert_false(sl_ask_take(&scripts, 1, false, &small, &query));
    sl_buffer_release(&small);
}
