/* Which node of a cluster is asked, and what becomes of a question that it does not answer. */
#include "store/redis/cluster/route_internal.h"
#include "unit/store/fake_cluster.h"

TESTS_ALONE;

static struct sl_cluster_route *route;

static void route_is_ready(int fd)
{
    sl_route_on_ready(route, fd);
}

static void route_is_due(void)
{
    sl_route_on_time(route);
}

static void new_route(bool patient)
{
    struct sl_link_host host = { NULL, watch_one, wake_at, patient, NULL, NULL };
    tell_ready = route_is_ready;
    tell_time = route_is_due;
    route = sl_route_new(&shared, &host);
    assert_non_null(route);
}

static int set_up_nothing(void **unused)
{
    (void)unused;
    open_cluster();
    new_route(false);
    return 0;
}

static int set_up_cluster(void **unused)
{
    set_up_nothing(unused);
    sl_route_open(route);
    greet_all();
    assert_true(sl_route_is_up(route));
    return 0;
}

static int tear_down_cluster(void **unused)
{
    (void)unused;
    sl_route_free(route, false);
    close_cluster();
    return 0;
}

/* Question i, of a slot that the node has. */
static void ask_slot(size_t i, uint32_t slot)
{
    struct question *question = prepare(i, &script);
    question->query.slot = slot;
    sl_route_ask(route, &question->query);
    sl_route_flush(route);
}

static void expect_quiet(const char *row)
{
    for (size_t i = 0; i < NODES; i++)
        SAME_TEXT(row, sl_text(heard_at(i)), "");
}

static uint64_t redirected(enum sl_redirection kind)
{
    return shared.redirections[kind];
}

/* ---- the map ---- */

#define ON_A_CLUSTER(test) TEST_WITH(test, set_up_cluster, tear_down_cluster)

ON_A_CLUSTER(a_question_goes_to_the_node_that_has_its_slot)
{
    for (size_t i = 0; i < NODES; i++)
        ask_slot(i, slot_on(i));
    for (size_t i = 0; i < NODES; i++) {
        char wanted[16];
        snprintf(wanted, sizeof wanted, "CALL q%04zu", i);
        assert_string_equal(heard_at(i), wanted);
        say_at(i, ":%zu\r\n", i + 1);
        assert_int_equal(questions[i].value, i + 1);
    }
    expect_ends("all", 0, NODES, SLUICE_OK);
    assert_int_equal(sl_cluster_masters(shared.cluster), NODES);
}

#define ON_NOTHING(test) TEST_WITH(test, set_up_nothing, tear_down_cluster)

ON_NOTHING(at_first_questions_wait_for_the_map)
{
    ask_slot(0, slot_on(2));
    assert_string_equal(heard_at(1), "PROBE"); /* a seed, which it was not asked to open */
    expect_waiting("no map", 0, 1);
    say_at(1, CLOCK_FMT, redis_us());
    assert_string_equal(heard_at(1), "CLUSTER SLOTS");
    say_map_at(1, NULL);
    assert_string_equal(heard_at(2), "PROBE");
    say_at(2, CLOCK_FMT, redis_us());
    assert_string_equal(heard_at(2), "CALL q0000");
    say_at(2, ":5\r\n");
    expect_ends("asked", 0, 1, SLUICE_OK);
}

ON_NOTHING(questions_wait_for_the_map_until_the_deadline)
{
    ask_slot(0, 7);
    pass_all_us(DEADLINE_US - 1);
    expect_waiting("in time", 0, 1);
    pass_all_us(1);
    expect_ends("late", 0, 1, SLUICE_STORE_DOWN);
    assert_int_equal(shared.ends[SL_CALL_LATE], 1);
}

ON_NOTHING(a_seed_that_is_not_there_is_followed_by_the_next_at_once)
{
    stop_at(1);
    sl_route_open(route);
    int64_t before_us = clock_us;
    assert_string_equal(heard_at(0), "PROBE");
    assert_int_equal(clock_us, before_us);
    assert_int_equal(shared.failed_connects, 1);
}

ON_NOTHING(without_a_map_and_without_a_node_questions_are_refused_at_once)
{
    stop_at(0);
    stop_at(1);
    sl_route_open(route);
    turn_all();
    ask_slot(0, 7);
    expect_ends("nobody", 0, 1, SLUICE_STORE_DOWN);
    assert_int_equal(shared.ends[SL_CALL_REFUSED], 1);
    listen_at(0); /* and it heals by itself */
    listen_at(1);
    for (int i = 0; i < 100 && strcmp(heard_at(1), "PROBE") != 0; i++)
        pass_all_us(50 * MS);
    say_at(1, CLOCK_FMT, redis_us());
    for (int i = 0; i < 100 && strcmp(heard_at(1), "CLUSTER SLOTS") != 0; i++)
        pass_all_us(50 * MS);
    say_map_at(1, NULL);
    assert_int_equal(sl_cluster_masters(shared.cluster), NODES);
}

ON_NOTHING(a_redis_that_is_no_cluster_is_told_so)
{
    sl_route_open(route);
    heard_at(1);
    say_at(1, CLOCK_FMT, redis_us());
    heard_at(1);
    say_at(1, "-ERR This instance has cluster support disabled\r\n");
    assert_non_null(strstr(shared.why, "not a node of a cluster"));
    assert_non_null(strstr(shared.why, "redis://"));
}

/* It is connected and answers, and does not know: the others are asked, whichever node it is. */
ON_NOTHING(a_seed_that_knows_no_map_is_followed_by_the_next)
{
    static const char *const answers[] = { "*0\r\n", "-ERR unknown command\r\n",
                                           "-ERR This instance has cluster support disabled\r\n",
                                           "-CLUSTERDOWN Hash slot not served\r\n" };
    for (size_t i = 0; i < COUNT(answers); i++) {
        tear_down_cluster(NULL);
        set_up_nothing(NULL);
        sl_route_open(route);
        heard_at(1);
        say_at(1, CLOCK_FMT, redis_us());
        SAME_TEXT(answers[i], sl_text(heard_at(1)), "CLUSTER SLOTS");
        say_at(1, "%s", answers[i]);
        SAME_TEXT(answers[i], sl_text(heard_at(0)), "PROBE");
        say_at(0, CLOCK_FMT, redis_us());
        SAME_TEXT(answers[i], sl_text(heard_at(0)), "CLUSTER SLOTS");
        say_map_at(0, NULL);
        SAME(answers[i], sl_cluster_masters(shared.cluster), NODES);
    }
}

ON_NOTHING(a_slot_that_no_node_has_is_refused_at_once)
{
    sl_route_open(route);
    heard_at(1);
    say_at(1, CLOCK_FMT, redis_us());
    say_at(1, "*1\r\n*3\r\n:0\r\n:99\r\n*3\r\n$0\r\n\r\n:%d\r\n$2\r\nid\r\n", fakes[1].port);
    assert_int_equal(sl_cluster_masters(shared.cluster), 1); /* itself: no host is its own */
    heard_at(1);
    ask_slot(0, 99);
    assert_string_equal(heard_at(1), "CALL q0000");
    ask_slot(1, 100);
    expect_ends("nobody's", 1, 1, SLUICE_STORE_DOWN);
}

/* ---- redirections ---- */

ON_A_CLUSTER(what_has_moved_is_asked_there_and_from_then_on)
{
    ask_slot(0, 7);
    assert_string_equal(heard_at(0), "CALL q0000");
    say_at(0, "-MOVED 7 127.0.0.1:%d\r\n", fakes[2].port);
    assert_true(strstr(heard_at(2), "CALL q0000") != NULL);
    say_at(2, ":3\r\n");
    expect_ends("moved", 0, 1, SLUICE_OK);
    assert_int_equal(redirected(SL_REDIRECTION_MOVED), 1);
    ask_slot(1, 7);
    assert_true(strstr(heard_at(2), "CALL q0001") != NULL);
    ask_slot(2, 8); /* its neighbour has not */
    assert_true(strstr(heard_at(0), "CALL q0002") != NULL);
    assert_true(sl_route_is_up(route));
}

ON_A_CLUSTER(the_map_is_asked_for_a_few_times_a_second_at_the_most)
{
    size_t asked = 0;
    pass_all_us(S);
    for (int64_t i = 0; i < 50; i++) { /* half a second of nothing but redirections */
        size_t at = i % 2 ? 2 : 0;
        ask_slot((size_t)i, 7);
        for (size_t n = 0; n < NODES; n++) {
            const char *text = heard_at(n);
            if (strstr(text, "CLUSTER SLOTS")) {
                asked++;
                say_at(n, "-ERR not now\r\n");
            }
        }
        say_at(at, "-MOVED 7 127.0.0.1:%d\r\n", fakes[2 - at].port);
        for (size_t n = 0; n < NODES; n++) {
            const char *text = heard_at(n);
            if (strstr(text, "CLUSTER SLOTS")) {
                asked++;
                say_at(n, "-ERR not now\r\n");
            }
        }
        say_at(2 - at, ":1\r\n");
        pass_all_us(10 * MS);
    }
    assert_in_range(asked, 1, 3);
}

ON_A_CLUSTER(what_is_on_its_way_is_asked_for_there_this_once)
{
    ask_slot(0, 7);
    heard_at(0);
    say_at(0, "-ASK 7 127.0.0.1:%d\r\n", fakes[1].port);
    assert_string_equal(heard_at(1), "ASKING | CALL q0000");
    say_at(1, "+OK\r\n-NOSCRIPT No matching script.\r\n"); /* what it said before is over */
    assert_string_equal(heard_at(1), "LOAD one | ASKING | CALL q0000");
    say_at(1, "$1\r\na\r\n+OK\r\n:9\r\n");
    expect_ends("asked", 0, 1, SLUICE_OK);
    assert_int_equal(questions[0].value, 9);
    assert_int_equal(redirected(SL_REDIRECTION_ASK), 1);
    ask_slot(1, 7);
    assert_string_equal(heard_at(0), "CALL q0001");
    expect_quiet("the others");
}

ON_A_CLUSTER(what_is_to_be_tried_again_is_in_a_while_and_by_its_deadline)
{
    ask_slot(0, 7);
    int tries = 0;
    for (int64_t left_us = DEADLINE_US; left_us > 0; left_us -= MS, pass_all_us(MS)) {
        if (strcmp(heard_at(0), "CALL q0000") != 0)
            continue;
        tries++;
        say_at(0, "-TRYAGAIN Multiple keys request during rehashing of slot\r\n");
    }
    assert_in_range(tries, 4, 6); /* after 1, 2, 4, 8 … ms */
    expect_ends("late", 0, 1, SLUICE_STORE_DOWN);
    assert_int_equal(redirected(SL_REDIRECTION_TRYAGAIN), tries);
    assert_true(sl_route_is_up(route));
}

ON_A_CLUSTER(no_question_is_redirected_for_ever)
{
    ask_slot(0, 7);
    size_t at = 0, turns = 0;
    for (; questions[0].ends == 0 && turns < 100; turns++, at = 2 - at) {
        heard_at(at);
        say_at(at, "-MOVED 7 127.0.0.1:%d\r\n", fakes[2 - at].port);
    }
    expect_ends("around", 0, 1, SLUICE_STORE_DOWN);
    assert_in_range(turns, 3, 20);
    assert_false(questions[0].query.may_have_run);
    assert_true(sl_route_is_up(route)); /* no breaker has opened for it */
}

ON_A_CLUSTER(a_redirection_that_leads_nowhere_fails)
{
    static const char *const rows[] = { "MOVED",          "MOVED 7",           "MOVED 7 nowhere",
                                        "MOVED 7 a:b",    "MOVED 7 a:99999",   "ASK 7 :0",
                                        "MOVED 7 ?:6379", "MOVED 7 127.0.0.1:" };
    for (size_t i = 0; i < COUNT(rows); i++) {
        ask_slot(i, 7);
        heard_at(0);
        say_at(0, "-%s\r\n", rows[i]);
        expect_ends(rows[i], i, 1, SLUICE_STORE_DOWN);
    }
}

/* ---- nodes that fail ---- */

ON_A_CLUSTER(only_its_own_questions_fail_with_a_node)
{
    ask_slot(0, slot_on(0));
    ask_slot(1, slot_on(1));
    heard_at(0);
    hang_up_at(0);
    turn_all();
    expect_ends("cut", 0, 1, SLUICE_STORE_DOWN);
    assert_true(questions[0].query.may_have_run); /* so it is not asked again */
    assert_int_equal(shared.ends[SL_CALL_LOST], 1);
    expect_waiting("another's", 1, 1);
    say_at(1, ":1\r\n");
    expect_ends("another's", 1, 1, SLUICE_OK);
}

ON_A_CLUSTER(a_node_that_is_down_is_replaced_as_soon_as_the_map_says_so)
{
    static const size_t after[NODES] = { 2, 1, 2 };
    pass_all_us(S);
    stop_at(0);
    turn_all();
    bool has_learned = false;
    for (int i = 0; i < 200 && !has_learned; i++) {
        for (size_t n = 1; n < NODES && !has_learned; n++)
            if (strstr(heard_at(n), "CLUSTER SLOTS")) {
                say_map_at(n, after);
                has_learned = true;
            }
        pass_all_us(10 * MS);
    }
    assert_true(has_learned);
    ask_slot(0, slot_on(0));
    assert_true(strstr(heard_at(2), "CALL q0000") != NULL);
    say_at(2, ":1\r\n");
    expect_ends("replaced", 0, 1, SLUICE_OK);
    assert_int_equal(sl_cluster_masters(shared.cluster), 2);
    for (int i = 0; i < 500; i++) { /* and the link without a node is closed */
        pass_all_us(10 * MS);
        for (size_t n = 1; n < NODES; n++)
            if (strstr(heard_at(n), "CLUSTER SLOTS"))
                say_map_at(n, after);
    }
    assert_int_equal(shared.breakers[SL_BREAKER_CLOSED], 2);
    assert_int_equal(shared.breakers[SL_BREAKER_OPEN] + shared.breakers[SL_BREAKER_HALF_OPEN], 0);
    assert_true(sl_route_is_up(route));
}

ON_A_CLUSTER(a_cluster_that_is_down_trips_the_node_that_says_so)
{
    ask_slot(0, slot_on(0));
    heard_at(0);
    say_at(0, "-CLUSTERDOWN The cluster is down\r\n");
    expect_ends("down", 0, 1, SLUICE_STORE_DOWN);
    ask_slot(1, slot_on(0));
    expect_ends("refused", 1, 1, SLUICE_STORE_DOWN);
    ask_slot(2, slot_on(1));
    expect_waiting("another node", 2, 1);
    for (int i = 0; i < 100 && !strstr(heard_at(0), "PROBE"); i++)
        pass_all_us(MS);
    say_at(0, CLOCK_FMT, redis_us());
    ask_slot(3, slot_on(0));
    expect_waiting("up again", 3, 1);
}

/* It answers a probe of a slot that it has lost: it does well, and our map is old. */
ON_A_CLUSTER(a_probe_that_is_sent_on_is_asked_without_a_key)
{
    hang_up_at(1);
    heard_at(1);
    for (int i = 0; i < 100 && strcmp(heard_at(1), "PROBE") != 0; i++)
        pass_all_us(10 * MS);
    say_at(1, "-MOVED 9999 127.0.0.1:%d\r\n", fakes[0].port);
    assert_true(strstr(heard_at(1), "PROBE") != NULL);
    say_at(1, CLOCK_FMT, redis_us());
    ask_slot(0, slot_on(1));
    assert_true(strstr(heard_at(1), "CALL q0000") != NULL);
}

/* Its slot was on its way, and stays: as soon as the map is there probes have a key again, so that
 * they find out whether the node may write. */
ON_A_CLUSTER(a_probe_that_was_sent_on_has_a_key_again)
{
    const char *key = route->nodes[1]->link->probe_key;
    assert_true(*key);
    hang_up_at(1);
    heard_at(1);
    for (int i = 0; i < 100 && strcmp(heard_at(1), "PROBE") != 0; i++)
        pass_all_us(10 * MS);
    say_at(1, "-ASK 9999 127.0.0.1:%d\r\n", fakes[0].port);
    assert_string_equal(key, "");
    say_at(1, CLOCK_FMT, redis_us());
    bool has_learned = false;
    for (int i = 0; i < 200 && !has_learned; i++) {
        pass_all_us(10 * MS);
        for (size_t n = 0; n < NODES && !has_learned; n++)
            if ((has_learned = strstr(heard_at(n), "CLUSTER SLOTS")))
                say_map_at(n, NULL);
    }
    assert_true(has_learned);
    assert_true(*key);
}

ON_A_CLUSTER(what_is_still_asked_fails_when_the_route_ends)
{
    ask_slot(0, slot_on(0));
    ask_slot(1, slot_on(1));
    heard_at(1);
    say_at(1, "-TRYAGAIN later\r\n");
    prepare(2, &script)->query.slot = slot_on(2);
    sl_route_ask_at(route, &questions[2].query, clock_us + S);
    questions[0].asks_again = 0;
    sl_route_free(route, false);
    expect_ends("ended", 0, 3, SLUICE_STORE_DOWN);
    new_route(false);
}
