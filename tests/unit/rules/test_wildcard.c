/* Patterns of plain text, also against a matcher that tries everything. */
#include "rules/wildcard.h"

#include "unit/base/unit.h"

TEST(a_star_stands_for_any_text)
{
    static const struct {
        const char *pattern, *text;
        bool matches;
    } rows[] = {
        { "", "", true },
        { "", "a", false },
        { "a", "a", true },
        { "a", "A", false },
        { "a", "ab", false },
        { "*", "", true },
        { "**", "", true },
        { "*a*", "", false },
        { "*", "anything", true },
        { "***", "x", true },
        { "ab*", "ab", true },
        { "ab*", "abc", true },
        { "ab*", "a", false },
        { "*yz", "yz", true },
        { "*yz", "xyzyz", true },
        { "*yz", "yzx", false },
        { "ab*ba", "abba", true },
        { "ab*ba", "aba", false }, /* the ends do not share a byte */
        { "*b*", "abc", true },
        { "*b*", "ac", false },
        { "a*b*c", "a-b-b-c", true },
        { "a*b*c", "acb", false },
        { "*ab*ab*", "ab-ab", true },
        { "*ab*ab*", "abab", true },
        { "*ab*ab*", "aab", false },
        { "*aba*ba*", "ababa", true },
        { "*aba*aba*", "ababa", false },
        { "10.*.7", "10.1.2.7", true },
        { "a?[b", "a?[b", true }, /* nothing else has a meaning */
        { "a\\*", "a*", false },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sluice_text pattern = sl_text(rows[i].pattern), text = sl_text(rows[i].text);
        SAME(rows[i].pattern, sl_wildcard_matches(pattern, text), rows[i].matches);
        text.at = text.len ? text.at : NULL; /* that is empty too */
        SAME(rows[i].pattern, sl_wildcard_matches(pattern, text), rows[i].matches);
    }
}

/* Exponential, and obviously right. */
static bool tries(const char *pattern, const char *text)
{
    if (*pattern == '*')
        return tries(pattern + 1, text) || (*text && tries(pattern, text + 1));
    return *pattern ? *pattern == *text && tries(pattern + 1, text + 1) : *text == 0;
}

static void make_up(uint64_t *seed, const char *alphabet, char out[9])
{
    int64_t len = unit_up_to(seed, 8), most = (int64_t)strlen(alphabet) - 1;
    for (int64_t i = 0; i < len; i++)
        out[i] = alphabet[unit_up_to(seed, most)];
    out[len] = 0;
}

TEST(it_agrees_with_trying_everything)
{
    uint64_t seed = 1, matches = 0;
    for (int i = 0; i < 200000; i++) {
        char pattern[9], text[9];
        make_up(&seed, "ab*", pattern);
        make_up(&seed, "ab", text);
        bool right = tries(pattern, text);
        matches += right;
        if (sl_wildcard_matches(sl_text(pattern), sl_text(text)) != right)
            fail_msg("`%s` and `%s`", pattern, text);
    }
    assert_true(matches > 1000);
}

/* A matcher that goes back to its stars would not come back from this. */
TEST(the_worst_pattern_takes_no_longer)
{
    enum { LEN = 1 << 20 };
    char *text = malloc(LEN), *pattern = malloc(LEN);
    assert_non_null(text);
    assert_non_null(pattern);
    memset(text, 'a', LEN);
    for (size_t i = 0; i < LEN; i++)
        pattern[i] = i % 2 ? 'a' : '*';
    assert_true(sl_wildcard_matches((struct sluice_text){ pattern, LEN },
                                    (struct sluice_text){ text, LEN }));
    pattern[LEN / 2 + 1] = 'b';
    assert_false(sl_wildcard_matches((struct sluice_text){ pattern, LEN },
                                     (struct sluice_text){ text, LEN }));
    free(text);
    free(pattern);
}

TEST(two_patterns_differ_where_no_text_matches_both)
{
    static const struct {
        const char *a, *b;
        bool differ;
    } rows[] = {
        { "a*", "b*", true },   { "a*", "ab*", false }, { "*a", "*b", true },
        { "*ab", "*b", false }, { "*", "x*y", false },  { "a*b", "a*c", true },
        { "abc", "a*", false }, { "abc", "b*", true },  { "abc", "abc", false },
        { "abc", "abd", true },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        SAME(rows[i].a, sl_wildcards_differ(sl_text(rows[i].a), sl_text(rows[i].b)),
             rows[i].differ);
        SAME(rows[i].b, sl_wildcards_differ(sl_text(rows[i].b), sl_text(rows[i].a)),
             rows[i].differ);
    }
}

/* What is said to differ must; the other way round it need not be told. */
TEST(whatever_matches_both_does_not_differ)
{
    uint64_t seed = 2, both = 0;
    for (int i = 0; i < 100000; i++) {
        char a[9], b[9], text[9];
        make_up(&seed, "ab*", a);
        make_up(&seed, "ab*", b);
        make_up(&seed, "ab", text);
        if (!tries(a, text) || !tries(b, text))
            continue;
        both++;
        if (sl_wildcards_differ(sl_text(a), sl_text(b)))
            fail_msg("`%s` and `%s` match `%s`", a, b, text);
    }
    assert_true(both > 100);
}
