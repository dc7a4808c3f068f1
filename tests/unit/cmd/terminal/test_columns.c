/* Commands are no part of the library, so the files themselves are taken in. */
#include "cmd/terminal/columns.h"
#include "cmd/terminal/printable.h"
#include "cmd/terminal/screen.h"

#include "unit/base/unit.h"

TEST(columns_are_as_wide_as_their_widest_cell)
{
    static const char *const headings[] = { "KIND", "VALUE", "SOURCE", NULL };
    static const char *const cells[] = { "ip",   "203.0.113.0/24", "api",
                                         "user", "r\xc3\xb6ot",    "file" };
    struct sl_columns table;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    sl_columns_init(&table, headings);
    for (size_t i = 0; i < COUNT(cells); i++)
        sl_columns_add(&table, cells[i]);
    sl_columns_print(&table, out);
    sl_columns_release(&table);
    fclose(out);
    assert_string_equal(text, "KIND  VALUE           SOURCE\n"
                              "ip    203.0.113.0/24  api\n"
                              "user  r\xc3\xb6ot            file\n");
    free(text);
}

TEST(a_table_grows_with_its_rows)
{
    static const char *const headings[] = { "A", "B", NULL };
    struct sl_columns table;
    sl_columns_init(&table, headings);
    for (int i = 0; i < 1000; i++)
        sl_columns_add(&table, sl_arena_print(&table.arena, "%d", i));
    assert_int_equal(table.count, 1002);
    assert_string_equal(table.cells[0], "A");
    assert_string_equal(table.cells[2], "0");
    assert_string_equal(table.cells[1001], "999");
    sl_columns_release(&table);
}

static const struct {
    const char *json; /* of an array around the value */
    const char *cell;
    const char *moment;
} values[] = {
    { "[null]", "-", "-" },
    { "[]", "-", "-" }, /* missing */
    { "[\"\"]", "-", "-" },
    { "[\"a\\u001bb\"]", "a\\u001bb", "a\\u001bb" },
    { "[\"a\\u0000b\"]", "a\\u0000b", "a\\u0000b" },
    { "[true]", "yes", "yes" },
    { "[false]", "no", "no" },
    { "[0.1]", "0.1", "1970-01-01 00:00:00 UTC" },
    { "[0.30000000000000004]", "0.30000000000000004", "1970-01-01 00:00:00 UTC" },
    { "[1767225600]", "1767225600", "2026-01-01 00:00:00 UTC" },
    { "[1767225600.75]", "1767225600.75", "2026-01-01 00:00:00 UTC" },
    { "[-1]", "-1", "1969-12-31 23:59:59 UTC" },
    { "[9223372036854775807]", "9223372036854775807", "9223372036854775807" },
    { "[1e300]", "1e+300", "1e+300" },
    { "[\"2026-01-01T00:00:00Z\"]", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z" },
    { "[[\"user\",\"ip\"]]", "user, ip", "user, ip" },
    { "[[]]", "-", "-" },
    { "[{\"a\":[1,0.1]}]", "{\"a\": [1, 0.1]}", "{\"a\": [1, 0.1]}" },
};

TEST(a_value_becomes_a_cell_that_people_can_read)
{
    for (size_t i = 0; i < COUNT(values); i++) {
        struct sl_arena arena = { 0 };
        json_t *list = json_loads(values[i].json, JSON_ALLOW_NUL, NULL);
        assert_non_null(list);
        const json_t *value = json_array_get(list, 0);
        SAME_TEXT(values[i].json, sl_text(sl_cell(&arena, value)), values[i].cell);
        SAME_TEXT(values[i].json, sl_text(sl_cell_moment(&arena, value)), values[i].moment);
        json_decref(list);
        sl_arena_release(&arena);
    }
}

TEST(members_of_what_is_no_object_are_missing)
{
    struct sl_arena arena = { 0 };
    json_t *object = json_loads("{\"a\": \"x\", \"n\": 1}", 0, NULL);
    assert_string_equal(sl_cell_of(&arena, object, "a"), "x");
    assert_string_equal(sl_cell_of(&arena, object, "b"), "-");
    assert_string_equal(sl_cell_of(&arena, NULL, "a"), "-");
    assert_string_equal(sl_cell_of(&arena, json_object_get(object, "a"), "a"), "-");
    assert_string_equal(sl_member(object, "a"), "x");
    assert_null(sl_member(object, "n"));
    assert_null(sl_member(NULL, "a"));
    json_decref(object);
    sl_arena_release(&arena);
}
