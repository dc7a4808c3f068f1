#include "wire/grpc/rls_request.h"

#include "unit/base/unit.h"

static struct sl_scratch memory;

#define DOMAIN "\x0a\1d"
#define ENTRY  "\x0a\6\x0a\1a\x12\1x" /* (a, x) */

/* What is wrong, or the descriptors in a line: "a=x cost 1". */
static const char *read_of(struct sluice_text message)
{
    static char text[512];
    struct sl_rls_request call;
    const char *wrong = sl_rls_read(message, &memory, &call);
    int len = 0;
    if (wrong)
        return wrong;
    for (size_t i = 0; i < call.count; i++) {
        const struct sl_rls_descriptor *from = &call.descriptors[i];
        for (size_t n = 0; n < from->descriptor.count; n++) {
            const struct sluice_attribute *entry = &from->descriptor.entries[n];
            len +=
                snprintf(text + len, sizeof text - (size_t)len, "%.*s=%.*s ", (int)entry->name.len,
                         entry->name.at, (int)entry->value.len, entry->value.at);
        }
        len += snprintf(text + len, sizeof text - (size_t)len, from->peeks ? "peek;" : "cost %u;",
                        from->cost);
        if (from->has_limit)
            len += snprintf(text + len, sizeof text - (size_t)len, " %u per %" PRId64 " s;",
                            from->limit, from->unit_us / 1000000);
    }
    return text;
}

struct row {
    struct sluice_text message;
    const char *read;
};

TEST(calls_are_read_as_they_were_written)
{
    static const struct row rows[] = {
        { SL_TEXT(DOMAIN "\x12\x08" ENTRY), "a=x cost 1;" },
        { SL_TEXT(DOMAIN "\x12\x08" ENTRY "\x18\5"), "a=x cost 5;" },
        { SL_TEXT("\x18\5"
                  "\x12\x08" ENTRY DOMAIN),
          "a=x cost 5;" }, /* in any order */
        { SL_TEXT(DOMAIN "\x12\x08" ENTRY "\x18\0"), "a=x cost 1;" },
        { SL_TEXT(DOMAIN "\x12\x08" ENTRY "\x18\2\x18\3"), "a=x cost 3;" }, /* the last one */
        { SL_TEXT(DOMAIN "\x12\x10" ENTRY ENTRY), "a=x a=x cost 1;" },
        { SL_TEXT(DOMAIN "\x12\x08" ENTRY "\x12\x08" ENTRY), "a=x cost 1;a=x cost 1;" },
        { SL_TEXT(DOMAIN "\x12\5\x0a\3\x0a\1a"), "a= cost 1;" },
        { SL_TEXT(DOMAIN "\x12\x0c" ENTRY "\x1a\2\x08\7\x18\5"), "a=x cost 7;" },
        { SL_TEXT(DOMAIN "\x12\x0a" ENTRY "\x1a\0\x18\5"), "a=x peek;" },
        { SL_TEXT(DOMAIN "\x12\x0c" ENTRY "\x1a\2\x08\0"), "a=x peek;" },
        { SL_TEXT(DOMAIN "\x12\x10" ENTRY "\x1a\6\x08\xff\xff\xff\xff\x0f"),
          "a=x cost 4294967295;" },
        { SL_TEXT(DOMAIN "\x12\x0e" ENTRY "\x12\4\x08\x09\x10\2"), "a=x cost 1; 9 per 60 s;" },
        { SL_TEXT(DOMAIN "\x12\x0c" ENTRY "\x12\2\x10\1"), "a=x cost 1; 0 per 1 s;" },
        { SL_TEXT(DOMAIN "\x12\x0a" ENTRY "\x20\0"), "a=x cost 1;" }, /* is_negative_hits: no */
        { SL_TEXT(DOMAIN "\x12\x10" ENTRY "\x12\2\x10\1\x12\2\x08\3"),
          "a=x cost 1; 3 per 1 s;" }, /* two halves are one */
        { SL_TEXT(DOMAIN "\x12\x0a" ENTRY "\x28\1"
                         "\x22\1z\x38\1"),
          "a=x cost 1;" }, /* unknown */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char row[8];
        snprintf(row, sizeof row, "%zu", i);
        SAME_TEXT(row, sl_text(read_of(rows[i].message)), rows[i].read);
    }
}

TEST(what_is_wrong_with_one_is_told)
{
    static const struct row rows[] = {
        { SL_TEXT(""), "`domain` is empty" },
        { SL_TEXT("\x0a\0\x12\x08" ENTRY), "`domain` is empty" },
        { SL_TEXT(DOMAIN), "no descriptors" },
        { SL_TEXT(DOMAIN "\x12\0"), "no entries" },
        { SL_TEXT(DOMAIN "\x12\2\x0a\0"), "empty key" },
        { SL_TEXT(DOMAIN "\x12\x0a" ENTRY "\x12\0"), "no `unit`" },
        { SL_TEXT(DOMAIN "\x12\x0c" ENTRY "\x12\2\x10\x08"), "no `unit`" },
        { SL_TEXT(DOMAIN "\x12\x10" ENTRY "\x1a\6\x08\x80\x80\x80\x80\x10"),
          "above 4294967295" }, /* by one */
        { SL_TEXT(DOMAIN "\x12\x0a" ENTRY "\x20\1"), "`is_negative_hits`" },
        { SL_TEXT("\xff"), "in protobuf" },
        { SL_TEXT(DOMAIN "\x12\x09" ENTRY), "in protobuf" },
        { SL_TEXT(DOMAIN "\x12\x08" ENTRY "\x08\1"), "in protobuf" },       /* domain: a number */
        { SL_TEXT(DOMAIN "\x10\1"), "in protobuf" },                        /* descriptors, */
        { SL_TEXT(DOMAIN "\x12\x08" ENTRY "\x1a\0"), "in protobuf" },       /* hits_addend, */
        { SL_TEXT(DOMAIN "\x12\2\x08\1"), "in protobuf" },                  /* entries, */
        { SL_TEXT(DOMAIN "\x12\4\x0a\2\x08\1"), "in protobuf" },            /* a key, */
        { SL_TEXT(DOMAIN "\x12\x0c" ENTRY "\x12\2\x12\0"), "in protobuf" }, /* a unit, */
        { SL_TEXT(DOMAIN "\x12\x0c" ENTRY "\x1a\2\x0a\0"), "in protobuf" }, /* a cost */
        { SL_TEXT(DOMAIN "\x12\x08" ENTRY "\x1d\1\0\0\0"), "in protobuf" }, /* fixed */
        { SL_TEXT(DOMAIN "\x12\x09" ENTRY "\xff"), "in protobuf" },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (!strstr(read_of(rows[i].message), rows[i].read))
            fail_msg("%zu: \"%s\" does not say \"%s\"", i, read_of(rows[i].message), rows[i].read);
}

/* A call of so many descriptors, or of one with so many entries. */
static const char *read_many(size_t descriptors, size_t entries)
{
    static char message[65536];
    char *at = message + sprintf(message, DOMAIN);
    for (size_t i = 0; i < descriptors; i++) {
        at += sprintf(at, "\x12%c%c", (int)(0x80 | (8 * entries & 0x7f)), (int)(8 * entries >> 7));
        for (size_t n = 0; n < entries; n++)
            at = (char *)memcpy(at, ENTRY, 8) + 8;
    }
    return read_of((struct sluice_text){ message, (size_t)(at - message) });
}

TEST(there_is_a_most_of_everything)
{
    assert_non_null(strstr(read_many(65, 16), "more than 64 descriptors"));
    assert_non_null(strstr(read_many(1, 65), "more than 64 entries"));
    assert_non_null(strstr(read_many(1, 1000), "more than 64 entries"));
}

static int open_memory(void **unused)
{
    (void)unused;
    memory = sl_scratch(65536);
    return 0;
}

static int close_memory(void **unused)
{
    (void)unused;
    sl_scratch_release(&memory);
    return 0;
}

TESTS_WITH(open_memory, close_memory)
