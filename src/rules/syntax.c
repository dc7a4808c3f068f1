/* Where a file is not YAML at all, said so that people can find it.
 *
 * libyaml says what it missed ("did not find expected key"), which is seldom
 * what was done wrong. The few slips that everyone makes (tabs, a pattern that
 * starts with a star, quotes left open) can be told from where it stopped. */
#include "rules/syntax.h"

#include "base/check.h"

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* libyaml knows only the byte where the text stops being UTF-8. */
static struct sl_mark mark_of_offset(struct sluice_text yaml, size_t offset)
{
    struct sl_mark mark = { 1, 1 };
    for (size_t i = 0; i < offset && i < yaml.len; i++) {
        if (yaml.at[i] == '\n')
            mark = (struct sl_mark){ mark.line + 1, 1 };
        else if (!is_continuation(yaml.at[i]))
            mark.column++;
    }
    return mark;
}

static char character_at(struct sluice_text yaml, struct sl_mark mark)
{
    struct sl_mark here = { 1, 1 };
    for (size_t i = 0; i < yaml.len; i++) {
        if (here.line == mark.line && here.column == mark.column)
            return yaml.at[i];
        if (yaml.at[i] == '\n')
            here = (struct sl_mark){ here.line + 1, 1 };
        else if (i + 1 == yaml.len || !is_continuation(yaml.at[i + 1]))
            here.column++;
    }
    return '\0';
}

/* What people most often meant where libyaml only says what it missed. */
static const char *hint_for(char found, const char *context, const char *problem)
{
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
    const char *hint = hint_for(character_at(yaml, mark), context, problem);
    if (context[0] && parser->context_mark.line + 1 != mark.line)
        sl_report_error(report, mark, "this is not YAML: %s (%s from line %zu on)%s", problem,
                        context, parser->context_mark.line + 1, hint);
    else
        sl_report_error(report, mark, "this is not YAML: %s%s", problem, hint);
}

/* Before a document, or between two. Found here and not by its event, because
 * libyaml compares every %TAG with every other before it gives one. */
bool sl_syntax_has_directive(struct sluice_text yaml, struct sl_report *report)
{
    struct sl_mark mark = { 1, 1 };
    for (size_t at = 0; at < yaml.len; mark.line++) {
        if (yaml.at[at] == '%') {
            sl_report_error(report, mark,
                            "a line that starts with `%%` is a directive, which a rules file "
                            "cannot have; leave it out");
            return true;
        }
        const char *end = memchr(yaml.at + at, '\n', yaml.len - at);
        at = end ? (size_t)(end - yaml.at) + 1 : yaml.len;
    }
    return false;
}
