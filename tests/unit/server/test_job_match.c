/* If-Match and If-None-Match. */
#include "server/job.h"

#include "unit/base/unit.h"

struct row {
    const char *match, *none; /* NULL: not given */
    const char *etag;         /* of what is there; NULL: nothing is */
    bool passes;
};

static struct sluice_text exactly(const char *text)
{
    size_t len = text ? strlen(text) : 0;
    char *at = text ? malloc(len ? len : 1) : NULL;
    if (len)
        memcpy(at, text, len);
    return (struct sluice_text){ at, len };
}

static void check(const struct row *row)
{
    struct sl_job job = { .status = 200, .out = sl_buffer(1 << 16) };
    job.if_match = exactly(row->match);
    job.if_none_match = exactly(row->none);
    bool passes = sl_job_check_match(&job, row->etag);
    if (passes != row->passes || job.status != (passes ? 200 : 412) || job.is_problem == passes)
        fail_msg("If-Match: %s, If-None-Match: %s, of %s: %s (%u)", row->match ? row->match : "-",
                 row->none ? row->none : "-", row->etag ? row->etag : "nothing",
                 passes ? "passed" : "refused", job.status);
    free((void *)(uintptr_t)job.if_match.at);
    free((void *)(uintptr_t)job.if_none_match.at);
    sl_buffer_release(&job.out);
    sl_arena_release(&job.arena);
}

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check(&rows[i]);
}

#define R1 "\"r1\""

TEST(without_a_condition_everything_passes)
{
    static const struct row rows[] = {
        { NULL, NULL, NULL, true },
        { NULL, NULL, R1, true },
    };
    check_rows(rows, COUNT(rows));
}

TEST(if_match_passes_for_the_tag_that_is_there_and_no_other)
{
    static const struct row rows[] = {
        { R1, NULL, R1, true },
        { R1, NULL, "\"r2\"", false },
        { R1, NULL, NULL, false },
        { "*", NULL, R1, true },
        { "*", NULL, NULL, false },
        { "\"r2\", " R1, NULL, R1, true },
        { R1 ", \"r2\"", NULL, R1, true },
        { "\"r2\"," R1 ",\"r3\"", NULL, R1, true },
        { "\"r2\",\t" R1, NULL, R1, true },
        { "\"r2\", \"r3\"", NULL, R1, false },
        { "", NULL, R1, false },
        { "", NULL, NULL, false },
        { "r1", NULL, R1, false },
        { "'r1'", NULL, R1, false },
        { "\"R1\"", NULL, R1, false },
        { "\"*\"", NULL, R1, false },
        { "* ", NULL, R1, false },
        { "*, " R1, NULL, R1, true },
    };
    check_rows(rows, COUNT(rows));
}

/* To change what one has only weakly seen is to change what one has not seen. */
TEST(a_weak_tag_matches_nothing_that_is_to_be_changed)
{
    static const struct row rows[] = {
        { "W/" R1, NULL, R1, false },
        { "W/" R1 ", W/\"r2\"", NULL, R1, false },
        { "w/" R1, NULL, R1, false },
        { "W/" R1 ", " R1, NULL, R1, true },
    };
    check_rows(rows, COUNT(rows));
}

TEST(a_tag_that_is_a_part_of_another_is_another)
{
    static const struct row rows[] = {
        { "\"r12\"", NULL, R1, false },
        { "\"r1", NULL, R1, false },
        { "r1\"", NULL, R1, false },
        { "\"ar1\"", NULL, R1, false },
        { "\"xr1\", \"r1x\"", NULL, R1, false },
        { R1, NULL, "\"r12\"", false },
        { "\"r\"", NULL, R1, false },
        { "\"\"", NULL, R1, false },
        { "x" R1, NULL, R1, false },
    };
    check_rows(rows, COUNT(rows));
}

TEST(if_none_match_passes_where_nothing_or_something_else_is)
{
    static const struct row rows[] = {
        { NULL, "*", NULL, true },     { NULL, "*", R1, false },
        { NULL, R1, NULL, true },      { NULL, R1, R1, false },
        { NULL, R1, "\"r2\"", true },  { NULL, "\"r2\", " R1, R1, false },
        { NULL, "\"r12\"", R1, true }, { NULL, "", R1, true },
    };
    check_rows(rows, COUNT(rows));
}

TEST(of_both_each_must_hold)
{
    static const struct row rows[] = {
        { "*", "*", R1, false }, { "*", "*", NULL, false },         { R1, "\"r2\"", R1, true },
        { R1, R1, R1, false },   { "\"r2\"", "\"r3\"", R1, false },
    };
    check_rows(rows, COUNT(rows));
}

static const char *detail_of(const char *match, const char *none, const char *etag)
{
    static char text[512];
    struct sl_job job = { .out = sl_buffer(1 << 16) };
    job.if_match = sl_text(match);
    job.if_none_match = sl_text(none);
    assert_false(sl_job_check_match(&job, etag));
    snprintf(text, sizeof text, "%.*s", (int)job.out.len, job.out.at);
    sl_buffer_release(&job.out);
    sl_arena_release(&job.arena);
    return text;
}

TEST(a_refusal_says_which_condition_and_what_is_there_now)
{
    assert_non_null(strstr(detail_of("*", NULL, NULL), "There is nothing of that name "
                                                       "(`If-Match`)."));
    assert_non_null(strstr(detail_of(R1, NULL, "\"r7\""), "it is \\\"r7\\\" now"));
    assert_non_null(strstr(detail_of(NULL, "*", "\"r7\""), "(`If-None-Match`), as \\\"r7\\\"."));
}
