#include "telemetry/audit/recent.h"

#include "unit/base/unit.h"

static void add_line(struct sl_audit_recent *recent, enum sl_audit_kind kind, const char *line)
{
    sl_audit_recent_add(recent, &(struct sl_audit_event){ .kind = kind }, 1, sl_text(line));
}

/* How many there are from the newest to the oldest, whose numbers must fall. */
static size_t walk(const struct sl_audit_recent *recent)
{
    size_t count = 0;
    uint64_t number = UINT64_MAX;
    for (const struct sl_audit_kept *kept; (kept = sl_audit_recent_before(recent, number)); count++)
        number = kept->number;
    return count;
}

TEST(the_newest_come_first_and_are_copies)
{
    struct sl_audit_recent *recent = sl_audit_recent_new();
    char tenant[] = "acme", line[] = "{\"a\": 1}";
    assert_null(sl_audit_recent_before(recent, UINT64_MAX));
    sl_audit_recent_add(recent,
                        &(struct sl_audit_event){ .kind = SL_AUDIT_EXCEEDED,
                                                  .tenant = sl_text(tenant),
                                                  .identifier = SL_TEXT("") },
                        42, sl_text(line));
    memset(tenant, 'x', 4);
    memset(line, 'x', 8);
    add_line(recent, SL_AUDIT_RESET, "second");
    const struct sl_audit_kept *newest = sl_audit_recent_before(recent, UINT64_MAX);
    const struct sl_audit_kept *oldest = sl_audit_recent_before(recent, newest->number);
    SAME_TEXT("line", newest->line, "second");
    assert_int_equal(newest->kind, SL_AUDIT_RESET);
    SAME_TEXT("line", oldest->line, "{\"a\": 1}");
    SAME_TEXT("tenant", oldest->tenant, "acme");
    assert_int_equal(oldest->at_us, 42);
    assert_non_null(oldest->identifier.at);
    assert_null(oldest->rule.at);
    assert_null(sl_audit_recent_before(recent, oldest->number));
    sl_audit_recent_free(recent);
}

TEST(the_oldest_go_and_a_flood_of_denials_takes_nothing_else_along)
{
    struct sl_audit_recent *recent = sl_audit_recent_new();
    add_line(recent, SL_AUDIT_CONFIG_UPDATED, "change");
    for (int i = 0; i < SL_RECENT_DENIALS_MAX + 1; i++)
        add_line(recent, SL_AUDIT_EXCEEDED, "denial");
    assert_int_equal(sl_audit_recent_count(recent), SL_RECENT_DENIALS_MAX + 1);
    assert_int_equal(walk(recent), SL_RECENT_DENIALS_MAX + 1);
    assert_int_equal(sl_audit_recent_before(recent, 3)->number, 1); /* the second has gone */
    for (int i = 0; i < SL_RECENT_OTHERS_MAX; i++)
        add_line(recent, SL_AUDIT_STORE_RECOVERED, "store");
    assert_int_equal(walk(recent), SL_RECENT_DENIALS_MAX + SL_RECENT_OTHERS_MAX);
    assert_null(sl_audit_recent_before(recent, 3));
    sl_audit_recent_free(recent);
}

TEST(they_take_a_megabyte_and_no_more)
{
    enum { LONG = 100000 };
    static char line[2 << 20];
    struct sl_audit_recent *recent = sl_audit_recent_new();
    memset(line, 'x', sizeof line);
    for (int i = 0; i < 30; i++)
        sl_audit_recent_add(recent, &(struct sl_audit_event){ .kind = SL_AUDIT_EXCEEDED }, 1,
                            (struct sluice_text){ line, LONG });
    assert_int_equal(walk(recent), (1 << 20) / LONG);
    assert_int_equal(sl_audit_recent_before(recent, UINT64_MAX)->number, 30);
    /* One that is too long for all of it is not kept, and takes nothing along. */
    sl_audit_recent_add(recent, &(struct sl_audit_event){ .kind = SL_AUDIT_EXCEEDED }, 1,
                        (struct sluice_text){ line, sizeof line });
    assert_int_equal(walk(recent), (1 << 20) / LONG);
    sl_audit_recent_free(recent);
}
