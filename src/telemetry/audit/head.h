/* The chain of an audit file, extended by several processes. PATH.chain beside the file holds the
 * head, and the process that holds its lock may extend the chain. So several processes keep one
 * chain in one file, and it goes on through rotation, restarts and kills.
 *
 *   lock PATH.chain, read the head      another process may have moved it on
 *   note the next line in it            {"n": 16, "hash": …,
 *                                        "next": {"n": 17, "hash": …, "from": 4711}}
 *   append the line to PATH, sync
 *   write the new head, unlock          {"n": 17, "hash": …}
 *
 * If a process is killed in between, the next one finds `next` and checks whether that line is in
 * the file, behind byte `from`. PATH is opened for each line: if it was moved away meanwhile, the
 * line is in the newest file, and behind all lines of the older ones. */
#ifndef SL_TELEMETRY_AUDIT_HEAD_H
#define SL_TELEMETRY_AUDIT_HEAD_H

#include "telemetry/audit/chain.h"

/* The content of PATH.chain. */
struct sl_chain_file {
    struct sl_chain_head head;
    bool has_next; /* a line was being written */
    struct sl_chain_head next;
    int64_t next_from; /* byte of the file */
};

/* Reads PATH.chain, without a lock. Returns 0 or an errno; EINVAL: it is not such a file. */
int sl_chain_file_read(const char *path, struct sl_chain_file *out);

struct sl_chain {
    const char *path; /* of the lines; NULL: no file, the chain is this process's alone */
    char *head_path;  /* PATH.chain */
    struct sl_sha256 *hasher;
    struct sl_chain_head head; /* as last read */
};

/* Reads the head; where there is no PATH.chain, makes it from the last chained line of PATH. Copies
 * the path. Returns false with error->text; it is closed already then. */
bool sl_chain_open(struct sl_chain *chain, const char *path, struct sl_sha256 *hasher,
                   struct sluice_error *error);
void sl_chain_close(struct sl_chain *chain);

/* Ends the line, which lacks its last brace, and appends it to the file. Returns false with
 * error->text; the line is unchanged then. */
bool sl_chain_append(struct sl_chain *chain, struct sl_buffer *line, struct sluice_error *error);

#endif
