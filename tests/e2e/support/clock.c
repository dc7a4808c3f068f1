/* Another wall clock for a program, for tests in which days pass: preloaded, it stands
 * before the C library's clock_gettime and does what the file that SLUICE_CLOCK names
 * says, where the test writes it while the program runs.
 *
 * The wall clock is as far ahead as the file says, or stands still at a moment. The clock
 * since boot goes with it, so that days pass for counts too, and was started a day earlier than
 * the machine, so that it can be behind on one that was just started; the monotonic one, by which
 * programs wait, is left alone. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct setting {
    _Atomic int64_t ahead_us;
    _Atomic int64_t stands_at_us; /* 0: it goes on */
    _Atomic int64_t boot_us;      /* the wall's time when the other began */
};

static struct setting nothing;
static struct setting *setting = &nothing;

__attribute__((constructor)) static void map_setting(void)
{
    const char *path = getenv("SLUICE_CLOCK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *mapped = mmap(NULL, sizeof(struct setting), PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (mapped != MAP_FAILED)
        setting = mapped;
}

static void set_us(struct timespec *out, int64_t us, long rest_ns)
{
    out->tv_sec = us / 1000000;
    out->tv_nsec = us % 1000000 * 1000 + rest_ns;
}

int clock_gettime(clockid_t id, struct timespec *out)
{
    int status = (int)syscall(SYS_clock_gettime, id, out);
    if (status != 0 || (id != CLOCK_REALTIME && id != CLOCK_BOOTTIME))
        return status;
    int64_t us = (int64_t)out->tv_sec * 1000000 + out->tv_nsec / 1000;
    int64_t older_us = id == CLOCK_BOOTTIME ? INT64_C(86400) * 1000000 : 0;
    int64_t stands_at_us = setting->stands_at_us;
    if (stands_at_us == 0)
        set_us(out, us + older_us + setting->ahead_us, out->tv_nsec % 1000);
    else
        set_us(out, stands_at_us + (id == CLOCK_REALTIME ? 0 : older_us - setting->boot_us), 0);
    return 0;
}
