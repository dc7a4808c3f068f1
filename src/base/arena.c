/* A list of blocks, of which the newest is in use; it ends the program if memory runs out. */
#include "base/arena.h"

#include <stdio.h>

#include "base/check.h"

enum { BLOCK_BYTES = 16 * 1024, ALIGN_BYTES = 16 };

struct sl_arena_block {
    struct sl_arena_block *older;
    size_t used;
    size_t size;
    _Alignas(ALIGN_BYTES) char memory[];
};

static struct sl_arena_block *add_block(struct sl_arena *arena, size_t at_least)
{
    size_t size = at_least > BLOCK_BYTES ? at_least : BLOCK_BYTES;
    struct sl_arena_block *block = calloc(1, sizeof *block + size);
    SL_CHECK(block != NULL);
    block->size = size;
    block->older = arena->newest;
    arena->newest = block;
    return block;
}

void *sl_arena_take(struct sl_arena *arena, size_t size_bytes)
{
    size_t size = (size_bytes + ALIGN_BYTES - 1) & ~(size_t)(ALIGN_BYTES - 1);
    SL_CHECK(size >= size_bytes);
    struct sl_arena_block *block = arena->newest;
    if (!block || block->size - block->used < size)
        block = add_block(arena, size);
    void *memory = block->memory + block->used;
    block->used += size;
    return memory;
}

char *sl_arena_copy(struct sl_arena *arena, struct sluice_text text)
{
    char *copy = sl_arena_take(arena, text.len + 1);
    if (text.len)
        memcpy(copy, text.at, text.len);
    return copy;
}

char *sl_arena_vprint(struct sl_arena *arena, const char *format, va_list arguments)
{
    SL_CHECK(format != NULL);
    va_list again;
    va_copy(again, arguments);
    int len = vsnprintf(NULL, 0, format, again);
    va_end(again);
    SL_CHECK(len >= 0);
    char *text = sl_arena_take(arena, (size_t)len + 1);
    vsnprintf(text, (size_t)len + 1, format, arguments);
    return text;
}

char *sl_arena_print(struct sl_arena *arena, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = sl_arena_vprint(arena, format, arguments);
    va_end(arguments);
    return text;
}

void sl_arena_release(struct sl_arena *arena)
{
    struct sl_arena_block *block = arena->newest;
    while (block) {
        struct sl_arena_block *older = block->older;
        free(block);
        block = older;
    }
    arena->newest = NULL;
}
