/* What is asked over a link, and what becomes of its answers: parcels, settlements, sweeps. */
#include "store/redis/channel.h"

#include "store/redis/redis.h"
#include "unit/store/fake_redis.h"

TESTS_ALONE;

static struct sl_channel *channel;

static void channel_is_ready(void)
{
    sl_channel_on_ready(channel, watched_fd);
}

static void channel_is_due(void)
{
    sl_channel_on_time(channel);
}

static struct sl_channel *new_channel(void)
{
    struct sl_link_host host = { NULL, watch, wake_at, false, NULL, NULL };
    struct sl_channel *made = sl_channel_new(&shared, &host);
    assert_non_null(made);
    return made;
}

static int open_channel(void **unused)
{
    if (start_redis(unused) != 0)
        return -1;
    on_ready = channel_is_ready;
    on_time = channel_is_due;
    open_target(NULL, NULL, 0);
    channel = new_channel();
    sl_channel_open(channel);
    assert_string_equal(heard(), "PROBE");
    say(CLOCK_FMT, redis_us());
    assert_true(sl_channel_is_up(channel));
    return 0;
}

static int close_channel(void **unused)
{
    sl_channel_free(channel);
    sl_scripts_release(&shared.scripts);
    close_target();
    return stop_redis(unused);
}

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (; (text = strstr(text, part)); text++)
        count++;
    return count;
}

/* ---- parcels ---- */

static const struct sl_claim_name name = { .key = SL_TEXT("rl:-:a:{u}") };
static int parcels_done;

static void on_parcel(struct sl_parcel *parcel)
{
    (void)parcel;
    parcels_done++;
}

static struct sl_claim claim_on(const struct sl_algo *algo)
{
    struct sl_claim claim = { .algo = algo, .name = &name };
    claim.limit.capacity = 5;
    claim.limit.window_us = 60 * S;
    claim.ring_len = algo->keeps_ring ? 5 : 0;
    return claim;
}

static struct sl_bundle bundle_of(struct sl_claim *claim)
{
    return (struct sl_bundle){
        .now_us = -1, .cost = 1, .max_delay_us = -1, .claims = claim, .claim_count = 1, .status = 99
    };
}

static void send_parcel(struct sl_parcel *parcel)
{
    parcels_done = 0;
    parcel->done = on_parcel;
    sl_channel_decide(channel, parcel);
    sl_channel_flush(channel);
}

#define ON_A_CHANNEL(test) TEST_WITH(test, open_channel, close_channel)

ON_A_CHANNEL(a_parcel_is_done_when_its_last_bundle_is)
{
    struct sl_claim claims[] = { claim_on(&sl_fixed_window),
                                 { .no_key = true },
                                 claim_on(&sl_fixed_window) };
    struct sl_bundle bundles[] = { bundle_of(&claims[0]), bundle_of(&claims[1]),
                                   bundle_of(&claims[2]) };
    struct sl_parcel parcel = { .bundles = bundles, .count = 3 };
    send_parcel(&parcel);
    assert_int_equal(count_of(heard(), "CALL"), 2);
    assert_int_equal(bundles[1].status, SLUICE_OK); /* nothing to ask */
    assert_false(bundles[1].allowed);
    say_packed((int64_t[]){ redis_us(), 1, 0, 0, 0 }, 5);
    assert_int_equal(parcels_done, 0);
    say("-OOM command not allowed\r\n");
    assert_int_equal(parcels_done, 1);
    assert_int_equal(bundles[0].status, SLUICE_OK);
    assert_int_equal(claims[0].figures.remaining, 4);
    assert_int_equal(bundles[2].status, SLUICE_STORE_FULL);
}

ON_A_CHANNEL(a_parcel_of_nothing_is_done_at_once)
{
    struct sl_parcel parcel = { .count = 0 };
    send_parcel(&parcel);
    assert_int_equal(parcels_done, 1);
}

/* For want of memory, when they were made. */
ON_A_CHANNEL(a_claim_that_should_have_a_name_and_has_none_is_not_asked)
{
    struct sl_claim claim = claim_on(&sl_fixed_window);
    struct sl_bundle bundle = bundle_of(&claim);
    struct sl_parcel parcel = { .bundles = &bundle, .count = 1 };
    claim.name = NULL;
    send_parcel(&parcel);
    assert_int_equal(parcels_done, 1);
    assert_int_equal(bundle.status, SLUICE_NO_MEMORY);
    assert_string_equal(heard(), "");
}

/* The nonce of a decision on a log: of five words of 16 characters the one that is in hex. */
static void take_nonce(char out[17])
{
    struct sl_claim claim = claim_on(&sl_sliding_window_log);
    struct sl_bundle bundle = bundle_of(&claim);
    struct sl_parcel parcel = { .bundles = &bundle, .count = 1 };
    send_parcel(&parcel);
    const char *behind = strstr(heard(), " 60000000:");
    assert_non_null(behind);
    memcpy(out, behind - 16, 16);
    out[16] = 0;
    assert_int_equal(strspn(out, "0123456789abcdef"), 16);
    say_packed((int64_t[]){ redis_us(), 1, -1, 0, -1 }, 5);
    assert_int_equal(bundle.status, SLUICE_OK);
}

ON_A_CHANNEL(no_two_calls_of_any_channels_have_the_same_nonce)
{
    enum { CALLS = 100 };
    char nonces[CALLS][17];
    for (int i = 0; i < CALLS; i++) {
        if (i % 10 == 9) { /* another one */
            sl_channel_free(channel);
            channel = new_channel();
            sl_channel_open(channel);
            heard();
            say(CLOCK_FMT, redis_us());
        }
        take_nonce(nonces[i]);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(nonces[i], nonces[j]);
    }
}

/* ---- settlements ---- */

static int settlements_done;

static void on_settled(struct sl_settlement *settlement)
{
    (void)settlement;
    settlements_done++;
}

static void begin_settling(struct sl_settlement *settlement, uint32_t cost)
{
    *settlement = (struct sl_settlement){ .id = 42, .cost = cost, .done = on_settled };
    settlements_done = 0;
    sl_channel_settle(channel, settlement);
    sl_channel_flush(channel);
    const char *text = heard();
    assert_true(has(text, "CALL 2 rl:~reservation:{000000000000002a} rl:~reservations"));
    assert_true(has(text, "000000000000002a held"));
}

/* A reservation's fields, texts one after another. */
static void say_fields(const char *const *fields, size_t count)
{
    char text[2048];
    size_t len = (size_t)snprintf(text, sizeof text, "*%zu\r\n", count);
    for (size_t i = 0; i < count; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "$%zu\r\n%s\r\n", strlen(fields[i]),
                                fields[i]);
    say("%s", text);
    sl_channel_flush(channel);
}

#define HELD                                                                                       \
    "cost", "3", "expires", "1700000000000000", "claim1", "token_bucket 5 100000000 0 k1",         \
        "charged1", "1690000000000000", "claim2", "fixed_window 5 60000000 0 k2", "charged2",      \
        "1690000000000001"

ON_A_CHANNEL(a_reservation_is_taken_and_then_its_charges_are_changed)
{
    static const char *const fields[] = { HELD };
    static const struct {
        uint32_t cost;
        const char *first, *second;
    } rows[] = {
        { 0, "refund 3 1690000000000000 fixed", "refund 3 1690000000000001" },
        { 1, "refund 2 1690000000000000 fixed", "refund 2 1690000000000001" },
        { 10, "overcharge 7 1690000000000000 fixed", "overcharge 7 1690000000000001" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_settlement settlement;
        begin_settling(&settlement, rows[i].cost);
        say_fields(fields, COUNT(fields));
        assert_int_equal(settlements_done, 0);
        const char *text = heard();
        SAME(rows[i].first, has(text, "CALL 2 k1 k2 "), true);
        SAME(rows[i].first, has(text, rows[i].first), true);
        SAME(rows[i].first, has(text, rows[i].second), true);
        say(":1\r\n");
        SAME(rows[i].first, settlements_done, 1);
        SAME(rows[i].first, settlement.status, SLUICE_OK);
    }
}

ON_A_CHANNEL(what_needs_no_change_is_settled_at_once)
{
    static const char *const as_held[] = { HELD };
    static const char *const odd[] = { "cost", "x", "claim1", "token_bucket 5 0 0 k1", "claim2" };
    static const char *const nobodys[] = {
        "cost", "3", "claim1", "nothing of ours", "charged1", "1"
    };
    static const struct {
        const char *const *fields;
        size_t count;
        int status;
    } rows[] = {
        { as_held, COUNT(as_held), SLUICE_OK }, { odd, COUNT(odd), SLUICE_OK },
        { nobodys, COUNT(nobodys), SLUICE_OK }, { NULL, 0, SLUICE_NO_RESERVATION },
        { as_held, 1, SLUICE_NO_RESERVATION },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char row[16];
        struct sl_settlement settlement;
        snprintf(row, sizeof row, "row %zu", i);
        begin_settling(&settlement, 3);
        say_fields(rows[i].fields, rows[i].count);
        SAME(row, settlements_done, 1);
        SAME(row, settlement.status, rows[i].status);
        SAME_TEXT(row, sl_text(heard()), "");
    }
}

ON_A_CHANNEL(a_settlement_fails_with_either_of_its_calls)
{
    static const char *const fields[] = { HELD };
    struct sl_settlement settlement;
    begin_settling(&settlement, 1);
    say("-ERR no\r\n");
    assert_int_equal(settlements_done, 1);
    assert_int_equal(settlement.status, SLUICE_STORE_DOWN);
    begin_settling(&settlement, 1);
    say_fields(fields, COUNT(fields));
    say("-OOM no memory\r\n");
    assert_int_equal(settlements_done, 1);
    assert_int_equal(settlement.status, SLUICE_STORE_FULL);
    heard();
    begin_settling(&settlement, 1);
    pass_us(DEADLINE_US);
    assert_int_equal(settlements_done, 1);
    assert_int_equal(settlement.status, SLUICE_STORE_DOWN);
}

/* ---- sweeps ---- */

ON_A_CHANNEL(what_is_due_is_given_back_about_once_a_second)
{
    sl_channel_tend(channel);
    sl_channel_tend(channel);
    sl_channel_flush(channel);
    assert_int_equal(count_of(heard(), "CALL 1 rl:~reservations"), 1);
    assert_false(sl_channel_settles(channel, true)); /* nothing was taken away yet */
    say_fields((const char *[]){ "000000000000002a", "ffffffffffffffff" }, 2);
    assert_true(sl_channel_settles(channel, false));
    const char *text = heard();
    assert_true(has(text, "{000000000000002a}") && has(text, "000000000000002a due"));
    assert_true(has(text, "{ffffffffffffffff}") && has(text, "ffffffffffffffff due"));
    say_fields((const char *[]){ HELD }, 12);
    say("*0\r\n"); /* another node has it */
    text = heard();
    assert_int_equal(count_of(text, "refund 3 "), 2); /* all of it, once */
    assert_true(sl_channel_settles(channel, false));
    say(":1\r\n");
    assert_false(sl_channel_settles(channel, true));
    pass_us(S);
    sl_channel_tend(channel);
    sl_channel_flush(channel);
    assert_int_equal(count_of(heard(), "CALL 1 rl:~reservations"), 1);
    say_fields((const char *[]){ "", "no number", "0123456789abcdef0123456789abcdef" }, 3);
    heard(); /* whatever they are: freeing the channel ends all */
}

ON_A_CHANNEL(nothing_is_swept_while_redis_is_away)
{
    hang_up();
    turn();
    sl_channel_tend(channel);
    sl_channel_flush(channel);
    pass_us(20 * MS);
    assert_string_equal(heard(), "PROBE");
}
