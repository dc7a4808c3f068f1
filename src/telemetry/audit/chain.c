/* Ending a line with its place in the chain, and reading that back. */
#include "telemetry/audit/chain.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text/number.h"

#define CHAIN ", \"chain\": {\"n\": "
#define PREV  ", \"prev\": \""
#define HASH  ", \"hash\": \""
#define END   "\"}}"

enum { N_MAX_DIGITS = 20 };

/* `, "hash": "…"}}` */
enum { HASH_BYTES = sizeof HASH - 1 + SL_DIGEST_HEX + sizeof END - 1 };

void sl_chain_init(struct sl_chain_head *head)
{
    head->n = 0;
    memset(head->hash, '0', SL_DIGEST_HEX);
    head->hash[SL_DIGEST_HEX] = '\0';
}

static void hash_text(struct sluice_text text, struct sl_sha256 *hasher,
                      char out[SL_DIGEST_HEX + 1])
{
    struct sl_digest digest;
    sl_sha256_of(hasher, text, &digest);
    sl_digest_print(&digest, out);
}

void sl_chain_end_line(struct sl_buffer *line, struct sl_sha256 *hasher,
                       const struct sl_chain_head *head, struct sl_chain_head *next)
{
    char end[SL_CHAIN_END_MAX_BYTES];
    snprintf(end, sizeof end, CHAIN "%" PRIu64 PREV "%s" END, head->n + 1, head->hash);
    sl_buffer_add(line, sl_text(end));
    next->n = head->n + 1;
    hash_text((struct sluice_text){ line->at, line->len }, hasher, next->hash);
    snprintf(end, sizeof end, HASH "%s" END "\n", next->hash);
    line->len -= line->failed ? 0 : 2; /* the braces */
    sl_buffer_add(line, sl_text(end));
}

/* ---- reading, from the end ---- */

/* Cuts the literal off the end of *line. */
static bool cut_literal(struct sluice_text *line, struct sluice_text literal)
{
    if (line->len < literal.len ||
        memcmp(line->at + line->len - literal.len, literal.at, literal.len) != 0)
        return false;
    line->len -= literal.len;
    return true;
}

static bool cut_hash(struct sluice_text *line, char out[SL_DIGEST_HEX + 1])
{
    if (line->len < SL_DIGEST_HEX)
        return false;
    line->len -= SL_DIGEST_HEX;
    for (size_t i = 0; i < SL_DIGEST_HEX; i++) {
        out[i] = line->at[line->len + i];
        if (sl_hex_digit(out[i]) < 0 || (out[i] >= 'A' && out[i] <= 'F'))
            return false;
    }
    out[SL_DIGEST_HEX] = '\0';
    return true;
}

/* Cuts off a number as it is printed: no sign, no zero before it. */
static bool cut_number(struct sluice_text *line, uint64_t *out)
{
    size_t digits = 0;
    while (digits < line->len && digits < N_MAX_DIGITS && line->at[line->len - digits - 1] >= '0' &&
           line->at[line->len - digits - 1] <= '9')
        digits++;
    line->len -= digits;
    struct sluice_text number = { line->at + line->len, digits };
    return digits > 0 && *number.at != '0' && sl_parse_u64(number, out);
}

bool sl_chain_read(struct sluice_text line, struct sl_chain_link *out)
{
    return cut_literal(&line, SL_TEXT(END)) && cut_hash(&line, out->hash) &&
           cut_literal(&line, SL_TEXT("\"" HASH)) && cut_hash(&line, out->prev) &&
           cut_literal(&line, SL_TEXT(PREV)) && cut_number(&line, &out->n) &&
           cut_literal(&line, SL_TEXT(CHAIN));
}

bool sl_chain_hash(struct sluice_text line, struct sl_sha256 *hasher, char out[SL_DIGEST_HEX + 1])
{
    struct sl_buffer without = sl_buffer(line.len);
    sl_buffer_add(&without, (struct sluice_text){ line.at, line.len - HASH_BYTES });
    sl_buffer_add(&without, SL_TEXT("}}"));
    bool good = !without.failed;
    if (good)
        hash_text((struct sluice_text){ without.at, without.len }, hasher, out);
    sl_buffer_release(&without);
    return good;
}
