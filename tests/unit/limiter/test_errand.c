/* Requests that a store answers later: each is answered once, whatever becomes of the store. */
#include "limiter/errand.h"

#include "store/redis/redis.h"
#include "unit/base/no_memory.h"
#include "unit/limiter/rules.h"
#include "unit/store/fake_redis.h"

TESTS_ALONE;

#define YAML                                                                                       \
    "exempt: { users: [root] }\n"                                                                  \
    "rules:\n"                                                                                     \
    "- { name: a, resource: /a, per: user, algorithm: fixed_window, limit: 5/m }\n"                \
    "- { name: b, resource: /b, per: user, algorithm: token_bucket, limit: 5/m,\n"                 \
    "    on_store_failure: deny }\n"                                                               \
    "- { name: c, resource: /c, per: user, limit: 5/m, on_missing: deny }\n"

enum { MANY = 300 };

static const struct sl_store_ops no_ops;
static struct sl_store store = { .ops = &no_ops, .wants_names = true };
static struct sl_ruleset *rules;
static struct sl_limiter *limiter;
static struct sl_channel *channel;

static void channel_is_ready(void)
{
    sl_channel_on_ready(channel, watched_fd);
}

static void channel_is_due(void)
{
    sl_channel_on_time(channel);
}

static int open_all(void **unused)
{
    struct sl_link_host host = { NULL, watch, wake_at, false, NULL, NULL };
    if (start_redis(unused) != 0)
        return -1;
    on_ready = channel_is_ready;
    on_time = channel_is_due;
    open_target(NULL, NULL, 0);
    rules = rules_of(YAML);
    limiter = sl_limiter_new(rules, &store);
    channel = sl_channel_new(&shared, &host);
    assert_true(limiter && channel);
    return 0;
}

static int close_all(void **unused)
{
    sl_channel_free(channel);
    sl_limiter_free(limiter);
    sl_ruleset_free(rules);
    sl_scripts_release(&shared.scripts);
    close_target();
    return stop_redis(unused);
}

/* The scripts' connection is greeted. */
static void greet_channel(void)
{
    sl_channel_open(channel);
    assert_string_equal(heard(), "PROBE");
    say(CLOCK_FMT, redis_us());
    assert_true(sl_channel_is_up(channel));
}

/* An errand with all that it writes to. */
struct trip {
    struct sl_errand errand; /* first */
    struct sluice_decision out[MANY];
    uint64_t held[MANY];
    int64_t hold_us[MANY];
    bool is_asked[MANY];
    int ends;
};

static void on_done(struct sl_errand *errand)
{
    ((struct trip *)errand)->ends++;
}

/* The request's texts are freed when it returns: it does not read them again. */
static void send_off(struct trip *trip, const char *const (*asked)[2], size_t count)
{
    struct sluice_request *requests = calloc(count, sizeof *requests);
    char **texts = calloc(count, sizeof *texts);
    assert_true(requests && texts);
    for (size_t i = 0; i < count; i++) {
        requests[i] = sluice_request();
        texts[i] = strdup(asked[i][0]);
        requests[i].user = sl_text(texts[i]);
        requests[i].resource = sl_text(asked[i][1]);
        memset(&trip->out[i], 0xee, sizeof trip->out[i]);
    }
    trip->ends = 0;
    memset(trip->is_asked, 0, sizeof trip->is_asked);
    trip->errand = (struct sl_errand){ .requests = requests,
                                       .count = count,
                                       .hold_us = trip->hold_us,
                                       .out = trip->out,
                                       .held = trip->held,
                                       .is_asked = trip->is_asked,
                                       .done = on_done };
    sl_errand_send(&trip->errand, limiter, channel);
    for (size_t i = 0; i < count; i++)
        free(texts[i]);
    free(texts);
    free(requests);
    sl_channel_flush(channel);
    turn();
}

#define WITH_ANSWER_CACHE(name) TEST_WITH(name, open_answer_cache, close_answer_cache)
#define ON_A_CHANNEL(name)      TEST_WITH(name, open_all, close_all)

ON_A_CHANNEL(without_redis_every_request_is_answered_once_by_its_policy)
{
    static const struct {
        const char *asked[2];
        bool allowed;
        enum sluice_reason reason;
    } rows[] = {
        { { "u", "/a" }, true, SLUICE_REASON_STORE },
        { { "u", "/b" }, false, SLUICE_REASON_STORE },
        { { "root", "/b" }, true, SLUICE_REASON_EXEMPT },
        { { "u", "/none" }, true, SLUICE_REASON_NO_RULE },
        { { "", "/c" }, false, SLUICE_REASON_MISSING },
    };
    static struct trip trip;
    const char *asked[MANY][2];
    const struct sluice_explained *explained;
    for (size_t i = 0; i < MANY; i++)
        memcpy(asked[i], rows[i % COUNT(rows)].asked, sizeof asked[i]);
    stop_listening();
    send_off(&trip, (const char *const(*)[2])asked, MANY);
    pass_us(DEADLINE_US);
    assert_int_equal(trip.ends, 1);
    assert_int_equal(trip.errand.status, SLUICE_STORE_DOWN);
    for (size_t i = 0; i < MANY; i++) {
        const char *row = rows[i % COUNT(rows)].asked[1];
        SAME(row, trip.out[i].allowed, rows[i % COUNT(rows)].allowed);
        SAME(row, trip.out[i].reason, rows[i % COUNT(rows)].reason);
        SAME(row, trip.out[i].charged, 0);
        SAME(row, trip.held[i], 0);
        if (rows[i % COUNT(rows)].reason == SLUICE_REASON_STORE)
            SAME(row, sl_errand_explain(&trip.errand, i, &explained), 0);
    }
    sl_errand_release(&trip.errand);
}

ON_A_CHANNEL(requests_that_need_no_store_are_answered_at_once)
{
    static struct trip trip;
    static const char *const asked[][2] = { { "root", "/a" }, { "u", "/none" }, { "", "/c" } };
    const struct sluice_explained *explained;
    stop_listening();
    send_off(&trip, asked, COUNT(asked));
    assert_int_equal(trip.ends, 1);
    assert_int_equal(trip.errand.status, SLUICE_OK);
    assert_int_equal(trip.out[0].reason, SLUICE_REASON_EXEMPT);
    assert_int_equal(trip.out[1].reason, SLUICE_REASON_NO_RULE);
    assert_int_equal(trip.out[2].reason, SLUICE_REASON_MISSING);
    assert_false(trip.out[2].allowed);
    assert_int_equal(sl_errand_explain(&trip.errand, 0, &explained), 0);
    assert_int_equal(sl_errand_explain(&trip.errand, 2, &explained), 1);
    assert_string_equal(explained[0].rule, "c");
    assert_int_equal(shared.ends[SL_CALL_LOST] + shared.ends[SL_CALL_REFUSED], 0);
    sl_errand_release(&trip.errand);
}

ON_A_CHANNEL(no_requests_are_done_at_once)
{
    static struct trip trip;
    send_off(&trip, NULL, 0);
    assert_int_equal(trip.ends, 1);
    assert_int_equal(trip.errand.status, SLUICE_OK);
    sl_errand_release(&trip.errand);
}

/* What the script of a fixed window says: so many were counted. */
static void say_counted(bool allowed, int64_t count)
{
    int64_t now_us = redis_us();
    say_packed((int64_t[]){ now_us, allowed, now_us - now_us % (60 * S), count, 0 }, 5);
}

ON_A_CHANNEL(answers_of_redis_become_decisions)
{
    static struct trip trip;
    static const char *const asked[][2] = { { "u", "/a" }, { "root", "/a" }, { "v", "/a" } };
    const struct sluice_explained *explained;
    greet_channel();
    send_off(&trip, asked, COUNT(asked));
    assert_int_equal(trip.ends, 0);
    assert_int_equal(trip.out[1].reason, SLUICE_REASON_EXEMPT); /* already */
    const char *calls = heard();
    assert_non_null(strstr(calls, "CALL 1 rl:-:a:{u} "));
    assert_non_null(strstr(calls, "CALL 1 rl:-:a:{v} "));
    assert_null(strstr(calls, "root"));
    say_counted(true, 1);
    assert_int_equal(trip.ends, 0);
    say_counted(false, 5);
    assert_int_equal(trip.ends, 1);
    assert_int_equal(trip.errand.status, SLUICE_OK);
    assert_true(trip.out[0].allowed);
    assert_int_equal(trip.out[0].remaining, 3);
    assert_int_equal(trip.out[0].decided_at_us, redis_us());
    assert_false(trip.out[2].allowed);
    assert_int_equal(trip.out[2].reason, SLUICE_REASON_LIMITED);
    assert_int_equal(trip.out[2].remaining, 0);
    assert_int_equal(sl_errand_explain(&trip.errand, 2, &explained), 1);
    assert_string_equal(explained[0].rule, "a");
    assert_false(explained[0].allowed);
    assert_int_equal(sl_errand_explain(&trip.errand, 1, &explained), 0);
    sl_errand_release(&trip.errand);
}

ON_A_CHANNEL(errands_go_on_side_by_side_and_one_may_be_late)
{
    static struct trip one, two;
    static const char *const asked[][2] = { { "u", "/a" } }, *const denied[][2] = { { "u", "/b" } };
    greet_channel();
    send_off(&one, denied, 1);
    pass_us(DEADLINE_US / 2);
    send_off(&two, asked, 1);
    heard();
    pass_us(DEADLINE_US / 2);
    assert_int_equal(one.ends, 1); /* late: as its policy says */
    assert_false(one.out[0].allowed);
    assert_int_equal(one.out[0].reason, SLUICE_REASON_STORE);
    assert_int_equal(two.ends, 0);
    say(":0\r\n"); /* the ghost's */
    say_counted(true, 0);
    assert_int_equal(two.ends, 1);
    assert_int_equal(two.out[0].remaining, 4);
    assert_int_equal(one.ends, 1);
    sl_errand_release(&one.errand);
    sl_errand_release(&two.errand);
}

ON_A_CHANNEL(what_was_charged_is_held_where_that_was_asked_for)
{
    static struct trip trip;
    static const char *const asked[][2] = { { "u", "/a" }, { "v", "/a" }, { "w", "/a" } };
    greet_channel();
    trip.hold_us[0] = trip.hold_us[1] = 30 * S;
    send_off(&trip, asked, COUNT(asked));
    const char *calls = heard();
    assert_non_null(strstr(calls, "rl:~reservation:{"));
    say_counted(true, 0);
    say_counted(false, 5);
    say_counted(true, 0);
    assert_int_equal(trip.ends, 1);
    assert_true(trip.held[0] != 0);
    assert_int_equal(trip.held[1], 0); /* denied */
    assert_int_equal(trip.held[2], 0); /* not asked for */
    memset(trip.hold_us, 0, sizeof trip.hold_us);
    sl_errand_release(&trip.errand);
}

ON_A_CHANNEL(an_errand_on_a_channel_that_is_closed_is_answered)
{
    static struct trip trip;
    static const char *const asked[][2] = { { "u", "/a" }, { "u", "/b" } };
    greet_channel();
    send_off(&trip, asked, COUNT(asked));
    sl_channel_free(channel);
    channel = NULL;
    assert_int_equal(trip.ends, 1);
    assert_true(trip.out[0].allowed);
    assert_false(trip.out[1].allowed);
    sl_errand_release(&trip.errand);
}

/* With an answer cache. */
static int open_answer_cache(void **unused)
{
    store.answers = sl_answer_cache_new();
    return store.answers && open_all(unused) == 0 ? (shared.answers = store.answers, 0) : -1;
}

static int close_answer_cache(void **unused)
{
    int status = close_all(unused);
    sl_answer_cache_free(store.answers);
    shared.answers = store.answers = NULL;
    return status;
}

WITH_ANSWER_CACHE(a_denied_request_is_denied_again_before_anything_is_sent)
{
    static struct trip trip;
    static const char *const asked[][2] = { { "u", "/a" } };
    greet_channel();
    send_off(&trip, asked, 1);
    assert_true(trip.is_asked[0]);
    heard();
    say_counted(false, 5);
    assert_int_equal(trip.ends, 1);
    sl_errand_release(&trip.errand);
    for (int i = 0; i < 3; i++) {
        send_off(&trip, asked, 1);
        assert_int_equal(trip.ends, 1);
        assert_false(trip.is_asked[0]);
        assert_false(trip.out[0].allowed);
        assert_int_equal(trip.out[0].reason, SLUICE_REASON_LIMITED);
        assert_string_equal(trip.out[0].rule, "a");
        assert_null(trip.errand.batches); /* nothing was copied */
        sl_errand_release(&trip.errand);
    }
    assert_int_equal(sl_limiter_counts(limiter)->answers[false], 3);
    assert_string_equal(heard(), "");
    sl_answer_cache_forget(store.answers);
    send_off(&trip, asked, 1);
    assert_true(trip.is_asked[0]);
    heard();
    say_counted(true, 0);
    assert_true(trip.out[0].allowed);
    sl_errand_release(&trip.errand);
}

/* A request with a cached answer has it at once, in the place given at first; the others have
 * theirs in the place given by then, in their order. */
WITH_ANSWER_CACHE(of_many_requests_only_those_without_a_cached_answer_are_sent)
{
    static struct trip trip;
    static struct sluice_decision elsewhere[MANY];
    static const char *const asked[][2] = { { "v", "/a" }, { "u", "/a" }, { "root", "/a" },
                                            { "u", "/a" }, { "w", "/a" }, { "u", "/a" } };
    greet_channel();
    send_off(&trip, &asked[1], 1);
    heard();
    say_counted(false, 5);
    sl_errand_release(&trip.errand);
    send_off(&trip, asked, COUNT(asked));
    assert_int_equal(trip.ends, 0);
    for (size_t i = 0; i < COUNT(asked); i++) {
        SAME(asked[i][0], trip.is_asked[i], i == 0 || i == 4);
        if (i % 2)
            SAME(asked[i][0], trip.out[i].reason, SLUICE_REASON_LIMITED);
    }
    assert_int_equal(trip.out[2].reason, SLUICE_REASON_EXEMPT);
    trip.errand.out = elsewhere;
    const char *calls = heard();
    const char *first = strstr(calls, "CALL 1 rl:-:a:{v} ");
    assert_true(first && strstr(first, "CALL 1 rl:-:a:{w} ") && !strstr(calls, "{u}"));
    say_counted(true, 0);
    say_counted(true, 1);
    assert_int_equal(trip.ends, 1);
    assert_int_equal(elsewhere[0].remaining, 4);
    assert_int_equal(elsewhere[4].remaining, 3);
    sl_errand_release(&trip.errand);
}

/* The same answers, wherever the memory was lacking: for one batch of the errand's, or for the
 * whole errand. */
ON_A_CHANNEL(without_memory_the_rules_policy_decides)
{
    static const struct {
        const char *user, *resource;
        bool allowed;
        enum sluice_reason reason;
    } rows[] = {
        { "u", "/a", true, SLUICE_REASON_STORE },
        { "u", "/b", false, SLUICE_REASON_STORE },
        { "root", "/b", true, SLUICE_REASON_EXEMPT },
        { "", "/c", false, SLUICE_REASON_MISSING },
    };
    static struct trip trip;
    struct sluice_request requests[COUNT(rows)];
    for (size_t i = 0; i < COUNT(rows); i++) {
        requests[i] = sluice_request();
        requests[i].user = sl_text(rows[i].user);
        requests[i].resource = sl_text(rows[i].resource);
    }
    greet_channel();
    for (int has_errand = 0; has_errand < 1 + MEMORY_CAN_FAIL; has_errand++) {
        trip.ends = 0;
        trip.errand = (struct sl_errand){ .requests = requests,
                                          .count = COUNT(rows),
                                          .out = trip.out,
                                          .held = has_errand ? trip.held : NULL,
                                          .done = has_errand ? on_done : NULL };
        memory_is_gone = has_errand;
        if (has_errand)
            sl_errand_send(&trip.errand, limiter, channel);
        else
            sl_errand_fail(&trip.errand, limiter);
        memory_is_gone = false;
        assert_int_equal(trip.ends, has_errand);
        assert_int_equal(trip.errand.status, SLUICE_NO_MEMORY);
        for (size_t i = 0; i < COUNT(rows); i++) {
            SAME(rows[i].resource, trip.out[i].allowed, rows[i].allowed);
            SAME(rows[i].resource, trip.out[i].reason, rows[i].reason);
            SAME(rows[i].resource, trip.out[i].charged, 0);
        }
        sl_errand_release(&trip.errand);
    }
    assert_string_equal(heard(), "");
}
