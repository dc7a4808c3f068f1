/* An arena: memory that is released all at once, such as all that a rules file is
 * read into. A zeroed struct is an empty arena. */
#ifndef SL_BASE_ARENA_H
#define SL_BASE_ARENA_H

#include <stdarg.h>

#include "base/text.h"

struct sl_arena {
    struct sl_arena_block *newest;
};

/* Returns zeroed memory, aligned for any type. Ends the program if there is none
 * left: only files of bounded size are read into arenas. */
void *sl_arena_take(struct sl_arena *arena, size_t size_bytes);

/* A terminated copy. */
char *sl_arena_copy(struct sl_arena *arena, struct sluice_text text);

/* A terminated, formatted string. */
__attribute__((format(printf, 2, 3))) char *sl_arena_print(struct sl_arena *arena,
                                                           const char *format, ...);
__attribute__((format(printf, 2, 0))) char *sl_arena_vprint(struct sl_arena *arena,
                                                            const char *format, va_list arguments);

void sl_arena_release(struct sl_arena *arena);

#endif
