#include "store/table/table_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "unit/store/folder.h"
#include "unit/store/hand_clock.h"

TESTS_ALONE;

#define S INT64_C(1000000)

enum { SIZE = 64 << 10, CHECKED_BYTES = 80 };

static struct sluice_error error;

static bool open_at(const char *at, uint64_t size_bytes, struct sl_table *table)
{
    struct sl_memory_config config = { .path = at, .size_bytes = size_bytes, .log_bytes = 8192 };
    return sl_table_open(&config, table, &error);
}

static struct sl_table opened(void)
{
    struct sl_table table;
    assert_true(open_at(path, SIZE, &table));
    assert_string_equal(error.text, "");
    return table;
}

static void make_table(void)
{
    struct sl_table table = opened();
    sl_table_close(&table);
}

static void refused_with(const char *row, const char *text)
{
    struct sl_table table;
    if (open_at(path, 0, &table))
        print_error("%s: opened\n", row);
    else if (!strstr(error.text, text))
        print_error("%s: \"%s\" does not say \"%s\"\n", row, error.text, text);
    else
        return;
    fail();
}

/* Other files are made only where a test says so. */
static void (*before_link)(void);
static int allocation_fails;

int link(const char *from, const char *to)
{
    void (*first)(void) = before_link;
    before_link = NULL;
    if (first)
        first();
    return (int)syscall(SYS_link, from, to);
}

int posix_fallocate(int fd, off_t from, off_t len)
{
    return allocation_fails ? allocation_fails : (int)syscall(SYS_fallocate, fd, 0, from, len);
}

/* ---- creating ------------------------------------------------------------------- */

static uint64_t number_at(const uint8_t *bytes, uint64_t at, size_t len)
{
    uint64_t number = 0;
    memcpy(&number, bytes + at, len);
    return number;
}

IN_A_FOLDER(a_new_file_is_laid_out_as_the_document_says)
{
    static uint8_t file[SIZE + 1];
    make_table();
    int fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, file, sizeof file), SIZE);
    close(fd);
    uint64_t records = SIZE / 256 / 64, slots_at = 4096;
    uint64_t records_at = number_at(file, 32, 8), log_at = number_at(file, 48, 8);
    assert_memory_equal(file, "SLUICETB", 8);
    assert_int_equal(number_at(file, 8, 4), 1);
    assert_memory_equal(file + 12, "\4\3\2\1", 4);
    assert_int_equal(number_at(file, 16, 8), SIZE);
    assert_int_equal(slots_at + 64 * number_at(file, 24, 8), records_at);
    assert_int_equal(number_at(file, 40, 8), records);
    assert_int_equal(records_at + 64 * records, log_at);
    assert_int_equal(number_at(file, 56, 8), 8192);
    assert_int_equal(log_at + 8192, SIZE);
    assert_int_equal(number_at(file, 72, 8), wall_us);
    assert_int_equal(number_at(file, 80, 8),
                     sl_hash64((struct sluice_text){ (char *)file, 80 }, 0));
    assert_int_equal(number_at(file, 136, 8), wall_us - boot_us);
    for (uint64_t i = slots_at; i < SIZE; i++)
        assert_int_equal(file[i], 0);
}

IN_A_FOLDER(it_is_its_owners_alone_and_nothing_else_is_left)
{
    struct stat status;
    mode_t before = umask(0);
    make_table();
    umask(before);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode, S_IFREG | 0600);
    assert_true(status.st_blocks * 512 >= SIZE); /* no SIGBUS on a full disk */
    assert_int_equal(files_in_folder(false), 1);
}

TEST(sizes_follow_from_what_was_asked_for)
{
    static const struct {
        uint64_t size, log;
        bool logs_wanted;
        uint64_t size_bytes, log_bytes; /* 0: refused */
    } rows[] = {
        { 0, SL_LOG_DEFAULT, false, 64 << 20, (64 << 20) / 20 / 64 * 64 },
        { 0, SL_LOG_DEFAULT, true, 64 << 20, 32 << 20 },
        { 0, 100, true, 64 << 20, 64 },
        { SIZE + 4095, 0, false, SIZE, 0 },
        { 12288, 0, false, 12288, 0 },
        { 8192, 0, false, 8192, 0 }, /* 64 lines and no more */
        { 8192, 64, false },
        { 4095, 0, false },
        { SIZE, SIZE, false },
        { SIZE, SL_LOG_DEFAULT - 1, false },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char row[32];
        snprintf(row, sizeof row, "row %zu", i);
        struct sl_memory_config config = { .size_bytes = rows[i].size,
                                           .log_bytes = rows[i].log,
                                           .logs_wanted = rows[i].logs_wanted };
        struct sl_table table;
        SAME(row, sl_table_open(&config, &table, &error), rows[i].size_bytes != 0);
        SAME(row, strstr(error.text, "no room for slots") != NULL, rows[i].size_bytes == 0);
        if (!rows[i].size_bytes)
            continue;
        SAME(row, table.size_bytes, rows[i].size_bytes);
        SAME(row, table.log_bytes, rows[i].log_bytes);
        SAME(row, table.slots.line_count >= 64, true);
        sl_table_close(&table);
    }
}

static struct sl_table rival;

static void create_another(void)
{
    rival = opened();
}

IN_A_FOLDER(of_two_that_create_it_at_once_both_use_the_first_ones)
{
    before_link = create_another;
    struct sl_table table = opened();
    assert_true(table.secret == rival.secret && table.header != rival.header);
    rival.slots.lines[5].slots[2].lo = 77;
    assert_int_equal(table.slots.lines[5].slots[2].lo, 77);
    assert_int_equal(files_in_folder(false), 1);
    sl_table_close(&table);
    sl_table_close(&rival);
}

IN_A_FOLDER(what_cannot_be_created_is_said_and_leaves_nothing)
{
    allocation_fails = ENOSPC;
    refused_with("a full disk", "No space left");
    allocation_fails = 0;
    assert_int_equal(files_in_folder(false), 0);
    struct sl_table table;
    char long_path[PATH_MAX + 8] = "/tmp/";
    memset(long_path + 5, 'x', sizeof long_path - 6);
    assert_false(open_at("/tmp/there is no such folder/table", SIZE, &table));
    assert_non_null(strstr(error.text, "cannot create the table"));
    assert_false(open_at(long_path, SIZE, &table));
    assert_non_null(strstr(error.text, "cannot open the table"));
    assert_int_equal(symlink("nowhere", path), 0);
    refused_with("a link to nothing", "comes and goes");
    assert_int_equal(files_in_folder(false), 1);
}

/* ---- opening -------------------------------------------------------------------- */

IN_A_FOLDER(a_table_keeps_what_it_was_created_with)
{
    struct sl_table table = opened(), again;
    table.slots.lines[5].slots[2] = (struct sl_word){ 3, 4 };
    uint64_t secret = table.secret;
    sl_table_close(&table);
    assert_true(open_at(path, 0, &again)); /* whatever it has */
    assert_string_equal(error.text, "");
    assert_int_equal(again.size_bytes, SIZE);
    assert_int_equal(again.log_bytes, 8192);
    assert_true(again.secret == secret);
    assert_true(sl_word_equal(again.slots.lines[5].slots[2], (struct sl_word){ 3, 4 }));
    assert_int_equal(sl_table_sync(&again), 0);
    sl_table_close(&again);
    assert_true(open_at(path, 2 * SIZE, &again));
    assert_non_null(strstr(error.text, "was created with 65536 bytes, not the 131072"));
    assert_int_equal(again.size_bytes, SIZE);
    sl_table_close(&again);
}

IN_A_FOLDER(rules_with_logs_are_told_when_the_table_has_no_room_for_any)
{
    struct sl_memory_config config = { .path = path, .size_bytes = SIZE };
    struct sl_table table;
    for (int wanted = 0; wanted < 2; wanted++) {
        config.logs_wanted = wanted;
        assert_true(sl_table_open(&config, &table, &error));
        assert_int_equal(strstr(error.text, "`log=0`") != NULL, wanted);
        sl_table_close(&table);
    }
}

/* Writes into the file; `sealed`, so that the checksum is right again. */
static void damage(off_t at, const void *bytes, size_t len, bool sealed)
{
    char header[CHECKED_BYTES];
    int fd = open(path, O_RDWR);
    assert_int_equal(pwrite(fd, bytes, len, at), len);
    assert_int_equal(pread(fd, header, sizeof header, 0), sizeof header);
    uint64_t checksum = sl_hash64((struct sluice_text){ header, sizeof header }, 0);
    if (sealed)
        assert_int_equal(pwrite(fd, &checksum, 8, CHECKED_BYTES), 8);
    close(fd);
}

IN_A_FOLDER(a_header_that_does_not_add_up_is_refused)
{
    static const struct {
        const char *row;
        off_t at;
        uint64_t number;
        const char *text;
    } rows[] = {
        { "magic", 0, 0, "is not a table of Sluice; remove it" },
        { "version 2", 8, UINT64_C(0x0102030400000002), "has version 2, this program reads" },
        { "byte order", 8, UINT64_C(0x0403020100000001), "another byte order" },
        { "size", 16, SIZE - 4096, "is damaged" },
        { "no size", 16, 0, "is damaged" },
        { "no lines", 24, 0, "is damaged" },
        { "one line more", 24, 891, "is damaged" },
        { "lines wrap", 24, UINT64_C(1) << 58, "is damaged" },
        { "where reservations start", 32, 4096, "is damaged" },
        { "reservations", 40, 65537, "is damaged" },
        { "reservations wrap", 40, UINT64_C(1) << 58, "is damaged" },
        { "where the log starts", 48, SIZE, "is damaged" },
        { "log too large", 56, 8192 + 64, "is damaged" },
        { "log wraps", 56, UINT64_MAX - 63, "is damaged" },
        { "half a line of log", 56, 8192 - 1, "is damaged" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        make_table();
        damage(rows[i].at, &rows[i].number, 8, true);
        refused_with(rows[i].row, rows[i].text);
        unlink(path);
    }
}

IN_A_FOLDER(any_bit_that_never_changes_is_checked)
{
    make_table();
    uint8_t header[CHECKED_BYTES + 8];
    int fd = open(path, O_RDWR);
    assert_int_equal(read(fd, header, sizeof header), sizeof header);
    close(fd);
    for (size_t bit = 0; bit < 8 * sizeof header; bit++) {
        uint8_t flipped = (uint8_t)(header[bit / 8] ^ 1 << bit % 8);
        damage((off_t)bit / 8, &flipped, 1, false);
        refused_with("a bit", "table");
        damage((off_t)bit / 8, &header[bit / 8], 1, false);
    }
    make_table();
}

IN_A_FOLDER(a_file_of_another_size_is_refused_and_left_alone)
{
    make_table();
    assert_int_equal(truncate(path, SIZE + 1), 0);
    refused_with("longer", "it should have 65536 bytes and has 65537");
    assert_int_equal(truncate(path, SIZE - 1), 0);
    refused_with("shorter", "it should have 65536 bytes and has 65535");
    assert_int_equal(truncate(path, 4095), 0);
    refused_with("no header", "too short");
    assert_int_equal(truncate(path, 0), 0);
    refused_with("empty", "too short");
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, 0);
}

IN_A_FOLDER(what_is_not_a_file_is_refused)
{
    assert_int_equal(mkfifo(path, 0600), 0);
    refused_with("a pipe", "is not a file");
    struct sl_table table;
    assert_false(open_at(folder, SIZE, &table));
    assert_non_null(strstr(error.text, "cannot open the table"));
}
