/* Names with several addresses, of which not all have a Redis: each is tried, and the one that
 * answers is kept. Redis is the test; 127.0.0.2 refuses, 127.0.0.3 does not answer. */
#include "unit/store/fake_redis.h"

#include "base/clock.h"
#include "store/redis/link/sentinel.h"
#include "unit/store/fake_names.h"
#include "unit/store/fake_sentinel.h"

TESTS_ALONE;

enum { LOOKS = 4000, LOOK_US = 5000 };

#define CONNECT_US  (1 * S)
#define FULL_CIRCLE "127.0.0.2 127.0.0.4 127.0.0.5 127.0.0.6 127.0.0.7 127.0.0.8 127.0.0.9 "

static int port;
static struct silent silent;

static struct sl_target *open_name(const char *host)
{
    char hosts[64];
    struct sl_store_url url = { .hosts = hosts };
    struct sluice_error error = { 0 };
    snprintf(hosts, sizeof hosts, "%s:%d", host, port);
    struct sl_target *target = sl_target_open(&url, &(struct sl_tls_client){ 0 }, &error);
    assert_non_null(target);
    return target;
}

/* Looked up in the background: our clock does not go on, so opening did not wait for it. */
static void wait_for_addresses(struct sl_target *target, uint32_t count)
{
    for (int i = 0; i < LOOKS && sl_target_address_count(target) != count; i++)
        sl_sleep_us(LOOK_US);
    assert_int_equal(sl_target_address_count(target), count);
}

static void open_link(const char *addresses, uint32_t count)
{
    set_addresses(addresses);
    memset(&shared, 0, sizeof shared);
    shared.deadline_us = DEADLINE_US;
    pthread_mutex_init(&shared.why_lock, NULL);
    shared.target = open_name("redis.test");
    wait_for_addresses(shared.target, count);
    link_ = sl_link_new(&shared, &(struct sl_link_host){ NULL, watch, wake_at, is_patient });
    assert_non_null(link_);
}

static int name_up(void **unused)
{
    if (start_redis(unused) != 0)
        return -1;
    stop_listening();
    listener = listen_somewhere(&port);
    start_silent(&silent, "127.0.0.3", port);
    return 0;
}

static int name_down(void **unused)
{
    if (link_)
        free_link();
    stop_silent(&silent);
    return stop_redis(unused);
}

/* What Redis hears when the connection is there: that takes a moment. "": nothing. */
static const char *words_heard(void)
{
    const char *text = "";
    for (int i = 0; i < LOOKS && (!*text || strcmp(text, "(closed)") == 0); i++) {
        text = heard();
        if (!*text || strcmp(text, "(closed)") == 0)
            sl_sleep_us(LOOK_US / 5);
    }
    return text;
}

static void turn_until_up(void)
{
    say(CLOCK_FMT, redis_us());
    for (int i = 0; i < LOOKS && !sl_link_is_up(link_); i++, turn())
        sl_sleep_us(LOOK_US / 5);
    assert_true(sl_link_is_up(link_));
}

static void turn_until_down(void)
{
    for (int i = 0; i < LOOKS && link_->phase != SL_LINK_DOWN; i++, turn())
        sl_sleep_us(LOOK_US / 5);
    assert_int_equal(link_->phase, SL_LINK_DOWN);
}

#define ON_A_NAME(name) TEST_WITH(name, name_up, name_down)

/* No time passes here: the question waits, and is answered by the second address. */
ON_A_NAME(an_address_that_refuses_is_followed_by_the_next_at_once)
{
    for (int patient = 0; patient < 2; patient++) {
        is_patient = patient; /* a worker's link, and one whose caller waits for it */
        open_link("127.0.0.2 127.0.0.1", 2);
        ask_all(0, 1);
        assert_string_equal(words_heard(), "PROBE");
        turn_until_up();
        assert_string_equal(words_heard(), "CALL q0000");
        say(":7\r\n");
        for (int i = 0; i < LOOKS && questions[0].ends == 0; i++, turn())
            sl_sleep_us(LOOK_US / 5);
        expect_ends("second address", 0, 1, SLUICE_OK);
        assert_int_equal(shared.failed_connects, 0);
        assert_int_equal(shared.trips, 0);
        assert_int_equal(shared.connects, 1);
        free_link();
    }
}

ON_A_NAME(an_address_that_is_silent_has_its_share_of_the_time)
{
    open_link("127.0.0.3 127.0.0.1", 2);
    sl_link_open(link_);
    pass_us(CONNECT_US / 2 - 1);
    sl_sleep_us(LOOK_US);
    assert_string_equal(heard(), "(closed)");
    pass_us(1);
    assert_string_equal(words_heard(), "PROBE");
    turn_until_up();
    assert_int_equal(shared.failed_connects, 0);
}

/* Were the silent one tried again, it would take half a second; no time passes. */
ON_A_NAME(the_address_that_answered_is_the_first_from_then_on)
{
    open_link("127.0.0.3 127.0.0.1", 2);
    sl_link_open(link_);
    pass_us(CONNECT_US / 2);
    assert_string_equal(words_heard(), "PROBE");
    turn_until_up();
    pass_us(2 * S);
    hang_up(); /* it was good: it is made again at once */
    assert_string_equal(words_heard(), "PROBE");
    turn_until_up();
    assert_int_equal(shared.connects, 2);
    assert_int_equal(shared.failed_connects, 0);
    hang_up();
    sl_link_free(link_); /* and another link begins there too */
    link_ = sl_link_new(&shared, &(struct sl_link_host){ NULL, watch, wake_at, false });
    sl_link_open(link_);
    assert_string_equal(words_heard(), "PROBE");
}

ON_A_NAME(all_that_refuse_are_one_failure_with_the_first_reason)
{
    open_link("127.0.0.2 127.0.0.3 127.0.0.4", 3);
    ask_all(0, 1);
    for (int i = 0; i < LOOKS && !link_->socket.is_connecting; i++, turn())
        sl_sleep_us(LOOK_US / 5);
    expect_waiting("not yet", 0, 1);
    for (int i = 0; i < LOOKS && link_->addresses_left > 1; i++, turn())
        sl_sleep_us(LOOK_US / 5);
    pass_us(CONNECT_US / 2);
    turn_until_down();
    expect_ends("all tried", 0, 1, SLUICE_STORE_DOWN);
    assert_int_equal(shared.failed_connects, 1);
    assert_non_null(strstr(shared.why, "refused"));
}

/* Together they have no longer than one address had. */
ON_A_NAME(silent_addresses_share_one_deadline)
{
    open_link("127.0.0.3 127.0.0.3 127.0.0.3", 3);
    sl_link_open(link_);
    pass_us(CONNECT_US - 1);
    assert_int_equal(link_->phase, SL_LINK_CONNECTING);
    pass_us(1);
    assert_int_equal(link_->phase, SL_LINK_DOWN);
    assert_int_equal(shared.failed_connects, 1);
    assert_non_null(strstr(shared.why, "does not answer"));
}

ON_A_NAME(eight_addresses_are_tried_and_no_more)
{
    open_link(FULL_CIRCLE "127.0.0.1", 8);
    sl_link_open(link_);
    assert_string_equal(words_heard(), "PROBE");
    free_link();
    open_link(FULL_CIRCLE "127.0.0.10 127.0.0.1", 8);
    sl_link_open(link_);
    turn_until_down();
    assert_int_equal(shared.failed_connects, 1);
}

/* Nodes of a cluster have targets like the first one's. */
ON_A_NAME(a_node_of_a_cluster_is_reached_at_any_address_too)
{
    char address[64];
    open_link("127.0.0.2 127.0.0.1", 2);
    snprintf(address, sizeof address, "node.test:%d", port);
    struct sl_target *node = sl_target_like(shared.target, address);
    assert_non_null(node);
    wait_for_addresses(node, 2);
    sl_link_free(link_);
    link_ = sl_link_new_to(&shared, node, &(struct sl_link_host){ NULL, watch, wake_at, false });
    sl_link_open(link_);
    assert_string_equal(words_heard(), "PROBE");
    turn_until_up();
    assert_int_equal(shared.failed_connects, 0);
    sl_link_free(link_);
    link_ = NULL;
    sl_target_close(node);
    close_target();
}

ON_A_NAME(a_sentinel_is_reached_at_its_eighth_address)
{
    struct fake_sentinel fake;
    struct sl_master master;
    struct sluice_error why = { 0 };
    char hosts[64];
    start_fake(&fake, NAMES, 1000);
    set_addresses(FULL_CIRCLE "127.0.0.1");
    snprintf(hosts, sizeof hosts, "sentinel.test:%d", fake.port);
    struct sl_sentinels *sentinels = sl_sentinels_new(hosts, "mymaster", NULL, NULL);
    assert_non_null(sentinels);
    assert_true(sl_sentinels_ask(sentinels, &master, &why));
    assert_string_equal(master.port, "1000");
    sl_sentinels_free(sentinels);
    stop_fake(&fake);
}

ON_A_NAME(the_preferred_address_is_found_again_in_another_order)
{
    set_addresses("127.0.0.2 127.0.0.1 127.0.0.4");
    struct sl_target *target = open_name("redis.test");
    wait_for_addresses(target, 3);
    assert_int_equal(sl_target_preferred(target), 0);
    sl_target_prefer(target, 4); /* numbers wrap around: 127.0.0.1 */
    assert_int_equal(sl_target_preferred(target), 1);
    set_addresses("127.0.0.4 127.0.0.2 127.0.0.5 127.0.0.1");
    for (int i = 0; i < LOOKS && sl_target_address_count(target) != 4; i++) {
        sl_target_refresh(target); /* at most once a second */
        sl_sleep_us(LOOK_US);
    }
    assert_int_equal(sl_target_address_count(target), 4);
    assert_int_equal(sl_target_preferred(target), 3);
    sl_target_close(target);
}
