#include "rules/pattern.h"

#include "unit/base/unit.h"

static struct sl_arena arena;

static int release(void **unused)
{
    (void)unused;
    sl_arena_release(&arena);
    return 0;
}

/* ---- normalising ------------------------------------------------------------- */

static const struct {
    const char *resource, *normal;
} spellings[] = {
    { "/api/videos", "/api/videos" },
    { "", "" },
    { "/", "/" },
    { "//", "/" },
    { "/api/", "/api" },
    { "/api//", "/api" },
    { "//api///videos", "/api/videos" },
    { "/API/Videos", "/API/Videos" }, /* case is kept */
    /* the query */
    { "/api?a=1", "/api" },
    { "/api/?a=/../b", "/api" },
    { "/?", "/" },
    { "?a=1", "" },
    { "/api#part", "/api" },
    { "/api#part?a", "/api" },
    { "/api?a#part", "/api" },
    /* dot segments */
    { "/.", "/" },
    { "/..", "/" },
    { "/../..", "/" },
    { "/api/.", "/api" },
    { "/./api/./videos/.", "/api/videos" },
    { "/api/..", "/" },
    { "/api/../admin", "/admin" },
    { "/api/x/../../admin", "/admin" },
    { "/api/../../../admin", "/admin" },
    { "/api/x/..//y", "/api/y" },
    { "/api/...", "/api/..." },
    { "/api/..x", "/api/..x" },
    { "/api/.x", "/api/.x" },
    { "/.../..", "/" },
    /* decoding */
    { "/%61pi", "/api" },
    { "/%7Euser", "/~user" },
    { "/%7euser", "/~user" },
    { "/%2D%2e%5F%7e%30%5A%7A", "/-._~0Zz" },
    { "/a%20b", "/a%20b" },
    { "/a%2fb", "/a%2Fb" },
    { "/a%2Fb", "/a%2Fb" },
    { "/%c3%a9", "/%C3%A9" },
    { "/%00", "/%00" },
    { "/%3f", "/%3F" },
    { "/%", "/%" },
    { "/%4", "/%4" },
    { "/%4g", "/%4g" },
    { "/%g4", "/%g4" },
    { "/%%41", "/%A" },
    { "/%252e%252e/x", "/%252e%252e/x" }, /* once, never twice */
    { "/%2541", "/%2541" },
    /* tricks */
    { "/api/%2e%2e/admin", "/admin" },
    { "/api/%2E%2E/admin", "/admin" },
    { "/api/.%2e/admin", "/admin" },
    { "/api/%2e./admin", "/admin" },
    { "/api/%2e/admin", "/api/admin" },
    { "/api/%2e%2e%2fadmin", "/api/..%2Fadmin" }, /* an encoded slash is no slash */
    { "/api/..%2f..%2fadmin", "/api/..%2F..%2Fadmin" },
    { "/api/..%5cadmin", "/api/..%5Cadmin" },
    { "/api/..\\admin", "/api/..\\admin" },
    { "/api;x=1/..;/admin", "/api;x=1/..;/admin" },
    /* dotted names: decoded, and not folded */
    { "api.payment.create", "api.payment.create" },
    { "api%2Epayment", "api.payment" },
    { "api..payment", "api..payment" },
    { "..", ".." },
    { "api/../x", "api/../x" },
    { "api.payment?x", "api.payment" },
    { "*", "*" },
};

static struct sluice_text normalise(const char *resource, char *room)
{
    size_t len = strlen(resource);
    memcpy(room, resource, len);
    return (struct sluice_text){ room, sl_resource_normalise(room, len) };
}

TEST(every_spelling_has_one_normal_form)
{
    for (size_t i = 0; i < COUNT(spellings); i++) {
        char room[128], again[128];
        struct sluice_text normal = normalise(spellings[i].resource, room);
        SAME_TEXT(spellings[i].resource, normal, spellings[i].normal);
        SAME_TEXT(spellings[i].resource, normalise(spellings[i].normal, again),
                  spellings[i].normal);
    }
}

TEST(a_normal_path_stays_as_it_is_whatever_it_was_made_from)
{
    static const char *const pieces[] = { "/", "/", ".", "..", "%2e", "%2F", "a", "%61", "%", "*" };
    uint64_t seed = 1;
    for (int i = 0; i < 20000; i++) {
        char text[128] = "", room[128], again[128];
        for (int64_t n = unit_up_to(&seed, 12); n >= 0; n--)
            strcat(text, pieces[unit_up_to(&seed, (int64_t)COUNT(pieces) - 1)]);
        struct sluice_text normal = normalise(text, room);
        assert_true(normal.len <= strlen(text) + 1);
        room[normal.len] = 0;
        /* Except where decoding made a new escape out of % and what follows. */
        if (strchr(room, '%'))
            continue;
        SAME_TEXT(text, normalise(room, again), room);
        assert_null(strstr(room[0] == '/' ? room : "", "//"));
        assert_null(strstr(room[0] == '/' ? room : "", "/../"));
    }
}

/* ---- matching ---------------------------------------------------------------- */

static struct sl_pattern pattern_of(const char *text)
{
    struct sl_pattern pattern;
    const char *wrong = sl_pattern_parse(&arena, sl_text(text), &pattern);
    if (wrong)
        fail_msg("`%s`: %s", text, wrong);
    return pattern;
}

static bool matches(const char *pattern_text, const char *resource)
{
    struct sl_pattern pattern = pattern_of(pattern_text);
    struct sl_segments cut;
    char *room = sl_arena_copy(&arena, sl_text(resource));
    sl_resource_cut(normalise(resource, room), &cut);
    return sl_pattern_matches(&pattern, &cut);
}

TEST(a_pattern_matches_segment_by_segment)
{
    static const struct {
        const char *pattern, *resource;
        bool matches;
    } rows[] = {
        { "/", "/", true },
        { "/", "/a", false },
        { "/*", "/", true },
        { "/*", "/a/b/c", true },
        { "/api", "/api", true },
        { "/api/", "/api", true },
        { "/api", "/api/", true },
        { "/api", "/api/x", false },
        { "/api", "/apis", false },
        { "/api", "/Api", false },
        { "/api/*", "/api", true },
        { "/api/*", "/api/", true },
        { "/api/*", "/api/x", true },
        { "/api/*", "/api/x/y", true },
        { "/api/*", "/apis", false },
        { "/api/*", "/", false },
        { "/api/*", "/api/../admin", false },
        { "/api/*", "/api/%2e%2e/admin", false },
        { "/admin/*", "/api/%2e%2e/admin/x", true },
        { "/api/*/logs", "/api/x/logs", true },
        { "/api/*/logs", "/api/logs", false },
        { "/api/*/logs", "/api/x/y/logs", false },
        { "/api/*/logs", "/api/x/logs/y", false },
        { "/*/logs/*", "/x/logs", true },
        { "/*/logs/*", "/x/logs/y/z", true },
        { "/*/*", "/x", true },
        { "/*/*", "/", false },
        { "/%61pi/*", "/api/x", true },
        { "/a%2Fb", "/a%2fb", true },
        { "/a%2Fb", "/a/b", false },
        { "api.payment.create", "api.payment.create", true },
        { "api.payment.create", "api.payment", false },
        { "api.*", "api", true },
        { "api.*", "api.payment.create", true },
        { "api.*.create", "api.payment.create", true },
        { "api.*", "api.", true },
        { "api.payment", "api.payment.", false }, /* an empty segment is one */
        { "api.payment.", "api.payment", false },
        { "api.payment.", "api.payment.", true },
        { "api.*", "/api/x", false },
        { "/api/*", "api", false },
        { "*", "/", true },
        { "*", "/a/b", true },
        { "*", "a.b", true },
        { "*.b", "a.b", true },
        { "*.b", "/a/b", false },
        { "/a.b", "/a.b", true }, /* in a path a dot is a letter */
        { "/a/*", "/a/b.c", true },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char row[128];
        snprintf(row, sizeof row, "`%s` on `%s`", rows[i].pattern, rows[i].resource);
        SAME(row, matches(rows[i].pattern, rows[i].resource), rows[i].matches);
    }
}

TEST(a_pattern_that_is_none_is_refused)
{
    static const char *const texts[] = { "", "/api*", "/a*b/c", "/**", "api.x*", "**", "*/x" };
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct sl_pattern pattern = { .segment_count = 99 };
        SAME(texts[i], sl_pattern_parse(&arena, sl_text(texts[i]), &pattern) != NULL, true);
        SAME(texts[i], pattern.segment_count, 99);
    }
}

/* "/s/s/…/s", with `count` segments. */
static char *path_of(size_t count, const char *end)
{
    char *text = sl_arena_take(&arena, 2 * count + strlen(end) + 1);
    for (size_t i = 0; i < count; i++)
        memcpy(text + 2 * i, "/s", 2);
    strcpy(text + 2 * count, end);
    return text;
}

TEST(a_pattern_has_at_most_63_segments)
{
    struct sl_pattern pattern;
    assert_null(sl_pattern_parse(&arena, sl_text(path_of(63, "")), &pattern));
    assert_non_null(sl_pattern_parse(&arena, sl_text(path_of(64, "")), &pattern));
    assert_null(sl_pattern_parse(&arena, sl_text(path_of(62, "/*")), &pattern));
    assert_non_null(sl_pattern_parse(&arena, sl_text(path_of(63, "/*")), &pattern));
}

TEST(a_longer_resource_matches_no_longest_pattern)
{
    for (size_t count = 62; count <= 200; count++) {
        char row[32];
        snprintf(row, sizeof row, "%zu segments", count);
        SAME(row, matches(path_of(63, ""), path_of(count, "")), count == 63);
        SAME(row, matches(path_of(62, "/*"), path_of(count, "")), true);
    }
}

/* ---- covering ---------------------------------------------------------------- */

TEST(a_wider_pattern_covers_a_narrower)
{
    static const struct {
        const char *wide, *narrow;
        bool covers;
    } rows[] = {
        { "*", "/api/*", true },      { "*", "api.x", true },       { "*", "*", true },
        { "/*", "*", false },         { "/*", "/", true },          { "/*", "/a/*/c", true },
        { "/api/*", "/api", true },   { "/api/*", "/api/*", true }, { "/api/*", "/api/x/*", true },
        { "/api", "/api/*", false },  { "/api/*", "/*", false },    { "/*/x", "/a/x", true },
        { "/a/x", "/*/x", false },    { "/*/x", "/a/*", false },    { "/*/*", "/a/*", true },
        { "/api/*", "api.x", false }, { "api.*", "api.x.y", true }, { "api.*", "/api", false },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char row[64];
        struct sl_pattern wide = pattern_of(rows[i].wide);
        struct sl_pattern narrow = pattern_of(rows[i].narrow);
        snprintf(row, sizeof row, "`%s` over `%s`", rows[i].wide, rows[i].narrow);
        SAME(row, sl_pattern_covers(&wide, &narrow), rows[i].covers);
    }
}

/* Path number `number` of all those with up to 4 segments out of 3; no pattern
 * names the third, so it stands for any other. */
static const char *nth_path(unsigned number, char out[32])
{
    char *end = out;
    for (; number; number = (number - 1) / 3)
        end += sprintf(end, "/%c", "abz"[(number - 1) % 3]);
    if (end == out)
        strcpy(out, "/");
    return out;
}

enum { PATHS_TO_4 = 1 + 3 + 9 + 27 + 81 };

TEST(covering_is_matching_all_that_the_other_matches)
{
    static const char *const segments[] = { "/a", "/b", "/*" };
    uint64_t seed = 2;
    struct sl_segments cut[PATHS_TO_4];
    for (unsigned i = 0; i < PATHS_TO_4; i++) {
        char path[32];
        sl_resource_cut(sl_text(sl_arena_copy(&arena, sl_text(nth_path(i, path)))), &cut[i]);
    }
    for (int round = 0; round < 5000; round++) {
        char text[2][32] = { "", "" };
        for (int k = 0; k < 2; k++)
            for (int64_t n = unit_up_to(&seed, 2); n >= 0; n--)
                strcat(text[k], segments[unit_up_to(&seed, 2)]);
        struct sl_pattern wide = pattern_of(text[0]), narrow = pattern_of(text[1]);
        bool all = true;
        for (unsigned i = 0; i < PATHS_TO_4; i++)
            if (sl_pattern_matches(&narrow, &cut[i]) && !sl_pattern_matches(&wide, &cut[i]))
                all = false;
        char row[80];
        snprintf(row, sizeof row, "`%s` over `%s`", text[0], text[1]);
        SAME(row, sl_pattern_covers(&wide, &narrow), all);
    }
}

TESTS_WITH(NULL, release)
