/* The dashboard's files, as a browser is given them. */
#include "server/http/assets.h"

#include "unit/server/on_stage.h"

static const char yaml[] = "rules: [{ name: all, per: global, limit: 1/h }]\n";

#define CSS "text/css; charset=utf-8"
#define JS  "text/javascript; charset=utf-8"

static const struct {
    const char *path;
    const char *type;
    struct sluice_text (*bytes)(void);
    const char *has; /* something that is in it */
} files[] = {
    { "/", "text/html; charset=utf-8", sl_asset_page_index, "<!doctype html>" },
    { "/dashboard/dashboard.css", CSS, sl_asset_page_style, "prefers-color-scheme: dark" },
    { "/dashboard/chart.js", JS, sl_asset_page_chart, "Chart.js v" },
    { "/dashboard/main.js", JS, sl_asset_page_main, "addEventListener" },
};

/* One answer; `fields` with CRLF each. */
static struct answer *asked(const char *method, const char *path, const char *fields)
{
    char text[512];
    snprintf(text, sizeof text, "%s %s HTTP/1.1\r\nHost: a\r\n%s\r\n", method, path, fields);
    visitor_says(&visitor, sl_text(text));
    assert_int_equal(read_answers_of(&visitor, strcmp(method, "HEAD") == 0 ? "H" : "-"), 1);
    return &answers[0];
}

static struct answer *get(const char *path)
{
    return asked("GET", path, "");
}

/* The tag of what is at a path, kept beyond the answer. */
static const char *tag_of(const char *path)
{
    static char tag[64];
    struct sluice_text value = field_of(get(path), "ETag");
    assert_true(value.at && value.len < sizeof tag);
    memcpy(tag, value.at, value.len);
    tag[value.len] = 0;
    return tag;
}

ON_STAGE(a_file_is_sent_whole_and_with_its_type, yaml)
{
    for (size_t i = 0; i < COUNT(files); i++) {
        struct answer *answer = get(files[i].path);
        SAME(files[i].path, answer->status, 200);
        SAME_TEXT(files[i].path, field_of(answer, "Content-Type"), files[i].type);
        SAME(files[i].path, sl_text_equal(answer->body, files[i].bytes()), true);
        SAME(files[i].path, body_has(answer, files[i].has), true);
    }
}

ON_STAGE(head_tells_all_but_the_body, yaml)
{
    for (size_t i = 0; i < COUNT(files); i++) {
        struct answer *answer = asked("HEAD", files[i].path, "");
        SAME(files[i].path, answer->status, 200);
        SAME(files[i].path, answer->length, files[i].bytes().len);
        SAME(files[i].path, answer->body.len, 0);
        SAME_TEXT(files[i].path, field_of(answer, "Content-Type"), files[i].type);
    }
}

static void check_protection(const char *row, const struct answer *answer)
{
    SAME_TEXT(row, field_of(answer, "Content-Security-Policy"),
              "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
              "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    SAME_TEXT(row, field_of(answer, "X-Content-Type-Options"), "nosniff");
    SAME_TEXT(row, field_of(answer, "Referrer-Policy"), "no-referrer");
    SAME_TEXT(row, field_of(answer, "Cache-Control"), "no-cache");
}

ON_STAGE(every_answer_says_what_the_page_may_do, yaml)
{
    for (size_t i = 0; i < COUNT(files); i++) {
        check_protection(files[i].path, get(files[i].path));
        check_protection(files[i].path, asked("GET", files[i].path, "If-None-Match: *\r\n"));
    }
}

/* Were it otherwise, the policy would break the page and not the tests. */
ON_STAGE(no_script_or_style_stands_in_the_page, yaml)
{
    struct answer *answer = get("/");
    assert_false(body_has(answer, "<style"));
    assert_false(body_has(answer, "style="));
    assert_false(body_has(answer, "<script>"));
    assert_false(body_has(answer, " onclick"));
    assert_false(body_has(answer, "src=\"http"));
    assert_false(body_has(answer, "href=\"http"));
}

ON_STAGE(what_the_browser_has_is_not_sent_again, yaml)
{
    static const char *const lists[] = { "%s", "W/%s", "\"other\", %s", "\"other\",W/%s", "*" };
    char field[128], list[96];
    for (size_t i = 0; i < COUNT(files); i++) {
        const char *tag = tag_of(files[i].path);
        for (size_t j = 0; j < COUNT(lists); j++) {
            snprintf(list, sizeof list, lists[j], tag);
            snprintf(field, sizeof field, "If-None-Match: %s\r\n", list);
            struct answer *answer = asked("GET", files[i].path, field);
            SAME(list, answer->status, 304);
            SAME_TEXT(list, field_of(answer, "ETag"), tag);
            SAME(list, asked("HEAD", files[i].path, field)->status, 304);
        }
    }
    assert_int_equal(get("/")->status, 200); /* the connection goes on */
}

ON_STAGE(another_tag_gets_the_file, yaml)
{
    char field[128];
    static const char *const others[] = { "\"other\"", "\"\"", "W/\"0123456789abcdef\"", "x" };
    for (size_t i = 0; i < COUNT(others); i++) {
        snprintf(field, sizeof field, "If-None-Match: %s\r\n", others[i]);
        SAME(others[i], asked("GET", "/", field)->status, 200);
    }
    snprintf(field, sizeof field, "If-None-Match: %s\r\n", tag_of("/dashboard/main.js"));
    assert_int_equal(asked("GET", "/", field)->status, 200); /* another file's */
}

ON_STAGE(other_names_are_not_there, yaml)
{
    static const char *const paths[] = {
        "/dashboard/",         "/dashboard/index.html", "/dashboard/main.j",
        "/dashboard/main.jsx", "/dashboard/../main.js", "/dashboard/%6dain.js",
        "/dashboard/MAIN.js",  "/dashboard/x",          "/main.js",
    };
    for (size_t i = 0; i < COUNT(paths); i++)
        SAME(paths[i], get(paths[i])->status, 404);
    assert_int_equal(asked("GET", "/dashboard/x", "If-None-Match: *\r\n")->status, 404);
}

/* It holds no figures, so it needs no role: also with a wrong token, or through a proxy. */
ON_STAGE(any_client_may_load_it, yaml)
{
    assert_int_equal(asked("GET", "/?a=b", "Authorization: Bearer nonsense\r\n")->status, 200);
    assert_int_equal(asked("GET", "/", "X-Forwarded-For: 192.0.2.1\r\n")->status, 200);
}
