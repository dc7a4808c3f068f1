/* The state of a caller in every rule, without anything being counted. */
#include "limiter/look.h"

#include "unit/limiter/watched.h"

enum { SEEN_MAX = 300 };

/* What a look has told, copied. */
static struct sl_looked seen[SEEN_MAX];
static size_t seen_count;

static void on_looked(void *about, const struct sl_looked *looked)
{
    assert_ptr_equal(about, seen);
    assert_true(seen_count < SEEN_MAX);
    seen[seen_count++] = *looked;
}

static bool is_exempt; /* as the last look said */

#define LOOK(name, ...) look(name, &REQUEST(__VA_ARGS__))

static int look(const char *name, const struct sluice_request *request)
{
    struct sl_look look = { .request = request, .name = name, .see = on_looked, .about = seen };
    seen_count = 0;
    int status = sl_limiter_look(watched.limiter, &look);
    is_exempt = look.is_exempt;
    return status;
}

static const char several[] =
    "tiers: { free: {}, pro: { scale: 3 }, admin: { unlimited: true } }\n"
    "exempt: { users: [root] }\n"
    "rules: [{ name: api, resource: /api/*, per: user, algorithm: fixed_window, limit: 3/m },\n"
    "        { name: ip, per: ip, limit: 50/m },\n"
    "        { name: tried, per: user, algorithm: token_bucket, capacity: 2, refill_rate: 1,\n"
    "          shadow: true },\n"
    "        { name: must, per: client, limit: 9/m, on_missing: deny, resource: /must },\n"
    "        { name: all, per: global, limit: 100/m }]\n";

TEST(a_look_tells_every_rule_that_counts_by_what_is_given)
{
    static const char *const wanted[] = { "api", "tried", "all" };
    static const bool matches[] = { false, true, true };
    watched_open(several);
    assert_int_equal(LOOK(NULL, .user = SL_TEXT("u"), .resource = SL_TEXT("/other")), SLUICE_OK);
    assert_int_equal(seen_count, COUNT(wanted));
    for (size_t i = 0; i < COUNT(wanted); i++) {
        assert_string_equal(seen[i].rule->name, wanted[i]);
        assert_int_equal(seen[i].matches, matches[i]);
        assert_false(seen[i].unlimited);
        assert_true(seen[i].told.allowed);
        assert_int_equal(seen[i].reason, SLUICE_REASON_OK);
    }
    assert_false(is_exempt);
    watched_close();
}

TEST(what_is_told_is_what_was_used)
{
    watched_open(several);
    for (int i = 0; i < 5; i++) /* the last two are denied */
        ASK(.user = SL_TEXT("u"), .resource = SL_TEXT("/api/x"));
    for (int round = 0; round < 3; round++) { /* and looking changes nothing */
        LOOK("api", .user = SL_TEXT("u"));
        assert_int_equal(seen_count, 1);
        assert_false(seen[0].told.allowed);
        assert_false(seen[0].matches); /* not without a resource */
        assert_int_equal(seen[0].reason, SLUICE_REASON_LIMITED);
        assert_int_equal(seen[0].told.limit, 3);
        assert_int_equal(seen[0].told.remaining, 0);
        assert_int_equal(seen[0].told.retry_after_us, INT64_C(20000000));
        assert_int_equal(seen[0].told.reset_at_us, INT64_C(1027000000)); /* by the wall clock */
    }
    LOOK("tried", .user = SL_TEXT("u"));
    assert_false(seen[0].told.allowed); /* it would deny */
    LOOK("api", .user = SL_TEXT("u"), .tenant = SL_TEXT("acme"));
    assert_int_equal(seen[0].told.remaining, 3); /* another user */
    LOOK("api", .user = SL_TEXT("v"));
    assert_int_equal(seen[0].told.remaining, 3);
    watched_close();
}

TEST(nothing_is_counted_or_noted)
{
    watched_open(several);
    for (int i = 0; i < 50; i++)
        LOOK(NULL, .user = SL_TEXT("u"), .ip = SL_TEXT("192.0.2.1"), .resource = SL_TEXT("/must"));
    const struct sl_counts *counts = sl_limiter_counts(watched.limiter);
    for (size_t i = 0; i < SL_REASON_COUNT; i++)
        assert_int_equal(
            sl_count_read(&counts->decisions[i][0]) + sl_count_read(&counts->decisions[i][1]), 0);
    for (size_t i = 0; i < watched.rules->rule_count; i++)
        for (size_t k = 0; k < SL_OUTCOME_COUNT; k++)
            assert_int_equal(sl_count_read(&counts->by_rule[i][k]), 0);
    assert_false(sl_observer_has_samples(watched.observer));
    assert_true(ASK(.user = SL_TEXT("u"), .ip = SL_TEXT("192.0.2.1")));
    watched_close();
}

/* An identity that a rule insists on is told only where that rule would be asked. */
TEST(a_missing_identity_denies_only_what_matches)
{
    watched_open(several);
    LOOK("must", .user = SL_TEXT("u"));
    assert_int_equal(seen_count, 0);
    LOOK("must", .user = SL_TEXT("u"), .resource = SL_TEXT("/must"));
    assert_int_equal(seen_count, 1);
    assert_false(seen[0].told.allowed);
    assert_int_equal(seen[0].reason, SLUICE_REASON_MISSING);
    assert_int_equal(seen[0].told.retry_after_us, SLUICE_NONE);
    LOOK("must", .client = SL_TEXT("c"));
    assert_true(seen[0].told.allowed);
    LOOK("ip", .user = SL_TEXT("u"));
    assert_int_equal(seen_count, 0); /* it does not insist, and has no say */
    watched_close();
}

TEST(tiers_have_their_own_numbers_or_none)
{
    watched_open(several);
    LOOK("api", .user = SL_TEXT("u"), .tier = SL_TEXT("pro"));
    assert_int_equal(seen[0].told.limit, 9);
    LOOK(NULL, .user = SL_TEXT("u"), .tier = SL_TEXT("admin"), .resource = SL_TEXT("/api/x"));
    static const char *const wanted[] = { "api", "tried",
                                          "all" }; /* the others' identity is missing */
    assert_int_equal(seen_count, COUNT(wanted));
    for (size_t i = 0; i < seen_count; i++) {
        assert_string_equal(seen[i].rule->name, wanted[i]);
        assert_true(seen[i].unlimited && seen[i].matches);
    }
    watched_close();
}

TEST(an_exemption_is_shown_beside_what_the_rules_would_say)
{
    watched_open(several);
    LOOK(NULL, .user = SL_TEXT("root"));
    assert_true(is_exempt);
    assert_int_equal(seen_count, 3);
    LOOK(NULL, .user = SL_TEXT("u"));
    assert_false(is_exempt);
    watched_close();
}

TEST(a_failing_store_is_a_status_and_not_an_answer)
{
    watched_open(several);
    watched.model.status = SLUICE_STORE_DOWN;
    assert_int_equal(LOOK(NULL, .user = SL_TEXT("u")), SLUICE_STORE_DOWN);
    assert_int_equal(seen_count, 0);
    watched.model.status = SLUICE_OK;
    assert_int_equal(LOOK(NULL, .user = SL_TEXT("u")), SLUICE_OK);
    watched_close();
}

/* More than are asked at once: each rule once, in the file's order. */
TEST(hundreds_of_rules_are_asked_in_turns)
{
    static const size_t sizes[] = { 1, 63, 64, 65, 128, 200 };
    for (size_t s = 0; s < COUNT(sizes); s++) {
        char yaml[20000], *at = yaml + sprintf(yaml, "rules:\n");
        for (size_t i = 0; i < sizes[s]; i++)
            at += sprintf(at, "- { name: r%zu, per: user, resource: /%s, limit: %zu/h }\n", i,
                          i % 3 ? "x" : "y", 100 + i);
        struct model *model = &watched.model;
        model_open(model);
        watched.rules = rules_of(yaml);
        watched.limiter = sl_limiter_new(watched.rules, &model->store);
        assert_int_equal(LOOK(NULL, .user = SL_TEXT("u"), .resource = SL_TEXT("/y")), SLUICE_OK);
        assert_int_equal(seen_count, sizes[s]);
        for (size_t i = 0; i < seen_count; i++) {
            assert_ptr_equal(seen[i].rule, &watched.rules->rules[i]);
            assert_int_equal(seen[i].told.limit, 100 + i);
            assert_int_equal(seen[i].matches, i % 3 == 0);
        }
        assert_int_equal(model->decide_calls, (sizes[s] + 63) / 64);
        sl_limiter_free(watched.limiter);
        sl_ruleset_free(watched.rules);
        model_close(&model->store);
    }
}
