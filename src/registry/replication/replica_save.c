/* Saves a copy of the database before it gives way to the shared registry: a file beside it
 * (FILE.before-EPOCH-CHANGE).
 *
 * The copy is written under another name first, and renamed when it is whole and on disk: every
 * file with the final name is usable. */
#include "registry/replication/replica.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/error.h"
#include "registry/database.h"

#define PART ".part-" /* followed by the id of the writing process */

enum { FILES_SEEN_MAX = 256 };

/* ---- writing ---- */

static bool fail_copying(struct sl_registry *registry, const char *path, struct sluice_error *error)
{
    return sl_error_say(error, "the database %s cannot be copied to `%s`: %s", registry->name, path,
                        strerror(errno));
}

/* Readable by its owner alone, like the database. */
static bool write_part(struct sl_registry *registry, const char *part, struct sluice_error *error)
{
    int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail_copying(registry, part, error);
    char *sql = sqlite3_mprintf("VACUUM INTO %Q", part);
    bool good = sql || sl_error_say(error, "out of memory");
    if (sql && sqlite3_exec(registry->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        good = sl_database_say(registry, "copied", error);
    sqlite3_free(sql);
    if (good && fsync(fd) != 0)
        good = fail_copying(registry, part, error);
    close(fd);
    return good;
}

bool sl_replica_save(struct sl_registry *registry, const char *path, struct sluice_error *error)
{
    SL_CHECK(registry->db && *path && !registry->is_changing); /* VACUUM cannot run in one */
    struct sl_arena arena = { 0 };
    const char *part = sl_arena_print(&arena, "%s" PART "%ld", path, (long)getpid());
    unlink(part); /* left by an earlier process with this id */
    bool good = write_part(registry, part, error);
    if (good && rename(part, path) != 0)
        good = fail_copying(registry, path, error);
    if (!good)
        unlink(part);
    sl_arena_release(&arena);
    return good;
}

/* ---- deleting old files ---- */

struct file {
    const char *path;
    struct timespec at;
};

static int newest_first(const void *one, const void *other)
{
    const struct timespec a = ((const struct file *)one)->at, b = ((const struct file *)other)->at;
    if (a.tv_sec != b.tv_sec)
        return a.tv_sec < b.tv_sec ? 1 : -1;
    return (a.tv_nsec < b.tv_nsec) - (a.tv_nsec > b.tv_nsec);
}

/* Deletes an incomplete file whose process has ended. */
static void sweep_part(const char *path, const char *part)
{
    long pid = strtol(part + strlen(PART), NULL, 10);
    if (pid > 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH)
        unlink(path);
}

/* Finds the complete files, at most FILES_SEEN_MAX. */
static size_t find_saved(const char *database, struct sl_arena *arena, struct file *out)
{
    const char *slash = strrchr(database, '/'), *name = slash ? slash + 1 : database;
    size_t folder_len = (size_t)(name - database), name_len = strlen(name), count = 0;
    const char *start = sl_arena_print(arena, "%s" SL_SAVED_BEFORE, name);
    DIR *dir =
        opendir(slash ? sl_arena_copy(arena, (struct sluice_text){ database, folder_len }) : ".");
    const struct dirent *entry;
    while (dir && count < FILES_SEEN_MAX && (entry = readdir(dir))) {
        struct stat about;
        if (strncmp(entry->d_name, start, strlen(start)) != 0)
            continue;
        const char *path = sl_arena_print(arena, "%s%s", database, entry->d_name + name_len);
        const char *part = strstr(entry->d_name + name_len, PART);
        if (part)
            sweep_part(path, part);
        else if (stat(path, &about) == 0)
            out[count++] = (struct file){ path, about.st_mtim };
    }
    if (dir)
        closedir(dir);
    return count;
}

void sl_replica_leave_newest(const char *database, const char *newest)
{
    struct sl_arena arena = { 0 };
    struct file files[FILES_SEEN_MAX];
    size_t count = find_saved(database, &arena, files), kept = 1;
    SL_CHECK(count <= FILES_SEEN_MAX);
    qsort(files, count, sizeof *files, newest_first);
    for (size_t i = 0; i < count; i++)
        if (strcmp(files[i].path, newest) != 0 && ++kept > SL_SAVED_MAX)
            unlink(files[i].path);
    sl_arena_release(&arena);
}
