#include "wire/grpc/rls_answer.h"

#include "rules/ruleset.h"
#include "unit/base/unit.h"
#include "wire/grpc/proto_walk.h"
#include "wire/http/limit_fields.h"

/* A decision of a rule "api", of 5 a minute. */
static struct sluice_decision decision(bool allowed, int64_t remaining, int64_t retry_after_us)
{
    return (struct sluice_decision){ .allowed = allowed,
                                     .reason = allowed ? SLUICE_REASON_OK : SLUICE_REASON_LIMITED,
                                     .rule = "api",
                                     .limit = 5,
                                     .remaining = remaining,
                                     .reset_at_us = 61500000,
                                     .decided_at_us = 1000000,
                                     .retry_after_us = retry_after_us,
                                     .window_us = 60000000 };
}

static struct sluice_decision without_a_rule(enum sluice_reason reason)
{
    return (struct sluice_decision){ .allowed = true,
                                     .reason = reason,
                                     .limit = SLUICE_NONE,
                                     .remaining = SLUICE_NONE,
                                     .reset_at_us = SLUICE_NONE,
                                     .decided_at_us = SLUICE_NONE,
                                     .window_us = SLUICE_NONE };
}

#define STATUS_4 "\x08\1\x12\x09\x08\5\x10\2\x1a\3api\x18\4\x22\x08\x08\x3c\x10\x80\xca\xb5\xee\1"
#define DENIED   "\x08\2\x12\x09\x08\5\x10\2\x1a\3api\x22\x08\x08\x3c\x10\x80\xca\xb5\xee\1"

static void check_printed(const char *row, const struct sl_rls_answer *answer,
                          struct sluice_text wanted)
{
    struct sl_buffer out = sl_buffer(65536);
    sl_rls_print(&out, answer);
    SAME(row, out.len, wanted.len);
    assert_memory_equal(out.at, wanted.at, wanted.len);
    sl_buffer_release(&out);
}

TEST(decisions_are_printed_as_protobuf_has_them)
{
    struct sluice_decision all[] = { decision(true, 4, 0), without_a_rule(SLUICE_REASON_NO_RULE),
                                     without_a_rule(SLUICE_REASON_EXEMPT) };
    check_printed("one", &(struct sl_rls_answer){ all, 1 }, SL_TEXT("\x08\1\x12\x19" STATUS_4));
    check_printed("three", &(struct sl_rls_answer){ all, 3 },
                  SL_TEXT("\x08\1\x12\x19" STATUS_4 "\x12\2\x08\1"
                          "\x12\x08\x08\1\x18\xff\xff\xff\xff\x0f"));
    struct sluice_decision denied[] = { all[0], decision(false, 0, 1) };
    check_printed(
        "denied",
        &(struct sl_rls_answer){ denied, 2, SL_TEXT("A: b\r\nRetry-After: 1\r\n"), SL_TEXT("{}") },
        SL_TEXT("\x08\2\x12\x19" STATUS_4 "\x12\x17" DENIED "\x1a\x20\x0a\x0c"
                "content-type\x12\x10"
                "application/json"
                "\x1a\6\x0a\1A\x12\1b\x1a\x10\x0a\x0bRetry-After\x12\1"
                "1"
                "\x2a\2{}"));
}

TEST(numbers_that_do_not_fit_are_as_large_as_can_be)
{
    struct sluice_decision large = decision(true, INT64_MAX, 0);
    large.limit = INT64_C(1) << 32;
    large.window_us = 90000000; /* no unit */
    large.rule = "@window";     /* no name */
    large.reset_at_us = 0;      /* past already */
    check_printed("large", &(struct sl_rls_answer){ &large, 1 },
                  SL_TEXT("\x08\1\x12\x12\x08\1\x12\6\x08\xff\xff\xff\xff\x0f"
                          "\x18\xff\xff\xff\xff\x0f\x22\0"));
}

static void check_headers(struct sluice_text answer, struct sluice_text name, size_t wanted)
{
    struct sl_proto_field field;
    size_t headers = 0, named = 0;
    while (sl_proto_next(&answer, &field)) {
        headers += field.number == 3;
        named += field.kind == SL_PROTO_BYTES &&
                 memmem(field.text.at, field.text.len, name.at, name.len);
    }
    SAME("all is read", answer.len, 0);
    SAME("headers", headers, wanted);
    SAME("status, policy and what is left name the rule", named, 3);
}

/* A tenant's own rule is called TENANT/RULE. */
TEST(the_longest_name_of_a_rule_is_told_with_the_largest_numbers)
{
    char name[2 * SL_RULE_NAME_MAX + 2];
    struct sluice_decision large = decision(false, INT64_MAX, INT64_MAX);
    struct sl_buffer lines = sl_buffer(4096), out = sl_buffer(65536);
    memset(name, 'n', sizeof name - 1);
    name[SL_RULE_NAME_MAX] = '/';
    name[sizeof name - 1] = 0;
    large.rule = name;
    large.limit = large.window_us = large.reset_at_us = INT64_MAX;
    sl_limit_fields_print(&lines, &large, UINT32_MAX);
    sl_rls_print(&out, &(struct sl_rls_answer){ &large, 1, { lines.at, lines.len }, { 0 } });
    check_headers((struct sluice_text){ out.at, out.len }, sl_text(name), 6);
    sl_buffer_release(&lines);
    sl_buffer_release(&out);
}

TEST(the_foremost_decision_waits_longest_or_has_least)
{
    const struct sluice_decision none = without_a_rule(SLUICE_REASON_NO_RULE);
    const struct sluice_decision has_4 = decision(true, 4, 0), has_0 = decision(true, 0, 0);
    const struct sluice_decision waits_1 = decision(false, 0, 1), waits_9 = decision(false, 3, 9);
    const struct sluice_decision never = decision(false, 5, SLUICE_NEVER);
    const struct {
        struct sluice_decision decisions[3];
        size_t foremost;
    } rows[] = {
        { { none, none, none }, 0 },        { { none, has_4, none }, 1 },
        { { has_4, has_0, none }, 1 },      { { has_0, has_4, has_0 }, 0 },
        { { has_0, has_4, waits_1 }, 2 },   { { waits_1, has_0, waits_9 }, 2 },
        { { waits_9, never, waits_1 }, 1 }, { { never, has_0, none }, 0 },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        SAME("row", sl_rls_foremost(rows[i].decisions, 3) - rows[i].decisions, rows[i].foremost);
    SAME("one", sl_rls_foremost(&none, 1) - &none, 0);
}
