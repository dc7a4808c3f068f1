/* The database's file, as other programs see it. */
#ifndef TEST_REGISTRY_DATABASE_FILE_H
#define TEST_REGISTRY_DATABASE_FILE_H

#include <fcntl.h>
#include <sys/stat.h>

#include "unit/registry/on_registry.h"

static inline struct sl_registry *open_at(const char *at, bool read_only)
{
    return sl_registry_open(at, read_only, &error);
}

static inline void make_one(void)
{
    struct sl_registry *registry = open_registry();
    put_rule(registry, "api", "{}");
    sl_registry_close(registry);
}

/* Runs SQL on the file, as any other program would. */
static inline void run_sql(const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_close(db);
}

static inline off_t size_of(const char *at)
{
    struct stat found;
    return stat(at, &found) == 0 ? found.st_size : -1;
}

static inline uint8_t *read_all(size_t *len)
{
    off_t size = size_of(path);
    *len = size > 0 ? (size_t)size : 0;
    uint8_t *bytes = malloc(*len + 1);
    int fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, bytes, *len), *len);
    close(fd);
    return bytes;
}

static inline void write_all(const uint8_t *bytes, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, bytes, len), len);
    close(fd);
}

#endif
