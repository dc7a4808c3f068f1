/* The assembler includes them as they are, from the folder that make runs in; the
 * Makefile knows that this file depends on them. */
#include "server/assets.h"

#define ASSET(name, path)                                                                          \
    __asm__(".pushsection .rodata\n"                                                               \
            ".local " #name "_start\n" #name "_start:\n"                                           \
            ".incbin \"" path "\"\n"                                                               \
            ".local " #name "_end\n" #name "_end:\n"                                               \
            ".popsection\n");                                                                      \
    extern const char name##_start[], name##_end[];                                                \
    struct sluice_text sl_asset_##name(void)                                                       \
    {                                                                                              \
        return (struct sluice_text){ name##_start, (size_t)(name##_end - name##_start) };          \
    }

ASSET(openapi, "src/server/openapi.json")
ASSET(default_rules, "examples/default.yaml")
