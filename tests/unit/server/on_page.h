/* The page that Prometheus reads, and what is on it. */
#ifndef TEST_SERVER_ON_PAGE_H
#define TEST_SERVER_ON_PAGE_H

#include "server/metrics/metrics.h"
#include "unit/limiter/model_store.h"
#include "unit/limiter/rules.h"

static inline struct sl_metrics metrics_of(const struct sl_ruleset *rules)
{
    struct sl_metrics metrics;
    assert_true(sl_metrics_init(&metrics, rules));
    metrics.version = "1.2.3";
    return metrics;
}

/* The page, terminated; the caller's to free. */
static inline char *print(const struct sl_metrics *metrics)
{
    struct sl_buffer out = sl_buffer(1 << 20);
    sl_metrics_print(&out, metrics);
    assert_false(out.failed);
    sl_buffer_add(&out, SL_TEXT("\0"));
    return out.at;
}

/* Does the page have this line, whole? */
static inline bool has_line(const char *page, const char *line)
{
    size_t len = strlen(line);
    for (const char *at = page; (at = strstr(at, line)); at++)
        if ((at == page || at[-1] == '\n') && at[len] == '\n')
            return true;
    return false;
}

static inline void assert_line(const char *page, const char *line)
{
    if (!has_line(page, line))
        fail_msg("no line `%s` in\n%s", line, page);
}

/* It has these lines, one behind the other. */
static inline void assert_lines(const char *page, const char *lines)
{
    const char *at = strstr(page, lines);
    if (!at || (at != page && at[-1] != '\n'))
        fail_msg("not these lines:\n%s in\n%s", lines, page);
}

static inline void ask(struct sl_limiter *limiter, const char *user, const char *resource,
                       int times)
{
    struct sluice_request request = sluice_request();
    struct sluice_decision decision;
    request.user = sl_text(user);
    request.resource = sl_text(resource);
    for (int i = 0; i < times; i++)
        sl_limiter_decide(limiter, &request, &decision);
}

static const char two_rules[] =
    "exempt: { users: [root] }\n"
    "rules: [{ name: api, resource: /api, per: user, limit: 3/m },\n"
    "        { name: try.it, resource: /try, per: user, limit: 1/m, shadow: true,\n"
    "          algorithm: fixed_window }]\n";

/* ---- the format, whatever is in it ---- */

static inline bool is_name(const char *at, const char *end, bool colon)
{
    bool good = at < end && !(*at >= '0' && *at <= '9');
    for (; at < end; at++)
        good &= (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || *at == '_' ||
                (*at >= '0' && *at <= '9') || (colon && *at == ':');
    return good;
}

/* `{name="value",…}`; where it ends, or NULL: it is none. */
static const char *skip_labels(const char *at)
{
    do {
        const char *name = ++at;
        at = strchr(at, '=');
        if (!at || !is_name(name, at, false) || at[1] != '"')
            return NULL;
        for (at += 2; *at != '"'; at++) {
            if (*at == '\\' && !strchr("\\\"n", *++at))
                return NULL;
            if (*at == '\n' || *at == 0)
                return NULL;
        }
        at++;
    } while (*at == ',');
    return *at == '}' ? at + 1 : NULL;
}

struct page {
    char family[128];
    char seen[128][128]; /* families, each once */
    size_t family_count;
    bool typed, is_histogram;
};

static inline void check_help(struct page *page, const char *line)
{
    const char *end = strchr(line + 7, ' ');
    assert_non_null(end);
    snprintf(page->family, sizeof page->family, "%.*s", (int)(end - line - 7), line + 7);
    assert_true(is_name(page->family, page->family + strlen(page->family), true));
    for (size_t i = 0; i < page->family_count; i++)
        assert_string_not_equal(page->family, page->seen[i]);
    assert_true(page->family_count < COUNT(page->seen));
    strcpy(page->seen[page->family_count++], page->family);
    page->typed = false;
}

static inline void check_type(struct page *page, const char *line)
{
    char start[256];
    size_t len = strlen(page->family);
    bool is_total = len > 6 && strcmp(page->family + len - 6, "_total") == 0;
    snprintf(start, sizeof start, "# TYPE %s ", page->family);
    assert_int_equal(strncmp(line, start, strlen(start)), 0);
    const char *type = line + strlen(start);
    page->is_histogram = strcmp(type, "histogram") == 0;
    if (is_total || !page->is_histogram)
        assert_string_equal(type, is_total ? "counter" : "gauge");
    assert_false(page->typed);
    page->typed = true;
}

static inline void check_sample(const struct page *page, const char *line)
{
    size_t len = strlen(page->family);
    assert_true(page->typed);
    assert_int_equal(strncmp(line, page->family, len), 0);
    if (page->is_histogram)
        len += strcspn(line + len, "{ "); /* _bucket, _sum, _count */
    const char *at = line[len] == '{' ? skip_labels(line + len) : line + len;
    if (!at || *at != ' ' || at[1] == 0 || at[strspn(at + 1, "0123456789.") + 1] != 0)
        fail_msg("not a sample: %s", line);
}

/* Line by line, as a strict reader would. */
static inline size_t check_page(char *text)
{
    struct page page = { 0 };
    size_t samples = 0;
    assert_int_equal(text[strlen(text) - 1], '\n');
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (strncmp(line, "# HELP ", 7) == 0)
            check_help(&page, line);
        else if (line[0] == '#')
            check_type(&page, line);
        else
            check_sample(&page, line);
        samples += line[0] != '#';
    }
    return samples;
}

#endif
