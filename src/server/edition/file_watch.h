/* Has a file changed? Asked about four times a second, answered by stat(2).
 *
 * Why not inotify? It tells what happened to an inode or in a folder: a file
 * behind symlinks that are swapped (Kubernetes), on a network or in an overlay
 * needs watches on every folder of the way, and a look at the file after all.
 * Some looks a second at a handful of files cost nothing and see all of that.
 *
 * A file that is written in place (an editor, `cp`) is cut to nothing first and
 * then filled: it is reported only once it was the same in two looks after each
 * other. One that is gone is being replaced: not a change until it is back; but
 * whoever read the others meanwhile had to do without it, so then it is one. */
#ifndef SL_SERVER_EDITION_FILE_WATCH_H
#define SL_SERVER_EDITION_FILE_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SL_WATCH_MAX = 128 };

/* What a file was at one look. */
struct sl_watch_look {
    bool there;
    uint64_t device, inode;
    int64_t size_bytes, written_ns, changed_ns;
};

/* Zero is a set without files. The paths are copied. Of one thread. */
struct sl_watch {
    struct {
        char *path;
        struct sl_watch_look accepted, last;
    } files[SL_WATCH_MAX];
    size_t count;
};

void sl_watch_release(struct sl_watch *watch);

/* What is there now is known. NULL is ignored. False: no memory, or SL_WATCH_MAX
 * paths are there already. */
bool sl_watch_add(struct sl_watch *watch, const char *path);

/* Takes a look. True if something differs from what was accepted and has come to
 * rest; that is accepted then, so it is said once. */
bool sl_watch_changed(struct sl_watch *watch);

/* What is there now is known. Just before the files are read, never after: what
 * changes in between must be seen as a change. */
void sl_watch_accept(struct sl_watch *watch);

#endif
