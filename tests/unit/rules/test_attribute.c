#include "rules/attribute.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_name_with_a_meaning_of_its_own_is_not_free(void **state)
{
    static const char *const taken[] = { "tenant", "resource",    "method", "user", "ip",
                                         "client", "tier",        "cost",   "peek", "wait",
                                         "at_us",  "trust_score", "explain" };
    static const char *const others[] = { "plan", "users", "User", "email", "t", "", "global" };
    (void)state;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (sl_attribute_is_free(sl_text(taken[i])))
            fail_msg("`%s` is free", taken[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!sl_attribute_is_free(sl_text(others[i])))
            fail_msg("`%s` is not free", others[i]);
    assert_true(sl_attribute_is_free((struct sluice_text){ "user", 3 }));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_with_a_meaning_of_its_own_is_not_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
