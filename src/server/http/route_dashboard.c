/* The dashboard: files built into the program, at / and below /dashboard/.
 *
 * The files hold no figures, so they need no token. The figures that the page fetches need one, or
 * a local client, as for every other client.
 *
 * The content security policy is as strict as one can be written. The page loads nothing from other
 * hosts, has no inline script, and may not stand in a frame: were an identifier ever taken for
 * HTML, it still could neither run nor send anything.
 *
 * The files change only with the program. A browser asks each time whether they have changed
 * (no-cache), and a tag of the bytes answers that in one packet: after an upgrade no browser goes
 * on with half of the old page. The tag is computed for every answer, since hashing all of the
 * largest file takes less time than sending its first block. */
#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"
#include "server/http/assets.h"
#include "server/http/route.h"
#include "server/job.h"

#define SL_PAGE_CSS "text/css; charset=utf-8"
#define SL_PAGE_JS  "text/javascript; charset=utf-8"

struct sl_dashboard_file {
    struct sluice_text below; /* its name below /dashboard/; empty: the page itself */
    const char *type;
    struct sluice_text (*bytes)(void);
};

static const struct sl_dashboard_file pages[] = {
#define SL_PAGE(name, below, type, path) { SL_TEXT(below), type, sl_asset_page_##name },
#include "server/http/page.def"
#undef SL_PAGE
};

static const char fields[] =
    "Cache-Control: no-cache\r\n"
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "X-Content-Type-Options: nosniff\r\n";

struct tag {
    char text[20]; /* 16 digits in quotes */
};

static struct tag tag_of(struct sluice_text bytes)
{
    struct tag tag;
    snprintf(tag.text, sizeof tag.text, "\"%016" PRIx64 "\"", sl_hash64(bytes, 0));
    return tag;
}

static const struct sl_dashboard_file *find_page(const struct sl_message *message)
{
    struct sluice_text below[SL_JOB_PARTS_MAX] = { SL_TEXT("") };
    sl_path_matches(message->route->path, message->head->path, below);
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        if (sl_text_equal(pages[i].below, below[0]))
            return &pages[i];
    return NULL;
}

/* Does If-None-Match say that the client has these very bytes? */
static bool is_not_modified(const struct sl_http_head *head, const char *tag)
{
    for (size_t i = 0; i < head->field_count; i++) {
        struct sluice_text value = head->fields[i].value;
        if (sl_http_name_is(head->fields[i].name, SL_TEXT("if-none-match")) &&
            (sl_text_is(value, "*") || sl_tag_is_listed(value, tag, true)))
            return true;
    }
    return false;
}

static void reply_page(struct sl_round *round, struct sl_call *call)
{
    struct sluice_text bytes = call->page->bytes();
    struct tag tag = tag_of(bytes);
    bool is_whole = call->status == 200;
    sl_reply_print(round, call,
                   &(struct sl_answer_parts){
                       .status = call->status,
                       .type = is_whole ? call->page->type : NULL,
                       .body = is_whole ? bytes : (struct sluice_text){ 0 },
                       .etag = tag.text,
                       .more = fields,
                   });
}

void sl_call_page(struct sl_message *message)
{
    const struct sl_dashboard_file *page = find_page(message);
    if (!page) {
        sl_message_refuse(message, 404, "The dashboard has no such file; it is at `/`.");
        return;
    }
    message->call->page = page;
    message->call->status = is_not_modified(message->head, tag_of(page->bytes()).text) ? 304 : 200;
    message->call->reply = reply_page;
    sl_round_add_now(message->round, message->call);
}
