#include "base/file.h"

#include <errno.h>
#include <unistd.h>

#include "unit/base/unit.h"

static char path[] = "/tmp/sluice-test-XXXXXX";

static int write_file(void **unused)
{
    (void)unused;
    int fd = mkstemp(path);
    return fd >= 0 && write(fd, "0123456789", 10) == 10 && close(fd) == 0 ? 0 : -1;
}

static int remove_file(void **unused)
{
    (void)unused;
    return unlink(path);
}

TEST(a_file_is_read_whole_or_not_at_all)
{
    static const struct {
        size_t most;
        int error;
    } rows[] = { { 11, 0 }, { 10, 0 }, { 9, EFBIG } };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_buffer out = sl_buffer(rows[i].most);
        assert_int_equal(sl_file_read(path, &out), rows[i].error);
        if (rows[i].error == 0) {
            assert_int_equal(out.len, 10);
            assert_memory_equal(out.at, "0123456789", 10);
        }
        sl_buffer_release(&out);
    }
}

TEST(what_cannot_be_read_is_an_errno)
{
    struct sl_buffer out = sl_buffer(100);
    assert_int_equal(sl_file_read("/no/such/file", &out), ENOENT);
    assert_int_equal(sl_file_read("/tmp", &out), EISDIR);
    assert_int_equal(sl_file_read_fd(-1, &out), EBADF);
    assert_int_equal(sl_file_read("/dev/null", &out), 0);
    assert_int_equal(out.len, 0);
    sl_buffer_release(&out);
}

TESTS_WITH(write_file, remove_file)
