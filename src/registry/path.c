/* The path of the database: as the rules file names it, else one of the rules file's own. */
#include "registry/path.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

/* A file that cannot be looked at counts as present: opening it then says why, where using
 * another database instead would drop the operator's limits silently. */
static bool is_absent(const char *path)
{
    struct stat found;
    return stat(path, &found) != 0 && errno == ENOENT;
}

static int folder_len(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash ? (int)(slash - file) + 1 : 0;
}

/* systemd separates several folders by colons; the first is the service's own. */
static const char *default_path(const char *rules_file, struct sl_arena *arena)
{
    const char *state = getenv("STATE_DIRECTORY");
    if (!state || state[0] != '/')
        return sl_arena_print(arena, "%s.db", rules_file);
    return sl_arena_print(arena, "%.*s/%s.db", (int)strcspn(state, ":"), state,
                          rules_file + folder_len(rules_file));
}

/* As versions before named it. Rules files of one folder, or of one table, shared it. */
static const char *old_path(const struct sl_settings *settings, const char *rules_file,
                            struct sl_arena *arena)
{
    if (settings->store.kind == SL_STORE_MEMORY && settings->store.path)
        return sl_arena_print(arena, "%s.db", settings->store.path);
    return sl_arena_print(arena, "%.*ssluice.db", folder_len(rules_file), rules_file);
}

const char *sl_registry_path(const struct sl_settings *settings, const char *rules_file,
                             struct sl_arena *arena, const char **replaces)
{
    if (replaces)
        *replaces = NULL;
    if (settings->database)
        return sl_arena_copy(arena, sl_text(settings->database));
    if (!rules_file)
        return NULL;
    const char *path = default_path(rules_file, arena);
    const char *old = old_path(settings, rules_file, arena);
    if (!is_absent(path) || is_absent(old) || strcmp(path, old) == 0)
        return path;
    if (replaces)
        *replaces = path;
    return old;
}
