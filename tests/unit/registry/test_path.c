#include "registry/path.h"

#include "unit/store/folder.h"

TEST(the_database_is_beside_the_table_else_beside_the_rules)
{
    struct sl_arena arena = { 0 };
    static const struct {
        const char *database, *table, *rules, *found;
    } rows[] = {
        { "/x/own.db", "/t/limits.slu", "/r/rules.yaml", "/x/own.db" },
        { NULL, "/t/limits.slu", "/r/rules.yaml", "/t/limits.slu.db" },
        { NULL, NULL, "/r/rules.yaml", "/r/sluice.db" },
        { NULL, NULL, "rules.yaml", "sluice.db" },
        { NULL, NULL, NULL, NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sl_settings settings = { .database = rows[i].database,
                                        .store = { .path = rows[i].table } };
        const char *found = sl_registry_path(&settings, rows[i].rules, &arena);
        if (rows[i].found)
            assert_string_equal(found, rows[i].found);
        else
            assert_null(found);
    }
    sl_arena_release(&arena);
}
