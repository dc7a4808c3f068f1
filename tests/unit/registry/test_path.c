#include "registry/path.h"

#include <stdlib.h>

#include "unit/base/unit.h"
#include "unit/store/folder.h"

static struct sl_arena arena;

/* A path in this test's folder. */
static const char *in_folder(const char *name)
{
    return sl_arena_print(&arena, "%s/%s", folder, name);
}

static void make_file(const char *name)
{
    FILE *file = fopen(in_folder(name), "w");
    assert_non_null(file);
    fclose(file);
}

static int open_path(void **state)
{
    unsetenv("STATE_DIRECTORY");
    return open_folder(state);
}

static int close_path(void **state)
{
    unsetenv("STATE_DIRECTORY");
    sl_arena_release(&arena);
    return close_folder(state);
}

#define WITH_A_PATH(name) TEST_WITH(name, open_path, close_path)

WITH_A_PATH(the_default_is_a_file_of_the_rules_files_own)
{
    static const struct {
        const char *state, *database, *table, *rules, *found;
    } rows[] = {
        { NULL, "/x/own.db", "/t/limits.slu", "/r/rules.yaml", "/x/own.db" },
        { "/s", "/x/own.db", NULL, "/r/rules.yaml", "/x/own.db" },
        { NULL, "/x/own.db", NULL, NULL, "/x/own.db" },
        { NULL, NULL, "/t/limits.slu", "/r/rules.yaml", "/r/rules.yaml.db" },
        { NULL, NULL, NULL, "/r/rules.yaml", "/r/rules.yaml.db" },
        { NULL, NULL, NULL, "/r/other.yaml", "/r/other.yaml.db" },
        { NULL, NULL, NULL, "rules.yaml", "rules.yaml.db" },
        { "/s", NULL, NULL, "/r/rules.yaml", "/s/rules.yaml.db" },
        { "/s", NULL, "/t/limits.slu", "rules.yaml", "/s/rules.yaml.db" },
        { "/s:/s/more", NULL, NULL, "/r/rules.yaml", "/s/rules.yaml.db" },
        { "", NULL, NULL, "/r/rules.yaml", "/r/rules.yaml.db" },
        { "s", NULL, NULL, "/r/rules.yaml", "/r/rules.yaml.db" },
        { NULL, NULL, NULL, NULL, NULL },
        { "/s", NULL, "/t/limits.slu", NULL, NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sl_settings settings = { .database = rows[i].database,
                                        .store = { .path = rows[i].table } };
        const char *replaces = "unset";
        unsetenv("STATE_DIRECTORY");
        if (rows[i].state)
            setenv("STATE_DIRECTORY", rows[i].state, 1);
        const char *found = sl_registry_path(&settings, rows[i].rules, &arena, &replaces);
        assert_null(replaces);
        if (rows[i].found)
            assert_string_equal(found, rows[i].found);
        else
            assert_null(found);
    }
}

static const char *found_for(const char *table, const char **replaces)
{
    struct sl_settings settings = { .store = { .path = table } };
    const char *found = sl_registry_path(&settings, in_folder("rules.yaml"), &arena, replaces);
    assert_string_equal(sl_registry_path(&settings, in_folder("rules.yaml"), &arena, NULL), found);
    return found;
}

WITH_A_PATH(an_old_one_is_used_as_long_as_the_default_is_absent)
{
    const char *replaces;
    make_file("sluice.db");
    assert_string_equal(found_for(NULL, &replaces), in_folder("sluice.db"));
    assert_string_equal(replaces, in_folder("rules.yaml.db"));
    make_file("rules.yaml.db");
    assert_string_equal(found_for(NULL, &replaces), in_folder("rules.yaml.db"));
    assert_null(replaces);
}

WITH_A_PATH(an_old_one_beside_the_table_is_only_that_tables)
{
    const char *replaces;
    make_file("sluice.db");
    assert_string_equal(found_for(in_folder("table"), &replaces), in_folder("rules.yaml.db"));
    assert_null(replaces);
    make_file("table.db");
    assert_string_equal(found_for(in_folder("table"), &replaces), in_folder("table.db"));
    assert_string_equal(replaces, in_folder("rules.yaml.db"));
    assert_string_equal(found_for(NULL, &replaces), in_folder("sluice.db"));
}

WITH_A_PATH(an_old_one_is_found_under_systemd_too)
{
    const char *replaces;
    setenv("STATE_DIRECTORY", "/none", 1);
    make_file("sluice.db");
    assert_string_equal(found_for(NULL, &replaces), in_folder("sluice.db"));
    assert_string_equal(replaces, "/none/rules.yaml.db");
}

WITH_A_PATH(a_rules_file_called_sluice_has_no_other_one_to_replace)
{
    struct sl_settings settings = { .database = NULL };
    const char *replaces;
    make_file("sluice.db");
    assert_string_equal(sl_registry_path(&settings, in_folder("sluice"), &arena, &replaces),
                        in_folder("sluice.db"));
    assert_null(replaces);
}

/* Opening the default then says what is wrong. */
WITH_A_PATH(a_default_that_cannot_be_looked_at_is_not_passed_over)
{
    const char *replaces;
    make_file("sluice.db");
    make_file("file");
    setenv("STATE_DIRECTORY", in_folder("file"), 1); /* not a folder */
    assert_string_equal(found_for(NULL, &replaces), in_folder("file/rules.yaml.db"));
    assert_null(replaces);
}
