/* Reservations in a cluster: settled claim by claim, whatever becomes of a slot meanwhile; and
 * those whose time has come. */
#include "unit/store/scattered.h"

TESTS_ALONE;

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (; (text = strstr(text, part)); text++)
        count++;
    return count;
}

static size_t keeper_of(uint64_t id)
{
    char tag[8];
    snprintf(tag, sizeof tag, "%u", (unsigned)(id % SL_HELD_SHARDS));
    return node_of(sl_slot_of(sl_text(tag)));
}

static int settlements_done;

static void on_settled(struct sl_settlement *settlement)
{
    (void)settlement;
    settlements_done++;
}

static void say_fields_at(size_t node, const char *const *fields, size_t count)
{
    char text[2048];
    size_t len = (size_t)snprintf(text, sizeof text, "*%zu\r\n", count);
    for (size_t i = 0; i < count; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "$%zu\r\n%s\r\n", strlen(fields[i]),
                                fields[i]);
    say_at(node, "%s", text);
}

static struct sl_settlement settlement;

/* Takes it from its keeper: 3 units on two nodes, or of two claims of one. */
static void take_settlement(uint32_t cost, size_t one, size_t two)
{
    char first[64], second[64];
    name_keys();
    snprintf(first, sizeof first, "fixed_window 5 60000000 0 %s", keys[one]);
    snprintf(second, sizeof second, "fixed_window 5 60000000 0 %s%s", keys[two],
             one == two ? "b" : "");
    const char *fields[] = { "cost",   "3",    "expires",  "1700000000000000",
                             "claim1", first,  "charged1", "1690000000000000",
                             "claim2", second, "charged2", "1690000000000001" };
    size_t keeper = keeper_of(42);
    settlement = (struct sl_settlement){ .id = 42, .cost = cost, .done = on_settled };
    settlements_done = 0;
    sl_channel_settle(channel, &settlement);
    sl_channel_flush(channel);
    assert_true(has(heard_at(keeper), "CALL 2 rl:~reservation:{10}:000000000000002a "
                                      "rl:~reservations:{10} "));
    say_fields_at(keeper, fields, COUNT(fields));
}

static void expect_settled(int status)
{
    assert_int_equal(settlements_done, 1);
    assert_int_equal(settlement.status, status);
}

ON_A_CHANNEL(a_reservation_is_settled_slot_by_slot)
{
    take_settlement(1, 0, 2);
    const char *text = heard_at(0);
    assert_true(has(text, keys[0]) && has(text, "refund 2 1690000000000000"));
    text = heard_at(2);
    assert_true(has(text, keys[2]) && has(text, "refund 2 1690000000000001"));
    say_at(0, CLOCK_FMT, redis_us());
    assert_int_equal(settlements_done, 0);
    say_at(2, CLOCK_FMT, redis_us());
    expect_settled(SLUICE_OK);
    assert_false(sl_channel_settles(channel, true));
}

/* While a slot moves, a script with two keys of it is refused and one with one key is not. */
ON_A_CHANNEL(claims_of_one_slot_are_changed_one_by_one)
{
    take_settlement(0, 1, 1);
    const char *text = heard_at(1);
    assert_int_equal(count_of(text, "CALL 1 "), 2);
    assert_int_equal(count_of(text, "refund 3 "), 2);
    say_at(1, "-ASK 9999 127.0.0.1:%d\r\n", fakes[0].port);
    assert_true(has(heard_at(0), "ASKING | CALL 1 "));
    say_at(1, CLOCK_FMT, redis_us());
    say_at(0, "+OK\r\n" CLOCK_FMT, redis_us());
    expect_settled(SLUICE_OK);
}

/* The node refuses, and the call has certainly not run: the caller is told, and it is done later.
 */
ON_A_CHANNEL(what_cannot_be_changed_now_is_changed_later)
{
    static const uint32_t costs[] = { 0, 10 };
    static const char *const changes[] = { "refund 3 ", "overcharge 7 " };
    for (size_t i = 0; i < COUNT(costs); i++) {
        take_settlement(costs[i], 0, 2);
        assert_true(has(heard_at(0), changes[i]));
        say_at(2, CLOCK_FMT, redis_us());
        say_at(0, "-LOADING Redis is loading the dataset in memory\r\n");
        expect_settled(SLUICE_STORE_DOWN);
        assert_true(sl_channel_settles(channel, true));
        assert_false(sl_channel_settles(channel, false)); /* no caller is to wait for it */
        bool is_done = false;
        for (int turns = 0; turns < 400 && !is_done; turns++) {
            pass_all_us(10 * MS);
            for (size_t n = 0; n < NODES; n++) {
                const char *text = heard_at(n);
                is_done |= n == 0 && has(text, changes[i]);
                if (has(text, "PROBE") || (n == 0 && has(text, changes[i])))
                    say_at(n, CLOCK_FMT, redis_us());
                else if (has(text, "CLUSTER SLOTS"))
                    say_map_at(n, NULL);
            }
        }
        SAME(changes[i], is_done, true);
        SAME(changes[i], settlements_done, 1);
        SAME(changes[i], sl_channel_settles(channel, true), false);
    }
    assert_int_equal(shared.undos[SL_UNDO_DONE], 4);
}

ON_A_CHANNEL(what_may_have_been_changed_is_not_changed_again)
{
    take_settlement(0, 0, 2);
    heard_at(0);
    heard_at(2);
    say_at(2, CLOCK_FMT, redis_us());
    hang_up_at(0);
    turn_all();
    expect_settled(SLUICE_STORE_DOWN);
    assert_false(sl_channel_settles(channel, true));
    assert_int_equal(shared.undos[SL_UNDO_UNSURE], 1);
}

ON_A_CHANNEL(what_is_to_be_changed_ends_with_the_channel)
{
    take_settlement(0, 0, 2);
    say_at(0, "-LOADING Redis is loading the dataset in memory\r\n");
    assert_int_equal(settlements_done, 0);
    sl_channel_free(channel);
    expect_settled(SLUICE_STORE_DOWN);
    channel = NULL;
    assert_int_equal(shared.undos[SL_UNDO_GIVEN_UP] + shared.undos[SL_UNDO_UNSURE], 2);
}

/* ---- sweeps ---- */

ON_A_CHANNEL(every_shard_is_swept)
{
    size_t found = 0;
    sl_channel_tend(channel);
    sl_channel_flush(channel);
    for (size_t n = 0; n < NODES; n++)
        for (const char *at = heard_at(n); (at = strstr(at, "CALL 1 rl:~reservations:{")); at++)
            found++;
    assert_int_equal(found, SL_HELD_SHARDS);
}
