/* Any bytes as lines of an audit log that is verified, and as names in one that is written.
 *
 *   what is called a line of the chain has the form of one, byte for byte: printed anew from
 *   what was read, it is the same;
 *   a line that has the bytes in it as a text is one line of valid JSON, whatever they are, and
 *   is right where it stands; with any byte of it changed it is not. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "telemetry/audit/verify.h"
#include "wire/json/decision.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static struct sl_sha256 *hasher;

static void check_form(struct sluice_text line)
{
    struct sl_chain_link link;
    char end[400];
    if (!sl_chain_read(line, &link))
        return;
    int len =
        snprintf(end, sizeof end, ", \"chain\": {\"n\": %llu, \"prev\": \"%s\", \"hash\": \"%s\"}}",
                 (unsigned long long)link.n, link.prev, link.hash);
    SL_CHECK((size_t)len <= line.len);
    SL_CHECK(memcmp(line.at + line.len - len, end, (size_t)len) == 0);
}

static void verify_lines(struct sluice_text text)
{
    struct sl_verify verify;
    sl_verify_init(&verify, hasher);
    while (text.len) {
        const char *end = memchr(text.at, '\n', text.len);
        size_t len = end ? (size_t)(end - text.at) : text.len;
        check_form((struct sluice_text){ text.at, len });
        sl_verify_line(&verify, (struct sluice_text){ text.at, len });
        text.at += len + (end != NULL);
        text.len -= len + (end != NULL);
    }
}

static bool is_right(struct sluice_text line)
{
    struct sl_verify verify;
    sl_verify_init(&verify, hasher);
    return !sl_verify_line(&verify, line) && verify.chained == 1;
}

static void write_line(struct sluice_text name)
{
    struct sl_buffer line = sl_buffer(SIZE_MAX);
    struct sl_chain_head head, next;
    sl_chain_init(&head);
    sl_buffer_add(&line, SL_TEXT("{\"event\": \"rate_limit_reset\", \"user\": "));
    sl_json_print_string(&line, name);
    sl_chain_end_line(&line, hasher, &head, &next);
    SL_CHECK(!line.failed);
    SL_CHECK(memchr(line.at, '\n', line.len) == line.at + line.len - 1);
    struct sluice_text text = { line.at, line.len - 1 };
    SL_CHECK(is_right(text));
    size_t place = name.len ? (unsigned char)name.at[0] * 7919u % text.len : 0;
    line.at[place] = (char)(line.at[place] ^ 1);
    SL_CHECK(!is_right(text));
    sl_buffer_release(&line);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (!hasher)
        hasher = sl_sha256_new();
    SL_CHECK(hasher != NULL);
    /* Exactly as long: reading further, on either side, is seen. */
    char *copy = malloc(len ? len : 1);
    SL_CHECK(copy != NULL);
    if (len)
        memcpy(copy, bytes, len);
    verify_lines((struct sluice_text){ copy, len });
    write_line((struct sluice_text){ copy, len });
    free(copy);
    return 0;
}
