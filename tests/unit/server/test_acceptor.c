/* The acceptor: which connections are accepted, by which worker, and which are not. Two
 * workers in one thread on a Unix socket; their loops turn when the test turns them. */
#include "server/acceptor.h"

#include <sys/resource.h>
#include <sys/un.h>

#include "unit/server/captured.h"
#include "unit/server/deaf_loop.h"
#include "unit/server/on_stage.h"
#include "unit/store/folder.h"

TESTS_ALONE;

static const char rules[] = "max_connections: 6\n"
                            "rules: [{ name: a, per: ip, limit: 100/h }]\n";

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"

static struct sockaddr_un place;

static int open_acceptor(void **state)
{
    struct sluice_error error = { 0 };
    char address[96];
    if (open_folder(state) != 0)
        return -1;
    model_open(&model);
    memset(&stage, 0, sizeof stage);
    place = (struct sockaddr_un){ .sun_family = AF_UNIX };
    snprintf(place.sun_path, sizeof place.sun_path, "%s/socket", folder);
    snprintf(address, sizeof address, "unix:%.80s", place.sun_path);
    stage.server.listenings[0] = (struct sl_listening){ .front = &sl_front_http };
    if (!sl_listening_open(&stage.server.listenings[0], address, 2, &error))
        return -1;
    stage.server.listening_count = 1;
    stage_open_workers(&stage, rules, &model.store, 2);
    return 0;
}

static int close_acceptor(void **state)
{
    stage_close(&stage);
    model_close(&model.store);
    return close_folder(state);
}

#define WITH_ACCEPTOR(name) TEST_WITH(name, open_acceptor, close_acceptor)

static int knock(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&place, sizeof place), 0);
    return fd;
}

static uint32_t open_at(size_t worker)
{
    return atomic_load(&stage.workers[worker].open);
}

static size_t connections_of(size_t worker)
{
    size_t count = 0;
    for (const struct sl_conn *conn = stage.workers[worker].all; conn; conn = conn->all_next)
        count++;
    return count;
}

static const char *answer_on(int fd)
{
    static char text[1024];
    ssize_t len = recv(fd, text, sizeof text - 1, 0);
    text[len > 0 ? len : 0] = 0;
    return text;
}

/* ---- coming in ---- */

static void turn_both(void)
{
    for (size_t i = 0; i < 2; i++)
        stage_turn(&stage.workers[i]);
}

WITH_ACCEPTOR(no_worker_gets_far_ahead_of_the_other)
{
    int fds[6];
    for (size_t i = 0; i < COUNT(fds); i++) {
        fds[i] = knock();
        turn_both(); /* always the same worker accepts */
        assert_true(open_at(0) <= open_at(1) + 2 && open_at(1) <= open_at(0));
        assert_int_equal(connections_of(0), open_at(0));
        assert_int_equal(connections_of(1), open_at(1));
    }
    assert_int_equal(atomic_load(&stage.server.open), COUNT(fds));
    assert_int_equal(atomic_load(&stage.workers[0].accepted), COUNT(fds));
    assert_int_equal(atomic_load(&stage.workers[1].accepted), 0);
    for (size_t i = 0; i < COUNT(fds); i++) {
        assert_true(send(fds[i], GET("/healthz"), strlen(GET("/healthz")), 0) > 0);
        turn_both();
        assert_non_null(strstr(answer_on(fds[i]), "200 OK"));
        close(fds[i]);
    }
    turn_both();
    assert_int_equal(open_at(0) + open_at(1), 0);
    assert_int_equal(atomic_load(&stage.server.open), 0);
}

/* Counted at once, so that not all the others go there too. */
WITH_ACCEPTOR(a_connection_on_its_way_to_a_worker_counts_there)
{
    int fds[6];
    for (size_t i = 0; i < COUNT(fds); i++)
        fds[i] = knock();
    stage_turn(&stage.workers[0]); /* the other sleeps */
    assert_true(open_at(1) >= 2 && open_at(1) <= 3);
    assert_int_equal(open_at(0) + open_at(1), COUNT(fds));
    assert_int_equal(stage.workers[1].inbox_count, open_at(1));
    assert_int_equal(connections_of(1), 0);
    stage_turn(&stage.workers[1]);
    assert_int_equal(stage.workers[1].inbox_count, 0);
    assert_int_equal(connections_of(1), open_at(1));
    for (size_t i = 0; i < COUNT(fds); i++)
        close(fds[i]);
}

WITH_ACCEPTOR(where_they_cannot_go_they_stay)
{
    int fds[4];
    stage.workers[1].inbox_count = SL_INBOX_MAX;
    for (size_t i = 0; i < 3; i++)
        fds[i] = knock();
    stage_turn(&stage.workers[0]);
    assert_int_equal(connections_of(0), 3);
    assert_int_equal(open_at(0), 3);
    assert_int_equal(open_at(1), 0);
    stage.workers[1].inbox_count = 0;
    stage.workers[1].is_draining = true;
    fds[3] = knock();
    stage_turn(&stage.workers[0]);
    assert_int_equal(connections_of(0), 4);
    assert_int_equal(open_at(0), 4);
    assert_int_equal(open_at(1), 0);
    assert_int_equal(stage.workers[1].inbox_count, 0);
    stage.workers[1].is_draining = false;
    for (size_t i = 0; i < COUNT(fds); i++)
        close(fds[i]);
}

/* ---- not coming in ---- */

WITH_ACCEPTOR(a_connection_too_many_is_told_so_and_the_others_stay)
{
    int fds[8];
    for (size_t i = 0; i < COUNT(fds); i++) {
        fds[i] = knock();
        assert_true(send(fds[i], GET("/healthz"), strlen(GET("/healthz")), 0) > 0);
    }
    turn_both();
    assert_int_equal(atomic_load(&stage.server.open), 6);
    assert_int_equal(atomic_load(&stage.workers[0].refused), 2);
    for (size_t i = 0; i < COUNT(fds); i++) {
        struct answer answer = { 0 };
        struct sluice_text text = sl_text(answer_on(fds[i]));
        assert_true(next_answer(&text, false, &answer));
        SAME("who", answer.status, i < 6 ? 200 : 503);
        if (i < 6)
            continue;
        assert_true(answer.closes && body_has(&answer, "max_connections"));
        SAME_TEXT("503", field_of(&answer, "Retry-After"), "1");
        assert_string_equal(answer_on(fds[i]), ""); /* and then the end */
    }
    close(fds[0]);
    turn_both();
    fds[0] = knock();
    stage_turn(&stage.workers[0]);
    assert_int_equal(atomic_load(&stage.server.open), 6);
    assert_int_equal(atomic_load(&stage.workers[0].refused), 2);
    for (size_t i = 0; i < COUNT(fds); i++)
        close(fds[i]);
}

/* ---- a loop that cannot watch ---- */

static void turn_without_files(void *worker)
{
    struct rlimit kept, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &kept), 0);
    none = kept;
    none.rlim_cur = 3;
    setrlimit(RLIMIT_NOFILE, &none);
    stage_turn(worker);
    setrlimit(RLIMIT_NOFILE, &kept);
}

static void resume_by_hand(void *about)
{
    struct sl_worker *worker = about;
    uv_timer_cb resume = worker->resume.timer_cb;
    uv_timer_stop(&worker->resume);
    resume(&worker->resume);
}

WITH_ACCEPTOR(a_listener_that_cannot_be_watched_is_tried_again)
{
    struct sl_worker *worker = &stage.workers[0];
    int fd = knock();
    const char *said = said_by(turn_without_files, worker);
    assert_non_null(strstr(said, "cannot accept connections"));
    assert_false(uv_is_active((uv_handle_t *)&worker->accepts[0]));
    worker->paused_ms = 0;
    deaf_calls = 1;
    said = said_by(resume_by_hand, worker);
    assert_non_null(strstr(said, "cannot accept connections: not enough memory; trying again"));
    assert_true(uv_is_active((uv_handle_t *)&worker->resume)); /* not deaf for good */
    said = said_by(resume_by_hand, worker);
    assert_string_equal(said, "");
    assert_true(uv_is_active((uv_handle_t *)&worker->accepts[0]));
    stage_turn(worker);
    assert_int_equal(connections_of(0), 1);
    close(fd);
}

/* ---- shutting ---- */

WITH_ACCEPTOR(a_connection_that_waits_when_the_listener_closes_is_accepted)
{
    int waiting = knock();
    assert_true(send(waiting, GET("/readyz"), strlen(GET("/readyz")), 0) > 0);
    atomic_store(&stage.server.is_draining, true);
    for (size_t i = 0; i < 2; i++) {
        sl_worker_wake(&stage.workers[i]);
        stage_turn(&stage.workers[i]);
        assert_true(stage.workers[i].is_draining);
        assert_int_equal(stage.server.listenings[0].fds[i], -1);
    }
    assert_non_null(strstr(answer_on(waiting), "503 Service Unavailable"));
    int late = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(late, (const struct sockaddr *)&place, sizeof place), -1);
    close(late);
    close(waiting);
}
