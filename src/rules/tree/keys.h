/* The keys of the file: one row each, from which come the reader, the checks for
 * unknown keys and the printed list. */
#ifndef SL_RULES_TREE_KEYS_H
#define SL_RULES_TREE_KEYS_H

#include "rules/tree/read.h"

struct sl_key_table;

/* `missing` is what the file means where the key is not written. `standard` is
 * such a value as text and read as if it had been; where no value is read,
 * `missing` says it in words. */
struct sl_key {
    const char *name;
    sl_reading *read;
    size_t offset;                    /* of the field it fills, in the struct of the table */
    const void *shape;                /* for `read`; where null, it is given `below` */
    const struct sl_key_table *below; /* the keys inside the value */
    const char *below_by;             /* how they are reached: NULL ".", else ".TIER." or "[]." */
    const char *standard;
    const char *missing;
    bool required;
    enum sl_node_kind empty; /* the kind that is read where the key is not written; 0: none */
    bool is_numeric;         /* a number, unless it is a word */
    const char *help;
};

struct sl_key_table {
    const char *what;          /* "a rule" */
    const struct sl_key *keys; /* ended by a row without a name */
};

/* Reads a map by its table (the shape) into the struct that the table is for.
 * Keys are read in the order of the table, whatever that of the file, so that a
 * row may rely on those before it. A table whose key is not written is read as
 * an empty map: its standards apply. */
sl_reading sl_read_keys;

/* Every key of the table, and those below it, with its default and what it does. */
void sl_keys_print(FILE *out, const struct sl_key_table *table);

#endif
