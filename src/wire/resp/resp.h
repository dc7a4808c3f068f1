/* Commands of the Redis protocol, off bytes. RESP2 and RESP3 ask alike:
 *
 *   *2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n     an array of bulk strings, what programs send
 *   ECHO "hi"\r\n                       a line, what people type; LF alone ends it too
 *
 * Strict where Redis skips: a bulk string ends with CRLF, and a length is digits. What
 * is no command is told in Redis' own words. No I/O, no allocation: arguments point into
 * the bytes that were read.
 *
 * A command may come in any pieces, and each byte is looked at a bounded number of
 * times: of an array what is whole is skipped at the next call, by its length; when the
 * last argument is there all are walked over once more, because the bytes may have been
 * moved meanwhile. */
#ifndef SL_WIRE_RESP_RESP_H
#define SL_WIRE_RESP_RESP_H

#include "base/text.h"

enum {
    SL_RESP_ARGS_MAX = 1024,
    SL_RESP_COMMAND_MAX_BYTES = 1 << 20, /* of an array, framing included */
    SL_RESP_INLINE_MAX_BYTES = 64 << 10, /* of a line */
    /* The same for strangers, who have not said yet who they are. */
    SL_RESP_STRANGER_ARGS_MAX = 10,
    SL_RESP_STRANGER_BULK_MAX_BYTES = 16 << 10,
    SL_RESP_WRONG_MAX_BYTES = 64,
};

/* How far a command has been read. A zeroed struct is at its start. */
struct sl_resp_reader {
    size_t at;      /* bytes that are not looked at again */
    size_t wanted;  /* bytes that the command has at least; 0: that is not known */
    uint32_t count; /* of an array's arguments; 0: its first line is not whole */
    uint32_t read;  /* of these, that are whole */
    bool by_strangers;
};

struct sl_resp_command {
    size_t len;   /* bytes that it took */
    size_t count; /* of its arguments, the name first; 0: it was empty, which is no mistake */
    struct sluice_text args[SL_RESP_ARGS_MAX];
    char wrong[SL_RESP_WRONG_MAX_BYTES]; /* "Protocol error: …"; empty: nothing is said */
};

enum sl_resp_end {
    SL_RESP_MORE,    /* it is not whole */
    SL_RESP_COMMAND, /* *out */
    SL_RESP_WRONG,   /* out->wrong; where the next command begins is anybody's guess */
};

/* `bytes` are all there are so far, always from the command's first. The words of a line are
 * unquoted in place: it can be read once. Behind a command the reader is at the start again. */
enum sl_resp_end sl_resp_read(struct sl_resp_reader *reader, char *bytes, size_t len,
                              struct sl_resp_command *out);

/* Is it a line, and no array? */
static inline bool sl_resp_is_inline(struct sluice_text bytes)
{
    return bytes.len && *bytes.at != '*';
}

/* Splits a line into words as Redis does: "a\x00b" and 'it\'s' in quotes, in place. False: the
 * quotes are not balanced, or there are too many words. */
bool sl_resp_split(char *line, size_t len, struct sl_resp_command *out); /* inline.c */

/* Names and options compare without case. */
bool sl_resp_word_is(struct sluice_text word, struct sluice_text lower);

#endif
