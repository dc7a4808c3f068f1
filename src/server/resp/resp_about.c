/* INFO, TIME and CONFIG GET: facts about the server. */
#include <pthread.h>
#include <unistd.h>

#include "base/clock.h"
#include "server/resp/resp.h"
#include "server/worker.h"

/* ---- INFO ---- */

/* Other workers' limiters are not freed while the lock is held. */
static uint64_t count_decisions(struct sl_server *server)
{
    uint64_t sum = 0;
    pthread_mutex_lock(&server->counts_lock);
    for (size_t i = 0; i < server->worker_count; i++) {
        const struct sl_limiter *limiter = server->workers[i].edition->limiters[i];
        const struct sl_counts *counts = sl_limiter_counts(limiter);
        for (size_t k = 0; k < SL_REASON_COUNT; k++)
            sum += sl_count_read(&counts->decisions[k][false]) +
                   sl_count_read(&counts->decisions[k][true]);
    }
    pthread_mutex_unlock(&server->counts_lock);
    return sum;
}

static uint64_t count_commands(const struct sl_server *server)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < server->worker_count; i++)
        sum += sl_count_read(&server->workers[i].traffic.commands);
    return sum;
}

static void add_line(struct sl_buffer *out, struct sluice_text name, uint64_t value)
{
    sl_buffer_add(out, name);
    sl_buffer_add_i64(out, (int64_t)value);
    sl_buffer_add(out, SL_TEXT("\r\n"));
}

static void add_server(struct sl_buffer *out, struct sl_server *server)
{
    int64_t up_us = sl_walltime_us() - server->started_us;
    sl_buffer_add(out, SL_TEXT("redis_version:" SL_RESP_REDIS_VERSION "\r\n"
                               "redis_mode:standalone\r\n"
                               "sluice_version:" SLUICE_VERSION "\r\n"));
    add_line(out, SL_TEXT("process_id:"), (uint64_t)getpid());
    add_line(out, SL_TEXT("uptime_in_seconds:"), up_us > 0 ? (uint64_t)up_us / 1000000 : 0);
}

static void add_clients(struct sl_buffer *out, struct sl_server *server)
{
    add_line(out, SL_TEXT("connected_clients:"), atomic_load(&server->open));
}

static void add_persistence(struct sl_buffer *out, struct sl_server *server)
{
    (void)server;
    sl_buffer_add(out, SL_TEXT("loading:0\r\n"));
}

static void add_stats(struct sl_buffer *out, struct sl_server *server)
{
    add_line(out, SL_TEXT("total_commands_processed:"), count_commands(server));
    add_line(out, SL_TEXT("sluice_decisions:"), count_decisions(server));
}

static void add_replication(struct sl_buffer *out, struct sl_server *server)
{
    (void)server;
    sl_buffer_add(out, SL_TEXT("role:master\r\nconnected_slaves:0\r\n"));
}

static const struct section {
    struct sluice_text name; /* as it is asked for, */
    struct sluice_text title;
    void (*add)(struct sl_buffer *out, struct sl_server *server);
} sections[] = {
    { SL_TEXT("server"), SL_TEXT("# Server\r\n"), add_server },
    { SL_TEXT("clients"), SL_TEXT("# Clients\r\n"), add_clients },
    { SL_TEXT("persistence"), SL_TEXT("# Persistence\r\n"), add_persistence },
    { SL_TEXT("stats"), SL_TEXT("# Stats\r\n"), add_stats },
    { SL_TEXT("replication"), SL_TEXT("# Replication\r\n"), add_replication },
};

static bool is_asked_for(const struct sl_resp_ask *ask, const struct section *section)
{
    static const struct sluice_text all[] = { SL_TEXT("all"), SL_TEXT("default"),
                                              SL_TEXT("everything") };
    for (size_t i = 1; i < ask->count; i++) {
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            if (sl_resp_word_is(ask->args[i], all[k]))
                return true;
        if (sl_resp_word_is(ask->args[i], section->name))
            return true;
    }
    return ask->count == 1;
}

void sl_resp_info(struct sl_resp_ask *ask)
{
    struct sl_server *server = ask->message.conn->worker->server;
    char room[2048];
    struct sl_buffer text = { .at = room, .room = sizeof room, .most = sizeof room };
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        if (!is_asked_for(ask, &sections[i]))
            continue;
        if (text.len)
            sl_buffer_add(&text, SL_TEXT("\r\n"));
        sl_buffer_add(&text, sections[i].title);
        sections[i].add(&text, server);
    }
    sl_resp_print_verbatim(sl_resp_begin(ask), (struct sluice_text){ text.at, text.len });
    sl_resp_end(ask);
}

/* ---- TIME ---- */

static void print_digits(struct sl_resp_out out, int64_t number)
{
    char room[24];
    struct sl_buffer digits = { .at = room, .room = sizeof room, .most = sizeof room };
    sl_buffer_add_i64(&digits, number);
    sl_resp_print_bulk(out, (struct sluice_text){ room, digits.len });
}

void sl_resp_time(struct sl_resp_ask *ask)
{
    int64_t now_us = sl_walltime_us();
    struct sl_resp_out out = sl_resp_begin(ask);
    sl_resp_print_array(out, 2);
    print_digits(out, now_us / 1000000);
    print_digits(out, now_us % 1000000);
    sl_resp_end(ask);
}

/* ---- CONFIG ---- */

/* The settings that benchmarks ask for before they begin: Sluice has no saving like Redis'. */
static const struct setting {
    struct sluice_text name, value;
} settings[] = {
    { SL_TEXT("save"), SL_TEXT("") },
    { SL_TEXT("appendonly"), SL_TEXT("no") },
};

static bool is_wanted(const struct sl_resp_ask *ask, const struct setting *setting)
{
    for (size_t i = 2; i < ask->count; i++)
        if (sl_text_is(ask->args[i], "*") || sl_resp_word_is(ask->args[i], setting->name))
            return true;
    return false;
}

static void get_config(struct sl_resp_ask *ask)
{
    size_t count = 0, all = sizeof settings / sizeof *settings;
    for (size_t i = 0; i < all; i++)
        count += is_wanted(ask, &settings[i]);
    struct sl_resp_out out = sl_resp_begin(ask);
    sl_resp_print_map(out, count);
    for (size_t i = 0; i < all; i++) {
        if (!is_wanted(ask, &settings[i]))
            continue;
        sl_resp_print_bulk(out, settings[i].name);
        sl_resp_print_bulk(out, settings[i].value);
    }
    sl_resp_end(ask);
}

const struct sl_resp_row sl_resp_config_rows[] = {
    { SL_TEXT("get"), -3, SL_RESP_ADMIN, get_config, .since = "2.0.0",
      .summary = "`save` and `appendonly`, for clients that expect them" },
    { SL_TEXT("help"), 2, 0, sl_resp_help, .since = "5.0.0", .summary = "This list" },
    { .arity = 0 },
};
