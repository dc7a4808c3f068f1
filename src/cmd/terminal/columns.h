/* Tables for people: cells are added row by row, and printed in columns as wide as they
 * need; and JSON values as cells. All texts are printable (printable.h) and live in the
 * table's arena. */
#ifndef SL_CMD_TERMINAL_COLUMNS_H
#define SL_CMD_TERMINAL_COLUMNS_H

#include <jansson.h>
#include <stdio.h>

#include "base/arena.h"

enum { SL_COLUMNS_MAX = 8 };

/* Opened with its headings; closed by sl_columns_release. */
struct sl_columns {
    struct sl_arena arena;
    const char **cells; /* the headings first */
    size_t count;
    size_t room;
    size_t columns;
};

/* `headings` ends with NULL and has at most SL_COLUMNS_MAX. */
void sl_columns_init(struct sl_columns *table, const char *const *headings);
void sl_columns_add(struct sl_columns *table, const char *cell);
/* Prints the headings alone if there is no row. */
void sl_columns_print(const struct sl_columns *table, FILE *out);
void sl_columns_release(struct sl_columns *table);

/* Returns a value as a cell: null, missing and "" are "-", booleans yes and no, lists
 * a, b, c; objects are JSON. */
const char *sl_cell(struct sl_arena *arena, const json_t *value);
/* The same for an object's member; the object may be NULL or another value. */
const char *sl_cell_of(struct sl_arena *arena, const json_t *object, const char *member);
/* Returns seconds since 1970 as "2026-12-01 00:00:00 UTC"; any other value as sl_cell. */
const char *sl_cell_moment(struct sl_arena *arena, const json_t *value);

/* Returns the string as it is, or NULL: for comparisons, not for printing. */
const char *sl_member(const json_t *object, const char *member);

#endif
