/* Printing an event as a line. A line is printed whole, and if it is too long a second time with
 * everything in it shortened. It is not left out: a client that sends names of a megabyte would go
 * unseen. */
#include "telemetry/audit/line.h"

#include "base/check.h"
#include "base/text/time.h"
#include "wire/json/decision.h"

enum { CUTS = 256 }; /* texts of 1/256 line, each byte escaped to 6, fit a line */

struct line_printer {
    struct sl_buffer *out;
    struct sl_sha256 *hasher;
    size_t text_max; /* 0: no limit */
};

static void add_name(struct line_printer *print, const char *name)
{
    sl_buffer_add(print->out, SL_TEXT(", \""));
    sl_buffer_add(print->out, sl_text(name));
    sl_buffer_add(print->out, SL_TEXT("\": "));
}

/* Cuts between two characters, if it is text at all. */
static struct sluice_text cut_text(struct sluice_text text, size_t most)
{
    size_t len = most;
    while (len > 0 && sl_utf8_continues(text.at[len]))
        len--;
    return (struct sluice_text){ text.at, len > 0 ? len : most };
}

static void add_text(struct line_printer *print, struct sluice_text text)
{
    if (!text.at) {
        sl_buffer_add(print->out, SL_TEXT("null"));
    } else if (print->text_max && text.len > print->text_max) {
        sl_json_print_string(print->out, cut_text(text, print->text_max));
        print->out->len--; /* the quote */
        sl_buffer_add(print->out, SL_TEXT("…\""));
    } else {
        sl_json_print_string(print->out, text);
    }
}

/* Of JSON that is too long to be shown: enough to recognise it by. */
static void add_digest(struct line_printer *print, struct sluice_text json)
{
    struct sl_digest digest;
    char hex[SL_DIGEST_HEX + 1];
    sl_sha256_of(print->hasher, json, &digest);
    sl_digest_print(&digest, hex);
    sl_buffer_add(print->out, SL_TEXT("{\"bytes\": "));
    sl_buffer_add_i64(print->out, (int64_t)json.len);
    sl_buffer_add(print->out, SL_TEXT(", \"sha256\": \""));
    sl_buffer_add(print->out, sl_text(hex));
    sl_buffer_add(print->out, SL_TEXT("\"}"));
}

static void add_json(struct line_printer *print, struct sluice_text json)
{
    if (!json.at)
        sl_buffer_add(print->out, SL_TEXT("null"));
    else if (print->text_max && json.len > print->text_max)
        add_digest(print, json);
    else
        sl_buffer_add(print->out, json);
}

static void add_figure(struct line_printer *print, const struct sl_audit_figure *figure)
{
    add_name(print, figure->name);
    switch (figure->type) {
    case SL_FIGURE_NUMBER:
        sl_buffer_add_i64(print->out, figure->number);
        break;
    case SL_FIGURE_BOOL:
        sl_buffer_add(print->out, figure->number ? SL_TEXT("true") : SL_TEXT("false"));
        break;
    case SL_FIGURE_TEXT:
        add_text(print, figure->text);
        break;
    case SL_FIGURE_JSON:
        add_json(print, figure->text);
        break;
    }
}

static void add_member(struct line_printer *print, const char *name, struct sluice_text text)
{
    add_name(print, name);
    add_text(print, text);
}

static void add_event(struct line_printer *print, const struct sl_audit_event *event, int64_t at_us)
{
    const struct sl_audit_row *row = &sl_audit_rows[event->kind];
    sl_buffer_clear(print->out);
    sl_buffer_add(print->out, SL_TEXT("{\"at\": \""));
    sl_time_print(print->out, at_us);
    sl_buffer_add(print->out, SL_TEXT("\""));
    add_member(print, "event", sl_text(row->name));
    add_member(print, "severity", sl_text(sl_audit_severity_name(row->severity)));
    if (row->sort != SL_AUDIT_STORE) {
        add_member(print, "tenant", event->tenant);
        add_member(print, "identifier", event->identifier);
        add_member(print, "limit_type", event->limit_type);
        add_member(print, "resource", event->resource);
        add_member(print, "rule", event->rule);
    }
    for (size_t i = 0; i < event->figure_count; i++)
        add_figure(print, &event->figures[i]);
}

bool sl_audit_print(struct sl_audit *audit, const struct sl_audit_event *event, int64_t at_us,
                    size_t most_bytes)
{
    struct line_printer print = { .out = &audit->line, .hasher = audit->hasher };
    SL_CHECK(event->figure_count <= SL_AUDIT_FIGURES_MAX);
    audit->line.most = most_bytes;
    add_event(&print, event, at_us);
    /* The buffer may be larger, from a longer line before. */
    if (audit->line.failed || audit->line.len > most_bytes) {
        print.text_max = most_bytes / CUTS;
        add_event(&print, event, at_us);
    }
    return !audit->line.failed;
}
