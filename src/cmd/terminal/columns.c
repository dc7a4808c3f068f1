/* Prints tables, and JSON values as cells. */
#include "cmd/terminal/columns.h"

#include <stdlib.h>

#include "base/buffer.h"
#include "base/check.h"
#include "base/text/time.h"
#include "cmd/terminal/printable.h"
#include "cmd/terminal/screen.h"

void sl_columns_init(struct sl_columns *table, const char *const *headings)
{
    *table = (struct sl_columns){ 0 };
    while (headings[table->columns])
        sl_columns_add(table, headings[table->columns++]);
    SL_CHECK(table->columns > 0 && table->columns <= SL_COLUMNS_MAX);
}

/* The old array stays in the arena: together they are as large as the last one. */
void sl_columns_add(struct sl_columns *table, const char *cell)
{
    if (table->count == table->room) {
        size_t room = table->room ? table->room * 2 : 64;
        const char **larger = sl_arena_take(&table->arena, room * sizeof *larger);
        if (table->count)
            memcpy(larger, table->cells, table->count * sizeof *larger);
        table->cells = larger;
        table->room = room;
    }
    table->cells[table->count++] = cell;
}

static void measure(const struct sl_columns *table, size_t widths[SL_COLUMNS_MAX])
{
    for (size_t i = 0; i < table->count; i++) {
        size_t width = sl_printable_width(sl_text(table->cells[i]));
        size_t *widest = &widths[i % table->columns];
        *widest = width > *widest ? width : *widest;
    }
}

void sl_columns_print(const struct sl_columns *table, FILE *out)
{
    size_t widths[SL_COLUMNS_MAX] = { 0 };
    bool colour = sl_screen_colour(out);
    measure(table, widths);
    for (size_t i = 0; i < table->count; i++) {
        size_t column = i % table->columns;
        size_t pad = widths[column] - sl_printable_width(sl_text(table->cells[i])) + 2;
        bool is_last = column == table->columns - 1;
        bool is_heading = i < table->columns;
        fprintf(out, "%s%s%s", colour && is_heading ? "\033[1m" : "", table->cells[i],
                colour && is_heading ? "\033[0m" : "");
        fprintf(out, "%*s%s", is_last ? 0 : (int)pad, "", is_last ? "\n" : "");
    }
}

void sl_columns_release(struct sl_columns *table)
{
    sl_arena_release(&table->arena);
    *table = (struct sl_columns){ 0 };
}

/* ---- cells ------------------------------------------------------------------- */

/* As few digits as say the same number. */
static const char *real_text(struct sl_arena *arena, double number)
{
    char text[32];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            break;
    }
    return sl_arena_copy(arena, sl_text(text));
}

static const char *list_text(struct sl_arena *arena, const json_t *list)
{
    struct sl_buffer all = sl_buffer(SIZE_MAX);
    for (size_t i = 0; i < json_array_size(list); i++) {
        sl_buffer_add(&all, i ? SL_TEXT(", ") : SL_TEXT(""));
        sl_buffer_add(&all, sl_text(sl_cell(arena, json_array_get(list, i))));
    }
    const char *text = sl_arena_copy(arena, (struct sluice_text){ all.at, all.len });
    sl_buffer_release(&all);
    return *text ? text : "-";
}

static const char *object_text(struct sl_arena *arena, const json_t *object)
{
    char *json = json_dumps(object, JSON_REAL_PRECISION(15));
    const char *text = sl_printable_copy(arena, sl_text(json));
    free(json);
    return text;
}

const char *sl_cell(struct sl_arena *arena, const json_t *value)
{
    switch (value ? json_typeof(value) : JSON_NULL) {
    case JSON_STRING:
        if (json_string_length(value) == 0)
            return "-";
        return sl_printable_copy(
            arena, (struct sluice_text){ json_string_value(value), json_string_length(value) });
    case JSON_INTEGER:
        return sl_arena_print(arena, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    case JSON_REAL:
        return real_text(arena, json_real_value(value));
    case JSON_TRUE:
        return "yes";
    case JSON_FALSE:
        return "no";
    case JSON_ARRAY:
        return list_text(arena, value);
    case JSON_OBJECT:
        return object_text(arena, value);
    case JSON_NULL:
        break;
    }
    return "-";
}

const char *sl_cell_of(struct sl_arena *arena, const json_t *object, const char *member)
{
    return sl_cell(arena, json_object_get(object, member));
}

const char *sl_cell_moment(struct sl_arena *arena, const json_t *value)
{
    char text[SL_TIME_SHORT_MAX];
    double real = json_real_value(value); /* 0 where it is none */
    if (real > -1e15 && real < 1e15 && json_is_number(value)) {
        int64_t seconds = json_is_integer(value) ? json_integer_value(value) : (int64_t)real;
        if (sl_time_print_short(text, seconds))
            return sl_arena_copy(arena, sl_text(text));
    }
    return sl_cell(arena, value);
}

const char *sl_member(const json_t *object, const char *member)
{
    return json_string_value(json_object_get(object, member));
}
