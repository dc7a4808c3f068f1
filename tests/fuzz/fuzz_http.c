/* Any bytes as a connection's input: heads, each with the body it says it has, until
 * one is incomplete or wrong; and all of them as a body in chunks.
 *
 *   a head's end is found where a plain search finds it, at any split, and with the
 *   byte that ends it;
 *   what is wrong has a status of docs/server.md and a sentence;
 *   every text of a head lies inside it, and a head written down again from what was
 *   read is read as the same;
 *   chunks give the body that a plain decoder of whole lines makes of them, at any
 *   split, and so does that body as one chunk;
 *   nothing outside is read or written: every piece lies in memory just as large,
 *   and what is filled has guards on both sides.
 *
 * Splits are drawn from the bytes themselves, so that a crash repeats. */
#include <stdlib.h>

#include "base/check.h"
#include "base/hash.h"
#include "wire/http/bytes.h"
#include "wire/http/chunked.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define GUARD UINT64_C(0x5ca1ab1e0ddba11)

static struct guarded {
    uint64_t before;
    struct sl_http_head head;
    uint64_t behind;
} first = { .before = GUARD, .behind = GUARD }, second = { .before = GUARD, .behind = GUARD };

static uint64_t seed;

/* From 1 to `most`, and often little. */
static size_t draw(size_t most)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    size_t bound = seed >> 60 < 8 ? 4 : seed >> 60 < 12 ? 64 : most;
    return 1 + (size_t)(seed >> 20) % (bound < most ? bound : most);
}

static char *copy_of(const char *at, size_t len)
{
    char *copy = malloc(len ? len : 1);
    SL_CHECK(copy != NULL);
    if (len)
        memcpy(copy, at, len);
    return copy;
}

static void check_wrong(const struct sl_http_wrong *wrong)
{
    static const uint32_t known[] = { 400, 413, 414, 417, 431, 501, 505 };
    bool found = false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        found |= wrong->status == known[i];
    size_t len = strlen(wrong->detail);
    SL_CHECK(found && len > 20 && wrong->detail[len - 1] == '.');
}

/* ---- where a head ends ---------------------------------------------------------- */

struct found {
    size_t end; /* or 0 */
    uint32_t status;
};

/* What sl_http_find_end promises, the slow way: one byte, then the next. */
static struct found search_plainly(struct sluice_text bytes)
{
    size_t lines = 0, line_len = 0, empty = 0;
    for (size_t i = 0; i < bytes.len && i < SL_HTTP_HEAD_MAX_BYTES; i++) {
        line_len++;
        if (bytes.at[i] != '\n')
            continue;
        if (line_len == 1 || bytes.at[i - 1] != '\r')
            return (struct found){ 0, 400 };
        if (line_len > 2)
            lines++;
        else if (lines > 0)
            return (struct found){ i + 1, 0 };
        else if (++empty == 2)
            return (struct found){ 0, 400 };
        line_len = 0;
    }
    bool full = bytes.len >= SL_HTTP_HEAD_MAX_BYTES;
    return (struct found){ 0, !full ? 0 : lines ? 431 : 414 };
}

/* In pieces that arrive one by one, each in memory just large enough. */
static struct found search_trickling(struct sluice_text bytes, size_t most_piece)
{
    struct sl_http_search search = { 0 };
    struct sl_http_wrong wrong = { 0 };
    size_t len = 0, end = 0;
    while (len < bytes.len && !end && !wrong.status) {
        len += draw(bytes.len - len < most_piece ? bytes.len - len : most_piece);
        char *copy = copy_of(bytes.at, len);
        end = sl_http_find_end(&search, (struct sluice_text){ copy, len }, &wrong);
        free(copy);
        SL_CHECK(end <= len && search.line_start <= search.at && search.at <= len);
    }
    if (most_piece == 1 && end)
        SL_CHECK(end == len);
    if (wrong.status)
        check_wrong(&wrong);
    return (struct found){ end, wrong.status };
}

static struct found find_end(struct sluice_text bytes)
{
    struct sl_http_search search = { 0 };
    struct sl_http_wrong wrong;
    size_t end = sl_http_find_end(&search, bytes, &wrong);
    struct found all[] = {
        { end, wrong.status },
        search_plainly(bytes),
        search_trickling(bytes, bytes.len < 2048 ? 1 : 256),
        search_trickling(bytes, bytes.len),
    };
    for (size_t i = 1; i < sizeof all / sizeof *all; i++)
        SL_CHECK(all[i].end == all[0].end && all[i].status == all[0].status);
    SL_CHECK(!(end && wrong.status));
    return all[0];
}

/* ---- what a head says ------------------------------------------------------------ */

static void check_inside(struct sluice_text text, struct sluice_text whole, size_t least)
{
    SL_CHECK(text.at >= whole.at && text.len >= least);
    SL_CHECK(text.at + text.len <= whole.at + whole.len);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        SL_CHECK((c >= 0x20 && c != 0x7f) || c == '\t');
    }
}

static size_t count_of(const struct sl_http_head *head, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < head->field_count; i++)
        count += sl_http_name_is(head->fields[i].name, sl_text(name));
    return count;
}

static void check_known(const struct sl_http_head *head)
{
    static const char *const names[] = {
#define NAME(constant, lower) lower,
        SL_HTTP_KNOWN(NAME)
#undef NAME
    };
    for (size_t k = 0; k < SL_HTTP_KNOWN_COUNT; k++) {
        size_t count = count_of(head, names[k]);
        SL_CHECK((head->known[k].at != NULL) == (count > 0));
        SL_CHECK((head->repeated >> k & 1) == (count > 1));
    }
    size_t lengths = count_of(head, "content-length");
    size_t codings = count_of(head, "transfer-encoding");
    size_t hosts = count_of(head, "host");
    SL_CHECK(lengths + codings <= 1 && head->chunked == (codings == 1));
    SL_CHECK(head->length == 0 || lengths == 1);
    SL_CHECK(hosts <= 1 && (hosts == 1 || head->is_1_0));
    SL_CHECK(!head->is_1_0 || (!head->chunked && !head->expects_continue));
}

static void check_head(const struct sl_http_head *head, struct sluice_text whole)
{
    check_inside(head->method, whole, 1);
    check_inside(head->target, whole, 1);
    check_inside(head->path, head->target, 1);
    SL_CHECK(*head->path.at == '/' || sl_text_is(head->path, "*"));
    SL_CHECK(!memchr(head->path.at, '?', head->path.len));
    if (head->query.at) {
        check_inside(head->query, head->target, 0);
        SL_CHECK(head->query.at[-1] == '?');
    }
    SL_CHECK(head->field_count <= SL_HTTP_FIELDS_MAX);
    for (size_t i = 0; i < head->field_count; i++) {
        check_inside(head->fields[i].name, whole, 1);
        check_inside(head->fields[i].value, whole, 0);
    }
    check_known(head);
}

static bool read_guarded(struct sluice_text bytes, struct guarded *out)
{
    struct sl_http_wrong wrong = { 0 };
    memset(&out->head, (int)(seed & 0xff), sizeof out->head); /* nothing counts on zeros */
    bool good = sl_http_read_head(bytes, &out->head, &wrong);
    SL_CHECK(out->before == GUARD && out->behind == GUARD);
    if (good)
        SL_CHECK(wrong.status == 0);
    else
        check_wrong(&wrong);
    return good;
}

/* ---- a head written down again ----------------------------------------------------- */

static char *append_text(char *out, struct sluice_text text)
{
    memcpy(out, text.at, text.len);
    return out + text.len;
}

static size_t write_head(const struct sl_http_head *head, char *out)
{
    char *at = append_text(append_text(append_text(out, head->method), SL_TEXT(" ")), head->target);
    at = append_text(at, head->is_1_0 ? SL_TEXT(" HTTP/1.0\r\n") : SL_TEXT(" HTTP/1.1\r\n"));
    for (size_t i = 0; i < head->field_count; i++) {
        at = append_text(append_text(at, head->fields[i].name), SL_TEXT(":"));
        at = append_text(append_text(at, head->fields[i].value), SL_TEXT("\r\n"));
    }
    return (size_t)(append_text(at, SL_TEXT("\r\n")) - out);
}

static void check_same(const struct sl_http_head *a, const struct sl_http_head *b)
{
    SL_CHECK(sl_text_equal(a->method, b->method) && sl_text_equal(a->target, b->target));
    SL_CHECK(sl_text_equal(a->path, b->path) && sl_text_equal(a->query, b->query));
    SL_CHECK(!a->query.at == !b->query.at);
    SL_CHECK(a->is_1_0 == b->is_1_0 && a->keep_alive == b->keep_alive);
    SL_CHECK(a->chunked == b->chunked && a->length == b->length);
    SL_CHECK(a->expects_continue == b->expects_continue && a->repeated == b->repeated);
    for (size_t k = 0; k < SL_HTTP_KNOWN_COUNT; k++) {
        SL_CHECK(!a->known[k].at == !b->known[k].at);
        SL_CHECK(sl_text_equal(a->known[k], b->known[k]));
    }
    SL_CHECK(a->field_count == b->field_count);
    for (size_t i = 0; i < a->field_count; i++) {
        SL_CHECK(sl_text_equal(a->fields[i].name, b->fields[i].name));
        SL_CHECK(sl_text_equal(a->fields[i].value, b->fields[i].value));
    }
}

static void check_again(const struct sl_http_head *head, size_t len)
{
    char again[SL_HTTP_HEAD_MAX_BYTES];
    size_t again_len = write_head(head, again); /* with fewer blanks, if any */
    SL_CHECK(again_len <= len);
    char *copy = copy_of(again, again_len);
    struct sluice_text text = { copy, again_len };
    SL_CHECK(search_plainly(text).end == again_len);
    SL_CHECK(read_guarded(text, &second));
    check_same(head, &second.head);
    free(copy);
}

/* ---- bodies in chunks --------------------------------------------------------------- */

struct decoded {
    enum sl_chunked_end end;
    uint32_t status;
    size_t used;
    char *body; /* freed by the caller */
    size_t len;
};

/* In pieces of up to `most_piece`, each behind what is decoded so far, in memory that
 * ends with it. */
static struct decoded decode(struct sluice_text bytes, size_t most_piece, size_t most_bytes)
{
    struct decoded got = { .end = SL_CHUNKED_MORE, .body = copy_of("", 0) };
    struct sl_chunked chunked = { 0 };
    struct sl_http_wrong wrong = { 0 };
    while (got.end == SL_CHUNKED_MORE && got.used < bytes.len) {
        size_t left = bytes.len - got.used;
        size_t piece = most_piece == SIZE_MAX ? left : draw(left < most_piece ? left : most_piece);
        got.body = realloc(got.body, got.len + piece);
        SL_CHECK(got.body != NULL);
        char *at = memcpy(got.body + got.len, bytes.at + got.used, piece);
        char *end = at + piece;
        size_t before = got.len;
        got.end = sl_chunked_read(&chunked, got.body, &at, end, most_bytes, &wrong);
        got.used += (size_t)(at - (got.body + before));
        got.len = chunked.decoded_len;
        SL_CHECK(got.len >= before && got.body + got.len <= at && got.len <= most_bytes);
        SL_CHECK(got.end != SL_CHUNKED_MORE || at == end);
    }
    got.status = wrong.status;
    SL_CHECK((got.end == SL_CHUNKED_WRONG) == (got.status != 0));
    if (got.status)
        check_wrong(&wrong);
    return got;
}

static bool is_clean(const char *at, size_t len)
{
    size_t i = 0;
    while (i < len && sl_byte_fits(at[i], SL_BYTE_VALUE))
        i++;
    return i == len;
}

/* Cuts the next line off, without its end; false: it has none, or a bare CR or LF. */
static bool take_line(struct sluice_text *rest, struct sluice_text *line)
{
    const char *end = rest->len ? memmem(rest->at, rest->len, "\r\n", 2) : NULL;
    if (!end || !is_clean(rest->at, (size_t)(end - rest->at)))
        return false;
    *line = (struct sluice_text){ rest->at, (size_t)(end - rest->at) };
    rest->len -= line->len + 2;
    rest->at = end + 2;
    return true;
}

static bool is_size_line(struct sluice_text line, uint64_t *size)
{
    size_t digits = 0;
    for (*size = 0; digits < line.len && sl_hex_digit(line.at[digits]) >= 0; digits++)
        *size = *size << 4 | (uint64_t)sl_hex_digit(line.at[digits]);
    for (size_t i = digits; i < line.len; i++)
        if (line.at[digits] != ';' || (unsigned char)line.at[i] > 0x7e)
            return false;
    return digits > 0 && digits <= 16 && line.len <= SL_CHUNK_LINE_MAX_BYTES;
}

static bool skip_trailers(struct sluice_text *rest)
{
    size_t spent = 0;
    for (struct sluice_text line; take_line(rest, &line);) {
        size_t name_len = 0;
        while (name_len < line.len && sl_byte_fits(line.at[name_len], SL_BYTE_TOKEN))
            name_len++;
        spent += line.len;
        if (line.len == 0)
            return spent <= SL_CHUNK_TRAILERS_MAX_BYTES;
        if (name_len == 0 || name_len == line.len || line.at[name_len] != ':')
            return false;
    }
    return false;
}

/* Whole lines of a whole body; *body has room for all bytes. False: it is none. */
static bool decode_plainly(struct sluice_text *rest, size_t most_bytes, struct sluice_text *body)
{
    struct sluice_text line;
    uint64_t size;
    while (take_line(rest, &line) && is_size_line(line, &size) && size <= most_bytes - body->len) {
        if (size == 0)
            return skip_trailers(rest);
        if (rest->len < size + 2 || memcmp(rest->at + size, "\r\n", 2) != 0)
            return false;
        memcpy((char *)(uintptr_t)body->at + body->len, rest->at, size);
        body->len += size;
        rest->at += size + 2;
        rest->len -= size + 2;
    }
    return false;
}

static void check_plainly(struct sluice_text bytes, size_t most_bytes, const struct decoded *whole)
{
    char *room = malloc(bytes.len ? bytes.len : 1);
    SL_CHECK(room != NULL);
    struct sluice_text rest = bytes, body = { room, 0 };
    bool done = decode_plainly(&rest, most_bytes, &body);
    SL_CHECK(done == (whole->end == SL_CHUNKED_DONE));
    if (done) {
        SL_CHECK(rest.len == bytes.len - whole->used);
        SL_CHECK(sl_text_equal(body, (struct sluice_text){ whole->body, whole->len }));
    }
    free(room);
}

static void check_decoded_alike(const struct decoded *a, const struct decoded *b)
{
    SL_CHECK(a->end == b->end && a->status == b->status && a->used == b->used);
    SL_CHECK(a->len == b->len && memcmp(a->body, b->body, a->len) == 0);
}

/* The body as one chunk of its own is the same body. */
static void check_one_chunk(const struct decoded *whole)
{
    char line[32];
    int size_len = snprintf(line, sizeof line, "%zx\r\n", whole->len);
    char *text = malloc(whole->len + sizeof line + 8);
    SL_CHECK(text && size_len > 0);
    char *at = append_text(text, (struct sluice_text){ line, (size_t)size_len });
    at = append_text(at, (struct sluice_text){ whole->body, whole->len });
    at = append_text(at, whole->len ? SL_TEXT("\r\n0\r\n\r\n") : SL_TEXT("\r\n"));
    struct sluice_text bytes = { text, (size_t)(at - text) };
    struct decoded again = decode(bytes, SIZE_MAX, whole->len);
    SL_CHECK(again.end == SL_CHUNKED_DONE && again.used == bytes.len);
    SL_CHECK(again.len == whole->len && memcmp(again.body, whole->body, whole->len) == 0);
    free(again.body);
    free(text);
}

/* Returns how many bytes the body took; 0: it has no end here. */
static size_t check_chunks(struct sluice_text bytes, size_t most_bytes)
{
    struct decoded whole = decode(bytes, SIZE_MAX, most_bytes);
    static const size_t most_pieces[] = { 1, 7, 65536 };
    for (size_t i = bytes.len > 4096; i < sizeof most_pieces / sizeof *most_pieces; i++) {
        struct decoded cut = decode(bytes, most_pieces[i], most_bytes);
        check_decoded_alike(&whole, &cut);
        free(cut.body);
    }
    check_plainly(bytes, most_bytes, &whole);
    if (whole.end == SL_CHUNKED_DONE)
        check_one_chunk(&whole);
    free(whole.body);
    return whole.end == SL_CHUNKED_DONE ? whole.used : 0;
}

/* ---- a connection ------------------------------------------------------------------- */

/* One request; returns how many bytes it took, 0: there is no other to be read. */
static size_t read_request(struct sluice_text bytes)
{
    struct found found = find_end(bytes);
    if (!found.end)
        return 0;
    char *copy = copy_of(bytes.at, found.end);
    struct sluice_text whole = { copy, found.end };
    bool good = read_guarded(whole, &first);
    bool chunked = good && first.head.chunked;
    uint64_t body_len = good ? first.head.length : 0;
    if (good) {
        check_head(&first.head, whole);
        check_again(&first.head, found.end);
    }
    free(copy);

    struct sluice_text rest = { bytes.at + found.end, bytes.len - found.end };
    if (chunked)
        body_len = check_chunks(rest, 1 << 20);
    bool over = !good || body_len > rest.len || (chunked && body_len == 0);
    return over ? 0 : found.end + (size_t)body_len;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    char *copy = copy_of((const char *)bytes, len);
    struct sluice_text rest = { copy, len };
    seed = sl_hash64(rest, 0);
    check_chunks(rest, 64);
    read_guarded(rest, &first); /* not measured before: refused or read, but safe */
    for (size_t used; rest.len && (used = read_request(rest));) {
        rest.at += used;
        rest.len -= used;
    }
    free(copy);
    return 0;
}
