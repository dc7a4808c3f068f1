/* Reads the PROXY protocol, which a load balancer speaks before the first byte of a
 * connection.
 *
 *   version 1, a line:   PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\n
 *   version 2, binary:   signature 12 | version, command | family, transport |
 *                        length 2 | addresses | type, length and value, repeated
 *
 * The first bytes tell the two from each other and from any other protocol, so a
 * first wrong byte is refused at once. After that, version 1 may have 107 bytes, and
 * version 2 the length that it names. Bytes behind the header are the connection's
 * and are not looked at. The start of a good header is never refused, wherever it is
 * cut.
 *
 * A header without an address (LOCAL, UNKNOWN, UNSPEC, a Unix socket, datagrams, which
 * no connection here carries) means the peer itself: the specification says so for
 * LOCAL and leaves the others to us. The block of a LOCAL header is skipped unread, as
 * the specification demands. */
#include "wire/http/proxy_header.h"

#include "base/check.h"
#include "base/text/number.h"

enum {
    V1_MAX_BYTES = 107, /* with CR and LF */
    V2_FIXED_BYTES = 16,
    TLV_FIXED_BYTES = 3,
};

#define V1_START     SL_TEXT("PROXY ")
#define V2_SIGNATURE SL_TEXT("\r\n\r\n\0\r\nQUIT\n")

static const char not_proxy[] =
    "every connection to this listener starts with a PROXY header: let the load balancer send one, "
    "or set `proxy_protocol: false`";

static ptrdiff_t refuse(const char **wrong, const char *why)
{
    *wrong = why;
    return -1;
}

/* Compares only as many bytes as both have. */
static bool starts_like(struct sluice_text bytes, struct sluice_text start)
{
    size_t len = bytes.len < start.len ? bytes.len : start.len;
    return len == 0 || memcmp(bytes.at, start.at, len) == 0;
}

/* ---- version 1 -------------------------------------------------------------------- */

static bool take_start(struct sluice_text *line, struct sluice_text start)
{
    if (line->len < start.len || !starts_like(*line, start))
        return false;
    line->at += start.len;
    line->len -= start.len;
    return true;
}

/* Takes what comes before the next space, or all that is left. */
static struct sluice_text take_word(struct sluice_text *line)
{
    const char *space = memchr(line->at, ' ', line->len);
    struct sluice_text word = { line->at, space ? (size_t)(space - line->at) : line->len };
    size_t taken = word.len + (space ? 1 : 0);
    line->at += taken;
    line->len -= taken;
    return word;
}

static bool read_address(struct sluice_text word, bool v6, struct sl_address *out)
{
    return !memchr(word.at, ':', word.len) == !v6 && sl_address_parse(word, out);
}

static bool is_port(struct sluice_text word)
{
    uint64_t port;
    if (word.len == 0 || word.len > 5 || (word.len > 1 && word.at[0] == '0'))
        return false;
    return sl_parse_u64(word, &port) && port <= 65535;
}

static bool read_endpoints(struct sluice_text line, bool v6, struct sl_address *source)
{
    struct sl_address destination;
    if (!read_address(take_word(&line), v6, source) ||
        !read_address(take_word(&line), v6, &destination) || !is_port(take_word(&line)))
        return false;
    return is_port(line); /* the last: a space behind it would be in it */
}

static ptrdiff_t read_line(struct sluice_text line, struct sl_proxy_header *out, const char **wrong)
{
    ptrdiff_t len = (ptrdiff_t)(V1_START.len + line.len + 2);
    struct sl_proxy_header header = { .has_source = false };
    if (sl_text_is(line, "UNKNOWN") || take_start(&line, SL_TEXT("UNKNOWN "))) {
        *out = header;
        return len;
    }
    bool v6 = take_start(&line, SL_TEXT("TCP6 "));
    if (!v6 && !take_start(&line, SL_TEXT("TCP4 ")))
        return refuse(wrong, "the PROXY line is about TCP4, TCP6 or UNKNOWN");
    if (!read_endpoints(line, v6, &header.source))
        return refuse(wrong, "the PROXY line wants two addresses of its family and two ports, one "
                             "space before each");
    header.has_source = true;
    *out = header;
    return len;
}

static ptrdiff_t read_v1(struct sluice_text bytes, struct sl_proxy_header *out, const char **wrong)
{
    size_t seen = bytes.len < V1_MAX_BYTES ? bytes.len : V1_MAX_BYTES;
    const char *lf = memchr(bytes.at, '\n', seen);
    if (!lf && seen == V1_MAX_BYTES)
        return refuse(wrong, "the PROXY line is longer than 107 bytes");
    if (!lf)
        return 0;
    SL_CHECK((size_t)(lf - bytes.at) >= V1_START.len);
    if (lf[-1] != '\r') /* it is behind `PROXY ` */
        return refuse(wrong, "the PROXY line ends with CR and LF");
    const char *line = bytes.at + V1_START.len;
    return read_line((struct sluice_text){ line, (size_t)(lf - line) - 1 }, out, wrong);
}

/* ---- version 2 -------------------------------------------------------------------- */

enum { LOCAL, PROXY };
enum { UNSPEC, INET, INET6, UNIX, FAMILIES };
enum { ANY, STREAM, DATAGRAM, TRANSPORTS };

static const size_t address_bytes[FAMILIES] = { 0, 12, 36, 216 };

static size_t two_bytes(const uint8_t *at)
{
    return (size_t)at[0] << 8 | at[1];
}

static bool tlvs_fit(const uint8_t *at, const uint8_t *end)
{
    while (at < end) {
        if (end - at < TLV_FIXED_BYTES)
            return false;
        size_t len = TLV_FIXED_BYTES + two_bytes(at + 1);
        if ((size_t)(end - at) < len)
            return false;
        at += len;
    }
    return true;
}

static struct sl_address address_at(const uint8_t *at, uint32_t family)
{
    SL_CHECK(family == INET || family == INET6);
    struct sl_address address = { { [10] = 0xff, [11] = 0xff } };
    if (family == INET)
        memcpy(address.byte + 12, at, 4);
    else
        memcpy(address.byte, at, 16);
    return address;
}

/* Reads the block of a PROXY command, behind the fixed part. Returns what is wrong, or NULL. */
static const char *read_block(const uint8_t *fixed, size_t len, struct sl_proxy_header *out)
{
    const uint8_t *block = fixed + V2_FIXED_BYTES;
    uint32_t family = fixed[13] >> 4, transport = fixed[13] & 15;
    if (family >= FAMILIES || transport >= TRANSPORTS)
        return "the PROXY header has a family or transport that does not exist";
    if (len < address_bytes[family])
        return "the PROXY header is too short for its addresses";
    /* The specification does not say what the block of an unknown family holds. */
    if (family != UNSPEC && !tlvs_fit(block + address_bytes[family], block + len))
        return "the PROXY header has a field that is longer than the header";
    struct sl_proxy_header header = { .has_source = (family == INET || family == INET6) &&
                                                    transport != DATAGRAM };
    if (header.has_source)
        header.source = address_at(block, family);
    *out = header;
    return NULL;
}

static ptrdiff_t read_v2(struct sluice_text bytes, struct sl_proxy_header *out, const char **wrong)
{
    const uint8_t *fixed = (const uint8_t *)bytes.at;
    if (bytes.len < V2_FIXED_BYTES)
        return 0;
    uint32_t version = fixed[12] >> 4, command = fixed[12] & 15;
    size_t len = two_bytes(fixed + 14);
    if (version != 2 || command > PROXY)
        return refuse(wrong, "the PROXY header's version is 2, its command LOCAL or PROXY");
    if (len > SL_PROXY_HEADER_MAX_BYTES - V2_FIXED_BYTES)
        return refuse(wrong, "the PROXY header is longer than 2048 bytes");
    if (bytes.len < V2_FIXED_BYTES + len)
        return 0;
    const char *why = NULL;
    if (command == LOCAL)
        *out = (struct sl_proxy_header){ .has_source = false };
    else
        why = read_block(fixed, len, out);
    return why ? refuse(wrong, why) : (ptrdiff_t)(V2_FIXED_BYTES + len);
}

ptrdiff_t sl_proxy_header_read(struct sluice_text bytes, struct sl_proxy_header *out,
                               const char **wrong)
{
    SL_CHECK(out && wrong);
    if (bytes.len == 0)
        return 0;
    ptrdiff_t len = -1;
    if (starts_like(bytes, V1_START))
        len = read_v1(bytes, out, wrong);
    else if (starts_like(bytes, V2_SIGNATURE))
        len = read_v2(bytes, out, wrong);
    else
        refuse(wrong, not_proxy);
    SL_CHECK(len <= (ptrdiff_t)bytes.len);
    return len;
}
