/* Readers of the file's values, one for each type.
 *
 * Each reader takes a node and writes one value. It returns false, and leaves
 * *out alone, after reporting the fault and the cure; a broken node is refused
 * without a message, because it was reported already.
 *
 * All have one signature, so that a key's row can name its reader: `shape` is what
 * the reader needs to know (a range, a list of words), `out` the field it fills. */
#ifndef SL_RULES_TREE_READ_H
#define SL_RULES_TREE_READ_H

#include <stddef.h>

#include "base/text/number.h"
#include "rules/tree/tree.h"

struct sl_overlay;

struct sl_reader {
    struct sl_arena *arena;   /* for results */
    struct sl_arena *scratch; /* for what only the reading needs */
    struct sl_report *report;
    struct sluice_text folder; /* of the file, with its last slash; paths are relative to it */
    const struct sl_overlay *overlay; /* the overlay on top of the file; NULL: none */
};

typedef bool sl_reading(struct sl_reader *in, const struct sl_node *node, const void *shape,
                        void *out);

/* Reports "`capacity` cannot be `ten`; write a whole number of at least 1". `right`
 * completes "write …". Always returns false. */
__attribute__((format(printf, 3, 4))) bool
sl_refuse(struct sl_reader *in, const struct sl_node *node, const char *right, ...);

struct sl_range {
    uint64_t min;
    uint64_t max;
};
sl_reading sl_read_u32; /* shape: struct sl_range; out: uint32_t */
sl_reading sl_read_u64;

/* Bounds in billionths, which every decimal has a whole number of. */
struct sl_decimal_range {
    uint64_t min;
    uint64_t max;
    const char *words; /* "a decimal from 0 to 1" */
};
sl_reading sl_read_decimal;    /* shape: struct sl_decimal_range; out: struct sl_decimal */
sl_reading sl_read_billionths; /* the same; out: int64_t */

struct sl_duration_range {
    int64_t min_us;
    int64_t max_us;
    const char *words; /* "from 1ms to 366d" */
};
sl_reading sl_read_duration; /* shape: struct sl_duration_range; out: int64_t, µs */

sl_reading sl_read_bool; /* out: bool */
sl_reading sl_read_word; /* shape: words ended by NULL; out: uint32_t, which of them */
sl_reading sl_read_set;  /* a list of such words; out: uint32_t, bit i: word i is in it */

/* Texts are not empty and hold no control characters; numbers and booleans are
 * texts too. Copies are terminated and live in in->arena. */
sl_reading sl_read_span; /* out: struct sluice_text */
sl_reading sl_read_text; /* out: const char * */
sl_reading sl_read_path; /* out: const char *, joined to the folder if relative */

/* A list, or one element without the brackets: the reader of an element, and the two
 * fields of *out for their place (in in->arena) and number. */
struct sl_each {
    sl_reading *read;
    const void *shape;
    size_t size_bytes; /* of one element */
    size_t at_offset;
    size_t count_offset;
};
sl_reading sl_read_each; /* shape: struct sl_each; out: the struct with the two fields */

/* For a shape: elements read by `reader` into owner.at and owner.count. */
#define SL_EACH(reader, owner, at, count)                                                          \
    {                                                                                              \
        .read = (reader), .size_bytes = sizeof *((owner *)0)->at,                                  \
        .at_offset = offsetof(owner, at), .count_offset = offsetof(owner, count)                   \
    }

/* Sets the two fields, for readers of lists that do more than read elements. */
void sl_each_put(const struct sl_each *each, void *out, const void *at, size_t count);

/* Returns the first element of a list, or the node that stands for a list; the others follow
 * through `next`, `count` in all. */
const struct sl_node *sl_elements(const struct sl_node *node, size_t *count);

/* Joins a path to the folder of the rules file; terminated, in `arena`. */
const char *sl_path_join(struct sl_arena *arena, struct sluice_text folder,
                         struct sluice_text path);

/* Joins words to a list: "`a`, `b` or `c`". */
const char *sl_words_join(struct sl_arena *arena, const char *const *words, const char *last);

#endif
