/* The chain of a file: PATH.chain beside it holds the head, and who holds its lock may go on with
 * the chain. So several processes keep one chain in one file, and it goes on through rotation,
 * restarts and kills.
 *
 *   lock PATH.chain, read the head      another process may have moved it on
 *   write down what comes next          {"n": 16, "hash": …, "next": {"n": 17, "hash": …, "from":
 * 4711}} append the line to PATH, sync write the new head, unlock          {"n": 17, "hash": …}
 *
 * Killed in between, `next` is found by the next one, who looks whether that line is there, behind
 * byte `from`. PATH is opened for each line: whoever has moved it away meanwhile, the line is in
 * the newest file, and behind all lines of the older ones. */
#ifndef SL_TELEMETRY_AUDIT_HEAD_H
#define SL_TELEMETRY_AUDIT_HEAD_H

#include "telemetry/audit/chain.h"

/* What PATH.chain says. */
struct sl_chain_file {
    struct sl_chain_head head;
    bool has_next; /* a line was being written when it was last heard of */
    struct sl_chain_head next;
    int64_t next_from; /* byte of the file */
};

/* Reads PATH.chain, without a lock. 0, or an errno; EINVAL: it is none. */
int sl_chain_file_read(const char *path, struct sl_chain_file *out);

struct sl_chain {
    const char *path; /* of the lines; NULL: they are in no file, and the chain is this process's */
    char *head_path;  /* PATH.chain */
    struct sl_sha256 *hasher;
    struct sl_chain_head head; /* as last seen */
};

/* Reads the head; PATH.chain is made where there is none, of the last chained line of PATH. Copies
 * the path. False: error->text; closed already. */
bool sl_chain_open(struct sl_chain *chain, const char *path, struct sl_sha256 *hasher,
                   struct sluice_error *error);
void sl_chain_close(struct sl_chain *chain);

/* Ends the line, which lacks its last brace, and appends it to the file. False: error->text, and
 * the line is as it was. */
bool sl_chain_append(struct sl_chain *chain, struct sl_buffer *line, struct sluice_error *error);

#endif
