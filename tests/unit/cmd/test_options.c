/* Commands are no part of the library, so the file itself is taken in. */
#include "cmd/options.h"

#include "unit/base/unit.h"

struct told {
    const char *first, *second, *third;
    int64_t wait_us;
    bool flag;
};

static const struct sl_option rows[] = {
    { "FIRST", "which first?", SL_OPTION_OPERAND, offsetof(struct told, first), "" },
    { "SECOND", "which second?", SL_OPTION_OPERAND, offsetof(struct told, second), "" },
    { "THIRD", NULL, SL_OPTION_OPERAND, offsetof(struct told, third), "" },
    { "--wait", "TIME", SL_OPTION_WAIT, offsetof(struct told, wait_us), "" },
    { "--flag", NULL, SL_OPTION_FLAG, offsetof(struct told, flag), "" },
    { 0 },
};

static struct told last;

static int run_leaf(const struct sl_command *command, int argc, char **argv)
{
    last = (struct told){ 0 };
    return sl_options_parse(command, argc, argv, &last) == SL_PARSED ? 10 : 2;
}

static int run_other(const struct sl_command *command, int argc, char **argv)
{
    (void)command, (void)argv;
    return 20 + argc;
}

static const struct sl_command leaf = {
    .name = "group leaf", .summary = "leaf", .options = rows, .run = run_leaf
};
static const struct sl_command other = { .name = "group inner other",
                                         .summary = "other",
                                         .run = run_other };
static const struct sl_command *const inner_members[] = { &other, NULL };
static const struct sl_command inner = {
    .name = "group inner", .summary = "inner", .members = inner_members, .run = sl_command_choose
};
static const struct sl_command *const members[] = { &leaf, &inner, NULL };
static const struct sl_command group = {
    .name = "group", .summary = "group", .members = members, .run = sl_command_choose
};

/* Words to argv, as a shell would: split at blanks; `''` is an empty one. */
static int run_line(const char *line)
{
    static char copy[128]; /* operands point into it */
    char *argv[16] = { 0 }, *rest = copy;
    int argc = 0;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word; (word = strsep(&rest, " "));)
        if (*word)
            argv[argc++] = strcmp(word, "''") == 0 ? word + 2 : word;
    return group.run(&group, argc, argv);
}

TEST(the_first_word_chooses_the_member)
{
    static const struct {
        const char *line;
        int code;
    } lines[] = {
        { "leaf a b", 10 },
        { "inner other", 20 },
        { "inner other a b", 22 },
        { "", 2 },
        { "''", 2 },
        { "laef a b", 2 },
        { "other", 2 },
        { "--flag", 2 },
        { "inner", 2 },
        { "inner leaf", 2 },
        { "--help", 0 },
        { "-h", 0 },
        { "help", 0 },
        { "inner --help", 0 },
        { "leaf", 2 },
        { "leaf a", 2 },
        { "leaf a ''", 2 },
        { "leaf '' b", 2 },
        { "leaf a b c", 10 },
        { "leaf a b c d", 2 },
        { "leaf a --flag b", 10 },
        { "leaf -- -a --flag", 10 },
    };
    for (size_t i = 0; i < COUNT(lines); i++)
        SAME(lines[i].line, run_line(lines[i].line), lines[i].code);
}

TEST(operands_are_filled_in_their_order)
{
    assert_int_equal(run_line("leaf a --flag b"), 10);
    assert_string_equal(last.first, "a");
    assert_string_equal(last.second, "b");
    assert_null(last.third);
    assert_true(last.flag);
    assert_int_equal(run_line("leaf -- -a --flag"), 10);
    assert_string_equal(last.first, "-a");
    assert_string_equal(last.second, "--flag");
    assert_false(last.flag);
}

TEST(a_wait_is_from_a_millisecond_to_a_day)
{
    static const struct {
        const char *line;
        int64_t us; /* -1: refused */
    } lines[] = {
        { "leaf a b --wait 1ms", 1000 },    { "leaf a b --wait=2s", 2000000 },
        { "leaf a b --wait 0.5", 500000 },  { "leaf a b --wait 24h", INT64_C(86400000000) },
        { "leaf a b --wait 24.0001h", -1 }, { "leaf a b --wait 0", -1 },
        { "leaf a b --wait 0.0009s", -1 },  { "leaf a b --wait soon", -1 },
        { "leaf a b --wait -1s", -1 },      { "leaf a b --wait", -1 },
    };
    for (size_t i = 0; i < COUNT(lines); i++) {
        SAME(lines[i].line, run_line(lines[i].line), lines[i].us < 0 ? 2 : 10);
        SAME(lines[i].line, last.wait_us, lines[i].us < 0 ? 0 : lines[i].us);
    }
}
