/* Watching files for changes, by stat(2), about four times a second.
 *
 * Why not inotify? It tells what happened to an inode or in a folder: a file
 * behind symlinks that are swapped (Kubernetes), on a network or in an overlay
 * needs watches on every folder of the path, and a stat of the file after all.
 * A few stats a second of a handful of files cost nothing and see all of that.
 *
 * A file that is written in place (an editor, `cp`) is cut to nothing first and then filled: it is
 * reported once it was the same in two looks one after the other. A missing file is being replaced:
 * that is no change until it is back. But then it is one, even if it is the same as before: the
 * other files may have been read without it meanwhile. */
#ifndef SL_SERVER_EDITION_FILE_WATCH_H
#define SL_SERVER_EDITION_FILE_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SL_WATCH_MAX = 128 };

/* A file's state at one look. */
struct sl_watch_look {
    bool there;
    uint64_t device, inode;
    int64_t size_bytes, written_ns, changed_ns;
};

/* Zero is a set without files. The paths are copied. For one thread. */
struct sl_watch {
    struct {
        char *path;
        struct sl_watch_look accepted, last;
    } files[SL_WATCH_MAX];
    size_t count;
};

void sl_watch_release(struct sl_watch *watch);

/* Adds a path; the file as it is now counts as known. NULL is ignored. Returns false without
 * memory, or if there are SL_WATCH_MAX paths already. */
bool sl_watch_add(struct sl_watch *watch, const char *path);

/* Takes a look. Returns true once for each change: if a file differs from its known state and is at
 * rest. The new state is known then. */
bool sl_watch_changed(struct sl_watch *watch);

/* The files as they are now count as known. To be called just before the files are read, never
 * after: a change in between must be seen. */
void sl_watch_accept(struct sl_watch *watch);

#endif
