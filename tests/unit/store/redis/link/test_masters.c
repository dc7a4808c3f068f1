/* A target whose address Sentinels name, and a link to it: which master it is to, and when it
 * leaves. The Sentinels are threads, Redis is the test; only the link's clock is ours. */
#include "unit/store/fake_redis.h"

#include <sys/wait.h>

#include "base/clock.h"
#include "store/redis/channel.h"
#include "store/redis/redis.h"
#include "unit/store/fake_sentinel.h"

TESTS_ALONE;

enum { FAKES = 2, LOOKS = 4000, LOOK_US = 5000 };

#define MASTER  "*3\r\n$6\r\nmaster\r\n:1\r\n*1\r\n*3\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\n0\r\n"
#define REPLICA "*5\r\n$5\r\nslave\r\n$1\r\na\r\n:1\r\n$9\r\nconnected\r\n:0\r\n"

static struct fake_sentinel fakes[FAKES];
static int first_listener, first_port, second_listener, second_port; /* two Redis */

static struct sl_target *open_target_of(const char *hosts)
{
    struct sl_store_url url = { .kind = SL_STORE_REDIS_SENTINEL,
                                .hosts = hosts,
                                .master = "mymaster" };
    struct sluice_error error = { 0 };
    struct sl_target *target = sl_target_open(&url, &(struct sl_tls_client){ 0 }, &error);
    assert_non_null(target);
    assert_string_equal(error.text, "");
    do { /* it does not wait by itself, for our clock does not go on */
        sl_sleep_us(LOOK_US);
        sl_target_why_none(target, &error);
    } while (sl_target_reign(target) == 0 && strstr(error.text, "yet"));
    return target;
}

static int port_of(struct sl_target *target)
{
    struct sockaddr_storage at;
    socklen_t len = 0;
    if (!sl_target_address(target, 0, &at, &len))
        return 0;
    return ntohs(((const struct sockaddr_in *)&at)->sin_port);
}

static void wait_for_reign(struct sl_target *target, uint32_t reign)
{
    for (int i = 0; i < LOOKS && sl_target_reign(target) != reign; i++)
        sl_sleep_us(LOOK_US);
    assert_int_equal(sl_target_reign(target), reign);
}

static int start_fakes(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < FAKES; i++)
        start_fake(&fakes[i], NAMES, 1000);
    return 0;
}

static int stop_fakes(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < FAKES; i++)
        stop_fake(&fakes[i]);
    return 0;
}

/* ---- the target ---- */

#define ON_CHANNEL(name) TEST_WITH(name, channel_up, channel_down)
#define ON_FAKES(name)   TEST_WITH(name, start_fakes, stop_fakes)
#define ON_MASTER(name)  TEST_WITH(name, link_up, link_down)

ON_FAKES(the_master_is_known_when_it_is_open)
{
    struct sl_target *target = open_target_of(hosts_of(fakes, FAKES));
    assert_int_equal(port_of(target), 1000);
    assert_int_equal(sl_target_reign(target), 1);
    assert_true(sl_target_has_sentinels(target));
    assert_string_equal(sl_target_name(target), "mymaster");
    sl_target_close(target);
}

ON_FAKES(news_change_it)
{
    struct sl_target *target = open_target_of(hosts_of(fakes, FAKES));
    fakes[0].names_port = 2000;
    fakes[0].tells = 1;
    wake_fake(&fakes[0]);
    wait_for_reign(target, 2);
    assert_int_equal(port_of(target), 2000);
    sl_target_close(target);
}

/* A Sentinel that says nothing of itself is asked about once a second. */
ON_FAKES(it_is_noticed_without_news_too)
{
    struct sl_target *target = open_target_of(hosts_of(fakes, FAKES));
    fakes[0].names_port = 2000;
    wait_for_reign(target, 2);
    assert_int_equal(port_of(target), 2000);
    sl_target_close(target);
}

/* Where the first is wrong, the next may know better. */
ON_FAKES(a_doubted_sentinel_is_followed_by_the_next)
{
    struct sl_target *target = open_target_of(hosts_of(fakes, FAKES));
    fakes[1].names_port = 2000;
    assert_int_equal(port_of(target), 1000);
    sl_target_refresh(target);
    wait_for_reign(target, 2);
    assert_int_equal(port_of(target), 2000);
    sl_target_close(target);
}

/* Not at once: the next may not have heard of it yet, and would send us back. */
ON_FAKES(a_sentinel_with_news_is_believed_for_a_while)
{
    struct sl_target *target = open_target_of(hosts_of(fakes, FAKES));
    int64_t start_us = sl_boottime_us();
    fakes[0].names_port = 2000;
    fakes[0].tells = 1;
    wake_fake(&fakes[0]);
    wait_for_reign(target, 2);
    int asked = fakes[1].asked;
    while (fakes[1].asked == asked) { /* however often a link doubts it */
        sl_target_refresh(target);
        sl_sleep_us(LOOK_US);
    }
    assert_true(sl_boottime_us() - start_us >= S);
    wait_for_reign(target, 3);
    assert_int_equal(port_of(target), 1000);
    sl_target_close(target);
}

ON_FAKES(sentinels_that_are_away_take_no_master_with_them)
{
    struct sl_target *target = open_target_of(hosts_of(fakes, FAKES));
    int asked = fakes[1].asked;
    fakes[0].mood = fakes[1].mood = KNOWS_NONE;
    sl_target_refresh(target);
    for (int i = 0; i < LOOKS && fakes[1].asked == asked; i++)
        sl_sleep_us(LOOK_US);
    assert_int_equal(port_of(target), 1000);
    assert_int_equal(sl_target_reign(target), 1);
    sl_target_close(target);
}

ON_FAKES(none_is_said_and_found_later)
{
    struct sluice_error why = { 0 };
    fakes[0].mood = fakes[1].mood = KNOWS_NONE;
    struct sl_target *target = open_target_of(hosts_of(fakes, FAKES));
    assert_int_equal(port_of(target), 0);
    assert_int_equal(sl_target_reign(target), 0);
    sl_target_why_none(target, &why);
    assert_non_null(strstr(why.text, "no Sentinel knows a master `mymaster`"));
    fakes[0].mood = fakes[1].mood = NAMES;
    sl_target_refresh(target);
    wait_for_reign(target, 1);
    assert_int_equal(port_of(target), 1000);
    sl_target_close(target);
}

/* The thread is the parent's; a forked process starts its own. */
ON_FAKES(a_process_that_was_forked_follows_too)
{
    struct sl_target *target = open_target_of(hosts_of(fakes, FAKES));
    fakes[0].mood = IS_SILENT; /* so that only the child hears of it */
    pid_t child = fork();
    if (child == 0) {
        fakes[0].names_port = 0; /* the parent's; nothing here is shared */
        bool good = port_of(target) == 1000;
        for (int i = 0; i < LOOKS && sl_target_reign(target) != 2; i++)
            sl_sleep_us(LOOK_US);
        good &= port_of(target) == 2000;
        sl_target_close(target);
        _exit(good ? 0 : 1);
    }
    fakes[0].names_port = fakes[1].names_port = 2000;
    fakes[0].mood = NAMES;
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    wait_for_reign(target, 2);
    sl_target_close(target);
}

/* ---- the link ---- */

static int link_up(void **unused)
{
    if (start_redis(unused) != 0 || start_fakes(unused) != 0)
        return -1;
    stop_listening();
    first_listener = listen_somewhere(&first_port);
    second_listener = listen_somewhere(&second_port);
    fakes[0].names_port = fakes[1].names_port = first_port;
    listener = first_listener;
    memset(&shared, 0, sizeof shared);
    shared.deadline_us = DEADLINE_US;
    pthread_mutex_init(&shared.why_lock, NULL);
    shared.target = open_target_of(hosts_of(fakes, FAKES));
    link_ = sl_link_new(&shared, &(struct sl_link_host){ NULL, watch, wake_at, false });
    return link_ ? 0 : -1;
}

static int link_down(void **unused)
{
    free_link();
    close(first_listener);
    close(second_listener);
    listener = -1;
    stop_fakes(unused);
    return stop_redis(unused);
}

/* What it hears when it comes: a TCP connection takes a moment. */
static const char *words_heard(void)
{
    const char *text = "";
    for (int i = 0; i < LOOKS && (!*text || strcmp(text, "(closed)") == 0); i++) {
        text = heard();
        if (!*text || strcmp(text, "(closed)") == 0)
            sl_sleep_us(LOOK_US);
    }
    return text;
}

static void become_up(void)
{
    assert_string_equal(words_heard(), "ROLE | PROBE");
    say(MASTER CLOCK_FMT, redis_us());
    for (int i = 0; i < LOOKS && !sl_link_is_up(link_); i++, turn())
        sl_sleep_us(LOOK_US / 5);
    assert_true(sl_link_is_up(link_));
}

static void name_the_second(void)
{
    fakes[0].names_port = fakes[1].names_port = second_port;
    fakes[0].tells = fakes[1].tells = 1;
    wake_fake(&fakes[0]);
    wake_fake(&fakes[1]);
    wait_for_reign(shared.target, 2);
}

static void wait_for_loss(void)
{
    for (int i = 0; i < LOOKS && link_->phase != SL_LINK_DOWN; i++, turn())
        sl_sleep_us(LOOK_US / 5);
    assert_int_equal(link_->phase, SL_LINK_DOWN);
}

ON_MASTER(a_master_is_used_when_it_says_that_it_is_one)
{
    sl_link_open(link_);
    become_up();
    assert_int_equal(shared.connects, 1);
}

ON_MASTER(what_is_no_master_is_left_and_asked_about)
{
    int asked = fakes[1].asked;
    sl_link_open(link_);
    ask_all(0, 1);
    assert_string_equal(words_heard(), "ROLE | PROBE");
    say(REPLICA CLOCK_FMT, redis_us()); /* one that can be written to is no better */
    wait_for_loss();
    expect_ends("never asked there", 0, 1, SLUICE_STORE_DOWN);
    assert_non_null(strstr(shared.why, "not a master"));
    assert_int_equal(shared.connects, 0);
    for (int i = 0; i < LOOKS && fakes[1].asked == asked; i++)
        sl_sleep_us(LOOK_US);
    assert_true(fakes[1].asked > asked); /* the next one */
}

ON_MASTER(a_user_without_the_permission_to_ask_for_the_role_is_told)
{
    sl_link_open(link_);
    words_heard();
    say("-NOPERM this user has no permissions to run the 'role' command\r\n");
    wait_for_loss();
    assert_non_null(strstr(shared.why, "docs/redis.md"));
}

/* A call sent to the old master may be counted there: it fails, and is not sent again. Calls made
 * from then on wait for the new one. */
ON_MASTER(another_master_is_gone_to_though_the_old_one_answers)
{
    sl_link_open(link_);
    become_up();
    pass_us(2 * S);
    ask_all(0, 2);
    heard();
    name_the_second();
    ask_of(2, &script);
    expect_ends("on its way", 0, 2, SLUICE_STORE_DOWN);
    expect_waiting("for the new one", 2, 1);
    listener = second_listener;
    become_up();
    assert_string_equal(words_heard(), "CALL q0002");
    say(":7\r\n");
    for (int i = 0; i < LOOKS && questions[2].ends == 0; i++, turn())
        sl_sleep_us(LOOK_US / 5);
    expect_ends("there", 2, 1, SLUICE_OK);
    assert_int_equal(shared.failed_connects, 0);
}

/* It refuses to write, alone as it is: that is waited out, but not if there is another. */
ON_MASTER(one_that_cannot_is_left_too)
{
    sl_link_open(link_);
    become_up();
    ask_all(0, 1);
    words_heard();
    say("-NOREPLICAS Not enough good replicas to write.\r\n");
    for (int i = 0; i < LOOKS && questions[0].ends == 0; i++, turn())
        sl_sleep_us(LOOK_US / 5);
    assert_int_equal(link_->breaker, SL_BREAKER_OPEN);
    fakes[1].names_port = second_port; /* the other one, which we had not asked, knows better */
    wait_for_reign(shared.target, 2);
    listener = second_listener;
    pass_us(2 * S); /* its next look, and its next connection */
    become_up();
}

/* However long it was to wait before it tries the old one again. */
ON_MASTER(a_link_that_waits_to_retry_hears_of_another_master)
{
    close(first_listener);
    first_listener = -1;
    listener = second_listener;
    sl_link_open(link_);
    wait_for_loss();
    for (int i = 0; i < 12; i++)
        pass_us(S); /* attempt after attempt */
    int64_t wait_us = link_->try_us - clock_us;
    name_the_second();
    assert_true(wait_us > 0);
    pass_us(100 * MS);
    become_up();
    assert_int_equal(link_->reign, 2);
}

/* ---- a channel ---- */

static struct sl_channel *channel;
static struct sl_claim asked[10];
static struct sl_bundle bundles[10];
static int parcels_done;

static void channel_is_ready(void)
{
    sl_channel_on_ready(channel, watched_fd);
}

static void channel_is_due(void)
{
    sl_channel_on_time(channel);
}

static void on_parcel(struct sl_parcel *parcel)
{
    (void)parcel;
    parcels_done++;
}

static int channel_up(void **unused)
{
    if (link_up(unused) != 0)
        return -1;
    on_ready = channel_is_ready;
    on_time = channel_is_due;
    shared.answers = sl_answer_cache_new();
    channel = sl_channel_new(&shared, &(struct sl_link_host){ NULL, watch, wake_at, false });
    parcels_done = 0;
    return channel ? 0 : -1;
}

static int channel_down(void **unused)
{
    sl_channel_free(channel);
    sl_answer_cache_free(shared.answers);
    sl_scripts_release(&shared.scripts);
    return link_down(unused);
}

static void open_bundle(size_t number, const struct sl_claim_name *name, uint32_t cost,
                        size_t count)
{
    asked[number] = (struct sl_claim){ .algo = &sl_fixed_window,
                                       .limit = { .capacity = 100000, .window_us = 3600 * S },
                                       .key = { (uint64_t)name->key.at[5], 7 },
                                       .lease = SL_LEASE_BY_DEMAND,
                                       .name = name };
    bundles[number] = (struct sl_bundle){ .now_us = -1,
                                          .cost = cost,
                                          .max_delay_us = -1,
                                          .claims = &asked[number],
                                          .claim_count = count,
                                          .status = 99 };
}

/* The first batch finds that out, and calls under way fail in the middle of it. */
ON_CHANNEL(a_batch_that_waits_for_a_lease_of_the_old_master_fails_once)
{
    static const struct sl_claim_name one = { .key = SL_TEXT("rl:-:a:{u}") };
    static const struct sl_claim_name two = { .key = SL_TEXT("rl:-:b:{u}") };
    static const struct sl_claim_name three = { .key = SL_TEXT("rl:-:c:{u}") };
    struct sl_parcel first = { .bundles = bundles, .count = 1, .done = on_parcel };
    struct sl_parcel second = { .bundles = bundles + 1, .count = 2, .done = on_parcel };
    sl_channel_open(channel);
    assert_string_equal(words_heard(), "ROLE | PROBE");
    say(MASTER CLOCK_FMT, redis_us());
    for (int i = 0; i < LOOKS && !sl_channel_is_up(channel); i++, turn())
        sl_sleep_us(LOOK_US / 5);
    open_bundle(0, &one, 9, 1); /* so much that it is worth a lease */
    sl_channel_decide(channel, &first);
    sl_channel_flush(channel);
    assert_non_null(strstr(words_heard(), "rl:-:a:"));
    name_the_second();
    open_bundle(1, &one, 1, 1); /* waits for that call, */
    open_bundle(2, &two, 9, 2); /* and this one makes one of its own */
    open_bundle(3, &three, 9, 1);
    asked[3].lease = 0;
    sl_channel_decide(channel, &second);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(bundles[i].status, SLUICE_STORE_DOWN);
    assert_int_equal(parcels_done, 2); /* each when all of it was answered */
}

/* The batch that finds a lease due calls for it, and the call to the old master is lost with its
 * connection. */
ON_CHANNEL(what_is_due_when_the_master_changes_is_asked_of_the_new_one)
{
    sl_channel_open(channel);
    assert_string_equal(words_heard(), "ROLE | PROBE");
    say(MASTER CLOCK_FMT, redis_us());
    for (int i = 0; i < LOOKS && !sl_channel_is_up(channel); i++, turn())
        sl_sleep_us(LOOK_US / 5);
    pass_us(2 * S); /* so long that it is made again at once */
    sl_channel_tend(channel);
    sl_channel_flush(channel);
    assert_non_null(strstr(words_heard(), "rl:~reservations"));
    name_the_second();
    say("*3\r\n$16\r\n000000000000002a\r\n$16\r\n000000000000002b\r\n"
        "$16\r\n000000000000002c\r\n");
    for (int i = 0; i < LOOKS && !sl_channel_settles(channel, false); i++, turn())
        sl_sleep_us(LOOK_US / 5);
    listener = second_listener;
    assert_string_equal(words_heard(), "ROLE | PROBE");
    say(MASTER CLOCK_FMT, redis_us());
    const char *text = words_heard();
    assert_non_null(strstr(text, "000000000000002a due"));
    assert_non_null(strstr(text, "000000000000002b due"));
    assert_non_null(strstr(text, "000000000000002c due"));
}
