/* CL.THROTTLE as redis-cell answers it. */
#include "unit/server/on_resp.h"

#define RULES "rules: [{ name: all, per: user, limit: 1/h }]\n"

/* ---- the module's own steps ---- */

/* A bucket of 5, one a second: when, how many, and what is answered. Seconds are rounded up. */
static const struct step {
    int64_t at_ms;
    const char *quantity, *answer;
} steps[] = {
    { 0, "6", "*5|:1|:5|:5|:-1|:0|" },    { 0, "1", "*5|:0|:5|:4|:-1|:1|" },
    { 0, "1", "*5|:0|:5|:3|:-1|:2|" },    { 0, "1", "*5|:0|:5|:2|:-1|:3|" },
    { 0, "1", "*5|:0|:5|:1|:-1|:4|" },    { 0, "1", "*5|:0|:5|:0|:-1|:5|" },
    { 0, "1", "*5|:1|:5|:0|:1|:5|" },     { 3000, "1", "*5|:0|:5|:2|:-1|:3|" },
    { 3100, "1", "*5|:0|:5|:1|:-1|:4|" }, /* 3.9 */
    { 4000, "1", "*5|:0|:5|:1|:-1|:4|" }, { 8000, "1", "*5|:0|:5|:4|:-1|:1|" },
    { 9500, "1", "*5|:0|:5|:4|:-1|:1|" }, { 9500, "0", "*5|:0|:5|:4|:-1|:1|" },
    { 9500, "2", "*5|:0|:5|:2|:-1|:3|" }, { 9500, "5", "*5|:1|:5|:2|:3|:3|" },
};

IN_RESP(the_steps_of_redis_cell_are_answered_as_there, RULES)
{
    int64_t start_us = model.now_us;
    for (size_t i = 0; i < COUNT(steps); i++) {
        char line[64];
        model.now_us = start_us + steps[i].at_ms * 1000;
        snprintf(line, sizeof line, "CL.THROTTLE foo 4 1 1 %s", steps[i].quantity);
        const char *answer = told(line);
        if (strcmp(answer, steps[i].answer) != 0)
            fail_msg("step %zu: %s, not %s", i, answer, steps[i].answer);
    }
}

IN_RESP(a_rest_below_a_millisecond_is_dropped, RULES)
{
    int64_t start_us = model.now_us;
    static const struct {
        int64_t at_us;
        const char *answer;
    } rows[] = {
        { 0, "*5|:0|:1|:0|:-1|:2|" },       { 1, "*5|:1|:1|:0|:2|:2|" },
        { 999000, "*5|:1|:1|:0|:2|:2|" },   { 999001, "*5|:1|:1|:0|:1|:1|" },
        { 1000000, "*5|:1|:1|:0|:1|:1|" },  { 1999000, "*5|:1|:1|:0|:1|:1|" },
        { 1999001, "*5|:1|:1|:0|:0|:0|" }, /* limited, and to be tried again in 0 s */
        { 2000000, "*5|:0|:1|:0|:-1|:2|" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        model.now_us = start_us + rows[i].at_us;
        assert_string_equal(told("CL.THROTTLE k 0 1 2"), rows[i].answer);
    }
}

/* ---- numbers ---- */

IN_RESP(a_token_has_whole_nanoseconds, RULES)
{
    int64_t start_us = model.now_us;
    /* 3 a second: 333333333 ns each, so three of them are a nanosecond less than a second */
    assert_string_equal(told("CL.THROTTLE k 2 3 1 3"), "*5|:0|:3|:0|:-1|:1|");
    model.now_us = start_us + 333333;
    assert_string_equal(told("CL.THROTTLE k 2 3 1"), "*5|:1|:3|:0|:0|:1|");
    model.now_us = start_us + 333334;
    assert_string_equal(told("CL.THROTTLE k 2 3 1"), "*5|:0|:3|:0|:-1|:1|");
}

IN_RESP(numbers_are_read_as_there, RULES)
{
    static const struct talk rows[] = {
        { "CL.THROTTLE a +4 +1 +1 +0", "*5|:0|:5|:5|:-1|:0|" },
        { "CL.THROTTLE a 04 01 01 00", "*5|:0|:5|:5|:-1|:0|" },
        { "cl.Throttle a 0 1000000000 1", "*5|:0|:1|:0|:-1|:0|" },
        { "CL.THROTTLE b 4 1 1 4294967295", "*5|:1|:5|:5|:-1|:0|" },
        { "CL.THROTTLE b 4 1 1 4294967296", "*5|:1|:5|:5|:-1|:0|" },
        { "CL.THROTTLE b 4 1 1 9223372036854775807", "*5|:1|:5|:5|:-1|:0|" },
        { "CL.THROTTLE c 4294967293 1000000 1 4294967296",
          "*5|:1|:4294967294|:4294967294|:-1|:0|" },
        { "CL.THROTTLE c 4294967294 1000000 1 4294967295", "*5|:0|:4294967295|:0|:-1|:4295|" },
        { "CL.THROTTLE b 7775999 1 1 0", "*5|:0|:7776000|:7776000|:-1|:0|" },
        { "CL.THROTTLE b 0 1 7776000", "*5|:0|:1|:0|:-1|:7776000|" },
    };
    check_talk(rows, COUNT(rows));
}

#define INTEGER "-Cell error: Couldn't parse as integer: "
#define TOO_LONG                                                                                   \
    "-Cell error: Refilling takes too long: (max_burst + 1) x period / count is at most 90 days|"
#define USAGE                                                                                      \
    "-Cell error: Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]|"

IN_RESP(what_is_no_bucket_is_refused, RULES)
{
    static const struct talk rows[] = {
        { "CL.THROTTLE", USAGE },
        { "CL.THROTTLE a 1 1", USAGE },
        { "CL.THROTTLE a 1 1 1 1 1", USAGE },
        { "CL.THROTTLE '' 1 1 1", "-Cell error: The key is empty|" },
        { "CL.THROTTLE a x 1 1", INTEGER "x|" },
        { "CL.THROTTLE a 1 1.5 1", INTEGER "1.5|" },
        { "CL.THROTTLE a 1 1 ''", INTEGER "|" },
        { "CL.THROTTLE a 1 1 -", INTEGER "-|" },
        { "CL.THROTTLE a 1 1 1 1x", INTEGER "1x|" },
        { "CL.THROTTLE a 9223372036854775808 1 1", INTEGER "9223372036854775808|" },
        { "CL.THROTTLE a -9223372036854775809 1 1", INTEGER "-9223372036854775809|" },
        { "CL.THROTTLE a \"1\\r\\n+OK\" 1 1", INTEGER "1  +OK|" },
        { "CL.THROTTLE a 1 0 1", "-Cell error: Zero rates are not supported|" },
        { "CL.THROTTLE a 1 1 0", "-Cell error: Zero rates are not supported|" },
        { "CL.THROTTLE a -1 1 1", "-Cell error: Negative numbers are not supported|" },
        { "CL.THROTTLE a 1 -1 1", "-Cell error: Negative numbers are not supported|" },
        { "CL.THROTTLE a 1 1 -1", "-Cell error: Negative numbers are not supported|" },
        { "CL.THROTTLE a 1 1 1 -1", "-Cell error: Negative numbers are not supported|" },
        { "CL.THROTTLE a -9223372036854775808 1 1",
          "-Cell error: Negative numbers are not supported|" },
        { "CL.THROTTLE a 1 1000000001 1",
          "-Cell error: Rates above 1,000,000,000 a second are not supported|" },
        { "CL.THROTTLE a 7776000 1 1", TOO_LONG },
        { "CL.THROTTLE a 0 1 7776001", TOO_LONG },
        { "CL.THROTTLE a 0 1 9223372037", TOO_LONG },
        { "CL.THROTTLE a 9223372036854775807 1 1", TOO_LONG },
        { "CL.THROTTLE a 4294967294 1000000 1 4294967296",
          "-Cell error: A quantity is at most 4294967295|" },
        { "CL.THROTTLE a 4294967295 1000000 1 4294967296",
          "-Cell error: A quantity is at most 4294967295|" },
    };
    check_talk(rows, COUNT(rows));
    assert_int_equal(model.decide_calls, 0);
}

/* ---- keys of buckets ---- */

IN_RESP(keys_are_apart_and_other_limits_share_theirs, RULES)
{
    static const struct talk rows[] = {
        { "CL.THROTTLE a 0 1 60", "*5|:0|:1|:0|:-1|:60|" },
        { "CL.THROTTLE a 0 1 60", "*5|:1|:1|:0|:60|:60|" },
        { "CL.THROTTLE b 0 1 60", "*5|:0|:1|:0|:-1|:60|" },
        { "CL.THROTTLE a 1 1 60", "*5|:0|:2|:0|:-1|:120|" }, /* one more, of the same debt */
    };
    check_talk(rows, COUNT(rows));
    check_has("SLUICE.CHECK user a key a", "$4|rule|$3|all|"); /* which counts by itself */
}

RESP_WITH_TENANTS(a_tenant_has_keys_of_its_own, WITH_TOKENS SOME_RULES)
{
    static const struct talk rows[] = {
        { "CL.THROTTLE a 0 1 60", "*5|:0|:1|:0|:-1|:60|" },
        { "AUTH sk_acme", "+OK|" },
        { "CL.THROTTLE a 0 1 60", "*5|:0|:1|:0|:-1|:60|" },
        { "CL.THROTTLE a 0 1 60", "*5|:1|:1|:0|:60|:60|" },
        { "AUTH sk_bolt", "+OK|" },
        { "CL.THROTTLE a 0 1 60", "*5|:0|:1|:0|:-1|:60|" },
        { "AUTH sk_acme_free", "+OK|" },
        { "CL.THROTTLE a 0 1 60", "*5|:1|:1|:0|:60|:60|" },
        { "RESET", "+RESET|" },
        { "CL.THROTTLE a 0 1 60", "*5|:1|:1|:0|:60|:60|" },
    };
    check_talk(rows, COUNT(rows));
}

/* ---- a store that fails ---- */

IN_RESP(a_store_that_fails_lets_pass_or_is_an_error_never_a_limit, RULES)
{
    model.status = SLUICE_STORE_DOWN;
    assert_string_equal(told("CL.THROTTLE a 4 1 1"), "*5|:0|:5|:-1|:-1|:0|");
    stage_go_over(&stage, stage_edition("on_store_failure: deny\n" RULES, &model.store, 1));
    assert_string_equal(told("CL.THROTTLE a 4 1 1"),
                        "-Cell error: the store of the counts does not answer, and the rules deny "
                        "then|");
}
