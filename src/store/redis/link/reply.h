/* Replies of Redis, parsed by hiredis and kept flat, without an object for each number.
 *
 * The elements of an array keep their order: whole numbers in `values`, texts in `texts`; a script
 * replies with one kind only. An array within another is a value that marks it. */
#ifndef SL_STORE_REDIS_LINK_REPLY_H
#define SL_STORE_REDIS_LINK_REPLY_H

#include "base/buffer.h"

#define SL_REPLY_ARRAY (INT64_MIN + 1) /* plus how many elements follow */

struct sl_redis_reply {
    bool is_error;  /* text 0 is the error's sentence */
    bool is_broken; /* longer than any reply we ask for, or no memory */
    int64_t *values;
    size_t value_count, value_room;
    struct sl_span {
        size_t at, len;
    } * texts;
    size_t text_count, text_room;
    struct sl_buffer bytes; /* of the texts */
};

/* Returns "" if there are fewer texts. Valid until the next reply. */
struct sluice_text sl_reply_text(const struct sl_redis_reply *reply, size_t number);

/* Turns a text of 64-bit numbers, the lowest byte first, into `values`: a script packs a reply
 * faster than it lists it. Leaves any other reply as it is. */
void sl_reply_unpack(struct sl_redis_reply *reply);

struct sl_reply_reader;

struct sl_reply_reader *sl_reply_reader_new(void); /* NULL: no memory */
void sl_reply_reader_free(struct sl_reply_reader *reader);

enum sl_read { SL_READ_MORE, SL_READ_REPLY, SL_READ_WRONG };

/* Feeds bytes as they came. Returns false if memory is missing, or a reply is too long. */
bool sl_reply_reader_feed(struct sl_reply_reader *reader, const char *at, size_t len);

/* Gives the next complete reply, valid until the next call. SL_READ_WRONG: this is not Redis'
 * protocol, or longer than any reply we ask for. */
enum sl_read sl_reply_reader_next(struct sl_reply_reader *reader, struct sl_redis_reply **out);

#endif
