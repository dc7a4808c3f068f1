/* Members of a request given as words; as JSON they are tested in test_json_request.c. */
#include "wire/json/request_member.h"

#include "unit/base/unit.h"

static struct sl_json_room room;
static struct sl_members members;
static struct sluice_request request;

static void begin_request(void)
{
    request = sluice_request();
    members = sl_members(&room, &request);
}

static bool put_word(const char *name, const char *value)
{
    return sl_members_put_word(&members, sl_text(name), sl_text(value));
}

TEST(words_are_what_their_member_wants)
{
    begin_request();
    assert_true(put_word("user", "17") && put_word("cost", "3") && put_word("peek", "1") &&
                put_word("wait", "false"));
    assert_true(put_word("explain", "true") && put_word("trust_score", "0.25") &&
                put_word("plan", "true"));
    assert_true(put_word("at_us", "5") && put_word("ip", ""));
    SAME_TEXT("user", request.user, "17");
    assert_int_equal(request.cost, 3);
    assert_true(request.peek && !request.wait && request.explain);
    assert_int_equal(request.trust_thousandths, 250);
    assert_int_equal(request.at_us, 5);
    assert_int_equal(request.other_count, 1);
    SAME_TEXT("name", request.others[0].name, "plan");
    SAME_TEXT("value", request.others[0].value, "true");
}

TEST(other_words_are_refused)
{
    static const struct {
        const char *name, *value, *error;
    } rows[] = {
        { "cost", "-1", "`cost` must be a whole number from 0 to 4294967295" },
        { "cost", "4294967296", "`cost` must be a whole number from 0 to 4294967295" },
        { "cost", "1.0", "`cost` must be a whole number from 0 to 4294967295" },
        { "cost", "", "`cost` must be a whole number from 0 to 4294967295" },
        { "trust_score", "1.1", "`trust_score` must be a number from 0 to 1" },
        { "trust_score", "-0.1", "`trust_score` must be a number from 0 to 1" },
        { "trust_score", "high", "`trust_score` must be a number from 0 to 1" },
        { "trust_score", "1e0", "`trust_score` must be a number from 0 to 1" },
        { "peek", "yes", "`peek` must be true or false" },
        { "explain", "", "`explain` must be true or false" },
        { "at_us", "now",
          "`at_us` must be a whole number of microseconds from 0 to 4400000000000000" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        begin_request();
        assert_false(put_word(rows[i].name, rows[i].value));
        assert_string_equal(room.error, rows[i].error);
        assert_true(room.unfit);
    }
}

TEST(nothing_is_given_twice)
{
    static const char *const names[] = { "user", "cost", "peek", "plan" };
    for (size_t i = 0; i < COUNT(names); i++) {
        char error[64];
        begin_request();
        assert_true(put_word(names[i], "1"));
        assert_false(put_word(names[i], "1"));
        snprintf(error, sizeof error, "`%s` is given twice", names[i]);
        assert_string_equal(room.error, error);
    }
}

TEST(there_is_room_for_64_names_of_their_own)
{
    static char names[65][8];
    begin_request();
    for (size_t i = 0; i < 65; i++) {
        snprintf(names[i], sizeof names[i], "a%zu", i);
        assert_int_equal(put_word(names[i], "x"), i < 64);
    }
    assert_non_null(strstr(room.error, "`a64` is one attribute too many"));
}
