/* What a limiter with an observer samples of denials. Other samples are in
 * test_observe_samples.c. */
#include "unit/limiter/decisions.h"
#include "unit/limiter/watched.h"

static const char one_rule[] =
    "rules: [{ name: api, per: user, algorithm: fixed_window, limit: 2/m }]\n";

static uint64_t denied_in_all(void)
{
    uint64_t sum = samples()->missed_denials;
    for (size_t i = 0; i < samples()->count; i++)
        sum += samples()->noted[i].denied;
    return sum;
}

/* ---- denials ---- */

TEST(a_denial_has_user_resource_and_wait)
{
    watched_open(one_rule);
    for (int i = 0; i < 5; i++) {
        ASK(.tenant = SL_TEXT("acme"), .user = SL_TEXT("u"), .resource = SL_TEXT("/x"));
        watched.model.now_us += 1000000;
    }
    const struct sl_noted *noted = noted_of(0, "u");
    assert_non_null(noted);
    assert_int_equal(noted->denied, 3);
    assert_int_equal(noted->met, 5);
    assert_true(noted->has_identifier);
    assert_false(noted->is_shadow);
    SAME_TEXT("tenant", noted->tenant, "acme");
    SAME_TEXT("resource", noted->resource, "/x");
    assert_int_equal(noted->capacity, 2);
    assert_int_equal(noted->remaining, 0);
    /* By the wall clock, which is 7 s ahead of the model's. The window began at 960 s. */
    assert_int_equal(noted->first_us, INT64_C(1009000000));
    assert_int_equal(noted->retry_after_us, INT64_C(18000000)); /* as the first was told */
    assert_int_equal(samples()->count, 1);
    assert_true(sl_observer_has_samples(watched.observer));
    watched_close();
}

TEST(tenants_users_have_the_same_name_and_are_others)
{
    watched_open(one_rule);
    for (int i = 0; i < 3; i++) {
        ASK(.tenant = SL_TEXT("a"), .user = SL_TEXT("u"));
        ASK(.tenant = SL_TEXT("b"), .user = SL_TEXT("u"));
        ASK(.user = SL_TEXT("u"));
    }
    assert_int_equal(samples()->count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(samples()->noted[i].denied, 1);
    SAME_TEXT("first", samples()->noted[0].tenant, "a");
    SAME_TEXT("second", samples()->noted[1].tenant, "b");
    assert_null(samples()->noted[2].tenant.at);
    watched_close();
}

/* Whichever rule denies, each rule that was checked samples its own denial. */
TEST(every_rule_samples_its_own_denials)
{
    watched_open("rules: [{ name: all, per: global, limit: 9/m },\n"
                 "        { name: pair, per: [ip, user], limit: 1/m },\n"
                 "        { name: tried, per: user, limit: 1/m, shadow: true }]\n");
    for (int i = 0; i < 3; i++)
        ASK(.user = SL_TEXT("u"), .ip = SL_TEXT("192.0.2.1"), .tenant = SL_TEXT("acme"));
    assert_int_equal(noted_of(0, "-")->denied, 0);
    assert_int_equal(noted_of(0, "-")->met, 3);
    assert_int_equal(noted_of(1, "192.0.2.1:u")->denied, 2);
    assert_false(noted_of(1, "192.0.2.1:u")->is_shadow);
    assert_int_equal(noted_of(2, "u")->denied, 2);
    assert_true(noted_of(2, "u")->is_shadow);
    assert_null(noted_of(0, "-")->tenant.at); /* it counts all of them together */
    watched_close();
}

TEST(a_peek_leaves_nothing)
{
    watched_open(one_rule);
    for (int i = 0; i < 5; i++)
        ASK(.user = SL_TEXT("u"), .peek = true);
    for (int i = 0; i < 2; i++)
        ASK(.user = SL_TEXT("u"));
    for (int i = 0; i < 5; i++)
        ASK(.user = SL_TEXT("u"), .peek = true); /* would be denied */
    assert_int_equal(noted_of(0, "u")->met, 2);
    assert_int_equal(noted_of(0, "u")->denied, 0);
    uint32_t times = 0;
    for (size_t i = 0; i < samples()->sample_count; i++)
        times += samples()->samples[i].times;
    assert_true(times <= 4); /* of all decisions, and of the rule's */
    struct sl_distinct limited = { { 0 } };
    sl_distinct_take(&limited, watched.observer->limited[FIRST_NUMBER]);
    assert_int_equal(sl_distinct_count(&limited), 0);
    watched_close();
}

TEST(a_request_without_an_identity_is_one_sample_for_each_rule)
{
    watched_open("rules: [{ name: must, per: client, limit: 7/m, on_missing: deny },\n"
                 "        { name: also, per: user, limit: 8/m, on_missing: deny },\n"
                 "        { name: may, per: user, limit: 9/m }]\n");
    for (int i = 0; i < 4; i++)
        ASK(.ip = SL_TEXT("192.0.2.1"), .resource = SL_TEXT("/x"));
    assert_int_equal(samples()->count, 2);
    for (uint32_t rule = 0; rule < 2; rule++) {
        const struct sl_noted *noted = noted_of(rule, NULL);
        assert_int_equal(noted->denied, 4);
        assert_null(noted->identifier.at);
        assert_int_equal(noted->retry_after_us, SL_NEVER);
        assert_int_equal(noted->capacity, 7 + rule);
        SAME_TEXT("resource", noted->resource, "/x");
    }
    struct sl_distinct callers = { { 0 } }; /* and no identity is no caller */
    sl_distinct_take(&callers, watched.observer->callers[FIRST_NUMBER]);
    assert_int_equal(sl_distinct_count(&callers), 0);
    watched_close();
}

TEST(denials_of_a_failed_store_are_not_sampled)
{
    watched_open("on_store_failure: deny\n"
                 "rules: [{ name: api, per: user, limit: 2/m }]\n");
    watched.model.status = SLUICE_STORE_DOWN;
    for (int i = 0; i < 5; i++)
        assert_false(ASK(.user = SL_TEXT("u")));
    assert_int_equal(samples()->count + samples()->sample_count, 0);
    assert_int_equal(denied_in_all(), 0);
    watched.model.status = SLUICE_OK;
    for (int i = 0; i < 3; i++)
        ASK(.user = SL_TEXT("u"));
    assert_int_equal(denied_in_all(), 1);
    watched_close();
}

/* Warned in one window, blocked in the next; the block goes on without another event. */
TEST(what_the_burst_guard_says_is_noted)
{
    watched_open("rules: [{ name: b, per: user, limit: 99/m,\n"
                 "          burst_guard: { window: 1s, threshold: 3, penalty: 1m } }]\n");
    for (int i = 0; i < 5; i++)
        ASK(.user = SL_TEXT("u"));
    const struct sl_noted *noted = noted_of(0, "u");
    assert_int_equal(noted->warned, 1);
    assert_int_equal(noted->blocked + noted->denied, 0);
    assert_int_equal(noted->request_count, 4);
    assert_int_equal(noted->guard_us, INT64_C(1007000000));
    watched.model.now_us += 1000000;
    for (int i = 0; i < 9; i++)
        ASK(.user = SL_TEXT("u"));
    assert_int_equal(noted->warned, 1);
    assert_int_equal(noted->blocked, 1);
    assert_int_equal(noted->denied, 6); /* three were let through before */
    assert_int_equal(noted->request_count, 4);
    assert_int_equal(noted->guard_us, INT64_C(1008000000));
    watched_close();
}

/* Of any caller: there are more of them than there is room for. */
TEST(bursts_are_counted_also_when_the_samples_are_full)
{
    enum { USERS = 2 * SL_NOTED_MAX };
    watched_open("rules: [{ name: b, per: user, limit: 99/m,\n"
                 "          burst_guard: { window: 1s, threshold: 1, penalty: 1m } }]\n");
    for (uint64_t i = 0; i < 2 * USERS; i++)
        watched_ask_as(i % USERS);
    assert_int_equal(samples()->burst_count, 1);
    assert_int_equal(samples()->bursts[0].rule, FIRST_NUMBER);
    assert_int_equal(samples()->bursts[0].warned, USERS);
    assert_int_equal(samples()->bursts[0].blocked, 0);
    watched_close();
}

/* ---- identifiers ---- */

TEST(identifiers_are_digests_where_that_is_wanted)
{
    static const char digest[] = /* printf u | sha256sum */
        "0bfe935e70c321c7ca3afc75ce0d0ca2f98b5422e008bb31c00c6d7f1f1c0ad6";
    watched_open("hash_identifiers: true\n"
                 "rules: [{ name: api, per: user, limit: 2/m },\n"
                 "        { name: by, per: tenant, limit: 2/m }]\n");
    for (int i = 0; i < 3; i++)
        ASK(.user = SL_TEXT("u"), .tenant = SL_TEXT("acme"));
    assert_non_null(noted_of(0, digest));
    assert_int_equal(noted_of(0, digest)->denied, 1);
    assert_non_null(noted_of(1, "acme")); /* a tenant is not a person */
    for (size_t i = 0; i + 1 < samples()->text_len; i++)
        assert_memory_not_equal(samples()->text + i, "u", 2);
    watched_close();
}

/* An address counts by its network, and is told as what counts. */
TEST(an_identifier_is_what_was_counted)
{
    watched_open("identity: { ipv4_prefix: 24 }\n"
                 "rules: [{ name: net, per: ip, limit: 1/m }]\n");
    ASK(.ip = SL_TEXT("192.0.2.1"));
    ASK(.ip = SL_TEXT("192.0.2.200"));
    assert_int_equal(samples()->count, 1);
    assert_non_null(noted_of(0, "192.0.2.0"));
    assert_int_equal(noted_of(0, "192.0.2.0")->denied, 1);
    watched_close();
}

/* ---- room ---- */

TEST(when_the_samples_are_full_denials_are_counted_as_missed)
{
    enum { USERS = 700 };
    watched_open("rules: [{ name: api, per: user, limit: 1/m }]\n");
    for (int round = 0; round < 3; round++)
        for (uint64_t i = 0; i < USERS; i++)
            watched_ask_as(i);
    assert_in_range(samples()->count, SL_NOTED_MAX - 20, SL_NOTED_MAX);
    assert_int_equal(denied_in_all(), 2 * USERS);
    assert_true(samples()->missed_denials >= 2 * (USERS - SL_NOTED_MAX));
    watched_close();
}

/* Callers that were met leave room for callers that are denied. */
TEST(a_denied_caller_finds_room_behind_all_that_were_met)
{
    watched_open("rules: [{ name: api, resource: /api, per: user, limit: 1/h }]\n");
    for (uint64_t i = 0; i < 3000; i++) {
        char user[24];
        snprintf(user, sizeof user, "u%" PRIu64, i);
        ASK(.user = sl_text(user), .resource = SL_TEXT("/api"));
    }
    assert_in_range(samples()->count, SL_NOTED_MAX / 2, SL_NOTED_MAX - 100);
    assert_true(samples()->missed_met > 0);
    for (int i = 0; i < 2; i++)
        ASK(.user = SL_TEXT("late"), .resource = SL_TEXT("/api"));
    assert_int_equal(noted_of(0, "late")->denied, 1);
    assert_int_equal(samples()->missed_denials, 0);
    watched_close();
}

/* A text too many is dropped, and the texts that are there stay. */
TEST(long_names_fill_the_texts_before_the_places)
{
    char resource[1000];
    memset(resource, 'r', sizeof resource);
    watched_open("rules: [{ name: api, per: user, limit: 1/m }]\n");
    for (int round = 0; round < 2; round++)
        for (uint64_t i = 0; i < 300; i++) {
            char user[24];
            snprintf(user, sizeof user, "u%" PRIu64, i);
            ASK(.user = sl_text(user), .resource = { resource, sizeof resource });
        }
    assert_in_range(samples()->count, 100, 128);
    assert_int_equal(denied_in_all(), 300);
    assert_int_equal(noted_of(0, "u5")->denied, 1);
    assert_int_equal(noted_of(0, "u5")->resource.len, 512);
    assert_null(noted_of(0, "u299"));
    watched_close();
}

/* ---- beside deciding ---- */

/* An observer changes neither the decision nor the counts. */
TEST(being_watched_changes_no_answer_and_no_count)
{
    static struct model plain_model;
    watched_open("rules: [{ name: a, per: user, limit: 9/m }, { name: b, per: ip, limit: 50/m },\n"
                 "        { name: s, per: user, limit: 3/m, shadow: true }]\n");
    model_open(&plain_model);
    struct sl_limiter *plain = sl_limiter_new(watched.rules, &plain_model.store);
    uint64_t seed = 3;
    for (int i = 0; i < 2000; i++) {
        struct sluice_decision seen, unseen;
        struct sluice_request request = REQUEST(.ip = SL_TEXT("192.0.2.1"));
        request.user = sl_text((const char *[]){ "a", "b", "c", "" }[unit_up_to(&seed, 3)]);
        request.peek = unit_up_to(&seed, 4) == 0;
        watched.model.now_us = plain_model.now_us += unit_up_to(&seed, 100000);
        sl_limiter_decide(watched.limiter, &request, &seen);
        sl_limiter_decide(plain, &request, &unseen);
        assert_same_decision("seen", &seen, &unseen);
    }
    const struct sl_counts *with = sl_limiter_counts(watched.limiter);
    const struct sl_counts *without = sl_limiter_counts(plain);
    for (size_t i = 0; i < SL_REASON_COUNT; i++)
        for (size_t k = 0; k < 2; k++)
            assert_int_equal(sl_count_read(&with->decisions[i][k]),
                             sl_count_read(&without->decisions[i][k]));
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < SL_OUTCOME_COUNT; k++)
            assert_int_equal(sl_count_read(&with->by_rule[i][k]),
                             sl_count_read(&without->by_rule[i][k]));
    sl_limiter_free(plain);
    model_close(&plain_model.store);
    watched_close();
}
