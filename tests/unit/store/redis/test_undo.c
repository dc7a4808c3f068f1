/* What becomes of a refund that is refused, lost or late. */
#include "store/redis/undo.h"

#include "unit/store/scattered.h"

TESTS_ALONE;

/* Node 0 was taken, node 1 denies: node 0 is asked to give it back. */
static void begin_giving_back(void)
{
    static const size_t two[] = { 0, 1 };
    make_claims(two, 2);
    ask();
    heard_at(0);
    answer(0, 0);
    heard_at(1);
    answer(1, LIMIT);
    assert_true(has(heard_at(0), "refund 1 "));
}

ON_A_CHANNEL(what_has_not_run_is_asked_again_for_a_while)
{
    begin_giving_back();
    say_at(0, "-ERR This is no error that says it did not run\r\n");
    expect_done(SLUICE_OK, false);
    assert_int_equal(shared.undos[SL_UNDO_UNSURE], 1); /* so this one is not */
    begin_giving_back();
    say_at(0, "-TRYAGAIN later\r\n"); /* the route does that */
    pass_all_us(MS);
    assert_true(has(heard_at(0), "refund 1 "));
    say_at(0, "*2\r\n:%" PRId64 "\r\n:-1\r\n", redis_us()); /* too late by its clock, */
    assert_true(has(heard_at(0), "refund 1 "));
    say_at(0, "*2\r\n:%" PRId64 "\r\n:-1\r\n", redis_us()); /* again: */
    expect_done(SLUICE_OK, false);                          /* the caller has waited long enough */
    pass_all_us(20 * MS);
    assert_true(has(heard_at(0), "refund 1 "));
    say_at(0, CLOCK_FMT, redis_us());
    assert_int_equal(shared.undos[SL_UNDO_DONE], 1);
}

ON_A_CHANNEL(what_was_sent_and_not_answered_is_not_asked_again)
{
    begin_giving_back();
    hang_up_at(0);
    turn_all();
    expect_done(SLUICE_OK, false);
    assert_int_equal(shared.undos[SL_UNDO_UNSURE], 1);
    for (int i = 0; i < 100; i++) {
        pass_all_us(50 * MS);
        const char *text = heard_at(0);
        assert_false(has(text, "refund"));
        if (has(text, "PROBE"))
            say_at(0, CLOCK_FMT, redis_us());
    }
}

ON_A_CHANNEL(a_late_answer_is_none)
{
    begin_giving_back();
    pass_all_us(DEADLINE_US);
    expect_done(SLUICE_OK, false);
    assert_int_equal(shared.undos[SL_UNDO_UNSURE], 1);
}

/* Redis' user may not run a command that follows others it may run: parts may be given back. */
ON_A_CHANNEL(what_may_have_stopped_midway_is_not_asked_again)
{
    begin_giving_back();
    say_at(0, "-ERR The user executing the script can't run this command or subcommand\r\n");
    expect_done(SLUICE_OK, false);
    assert_int_equal(shared.undos[SL_UNDO_UNSURE], 1);
}

/* Node 1 does not answer in time: what node 0 has charged is given back with time of its own. */
ON_A_CHANNEL(what_is_given_back_because_of_a_late_one_has_time)
{
    static const size_t two[] = { 0, 1 };
    make_claims(two, 2);
    ask();
    heard_at(0);
    answer(0, 0);
    expect_call(1, keys[1]);
    pass_all_us(DEADLINE_US);
    expect_done(SLUICE_STORE_DOWN, false); /* and no caller waits for that */
    assert_true(has(heard_at(0), "refund 1 "));
    pass_all_us(DEADLINE_US / 2);
    say_at(0, CLOCK_FMT, redis_us());
    assert_int_equal(shared.undos[SL_UNDO_DONE], 1);
    assert_int_equal(shared.undos[SL_UNDO_UNSURE], 0);
}

static int given_up, tried;

static void on_given_up(struct sl_redis_query *query, int status,
                        const struct sl_redis_reply *reply)
{
    (void)query, (void)status, (void)reply;
    given_up++;
}

static void on_tried(struct sl_undo_told *told, int status)
{
    (void)told, (void)status;
    tried++;
}

static void watch_nothing(void *about, int fd, bool reads, bool writes)
{
    (void)about, (void)fd, (void)reads, (void)writes;
}

static void ignore_wake(void *about, int64_t at_us)
{
    (void)about, (void)at_us;
}

/* So much waits that no more can. One that would have to wait, too, is given up, and not asked
 * again at once, which fails again at once. */
ON_A_CHANNEL(where_too_much_is_put_off_it_is_given_up)
{
    static struct sl_redis_query waiting[8192];
    struct sl_link_host host = { NULL, watch_nothing, ignore_wake, false, NULL, NULL };
    struct sl_undos undos = { .shared = &shared, .route = sl_route_new(&shared, &host) };
    struct sl_undo_told told = { on_tried };
    given_up = tried = 0;
    for (size_t i = 0; i < COUNT(waiting); i++) {
        waiting[i] = (struct sl_redis_query){ .done = on_given_up };
        sl_route_ask_at(undos.route, &waiting[i], clock_us + 60 * S);
    }
    make_claims(all, 1);
    claims[0].allowed = true;
    sl_undo_charges(&undos, &bundle, -1, clock_us + DEADLINE_US, &told); /* is not connected */
    clock_us += DEADLINE_US;
    sl_route_on_time(undos.route);
    assert_int_equal(tried, 1);
    assert_int_equal(given_up, 0);
    assert_int_equal(shared.undos[SL_UNDO_GIVEN_UP], 1);
    sl_route_free(undos.route, false);
    assert_int_equal(given_up, COUNT(waiting));
}

ON_A_CHANNEL(after_a_while_it_is_given_up)
{
    begin_giving_back();
    say_at(0, "-LOADING Redis is loading the dataset in memory\r\n");
    expect_done(SLUICE_OK, false);
    for (int i = 0; i < 700; i++) {
        pass_all_us(10 * MS);
        const char *text = heard_at(0);
        assert_false(has(text, "refund")); /* the breaker is open */
        for (; (text = strstr(text, "PROBE")); text++)
            say_at(0, "-LOADING Redis is loading the dataset in memory\r\n");
        for (size_t n = 0; n < NODES; n++)
            if (has(heard_at(n), "CLUSTER SLOTS"))
                say_map_at(n, NULL);
    }
    assert_int_equal(shared.undos[SL_UNDO_GIVEN_UP], 1);
    assert_int_equal(shared.undos[SL_UNDO_DONE] + shared.undos[SL_UNDO_UNSURE], 0);
}

ON_A_CHANNEL(what_is_left_to_give_back_is_given_up_with_the_channel)
{
    begin_giving_back();
    say_at(0, "-LOADING Redis is loading the dataset in memory\r\n");
    sl_channel_free(channel);
    assert_int_equal(shared.undos[SL_UNDO_GIVEN_UP], 1);
    channel = NULL;
}
