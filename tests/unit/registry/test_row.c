#include "registry/row.h"

#include "unit/base/unit.h"

static struct sl_arena arena;
static struct sluice_error error;

static int release(void **unused)
{
    (void)unused;
    sl_arena_release(&arena);
    return 0;
}

static const char *name_of(enum sl_row_kind kind, const char *first, const char *second)
{
    struct sl_buffer out = sl_buffer(4096);
    sl_row_name_print(&out, &(struct sl_row_name){ kind, first, second });
    const char *text = sl_arena_copy(&arena, (struct sluice_text){ out.at, out.len });
    sl_buffer_release(&out);
    return text;
}

static const char *value_of(const struct sl_row *row)
{
    struct sl_buffer out = sl_buffer(1 << 20);
    sl_row_print(&out, row);
    const char *text = sl_arena_copy(&arena, (struct sluice_text){ out.at, out.len });
    sl_buffer_release(&out);
    return text;
}

TEST(names_are_readable)
{
    assert_string_equal(name_of(SL_ROW_RULE, "", "api"), "rule::api");
    assert_string_equal(name_of(SL_ROW_RULE, "acme", "own"), "rule:acme:own");
    assert_string_equal(name_of(SL_ROW_TIER, "pro", NULL), "tier:pro");
    assert_string_equal(name_of(SL_ROW_EXEMPTION, "ip", "fd00::/8"), "exempt:ip:fd00%3A%3A/8");
    assert_string_equal(name_of(SL_ROW_TENANT, "acme", NULL), "tenant:acme");
    assert_string_equal(name_of(SL_ROW_KEY, "3f2a", NULL), "key:3f2a");
    assert_string_equal(name_of(SL_ROW_USER, "", "100%:\n"), "user::100%25%3A%0A");
}

TEST(a_name_comes_back_as_it_was)
{
    static const struct sl_row_name names[] = {
        { SL_ROW_RULE, "", "a" },
        { SL_ROW_RULE, "t", "a" },
        { SL_ROW_TIER, "a:b%c", NULL },
        { SL_ROW_EXEMPTION, "user", "acme/root:%3A" },
        { SL_ROW_USER, "a/b", "\xc3\xa9\x01\x7f" },
        { SL_ROW_USER, "", ":" },
        { SL_ROW_KEY, "00", NULL },
        { SL_ROW_TENANT, "%", NULL },
    };
    for (size_t i = 0; i < COUNT(names); i++) {
        struct sl_row_name back;
        const char *text = name_of(names[i].kind, names[i].first, names[i].second);
        assert_true(sl_row_name_parse(sl_text(text), &arena, &back));
        assert_int_equal(back.kind, names[i].kind);
        assert_string_equal(back.first, names[i].first);
        assert_int_equal(back.second == NULL, names[i].second == NULL);
        if (back.second)
            assert_string_equal(back.second, names[i].second);
    }
}

TEST(what_is_no_name_is_refused)
{
    static const char *const wrong[] = {
        "",        "rule",     "rule:",     "rule:a",    "rule:a:b:c", "tier:a:b",  "other:a",
        "user::%", "user::%4", "user::%4x", "user::%00", ":a:b",       "user:%3:a",
    };
    struct sl_row_name name;
    for (size_t i = 0; i < COUNT(wrong); i++)
        if (sl_row_name_parse(sl_text(wrong[i]), &arena, &name))
            fail_msg("`%s` is a name", wrong[i]);
    assert_false(sl_row_name_parse((struct sluice_text){ "tier:a\0b", 8 }, &arena, &name));
}

TEST(a_rules_text_stays_as_it_was_written)
{
    const char *json = "{\"limit\": \"5/1h\", \"refill_rate\": 0.10, \"x\": \"\\u00e9\xc3\xa9\"}";
    struct sl_row back, row = {
        .name = { SL_ROW_RULE, "", "api" }, .change = 0x40000007, .made = { true, 3 }, .json = json
    };
    const char *value = value_of(&row);
    assert_memory_equal(value, "0000000040000007 {\"made\": 3, \"json\": \"{", 39);
    assert_true(sl_row_parse(SL_TEXT("rule::api"), sl_text(value), &arena, &back, &error));
    assert_string_equal(back.json, json);
    assert_int_equal(back.made.number, 3);
    assert_int_equal(back.change, 0x40000007);
    assert_false(back.is_gone);
}

TEST(what_is_missing_stays_missing)
{
    struct sl_row back, row = { .name = { SL_ROW_USER, "acme", "u1" },
                                .change = 1,
                                .made = { true, 9 }, /* users have none */
                                .email_verified = { true, 0 } };
    const char *value = value_of(&row);
    assert_string_equal(value, "0000000000000001 {\"email_verified\": 0}");
    assert_true(sl_row_parse(SL_TEXT("user:acme:u1"), sl_text(value), &arena, &back, &error));
    assert_false(back.made.is_there || back.created_at_us.is_there);
    assert_true(back.email_verified.is_there && !back.email_verified.number);
    assert_null(back.tier);
    assert_null(back.limits);
}

TEST(a_row_that_is_gone_has_its_change_alone)
{
    struct sl_row back,
        row = { .name = { SL_ROW_TIER, "a", NULL }, .change = UINT64_MAX >> 1, .is_gone = true };
    assert_string_equal(value_of(&row), "7fffffffffffffff");
    assert_true(
        sl_row_parse(SL_TEXT("tier:a"), SL_TEXT("7fffffffffffffff"), &arena, &back, &error));
    assert_true(back.is_gone);
    assert_int_equal(back.change, UINT64_MAX >> 1);
}

TEST(members_of_a_newer_version_are_passed_over)
{
    struct sl_row back;
    assert_true(sl_row_parse(SL_TEXT("tenant:a"),
                             SL_TEXT("0000000000000001 {\"tier\": \"pro\", \"colour\": [1, {}]}"),
                             &arena, &back, &error));
    assert_string_equal(back.tier, "pro");
}

TEST(rubbish_is_refused)
{
    static const char *const wrong[] = {
        "",
        "1",
        "000000000000000g",
        "0000000000000001 ",
        "0000000000000001 []",
        "0000000000000001 {\"tier\": 1}",
        "0000000000000001 {\"tier\": \"a\\u0000b\"}",
        "0000000000000001 {\"tier\": \"a\", \"tier\": \"b\"}",
        "0000000000000001 {} {}",
        "0000000000000001 {\"tier\": null}",
    };
    struct sl_row row = { .change = 77 };
    for (size_t i = 0; i < COUNT(wrong); i++)
        if (sl_row_parse(SL_TEXT("tenant:a"), sl_text(wrong[i]), &arena, &row, &error))
            fail_msg("`%s` is a row", wrong[i]);
    assert_int_equal(row.change, 77);
    assert_false(
        sl_row_parse(SL_TEXT("what:a"), SL_TEXT("0000000000000001"), &arena, &row, &error));
    assert_non_null(strstr(error.text, "what:a"));
}

TESTS_WITH(NULL, release)
