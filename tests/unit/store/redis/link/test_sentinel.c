/* Sentinels that are asked in turn, over real sockets. */
#include "store/redis/link/sentinel.h"

#include "base/clock.h"
#include "unit/store/fake_sentinel.h"

enum { FAKES = 3, LONG_US = 20000000 };

static struct fake_sentinel fakes[FAKES];
static struct sl_sentinels *sentinels;
static int woken = -1;

static int set_up(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < FAKES; i++)
        start_fake(&fakes[i], NAMES, 1000 + (int)i);
    woken = eventfd(0, EFD_NONBLOCK);
    sentinels = sl_sentinels_new(hosts_of(fakes, FAKES), "mymaster", NULL, NULL);
    return sentinels ? 0 : -1;
}

static int tear_down(void **unused)
{
    (void)unused;
    sl_sentinels_free(sentinels);
    close(woken);
    for (size_t i = 0; i < FAKES; i++)
        stop_fake(&fakes[i]);
    return 0;
}

/* The port that is named; 0: none, and why. */
static int named(struct sluice_error *why)
{
    struct sl_master master;
    struct sluice_error error = { 0 };
    bool is_known = sl_sentinels_ask(sentinels, &master, why ? why : &error);
    if (is_known)
        assert_string_equal(master.host, "127.0.0.1");
    return is_known ? atoi(master.port) : 0;
}

static void in_mood(enum fake_mood mood)
{
    for (size_t i = 0; i < FAKES; i++)
        fakes[i].mood = (int)mood;
}

#define ASKED(name) TEST_WITH(name, set_up, tear_down)

ASKED(the_one_that_answered_is_asked_again_over_its_connection)
{
    fakes[0].mood = KNOWS_NONE;
    for (int i = 0; i < 3; i++)
        assert_int_equal(named(NULL), 1001);
    assert_int_equal(fakes[0].asked, 1);
    assert_int_equal(fakes[1].asked, 3);
    assert_int_equal(fakes[1].connected, 1);
    assert_int_equal(fakes[2].connected, 0);
}

ASKED(those_that_do_not_answer_are_passed_over)
{
    static const enum fake_mood moods[] = { KNOWS_NONE, IS_SILENT, HANGS_UP, WANTS_A_PASSWORD,
                                            IS_NO_SENTINEL };
    for (size_t i = 0; i < COUNT(moods); i++) {
        fakes[0].mood = (int)moods[i];
        assert_int_equal(named(NULL), 1001);
        sl_sentinels_doubt(sentinels);
        sl_sentinels_doubt(sentinels); /* and is the first again */
    }
}

ASKED(a_doubted_sentinel_is_asked_last)
{
    for (int i = 0; i < 2 * FAKES; i++) {
        assert_int_equal(named(NULL), 1000 + i % FAKES);
        sl_sentinels_doubt(sentinels);
    }
}

ASKED(a_connection_that_was_closed_is_made_again_for_the_same)
{
    assert_int_equal(named(NULL), 1000);
    fakes[0].tells = 2;
    wake_fake(&fakes[0]);
    sl_sentinels_wait(sentinels, woken, LONG_US); /* it is heard at once */
    assert_int_equal(named(NULL), 1000);
    assert_int_equal(fakes[0].connected, 2);
    assert_int_equal(fakes[1].connected, 0);
}

ASKED(that_no_sentinel_answers_is_said)
{
    struct sluice_error why = { 0 };
    int port, fd = listen_somewhere(&port);
    char hosts[64];
    close(fd); /* no process listens there now */
    snprintf(hosts, sizeof hosts, "127.0.0.1:%d", port);
    sl_sentinels_free(sentinels);
    sentinels = sl_sentinels_new(hosts, "mymaster", NULL, NULL);
    assert_int_equal(named(&why), 0);
    assert_non_null(strstr(why.text, "no Sentinel answers"));
    assert_non_null(strstr(why.text, hosts));
    assert_non_null(strstr(why.text, "refused"));
}

ASKED(why_not_is_said)
{
    static const struct {
        enum fake_mood mood;
        const char *words;
    } rows[] = {
        { KNOWS_NONE, "no Sentinel knows a master `mymaster`" },
        { WANTS_A_PASSWORD, "sentinel_password" },
        { HANGS_UP, "cut" },
        { IS_NO_SENTINEL, "protocol" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sluice_error why = { 0 };
        in_mood(rows[i].mood);
        assert_int_equal(named(&why), 0);
        SAME(rows[i].words, strstr(why.text, rows[i].words) != NULL, true);
    }
    in_mood(NAMES); /* and when they are well again */
    assert_int_not_equal(named(NULL), 0);
}

/* One that knows the name is missing outweighs those that are away. */
ASKED(a_name_that_is_not_known_is_said_even_if_some_are_away)
{
    struct sluice_error why = { 0 };
    in_mood(HANGS_UP);
    fakes[1].mood = KNOWS_NONE;
    assert_int_equal(named(&why), 0);
    assert_non_null(strstr(why.text, "`mymaster`"));
}

/* Nothing here measures time: a wait that is not ended early fails by the test's own limit. */
ASKED(news_end_the_wait)
{
    int64_t start_us = sl_boottime_us();
    assert_int_equal(named(NULL), 1000);
    fakes[0].names_port = 2000;
    fakes[0].tells = 1;
    wake_fake(&fakes[0]);
    sl_sentinels_wait(sentinels, woken, LONG_US);
    assert_int_equal(named(NULL), 2000);
    uint64_t one = 1;
    assert_int_equal(write(woken, &one, sizeof one), sizeof one);
    sl_sentinels_wait(sentinels, woken, LONG_US); /* and so does a wake-up */
    assert_true(sl_boottime_us() - start_us < LONG_US);
    assert_int_equal(fakes[0].connected, 1);
}

ASKED(without_news_it_waits_so_long)
{
    int64_t start_us = sl_boottime_us();
    sl_sentinels_wait(sentinels, woken, 20000); /* not connected yet */
    assert_int_equal(named(NULL), 1000);
    sl_sentinels_wait(sentinels, woken, 20000);
    assert_true(sl_boottime_us() - start_us >= 40000);
    assert_int_equal(named(NULL), 1000);
}

ASKED(a_name_is_looked_up_and_an_address_may_be_in_brackets)
{
    char hosts[64];
    struct sluice_error why = { 0 };
    snprintf(hosts, sizeof hosts, "localhost:%d", fakes[0].port);
    sl_sentinels_free(sentinels);
    sentinels = sl_sentinels_new(hosts, "mymaster", NULL, NULL);
    assert_int_equal(named(NULL), 1000);
    sl_sentinels_free(sentinels);
    sentinels = sl_sentinels_new("[::1]:1", "mymaster", NULL, NULL);
    assert_int_equal(named(&why), 0);
    assert_non_null(strstr(why.text, "[::1]:1"));
    sl_sentinels_free(sentinels);
    sentinels = sl_sentinels_new("no-such-host.invalid:26379", "mymaster", NULL, NULL);
    assert_int_equal(named(&why), 0);
    assert_non_null(strstr(why.text, "no-such-host.invalid"));
}
