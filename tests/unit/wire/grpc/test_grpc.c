#include "wire/grpc/grpc.h"

#include "unit/base/unit.h"

/* ---- messages ---- */

/* All of the bytes, in pieces of that length; how it ended, and how many were left. */
struct outcome {
    enum sl_grpc_end end;
    size_t left;
    size_t messages;
    char text[256]; /* of all messages, a `|` behind each */
};

static struct outcome read_in_pieces(struct sluice_text bytes, size_t piece)
{
    struct outcome got = { .end = SL_GRPC_MORE };
    struct sl_grpc_reader reader = { 0 };
    struct sl_buffer body = sl_buffer(SL_GRPC_MESSAGE_MAX_BYTES);
    size_t used = 0;
    while (used < bytes.len && got.end <= SL_GRPC_WHOLE) {
        size_t len = bytes.len - used < piece ? bytes.len - used : piece;
        struct sluice_text part = { bytes.at + used, len };
        got.end = sl_grpc_read(&reader, &part, &body);
        used += len - part.len;
        if (got.end != SL_GRPC_WHOLE) {
            assert_true(got.end != SL_GRPC_MORE || part.len == 0);
            continue;
        }
        size_t at = strlen(got.text);
        snprintf(got.text + at, sizeof got.text - at, "%.*s|", (int)body.len,
                 body.len ? body.at : "");
        got.messages++;
        sl_buffer_clear(&body);
        assert_false(sl_grpc_is_within(&reader));
    }
    got.left = bytes.len - used;
    sl_buffer_release(&body);
    return got;
}

TEST(messages_are_the_same_however_data_is_cut)
{
    static const char bytes[] = "\0\0\0\0\3abc\0\0\0\0\0\0\0\0\0\1z\0\0\0\0\x0ahello";
    for (size_t piece = 1; piece < sizeof bytes; piece++) {
        struct outcome got = read_in_pieces((struct sluice_text){ bytes, sizeof bytes - 1 }, piece);
        SAME_TEXT("text", sl_text(got.text), "abc||z|");
        SAME("messages", got.messages, 3);
        SAME("end", got.end, SL_GRPC_MORE);
        SAME("left", got.left, 0);
    }
}

TEST(what_is_no_message_is_told_apart)
{
    static const struct {
        struct sluice_text bytes;
        enum sl_grpc_end end;
    } rows[] = {
        { SL_TEXT("\1\0\0\0\1a"), SL_GRPC_COMPRESSED },
        { SL_TEXT("\2\0\0\0\1a"), SL_GRPC_BAD_FLAG },
        { SL_TEXT("\377\0\0\0\1a"), SL_GRPC_BAD_FLAG },
        { SL_TEXT("\0\0\x10\0\1a"), SL_GRPC_TOO_LONG },
        { SL_TEXT("\0\377\377\377\377a"), SL_GRPC_TOO_LONG },
        { SL_TEXT("\0\0\x10\0\0a"), SL_GRPC_MORE }, /* the longest there is */
        { SL_TEXT("\0\0\0\0"), SL_GRPC_MORE },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        for (size_t piece = 1; piece <= 6; piece++)
            SAME("row", read_in_pieces(rows[i].bytes, piece).end, rows[i].end);
}

TEST(a_prefix_is_read_back)
{
    static const uint32_t lengths[] = { 0, 1, 255, 256, 65536, SL_GRPC_MESSAGE_MAX_BYTES };
    for (size_t i = 0; i < COUNT(lengths); i++) {
        char prefix[SL_GRPC_PREFIX_BYTES];
        struct sl_grpc_reader reader = { 0 };
        struct sl_buffer body = sl_buffer(16);
        sl_grpc_print_prefix(prefix, lengths[i]);
        struct sluice_text bytes = { prefix, sizeof prefix };
        enum sl_grpc_end end = sl_grpc_read(&reader, &bytes, &body);
        SAME("end", end, lengths[i] ? SL_GRPC_MORE : SL_GRPC_WHOLE);
        SAME("left", reader.left, lengths[i]);
        SAME("within", sl_grpc_is_within(&reader), lengths[i] > 0);
    }
}

/* ---- headers ---- */

TEST(timeouts_are_digits_and_a_unit)
{
    static const struct {
        const char *text;
        int64_t us; /* -1: it is none */
    } rows[] = {
        { "1H", 3600000000 },
        { "2M", 120000000 },
        { "3S", 3000000 },
        { "20m", 20000 },
        { "7u", 7 },
        { "1n", 1 },
        { "1000n", 1 },
        { "1001n", 2 },
        { "0n", 0 },
        { "0S", 0 },
        { "00000001S", 1000000 },
        { "99999999H", INT64_C(359999996400000000) },
        { "99999999n", 100000 },
        { "", -1 },
        { "S", -1 },
        { "1", -1 },
        { "123456789S", -1 },
        { "1s", -1 },
        { "1h", -1 },
        { "-1S", -1 },
        { "1.5S", -1 },
        { " 1S", -1 },
        { "1 S", -1 },
        { "1SS", -1 },
        { "+1S", -1 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t us = -1;
        SAME(rows[i].text, sl_grpc_parse_timeout(sl_text(rows[i].text), &us), rows[i].us >= 0);
        SAME(rows[i].text, us, rows[i].us);
    }
}

TEST(only_grpc_is_its_content_type)
{
    static const struct {
        const char *type;
        bool is_grpc;
    } rows[] = {
        { "application/grpc", true },
        { "application/grpc+proto", true },
        { "application/grpc;a=b", true },
        { "Application/gRPC", true },
        { "application/grpc-web", false },
        { "application/grpcx", false },
        { "application/json", false },
        { "application/grp", false },
        { "", false },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        SAME(rows[i].type, sl_grpc_is_content_type(sl_text(rows[i].type)), rows[i].is_grpc);
}

TEST(a_sentence_is_encoded_byte_by_byte)
{
    static const struct {
        struct sluice_text text;
        const char *printed;
    } rows[] = {
        { SL_TEXT("It is `x`; do ~that."), "It is `x`; do ~that." },
        { SL_TEXT("100% \xc3\xa4\n"), "100%25 %C3%A4%0A" },
        { SL_TEXT("\0\x1f\x7f\xff"), "%00%1F%7F%FF" },
        { SL_TEXT(""), "" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_buffer out = sl_buffer(256);
        sl_grpc_print_message(&out, rows[i].text);
        SAME_TEXT("row", ((struct sluice_text){ out.at, out.len }), rows[i].printed);
        sl_buffer_release(&out);
    }
}

TEST(problems_of_http_have_their_status)
{
    static const struct {
        uint32_t http;
        enum sl_grpc_status status;
    } rows[] = {
        { 200, SL_GRPC_OK },
        { 400, SL_GRPC_INVALID_ARGUMENT },
        { 401, SL_GRPC_UNAUTHENTICATED },
        { 403, SL_GRPC_PERMISSION_DENIED },
        { 404, SL_GRPC_NOT_FOUND },
        { 408, SL_GRPC_DEADLINE_EXCEEDED },
        { 413, SL_GRPC_RESOURCE_EXHAUSTED },
        { 422, SL_GRPC_INVALID_ARGUMENT },
        { 429, SL_GRPC_RESOURCE_EXHAUSTED },
        { 431, SL_GRPC_RESOURCE_EXHAUSTED },
        { 500, SL_GRPC_INTERNAL },
        { 501, SL_GRPC_UNIMPLEMENTED },
        { 503, SL_GRPC_UNAVAILABLE },
        { 418, SL_GRPC_UNKNOWN },
        { 599, SL_GRPC_INTERNAL },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        SAME("row", sl_grpc_status_of_http(rows[i].http), rows[i].status);
    SAME_TEXT("digits", sl_grpc_status_digits(SL_GRPC_OK), "0");
    SAME_TEXT("digits", sl_grpc_status_digits(SL_GRPC_UNAUTHENTICATED), "16");
    SAME_TEXT("name", sl_grpc_status_name(SL_GRPC_OK), "OK");
    SAME_TEXT("name", sl_grpc_status_name(SL_GRPC_UNAUTHENTICATED), "UNAUTHENTICATED");
}
