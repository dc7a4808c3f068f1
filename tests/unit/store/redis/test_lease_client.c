/* Leases over a channel: which calls are made, which claims wait for them, and their results. */
#include "store/redis/lease_client.h"

#include "base/clock.h"
#include "store/redis/channel.h"
#include "store/redis/redis.h"
#include "unit/store/fake_redis.h"

TESTS_ALONE;

enum { MOST = 64, CAPACITY = 100000 };

static struct sl_channel *channel;
static struct sl_claim claims[2 * MOST];
static struct sl_bundle bundles[MOST];
static struct sl_parcel parcel;
static int parcels_done;

static const struct sl_claim_name name = { .key = SL_TEXT("rl:-:a:{u}") };
static const struct sl_claim_name other_name = { .key = SL_TEXT("rl:-:b:{u}") };

static void channel_is_ready(void)
{
    sl_channel_on_ready(channel, watched_fd);
}

static void channel_is_due(void)
{
    sl_channel_on_time(channel);
}

static int open_channel(void **unused)
{
    struct sl_link_host host = { NULL, watch, wake_at, false, NULL, NULL };
    if (start_redis(unused) != 0)
        return -1;
    on_ready = channel_is_ready;
    on_time = channel_is_due;
    open_target(NULL, NULL, 0);
    shared.answers = sl_answer_cache_new();
    channel = sl_channel_new(&shared, &host);
    assert_non_null(channel);
    sl_channel_open(channel);
    assert_string_equal(heard(), "PROBE");
    say(CLOCK_FMT, redis_us());
    return 0;
}

static int close_channel(void **unused)
{
    boot_us = 0;
    sl_channel_free(channel);
    sl_answer_cache_free(shared.answers);
    shared.answers = NULL;
    sl_scripts_release(&shared.scripts);
    close_target();
    return stop_redis(unused);
}

static size_t calls_in(const char *text)
{
    size_t count = 0;
    for (; (text = strstr(text, "CALL")); text++)
        count++;
    return count;
}

static void on_parcel(struct sl_parcel *done)
{
    (void)done;
    parcels_done++;
}

static struct sl_claim claim_on(const struct sl_claim_name *key, int64_t lease)
{
    struct sl_claim claim = { .algo = &sl_fixed_window, .name = key, .lease = lease };
    claim.key = (struct sl_hash128){ key == &name, 7 };
    claim.limit.capacity = CAPACITY;
    claim.limit.window_us = 3600 * S;
    return claim;
}

/* As many requests at once, each with the claim that is leased and maybe one that is not. */
static void ask(size_t count, size_t claims_each)
{
    for (size_t i = 0; i < count; i++) {
        struct sl_claim *own = &claims[2 * i];
        own[0] = claim_on(&name, SL_LEASE_BY_DEMAND);
        own[1] = claim_on(&other_name, 0);
        bundles[i] = (struct sl_bundle){ .now_us = -1,
                                         .cost = 1,
                                         .max_delay_us = -1,
                                         .claims = own,
                                         .claim_count = claims_each,
                                         .status = 99 };
    }
    parcel = (struct sl_parcel){ .bundles = bundles, .count = count, .done = on_parcel };
    parcels_done = 0;
    sl_channel_decide(channel, &parcel);
    sl_channel_flush(channel);
}

static int64_t window_us(void)
{
    return redis_us() / (3600 * S) * 3600 * S;
}

static void say_decided(bool allowed, int64_t count)
{
    say_packed((int64_t[]){ redis_us(), allowed, window_us(), count, 0 }, 5);
}

static void say_lent(int64_t granted, int64_t count)
{
    int64_t now_us = redis_us(), term_us = now_us / S * S + 2 * S;
    say_packed((int64_t[]){ now_us, 1, granted, term_us, term_us, granted, window_us(), count, 0 },
               9);
}

static size_t count_with(int status, bool allowed)
{
    size_t found = 0;
    for (size_t i = 0; i < parcel.count; i++)
        found +=
            bundles[i].status == status && (status != SLUICE_OK || bundles[i].allowed == allowed);
    return found;
}

static uint32_t left(void)
{
    struct sl_claim claim = claim_on(&name, SL_LEASE_BY_DEMAND);
    return sl_leases_left(sl_answer_cache_leases(shared.answers), &claim, sl_boottime_us());
}

/* Seven are decided one by one; the eighth in that second makes a call for a lease. */
static void make_busy(size_t count)
{
    boot_us = sl_boottime_us(); /* all of it happens in one second, on a busy machine too */
    ask(count, 1);
    assert_int_equal(calls_in(heard()), 8);
    for (int i = 0; i < 7; i++)
        say_decided(true, i);
}

#define WITH_SETUP(test) TEST_WITH(test, open_channel, close_channel)

WITH_SETUP(a_burst_on_a_busy_claim_waits_for_one_call)
{
    make_busy(20);
    assert_int_equal(parcels_done, 0);
    say_lent(8, 7); /* for itself and seven of twelve */
    assert_int_equal(count_with(SLUICE_OK, true), 15);
    assert_int_equal(calls_in(heard()), 1);
    say_lent(96, 15);
    assert_int_equal(parcels_done, 1);
    assert_int_equal(count_with(SLUICE_OK, true), 20);
    assert_int_equal(left(), 91);
    assert_int_equal(claims[2 * 19].figures.remaining, CAPACITY - 20);
}

WITH_SETUP(a_call_that_is_denied_denies_the_claims_that_wait)
{
    make_busy(20);
    say_lent(0, CAPACITY);
    assert_int_equal(parcels_done, 1);
    assert_int_equal(count_with(SLUICE_OK, true), 7);
    assert_int_equal(count_with(SLUICE_OK, false), 13);
    assert_string_equal(heard(), "");
    int64_t wait_us = claims[2 * 7].answer.retry_after_us; /* until the window's end */
    assert_in_range(claims[2 * 19].answer.retry_after_us, wait_us - wait_us / 2, wait_us);
    assert_int_equal(claims[2 * 7].figures.remaining, 0);
}

WITH_SETUP(claims_that_wait_for_a_call_that_fails_fail_with_it)
{
    make_busy(20);
    hang_up();
    turn();
    assert_int_equal(parcels_done, 1);
    assert_int_equal(count_with(SLUICE_OK, true), 7);
    assert_int_equal(count_with(SLUICE_STORE_DOWN, false), 13);
    assert_int_equal(left(), 0);
}

/* L10 */
WITH_SETUP(what_was_taken_goes_back_unless_the_store_allows_the_rest)
{
    make_busy(8);
    say_lent(96, 7);
    assert_int_equal(left(), 95);
    for (int allowed = 0; allowed < 2; allowed++) {
        ask(1, 2);
        const char *said = heard();
        assert_int_equal(calls_in(said), 1);
        assert_null(strstr(said, "rl:-:a:")); /* it is not asked about */
        assert_non_null(strstr(said, "rl:-:b:"));
        assert_int_equal(left(), 94);
        say_decided(allowed, allowed ? 3 : CAPACITY);
        assert_int_equal(parcels_done, 1);
        assert_int_equal(bundles[0].status, SLUICE_OK);
        assert_int_equal(bundles[0].allowed, allowed);
        assert_int_equal(claims[0].charged, allowed);
        assert_int_equal(left(), allowed ? 94 : 95);
    }
}

WITH_SETUP(what_is_never_leased_is_asked)
{
    make_busy(8);
    say_lent(96, 7);
    for (int i = 0; i < 4; i++) {
        ask(0, 1);
        claims[0] = claim_on(&name, SL_LEASE_BY_DEMAND);
        bundles[0] = (struct sl_bundle){ .now_us = i == 0 ? 5 : -1,
                                         .cost = 1,
                                         .peek = i == 1,
                                         .max_delay_us = i == 2 ? 10 : -1,
                                         .wants_all = i == 3,
                                         .claims = claims,
                                         .claim_count = 1 };
        parcel = (struct sl_parcel){ .bundles = bundles, .count = 1, .done = on_parcel };
        sl_channel_decide(channel, &parcel);
        sl_channel_flush(channel);
        assert_non_null(strstr(heard(), "rl:-:a:"));
        say_decided(true, 103);
        assert_int_equal(bundles[0].status, SLUICE_OK);
        assert_int_equal(left(), 95);
        if (i == 1) /* what is left here too */
            assert_int_equal(claims[0].figures.remaining, CAPACITY - 103 + 95);
    }
}

WITH_SETUP(leases_are_given_back_in_one_pipeline)
{
    size_t next = 0;
    make_busy(10);
    say_lent(96, 7);
    assert_int_equal(sl_channel_give_back(channel, NULL, &next), 1);
    assert_int_equal(next, SL_LEASES_MAX);
    assert_int_equal(left(), 0);
    sl_channel_flush(channel);
    assert_non_null(strstr(heard(), " 3 0 93 0 0")); /* spent, kept, given back; wants nothing */
    assert_true(sl_channel_has_lease_calls(channel));
    say_lent(0, 10);
    assert_false(sl_channel_has_lease_calls(channel));
}

/* Another thread calls, and does not come to hear its answer. */
WITH_SETUP(a_claim_that_waits_for_another_thread_s_call_has_time_left_to_ask)
{
    struct sl_claim claim = claim_on(&name, SL_LEASE_BY_DEMAND);
    struct sl_leases *leases = sl_answer_cache_leases(shared.answers);
    struct sl_lease *lease =
        sl_leases_want(leases, &claim, (struct sl_ask){ sl_boottime_us(), 9 }, 9);
    assert_non_null(lease);
    ask(1, 1);
    assert_string_equal(heard(), "");
    pass_us(DEADLINE_US / 2 - 2 * MS);
    assert_string_equal(heard(), "");
    pass_us(4 * MS);
    assert_int_equal(calls_in(heard()), 1);
    say_decided(true, 3);
    assert_int_equal(parcels_done, 1);
    assert_int_equal(count_with(SLUICE_OK, true), 1);
    sl_lease_keep(lease, sl_boottime_us());
}

/* It makes no further calls: there is no connection. */
WITH_SETUP(a_channel_that_ends_fails_claims_that_wait_for_another_thread_s_call)
{
    struct sl_leases *leases = sl_answer_cache_leases(shared.answers);
    struct sl_claim called = claim_on(&name, SL_LEASE_BY_DEMAND);
    struct sl_claim low = claim_on(&other_name, SL_LEASE_BY_DEMAND);
    struct sl_ask nine = { sl_boottime_us(), 9 };
    int64_t now_us = redis_us(), term_us = now_us / S * S + 2 * S, ahead_us;
    struct sl_lease_reply reply = { .now_us = now_us,
                                    .is_known = true,
                                    .granted = 40,
                                    .term_us = term_us,
                                    .end_us = term_us,
                                    .out = 40,
                                    .told = { window_us() } };
    struct sl_lease *lease = sl_leases_want(leases, &low, nine, 9);
    assert_true(sl_lease_answer(leases, lease, &reply, nine.now_us));
    assert_non_null(lease = sl_leases_want(leases, &called, nine, 9));
    ask(1, 1);
    nine.cost = 31;
    assert_true(sl_leases_take(leases, &low, nine, &ahead_us, sl_lease_ticket_of(&low)));
    assert_true(sl_leases_any_due(leases));
    sl_channel_free(channel);
    channel = NULL;
    assert_int_equal(parcels_done, 1);
    assert_int_equal(count_with(SLUICE_STORE_DOWN, false), 1);
    sl_lease_keep(lease, sl_boottime_us());
}
