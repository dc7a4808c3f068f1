/* Commands are no part of the library, so the file itself is taken in. */
#include "cmd/terminal/pretty.h"

#include "unit/base/unit.h"

TEST(json_is_laid_out_and_nothing_in_it_is_changed)
{
    static const struct {
        const char *json;
        const char *wanted;
    } rows[] = {
        { "{}", "{}\n" },
        { " { \n } ", "{}\n" },
        { "[]", "[]\n" },
        { "{\"a\":1}", "{\n  \"a\": 1\n}\n" },
        { "{\"a\":1.50,\"b\":1e2}", "{\n  \"a\": 1.50,\n  \"b\": 1e2\n}\n" },
        { "{\"a\":0.1,\"b\":-0}", "{\n  \"a\": 0.1,\n  \"b\": -0\n}\n" },
        { "{\"n\":12345678901234567890123}", "{\n  \"n\": 12345678901234567890123\n}\n" },
        { "[ 1,2 , 3 ]", "[1, 2, 3]\n" },
        { "{\"per\":[\"user\",\"ip\"]}", "{\n  \"per\": [\"user\", \"ip\"]\n}\n" },
        { "[{\"a\":null},[]]", "[\n  {\n    \"a\": null\n  },\n  []\n]\n" },
        { "[[1],[2]]", "[\n  [1],\n  [2]\n]\n" },
        { "{\"a\":{},\"b\":[ ]}", "{\n  \"a\": {},\n  \"b\": []\n}\n" },
        { "{\"a\":{\"b\":{\"c\":true}}}",
          "{\n  \"a\": {\n    \"b\": {\n      \"c\": true\n    }\n  }\n}\n" },
        /* what looks like structure inside a string */
        { "{\"a\":\"{[,:]} \\\" \\\\\"}", "{\n  \"a\": \"{[,:]} \\\" \\\\\"\n}\n" },
        { "[\"]\",\"\\\\\",\"[\"]", "[\"]\", \"\\\\\", \"[\"]\n" },
        { "\"x  y\"", "\"x  y\"\n" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_buffer out = sl_buffer(SIZE_MAX);
        sl_pretty_print(&out, sl_text(rows[i].json));
        SAME_TEXT(rows[i].json, ((struct sluice_text){ out.at, out.len }), rows[i].wanted);
        sl_buffer_release(&out);
    }
}

/* Never given in earnest, and never read past its end (AddressSanitizer watches). */
TEST(rubbish_does_no_harm)
{
    static const char letters[] = "{}[],:\"\\ 1a";
    uint64_t seed = 3;
    for (int round = 0; round < 20000; round++) {
        size_t len = (size_t)unit_up_to(&seed, 12);
        char *text = malloc(len + !len);
        assert_non_null(text);
        for (size_t i = 0; i < len; i++)
            text[i] = letters[unit_up_to(&seed, 10)];
        struct sl_buffer out = sl_buffer(4096);
        sl_pretty_print(&out, (struct sluice_text){ text, len });
        sl_buffer_release(&out);
        free(text);
    }
}
