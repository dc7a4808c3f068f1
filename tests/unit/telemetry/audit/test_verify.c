#include "telemetry/audit/verify.h"

#include "unit/base/unit.h"

enum { LINES = 6 };

static struct sl_sha256 *hasher;
static struct sl_verify verify;
static char lines[LINES][500]; /* of a whole chain */
static char hashes[LINES][SL_DIGEST_HEX + 1];

#define CHANGE "{\"event\": \"rate_limit_reset\", \"i\": \"%d\""
#define DENIAL "{\"event\": \"rate_limit_exceeded\"}"

static int set_up(void **unused)
{
    (void)unused;
    struct sl_chain_head head, next;
    hasher = sl_sha256_new();
    sl_chain_init(&head);
    for (int i = 0; i < LINES; i++) {
        struct sl_buffer line = sl_buffer(500);
        char start[100];
        snprintf(start, sizeof start, CHANGE, i);
        sl_buffer_add(&line, sl_text(start));
        sl_chain_end_line(&line, hasher, &head, &next);
        memcpy(lines[i], line.at, line.len - 1);
        lines[i][line.len - 1] = 0;
        memcpy(hashes[i], next.hash, sizeof next.hash);
        head = next;
        sl_buffer_release(&line);
    }
    sl_verify_init(&verify, hasher);
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    sl_sha256_free(hasher);
    return 0;
}

static void good(const char *line)
{
    const char *wrong = sl_verify_line(&verify, sl_text(line));
    if (wrong)
        fail_msg("%s: %s", line, wrong);
}

/* What is said has this in it. */
static void bad(const char *line, const char *part)
{
    const char *wrong = sl_verify_line(&verify, sl_text(line));
    assert_non_null(wrong);
    if (!strstr(wrong, part))
        fail_msg("%s: \"%s\", not \"%s\"", line, wrong, part);
}

#define VERIFIED(name) TEST_WITH(name, set_up, tear_down)

VERIFIED(a_whole_chain_with_other_lines_between_is_whole)
{
    for (int i = 0; i < LINES; i++) {
        good(lines[i]);
        good(DENIAL);
    }
    good("");
    assert_int_equal(verify.chained, LINES);
    assert_int_equal(verify.others, LINES);
    assert_int_equal(verify.first, 1);
    assert_int_equal(verify.last.n, LINES);
}

/* Every byte of a line, changed to each of two others. */
VERIFIED(a_line_that_was_edited_anywhere_is_found)
{
    for (size_t i = 0; lines[2][i]; i++)
        for (int bits = 1; bits <= 2; bits++) {
            char edited[500];
            int found = 0;
            memcpy(edited, lines[2], sizeof edited);
            edited[i] = (char)(edited[i] ^ bits);
            sl_verify_init(&verify, hasher);
            for (int j = 0; j < LINES; j++)
                found += sl_verify_line(&verify, sl_text(j == 2 ? edited : lines[j])) != NULL;
            if (!found)
                fail_msg("unseen: %s", edited);
        }
}

VERIFIED(a_line_that_was_taken_out_is_found)
{
    good(lines[0]);
    bad(lines[2], "n=2 before it is missing");
    bad(lines[5], "n=4 to 5 before it are missing");
}

VERIFIED(lines_that_were_swapped_or_doubled_are_found)
{
    good(lines[0]);
    bad(lines[2], "missing");
    bad(lines[1], "it was moved, or is there twice");
    bad(lines[3], "missing");
    bad(lines[3], "twice");
}

/* A forger that hashes a line again must hash all lines behind it. */
VERIFIED(a_line_that_was_replaced_with_a_right_hash_is_found_at_the_next)
{
    struct sl_chain_head head = { .n = 1 }, next;
    struct sl_buffer line = sl_buffer(500);
    memcpy(head.hash, hashes[0], sizeof head.hash);
    sl_buffer_add(&line, SL_TEXT("{\"event\": \"rate_limit_reset\", \"i\": \"forged\""));
    sl_chain_end_line(&line, hasher, &head, &next);
    good(lines[0]);
    line.len--;
    assert_null(sl_verify_line(&verify, (struct sluice_text){ line.at, line.len }));
    bad(lines[2], "one of them was replaced");
    sl_buffer_release(&line);
}

VERIFIED(another_first_line_is_found)
{
    struct sl_chain_head head = { .n = 0 }, next;
    struct sl_buffer line = sl_buffer(500);
    memset(head.hash, 'a', SL_DIGEST_HEX);
    sl_buffer_add(&line, SL_TEXT("{\"event\": \"rate_limit_reset\""));
    sl_chain_end_line(&line, hasher, &head, &next);
    line.at[line.len - 1] = 0;
    bad(line.at, "not zeros");
    sl_buffer_release(&line);
}

VERIFIED(it_may_begin_in_the_middle)
{
    good(lines[3]);
    good(lines[4]);
    assert_int_equal(verify.first, 4);
    bad(lines[2], "moved");
}

VERIFIED(foreign_lines_are_found)
{
    good(lines[0]);
    bad("{\"event\": \"rate_limit_config_updated\"}", "not in the chain");
    bad("{\"event\": \"rate_limit_whitelist_added\", \"x\": 1}", "not in the chain");
    bad("{\"event\": \"rate_limit_exceeded\", \"chain\": {}}", "not as it was written");
    bad("{\"chain\": 1}", "not as it was written");
    bad("rubbish", "no JSON object");
    bad("[1]", "no JSON object");
    bad("{\"a\": 1, \"a\": 2}", "no JSON object");
    bad("{\"half", "no JSON object");
    good("{\"event\": \"something of tomorrow\"}");
    good("{\"user\": \"a\\u0000b\"}");
    good(lines[1]);
}

VERIFIED(what_is_wanted_is_seen)
{
    sl_verify_want(&verify, hashes[1]);
    sl_verify_want(&verify, hashes[4]);
    good(lines[0]);
    assert_false(verify.wanted[0].is_seen);
    good(lines[1]);
    good(lines[2]);
    good(lines[3]);
    assert_true(verify.wanted[0].is_seen);
    assert_false(verify.wanted[1].is_seen);
}
