#include "wire/http/proxy_header.h"

#include "unit/base/unit.h"

/* Read out of a block of exactly that many bytes. */
static ptrdiff_t read_header(struct sluice_text bytes, struct sl_proxy_header *out,
                             const char **wrong)
{
    char *block = malloc(bytes.len ? bytes.len : 1);
    assert_non_null(block);
    if (bytes.len)
        memcpy(block, bytes.at, bytes.len);
    *wrong = NULL;
    ptrdiff_t len = sl_proxy_header_read((struct sluice_text){ block, bytes.len }, out, wrong);
    free(block);
    return len;
}

/* The source as a text; "peer" where it is the peer itself. */
static void check_good(const char *row, struct sluice_text header, const char *source)
{
    struct sl_proxy_header out;
    const char *wrong;
    SAME(row, read_header(header, &out, &wrong), header.len);
    SAME(row, wrong == NULL, true);
    char text[SL_ADDRESS_PRINT_MAX] = "peer";
    if (out.has_source)
        sl_address_print(&out.source, text);
    SAME_TEXT(row, sl_text(text), source);
    for (size_t len = 0; len < header.len; len++) {
        SAME(row, read_header((struct sluice_text){ header.at, len }, &out, &wrong), 0);
        SAME(row, wrong == NULL, true);
    }
}

static void check_wrong(const char *row, struct sluice_text header, const char *sentence)
{
    struct sl_proxy_header out, before;
    const char *wrong;
    memset(&before, 0xa5, sizeof before);
    memcpy(&out, &before, sizeof before);
    SAME(row, read_header(header, &out, &wrong), -1);
    assert_non_null(wrong);
    if (!strstr(wrong, sentence))
        fail_msg("%s: \"%s\" does not say \"%s\"", row, wrong, sentence);
    assert_memory_equal(&out, &before, sizeof before);
}

/* ---- version 1 -------------------------------------------------------------------- */

TEST(a_line_names_its_source)
{
    static const struct {
        const char *line, *source;
    } rows[] = {
        { "PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\n", "192.0.2.1" },
        { "PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n", "255.255.255.255" },
        { "PROXY TCP4 0.0.0.0 0.0.0.0 0 0\r\n", "0.0.0.0" },
        { "PROXY TCP6 2001:db8::1 2001:db8::2 1 2\r\n", "2001:db8::1" },
        { "PROXY TCP6 ::ffff:192.0.2.1 ::1 1 2\r\n", "192.0.2.1" },
        { "PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
          "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n",
          "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
        { "PROXY UNKNOWN\r\n", "peer" },
        { "PROXY UNKNOWN \r\n", "peer" },
        { "PROXY UNKNOWN 192.0.2.1 anything  at all\r\n", "peer" },
        { "PROXY UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
          "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n", /* 107 bytes */
          "peer" },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        check_good(rows[i].line, sl_text(rows[i].line), rows[i].source);
}

TEST(a_line_that_is_not_exact_is_refused)
{
    static const char *const endpoints[] = {
        "PROXY TCP4 192.0.2.1 198.51.100.1 1\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1\r\n",
        "PROXY TCP4 \r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 1 2 \r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 1 2 3\r\n",
        "PROXY TCP4  192.0.2.1 198.51.100.1 1 2\r\n",
        "PROXY TCP4 192.0.2.1  198.51.100.1 1 2\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 1  2\r\n",
        "PROXY TCP4 192.0.2.1\t198.51.100.1 1 2\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 1 2\r\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 01 2\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 1 00\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 65536 2\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 1 99999\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 -1 2\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 1 +2\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 1 x\r\n",
        "PROXY TCP4 192.0.2.01 198.51.100.1 1 2\r\n",
        "PROXY TCP4 192.0.2 198.51.100.1 1 2\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.256 1 2\r\n",
        "PROXY TCP4 2001:db8::1 2001:db8::2 1 2\r\n",
        "PROXY TCP4 192.0.2.1 2001:db8::2 1 2\r\n",
        "PROXY TCP4 ::ffff:192.0.2.1 198.51.100.1 1 2\r\n",
        "PROXY TCP6 192.0.2.1 198.51.100.1 1 2\r\n",
        "PROXY TCP6 2001:db8::1 198.51.100.1 1 2\r\n",
        "PROXY TCP6 [2001:db8::1] [2001:db8::2] 1 2\r\n",
        "PROXY TCP6 2001:db8::g 2001:db8::2 1 2\r\n",
    };
    static const char *const families[] = {
        "PROXY \r\n",
        "PROXY TCP4\r\n",
        "PROXY TCP5 192.0.2.1 198.51.100.1 1 2\r\n",
        "PROXY tcp4 192.0.2.1 198.51.100.1 1 2\r\n",
        "PROXY UDP4 192.0.2.1 198.51.100.1 1 2\r\n",
        "PROXY  TCP4 192.0.2.1 198.51.100.1 1 2\r\n",
        "PROXY UNKNOWNS\r\n",
        "PROXY UNKNOW\r\n",
    };
    for (size_t i = 0; i < COUNT(endpoints); i++)
        check_wrong(endpoints[i], sl_text(endpoints[i]), "two addresses of its family");
    for (size_t i = 0; i < COUNT(families); i++)
        check_wrong(families[i], sl_text(families[i]), "TCP4, TCP6 or UNKNOWN");
}

TEST(a_line_ends_with_cr_and_lf_within_107_bytes)
{
    check_wrong("LF", SL_TEXT("PROXY TCP4 192.0.2.1 198.51.100.1 1 2\n"), "CR and LF");
    check_wrong("LF at once", SL_TEXT("PROXY \n"), "CR and LF");
    check_wrong("LF in it", SL_TEXT("PROXY UNKNOWN a\nb\r\n"), "CR and LF");

    char line[108];
    memset(line, 'x', sizeof line);
    memcpy(line, "PROXY UNKNOWN ", 14);
    memcpy(line + 105, "\r\n", 2);
    check_good("107 bytes", (struct sluice_text){ line, 107 }, "peer");
    memcpy(line + 105, "x\r\n", 3);
    check_wrong("108 bytes", (struct sluice_text){ line, 108 }, "longer than 107");
    check_wrong("107 of 108 bytes", (struct sluice_text){ line, 107 }, "longer than 107");
}

TEST(what_is_no_header_is_refused_at_its_first_wrong_byte)
{
    static const struct {
        struct sluice_text bytes;
        size_t good; /* that many could still become a header */
    } rows[] = {
        { SL_TEXT("GET / HTTP/1.1\r\n\r\n"), 0 },
        { SL_TEXT("PUT / HTTP/1.1\r\n\r\n"), 1 },
        { SL_TEXT("PROXY\r\n"), 5 },
        { SL_TEXT("PROXYTCP4"), 5 },
        { SL_TEXT("proxy TCP4 "), 0 },
        { SL_TEXT(" PROXY TCP4 "), 0 },
        { SL_TEXT("\r\nPROXY TCP4 "), 2 },
        { SL_TEXT("\r\n\r\n\0\r\nQUIT\r"), 11 },
        { SL_TEXT("\r\n\r\n\0\r\nquit\n"), 7 },
        { SL_TEXT("\0"), 0 },
        { SL_TEXT("\x16\x03\x01"), 0 }, /* TLS */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        for (size_t len = 0; len <= rows[i].bytes.len; len++) {
            struct sluice_text bytes = { rows[i].bytes.at, len };
            struct sl_proxy_header out;
            const char *wrong;
            if (len > rows[i].good)
                check_wrong(rows[i].bytes.at, bytes, "starts with a PROXY header");
            else
                SAME(rows[i].bytes.at, read_header(bytes, &out, &wrong), 0);
        }
    }
}

/* ---- version 2 -------------------------------------------------------------------- */

enum { LOCAL = 0x20, PROXY = 0x21 };

/* A header of `block` bytes behind the fixed part: 192.0.2.1 and what follows as
 * the numbers 1, 2, 3 … */
static struct sluice_text v2(uint8_t command, uint8_t family, size_t block)
{
    static char bytes[65536 + 16];
    memcpy(bytes, "\r\n\r\n\0\r\nQUIT\n", 12);
    bytes[12] = (char)command;
    bytes[13] = (char)family;
    bytes[14] = (char)(block >> 8);
    bytes[15] = (char)(block & 0xff);
    memset(bytes + 16, 0, sizeof bytes - 16);
    memcpy(bytes + 16, "\xc0\x00\x02\x01\xc6\x33\x64\x01", 8);
    return (struct sluice_text){ bytes, 16 + block };
}

TEST(a_binary_header_names_its_source)
{
    static const struct {
        const char *row;
        uint8_t command, family;
        size_t block;
        const char *source;
    } rows[] = {
        { "TCP over IPv4", PROXY, 0x11, 12, "192.0.2.1" },
        { "any transport over IPv4", PROXY, 0x10, 12, "192.0.2.1" },
        { "TCP over IPv6", PROXY, 0x21, 36, "c000:201:c633:6401::" },
        { "any transport over IPv6", PROXY, 0x20, 36, "c000:201:c633:6401::" },
        { "UDP over IPv4", PROXY, 0x12, 12, "peer" },
        { "UDP over IPv6", PROXY, 0x22, 36, "peer" },
        { "Unix stream", PROXY, 0x31, 216, "peer" },
        { "Unix datagram", PROXY, 0x32, 216, "peer" },
        { "unspecified", PROXY, 0x00, 0, "peer" },
        { "unspecified, with a block of whatever", PROXY, 0x00, 2, "peer" },
        { "local", LOCAL, 0x00, 0, "peer" },
        { "local, with addresses", LOCAL, 0x11, 12, "peer" },
        { "local, with half of them", LOCAL, 0x11, 3, "peer" },
        { "local, of no family", LOCAL, 0xff, 1, "peer" },
        { "the longest", LOCAL, 0x00, 2032, "peer" },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        check_good(rows[i].row, v2(rows[i].command, rows[i].family, rows[i].block), rows[i].source);
}

TEST(a_v4_mapped_source_is_ipv4)
{
    struct sluice_text header = v2(PROXY, 0x21, 36);
    memcpy((char *)header.at + 16, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x01\x02\x03\x04", 16);
    check_good("mapped", header, "1.2.3.4");
}

TEST(a_bad_binary_header_is_refused)
{
    static const struct {
        const char *row;
        uint8_t command, family;
        size_t block;
        const char *wrong;
    } rows[] = {
        { "version 0", 0x01, 0x11, 12, "version is 2" },
        { "version 1", 0x11, 0x11, 12, "version is 2" },
        { "version 3", 0x31, 0x11, 12, "version is 2" },
        { "command 2", 0x22, 0x11, 12, "version is 2" },
        { "command 15", 0x2f, 0x11, 12, "version is 2" },
        { "family 4", PROXY, 0x41, 216, "family or transport" },
        { "family 15", PROXY, 0xf1, 216, "family or transport" },
        { "transport 3", PROXY, 0x13, 12, "family or transport" },
        { "transport 15", PROXY, 0x1f, 12, "family or transport" },
        { "transport 3 of no family", PROXY, 0x03, 0, "family or transport" },
        { "IPv4, one byte short", PROXY, 0x11, 11, "too short" },
        { "IPv4, nothing", PROXY, 0x11, 0, "too short" },
        { "IPv6, one byte short", PROXY, 0x21, 35, "too short" },
        { "IPv6 with IPv4's length", PROXY, 0x21, 12, "too short" },
        { "Unix, one byte short", PROXY, 0x31, 215, "too short" },
        { "UDP, one byte short", PROXY, 0x12, 11, "too short" },
        { "one byte too long", LOCAL, 0x00, 2033, "longer than 2048" },
        { "as long as can be", PROXY, 0x11, 65535, "longer than 2048" },
        { "IPv4, one byte of a field", PROXY, 0x11, 13, "a field that is longer" },
        { "IPv4, two bytes of a field", PROXY, 0x11, 14, "a field that is longer" },
        { "UDP, one byte of a field", PROXY, 0x12, 13, "a field that is longer" },
        { "Unix, one byte of a field", PROXY, 0x31, 217, "a field that is longer" },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        check_wrong(rows[i].row, v2(rows[i].command, rows[i].family, rows[i].block), rows[i].wrong);
}

TEST(a_length_too_large_is_refused_before_the_rest_arrives)
{
    struct sluice_text header = v2(PROXY, 0x11, 65535);
    header.len = 16;
    check_wrong("fixed part alone", header, "longer than 2048");
}

TEST(fields_are_skipped_by_their_length)
{
    static const struct {
        struct sluice_text fields;
        bool fit;
    } rows[] = {
        { SL_TEXT("\x04\0\0"), true },
        { SL_TEXT("\x04\0\1x"), true },
        { SL_TEXT("\x01\0\2h2\x02\0\3a.b\xee\0\0"), true },
        { SL_TEXT("\x04\0\1"), false },
        { SL_TEXT("\x04\0\2x"), false },
        { SL_TEXT("\x04\1\0x"), false },
        { SL_TEXT("\x04\xff\xffx"), false },
        { SL_TEXT("\x04\0\0\x04"), false },
        { SL_TEXT("\x04\0\0\x04\0"), false },
        { SL_TEXT("\x04\0\1x\x04\0\1"), false },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char row[24];
        snprintf(row, sizeof row, "fields %zu", i);
        struct sluice_text header = v2(PROXY, 0x11, 12 + rows[i].fields.len);
        memcpy((char *)header.at + 28, rows[i].fields.at, rows[i].fields.len);
        if (rows[i].fit)
            check_good(row, header, "192.0.2.1");
        else
            check_wrong(row, header, "a field that is longer");
    }
}

TEST(bytes_behind_the_header_are_not_looked_at)
{
    static const char line[] = "PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\n";
    char bytes[256];
    struct sl_proxy_header out;
    const char *wrong;
    int len = snprintf(bytes, sizeof bytes, "%sPROXY UNKNOWN\r\n", line);
    assert_int_equal(read_header((struct sluice_text){ bytes, (size_t)len }, &out, &wrong),
                     sizeof line - 1);
    assert_true(out.has_source);

    struct sluice_text header = v2(PROXY, 0x11, 12);
    header.len += 20; /* zeros, and no whole field */
    assert_int_equal(read_header(header, &out, &wrong), 28);
    assert_true(out.has_source);
}
