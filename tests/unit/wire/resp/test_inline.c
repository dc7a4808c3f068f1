/* Lines split into words, as Redis splits them. */
#include "unit/base/unit.h"
#include "wire/resp/resp.h"

static struct sl_resp_command command;

struct row {
    const char *line;
    const char *words[5]; /* ended by NULL; none: it cannot be split */
    bool is_wrong;
};

static const struct row rows[] = {
    { "", { NULL } },
    { "a", { "a" } },
    { " a\tb\v\fc\r", { "a", "b", "c" } },
    { "\"\"", { "" } },
    { "'' ''", { "", "" } },
    { "\"a b\" 'c d'", { "a b", "c d" } },
    { "a\"b c\"", { "ab c" } },
    { "a'b c'", { "ab c" } },
    { "\"it's\" 'so \"so\"'", { "it's", "so \"so\"" } },
    { "\"\\n\\r\\t\\b\\a\\q\\\"\\\\\"", { "\n\r\t\b\aq\"\\" } },
    { "\"\\x41\\x7e\"", { "A~" } },
    { "\"\\xg1\\x4\"", { "xg1x4" } },
    { "'\\n\\'\\x41'", { "\\n'\\x41" } },
    { "a\\nb", { "a\\nb" } },
    { "\"a", { NULL }, true },
    { "'a", { NULL }, true },
    { "\"a\\\"", { NULL }, true },
    { "'a\\'", { NULL }, true },
    { "\"a\"b", { NULL }, true },
    { "'a'b", { NULL }, true },
    { "\"a\"\"b\"", { NULL }, true },
    { "a \"", { NULL }, true },
};

TEST(lines_are_split_as_redis_does)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        size_t len = strlen(rows[i].line), count = 0;
        char *line = malloc(len + 1); /* one byte further is seen by a sanitizer */
        memcpy(line, rows[i].line, len);
        SAME(rows[i].line, sl_resp_split(line, len, &command), !rows[i].is_wrong);
        for (; !rows[i].is_wrong && rows[i].words[count]; count++)
            if (count < command.count)
                SAME_TEXT(rows[i].line, command.args[count], rows[i].words[count]);
        if (!rows[i].is_wrong)
            SAME(rows[i].line, command.count, count);
        free(line);
    }
}

TEST(a_nul_can_be_written)
{
    char line[] = "\"a\\x00b\"";
    assert_true(sl_resp_split(line, sizeof line - 1, &command));
    assert_int_equal(command.count, 1);
    assert_int_equal(command.args[0].len, 3);
    assert_memory_equal(command.args[0].at, "a\0b", 3);
}

TEST(names_compare_without_case)
{
    assert_true(sl_resp_word_is(SL_TEXT("CL.Throttle"), SL_TEXT("cl.throttle")));
    assert_true(sl_resp_word_is(SL_TEXT(""), SL_TEXT("")));
    assert_false(sl_resp_word_is(SL_TEXT("ping"), SL_TEXT("pin")));
    assert_false(sl_resp_word_is(SL_TEXT("pink"), SL_TEXT("ping")));
    assert_false(sl_resp_word_is(SL_TEXT("@"), SL_TEXT("`"))); /* a bit apart, as letters are */
}
