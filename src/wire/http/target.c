/* Reads a request's target, by RFC 9112 section 3.2:
 *
 *   /path?query              origin-form, nearly always
 *   http://host/path?query   absolute-form, as sent to a proxy
 *   *                        asterisk-form, of OPTIONS
 *   host:port                authority-form, of CONNECT: refused
 */
#include "wire/http/target.h"

#include "base/check.h"
#include "wire/http/bytes.h"

static bool refuse(struct sl_http_wrong *wrong, const char *detail)
{
    *wrong = (struct sl_http_wrong){ 400, detail };
    return false;
}

static struct sluice_text between(const char *at, const char *end)
{
    return (struct sluice_text){ at, (size_t)(end - at) };
}

bool sl_http_is_host(struct sluice_text text)
{
    const char *at = text.at;
    const char *end = text.at + text.len;
    bool literal = at < end && *at == '[';
    at += literal;
    const char *name = at;
    while (at < end && (sl_byte_fits(*at, SL_BYTE_HOST) || (literal && *at == ':')))
        at++;
    if (at == name || (literal && (at == end || *at++ != ']')))
        return false;
    if (at < end && *at == ':')
        for (at++; at < end && *at >= '0' && *at <= '9';)
            at++;
    return at == end;
}

/* Reads path and query, from a slash or, without a path, from a `?`. `slash` is the path
 * if there is none: a slash of the target, so that it lies in the head. */
static bool read_path(struct sl_http_head *out, size_t from, const char *slash)
{
    const char *at = out->target.at + from;
    const char *end = out->target.at + out->target.len;
    const char *mark = at < end ? memchr(at, '?', (size_t)(end - at)) : NULL;
    out->path = between(at, mark ? mark : end);
    if (out->path.len == 0)
        out->path = (struct sluice_text){ slash, 1 };
    if (mark)
        out->query = between(mark + 1, end);
    SL_CHECK(out->path.len > 0 && out->path.len <= out->target.len);
    return true;
}

static bool begins_with(struct sluice_text text, struct sluice_text lower)
{
    return text.len >= lower.len && sl_http_name_is(between(text.at, text.at + lower.len), lower);
}

/* Reads http://example.org/path, as sent to a proxy. */
static bool read_absolute(struct sl_http_head *out, struct sl_http_wrong *wrong)
{
    struct sluice_text target = out->target;
    bool plain = begins_with(target, SL_TEXT("http://"));
    if (!plain && !begins_with(target, SL_TEXT("https://")))
        return refuse(wrong, "A target begins with `/`, `http://` or `https://`.");
    size_t from = plain ? strlen("http://") : strlen("https://");
    size_t path = from;
    while (path < target.len && target.at[path] != '/' && target.at[path] != '?')
        path++;
    if (!sl_http_is_host(between(target.at + from, target.at + path)))
        return refuse(wrong, "The target names no host and port: `http://HOST:PORT/PATH`.");
    return read_path(out, path, target.at + from - 1);
}

bool sl_http_read_target(struct sl_http_head *out, struct sl_http_wrong *wrong)
{
    SL_CHECK(out->method.len > 0 && out->target.len > 0);
    SL_CHECK(!out->path.at && !out->query.at);
    /* A 2xx to CONNECT would open a tunnel, whatever its target. */
    if (sl_text_equal(out->method, SL_TEXT("CONNECT")))
        return refuse(wrong, "This server is no proxy: CONNECT is not for it.");
    if (*out->target.at == '/')
        return read_path(out, 0, out->target.at);
    if (!sl_text_equal(out->target, SL_TEXT("*")))
        return read_absolute(out, wrong);
    if (!sl_text_equal(out->method, SL_TEXT("OPTIONS")))
        return refuse(wrong, "The target `*` goes with OPTIONS only.");
    out->path = out->target;
    return true;
}
