#include "server/main/systemd.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "unit/store/folder.h"

/* A socket that hears what systemd would; the name begins with `@` or is a path. */
static int listener_of(const char *name)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
    memcpy(address.sun_path, name, strlen(name));
    if (name[0] == '@')
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
    setenv("NOTIFY_SOCKET", name, 1);
    return fd;
}

/* The next datagram, or "" if there is none. */
static const char *heard(int fd)
{
    static char text[256];
    ssize_t len = recv(fd, text, sizeof text - 1, 0);
    if (len < 0)
        assert_int_equal(errno, EAGAIN);
    text[len < 0 ? 0 : len] = '\0';
    return text;
}

static int open_files(void)
{
    int count = files_in_folder(false), fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    close(fd); /* the lowest that is free: grows if one is left open */
    return fd + 1000 * count;
}

IN_A_FOLDER(what_is_said_arrives_as_one_datagram)
{
    char name[64];
    snprintf(name, sizeof name, "@%s", folder + 1); /* no file, and as unlikely as the folder's */
    const char *const names[] = { path, name };
    for (size_t i = 0; i < COUNT(names); i++) {
        int fd = listener_of(names[i]), before = open_files();
        sl_notify("READY=1");
        assert_string_equal(heard(fd), "READY=1");
        sl_notify("STATUS=3 rules\nREADY=1");
        assert_string_equal(heard(fd), "STATUS=3 rules\nREADY=1");
        assert_string_equal(heard(fd), "");
        assert_int_equal(open_files(), before);
        close(fd);
    }
}

IN_A_FOLDER(a_reload_carries_its_moment)
{
    int fd = listener_of(path);
    int64_t before_us = sl_monotonic_ns() / 1000, said_us = 0;
    sl_notify_reloading();
    int64_t after_us = sl_monotonic_ns() / 1000;
    assert_int_equal(sscanf(heard(fd), "RELOADING=1\nMONOTONIC_USEC=%" SCNd64, &said_us), 1);
    assert_in_range(said_us, before_us, after_us);
    close(fd);
}

IN_A_FOLDER(without_a_listener_nothing_happens)
{
    char long_name[200] = "/";
    memset(long_name + 1, 'x', sizeof long_name - 2);
    const char *const names[] = { "", "@", "/", "relative", "/no/such/socket", long_name, folder };
    int before = open_files();
    for (size_t i = 0; i < COUNT(names); i++) {
        setenv("NOTIFY_SOCKET", names[i], 1);
        sl_notify("READY=1");
    }
    unsetenv("NOTIFY_SOCKET");
    sl_notify("READY=1");
    close(listener_of(path)); /* its file stays, without a reader */
    sl_notify("READY=1");
    unlink(path);
    assert_int_equal(open_files(), before);
}

IN_A_FOLDER(the_longest_name_is_reached_and_a_longer_one_is_ignored)
{
    enum { ROOM = sizeof((struct sockaddr_un *)0)->sun_path };
    char name[ROOM + 1];
    memset(name, 'x', sizeof name);
    memcpy(name, folder, strlen(folder));
    name[strlen(folder)] = '/';
    name[ROOM - 1] = '\0';
    int fd = listener_of(name);
    sl_notify("READY=1");
    assert_string_equal(heard(fd), "READY=1");
    name[ROOM - 1] = 'x';
    name[ROOM] = '\0';
    setenv("NOTIFY_SOCKET", name, 1);
    sl_notify("READY=1");
    assert_string_equal(heard(fd), "");
    close(fd);
}

IN_A_FOLDER(a_full_socket_does_not_hold_us_up)
{
    int fd = listener_of(path);
    for (int i = 0; i < 10000; i++)
        sl_notify("STATUS=nobody reads this");
    assert_string_equal(heard(fd), "STATUS=nobody reads this");
    close(fd);
}
