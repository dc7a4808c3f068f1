/* Any bytes as what a client says over HTTP, from its first byte to the answers.
 *
 *   byte 0         which rules and visitor, and whether it also comes through a socket pair
 *   byte 1         where the pieces are cut
 *   the rest       what the client says
 *
 *   as many answers come as there are messages, by a plain walk over all the bytes;
 *   each is HTTP/1.1 as a strict client reads it, and JSON where it says so;
 *   the connection ends behind the message that ends it, and not before;
 *   said at once, in pieces or over a socket, the answers are the same;
 *   memory stays within its bounds, and all of it is given back.
 *
 * A client that waits to be asked for its body is told different things at different
 * splits, rightly; a server that is draining too. There only the form is checked. The
 * admin API is answered by a control plane of its own, as it was at the start for every run. */
#include <jansson.h>
#include <stdlib.h>

#include "fuzz/front_stages.h"
#include "unit/server/answers.h"
#include "wire/http/chunked.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum { BODY_MAX_BYTES = 1 << 20, QUESTIONS_MAX = 4096, SENT_AT_ONCE = 32768 };

/* ---- the messages, by a plain walk ---------------------------------------------------- */

struct question {
    bool is_head;
    bool is_last;
};

static struct walk {
    struct question questions[QUESTIONS_MAX];
    size_t count;
    bool expects; /* the client waits for 100 Continue */
} walk;

static void add_question(bool is_head, bool is_last)
{
    SL_CHECK(walk.count < QUESTIONS_MAX);
    walk.questions[walk.count++] = (struct question){ is_head, is_last };
}

/* Where the message at `at` ends, if it is whole; else NULL, after its last question. */
static char *walk_message(char *at, char *end)
{
    static struct sl_http_head head;
    struct sl_http_search search = { 0 };
    struct sl_http_wrong wrong = { 0 };
    struct sl_chunked chunks = { 0 };
    size_t len = sl_http_find_end(&search, (struct sluice_text){ at, (size_t)(end - at) }, &wrong);
    if (!len && !wrong.status)
        return NULL;
    bool good = len && sl_http_read_head((struct sluice_text){ at, len }, &head, &wrong);
    if (!good || head.length > BODY_MAX_BYTES) {
        add_question(false, true);
        return NULL;
    }
    walk.expects |= head.expects_continue;
    char *body = at + len, *rest = body + head.length;
    if (head.chunked) {
        rest = body;
        enum sl_chunked_end how =
            sl_chunked_read(&chunks, body, &rest, end, BODY_MAX_BYTES, &wrong);
        if (how == SL_CHUNKED_WRONG)
            add_question(false, true);
        if (how != SL_CHUNKED_DONE)
            return NULL;
    } else if (head.length > (size_t)(end - body)) {
        return NULL;
    }
    add_question(sl_text_is(head.method, "HEAD"), !head.keep_alive);
    return head.keep_alive ? rest : NULL;
}

static void walk_messages(struct sluice_text said)
{
    char *copy = malloc(said.len + 1), *end = copy + said.len;
    SL_CHECK(copy != NULL);
    if (said.len)
        memcpy(copy, said.at, said.len);
    walk.count = 0;
    walk.expects = false;
    for (char *at = copy; at && at < end;)
        at = walk_message(at, end);
    free(copy);
}

/* ---- the answers ----------------------------------------------------------------------- */

static void check_json(const struct answer *answer)
{
    struct sluice_text type = field_of(answer, "Content-Type");
    bool is_json =
        sl_text_is(type, "application/json") || sl_text_is(type, "application/problem+json");
    if (!is_json || answer->body.len == 0 || answer->body.len > 20000)
        return; /* the long one is always the same */
    json_t *json = json_loadb(answer->body.at, answer->body.len,
                              JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    SL_CHECK(json != NULL);
    json_decref(json);
}

static void check_status(uint32_t status)
{
    static const uint32_t known[] = { 100, 200, 201, 400, 401, 403, 404, 405, 409, 412, 413,
                                      414, 415, 417, 422, 429, 431, 499, 501, 503, 505 };
    bool found = false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        found |= status == known[i];
    SL_CHECK(found);
}

static void check_answers(const struct visitor *visitor, bool exactly)
{
    struct sluice_text rest = { visitor->got.at, visitor->got.len };
    struct answer answer;
    size_t count = 0;
    while (rest.len) {
        SL_CHECK(count < walk.count || !exactly);
        bool to_head = count < walk.count && walk.questions[count].is_head;
        SL_CHECK(next_answer(&rest, to_head, &answer));
        check_status(answer.status);
        check_json(&answer);
        if (exactly)
            SL_CHECK(answer.closes == walk.questions[count].is_last);
        count += answer.status != 100;
        if (answer.closes && !exactly)
            return; /* whether HEAD asked is not known of a body that was refused */
    }
    SL_CHECK(!exactly || count == walk.count);
    bool ends = walk.count && walk.questions[walk.count - 1].is_last;
    SL_CHECK(!exactly || visitor->conn->is_finished == ends);
}

/* A day is as long as any other. */
static void blank_dates(struct sl_buffer *got)
{
    const char *end = got->len ? got->at + got->len : NULL;
    for (char *at = got->at; end && (at = memmem(at, (size_t)(end - at), "\r\nDate: ", 8)); at += 8)
        memset(at + 8, '-', 29);
}

/* ---- saying it --------------------------------------------------------------------------- */

static uint64_t seed;

/* From 1 to `most`, and often little. */
static size_t draw(size_t most)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    size_t bound = seed >> 60 < 8 ? 4 : seed >> 60 < 12 ? 64 : most;
    return 1 + (size_t)(seed >> 20) % (bound < most ? bound : most);
}

/* The client waits for no delay: held answers are released. A turn with room and bytes always
 * moves. */
static void say(struct visitor *visitor, struct sluice_text bytes)
{
    struct sl_conn *conn = visitor->conn;
    while (bytes.len && !conn->is_finished) {
        cut(&bytes, visitor_put(visitor, bytes));
        visitor_turn(visitor);
        while (conn->held_from != SIZE_MAX)
            visitor_hold_ends(visitor);
        SL_CHECK(!conn->job);
        SL_CHECK(!conn->in || conn->in_end < conn->in_room || conn->in_start > 0);
        SL_CHECK(conn->in_room <= SL_CONN_IN_MAX_BYTES);
        SL_CHECK(conn->worker->round.call_count == 0 && conn->worker->round.request_count == 0);
    }
}

static struct visitor enter(enum variant variant)
{
    struct visitor visitor = visitor_enter(stage_of(variant));
    visitor_comes_from(&visitor, settings[variant].peer);
    start_store(variant == FAILING);
    return visitor;
}

static void leave(struct visitor *a, struct visitor *b)
{
    struct sl_worker *worker = a->conn->worker;
    visitor_leave(a);
    visitor_leave(b);
    SL_CHECK(worker->large_bytes == 0 && worker->blocks.free_count <= 8);
    uv_run(&worker->loop, UV_RUN_NOWAIT); /* holds that have ended */
}

static struct visitor say_at_once(enum variant variant, struct sluice_text said)
{
    struct visitor visitor = enter(variant);
    say(&visitor, said);
    visitor_forgets_time(&visitor);
    blank_dates(&visitor.got);
    return visitor;
}

static struct visitor say_in_pieces(enum variant variant, struct sluice_text said)
{
    struct visitor visitor = enter(variant);
    while (said.len)
        say(&visitor, cut(&said, draw(said.len)));
    visitor_forgets_time(&visitor);
    blank_dates(&visitor.got);
    return visitor;
}

/* ---- over a socket ------------------------------------------------------------------------ */

/* False: nothing happened. */
static bool caller_turn(struct caller *caller, struct sl_buffer *got)
{
    static char room[65536];
    bool was_here = caller_is_here(caller), moved = false;
    stage_turn(caller->worker);
    for (size_t len; (len = caller_reads(caller, room, sizeof room)) > 0; moved = true)
        sl_buffer_add(got, (struct sluice_text){ room, len });
    if (caller_is_here(caller) && caller->conn->hold) {
        uv_timer_t *timer = caller->conn->hold;
        timer->timer_cb(timer);
        moved = true;
    }
    return moved || was_here != caller_is_here(caller);
}

static struct sl_buffer say_over_a_socket(enum variant variant, struct sluice_text said)
{
    struct sl_worker *worker = &stage_of(variant)->workers[0];
    const char *peer = settings[variant].peer;
    struct sl_arrival arrival = { .is_local = !peer };
    struct sl_buffer got = sl_buffer(GOT_MAX_BYTES);
    size_t large_bytes = worker->large_bytes; /* the visitors are still there */
    SL_CHECK(!peer || sl_address_parse(sl_text(peer), &arrival.peer));
    start_store(variant == FAILING);
    struct caller caller = caller_enter(worker, arrival);
    while (said.len) {
        size_t most = said.len < SENT_AT_ONCE ? said.len : SENT_AT_ONCE;
        ssize_t count = send(caller.fd, said.at, most, MSG_NOSIGNAL);
        bool moved = caller_turn(&caller, &got);
        if (count < 0 && !moved)
            break; /* closed, or our last word was heard */
        cut(&said, count > 0 ? (size_t)count : 0);
    }
    while (caller_turn(&caller, &got))
        ;
    caller_leaves(&caller);
    SL_CHECK(!worker->all && !worker->ready && worker->large_bytes == large_bytes && !got.failed);
    blank_dates(&got);
    return got;
}

/* ---- the whole ---------------------------------------------------------------------------- */

static bool has(struct sluice_text text, const char *what)
{
    return text.len && memmem(text.at, text.len, what, strlen(what));
}

static void check_same(const struct sl_buffer *a, const struct sl_buffer *b)
{
    SL_CHECK(a->len == b->len && (a->len == 0 || memcmp(a->at, b->at, a->len) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len < 2)
        return 0;
    enum variant variant = ((bytes[0] & 3) | (bytes[0] >> 1 & 4)) % VARIANTS;
    struct sluice_text said = { (const char *)bytes + 2, len - 2 };
    seed = bytes[1];
    walk_messages(said);
    bool exactly = !walk.expects && variant != DRAINING;
    /* Counts go on from run to run, accounts grow older, and keys are made at random. */
    bool is_same =
        exactly && !has(said, "/metrics") && !has(said, "/v1/users") && !has(said, "/keys");
    struct visitor whole = say_at_once(variant, said), pieces = say_in_pieces(variant, said);
    check_answers(&whole, exactly);
    check_answers(&pieces, exactly);
    if (is_same)
        check_same(&whole.got, &pieces.got);
    if (bytes[0] & 4) {
        struct sl_buffer got = say_over_a_socket(variant, said);
        if (is_same)
            check_same(&whole.got, &got);
        sl_buffer_release(&got);
    }
    leave(&whole, &pieces);
    return 0;
}
