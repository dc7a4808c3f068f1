/* Requests whose claims live on several nodes of a fake cluster, asked over a channel. */
#ifndef TEST_STORE_SCATTERED_H
#define TEST_STORE_SCATTERED_H

#include "store/redis/ask.h"
#include "store/redis/channel.h"
#include "store/redis/redis.h"
#include "unit/store/fake_cluster.h"

static struct sl_channel *channel;

static inline void channel_is_ready(int fd)
{
    sl_channel_on_ready(channel, fd);
}

static inline void channel_is_due(void)
{
    sl_channel_on_time(channel);
}

static inline int open_channel(void **unused)
{
    (void)unused;
    struct sl_link_host host = { NULL, watch_one, wake_at, false, NULL, NULL };
    open_cluster();
    tell_ready = channel_is_ready;
    tell_time = channel_is_due;
    channel = sl_channel_new(&shared, &host);
    assert_non_null(channel);
    sl_channel_open(channel);
    greet_all();
    assert_true(sl_channel_is_up(channel));
    return 0;
}

static inline int close_channel(void **unused)
{
    (void)unused;
    sl_channel_free(channel);
    close_cluster();
    return 0;
}

static inline bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

/* ---- requests ---- */

enum { LIMIT = 5, CLAIMS_MAX = 4 };

static char keys[NODES][32];
static struct sl_claim_name names[CLAIMS_MAX];
static struct sl_claim claims[CLAIMS_MAX];
static struct sl_bundle bundle;
static struct sl_parcel parcel;
static int parcels_done;

static inline void on_parcel(struct sl_parcel *done)
{
    (void)done;
    parcels_done++;
}

/* A key in the middle of a node's slots: "rl:-:n2:{17}". */
static inline void name_keys(void)
{
    for (size_t n = 0; n < NODES; n++)
        for (int i = 0;; i++) {
            snprintf(keys[n], sizeof keys[n], "rl:-:n%zu:{%d}", n, i);
            if (node_of(sl_slot_of(sl_text(keys[n]))) == n)
                break;
        }
}

/* One claim on each of these nodes, in this order. */
static inline void make_claims(const size_t *nodes, size_t count)
{
    name_keys();
    for (size_t i = 0; i < count; i++) {
        names[i] = (struct sl_claim_name){ .key = sl_text(keys[nodes[i]]) };
        claims[i] = (struct sl_claim){ .algo = &sl_fixed_window, .name = &names[i] };
        claims[i].limit.capacity = LIMIT;
        claims[i].limit.window_us = 60 * S;
    }
    bundle = (struct sl_bundle){ .now_us = -1,
                                 .cost = 1,
                                 .max_delay_us = -1,
                                 .claims = claims,
                                 .claim_count = count,
                                 .status = 99 };
}

/* Asks; what the claims are called is gone then. */
static inline void ask(void)
{
    parcels_done = 0;
    parcel = (struct sl_parcel){ .bundles = &bundle, .count = 1, .done = on_parcel };
    sl_channel_decide(channel, &parcel);
    sl_channel_flush(channel);
    memset(names, 0, sizeof names);
}

static const size_t all[] = { 0, 1, 2 };

static inline void ask_all_three(void)
{
    make_claims(all, 3);
    ask();
}

/* The node's script has found so many counted in this window, and decides. */
static inline void answer(size_t node, int64_t counted)
{
    int64_t window_us = redis_us() / (60 * S) * (60 * S);
    say_packed_at(node, (int64_t[]){ redis_us(), counted < LIMIT, window_us, counted, 0 }, 5);
}

/* The same, to a peek. */
static inline void answer_look(size_t node, int64_t counted)
{
    int64_t window_us = redis_us() / (60 * S) * (60 * S);
    say_packed_at(node, (int64_t[]){ redis_us(), 0, window_us, counted, 0 }, 5);
}

static inline void expect_call(size_t node, const char *what)
{
    const char *text = heard_at(node);
    if (!has(text, "CALL 1 ") || !has(text, what))
        fail_msg("node %zu heard \"%s\", not \"%s\"", node, text, what);
}

static inline void expect_nothing(size_t node)
{
    assert_string_equal(heard_at(node), "");
}

static inline void expect_done(int status, bool allowed)
{
    assert_int_equal(parcels_done, 1);
    assert_int_equal(bundle.status, status);
    if (status == SLUICE_OK)
        assert_int_equal(bundle.allowed, allowed);
}

#define ON_A_CHANNEL(test) TEST_WITH(test, open_channel, close_channel)

#endif
