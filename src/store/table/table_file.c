/* The table as a file.
 *
 * A new table is written completely under another name, and then linked: no
 * process ever opens half a table. If two processes create one at once, the second
 * link fails and that process opens the first one's file. An existing table is
 * used only if its header is consistent; its numbers are copied once. */
#include "store/table/table_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/error.h"
#include "store/table/reservation.h"

_Static_assert(sizeof(struct sl_header) <= SL_HEADER_BYTES, "the header is one page");
_Static_assert(offsetof(struct sl_header, clock) == 128, "as docs/table.md says");
_Static_assert(offsetof(struct sl_header, extents) == 256, "as docs/table.md says");
_Static_assert(offsetof(struct sl_header, stripes) == 1024, "as docs/table.md says");
_Static_assert(sizeof(struct sl_reservation) == 64, "as docs/table.md says");

enum { VERSION = 1, BYTE_ORDER_MARK = 0x01020304, LINES_MIN = 64 };
enum { LOG_SHARE = 20, RESERVATION_SHARE = 256, RESERVATIONS_MAX = 65536 };

#define READING_US  INT64_C(50)
#define STEP_MIN_US INT64_C(1000)

static const char magic[8] = { 'S', 'L', 'U', 'I', 'C', 'E', 'T', 'B' };

/* ---- layout -------------------------------------------------------------------- */

static uint64_t checksum_of(const struct sl_header *header)
{
    size_t len = offsetof(struct sl_header, checksum);
    return sl_hash64((struct sluice_text){ (const char *)header, len }, 0);
}

static uint64_t wanted_log_bytes(const struct sl_memory_config *config, uint64_t size_bytes)
{
    if (config->log_bytes != SL_LOG_DEFAULT)
        return config->log_bytes / 64 * 64;
    return size_bytes / (config->logs_wanted ? 2 : LOG_SHARE) / 64 * 64;
}

/* Returns true if the parts follow one another and fit into the file. */
static bool is_consistent(const struct sl_header *header)
{
    uint64_t size = header->size_bytes;
    uint64_t lines = header->line_count, records = header->reservation_count;
    if (size < SL_HEADER_BYTES || lines < LINES_MIN || lines > size / sizeof(struct sl_slot_line) ||
        records > RESERVATIONS_MAX || header->log_bytes > size)
        return false;
    uint64_t slots_end = SL_HEADER_BYTES + lines * sizeof(struct sl_slot_line);
    uint64_t records_end = slots_end + records * sizeof(struct sl_reservation);
    return header->reservations_at == slots_end && header->log_at == records_end &&
           records_end <= size && header->log_bytes <= size - records_end &&
           header->log_bytes % 64 == 0;
}

/* Fills in everything that never changes again. */
static bool lay_out_header(const struct sl_memory_config *config, struct sl_header *header,
                           struct sluice_error *error)
{
    uint64_t size_bytes = config->size_bytes ? config->size_bytes : SL_MEMORY_SIZE_BYTES;
    size_bytes = size_bytes / SL_HEADER_BYTES * SL_HEADER_BYTES;
    uint64_t records = size_bytes / RESERVATION_SHARE / sizeof(struct sl_reservation);
    records = records < RESERVATIONS_MAX ? records : RESERVATIONS_MAX;
    uint64_t others = SL_HEADER_BYTES + records * sizeof(struct sl_reservation);
    uint64_t log_bytes = wanted_log_bytes(config, size_bytes);
    uint64_t least = others + LINES_MIN * sizeof(struct sl_slot_line);
    if (size_bytes < least || log_bytes > size_bytes - least)
        return sl_error_say(error, "a table of %llu bytes with %llu for logs has no room for slots",
                            (unsigned long long)size_bytes, (unsigned long long)log_bytes);
    memcpy(header->magic, magic, sizeof magic);
    header->version = VERSION;
    header->byte_order = BYTE_ORDER_MARK;
    header->size_bytes = size_bytes;
    header->line_count = (size_bytes - others - log_bytes) / sizeof(struct sl_slot_line);
    header->reservations_at = SL_HEADER_BYTES + header->line_count * sizeof(struct sl_slot_line);
    header->reservation_count = records;
    header->log_at = header->reservations_at + records * sizeof(struct sl_reservation);
    header->log_bytes = log_bytes;
    header->secret = sl_random64();
    header->created_at_us = sl_walltime_us();
    header->checksum = checksum_of(header);
    SL_CHECK(is_consistent(header));
    return true;
}

/* `header` is a private copy of the first bytes of a file of size_bytes. */
static bool check_header(const struct sl_header *header, const char *path, uint64_t size_bytes,
                         struct sluice_error *error)
{
    const char *again = "; remove it, or name another file";
    if (memcmp(header->magic, magic, sizeof magic) != 0)
        return sl_error_say(error, "`%s` is not a table of Sluice%s", path, again);
    if (header->byte_order != BYTE_ORDER_MARK)
        return sl_error_say(
            error, "the table `%s` was written by a machine of another byte order%s", path, again);
    if (header->version != VERSION)
        return sl_error_say(error, "the table `%s` has version %u, this program reads version %d%s",
                            path, header->version, VERSION, again);
    if (header->checksum != checksum_of(header) || !is_consistent(header))
        return sl_error_say(error, "the header of the table `%s` is damaged%s", path, again);
    if (header->size_bytes != size_bytes)
        return sl_error_say(
            error, "the table `%s` is damaged: it should have %llu bytes and has %llu%s", path,
            (unsigned long long)header->size_bytes, (unsigned long long)size_bytes, again);
    return true;
}

static void fill_in_table(struct sl_table *table, const struct sl_header *header, void *base)
{
    uint8_t *at = base;
    SL_CHECK(header->line_count >= LINES_MIN);
    SL_CHECK(header->log_at + header->log_bytes <= header->size_bytes);
    *table = (struct sl_table){
        .header = base,
        .slots = { .lines = (struct sl_slot_line *)(void *)(at + SL_HEADER_BYTES),
                   .line_count = header->line_count },
        .log = at + header->log_at,
        .log_bytes = header->log_bytes,
        .reservations = (struct sl_reservation *)(void *)(at + header->reservations_at),
        .reservation_count = header->reservation_count,
        .size_bytes = header->size_bytes,
        .secret = header->secret,
        .wall_seen_us = -SL_WALL_SEEN_US,
    };
}

/* ---- files --------------------------------------------------------------------- */

static bool write_header(int fd, const struct sl_header *header)
{
    ssize_t done = pwrite(fd, header, sizeof *header, 0);
    if (done >= 0 && done != (ssize_t)sizeof *header)
        errno = ENOSPC;
    return done == (ssize_t)sizeof *header;
}

/* Writes a whole table to the open file, then gives it its name. Returns 0 or an errno. */
static int write_and_link_file(int fd, const char *temporary, const char *path,
                               const struct sl_header *header)
{
    int wrong = posix_fallocate(fd, 0, (off_t)header->size_bytes);
    if (wrong)
        return wrong;
    if (!write_header(fd, header))
        return errno;
    return link(temporary, path) == 0 || errno == EEXIST ? 0 : errno;
}

/* Creates a file that does not exist. Returns true if it exists now, made by this process or
 * by another one. */
static bool create_file(const struct sl_memory_config *config, struct sluice_error *error)
{
    struct sl_header header = { .version = 0 };
    char temporary[PATH_MAX];
    if (!lay_out_header(config, &header, error))
        return false;
    int len = snprintf(temporary, sizeof temporary, "%s.XXXXXX", config->path);
    if (len < 0 || (size_t)len >= sizeof temporary)
        return sl_error_say(error, "cannot create the table `%s`: %s", config->path,
                            strerror(ENAMETOOLONG));
    int fd = mkostemp(temporary, O_CLOEXEC); /* mode 0600: it holds the secret */
    int wrong = fd < 0 ? errno : write_and_link_file(fd, temporary, config->path, &header);
    if (fd >= 0) {
        unlink(temporary);
        close(fd);
    }
    if (wrong)
        return sl_error_say(error, "cannot create the table `%s` of %llu bytes: %s", config->path,
                            (unsigned long long)header.size_bytes, strerror(wrong));
    return true;
}

static int open_or_create(const struct sl_memory_config *config, struct sluice_error *error)
{
    for (int tries = 0; tries < 3; tries++) {
        int fd = open(config->path, O_RDWR | O_CLOEXEC);
        if (fd >= 0)
            return fd;
        if (errno != ENOENT) {
            sl_error_say(error, "cannot open the table `%s`: %s", config->path, strerror(errno));
            return -1;
        }
        if (!create_file(config, error))
            return -1;
    }
    sl_error_say(error, "cannot open the table `%s`: it comes and goes", config->path);
    return -1;
}

static bool read_header(int fd, const char *path, struct sl_header *header,
                        struct sluice_error *error)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return sl_error_say(error, "cannot read the table `%s`: %s", path, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return sl_error_say(error, "`%s` is not a file", path);
    if (status.st_size < SL_HEADER_BYTES)
        return sl_error_say(error, "`%s` is not a table of Sluice: it is too short", path);
    if (pread(fd, header, sizeof *header, 0) != (ssize_t)sizeof *header)
        return sl_error_say(error, "cannot read the table `%s`: %s", path, strerror(errno));
    return check_header(header, path, (uint64_t)status.st_size, error);
}

static bool map_table(int fd, const struct sl_header *header, struct sl_table *table,
                      struct sluice_error *error)
{
    int flags = fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
    void *base = mmap(NULL, header->size_bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (base == MAP_FAILED)
        return sl_error_say(error, "cannot map a table of %llu bytes: %s",
                            (unsigned long long)header->size_bytes, strerror(errno));
    if (fd < 0)
        memcpy(base, header, sizeof *header);
    fill_in_table(table, header, base);
    return true;
}

static void report_other_size(const struct sl_memory_config *config, const struct sl_header *header,
                              struct sluice_error *error)
{
    uint64_t asked = config->size_bytes / SL_HEADER_BYTES * SL_HEADER_BYTES;
    if (asked && asked != header->size_bytes)
        sl_error_say(
            error,
            "the table `%s` was created with %llu bytes, not the %llu asked for now; it stays "
            "as it is until the file is removed",
            config->path, (unsigned long long)header->size_bytes,
            (unsigned long long)config->size_bytes);
    else if (config->logs_wanted && header->log_bytes == 0)
        sl_error_say(
            error,
            "the table `%s` was created with `log=0` and has no room for the sliding window "
            "log that the rules use",
            config->path);
}

static bool open_file(const struct sl_memory_config *config, struct sl_table *table,
                      struct sluice_error *error)
{
    struct sl_header header;
    int fd = open_or_create(config, error);
    if (fd < 0)
        return false;
    bool good =
        read_header(fd, config->path, &header, error) && map_table(fd, &header, table, error);
    if (good)
        report_other_size(config, &header, error);
    close(fd);
    return good;
}

/* ---- the clock ------------------------------------------------------------------- */

static uint64_t boot_tag(void)
{
    char id[64];
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? 0 : read(fd, id, sizeof id);
    if (fd >= 0)
        close(fd);
    return sl_hash64((struct sluice_text){ id, len > 0 ? (size_t)len : 0 }, 1) | 1;
}

/* After a boot the clock continues from the wall clock, or from its latest time if that is later:
 * T10. */
static void anchor_table_clock(struct sl_table *table)
{
    struct sl_header *header = table->header;
    uint64_t boot = boot_tag();
    struct sl_word seen = sl_word_load(&header->clock);
    while (seen.lo != boot) {
        int64_t latest_us = __atomic_load_n(&header->latest_us, __ATOMIC_ACQUIRE);
        bool legal = latest_us >= 0 && latest_us <= SL_TIME_MAX_US;
        int64_t start_us = sl_max_i64(sl_walltime_us(), legal ? latest_us : 0);
        struct sl_word clock = { boot, (uint64_t)(start_us - sl_boottime_us()) };
        if (sl_word_swap(&header->clock, &seen, clock))
            break;
    }
}

/* The two clocks run alike: their difference changes only if the wall clock is set. A
 * smaller change is the time that reading them took. If it were reported, a window that
 * ends at a full second would seem to end a microsecond later. */
static int64_t wall_shift_of(struct sl_table *table)
{
    int64_t before_us, after_us, wall_us;
    int tries = 0;
    do {
        before_us = sl_table_now_us(table);
        wall_us = sl_walltime_us();
        after_us = sl_table_now_us(table);
    } while (after_us - before_us > READING_US && ++tries < 10);
    return wall_us - before_us;
}

int64_t sl_table_look_at_wall_us(struct sl_table *table, int64_t now_us)
{
    int64_t known_us = __atomic_load_n(&table->wall_shift_us, __ATOMIC_RELAXED);
    int64_t shift_us = wall_shift_of(table);
    if (llabs(shift_us - known_us) < STEP_MIN_US)
        shift_us = known_us;
    __atomic_store_n(&table->wall_shift_us, shift_us, __ATOMIC_RELAXED);
    __atomic_store_n(&table->wall_seen_us, now_us, __ATOMIC_RELEASE);
    return shift_us;
}

void sl_table_call_attention(struct sl_table *table, int64_t at_us)
{
    int64_t *attention = &table->header->attention_us;
    int64_t seen = __atomic_load_n(attention, __ATOMIC_RELAXED);
    while (seen > at_us && !__atomic_compare_exchange_n(attention, &seen, at_us, false,
                                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

/* ---- opening and closing ----------------------------------------------------------- */

bool sl_table_open(const struct sl_memory_config *config, struct sl_table *table,
                   struct sluice_error *error)
{
    SL_CHECK(config && table && error);
    error->text[0] = 0;
    if (!sl_word_supported())
        return sl_error_say(error,
                            "this processor has no 16-byte compare-and-swap (cmpxchg16b), which "
                            "the memory store needs");
    if (config->path) {
        if (!open_file(config, table, error))
            return false;
    } else {
        struct sl_header header = { .version = 0 };
        if (!lay_out_header(config, &header, error) || !map_table(-1, &header, table, error))
            return false;
    }
    SL_CHECK(table->header && table->size_bytes >= SL_HEADER_BYTES);
    anchor_table_clock(table);
    return true;
}

int sl_table_sync(struct sl_table *table)
{
    SL_CHECK(table->header && table->size_bytes > 0);
    return msync(table->header, table->size_bytes, MS_SYNC) == 0 ? 0 : errno;
}

void sl_table_close(struct sl_table *table)
{
    SL_CHECK(table->header && table->size_bytes > 0);
    munmap(table->header, table->size_bytes);
}
