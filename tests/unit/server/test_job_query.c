/* What stands in a path and behind its question mark: percent-encoding, names, and what
 * is refused. */
#include "server/job.h"

#include "unit/base/unit.h"

static struct sl_job job;

/* What is read lies in memory of exactly its size: one byte further is seen. */
static struct sluice_text exactly(struct sluice_text text)
{
    char *at = malloc(text.len ? text.len : 1);
    assert_non_null(at);
    if (text.len)
        memcpy(at, text.at, text.len);
    return (struct sluice_text){ at, text.len };
}

static void start(const char *method, const char *query)
{
    job = (struct sl_job){ .method = sl_text(method), .out = sl_buffer(1 << 16), .status = 200 };
    if (query)
        job.query = exactly(sl_text(query));
}

static void stop(void)
{
    free((void *)(uintptr_t)job.query.at);
    sl_buffer_release(&job.out);
    sl_arena_release(&job.arena);
}

static bool says(const char *what)
{
    return job.out.len && memmem(job.out.at, job.out.len, what, strlen(what));
}

/* ---- percent-encoding ---- */

TEST(percent_encoding_is_undone_once_and_must_be_whole_and_printable)
{
    static const struct {
        struct sluice_text text;
        const char *read; /* NULL: refused */
    } rows[] = {
        { SL_TEXT(""), "" },
        { SL_TEXT("a"), "a" },
        { SL_TEXT("a+b"), "a+b" }, /* a plus is a plus */
        { SL_TEXT("%41%62"), "Ab" },
        { SL_TEXT("%2f%2F"), "//" },
        { SL_TEXT("%2541"), "%41" },
        { SL_TEXT("%25"), "%" },
        { SL_TEXT("%20x%7E"), " x~" },
        { SL_TEXT("%C3%A9"), "\xc3\xa9" },
        { SL_TEXT("\xc3%a9"), "\xc3\xa9" },
        { SL_TEXT("%f0%9f%9a%b0"), "\xf0\x9f\x9a\xb0" },
        { SL_TEXT("%"), NULL },
        { SL_TEXT("%4"), NULL },
        { SL_TEXT("a%4"), NULL },
        { SL_TEXT("%4g"), NULL },
        { SL_TEXT("%g4"), NULL },
        { SL_TEXT("%%41"), NULL },
        { SL_TEXT("%-1"), NULL },
        { SL_TEXT("% 1"), NULL },
        { SL_TEXT("%00"), NULL },
        { SL_TEXT("a%00b"), NULL },
        { SL_TEXT("a\0b"), NULL },
        { SL_TEXT("%0a"), NULL },
        { SL_TEXT("%1F"), NULL },
        { SL_TEXT("%7f"), NULL },
        { SL_TEXT("\x7f"), NULL },
        { SL_TEXT("%80"), NULL },
        { SL_TEXT("%c3"), NULL },
        { SL_TEXT("%c3%28"), NULL },
        { SL_TEXT("%c0%af"), NULL },       /* a slash the long way */
        { SL_TEXT("%e0%80%af"), NULL },    /* and a longer one */
        { SL_TEXT("%ed%a0%80"), NULL },    /* half of a pair */
        { SL_TEXT("%f4%90%80%80"), NULL }, /* above the last */
        { SL_TEXT("%ef%bf%bf"), "\xef\xbf\xbf" },
        { SL_TEXT("%ff"), NULL },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_arena arena = { 0 };
        struct sluice_text text = exactly(rows[i].text);
        const char *read = sl_percent_read(&arena, text);
        if (!read != !rows[i].read || (read && strcmp(read, rows[i].read) != 0))
            fail_msg("%s: \"%s\"", rows[i].text.at, read ? read : "refused");
        free((void *)(uintptr_t)text.at);
        sl_arena_release(&arena);
    }
}

/* As JSON and headers have them. */
TEST(printable_is_utf8_without_control_characters)
{
    static const struct {
        struct sluice_text text;
        bool is_printable;
    } rows[] = {
        { SL_TEXT(""), true },
        { SL_TEXT(" ~"), true },
        { SL_TEXT("\xc3\xa9\xe2\x82\xac\xf0\x9f\x9a\xb0"), true },
        { SL_TEXT("\x1f"), false },
        { SL_TEXT("a\0"), false },
        { SL_TEXT("\t"), false },
        { SL_TEXT("\x7f"), false },
        { SL_TEXT("\xc3"), false },
        { SL_TEXT("\xe2\x82"), false },
        { SL_TEXT("\xa9"), false },
        { SL_TEXT("\xc1\x81"), false },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sluice_text text = exactly(rows[i].text);
        SAME(rows[i].text.at, sl_is_printable(text), rows[i].is_printable);
        free((void *)(uintptr_t)text.at);
    }
    assert_true(sl_is_printable((struct sluice_text){ 0 }));
}

/* ---- values ---- */

TEST(a_value_is_found_by_its_whole_name_and_decoded)
{
    static const struct {
        const char *query, *name, *value; /* NULL: there is none */
    } rows[] = {
        { NULL, "a", NULL },      { "", "a", NULL },
        { "a=1", "a", "1" },      { "a=1&b=2", "b", "2" },
        { "aa=1&a=2", "a", "2" }, { "a=%41%20", "a", "A " },
        { "a=b=c", "a", "b=c" },  { "a=", "a", "" },
        { "a", "a", "" },         { "a&b=2", "a", "" },
        { "b=2&a", "a", "" },     { "A=1", "a", NULL },
        { "%61=1", "a", NULL },   { "a=%00", "a", NULL },
        { "a=1&a=2", "a", "1" }, /* which sl_job_check_query refuses */
        { "=a", "a", NULL },      { "&&a=1", "a", "1" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        start("GET", rows[i].query);
        const char *value = sl_job_query(&job, rows[i].name);
        if (!value != !rows[i].value || (value && strcmp(value, rows[i].value) != 0))
            fail_msg("%s: \"%s\"", rows[i].query, value ? value : "none");
        stop();
    }
}

/* ---- what is refused ---- */

struct row {
    const char *method, *query;
    const char *refused; /* a part of what is said; NULL: it is good */
    bool dry_run;
};

static void check_rows(const struct row *rows, size_t count, const char *const *names)
{
    for (size_t i = 0; i < count; i++) {
        start(rows[i].method, rows[i].query);
        bool good = sl_job_check_query(&job, names);
        SAME(rows[i].query ? rows[i].query : "(none)", good, !rows[i].refused);
        SAME(rows[i].query ? rows[i].query : "(none)", job.dry_run, rows[i].dry_run);
        if (rows[i].refused && (job.status != 422 || !says(rows[i].refused)))
            fail_msg("%s: %u %.*s", rows[i].query, job.status, (int)job.out.len, job.out.at);
        stop();
    }
}

TEST(parameters_that_are_not_known_are_refused_and_so_is_rubbish)
{
    static const char *const names[] = { "tenant", "undo", NULL };
    static const struct row rows[] = {
        { "GET", NULL, NULL, false },
        { "GET", "", NULL, false },
        { "GET", "tenant=a", NULL, false },
        { "GET", "tenant=", NULL, false },
        { "GET", "tenant", NULL, false },
        { "GET", "tenant=a&", NULL, false },
        { "GET", "tenants=a", "There is no parameter `tenants` here.", false },
        { "GET", "tenan=a", "`tenan`", false },
        { "GET", "Tenant=a", "`Tenant`", false },
        { "GET", "tenant=a&x", "`x`", false },
        { "GET", "&tenant=a", "There is no parameter `` here.", false },
        { "GET", "tenant=a&&undo=true", "There is no parameter `` here.", false },
        { "GET", "=", "There is no parameter `` here.", false },
        { "GET", "%74enant=a", "There is no parameter `%74enant` here.", false },
        { "GET", "tenant=a&tenant=a", "`tenant` is there twice.", false },
        { "GET", "tenant=a&undo=true&tenant=b", "`tenant` is there twice.", false },
        { "GET", "tenant=%", "`tenant` is no text", false },
        { "GET", "tenant=%00", "`tenant` is no text", false },
        { "GET", "tenant=%ff", "`tenant` is no text", false },
        { "GET", "tenant=%c3%a9", NULL, false },
        { "GET", "undo=true", NULL, false },
        { "GET", "undo=false", NULL, false },
        { "GET", "undo=1", "`undo` is `true` or `false`.", false },
        { "GET", "undo=TRUE", "`undo` is `true` or `false`.", false },
        { "GET", "undo=", "`undo` is `true` or `false`.", false },
        { "GET", "undo=%74rue", NULL, false },
        { "GET", "a;b=\"c\"", "`a;b`", false },
    };
    check_rows(rows, COUNT(rows), names);
}

TEST(a_dry_run_is_for_what_changes_something)
{
    static const char *const names[] = { "undo", NULL };
    static const struct row rows[] = {
        { "PUT", NULL, NULL, false },
        { "PUT", "dry_run=true", NULL, true },
        { "POST", "dry_run=true", NULL, true },
        { "DELETE", "dry_run=true&undo=true", NULL, true },
        { "DELETE", "undo=true&dry_run=true", NULL, true },
        { "PUT", "dry_run=false", NULL, false },
        { "PUT", "dry_run", "`dry_run` is `true` or `false`.", false },
        { "PUT", "dry_run=", "`dry_run` is `true` or `false`.", false },
        { "PUT", "dry_run=yes", "`dry_run` is `true` or `false`.", false },
        { "PUT", "dry_run=true&dry_run=false", "`dry_run` is there twice.", false },
        { "PUT", "dry-run=true", "`dry-run`", false },
        { "GET", "dry_run=true", "There is no parameter `dry_run` here.", false },
        { "GET", "dry_run=false", "There is no parameter `dry_run` here.", false },
    };
    check_rows(rows, COUNT(rows), names);
}

/* What is wrong is named, and not its neighbour. */
TEST(of_two_flags_the_wrong_one_is_named)
{
    static const char *const names[] = { "undo", NULL };
    static const struct row rows[] = {
        { "PUT", "dry_run=true&undo=perhaps", "`undo` is `true` or `false`.", false },
        { "PUT", "dry_run=perhaps&undo=true", "`dry_run` is `true` or `false`.", false },
    };
    check_rows(rows, COUNT(rows), names);
}

TEST(without_names_nothing_but_a_dry_run_is_taken)
{
    static const char *const names[] = { NULL };
    static const struct row rows[] = {
        { "GET", NULL, NULL, false },
        { "GET", "a=1", "`a`", false },
        { "PUT", "dry_run=true", NULL, true },
        { "PUT", "undo=true", "`undo`", false },
    };
    check_rows(rows, COUNT(rows), names);
}
