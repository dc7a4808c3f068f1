/* sluice check: decides one request, here and now. */
#include <stddef.h>
#include <stdio.h>

#include "auth/user_id.h"
#include "cmd/input/load.h"
#include "cmd/input/offline_state.h"
#include "cmd/options.h"
#include "cmd/terminal/screen.h"
#include "limiter/limiter.h"
#include "rules/reading/attribute.h"
#include "wire/json/decision.h"

struct check {
    const char *rules;
    const char *resource, *user, *ip, *client, *tenant, *method, *tier;
    struct sl_attrs attrs;
    int32_t trust;
    uint32_t cost;
    uint64_t times;
    bool peek, explain, json;
    struct sl_sha256 *hasher; /* if the rules make ids of users; else NULL */
};

#define FIELD(name) offsetof(struct check, name)

static const struct sl_option options[] = {
    { "-c", "FILE", SL_OPTION_TEXT, FIELD(rules), "the rules file" },
    { "--resource", "R", SL_OPTION_TEXT, FIELD(resource), "a path or a dotted name" },
    { "--user", "U", SL_OPTION_TEXT, FIELD(user), "the user" },
    { "--ip", "I", SL_OPTION_TEXT, FIELD(ip), "the address" },
    { "--client", "C", SL_OPTION_TEXT, FIELD(client), "the client" },
    { "--tenant", "T", SL_OPTION_TEXT, FIELD(tenant), "the tenant" },
    { "--method", "M", SL_OPTION_TEXT, FIELD(method), "such as GET" },
    { "--tier", "T", SL_OPTION_TEXT, FIELD(tier), "one of the file's tiers" },
    { "--trust", "S", SL_OPTION_TRUST, FIELD(trust), "trust score, 0 to 1" },
    { "--attr", "NAME=VALUE", SL_OPTION_ATTRS, FIELD(attrs), "any other attribute; repeatable" },
    { "--cost", "N", SL_OPTION_COST, FIELD(cost), "units to take (1)" },
    { "--times", "N", SL_OPTION_TIMES, FIELD(times), "decide so many times (1)" },
    { "--peek", NULL, SL_OPTION_FLAG, FIELD(peek), "take nothing" },
    { "--explain", NULL, SL_OPTION_FLAG, FIELD(explain), "show every rule that matched" },
    { "--json", NULL, SL_OPTION_FLAG, FIELD(json), "one JSON object a line" },
    { 0 },
};

/* Checks that the name of each --attr is free and given once. Returns 0, or 2 after a
 * message. */
static int check_attrs(const struct sl_command *command, const struct sl_attrs *attrs)
{
    for (size_t i = 0; i < attrs->count; i++) {
        struct sluice_text name = attrs->at[i].name;
        size_t before = 0;
        while (before < i && !sl_text_equal(attrs->at[before].name, name))
            before++;
        if (!sl_attribute_is_free(name))
            return sl_command_wrong(command, "`%.*s` is not an attribute for `--attr`",
                                    (int)name.len, name.at);
        if (before < i)
            return sl_command_wrong(command, "`--attr %.*s` is given twice", (int)name.len,
                                    name.at);
    }
    return 0;
}

static struct sluice_request request_of(const struct check *check)
{
    struct sluice_request request = sluice_request();
    request.resource = sl_text(check->resource);
    request.user = sl_text(check->user);
    request.ip = sl_text(check->ip);
    request.client = sl_text(check->client);
    request.tenant = sl_text(check->tenant);
    request.method = sl_text(check->method);
    request.tier = sl_text(check->tier);
    request.others = check->attrs.at;
    request.other_count = check->attrs.count;
    request.trust_thousandths = check->trust;
    request.cost = check->cost;
    request.peek = check->peek;
    request.explain = check->explain;
    return request;
}

static void show_decision(const struct check *check, struct sl_limiter *limiter, uint64_t number,
                          const struct sluice_decision *decision)
{
    const struct sluice_explained *rows = NULL;
    size_t count = check->explain ? sl_limiter_explain(limiter, &rows) : 0;
    if (check->json) {
        struct sl_buffer line = sl_buffer(SIZE_MAX);
        sl_json_print_decision(&line, decision, rows, count);
        sl_buffer_add(&line, SL_TEXT("\n"));
        fwrite(line.at, 1, line.len, stdout);
        sl_buffer_release(&line);
        return;
    }
    sl_screen_decision(stdout, number, decision);
    for (size_t i = 0; i < count; i++)
        sl_screen_explained(stdout, &rows[i], decision->decided_at_us);
}

/* A store failure that the rules answer with deny is an error, not a denial. */
static int exit_after(int so_far, int status, const struct sluice_decision *decision)
{
    if (status != SLUICE_OK && !decision->allowed)
        return 2;
    return decision->allowed || so_far == 2 ? so_far : 1;
}

static int decide_all(const struct check *check, struct sl_limiter *limiter,
                      const struct sl_store_url *url, struct sl_store *store)
{
    int code = 0;
    uint64_t failed = 0;
    if (!check->json)
        sl_screen_header(stdout);
    for (uint64_t i = 1; i <= check->times && !ferror(stdout); i++) {
        struct sluice_request request = request_of(check);
        struct sluice_decision decision;
        char user_id[SL_DIGEST_HEX + 1];
        if (check->hasher)
            sl_user_id_apply(check->hasher, &request, user_id);
        int status = sl_limiter_decide(limiter, &request, &decision);
        if (status != SLUICE_OK && failed++ == 0)
            sl_say_store_failed(url, store, status);
        code = exit_after(code, status, &decision);
        show_decision(check, limiter, i, &decision);
    }
    return code;
}

static int run_check(const struct sl_command *command, int argc, char **argv)
{
    struct check check = { .trust = SLUICE_NO_TRUST, .cost = 1, .times = 1 };
    enum sl_parsed parsed = sl_options_parse(command, argc, argv, &check);
    if (parsed != SL_PARSED)
        return parsed == SL_PARSED_HELP ? 0 : 2;
    if (!check.rules)
        return sl_command_wrong(command, "which rules? name the file with `-c FILE`");
    if (check_attrs(command, &check.attrs) != 0)
        return 2;

    int code = 2;
    struct sl_store *store = NULL;
    struct sl_limiter *limiter = NULL;
    struct sl_offline_state kept;
    struct sl_sha256 *hasher = sl_sha256_new();
    if (!sl_offline_state_load(check.rules, &kept)) {
        sl_sha256_free(hasher);
        return 2;
    }
    store = sl_load_store(&kept.rules->settings.store, kept.rules);
    if (store && hasher)
        limiter = sl_limiter_new(kept.rules, store);
    if (limiter) {
        sl_limiter_set_users(limiter, kept.users);
        check.hasher = kept.rules->settings.identity.user_id_sha256_email_ip ? hasher : NULL;
        code = decide_all(&check, limiter, &kept.rules->settings.store, store);
    } else if (store) {
        fprintf(stderr, "sluice: out of memory\n");
    }
    sl_limiter_free(limiter);
    sl_store_close(store);
    sl_offline_state_release(&kept);
    sl_sha256_free(hasher);
    return code;
}

const struct sl_command sl_command_check = {
    .name = "check",
    .summary = "Decides a request against the rules.",
    .usage = "-c FILE [options]",
    .more =
        "Counts are those of the rules' store: with `memory:FILE` they are shared by all that use\n"
        "the file, and are kept; with `memory`, the default, every run starts afresh. What the\n"
        "admin API has changed counts too: rules, exemptions and what is known of users.\n\n"
        "Exit: 0 all allowed, 1 any denied, 2 error (a store failure under `deny` too).\n\n"
        "  sluice check -c examples/gateway.yaml --resource /api/videos --user u1 --times 3\n",
    .options = options,
    .run = run_check,
};
