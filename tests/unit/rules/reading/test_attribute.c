#include "rules/reading/attribute.h"
#include "unit/base/unit.h"

TEST(a_name_with_a_meaning_of_its_own_is_not_free)
{
    static const char *const taken[] = { "tenant", "resource",    "method", "user", "ip",
                                         "client", "tier",        "cost",   "peek", "wait",
                                         "at_us",  "trust_score", "explain" };
    static const char *const others[] = { "plan", "users", "User", "email", "t", "", "global" };
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (sl_attribute_is_free(sl_text(taken[i])))
            fail_msg("`%s` is free", taken[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!sl_attribute_is_free(sl_text(others[i])))
            fail_msg("`%s` is not free", others[i]);
    assert_true(sl_attribute_is_free((struct sluice_text){ "user", 3 }));
}

TEST(some_names_cannot_be_written_in_a_rules_file)
{
    static const char *const good[] = { "user", "plan", "_x", "a.b-c_9", "Path", "tenant" };
    static const char *const bad[] = { "",     "9a",   "a b",      "a/b",    ":path",
                                       "a,b",  "-a",   "\xc3\xa9", "global", "endpoint",
                                       "null", "NULL", "cost",     "at_us" };
    char name[66];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!sl_attribute_can_be_named(sl_text(good[i])))
            fail_msg("`%s` cannot be named", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (sl_attribute_can_be_named(sl_text(bad[i])))
            fail_msg("`%s` can be named", bad[i]);
    memset(name, 'a', sizeof name);
    assert_true(sl_attribute_can_be_named((struct sluice_text){ name, 64 }));
    assert_false(sl_attribute_can_be_named((struct sluice_text){ name, 65 }));
}
