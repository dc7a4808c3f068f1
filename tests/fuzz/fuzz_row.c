/* Any bytes as a row of the shared registry: its name up to the first line's end, then its value.
 *
 *   what is a name, printed, is a name again, of the same parts;
 *   what is a row, printed, is that row again, and printed once more the same text. */
#include <stdlib.h>

#include "base/check.h"
#include "registry/row.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static struct sluice_text text_of(const struct sl_buffer *buffer)
{
    return (struct sluice_text){ buffer->at ? buffer->at : "", buffer->len };
}

static bool are_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void check_name(const struct sl_row_name *name, struct sl_arena *arena)
{
    struct sl_buffer out = sl_buffer(1 << 20);
    struct sl_row_name again;
    sl_row_name_print(&out, name);
    bool good = sl_row_name_parse(text_of(&out), arena, &again);
    SL_CHECK(good && again.kind == name->kind);
    SL_CHECK(are_same(again.first, name->first) && are_same(again.second, name->second));
    sl_buffer_release(&out);
}

static void check_row(struct sluice_text name, const struct sl_row *row, struct sl_arena *arena)
{
    struct sl_buffer first = sl_buffer(8 << 20), second = sl_buffer(8 << 20);
    struct sluice_error error;
    struct sl_row again;
    sl_row_print(&first, row);
    bool good = sl_row_parse(name, text_of(&first), arena, &again, &error);
    SL_CHECK(good && again.change == row->change && again.is_gone == row->is_gone);
    SL_CHECK(are_same(again.json, row->json) && are_same(again.limits, row->limits));
    sl_row_print(&second, &again);
    SL_CHECK(sl_text_equal(text_of(&first), text_of(&second)));
    sl_buffer_release(&first);
    sl_buffer_release(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct sl_arena arena = { 0 };
    struct sluice_error error;
    struct sl_row row;
    char *copy = malloc(len ? len : 1); /* exactly as long: reading further is seen */
    SL_CHECK(copy != NULL);
    if (len)
        memcpy(copy, bytes, len);
    const char *end = len ? memchr(copy, '\n', len) : NULL;
    struct sluice_text name = { copy, end ? (size_t)(end - copy) : len };
    struct sluice_text value = { copy + name.len + (end != NULL), len - name.len - (end != NULL) };
    struct sl_row_name parsed;
    if (sl_row_name_parse(name, &arena, &parsed))
        check_name(&parsed, &arena);
    if (sl_row_parse(name, value, &arena, &row, &error))
        check_row(name, &row, &arena);
    sl_arena_release(&arena);
    free(copy);
    return 0;
}
