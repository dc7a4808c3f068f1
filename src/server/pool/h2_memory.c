/* The pool of nghttp2's memory: see h2_memory.h. */
#include "server/pool/h2_memory.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEP_BYTES = 64, /* from one size to the next */
    LARGEST_BYTES = SL_H2_MEMORY_SIZES * STEP_BYTES,
#ifdef __SANITIZE_ADDRESS__
    KEPT_MAX = 1, /* the sanitizer could not see a piece used after it was freed */
#else
    KEPT_MAX = 1024, /* of each size: 1 MiB of the largest, 8.5 MiB in all */
#endif
};

struct sl_h2_piece {
    size_t room; /* after the header */
    union {
        struct sl_h2_piece *next; /* while it is free */
        max_align_t align;
    } own;
};

static struct sl_h2_piece *piece_of(void *at)
{
    return (struct sl_h2_piece *)(void *)((char *)at - offsetof(struct sl_h2_piece, own));
}

static size_t list_of(size_t bytes)
{
    return bytes == 0 ? 0 : (bytes - 1) / STEP_BYTES;
}

static void *take_piece(size_t bytes, void *about)
{
    struct sl_h2_memory *memory = about;
    size_t list = list_of(bytes), room = bytes;
    if (bytes > SIZE_MAX - LARGEST_BYTES)
        return NULL;
    if (bytes <= LARGEST_BYTES) {
        struct sl_h2_piece *kept = memory->free[list];
        if (kept) {
            memory->free[list] = kept->own.next;
            memory->free_count[list]--;
            return &kept->own;
        }
        room = (list + 1) * STEP_BYTES;
    }
    struct sl_h2_piece *made = malloc(offsetof(struct sl_h2_piece, own) + room);
    if (!made)
        return NULL;
    made->room = room;
    return &made->own;
}

static void give_piece(void *at, void *about)
{
    struct sl_h2_memory *memory = about;
    if (!at)
        return;
    struct sl_h2_piece *piece = piece_of(at);
    size_t list = list_of(piece->room);
    if (piece->room > LARGEST_BYTES || memory->free_count[list] >= KEPT_MAX) {
        free(piece);
        return;
    }
    piece->own.next = memory->free[list];
    memory->free[list] = piece;
    memory->free_count[list]++;
}

static void *take_zeroed(size_t count, size_t size, void *about)
{
    if (size && count > SIZE_MAX / size)
        return NULL;
    void *at = take_piece(count * size, about);
    return at ? memset(at, 0, count * size) : NULL;
}

static void *resize(void *at, size_t bytes, void *about)
{
    if (!at)
        return take_piece(bytes, about);
    size_t room = piece_of(at)->room;
    if (bytes <= room)
        return at;
    void *larger = take_piece(bytes, about);
    if (!larger)
        return NULL;
    memcpy(larger, at, room);
    give_piece(at, about);
    return larger;
}

nghttp2_mem sl_h2_memory(struct sl_h2_memory *memory)
{
    return (nghttp2_mem){ memory, take_piece, give_piece, take_zeroed, resize };
}

void sl_h2_memory_release(struct sl_h2_memory *memory)
{
    for (size_t i = 0; i < SL_H2_MEMORY_SIZES; i++) {
        for (struct sl_h2_piece *piece = memory->free[i], *next; piece; piece = next) {
            next = piece->own.next;
            free(piece);
        }
        memory->free[i] = NULL;
        memory->free_count[i] = 0;
    }
}
