/* Replies, in both forms, byte by byte. */
#include "wire/resp/print.h"

#include "unit/base/unit.h"
#include "wire/json/decision.h"

static struct sl_buffer bytes;

static struct sl_resp_out to(enum sl_resp_form form)
{
    sl_buffer_release(&bytes);
    bytes = sl_buffer(1 << 20);
    return (struct sl_resp_out){ &bytes, form };
}

static void is(const char *wanted)
{
    SAME_TEXT("printed", ((struct sluice_text){ bytes.at, bytes.len }), wanted);
}

/* In RESP2 and in RESP3. */
#define PRINTS(two, three, call, ...)                                                              \
    do {                                                                                           \
        call(to(SL_RESP2) __VA_ARGS__);                                                            \
        is(two);                                                                                   \
        call(to(SL_RESP3) __VA_ARGS__);                                                            \
        is(three);                                                                                 \
    } while (0)
#define BOTH(one, call, ...) PRINTS(one, one, call, __VA_ARGS__)

TEST(values_have_the_types_of_their_form)
{
    BOTH(":0\r\n", sl_resp_print_integer, , 0);
    BOTH(":-1\r\n", sl_resp_print_integer, , -1);
    BOTH(":-9223372036854775808\r\n", sl_resp_print_integer, , INT64_MIN);
    BOTH(":9223372036854775807\r\n", sl_resp_print_integer, , INT64_MAX);
    BOTH("$0\r\n\r\n", sl_resp_print_bulk, , SL_TEXT(""));
    BOTH("$4\r\na\r\nb\r\n", sl_resp_print_bulk, , SL_TEXT("a\r\nb"));
    BOTH("+OK\r\n", sl_resp_print_simple, , SL_TEXT("OK"));
    BOTH("*0\r\n", sl_resp_print_array, , 0);
    BOTH("*12\r\n", sl_resp_print_array, , 12);
    PRINTS("$-1\r\n", "_\r\n", sl_resp_print_null, );
    PRINTS(":1\r\n", "#t\r\n", sl_resp_print_bool, , true);
    PRINTS(":0\r\n", "#f\r\n", sl_resp_print_bool, , false);
    PRINTS("*6\r\n", "%3\r\n", sl_resp_print_map, , 3);
    PRINTS("*3\r\n", "~3\r\n", sl_resp_print_set, , 3);
    PRINTS("$2\r\nhi\r\n", "=6\r\ntxt:hi\r\n", sl_resp_print_verbatim, , SL_TEXT("hi"));
}

TEST(an_error_stays_on_its_line)
{
    BOTH("-ERR what\r\n", sl_resp_print_error, , "ERR", SL_TEXT("what"));
    BOTH("-ERR a  +OK b\r\n", sl_resp_print_error, , "ERR",
         SL_TEXT("a\r\n+OK\x7f"
                 "b"));
    BOTH("-NOAUTH \xc3\xa9 \r\n", sl_resp_print_error, , "NOAUTH", SL_TEXT("\xc3\xa9\0"));
}

/* ---- decisions ---- */

static const struct sluice_decision allowed = {
    .allowed = true,
    .reason = SLUICE_REASON_OK,
    .rule = "api",
    .algorithm = "token_bucket",
    .limit = 150,
    .remaining = 149,
    .reset_at_us = 1700000000100000,
};

TEST(a_decision_is_a_map)
{
    static const struct sluice_decision nobody = {
        .allowed = true,
        .reason = SLUICE_REASON_NO_RULE,
        .limit = SLUICE_NONE,
        .remaining = SLUICE_NONE,
        .reset_at_us = SLUICE_NONE,
    };
    sl_resp_print_decision(to(SL_RESP3), &allowed, NULL, 0);
    is("%11\r\n$7\r\nallowed\r\n#t\r\n$4\r\nrule\r\n$3\r\napi\r\n$9\r\nalgorithm\r\n$12\r\n"
       "token_bucket\r\n$6\r\nreason\r\n$2\r\nok\r\n$5\r\nlimit\r\n:150\r\n$9\r\nremaining\r\n"
       ":149\r\n$11\r\nreset_at_us\r\n:1700000000100000\r\n$14\r\nretry_after_us\r\n:0\r\n$8\r\n"
       "delay_us\r\n:0\r\n$8\r\nreset_at\r\n:1700000001\r\n$11\r\nretry_after\r\n:0\r\n");
    sl_resp_print_decision(to(SL_RESP2), &nobody, NULL, 0);
    is("*22\r\n$7\r\nallowed\r\n:1\r\n$4\r\nrule\r\n$-1\r\n$9\r\nalgorithm\r\n$-1\r\n$"
       "6\r\nreason\r\n"
       "$7\r\nno_rule\r\n$5\r\nlimit\r\n$-1\r\n$9\r\nremaining\r\n:-1\r\n$11\r\nreset_at_us\r\n"
       "$-1\r\n$14\r\nretry_after_us\r\n:0\r\n$8\r\ndelay_us\r\n:0\r\n$8\r\nreset_at\r\n$-1\r\n"
       "$11\r\nretry_after\r\n:0\r\n");
}

TEST(an_explanation_is_the_last_member)
{
    static const struct sluice_explained rows[] = {
        { "api", "token_bucket", true, false, 3, 0, SLUICE_NONE, 17 },
        { "all", "fixed_window", false, true, 4, 1, 5, 0 },
    };
    static const char last[] =
        "$5\r\nrules\r\n*2\r\n*16\r\n$4\r\nrule\r\n$3\r\napi\r\n$9\r\nalgorithm\r\n$12\r\n"
        "token_bucket\r\n$6\r\nshadow\r\n:1\r\n$7\r\nallowed\r\n:0\r\n$5\r\nlimit\r\n:3\r\n$9\r\n"
        "remaining\r\n:0\r\n$11\r\nreset_at_us\r\n$-1\r\n$14\r\nretry_after_us\r\n:17\r\n*16\r\n";
    sl_resp_print_decision(to(SL_RESP2), &allowed, rows, 2);
    assert_memory_equal(bytes.at, "*24\r\n", 5);
    assert_non_null(memmem(bytes.at, bytes.len, last, strlen(last)));
    sl_resp_print_decision(to(SL_RESP2), &allowed, rows,
                           0); /* it was asked for, and none matched */
    assert_non_null(memmem(bytes.at, bytes.len, "$5\r\nrules\r\n*0\r\n", 15));
}

/* Names and their order are those of the JSON, whatever that is. */
TEST(members_are_those_of_the_json)
{
    struct sl_buffer json = sl_buffer(4096);
    sl_json_print_decision(&json, &allowed, NULL, 0);
    sl_buffer_add(&json, (struct sluice_text){ "", 1 });
    sl_resp_print_decision(to(SL_RESP3), &allowed, NULL, 0);
    sl_buffer_add(&bytes, (struct sluice_text){ "", 1 });
    const char *at = bytes.at;
    size_t count = 0;
    for (const char *name = json.at; (name = strchr(name, '"')); count++) {
        size_t len = strcspn(++name, "\"");
        char wanted[64];
        snprintf(wanted, sizeof wanted, "$%zu\r\n%.*s\r\n", len, (int)len, name);
        at = strstr(at, wanted);
        if (!at)
            fail_msg("no %s, or not where it should be", wanted);
        name += len + 1;
        if (strncmp(name, ": \"", 3) == 0) /* a value that is text */
            name += 3 + strcspn(name + 3, "\"") + 1;
    }
    assert_int_equal(count, 11);
    sl_buffer_release(&json);
}

static int release(void **unused)
{
    (void)unused;
    sl_buffer_release(&bytes);
    return 0;
}

TESTS_WITH(NULL, release)
