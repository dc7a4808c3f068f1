/* Lines that hold on to each other. */
#include "telemetry/audit/chain.h"

#include "unit/base/unit.h"

#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"

static struct sl_sha256 *hasher;

static int set_up(void **unused)
{
    (void)unused;
    hasher = sl_sha256_new();
    return hasher ? 0 : -1;
}

static int tear_down(void **unused)
{
    (void)unused;
    sl_sha256_free(hasher);
    return 0;
}

static struct sluice_text text_of(const struct sl_buffer *line)
{
    return (struct sluice_text){ line->at, line->len };
}

#define CHAINED(name) TEST_WITH(name, set_up, tear_down)

CHAINED(a_line_ends_with_its_place_and_the_hash_of_all_before)
{
    struct sl_chain_head head, next;
    struct sl_buffer line = sl_buffer(1000);
    struct sl_digest digest;
    char hex[SL_DIGEST_HEX + 1], wanted[600];
    sl_chain_init(&head);
    sl_buffer_add(&line, SL_TEXT("{\"a\": 1"));
    sl_chain_end_line(&line, hasher, &head, &next);
    /* What sha256sum would be given. */
    sl_sha256_of(hasher, SL_TEXT("{\"a\": 1, \"chain\": {\"n\": 1, \"prev\": \"" ZEROS "\"}}"),
                 &digest);
    sl_digest_print(&digest, hex);
    snprintf(wanted, sizeof wanted,
             "{\"a\": 1, \"chain\": {\"n\": 1, \"prev\": \"" ZEROS "\", \"hash\": \"%s\"}}\n", hex);
    SAME_TEXT("line", text_of(&line), wanted);
    assert_int_equal(next.n, 1);
    assert_string_equal(next.hash, hex);
    sl_buffer_release(&line);
}

CHAINED(what_was_written_is_read_again)
{
    struct sl_chain_head head = { .n = UINT64_C(99999999999) }, next;
    struct sl_buffer line = sl_buffer(1000);
    struct sl_chain_link link;
    char hex[SL_DIGEST_HEX + 1];
    memset(head.hash, 'a', SL_DIGEST_HEX);
    sl_buffer_add(&line, SL_TEXT("{\"a\": 1"));
    sl_chain_end_line(&line, hasher, &head, &next);
    line.len--;
    assert_true(sl_chain_read(text_of(&line), &link));
    assert_int_equal(link.n, UINT64_C(100000000000));
    assert_string_equal(link.prev, head.hash);
    assert_string_equal(link.hash, next.hash);
    assert_true(sl_chain_hash(text_of(&line), hasher, hex));
    assert_string_equal(hex, next.hash);
    line.at[2] = 'b';
    assert_true(sl_chain_hash(text_of(&line), hasher, hex));
    assert_string_not_equal(hex, next.hash);
    sl_buffer_release(&line);
}

CHAINED(nothing_else_is_a_line_of_the_chain)
{
    static const char *const rows[] = {
        "",
        "{}",
        "\"}}",
        ZEROS "\"}}",
        "{\"a\": 1, \"chain\": {\"n\": 1, \"prev\": \"" ZEROS "\"}}",
        "{\"a\": 1, \"chain\": {\"n\": 0, \"prev\": \"" ZEROS "\", \"hash\": \"" ZEROS "\"}}",
        "{\"a\": 1, \"chain\": {\"n\": 01, \"prev\": \"" ZEROS "\", \"hash\": \"" ZEROS "\"}}",
        "{\"a\": 1, \"chain\": {\"n\": -1, \"prev\": \"" ZEROS "\", \"hash\": \"" ZEROS "\"}}",
        "{\"a\": 1, \"chain\": {\"n\": , \"prev\": \"" ZEROS "\", \"hash\": \"" ZEROS "\"}}",
        "{\"a\": 1, \"chain\": {\"n\": 99999999999999999999, \"prev\": \"" ZEROS
        "\", \"hash\": \"" ZEROS "\"}}",
        "{\"a\": 1, \"chain\": {\"n\": 1, \"prev\": \"A" ZEROS "\", \"hash\": \"" ZEROS "\"}}",
        "{\"a\": 1, \"chain\": {\"n\": 1, \"prev\": \"" ZEROS "\", \"hash\": \"" ZEROS "\"}} ",
        "{\"a\": 1, \"link\": {\"n\": 1, \"prev\": \"" ZEROS "\", \"hash\": \"" ZEROS "\"}}",
    };
    struct sl_chain_link link;
    for (size_t i = 0; i < COUNT(rows); i++)
        SAME(rows[i], sl_chain_read(sl_text(rows[i]), &link), false);
}
