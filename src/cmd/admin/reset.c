/* sluice reset and sluice reload: reset counts, and read files again. */
#include <stdio.h>

#include "base/error.h"
#include "cmd/admin/admin.h"

static bool put_attrs(json_t *body, const struct sl_attrs *attrs)
{
    bool good = true;
    for (size_t i = 0; i < attrs->count && good; i++) {
        struct sluice_text name = attrs->at[i].name, value = attrs->at[i].value;
        good =
            json_object_setn_new(body, name.at, name.len, json_stringn(value.at, value.len)) == 0;
    }
    return good;
}

static bool print_caller(const struct sl_admin *args, struct sl_buffer *out,
                         struct sluice_error *error)
{
    json_t *body = json_object();
    bool good = sl_admin_put(body, "rule", args->rule) &&
                sl_admin_put(body, "resource", args->resource) &&
                sl_admin_put(body, "user", args->user) && sl_admin_put(body, "ip", args->ip) &&
                sl_admin_put(body, "client", args->client_id) &&
                sl_admin_put(body, "tenant", args->tenant) &&
                sl_admin_put(body, "method", args->method) && put_attrs(body, &args->attrs);
    if (good && json_object_size(body) == 0) {
        json_decref(body); /* it would reset the rules that count all callers together */
        return sl_error_say(error, "whose counts? give `--rule` or the caller, such as "
                                   "`--user u1`");
    }
    return sl_admin_print(body, good, out, error);
}

static bool show_reset(const struct sl_admin_reply *reply)
{
    const json_t *rules = json_object_get(reply->json, "reset");
    bool dry = reply->args->dry_run;
    if (!json_is_array(rules))
        return false;
    if (json_array_size(rules) == 0)
        printf("no rule matches: there is nothing to reset\n");
    else
        printf("%s: %s\n", dry ? "dry run: would be reset" : "reset", sl_cell(reply->arena, rules));
    return true;
}

static bool show_reload(const struct sl_admin_reply *reply)
{
    const json_t *rules = json_object_get(reply->json, "rules");
    if (!json_is_integer(rules))
        return false;
    printf("the files are read again; %lld rule%s\n", (long long)json_integer_value(rules),
           json_integer_value(rules) == 1 ? "" : "s");
    return true;
}

/* ---- the commands ------------------------------------------------------------ */

static const struct sl_option reset_options[] = {
    { "--rule", "NAME", SL_OPTION_TEXT, SL_ADMIN_FIELD(rule),
      "of this rule; else of every rule that matches" },
    { "--resource", "R", SL_OPTION_TEXT, SL_ADMIN_FIELD(resource), "a path or a dotted name" },
    { "--user", "U", SL_OPTION_TEXT, SL_ADMIN_FIELD(user), "the user" },
    { "--ip", "I", SL_OPTION_TEXT, SL_ADMIN_FIELD(ip), "the address" },
    { "--client", "C", SL_OPTION_TEXT, SL_ADMIN_FIELD(client_id), "the client" },
    { "--tenant", "T", SL_OPTION_TEXT, SL_ADMIN_FIELD(tenant), "the tenant" },
    { "--method", "M", SL_OPTION_TEXT, SL_ADMIN_FIELD(method), "such as GET" },
    { "--attr", "NAME=VALUE", SL_OPTION_ATTRS, SL_ADMIN_FIELD(attrs),
      "any other attribute; repeatable" },
    SL_ADMIN_DRY_RUN,
    SL_ADMIN_SERVER,
};
static const struct sl_option reload_options[] = { SL_ADMIN_SERVER };

const struct sl_admin_call sl_call_reset = {
    SL_ADMIN_COMMAND("reset", "[--rule NAME] [options]",
                     "Resets what a running server has counted for a caller.", reset_options,
                     "\n  sluice reset --rule api --user u1 --tenant acme\n"),
    .method = "POST",
    .path = "/v1/reset",
    .body = print_caller,
    .show = show_reset,
};

const struct sl_admin_call sl_call_reload = {
    SL_ADMIN_COMMAND("reload", "[options]", "Lets a running server read its files again.",
                     reload_options, ""),
    .method = "POST",
    .path = "/v1/reload",
    .show = show_reload,
};
