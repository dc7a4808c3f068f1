/* sluice tenant: tenants with their keys. */
#include <stdio.h>

#include "base/error.h"
#include "cmd/admin/admin.h"

/* To the server, no tier means none: a forgotten option must not delete the tier. */
static bool print_tenant(const struct sl_admin *args, struct sl_buffer *out,
                         struct sluice_error *error)
{
    if (!args->tier == !args->no_tier)
        return sl_error_say(error, "which tier? say `--tier TIER`, or `--no-tier`");
    json_t *body = json_object();
    bool good = sl_admin_put(body, "tier", args->tier);
    if (args->no_tier)
        json_object_set_new(body, "tier", json_null());
    return sl_admin_print(body, good, out, error);
}

static bool print_new_key(const struct sl_admin *args, struct sl_buffer *out,
                          struct sluice_error *error)
{
    json_t *body = json_object();
    bool good = sl_admin_put(body, "label", args->label) &&
                sl_admin_put(body, "tier", args->tier) &&
                sl_admin_put(body, "sha256", args->sha256);
    return sl_admin_print(body, good, out, error);
}

/* ---- answers ----------------------------------------------------------------- */

static void add_tenant(struct sl_columns *table, const json_t *row)
{
    static const char *const fields[] = { "name", "tier", "keys", "rules", "etag" };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        sl_columns_add(table, sl_cell_of(&table->arena, row, fields[i]));
}

static bool show_list(const struct sl_admin_reply *reply)
{
    static const char *const headings[] = { "NAME", "TIER", "KEYS", "RULES", "ETAG", NULL };
    return sl_admin_show_rows(reply, "tenants", headings, add_tenant);
}

static void add_key(struct sl_columns *table, const json_t *key)
{
    sl_columns_add(table, sl_cell_of(&table->arena, key, "id"));
    sl_columns_add(table, sl_cell_of(&table->arena, key, "label"));
    sl_columns_add(table, sl_cell_of(&table->arena, key, "tier"));
    sl_columns_add(table, sl_cell_moment(&table->arena, json_object_get(key, "created_at")));
    sl_columns_add(table, sl_cell_of(&table->arena, key, "sha256"));
}

static bool show_one(const struct sl_admin_reply *reply)
{
    static const char *const headings[] = { "KEY", "LABEL", "TIER", "CREATED", "SHA-256", NULL };
    if (!sl_member(reply->json, "name") || !json_is_array(json_object_get(reply->json, "keys")))
        return false;
    printf("tenant `%s`\n", sl_cell_of(reply->arena, reply->json, "name"));
    printf("  %-8s %s\n", "tier", sl_cell_of(reply->arena, reply->json, "tier"));
    printf("  %-8s %s\n", "rules", sl_cell_of(reply->arena, reply->json, "rules"));
    printf("  %-8s %s\n\n", "etag", sl_cell_of(reply->arena, reply->json, "etag"));
    return sl_admin_show_rows(reply, "keys", headings, add_key);
}

/* Prints the key to standard output, and the note about it to standard error. */
static bool show_key(const struct sl_admin_reply *reply)
{
    static const char *const fields[] = { "key", "id", "label", "tier", "sha256" };
    if (!sl_member(reply->json, "id"))
        return false;
    if (reply->args->dry_run)
        printf("dry run: a key would be made\n");
    for (size_t i = 0; i < sizeof fields / sizeof *fields && !reply->args->dry_run; i++)
        if (sl_member(reply->json, fields[i]))
            printf("%-8s %s\n", fields[i], sl_cell_of(reply->arena, reply->json, fields[i]));
    fflush(stdout);
    if (sl_member(reply->json, "key") && !reply->args->dry_run)
        fprintf(stderr, "keep the key now: it is not shown again\n");
    return true;
}

/* ---- the commands ------------------------------------------------------------ */

#define NAME SL_ADMIN_NAME("tenant")

static const struct sl_option list_options[] = { SL_ADMIN_SERVER };
static const struct sl_option show_options[] = { NAME, SL_ADMIN_SERVER };
static const struct sl_option set_options[] = {
    NAME,
    { "--tier", "TIER", SL_OPTION_TEXT, SL_ADMIN_FIELD(tier), "the tier of its requests" },
    { "--no-tier", NULL, SL_OPTION_FLAG, SL_ADMIN_FIELD(no_tier), "none" },
    SL_ADMIN_SET_END,
};
static const struct sl_option delete_options[] = { NAME, SL_ADMIN_DELETE_END };
static const struct sl_option key_add_options[] = {
    NAME,
    { "--label", "TEXT", SL_OPTION_TEXT, SL_ADMIN_FIELD(label), "what it is for" },
    { "--tier", "TIER", SL_OPTION_TEXT, SL_ADMIN_FIELD(tier), "a tier of its own" },
    { "--sha256", "HEX", SL_OPTION_TEXT, SL_ADMIN_FIELD(sha256),
      "the digest of a key that only its owner knows" },
    SL_ADMIN_DRY_RUN,
    SL_ADMIN_SERVER,
};
static const struct sl_option key_remove_options[] = {
    NAME,
    SL_ADMIN_OPERAND("ID", "key", "its id", second),
    SL_ADMIN_DRY_RUN,
    SL_ADMIN_SERVER,
};

static const struct sl_admin_call list = {
    SL_ADMIN_COMMAND("tenant list", "[options]", "Lists the tenants.", list_options, ""),
    .method = "GET",
    .path = "/v1/tenants",
    .show = show_list,
};

static const struct sl_admin_call show = {
    SL_ADMIN_COMMAND("tenant show", "NAME", "Shows a tenant with its keys' digests.", show_options,
                     ""),
    .method = "GET",
    .path = "/v1/tenants/{name}",
    .show = show_one,
};

static const struct sl_admin_call set = {
    SL_ADMIN_COMMAND("tenant set", "NAME (--tier TIER | --no-tier) [options]",
                     "Creates a tenant, or changes its tier.", set_options, ""),
    .method = "PUT",
    .path = "/v1/tenants/{name}",
    .body = print_tenant,
    .show = sl_admin_show_put,
    .noun = "tenant",
    .verb = "changed",
};

static const struct sl_admin_call delete = {
    SL_ADMIN_COMMAND("tenant delete", "NAME [options]",
                     "Deletes a tenant with its keys and its own rules.", delete_options, ""),
    .method = "DELETE",
    .path = "/v1/tenants/{name}",
    .show = sl_admin_show_gone,
    .noun = "tenant",
    .verb = "deleted",
};

static const struct sl_admin_call key_add = {
    SL_ADMIN_COMMAND("tenant key add", "NAME [options]", "Makes a key, and shows it this once.",
                     key_add_options, "\n  sluice tenant key add acme --label ci\n"),
    .method = "POST",
    .path = "/v1/tenants/{name}/keys",
    .body = print_new_key,
    .show = show_key,
};

static const struct sl_admin_call key_remove = {
    SL_ADMIN_COMMAND("tenant key remove", "NAME ID [options]", "Ends a key, at once.",
                     key_remove_options, ""),
    .method = "DELETE",
    .path = "/v1/tenants/{name}/keys/{second}",
    .show = sl_admin_show_gone,
    .noun = "key",
    .verb = "removed",
};

static const struct sl_command *const key_members[] = {
    &key_add.command,
    &key_remove.command,
    NULL,
};

static const struct sl_command key = {
    .name = "tenant key",
    .summary = "Makes and ends a tenant's keys.",
    .members = key_members,
    .run = sl_command_choose,
};

static const struct sl_command *const members[] = {
    &list.command, &show.command, &set.command, &delete.command, &key, NULL,
};

const struct sl_command sl_command_tenant = {
    .name = "tenant",
    .summary = "Lists and changes tenants and their keys on a running server.",
    .members = members,
    .run = sl_command_choose,
};
