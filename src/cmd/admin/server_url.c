/* Parses a server's address. libcurl parses the URL, so that the host we judge is the
 * host it connects to, however it is spelt (127.1, 0x7f000001). */
#include "cmd/admin/server_url.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <stdlib.h>
#include <strings.h>

#include "base/error.h"

static const char right[] = "http://HOST:PORT, https://HOST:PORT or unix:PATH";

/* Of all names only `localhost` counts: libcurl does not look it up. */
static bool is_loopback(const char *host)
{
    struct in_addr v4;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    return strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0;
}

/* Returns the URL without slashes at its end: paths begin with one. */
static char *base_of(CURLU *parts)
{
    char *url = NULL;
    if (curl_url_get(parts, CURLUPART_URL, &url, 0) != CURLUE_OK)
        return NULL;
    size_t len = strlen(url);
    while (len && url[len - 1] == '/')
        len--;
    char *base = strndup(url, len);
    curl_free(url);
    return base;
}

static bool read_parts(CURLU *parts, struct sl_server_url *out)
{
    char *scheme = NULL, *host = NULL;
    bool good = curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
                curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK;
    bool https = good && strcmp(scheme, "https") == 0;
    good = good && (https || strcmp(scheme, "http") == 0);
    if (good)
        *out = (struct sl_server_url){
            .base = base_of(parts),
            .is_private = https || is_loopback(host),
        };
    curl_free(scheme);
    curl_free(host);
    return good;
}

static bool parse_http(const char *text, struct sl_server_url *out, struct sluice_error *error)
{
    CURLU *parts = curl_url();
    if (!parts)
        return sl_error_say(error, "out of memory");
    bool good = !strpbrk(text, "?#") &&
                curl_url_set(parts, CURLUPART_URL, text, CURLU_PATH_AS_IS) == CURLUE_OK;
    bool secret = strchr(text, '@');
    good = good && !secret && read_parts(parts, out);
    curl_url_cleanup(parts);
    if (secret) /* and is not repeated here */
        return sl_error_say(error, "a server's address has no user or password in it: give the "
                                   "token with `--token-file` or $SLUICE_TOKEN");
    if (!good)
        return sl_error_say(error, "the server `%.200s` is not %s", text, right);
    return out->base || sl_error_say(error, "out of memory");
}

bool sl_server_url_parse(const char *text, struct sl_server_url *out, struct sluice_error *error)
{
    if (strncmp(text, "unix:", 5) != 0)
        return parse_http(text, out, error);
    if (!text[5])
        return sl_error_say(error, "the server `%s` is not %s", text, right);
    /* The server takes a caller that uses this name for a local one. */
    struct sl_server_url url = { strdup("http://localhost"), text + 5, true };
    if (!url.base)
        return sl_error_say(error, "out of memory");
    *out = url;
    return true;
}

void sl_server_url_release(struct sl_server_url *url)
{
    free(url->base);
    *url = (struct sl_server_url){ 0 };
}

void sl_url_escape(struct sl_buffer *out, struct sluice_text text)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    static const char hex[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.at[i];
        char escaped[3] = { '%', hex[byte >> 4], hex[byte & 15] };
        bool as_is = memchr(plain, byte, sizeof plain - 1);
        sl_buffer_add(out, (struct sluice_text){ as_is ? text.at + i : escaped, as_is ? 1 : 3 });
    }
}
