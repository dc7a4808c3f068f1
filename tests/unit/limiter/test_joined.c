/* Requests that are charged together or not at all, and those that bring a limit of their own. */
#include "limiter/limiter.h"

#include "base/buffer.h"

#include "unit/limiter/decisions.h"
#include "unit/limiter/rules.h"

#define T0 INT64_C(1700000000000000)

enum { MOST = SL_JOINED_MAX };

static struct sl_store *store;
static struct sl_ruleset *rules;
static struct sl_limiter *limiter;
static struct sluice_request requests[2 * MOST];
static struct sl_request_options options[2 * MOST];
static struct sluice_decision out[2 * MOST];
static size_t count;

static void open_with(const char *yaml)
{
    rules = rules_of(yaml);
    limiter = sl_limiter_new(rules, store);
    assert_non_null(limiter);
}

static void close_rules(void)
{
    sl_limiter_free(limiter);
    sl_ruleset_free(rules);
}

/* Both stores that need no server: on each a test runs once. */
static struct sl_store *open_heap(void)
{
    return sl_heap_open();
}

static struct sl_store *open_memory(void)
{
    struct sluice_error error;
    struct sl_memory_config config = { .size_bytes = 1 << 20,
                                       .log_bytes = SL_LOG_DEFAULT,
                                       .logs_wanted = true };
    return sl_memory_open(&config, &error);
}

static void on_both(void (*test)(void))
{
    static struct sl_store *(*const opens[])(void) = { open_heap, open_memory };
    for (size_t i = 0; i < COUNT(opens); i++) {
        store = opens[i]();
        assert_non_null(store);
        count = 0;
        test();
        close_rules();
        sl_store_close(store);
    }
}

static struct sluice_request *add(const char *user, uint32_t cost, bool joins)
{
    requests[count] = sluice_request();
    requests[count].user = sl_text(user);
    requests[count].cost = cost;
    requests[count].at_us = T0;
    options[count] = (struct sl_request_options){ .joins = joins };
    return &requests[count++];
}

static void decide(void)
{
    struct sl_batch_in in = { requests, options, count, out };
    memset(out, 0xff, sizeof out);
    assert_int_equal(sl_limiter_decide_with_options(limiter, &in), SLUICE_OK);
    count = 0;
}

static int64_t left(const char *user)
{
    struct sluice_request request = sluice_request();
    struct sluice_decision decision;
    request.user = sl_text(user);
    request.at_us = T0;
    request.peek = true;
    assert_int_equal(sl_limiter_decide(limiter, &request, &decision), SLUICE_OK);
    return decision.remaining;
}

static const char ten[] = "rules: [{ name: r, per: user, algorithm: fixed_window, limit: 10/h }]";

static void check_all_or_none(void)
{
    open_with(ten);
    add("a", 3, false);
    add("b", 11, true);
    add("c", 4, true);
    add("a", 1, false); /* a call of its own */
    decide();
    assert_true(out[0].allowed && !out[1].allowed && out[2].allowed && out[3].allowed);
    assert_int_equal(out[0].charged, 0);
    assert_int_equal(out[0].remaining, 10);
    assert_int_equal(out[1].reason, SLUICE_REASON_COST);
    assert_int_equal(out[3].remaining, 9);
    assert_int_equal(left("a"), 9);
    assert_int_equal(left("b"), 10);
    assert_int_equal(left("c"), 10);
    add("a", 3, false);
    add("b", 10, true);
    decide();
    assert_true(out[0].allowed && out[1].allowed && out[0].charged && out[1].charged);
    assert_int_equal(out[0].remaining, 6);
    assert_int_equal(out[1].remaining, 0);
}

TEST(all_are_charged_or_none)
{
    on_both(check_all_or_none);
}

static void check_same_key(void)
{
    open_with(ten);
    add("a", 6, false);
    add("b", 1, true);
    add("a", 5, true); /* 11 together */
    decide();
    assert_true(!out[0].allowed && out[1].allowed && !out[2].allowed);
    assert_int_equal(left("a"), 10);
    assert_int_equal(left("b"), 10);
    add("a", 6, false);
    add("a", 4, true);
    decide();
    assert_true(out[0].allowed && out[1].allowed);
    assert_int_equal(out[0].remaining, 0);
    assert_int_equal(out[1].remaining, 0);
    add("b", UINT32_MAX, false);
    add("b", UINT32_MAX, true);
    decide();
    assert_true(!out[0].allowed && !out[1].allowed);
    assert_int_equal(left("b"), 10);
}

TEST(costs_on_one_key_add_up)
{
    on_both(check_same_key);
}

/* Every algorithm, with nothing left: what never passes leaves that as it is. */
static void check_too_much(void)
{
    static const char *const algorithms[] = { "fixed_window", "sliding_window_log",
                                              "sliding_window_counter", "token_bucket",
                                              "leaky_bucket" };
    struct sl_buffer yaml = sl_buffer(4096);
    sl_buffer_add(&yaml, SL_TEXT("rules:\n"));
    for (size_t i = 0; i < COUNT(algorithms); i++) {
        sl_buffer_add(&yaml, SL_TEXT("- { name: "));
        sl_buffer_add(&yaml, sl_text(algorithms[i]));
        sl_buffer_add(&yaml, SL_TEXT(", limit: 5/h, per: user, when: { user: "));
        sl_buffer_add(&yaml, sl_text(algorithms[i]));
        sl_buffer_add(&yaml, SL_TEXT(" }, algorithm: "));
        sl_buffer_add(&yaml, sl_text(algorithms[i]));
        sl_buffer_add(&yaml, SL_TEXT(" }\n"));
    }
    sl_buffer_add(&yaml, (struct sluice_text){ "", 1 });
    open_with(yaml.at);
    sl_buffer_release(&yaml);
    for (size_t i = 0; i < COUNT(algorithms); i++) {
        add(algorithms[i], 5, false);
        decide();
        assert_true(out[0].allowed);
        for (int k = 0; k < 3; k++)
            add(algorithms[i], UINT32_MAX, k > 0);
        decide();
        SAME(algorithms[i], out[0].allowed || out[1].allowed || out[2].allowed, false);
        SAME(algorithms[i], out[2].reason, SLUICE_REASON_COST);
        SAME(algorithms[i], out[2].limit, 5);
        SAME(algorithms[i], left(algorithms[i]), 0);
    }
}

TEST(costs_that_are_too_much_change_nothing)
{
    on_both(check_too_much);
}

/* A limit that the largest cost would fit. */
static void check_large(void)
{
    open_with("rules: [{ name: r, per: user, algorithm: token_bucket, capacity: 5000000000, "
              "refill_rate: 1000000 }]");
    add("a", UINT32_MAX, false);
    add("a", UINT32_MAX, true);
    decide();
    assert_true(!out[0].allowed && !out[1].allowed);
    assert_int_equal(left("a"), 5000000000);
}

TEST(costs_that_are_too_much_do_not_pass_where_one_of_them_would)
{
    on_both(check_large);
}

static void check_peeks(void)
{
    open_with(ten);
    add("a", 1, false);
    add("b", 1, true)->peek = true;
    add("a", 1, true)->peek = true;
    decide();
    assert_true(out[0].allowed && out[1].allowed && out[2].allowed);
    assert_int_equal(left("a"), 9);
    assert_int_equal(left("b"), 10);
    add("b", 10, false);
    decide();
    add("a", 1, false);
    add("b", 1, true)->peek = true; /* nothing left: the whole is denied */
    decide();
    assert_true(out[0].allowed && !out[1].allowed);
    assert_int_equal(left("a"), 9);
}

TEST(a_peek_among_them_takes_nothing_and_may_deny)
{
    on_both(check_peeks);
}

/* A whole batch of calls, each of as many as there may be, with rules beyond the free room. */
static void check_many(void)
{
    struct sl_buffer yaml = sl_buffer(1 << 16);
    sl_buffer_add(&yaml, SL_TEXT("rules:\n"));
    for (int i = 0; i < 20; i++) {
        sl_buffer_add(&yaml, SL_TEXT("- { name: r"));
        sl_buffer_add_i64(&yaml, i);
        sl_buffer_add(&yaml, SL_TEXT(", per: user, limit: 100/h }\n"));
    }
    sl_buffer_add(&yaml, (struct sluice_text){ "", 1 });
    open_with(yaml.at);
    sl_buffer_release(&yaml);
    static char names[MOST][16];
    add("one", 1, false);
    for (int i = 0; i < MOST; i++) {
        snprintf(names[i], sizeof names[i], "u%d", i / 2); /* each twice */
        add(names[i], 2, i > 0);
    }
    add("two", 1, false);
    decide();
    for (int i = 0; i < MOST + 2; i++)
        assert_true(out[i].allowed && out[i].charged);
    assert_int_equal(left("one"), 99);
    assert_int_equal(left("two"), 99);
    for (int i = 0; i < MOST / 2; i++)
        assert_int_equal(left(names[2 * i]), 96);
}

/* The same user in two tiers, and two limits that were brought: the lesser one holds for both. */
static void check_lesser(void)
{
    open_with("tiers: { few: { scale: 0.2 }, many: { scale: 2 } }\n"
              "rules: [{ name: r, per: user, algorithm: token_bucket, limit: 10/h }]");
    add("a", 1, false)->tier = SL_TEXT("many");
    add("a", 2, true)->tier = SL_TEXT("few");
    decide();
    assert_true(!out[0].allowed && !out[1].allowed);
    assert_int_equal(out[0].limit, 2);
    add("a", 1, false)->tier = SL_TEXT("few");
    add("a", 1, true)->tier = SL_TEXT("many");
    decide();
    assert_true(out[0].allowed && out[1].allowed);
    assert_int_equal(out[1].limit, 2);
    assert_int_equal(out[1].remaining, 0);
}

TEST(of_two_limits_on_one_key_the_lesser_holds)
{
    on_both(check_lesser);
}

TEST(there_is_room_for_many_claims)
{
    on_both(check_many);
}

static void check_others(void)
{
    open_with("exempt: { users: [root] }\n"
              "rules:\n"
              "- { name: r, per: user, algorithm: token_bucket, capacity: 5, refill_rate: 0.001 }\n"
              "- { name: s, per: user, limit: 1/h, shadow: true }\n"
              "- { name: t, per: tier, limit: 1/h, on_missing: deny, when: { method: PUT } }\n");
    add("root", 99, false);
    add("a", 2, true);
    decide();
    assert_int_equal(out[0].reason, SLUICE_REASON_EXEMPT);
    assert_true(out[1].allowed);
    assert_int_equal(out[1].reason, SLUICE_REASON_SHADOW); /* 2 of 1 */
    assert_int_equal(left("a"), 3);
    add("a", 1, false)->method = SL_TEXT("PUT");
    add("b", 1, true);
    decide();
    assert_int_equal(out[0].reason, SLUICE_REASON_MISSING);
    assert_true(out[1].allowed);
    assert_int_equal(left("b"), 5);
    add("root", 1, false);
    add("root", 1, true);
    decide();
    assert_true(out[0].allowed && out[1].allowed);
}

TEST(exempt_shadow_and_missing_are_as_ever)
{
    on_both(check_others);
}

/* ---- limits that requests bring ---- */

static void ask_directly(const char *key, uint32_t cost, const struct sl_direct *direct)
{
    static struct sluice_attribute attributes[2 * MOST];
    attributes[count] = (struct sluice_attribute){ SL_TEXT(SL_DIRECT_KEY), sl_text(key) };
    struct sluice_request *request = add(NULL, cost, false);
    request->others = &attributes[count - 1];
    request->other_count = 1;
    options[count - 1].direct = direct;
}

static void check_direct(void)
{
    struct sl_direct bucket, window, other;
    assert_true(sl_direct_bucket(5, 1000000000, &bucket));
    assert_true(sl_direct_window(3, 60000000, &window));
    assert_true(sl_direct_window(3, 1000000, &other));
    open_with(ten);
    ask_directly("k", 2, &bucket);
    ask_directly("k", 1, &window);
    ask_directly("k", 1, &window);
    ask_directly("k", 1, &other);
    ask_directly("l", 6, &bucket);
    decide();
    assert_string_equal(out[0].rule, "@bucket");
    assert_int_equal(out[0].remaining, 3);
    assert_int_equal(out[0].limit, 5);
    assert_int_equal(out[0].reset_at_us, T0 + 2000000);
    assert_string_equal(out[2].rule, "@window");
    assert_int_equal(out[2].remaining, 1);
    assert_int_equal(out[3].remaining, 2); /* another window counts by itself */
    assert_int_equal(out[4].reason, SLUICE_REASON_COST);
    assert_int_equal(left("k"), 10); /* no rule has counted any of it */
    ask_directly("", 1, &bucket);
    decide();
    assert_int_equal(out[0].reason, SLUICE_REASON_MISSING);
}

TEST(a_request_may_bring_its_limit)
{
    on_both(check_direct);
}

TEST(what_a_state_cannot_hold_is_refused)
{
    struct sl_direct direct;
    assert_false(sl_direct_bucket(-1, 1, &direct));
    assert_false(sl_direct_bucket(1, 0, &direct));
    assert_false(sl_direct_bucket(1, SL_SPAN_MAX_NS + 1, &direct));
    assert_true(sl_direct_bucket(1, SL_SPAN_MAX_NS, &direct));
    assert_true(sl_direct_bucket(0, SL_SPAN_MAX_NS, &direct));
    assert_false(sl_direct_bucket(INT64_MAX, 2, &direct));
    assert_false(sl_direct_window(-1, 1000000, &direct));
    assert_false(sl_direct_window(INT64_C(1) << 32, 1000000, &direct));
    assert_true(sl_direct_window(UINT32_MAX, 1000000, &direct));
    assert_false(sl_direct_window(1, SL_WINDOW_MIN_US - 1, &direct));
    assert_false(sl_direct_window(1, SL_WINDOW_MAX_US + 1, &direct));
}
