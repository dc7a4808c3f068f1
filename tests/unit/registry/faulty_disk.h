/* A disk that fails, or a process that dies, at the n-th time that SQLite writes, syncs, cuts,
 * deletes or maps a file: the real one with these functions put before its own. */
#ifndef TEST_REGISTRY_FAULTY_DISK_H
#define TEST_REGISTRY_FAULTY_DISK_H

#include <signal.h>
#include <sqlite3.h>
#include <unistd.h>

#include "unit/base/unit.h"

static struct {
    int count; /* of such calls so far */
    int at;    /* the first that fails; 0: none */
    int until; /* the first that works again; 0: the next */
    int code;  /* how they fail; 0: the process is killed instead */
} disk;

static sqlite3_vfs *real_disk;
static struct {
    const sqlite3_io_methods *real;
    sqlite3_io_methods faulty;
} kinds_of_file[8];

static inline const sqlite3_io_methods *real_methods(sqlite3_file *file)
{
    for (size_t i = 0; i < COUNT(kinds_of_file); i++)
        if (file->pMethods == &kinds_of_file[i].faulty)
            return kinds_of_file[i].real;
    abort();
}

/* 0: go on. */
static inline int disk_turn(void)
{
    disk.count++;
    if (!disk.at || disk.count < disk.at || disk.count >= (disk.until ? disk.until : disk.at + 1))
        return SQLITE_OK;
    if (disk.code == 0)
        kill(getpid(), SIGKILL);
    return disk.code;
}

static inline int faulty_write(sqlite3_file *file, const void *bytes, int len, sqlite3_int64 at)
{
    /* Half of it gets there. */
    int code = disk_turn();
    if (code != SQLITE_OK) {
        real_methods(file)->xWrite(file, bytes, len / 2, at);
        return code;
    }
    return real_methods(file)->xWrite(file, bytes, len, at);
}

/* Nothing waits for the disk: what a process has written outlives it as it is. */
static inline int faulty_sync(sqlite3_file *file, int flags)
{
    (void)file;
    (void)flags;
    return disk_turn();
}

static inline int faulty_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    int code = disk_turn();
    return code ? code : real_methods(file)->xTruncate(file, size);
}

static inline int faulty_map(sqlite3_file *file, int region, int size, int extend,
                             void volatile **out)
{
    int code = disk_turn();
    if (code)
        *out = NULL;
    return code ? code : real_methods(file)->xShmMap(file, region, size, extend, out);
}

static inline int faulty_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    (void)vfs;
    int code = disk_turn();
    return code ? code : real_disk->xDelete(real_disk, name, sync);
}

static inline int faulty_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                              int *out)
{
    (void)vfs;
    int code = real_disk->xOpen(real_disk, name, file, flags, out);
    if (code != SQLITE_OK || !file->pMethods)
        return code;
    size_t kind = 0;
    while (kinds_of_file[kind].real && kinds_of_file[kind].real != file->pMethods)
        if (++kind == COUNT(kinds_of_file))
            abort();
    if (!kinds_of_file[kind].real) {
        kinds_of_file[kind].real = file->pMethods;
        kinds_of_file[kind].faulty = *file->pMethods;
        kinds_of_file[kind].faulty.xWrite = faulty_write;
        kinds_of_file[kind].faulty.xSync = faulty_sync;
        kinds_of_file[kind].faulty.xTruncate = faulty_truncate;
        if (file->pMethods->xShmMap)
            kinds_of_file[kind].faulty.xShmMap = faulty_map;
    }
    file->pMethods = &kinds_of_file[kind].faulty;
    return code;
}

/* From now on every file that this process opens lies on it. */
static inline void use_faulty_disk(void)
{
    static sqlite3_vfs faulty;
    real_disk = sqlite3_vfs_find(NULL);
    faulty = *real_disk;
    faulty.zName = "faulty";
    faulty.xOpen = faulty_open;
    faulty.xDelete = faulty_delete;
    faulty.pNext = NULL;
    if (sqlite3_vfs_register(&faulty, 1) != SQLITE_OK)
        abort();
}

#endif
