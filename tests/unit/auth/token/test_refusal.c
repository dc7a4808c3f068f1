#include "auth/token/refusal.h"

#include "auth/token/strict_json.h"
#include "auth/token/verifier.h"
#include "unit/base/unit.h"

static const char *text_of(int refusal)
{
    return sl_refusal_text((enum sl_refusal)refusal);
}

/* RFC 6750, 3: %x20-21 / %x23-5B / %x5D-7E */
TEST(every_sentence_fits_a_quoted_string)
{
    for (int i = SL_ACCEPTED + 1; i < SL_REFUSAL_COUNT; i++) {
        assert_true(strlen(text_of(i)) > 10);
        for (const char *at = text_of(i); *at; at++)
            SAME(text_of(i), *at >= ' ' && *at <= '~' && *at != '"' && *at != '\\', true);
    }
}

TEST(no_two_reasons_read_alike)
{
    for (int i = SL_ACCEPTED + 1; i < SL_REFUSAL_COUNT; i++)
        for (int j = SL_ACCEPTED + 1; j < i; j++)
            assert_string_not_equal(text_of(i), text_of(j));
}

TEST(the_rows_for_json_are_in_the_order_of_the_reader)
{
    static const struct {
        enum sl_strict_wrong wrong;
        enum sl_refusal header, claims;
    } rows[] = {
#define ROW(name) { SL_STRICT_##name, SL_REFUSED_HEADER_##name, SL_REFUSED_CLAIMS_##name }
        ROW(TOO_DEEP), ROW(NOT_UTF8), ROW(NUL),        ROW(TWICE),
        ROW(NUMBER),   ROW(NOT_JSON), ROW(NOT_OBJECT),
#undef ROW
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(SL_REFUSED_HEADER_TOO_DEEP + rows[i].wrong, rows[i].header);
        assert_int_equal(SL_REFUSED_CLAIMS_TOO_DEEP + rows[i].wrong, rows[i].claims);
    }
    assert_int_equal(COUNT(rows), SL_STRICT_NO_MEMORY); /* which is a row of its own */
}

TEST(the_limits_that_sentences_name_are_those_in_force)
{
    assert_non_null(strstr(text_of(SL_REFUSED_TOO_LONG), "8192"));
    assert_int_equal(SL_TOKEN_MAX_BYTES, 8192);
    assert_non_null(strstr(text_of(SL_REFUSED_CLAIMS_TOO_DEEP), "deeper than 8"));
    assert_int_equal(SL_TOKEN_DEPTH_MAX, 8);
}
