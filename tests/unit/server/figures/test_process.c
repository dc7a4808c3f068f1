/* What the process takes of the machine. */
#include "server/figures/process.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit/base/unit.h"

static struct sl_process process;

static struct sl_process_figures figures(void)
{
    struct sl_process_figures out;
    sl_process_read(&process, &out);
    return out;
}

TEST(files_are_counted_at_the_first_look_and_not_at_every_other)
{
    int fds[100];
    process = (struct sl_process){ 0 };
    assert_int_equal(figures().open_files, 0);
    sl_process_look(&process);
    uint64_t before = figures().open_files;
    assert_in_range(before, 1, 50);
    for (size_t i = 0; i < COUNT(fds); i++)
        assert_true((fds[i] = open("/dev/null", O_RDONLY)) >= 0);
    sl_process_look(&process);
    assert_int_equal(figures().open_files, before);
    for (int i = 0; i < 20; i++)
        sl_process_look(&process);
    assert_int_equal(figures().open_files, before + COUNT(fds));
    assert_true(figures().most_files > before + COUNT(fds));
    for (size_t i = 0; i < COUNT(fds); i++)
        close(fds[i]);
}

TEST(memory_counts_when_it_is_used)
{
    enum { BYTES = 32 << 20 };
    struct sl_process_figures before = figures();
    char *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(at != MAP_FAILED);
    assert_true(figures().virtual_bytes >= before.virtual_bytes + BYTES);
    assert_true(figures().resident_bytes < before.resident_bytes + BYTES / 2);
    memset(at, 1, BYTES);
    assert_true(figures().resident_bytes > before.resident_bytes + BYTES / 2);
    munmap(at, BYTES);
}

TEST(time_passes_while_it_works)
{
    uint64_t before = figures().cpu_us;
    volatile uint64_t work = 0;
    while (figures().cpu_us < before + 20000)
        work = work + 1;
    assert_true(figures().cpu_us >= before + 20000);
}
