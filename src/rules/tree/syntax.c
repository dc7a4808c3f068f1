/* Explaining where a file is not YAML at all.
 *
 * libyaml reports what it missed ("did not find expected key"), which is seldom
 * the mistake that was made. The few common mistakes (tabs, a pattern that
 * starts with a star, quotes left open) show from where it stopped. */
#include "rules/tree/syntax.h"

#include "base/check.h"

/* The bytes of the line break at `at`, 0 if there is none. Knows every break that
 * libyaml knows: a start of a line for libyaml must be one here too. */
static size_t break_len(struct sluice_text yaml, size_t at)
{
    const char *here = yaml.at + at;
    size_t left = yaml.len - at;
    if (*here == '\n')
        return 1;
    if (*here == '\r')
        return left >= 2 && here[1] == '\n' ? 2 : 1;
    if (left >= 2 && memcmp(here, "\xc2\x85", 2) == 0) /* U+0085 */
        return 2;
    if (left >= 3 && memcmp(here, "\xe2\x80", 2) == 0 &&
        (here[2] == '\xa8' || here[2] == '\xa9')) /* U+2028, U+2029 */
        return 3;
    return 0;
}

/* Returns the bytes of the character at `at`, a line break included. Moves the mark
 * over it. */
static size_t step_character(struct sluice_text yaml, size_t at, struct sl_mark *mark)
{
    size_t len = break_len(yaml, at);
    if (len) {
        *mark = (struct sl_mark){ mark->line + 1, 1 };
        return len;
    }
    len = 1;
    while (at + len < yaml.len && sl_utf8_continues(yaml.at[at + len]))
        len++;
    mark->column++;
    return len;
}

/* libyaml gives only the byte where the text stops being UTF-8. */
static struct sl_mark mark_of_offset(struct sluice_text yaml, size_t offset)
{
    struct sl_mark mark = { 1, 1 };
    for (size_t at = 0; at < offset && at < yaml.len;)
        at += step_character(yaml, at, &mark);
    return mark;
}

/* The rest of the line from a mark on. */
static struct sluice_text line_from(struct sluice_text yaml, struct sl_mark mark)
{
    struct sl_mark here = { 1, 1 };
    size_t at = 0;
    while (at < yaml.len && (here.line != mark.line || here.column != mark.column))
        at += step_character(yaml, at, &here);
    size_t len = 0;
    while (at + len < yaml.len && !break_len(yaml, at + len))
        len++;
    return (struct sluice_text){ yaml.at + at, len };
}

/* Returns true for a colon with nothing behind it on the line but a comment. */
static bool is_last_colon(struct sluice_text rest)
{
    size_t i = 1;
    while (i < rest.len && (rest.at[i] == ' ' || rest.at[i] == '\t'))
        i++;
    return rest.len && rest.at[0] == ':' && (i == rest.len || rest.at[i] == '#');
}

/* The most common mistake where libyaml only reports what it missed. `rest`
 * is the line from where it stopped. */
static const char *hint_for(struct sluice_text rest, const char *context, const char *problem)
{
    char found = '\0';
    if (rest.len)
        found = rest.at[0];
    if (found == '\t')
        return "; indent with spaces, not tabs";
    if (found == '@' || found == '`')
        return "; write a value that starts with this character in quotes";
    if (strstr(context, "alias"))
        return "; write a pattern that starts with `*` in quotes";
    if (strstr(context, "quoted"))
        return "; close the quotes";
    if (strstr(problem, "expected ':'"))
        return "; write `key: value`";
    if (strstr(problem, "mapping values") && is_last_colon(rest))
        return "; put what is inside on lines of its own, or a text that ends in a colon in "
               "quotes: `store: \"memory:\"`";
    if (strstr(problem, "mapping values"))
        return "; check the indentation, and quote a text that holds a colon and a space";
    return "";
}

void sl_syntax_report(const yaml_parser_t *parser, struct sluice_text yaml,
                      struct sl_report *report)
{
    const char *problem = parser->problem ? parser->problem : "cannot be read";
    if (parser->error == YAML_READER_ERROR) {
        sl_report_error(report, mark_of_offset(yaml, parser->problem_offset),
                        "this is not text (%s); save the file as plain UTF-8", problem);
        return;
    }
    SL_CHECK(parser->error != YAML_MEMORY_ERROR);
    const char *context = parser->context ? parser->context : "";
    struct sl_mark mark = sl_mark_of(parser->problem_mark);
    const char *hint = hint_for(line_from(yaml, mark), context, problem);
    if (context[0] && parser->context_mark.line + 1 != mark.line)
        sl_report_error(report, mark, "this is not YAML: %s (%s from line %zu on)%s", problem,
                        context, parser->context_mark.line + 1, hint);
    else
        sl_report_error(report, mark, "this is not YAML: %s%s", problem, hint);
}

/* Looks before a document, and between two. Found here and not by its event, because
 * libyaml compares every %TAG with every other before it gives one. */
bool sl_syntax_has_directive(struct sluice_text yaml, struct sl_report *report)
{
    struct sl_mark mark = { 1, 1 };
    for (size_t at = 0; at < yaml.len; at += step_character(yaml, at, &mark)) {
        if (yaml.at[at] == '%' && mark.column == 1) {
            sl_report_error(report, mark,
                            "a line that starts with `%%` is a directive, which %s cannot have; "
                            "leave it out",
                            sl_report_what(report));
            return true;
        }
    }
    return false;
}
