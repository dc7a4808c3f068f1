/* Commands of the Redis protocol, read from bytes. RESP2 and RESP3 have the same:
 *
 *   *2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n     an array of bulk strings, which programs send
 *   ECHO "hi"\r\n                       a line, which people type; LF alone ends it too
 *
 * Strict where Redis is lax: a bulk string ends with CRLF, and a length is digits. Error
 * messages are those of Redis. No I/O, no allocation: arguments point into the bytes that
 * were read.
 *
 * A command may arrive in pieces of any size, and each byte is looked at a bounded number
 * of times: the next call skips the whole arguments of an array by their lengths. Once the
 * last argument is there, all are read once more, because the caller may have moved the
 * bytes meanwhile. */
#ifndef SL_WIRE_RESP_RESP_H
#define SL_WIRE_RESP_RESP_H

#include "base/text.h"

enum {
    SL_RESP_ARGS_MAX = 1024,
    SL_RESP_COMMAND_MAX_BYTES = 1 << 20, /* of an array, framing included */
    SL_RESP_INLINE_MAX_BYTES = 64 << 10, /* of a line */
    /* The same before a client has authenticated. */
    SL_RESP_STRANGER_ARGS_MAX = 10,
    SL_RESP_STRANGER_BULK_MAX_BYTES = 16 << 10,
    SL_RESP_WRONG_MAX_BYTES = 64,
};

/* How far a command has been read. A zeroed struct is at its start. */
struct sl_resp_reader {
    size_t at;      /* bytes that are not looked at again */
    size_t wanted;  /* least length of the command; 0: not known yet */
    uint32_t count; /* of an array's arguments; 0: its first line has not been read */
    uint32_t read;  /* of these, read so far */
    bool by_strangers;
};

struct sl_resp_command {
    size_t len;   /* of the command in bytes */
    size_t count; /* of its arguments, the name first; 0: it was empty, which is no error */
    struct sluice_text args[SL_RESP_ARGS_MAX];
    char wrong[SL_RESP_WRONG_MAX_BYTES]; /* "Protocol error: …"; empty: close without an answer */
};

enum sl_resp_end {
    SL_RESP_MORE,    /* the command is not complete */
    SL_RESP_COMMAND, /* *out */
    SL_RESP_WRONG,   /* out->wrong; the start of the next command cannot be found */
};

/* `bytes` are all that have arrived, from the command's first. The words of a line are unquoted in
 * place: a line can be read only once. After a command the reader is at the start again. */
enum sl_resp_end sl_resp_read(struct sl_resp_reader *reader, char *bytes, size_t len,
                              struct sl_resp_command *out);

/* Returns true if the command is a line and not an array. */
static inline bool sl_resp_is_inline(struct sluice_text bytes)
{
    return bytes.len && *bytes.at != '*';
}

/* Splits a line into words as Redis does: "a\x00b" and 'it\'s' in quotes, in place. Returns
 * false if the quotes are not balanced or there are too many words. */
bool sl_resp_split(char *line, size_t len, struct sl_resp_command *out); /* inline.c */

/* Compares a name or an option without case; `lower` is in lower case. */
bool sl_resp_word_is(struct sluice_text word, struct sluice_text lower);

#endif
