/* Sockets that are listened on: whose they are, what they are called, and what is in
 * the way. Ports are free ones, on the loopback. */
#include "server/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "unit/store/folder.h"

enum { WORKERS = 3 };

static struct sluice_error error;

static struct sl_listening http(void)
{
    error = (struct sluice_error){ 0 };
    return (struct sl_listening){ .front = &sl_front_http };
}

static void assert_error(const char *part)
{
    if (!strstr(error.text, part))
        fail_msg("`%s` is not in: %s", part, error.text);
}

static void assert_closed(const struct sl_listening *listening)
{
    assert_null(listening->fds);
    assert_null(listening->path);
    assert_int_equal(listening->fd_count, 0);
}

static int port_of(int fd)
{
    struct sockaddr_storage bound;
    socklen_t len = sizeof bound;
    assert_int_equal(getsockname(fd, (struct sockaddr *)&bound, &len), 0);
    return ntohs(bound.ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)&bound)->sin6_port
                                             : ((const struct sockaddr_in *)&bound)->sin_port);
}

/* A client of this listener; does not wait for it. */
static int connect_to(const struct sl_listening *listening)
{
    struct sockaddr_storage to;
    socklen_t len = sizeof to;
    assert_int_equal(getsockname(listening->fds[0], (struct sockaddr *)&to, &len), 0);
    int fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, len), 0);
    return fd;
}

/* Whichever worker the kernel has given it to. */
static struct sl_arrival arrival_at(const struct sl_listening *listening)
{
    struct sl_arrival arrival;
    int why;
    for (size_t i = 0; i < listening->fd_count; i++)
        if (sl_listening_accept(listening, i, &arrival, &why))
            return arrival;
    fail_msg("nobody came");
    return arrival;
}

/* ---- TCP ---- */

TEST(all_workers_listen_on_the_port_that_the_first_was_given)
{
    struct sl_listening listening = http();
    assert_true(sl_listening_open(&listening, "127.0.0.1:0", WORKERS, &error));
    assert_int_equal(listening.fd_count, WORKERS);
    assert_false(listening.is_local);
    int port = port_of(listening.fds[0]);
    char address[64];
    snprintf(address, sizeof address, "http://127.0.0.1:%d", port);
    assert_true(port > 0);
    assert_string_equal(listening.address, address);
    for (size_t i = 0; i < WORKERS; i++) {
        SAME("port", port_of(listening.fds[i]), port);
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(listening.fds[i], listening.fds[j]);
    }
    sl_listening_close(&listening);
    assert_closed(&listening);
}

TEST(a_port_in_use_is_refused_though_it_could_be_shared)
{
    struct sl_listening first = http(), second = http();
    assert_true(sl_listening_open(&first, "127.0.0.1:0", 1, &error));
    char address[64];
    snprintf(address, sizeof address, "127.0.0.1:%d", port_of(first.fds[0]));
    assert_false(sl_listening_open(&second, address, WORKERS, &error));
    assert_error(address);
    assert_error("in use");
    assert_error("command line");
    assert_closed(&second);
    sl_listening_close(&first);
    assert_true(sl_listening_open(&second, address, WORKERS, &error));
    sl_listening_close(&second);
}

TEST(ipv6_is_written_in_brackets_and_is_ipv6_alone)
{
    struct sl_listening listening = http();
    if (!sl_listening_open(&listening, "[::1]:0", 2, &error))
        skip(); /* a machine without IPv6 */
    char address[64];
    snprintf(address, sizeof address, "http://[::1]:%d", port_of(listening.fds[0]));
    assert_string_equal(listening.address, address);
    int only = 0;
    socklen_t len = sizeof only;
    assert_int_equal(getsockopt(listening.fds[1], IPPROTO_IPV6, IPV6_V6ONLY, &only, &len), 0);
    assert_int_equal(only, 1);
    int client = connect_to(&listening);
    struct sl_arrival arrival = arrival_at(&listening);
    char text[SL_ADDRESS_PRINT_MAX];
    sl_address_print(&arrival.peer, text);
    assert_string_equal(text, "::1");
    close(arrival.fd);
    close(client);
    sl_listening_close(&listening);
}

TEST(an_arrival_has_its_peer_and_what_the_listener_says_of_it)
{
    struct sl_listening listening = http();
    listening.proxy_protocol = listening.wants_tls = true;
    assert_true(sl_listening_open(&listening, "127.0.0.1:0", WORKERS, &error));
    assert_int_equal(strncmp(listening.address, "https://127.0.0.1:", 18), 0);
    struct sl_arrival none;
    int why = 77;
    assert_false(sl_listening_accept(&listening, 0, &none, &why));
    assert_int_equal(why, 0); /* without a waiting connection it is no error */
    int client = connect_to(&listening);
    struct sl_arrival arrival = arrival_at(&listening);
    assert_ptr_equal(arrival.front, &sl_front_http);
    assert_true(arrival.wants_tls && arrival.proxy_protocol && !arrival.is_local);
    char text[SL_ADDRESS_PRINT_MAX];
    sl_address_print(&arrival.peer, text);
    assert_string_equal(text, "127.0.0.1");
    char byte;
    assert_int_equal(recv(arrival.fd, &byte, 1, 0), -1); /* does not block */
    assert_int_equal(errno, EAGAIN);
    close(arrival.fd);
    close(client);
    sl_listening_close(&listening);
}

TEST(an_address_that_is_not_ours_is_refused_with_advice)
{
    struct sl_listening listening = http();
    assert_false(sl_listening_open(&listening, "192.0.2.1:0", 1, &error));
    assert_error("192.0.2.1:0");
    assert_error("no such address");
    assert_closed(&listening);
    listening = http();
    assert_false(sl_listening_open(&listening, "no.such.host.invalid:80", 1, &error));
    assert_error("cannot listen on no.such.host.invalid:80: ");
    assert_error("write an address of this machine");
    assert_closed(&listening);
}

/* ---- Unix sockets ---- */

static char *unix_address(void)
{
    static char address[sizeof "unix:/socket" + sizeof folder];
    snprintf(address, sizeof address, "unix:%s/socket", folder);
    return address;
}

static const char *socket_path(void)
{
    return unix_address() + 5;
}

/* Leaves a socket that no process listens on. */
static void leave_a_socket(void)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    snprintf(to.sun_path, sizeof to.sun_path, "%s", socket_path());
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&to, sizeof to), 0);
    close(fd);
}

IN_A_FOLDER(workers_share_one_socket_file_and_it_goes_with_them)
{
    struct sl_listening listening = http();
    assert_true(sl_listening_open(&listening, unix_address(), WORKERS, &error));
    assert_true(listening.is_local);
    assert_int_equal(listening.fd_count, WORKERS);
    assert_string_equal(listening.address, unix_address());
    for (size_t i = 0; i < WORKERS; i++) {
        int client = connect_to(&listening);
        struct sl_arrival arrival;
        int why;
        SAME("any of them", sl_listening_accept(&listening, i, &arrival, &why), true);
        assert_true(arrival.is_local);
        close(arrival.fd);
        close(client);
    }
    assert_int_equal(files_in_folder(false), 1);
    sl_listening_close(&listening);
    assert_int_equal(files_in_folder(false), 0);
}

IN_A_FOLDER(a_socket_that_was_left_behind_is_taken_over)
{
    struct sl_listening listening = http();
    leave_a_socket();
    assert_true(sl_listening_open(&listening, unix_address(), 1, &error));
    close(connect_to(&listening));
    sl_listening_close(&listening);
    assert_int_equal(files_in_folder(false), 0);
}

IN_A_FOLDER(a_socket_that_a_server_answers_on_is_left_alone)
{
    struct sl_listening first = http(), second = http();
    assert_true(sl_listening_open(&first, unix_address(), 1, &error));
    assert_false(sl_listening_open(&second, unix_address(), WORKERS, &error));
    assert_error("in use");
    assert_closed(&second);
    close(connect_to(&first));
    sl_listening_close(&first);
}

IN_A_FOLDER(a_file_of_another_kind_is_left_alone)
{
    struct sl_listening listening = http();
    FILE *file = fopen(socket_path(), "w");
    assert_non_null(file);
    fclose(file);
    assert_false(sl_listening_open(&listening, unix_address(), 1, &error));
    assert_error("no socket");
    assert_closed(&listening);
    assert_int_equal(files_in_folder(false), 1);
    unlink(socket_path());
    assert_int_equal(symlink("elsewhere", socket_path()), 0);
    assert_false(sl_listening_open(&listening, unix_address(), 1, &error));
    assert_int_equal(files_in_folder(false), 1);
}

IN_A_FOLDER(a_folder_that_is_not_there_is_said)
{
    struct sl_listening listening = http();
    char address[128];
    snprintf(address, sizeof address, "unix:%s/none/socket", folder);
    assert_false(sl_listening_open(&listening, address, 1, &error));
    assert_error("none/socket: No such file");
    assert_closed(&listening);
}

/* A newer server may have come in between. */
IN_A_FOLDER(the_socket_of_another_is_not_removed_at_the_end)
{
    struct sl_listening listening = http();
    assert_true(sl_listening_open(&listening, unix_address(), 1, &error));
    char kept[128];
    snprintf(kept, sizeof kept, "%s/kept", folder); /* so that the number is not used again */
    assert_int_equal(rename(socket_path(), kept), 0);
    leave_a_socket();
    sl_listening_close(&listening);
    assert_int_equal(access(socket_path(), F_OK), 0);
}
