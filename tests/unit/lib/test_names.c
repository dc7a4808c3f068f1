#include "sluice.h"

#include "unit/base/unit.h"

TEST(every_number_has_a_name)
{
    assert_string_equal(sluice_version(), SLUICE_VERSION);
#define STATUS(constant, number, text) assert_string_equal(sluice_status_text(constant), text);
    SLUICE_STATUSES(STATUS)
#define REASON(constant, name) assert_string_equal(sluice_reason_name(constant), name);
    SLUICE_REASONS(REASON)
}

TEST(a_number_of_nothing_has_a_text_too)
{
    static const int none[] = { 1, -9, 1000, INT32_MIN, INT32_MAX };
    for (size_t i = 0; i < COUNT(none); i++) {
        assert_string_equal(sluice_status_text(none[i]), "no status of this version");
        if (none[i] != 1)
            assert_string_equal(sluice_reason_name((enum sluice_reason)none[i]),
                                "no reason of this version");
    }
}

TEST(a_text_that_is_not_there_is_not_given)
{
    assert_null(sluice_text(NULL).at);
    assert_int_equal(sluice_text(NULL).len, 0);
    assert_int_equal(sluice_text("").len, 0);
    assert_non_null(sluice_text("").at);
    assert_int_equal(sluice_text("abc").len, 3);
}
