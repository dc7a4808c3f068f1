/* Watching files: see file_watch.h. */
#include "server/edition/file_watch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int64_t ns_of(struct timespec at)
{
    return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

/* Follows symlinks, as open() does. */
static struct sl_watch_look look_at(const char *path)
{
    struct stat found;
    if (stat(path, &found) != 0)
        return (struct sl_watch_look){ 0 };
    return (struct sl_watch_look){
        .there = true,
        .device = found.st_dev,
        .inode = found.st_ino,
        .size_bytes = found.st_size,
        .written_ns = ns_of(found.st_mtim),
        .changed_ns = ns_of(found.st_ctim), /* `cp -p` copies the time of writing, not this one */
    };
}

static bool is_same(const struct sl_watch_look *a, const struct sl_watch_look *b)
{
    return a->there == b->there && a->device == b->device && a->inode == b->inode &&
           a->size_bytes == b->size_bytes && a->written_ns == b->written_ns &&
           a->changed_ns == b->changed_ns;
}

void sl_watch_release(struct sl_watch *watch)
{
    for (size_t i = 0; i < watch->count; i++)
        free(watch->files[i].path);
    *watch = (struct sl_watch){ 0 };
}

bool sl_watch_add(struct sl_watch *watch, const char *path)
{
    if (!path)
        return true;
    char *copy = watch->count < SL_WATCH_MAX ? strdup(path) : NULL;
    if (!copy)
        return false;
    watch->files[watch->count].path = copy;
    watch->files[watch->count++].accepted = look_at(copy);
    return true;
}

bool sl_watch_changed(struct sl_watch *watch)
{
    bool changed = false, moving = false;
    for (size_t i = 0; i < watch->count; i++) {
        struct sl_watch_look now = look_at(watch->files[i].path);
        moving = moving || !is_same(&now, &watch->files[i].last);
        changed = changed || (now.there && !is_same(&now, &watch->files[i].accepted));
        watch->files[i].last = now;
    }
    /* Files are read together, a certificate and its key: all must be at rest. */
    if (!changed || moving)
        return false;
    for (size_t i = 0; i < watch->count; i++)
        watch->files[i].accepted = watch->files[i].last;
    return true;
}

void sl_watch_accept(struct sl_watch *watch)
{
    for (size_t i = 0; i < watch->count; i++)
        watch->files[i].accepted = look_at(watch->files[i].path);
}
