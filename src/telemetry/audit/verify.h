/* Checks that the chain of an audit log is whole. Its lines are given one after the other, from the
 * oldest. */
#ifndef SL_TELEMETRY_AUDIT_VERIFY_H
#define SL_TELEMETRY_AUDIT_VERIFY_H

#include "telemetry/audit/chain.h"

enum { SL_VERIFY_WANTED_MAX = 2 };

struct sl_verify {
    struct sl_sha256 *hasher;
    struct sl_chain_head last; /* line of the chain so far; n 0: none */
    uint64_t first;            /* its first line's n */
    uint64_t chained, others;  /* lines */

    /* Hashes that must be among the lines: of a head, or noted by the operator. */
    struct sl_verify_wanted {
        char hash[SL_DIGEST_HEX + 1];
        bool is_seen;
    } wanted[SL_VERIFY_WANTED_MAX];
    size_t wanted_count;
    char wrong[256]; /* the message about a line */
};

void sl_verify_init(struct sl_verify *verify, struct sl_sha256 *hasher);
/* Adds a wanted hash; returns its place. */
size_t sl_verify_want(struct sl_verify *verify, const char hash[SL_DIGEST_HEX + 1]);

/* Checks a line without its newline. Returns the fault, good until the next call; NULL: none. */
const char *sl_verify_line(struct sl_verify *verify, struct sluice_text line);

#endif
