/* sluice replay: decides a trace at the times it gives.
 *
 * Prints one line of JSON for each line read, in the same order, so that the two
 * can be compared line by line; a malformed line gets an error in its place, and
 * the rest is still decided. */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "auth/user_id.h"
#include "base/clock.h"
#include "cmd/input/lines.h"
#include "cmd/input/load.h"
#include "cmd/options.h"
#include "cmd/terminal/screen.h"
#include "limiter/limiter.h"
#include "rules/store_url.h"
#include "wire/json/decision.h"
#include "wire/json/request.h"

struct replay {
    const char *rules;
    const char *store;
    const char *trace;
};

static const struct sl_option options[] = {
    { "-c", "FILE", SL_OPTION_TEXT, offsetof(struct replay, rules), "the rules file" },
    { "--store", "URL", SL_OPTION_TEXT, offsetof(struct replay, store),
      "decide on this store (a private memory store)" },
    { "TRACE", NULL, SL_OPTION_OPERAND, offsetof(struct replay, trace),
      "JSON lines; standard input if left out or -" },
    { 0 },
};

struct replay_tally {
    uint64_t allowed;
    uint64_t denied;
};

struct player {
    const struct sl_ruleset *rules;
    struct sl_store_url url; /* of the store; zero: private */
    struct sl_store *store;
    struct sl_limiter *limiter;
    struct sl_sha256 *hasher;
    struct sl_buffer out;
    struct sl_json_room room;
    uint64_t lines;
    uint64_t malformed;
    uint64_t failed; /* the store did not answer */
    struct replay_tally all;
    struct replay_tally *by_rule; /* of the file, by index */
};

static void refuse_line(struct player *player, const char *error)
{
    player->malformed++;
    sl_buffer_add(&player->out, SL_TEXT("{\"line\": "));
    sl_buffer_add_i64(&player->out, (int64_t)player->lines);
    sl_buffer_add(&player->out, SL_TEXT(", \"error\": "));
    sl_json_print_string(&player->out, sl_text(error));
    sl_buffer_add(&player->out, SL_TEXT("}\n"));
}

static void count_decision(struct player *player, const struct sluice_decision *decision,
                           const struct sluice_explained *rows, size_t row_count)
{
    const struct sl_rule *const *matched;
    sl_limiter_matched(player->limiter, &matched);
    decision->allowed ? player->all.allowed++ : player->all.denied++;
    for (size_t i = 0; i < row_count; i++) {
        struct replay_tally *tally = &player->by_rule[matched[i]->index];
        rows[i].allowed ? tally->allowed++ : tally->denied++;
    }
}

static void play_line(struct player *player, struct sl_input_line *line)
{
    struct sluice_request request;
    player->lines++;
    if (line->too_long) {
        refuse_line(player, "the line is longer than 65536 bytes");
        return;
    }
    if (!sl_json_read_request(line->at, line->len, &player->room, &request)) {
        refuse_line(player, player->room.error);
        return;
    }
    if (request.at_us == SLUICE_NOW) {
        refuse_line(player, "`at_us` is missing: a replay decides at the times of its trace");
        return;
    }
    struct sluice_decision decision;
    const struct sluice_explained *rows = NULL;
    char user_id[SL_DIGEST_HEX + 1];
    if (player->rules->settings.identity.user_id_sha256_email_ip)
        sl_user_id_apply(player->hasher, &request, user_id);
    int status = sl_limiter_decide(player->limiter, &request, &decision);
    if (status != SLUICE_OK && player->failed++ == 0)
        sl_say_store_failed(&player->url, player->store, status);
    size_t row_count = sl_limiter_explain(player->limiter, &rows);
    count_decision(player, &decision, rows, row_count);
    sl_json_print_decision(&player->out, &decision, request.explain ? rows : NULL, row_count);
    sl_buffer_add(&player->out, SL_TEXT("\n"));
}

static bool flush(struct player *player)
{
    size_t len = player->out.len;
    bool good = !player->out.failed && (len == 0 || fwrite(player->out.at, 1, len, stdout) == len);
    sl_buffer_clear(&player->out);
    return good;
}

static bool play_all(struct player *player, struct sl_lines *lines)
{
    enum { FLUSH_BYTES = 64 * 1024 };
    struct sl_progress progress;
    struct sl_input_line line;
    bool good = true;
    sl_progress_start(&progress, lines->size);
    while (good && sl_lines_next(lines, &line)) {
        play_line(player, &line);
        /* Print what is decided before waiting for the next line. */
        bool read_up = lines->start == lines->end;
        if (player->out.len >= FLUSH_BYTES || read_up) {
            good = flush(player) && (!read_up || fflush(stdout) == 0);
            sl_progress_step(&progress, lines->bytes, player->lines);
        }
    }
    good = flush(player) && fflush(stdout) == 0 && good;
    sl_progress_end(&progress);
    return good;
}

static void summarise(const struct player *player, int64_t took_ns)
{
    double seconds = (double)took_ns / 1e9;
    fprintf(stderr,
            "%" PRIu64 " line%s in %.2f s: %" PRIu64 " allowed, %" PRIu64 " denied, %" PRIu64
            " malformed\n",
            player->lines, player->lines == 1 ? "" : "s", seconds, player->all.allowed,
            player->all.denied, player->malformed);
    bool header = false;
    for (size_t i = 0; i < player->rules->rule_count; i++) {
        const struct replay_tally *tally = &player->by_rule[i];
        const struct sl_rule *rule = &player->rules->rules[i];
        if (tally->allowed + tally->denied == 0)
            continue;
        if (!header)
            fprintf(stderr, "  %-24s %-23s %12s %12s\n", "rule", "algorithm", "allows", "denies");
        header = true;
        fprintf(stderr, "  %-24s %-23s %12" PRIu64 " %12" PRIu64 "%s\n", rule->name,
                rule->algo->name, tally->allowed, tally->denied, rule->shadow ? "  shadow" : "");
    }
}

static int replay_with(struct player *player, const char *trace)
{
    struct sl_lines lines;
    if (!sl_lines_open(&lines, trace)) {
        fprintf(stderr, "sluice: cannot read the trace `%s`: %s\n", trace ? trace : "-",
                strerror(errno));
        return 2;
    }
    if (!trace && isatty(STDIN_FILENO))
        fprintf(stderr, "sluice: reading the trace from the terminal; end it with Ctrl-D\n");
    int64_t started_ns = sl_monotonic_ns();
    bool written = play_all(player, &lines);
    sl_lines_close(&lines);
    if (!written) {
        perror("sluice: writing");
        clearerr(stdout); /* reported here; main shall not report it again */
        return 2;
    }
    summarise(player, sl_monotonic_ns() - started_ns);
    if (lines.error) {
        fprintf(stderr, "sluice: reading the trace: %s\n", strerror(lines.error));
        return 2;
    }
    return player->malformed || player->failed ? 2 : 0;
}

/* Opens a private store, or the one that --store names. */
static struct sl_store *open_store(const char *url, struct sl_ruleset *rules,
                                   struct sl_store_url *out)
{
    if (!url) {
        struct sl_store *store = sl_heap_open();
        if (!store)
            fprintf(stderr, "sluice: out of memory\n");
        return store;
    }
    const char *wrong = sl_store_url_parse(&rules->arena, sl_text(url), SL_TEXT(""), out);
    if (wrong) {
        /* Not the URL itself: it may hold a password. */
        fprintf(stderr, "sluice: `--store`: %s\n", wrong);
        return NULL;
    }
    return sl_load_store(out, rules);
}

static int run_replay(const struct sl_command *command, int argc, char **argv)
{
    struct replay replay = { 0 };
    enum sl_parsed parsed = sl_options_parse(command, argc, argv, &replay);
    if (parsed != SL_PARSED)
        return parsed == SL_PARSED_HELP ? 0 : 2;
    if (!replay.rules)
        return sl_command_wrong(command, "which rules? name the file with `-c FILE`");

    int code = 2;
    struct player player = { .out = sl_buffer(SIZE_MAX) };
    struct sl_store *store = NULL;
    struct sl_ruleset *rules = sl_load_rules(replay.rules);
    if (rules)
        store = open_store(replay.store, rules, &player.url);
    if (store) {
        player.rules = rules;
        player.store = store;
        player.limiter = sl_limiter_new(rules, store);
        player.hasher = sl_sha256_new();
        player.by_rule = calloc(rules->rule_count + 1, sizeof *player.by_rule);
    }
    if (player.limiter && player.by_rule && player.hasher)
        code = replay_with(&player, replay.trace);
    else if (store)
        fprintf(stderr, "sluice: out of memory\n");
    free(player.by_rule);
    sl_sha256_free(player.hasher);
    sl_limiter_free(player.limiter);
    sl_store_close(store);
    sl_ruleset_free(rules);
    sl_buffer_release(&player.out);
    return code;
}

const struct sl_command sl_command_replay = {
    .name = "replay",
    .summary = "Decides a trace of requests at the times it gives.",
    .usage = "-c FILE [--store URL] [TRACE]",
    .more = "A trace line:\n"
            "  {\"at_us\": 1700000000000000, \"resource\": \"/api/videos\", \"user\": \"u1\"}\n\n"
            "One decision a line on standard output, the summary on standard error.\n"
            "Exit: 0, or 2 if a line was malformed; denials do not change it.\n",
    .options = options,
    .run = run_replay,
};
