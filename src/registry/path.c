#include "registry/path.h"

const char *sl_registry_path(const struct sl_settings *settings, const char *rules_file,
                             struct sl_arena *arena)
{
    if (settings->database)
        return sl_arena_copy(arena, sl_text(settings->database));
    if (settings->store.kind == SL_STORE_MEMORY && settings->store.path)
        return sl_arena_print(arena, "%s.db", settings->store.path);
    if (!rules_file)
        return NULL;
    const char *slash = strrchr(rules_file, '/');
    int folder = slash ? (int)(slash - rules_file) + 1 : 0;
    return sl_arena_print(arena, "%.*ssluice.db", folder, rules_file);
}
