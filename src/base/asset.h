/* Embeds a file in the program: SL_ASSET(sl_asset_x, "src/…/x.json") defines
 * `struct sluice_text sl_asset_x(void)`.
 *
 * The assembler includes it from the folder that make runs in; the Makefile knows which
 * objects depend on which files. */
#ifndef SL_BASE_ASSET_H
#define SL_BASE_ASSET_H

#include "base/text.h"

#define SL_ASSET(name, path)                                                                       \
    __asm__(".pushsection .rodata\n"                                                               \
            ".local " #name "_start\n" #name "_start:\n"                                           \
            ".incbin \"" path "\"\n"                                                               \
            ".local " #name "_end\n" #name "_end:\n"                                               \
            ".popsection\n");                                                                      \
    __attribute__((visibility("hidden"))) extern const char name##_start[], name##_end[];          \
    struct sluice_text name(void)                                                                  \
    {                                                                                              \
        return (struct sluice_text){ name##_start, (size_t)(name##_end - name##_start) };          \
    }

#endif
