/* What gives way is kept: a copy of the database as a file beside it (FILE.before-EPOCH-CHANGE).
 *
 * It is written under another name first, and gets its own when it is whole and on disk: whoever
 * finds one can use it. */
#include "registry/replication/replica.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "registry/database.h"

#define PART ".part-" /* and whose it is */

enum { FILES_SEEN_MAX = 256 };

/* ---- writing ---- */

static bool say(struct sl_registry *registry, const char *path, struct sluice_error *error)
{
    return sl_error_say(error, "the database %s cannot be copied to `%s`: %s", registry->name, path,
                        strerror(errno));
}

/* Nobody else's to read, as the file itself. */
static bool write_part(struct sl_registry *registry, const char *part, struct sluice_error *error)
{
    int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return say(registry, part, error);
    char *sql = sqlite3_mprintf("VACUUM INTO %Q", part);
    bool good = sql || sl_error_say(error, "out of memory");
    if (sql && sqlite3_exec(registry->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        good = sl_database_say(registry, "copied", error);
    sqlite3_free(sql);
    if (good && fsync(fd) != 0)
        good = say(registry, part, error);
    close(fd);
    return good;
}

bool sl_replica_save(struct sl_registry *registry, const char *path, struct sluice_error *error)
{
    struct sl_arena arena = { 0 };
    const char *part = sl_arena_print(&arena, "%s" PART "%ld", path, (long)getpid());
    unlink(part); /* of a process that had this number before */
    bool good = write_part(registry, part, error);
    if (good && rename(part, path) != 0)
        good = say(registry, path, error);
    if (!good)
        unlink(part);
    sl_arena_release(&arena);
    return good;
}

/* ---- only the newest stay ---- */

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

/* Half a file whose process is not there any more is of no use to anybody. */
static void sweep_part(const char *path, const char *part)
{
    long pid = strtol(part + strlen(PART), NULL, 10);
    if (pid > 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH)
        unlink(path);
}

/* Those that are whole, FILES_SEEN_MAX at the most. */
static size_t find(const char *database, struct sl_arena *arena, struct file *out)
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
    size_t count = find(database, &arena, files), kept = 1;
    qsort(files, count, sizeof *files, newest_first);
    for (size_t i = 0; i < count; i++)
        if (strcmp(files[i].path, newest) != 0 && ++kept > SL_SAVED_MAX)
            unlink(files[i].path);
    sl_arena_release(&arena);
}
