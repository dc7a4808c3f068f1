/* Replies of Redis, read by hiredis and kept flat: no object for each number.
 *
 * Of an array the elements are kept in their order, whole numbers in `values`, texts in `texts`;
 * what scripts answer is all of one kind. An array within another is a value that says so. */
#ifndef SL_STORE_REDIS_LINK_REPLY_H
#define SL_STORE_REDIS_LINK_REPLY_H

#include "base/buffer.h"

#define SL_REPLY_ARRAY (INT64_MIN + 1) /* and how many elements follow */

struct sl_redis_reply {
    bool is_error;  /* text 0 is Redis' sentence */
    bool is_broken; /* more than anybody asked for, or no memory */
    int64_t *values;
    size_t value_count, value_room;
    struct sl_span {
        size_t at, len;
    } * texts;
    size_t text_count, text_room;
    struct sl_buffer bytes; /* of the texts */
};

/* "": there are not so many. Good until the next reply. */
struct sluice_text sl_reply_text(const struct sl_redis_reply *reply, size_t number);

/* Turns a text of 64-bit numbers, the lowest byte first, into `values`: a script packs its reply
 * faster than it lists it. One that is no such text is left as it is. */
void sl_reply_unpack(struct sl_redis_reply *reply);

struct sl_reply_reader;

struct sl_reply_reader *sl_reply_reader_new(void); /* NULL: no memory */
void sl_reply_reader_free(struct sl_reply_reader *reader);

enum sl_read { SL_READ_MORE, SL_READ_REPLY, SL_READ_WRONG };

/* Bytes as they came; false: no memory, or a reply that is longer than any we ask for. */
bool sl_reply_reader_feed(struct sl_reply_reader *reader, const char *at, size_t len);

/* The next whole reply, good until the next call. SL_READ_WRONG: this is not Redis' protocol,
 * or more than we ever ask for. */
enum sl_read sl_reply_reader_next(struct sl_reply_reader *reader, struct sl_redis_reply **out);

#endif
