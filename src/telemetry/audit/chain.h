/* The chain of audit lines: each carries the hash of the one before it and its own, so that an
 * edited, removed or moved line is found (`sluice audit verify`).
 *
 *   {…, "chain": {"n": 17, "prev": "HASH OF LINE 16", "hash": "…"}}
 *
 * `hash` is the SHA-256, in lowercase hex, of the line without its newline and without
 * `, "hash": "…"`: it covers `prev`, and by that everything before. The first line has n 1, and 64
 * zeros as `prev`. No I/O here. */
#ifndef SL_TELEMETRY_AUDIT_CHAIN_H
#define SL_TELEMETRY_AUDIT_CHAIN_H

#include "base/buffer.h"
#include "base/sha256.h"

enum { SL_CHAIN_END_MAX_BYTES = 256 }; /* by which a chained line is longer */

/* The last line so far: its number and hash. */
struct sl_chain_head {
    uint64_t n; /* 0: there is none yet */
    char hash[SL_DIGEST_HEX + 1];
};

void sl_chain_init(struct sl_chain_head *head);

/* Ends a line that lacks its last brace, with the chain's member and a newline. *next: the head
 * after it. */
void sl_chain_end_line(struct sl_buffer *line, struct sl_sha256 *hasher,
                       const struct sl_chain_head *head, struct sl_chain_head *next);

/* The chain's member of a line. */
struct sl_chain_link {
    uint64_t n;
    char prev[SL_DIGEST_HEX + 1];
    char hash[SL_DIGEST_HEX + 1];
};

/* Reads a line without its newline. Returns false if it does not end as a chained line does. */
bool sl_chain_read(struct sluice_text line, struct sl_chain_link *out);

/* Computes the hash that such a line should have. Returns false if there is no memory. */
bool sl_chain_hash(struct sluice_text line, struct sl_sha256 *hasher, char out[SL_DIGEST_HEX + 1]);

#endif
