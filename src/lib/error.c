/* Writes sentences into the error of the caller (see error.h). */
#include "lib/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROOM = sizeof((struct sluice_error *)0)->text, MORE_MAX_BYTES = 32 };

/* Removes half a character from the end of text that was cut. */
static void trim_partial_char(char *text)
{
    size_t len = strlen(text), at = len;
    while (at && sl_utf8_continues(text[at - 1]))
        at--;
    if (at == 0)
        return;
    unsigned char lead = (unsigned char)text[at - 1];
    size_t wanted = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    if (len - (at - 1) < wanted)
        text[at - 1] = '\0';
}

int sl_error_add(struct sluice_error *error, int status, const char *format, ...)
{
    size_t len = strlen(error->text);
    va_list arguments;
    if (len && len + 1 < ROOM)
        error->text[len++] = '\n';
    va_start(arguments, format);
    vsnprintf(error->text + len, ROOM - len, format, arguments);
    va_end(arguments);
    trim_partial_char(error->text);
    return status;
}

/* Cuts a line off the front of *rest. */
static struct sluice_text take_line(const char **rest)
{
    struct sluice_text line = { *rest, strcspn(*rest, "\n") };
    *rest += line.len + ((*rest)[line.len] == '\n');
    return line;
}

/* Adds whole lines; only a first line that fills the room alone is cut. */
static void add_lines(struct sluice_error *error, const char *lines, size_t count)
{
    size_t shown = 0;
    while (*lines) {
        struct sluice_text line = take_line(&lines);
        size_t room = ROOM - MORE_MAX_BYTES - strlen(error->text);
        if (line.len + 1 >= room && shown > 0)
            break;
        if (line.len >= room)
            line.len = room - 1;
        sl_error_add(error, 0, "%.*s", (int)line.len, line.at);
        shown++;
    }
    if (shown < count)
        sl_error_add(error, 0, "and %zu more", count - shown);
}

int sl_error_report(struct sluice_error *error, int status, struct sl_report *report)
{
    char *lines = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&lines, &len);
    if (!out)
        return sl_error_add(error, status, "%zu problems", report->count);
    sl_report_print(report, out);
    if (fclose(out) == 0)
        add_lines(error, lines, report->count);
    free(lines);
    return status;
}
