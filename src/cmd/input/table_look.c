/* Opens a shared table to look at its figures. */
#include "cmd/input/table_look.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "store/store.h"
#include "store/table/table.h"

struct sl_store *sl_table_look_open(const char *file, struct sluice_error *error)
{
    struct stat status;
    *error = (struct sluice_error){ 0 };
    /* Opening a table that does not exist would create it. */
    if (stat(file, &status) != 0) {
        if (errno == ENOENT)
            sl_error_say(error, "there is no table `%s`; the first to use `memory:%s` creates it",
                         file, file);
        else
            sl_error_say(error, "cannot open the table `%s`: %s", file, strerror(errno));
        return NULL;
    }
    return sl_memory_open(
        &(struct sl_memory_config){
            .path = file,
            .log_bytes = SL_LOG_DEFAULT,
            .sync_us = SL_SYNC_OFF,
        },
        error);
}

void sl_table_look_close(struct sl_store *store)
{
    sl_store_close(store);
}

/* The file has been accepted as a table. */
static bool read_birth(const char *file, int64_t *out_us, struct sluice_error *error)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && pread(fd, out_us, sizeof *out_us,
                                 offsetof(struct sl_header, created_at_us)) == sizeof *out_us;
    if (!good)
        sl_error_say(error, "cannot read the table `%s`: %s", file, strerror(errno));
    if (fd >= 0)
        close(fd);
    return good;
}

bool sl_table_look_now(struct sl_store *store, const char *file, struct sl_table_figures *out,
                       struct sluice_error *error)
{
    struct sl_bundle nobody = { .now_us = -1, .peek = true, .max_delay_us = -1 };
    struct sl_table_figures figures = { 0 };
    if (!read_birth(file, &figures.created_at_us, error))
        return false;
    store->ops->measure(store, &figures.stats);
    sl_store_decide(store, &nobody);
    figures.now_us = nobody.now_us + nobody.wall_shift_us;
    *out = figures;
    return true;
}
