/* Slots as Redis computes them: CLUSTER KEYSLOT of a Redis 7.0 has said these numbers. */
#include "store/redis/cluster/slot.h"

#include "unit/base/unit.h"

static const struct {
    const char *key;
    uint32_t slot;
} rows[] = {
    { "", 0 },
    { "123456789", 12739 },
    { "foo", 12182 },
    { "{a}", 15495 },
    { "a", 15495 },
    { "x{}y", 16116 },
    { "{{a}}b", 10276 },
    { "{a", 10276 },
    { "a}", 5921 },
    { "x{a}y{b}", 15495 },
    { "}{a}", 15495 },
    { "rl:{acme}:api:u1", 11304 },
    { "rl:{acme}:api~guard:u1", 11304 },
    { "acme", 11304 },
    { "rl:-:ip:{2001%3Adb8%3A%3A1}", 14936 },
    { "{}{a}", 13650 },
    { "x{a", 6541 },
    { "\xc3\xa9{\xc3\xbc}", 9552 },
};

TEST(a_key_is_in_the_slot_that_redis_says)
{
    for (size_t i = 0; i < COUNT(rows); i++)
        SAME(rows[i].key, sl_slot_of(sl_text(rows[i].key)), rows[i].slot);
}

TEST(a_key_may_hold_any_byte)
{
    static const char key[] = "a\0{b\0c}";
    struct sluice_text whole = { key, sizeof key - 1 }, tag = { key + 3, 3 };
    assert_int_equal(sl_slot_of(whole), sl_slot_of(tag));
    assert_int_not_equal(sl_slot_of(tag), sl_slot_of(sl_text("b")));
    assert_int_equal(sl_slot_of((struct sluice_text){ 0 }), 0);
}
