#include "wire/grpc/proto_walk.h"

#include "unit/base/unit.h"

TEST(fields_come_one_after_the_other)
{
    /* 1: 150; 2: "abc"; 3: fixed64 1; 4: fixed32 2; 5: ""; 536870911: 0 */
    struct sluice_text message = SL_TEXT("\x08\x96\x01\x12\3abc\x19\1\0\0\0\0\0\0\0\x25\2\0\0\0"
                                         "\x2a\0\xf8\xff\xff\xff\x0f\0");
    static const struct {
        uint32_t number;
        enum sl_proto_kind kind;
        uint64_t value;
        const char *text;
    } rows[] = {
        { 1, SL_PROTO_NUMBER, 150, "" }, { 2, SL_PROTO_BYTES, 0, "abc" },
        { 3, SL_PROTO_FIXED, 1, "" },    { 4, SL_PROTO_FIXED, 2, "" },
        { 5, SL_PROTO_BYTES, 0, "" },    { 536870911, SL_PROTO_NUMBER, 0, "" },
    };
    struct sl_proto_field field;
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_true(sl_proto_next(&message, &field));
        SAME("number", field.number, rows[i].number);
        SAME("kind", field.kind, rows[i].kind);
        if (field.kind != SL_PROTO_BYTES)
            SAME("value", field.value, rows[i].value);
        else
            SAME_TEXT("text", field.text, rows[i].text);
    }
    assert_false(sl_proto_next(&message, &field));
    SAME("left", message.len, 0);
}

TEST(what_is_no_protobuf_stays_where_it_is)
{
    const struct sluice_text rows[] = {
        SL_TEXT("\x08"),     /* no value */
        SL_TEXT("\x08\x80"), /* it does not end */
        SL_TEXT("\x80"),     /* nor does the tag */
        SL_TEXT("\x12\x04"
                "abc"),                                          /* shorter than it says */
        SL_TEXT("\x12"),                                         /* no length */
        SL_TEXT("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), /* longer than all there is */
        SL_TEXT("\x19\1\0\0\0\0\0\0"),
        SL_TEXT("\x25\2\0\0"),
        SL_TEXT("\0\1"), /* no number */
        SL_TEXT("\x0b"),
        SL_TEXT("\x0c"),
        SL_TEXT("\x0e"),
        SL_TEXT("\x0f"),                                             /* groups, and none */
        SL_TEXT("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), /* eleven bytes */
        SL_TEXT("\xf8\xff\xff\xff\x1f\0"),                           /* a number beyond all */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sluice_text message = rows[i];
        struct sl_proto_field field;
        SAME("row", sl_proto_next(&message, &field), false);
        SAME("row", message.len, rows[i].len);
    }
}

TEST(the_largest_number_is_whole)
{
    struct sluice_text message = SL_TEXT("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    struct sl_proto_field field;
    assert_true(sl_proto_next(&message, &field));
    assert_true(field.value == UINT64_MAX);
}
