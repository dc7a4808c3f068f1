/* A table's clock (T10), on a machine whose clocks are moved by hand. */
#include "store/table/table_file.h"

#include <fcntl.h>

#include "unit/store/folder.h"
#include "unit/store/hand_clock.h"

TESTS_ALONE;

#define S INT64_C(1000000)

static struct sl_table opened(void)
{
    struct sluice_error error;
    struct sl_memory_config config = { .path = path, .size_bytes = 64 << 10 };
    struct sl_table table;
    assert_true(sl_table_open(&config, &table, &error));
    return table;
}

static void make_table(void)
{
    struct sl_table table = opened();
    sl_table_close(&table);
}

static void write_at(off_t at, const void *number)
{
    int fd = open(path, O_RDWR);
    assert_int_equal(pwrite(fd, number, 8, at), 8);
    close(fd);
}

static int64_t reopened_at_us(void)
{
    struct sl_table table = opened();
    int64_t now_us = sl_table_now_us(&table);
    sl_table_close(&table);
    return now_us;
}

IN_A_FOLDER(table_time_does_not_follow_a_stepped_clock_while_the_machine_runs)
{
    int64_t start_us = wall_us;
    assert_int_equal(reopened_at_us(), start_us);
    pass_us(7 * S);
    wall_us -= 3600 * S;
    assert_int_equal(reopened_at_us(), start_us + 7 * S);
    wall_us += 7200 * S;
    pass_us(S);
    assert_int_equal(reopened_at_us(), start_us + 8 * S);
}

IN_A_FOLDER(after_a_boot_the_clock_goes_on_from_the_later_of_wall_and_latest)
{
    struct {
        int64_t latest_us, goes_on_us;
    } rows[] = { { wall_us - S, wall_us }, { wall_us + S, wall_us + S },
                 { 0, wall_us },           { -1, wall_us },
                 { INT64_MIN, wall_us },   { SL_TIME_MAX_US, SL_TIME_MAX_US },
                 { INT64_MAX, wall_us },   { SL_TIME_MAX_US + 1, wall_us } };
    make_table();
    for (size_t i = 0; i < COUNT(rows); i++) {
        char row[32];
        snprintf(row, sizeof row, "row %zu", i);
        uint64_t another_boot = i * 2;
        write_at(128, &another_boot);
        write_at(152, &rows[i].latest_us);
        boot_us = 10 * S;
        SAME(row, reopened_at_us(), rows[i].goes_on_us);
        boot_us += 5 * S;
        SAME(row, reopened_at_us(), sl_min_i64(rows[i].goes_on_us + 5 * S, SL_TIME_MAX_US));
    }
}

IN_A_FOLDER(a_damaged_offset_stays_within_the_range_of_times)
{
    int64_t offsets_us[] = { INT64_MIN, -boot_us - 1, SL_TIME_MAX_US, INT64_MAX - boot_us,
                             INT64_MAX };
    make_table();
    for (size_t i = 0; i < COUNT(offsets_us); i++) {
        write_at(136, &offsets_us[i]);
        assert_int_equal(reopened_at_us(), SL_TIME_MAX_US);
    }
}

IN_A_FOLDER(the_wall_is_looked_at_every_tenth_of_a_second)
{
    struct sl_table table = opened();
    int64_t now_us = sl_table_now_us(&table);
    assert_int_equal(sl_table_wall_shift_us(&table, now_us), 0);
    wall_us += 3600 * S;
    assert_int_equal(sl_table_wall_shift_us(&table, now_us + 99999), 0);
    pass_us(100000);
    assert_int_equal(sl_table_wall_shift_us(&table, now_us + 100000), 3600 * S);
    wall_us -= 7200 * S;
    assert_int_equal(sl_table_wall_shift_us(&table, now_us + 99999), -3600 * S); /* it went back */
    sl_table_close(&table);
}

IN_A_FOLDER(attention_is_only_ever_called_earlier)
{
    struct sl_table table = opened();
    static const int64_t rows[][3] = { { 50, 40, 40 }, { 50, 50, 50 }, { 50, 60, 50 } };
    for (size_t i = 0; i < COUNT(rows); i++) {
        table.header->attention_us = rows[i][0];
        sl_table_call_attention(&table, rows[i][1]);
        assert_int_equal(table.header->attention_us, rows[i][2]);
    }
    sl_table_close(&table);
}
