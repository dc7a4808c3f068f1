/* Reads the head of an HTTP/1 request: once over its bytes, line by line, then once
 * over the few fields that say how to read the message itself.
 *
 *   GET /v1/authorize?a=1 HTTP/1.1\r\n      read_request_line
 *   Host: example.org\r\n                   read_field, each stored if it is known
 *   \r\n                                    read_framing, read_connection, read_expect
 *
 * Why two functions and not one that can stop and continue? Nearly every head
 * arrives in one piece. Its end is found by a memchr per line, and a reader that
 * has the whole head needs no state between two bytes.
 *
 * The loops do not compare with the end of the bytes: a complete head ends with a
 * line feed, and no loop skips a line feed, so each stops there at the latest.
 *
 * Strict means: no bare LF, no bare CR, no folding, no blank before a colon, one
 * length only. Each of these has been used to smuggle requests past a proxy that
 * read it differently. */
#include "wire/http/head.h"

#include "base/check.h"
#include "wire/http/bytes.h"
#include "wire/http/target.h"

enum { METHOD_MAX_BYTES = 32, LENGTH_MAX_DIGITS = 18, EMPTY_LINE_BYTES = 2 };

static const char too_large[] = "The head is too large; it has at most 16383 bytes.";
static const char bare_lf[] = "A header line ends with CR LF; this one has a bare LF.";

static bool refuse(struct sl_http_wrong *wrong, uint32_t status, const char *detail)
{
    *wrong = (struct sl_http_wrong){ status, detail };
    return false;
}

/* The same for functions that return a place in the head. */
static const char *refuse_at(struct sl_http_wrong *wrong, uint32_t status, const char *detail)
{
    refuse(wrong, status, detail);
    return NULL;
}

static struct sluice_text between(const char *at, const char *end)
{
    return (struct sluice_text){ at, (size_t)(end - at) };
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *skip_bytes(const char *at, int place)
{
    while (sl_byte_fits(*at, place))
        at++;
    return at;
}

/* ---- the end of a head -------------------------------------------------------- */

/* `lf` is the place of a line's LF, counted from the head's first byte. Returns true
 * if that line is the head's last. */
static bool ends_head(struct sl_http_search *search, const char *bytes, size_t lf,
                      struct sl_http_wrong *wrong)
{
    bool empty = lf == search->line_start + 1;
    if (lf == search->line_start || bytes[lf - 1] != '\r')
        return refuse(wrong, 400, bare_lf);
    /* The first line had two bytes: it was the one empty line that is allowed before a head. */
    if (empty && search->line_start == EMPTY_LINE_BYTES)
        return refuse(wrong, 400, "A request begins with its request line, not with empty lines.");
    if (empty && search->line_start > 0)
        return true;
    search->at = search->line_start = lf + 1;
    return false;
}

static void refuse_size(const struct sl_http_search *search, struct sl_http_wrong *wrong)
{
    if (search->line_start <= EMPTY_LINE_BYTES)
        refuse(wrong, 414, "The request line is too long; a target has at most 8192 bytes.");
    else
        refuse(wrong, 431, too_large);
}

size_t sl_http_find_end(struct sl_http_search *search, struct sluice_text bytes,
                        struct sl_http_wrong *wrong)
{
    size_t len = bytes.len < SL_HTTP_HEAD_MAX_BYTES ? bytes.len : SL_HTTP_HEAD_MAX_BYTES;
    *wrong = (struct sl_http_wrong){ 0 };
    SL_CHECK(search->line_start <= search->at && search->at <= bytes.len);
    while (search->at < len) {
        const char *lf = memchr(bytes.at + search->at, '\n', len - search->at);
        if (!lf)
            search->at = len;
        else if (ends_head(search, bytes.at, (size_t)(lf - bytes.at), wrong))
            return (size_t)(lf - bytes.at) + 1;
        else if (wrong->status)
            return 0;
    }
    SL_CHECK(search->line_start <= search->at && search->at == len);
    if (len == SL_HTTP_HEAD_MAX_BYTES)
        refuse_size(search, wrong);
    return 0;
}

/* ---- the request line --------------------------------------------------------- */

/* The byte at `at` ended a target too early, or the target is empty. */
static const char *bad_target(const char *at, struct sl_http_wrong *wrong)
{
    if (*at == '#')
        return refuse_at(wrong, 400,
                         "A target is sent without its fragment: leave out `#` and the rest.");
    if (*at == ' ' || *at == '\r' || *at == '\n')
        return refuse_at(wrong, 400,
                         "A request line is `METHOD TARGET HTTP/1.1`, with single spaces.");
    return refuse_at(wrong, 400, "A target is visible ASCII; write other bytes as `%XX`.");
}

/* Reads what stands behind the second space. */
static const char *read_version(const char *at, const char *end, struct sl_http_head *out,
                                struct sl_http_wrong *wrong)
{
    if (end - at < 10 || memcmp(at, "HTTP/", 5) != 0 || !is_digit(at[5]) || at[6] != '.' ||
        !is_digit(at[7]) || memcmp(at + 8, "\r\n", 2) != 0)
        return refuse_at(wrong, 400, "A request line ends with `HTTP/1.1` and CR LF.");
    if (at[5] != '1' || at[7] > '1')
        return refuse_at(wrong, 505, "Only HTTP/1.1 and HTTP/1.0 are spoken here.");
    out->is_1_0 = at[7] == '0';
    return at + 10;
}

static const char *read_request_line(const char *at, const char *end, struct sl_http_head *out,
                                     struct sl_http_wrong *wrong)
{
    const char *space = skip_bytes(at, SL_BYTE_TOKEN);
    out->method = between(at, space);
    if (*space != ' ' || out->method.len == 0)
        return refuse_at(wrong, 400, "A request line begins with a method and a single space.");
    if (out->method.len > METHOD_MAX_BYTES)
        return refuse_at(wrong, 400, "A method has at most 32 letters.");
    const char *behind = skip_bytes(space + 1, SL_BYTE_TARGET);
    out->target = between(space + 1, behind);
    if (out->target.len > SL_HTTP_TARGET_MAX_BYTES)
        return refuse_at(wrong, 414, "The target is too long; it has at most 8192 bytes.");
    if (*behind != ' ' || out->target.len == 0)
        return bad_target(behind, wrong);
    at = read_version(behind + 1, end, out, wrong);
    return at && sl_http_read_target(out, wrong) ? at : NULL;
}

/* ---- the fields --------------------------------------------------------------- */

static char lower_of(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

bool sl_http_name_is(struct sluice_text name, struct sluice_text lower)
{
    if (name.len != lower.len)
        return false;
    for (size_t i = 0; i < name.len; i++)
        if (lower_of(name.at[i]) != lower.at[i])
            return false;
    return true;
}

/* Length and first letter tell nearly all names apart before any is compared. */
static inline uint32_t outline(const char *name, size_t len)
{
    return (uint32_t)len << 8 | ((unsigned char)name[0] | 0x20);
}

static enum sl_http_known find_known(struct sluice_text name)
{
    uint32_t own = outline(name.at, name.len);
#define ROW(constant, lower)                                                                       \
    if (own == outline(lower, sizeof lower - 1) && sl_http_name_is(name, SL_TEXT(lower)))          \
        return SL_HTTP_##constant;
    SL_HTTP_KNOWN(ROW)
#undef ROW
    return SL_HTTP_KNOWN_COUNT;
}

static void store_known(struct sl_http_head *out, const struct sl_http_field *field)
{
    enum sl_http_known known = find_known(field->name);
    if (known == SL_HTTP_KNOWN_COUNT)
        return;
    if (out->known[known].at)
        out->repeated |= UINT32_C(1) << known;
    else
        out->known[known] = field->value;
}

/* The name of this line ended at `at` without a colon, or is empty. */
static const char *bad_name(const char *line, const char *at, struct sl_http_wrong *wrong)
{
    if (sl_byte_is_blank(*line))
        return refuse_at(
            wrong, 400,
            "A header line does not begin with a blank; write each header in one line.");
    if (at == line && *at == ':')
        return refuse_at(wrong, 400, "A header has a name before its colon.");
    if (sl_byte_is_blank(*at))
        return refuse_at(wrong, 400, "A header's name is followed by its colon without a blank.");
    return refuse_at(wrong, 400,
                     "A header line is `Name: value`, its name letters, digits and hyphens.");
}

static const char *bad_value(const char *at, struct sl_http_wrong *wrong)
{
    if (*at == '\r')
        return refuse_at(wrong, 400, "A header line ends with CR LF; this one has a bare CR.");
    if (*at == '\n')
        return refuse_at(wrong, 400, bare_lf);
    return refuse_at(wrong, 400, "A header's value holds no control characters; leave them out.");
}

/* Values are most of a head: skips eight bytes at a time while none of them is below a
 * space or DEL, which the carry of a subtraction into a byte's top bit shows. It may take
 * a good byte for a bad one, never the reverse: then the table decides. */
static const char *skip_value(const char *at, const char *end)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    for (uint64_t word; end - at >= (ptrdiff_t)sizeof word; at += sizeof word) {
        memcpy(&word, at, sizeof word);
        uint64_t del = word ^ ones * 0x7f;
        if ((((word - ones * ' ') & ~word) | ((del - ones) & ~del)) & ones * 0x80)
            break;
    }
    return skip_bytes(at, SL_BYTE_VALUE);
}

/* Reads one line; returns the start of the next. */
static const char *read_field(const char *line, const char *end, struct sl_http_field *field,
                              struct sl_http_wrong *wrong)
{
    const char *colon = skip_bytes(line, SL_BYTE_TOKEN);
    if (*colon != ':' || colon == line)
        return bad_name(line, colon, wrong);
    const char *value = colon + 1;
    while (sl_byte_is_blank(*value))
        value++;
    const char *behind = skip_value(value, end);
    if (behind[0] != '\r' || behind[1] != '\n')
        return bad_value(behind, wrong);
    SL_CHECK(colon < value && value <= behind && behind + 2 <= end);
    const char *last = behind;
    while (last > value && sl_byte_is_blank(last[-1]))
        last--;
    field->name = between(line, colon);
    field->value = between(value, last);
    return behind + 2;
}

/* Reads all fields and the empty line; returns the place behind it. */
static const char *read_fields(const char *at, const char *end, struct sl_http_head *out,
                               struct sl_http_wrong *wrong)
{
    size_t count = 0;
    while (*at != '\r') {
        SL_CHECK(at < end);
        if (count == SL_HTTP_FIELDS_MAX)
            return refuse_at(wrong, 431, "There are too many headers; 100 are let pass.");
        struct sl_http_field *field = &out->fields[count++];
        at = read_field(at, end, field, wrong);
        if (!at)
            return NULL;
        store_known(out, field);
    }
    SL_CHECK(at < end && count <= SL_HTTP_FIELDS_MAX);
    out->field_count = count;
    return at[1] == '\n' ? at + 2 : bad_value(at, wrong);
}

/* ---- framing, connection, expect ---------------------------------------------- */

static bool is_repeated(const struct sl_http_head *head, enum sl_http_known known)
{
    return head->repeated >> known & 1;
}

static bool check_host(const struct sl_http_head *head, struct sl_http_wrong *wrong)
{
    struct sluice_text host = head->known[SL_HTTP_HOST];
    if (!host.at)
        return head->is_1_0 || refuse(wrong, 400, "HTTP/1.1 wants a `Host` header.");
    if (is_repeated(head, SL_HTTP_HOST))
        return refuse(wrong, 400, "There is more than one `Host` header; send one.");
    return sl_http_is_host(host) ||
           refuse(wrong, 400, "`Host` is a host's name or address, and a port.");
}

static bool read_length(struct sl_http_head *out, struct sl_http_wrong *wrong)
{
    struct sluice_text text = out->known[SL_HTTP_CONTENT_LENGTH];
    if (is_repeated(out, SL_HTTP_CONTENT_LENGTH))
        return refuse(wrong, 400, "There is more than one `Content-Length` header; send one.");
    size_t digits = 0;
    for (; digits < text.len && is_digit(text.at[digits]); digits++)
        out->length = out->length * 10 + (uint64_t)(text.at[digits] - '0');
    if (digits == 0 || digits < text.len)
        return refuse(wrong, 400, "`Content-Length` is a number of bytes, in digits only.");
    /* With more digits the sum may have wrapped. */
    return digits <= LENGTH_MAX_DIGITS ||
           refuse(wrong, 413, "The body is too large; send less at once.");
}

/* Reads where the body ends: the one thing that two readers must agree on. */
static bool read_framing(struct sl_http_head *out, struct sl_http_wrong *wrong)
{
    struct sluice_text coding = out->known[SL_HTTP_TRANSFER_ENCODING];
    bool has_length = out->known[SL_HTTP_CONTENT_LENGTH].at;
    if (!coding.at)
        return !has_length || read_length(out, wrong);
    if (has_length)
        return refuse(wrong, 400, "Send `Content-Length` or `Transfer-Encoding`, not both.");
    if (is_repeated(out, SL_HTTP_TRANSFER_ENCODING))
        return refuse(wrong, 400, "There is more than one `Transfer-Encoding` header; send one.");
    if (out->is_1_0)
        return refuse(wrong, 400, "HTTP/1.0 has no `Transfer-Encoding`; send `Content-Length`.");
    if (!sl_http_name_is(coding, SL_TEXT("chunked")))
        return refuse(wrong, 501, "The only transfer coding that is understood is `chunked`.");
    out->chunked = true;
    return true;
}

bool sl_http_list_has(struct sluice_text list, struct sluice_text lower)
{
    const char *at = list.at;
    const char *end = list.at + list.len;
    while (at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *last = comma ? comma : end;
        while (at < last && sl_byte_is_blank(*at))
            at++;
        const char *behind = last;
        while (behind > at && sl_byte_is_blank(behind[-1]))
            behind--;
        if (sl_http_name_is(between(at, behind), lower))
            return true;
        at = comma ? comma + 1 : end;
    }
    return false;
}

/* Looks in every `Connection` line: several are one list. */
static bool connection_has(const struct sl_http_head *head, struct sluice_text lower)
{
    if (!is_repeated(head, SL_HTTP_CONNECTION))
        return sl_http_list_has(head->known[SL_HTTP_CONNECTION], lower);
    for (size_t i = 0; i < head->field_count; i++)
        if (sl_http_name_is(head->fields[i].name, SL_TEXT("connection")) &&
            sl_http_list_has(head->fields[i].value, lower))
            return true;
    return false;
}

static void read_connection(struct sl_http_head *out)
{
    out->keep_alive = !out->is_1_0;
    if (!out->known[SL_HTTP_CONNECTION].at)
        return;
    if (connection_has(out, SL_TEXT("close")))
        out->keep_alive = false;
    else if (out->is_1_0)
        out->keep_alive = connection_has(out, SL_TEXT("keep-alive"));
}

static bool read_expect(struct sl_http_head *out, struct sl_http_wrong *wrong)
{
    struct sluice_text expect = out->known[SL_HTTP_EXPECT];
    if (!expect.at)
        return true;
    if (is_repeated(out, SL_HTTP_EXPECT) || !sl_http_name_is(expect, SL_TEXT("100-continue")))
        return refuse(wrong, 417, "The only `Expect` that can be met is `100-continue`.");
    out->expects_continue = !out->is_1_0;
    return true;
}

bool sl_http_read_head(struct sluice_text head, struct sl_http_head *out,
                       struct sl_http_wrong *wrong)
{
    SL_CHECK(head.at || head.len == 0);
    const char *end = head.at + head.len;
    if (head.len > SL_HTTP_HEAD_MAX_BYTES)
        return refuse(wrong, 431, too_large);
    if (head.len < 4 || memcmp(end - 4, "\r\n\r\n", 4) != 0)
        return refuse(wrong, 400, "A head ends with an empty line.");
    /* The fields too would be 3 KiB, and only the first field_count are looked at. */
    memset(out, 0, offsetof(struct sl_http_head, fields));
    const char *at = head.at + (head.at[0] == '\r' && head.at[1] == '\n' ? 2 : 0);
    at = read_request_line(at, end, out, wrong);
    if (at)
        at = read_fields(at, end, out, wrong);
    if (!at)
        return false;
    if (at != end)
        return refuse(wrong, 400, "A head ends with its first empty line.");
    if (!check_host(out, wrong) || !read_framing(out, wrong) || !read_expect(out, wrong))
        return false;
    read_connection(out);
    SL_CHECK(out->path.len > 0 && !(out->chunked && out->length));
    return true;
}
