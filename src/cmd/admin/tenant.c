/* sluice tenant: tenants with their keys. */
#include <stdio.h>

#include "base/error.h"
#include "cmd/admin/admin.h"

/* The server takes no tier for none: that must not happen for want of an option. */
static bool tenant(const struct sl_admin *asked, struct sl_buffer *out, struct sluice_error *error)
{
    if (!asked->tier == !asked->no_tier)
        return sl_error_say(error, "which tier? say `--tier TIER`, or `--no-tier`");
    json_t *body = json_object();
    bool good = sl_admin_put(body, "tier", asked->tier);
    if (asked->no_tier)
        json_object_set_new(body, "tier", json_null());
    return sl_admin_print(body, good, out, error);
}

static bool new_key(const struct sl_admin *asked, struct sl_buffer *out, struct sluice_error *error)
{
    json_t *body = json_object();
    bool good = sl_admin_put(body, "label", asked->label) &&
                sl_admin_put(body, "tier", asked->tier) &&
                sl_admin_put(body, "sha256", asked->sha256);
    return sl_admin_print(body, good, out, error);
}

/* ---- answers ----------------------------------------------------------------- */

static bool show_list(const struct sl_admin_reply *reply)
{
    static const char *const headings[] = { "NAME", "TIER", "KEYS", "RULES", "ETAG", NULL };
    static const char *const fields[] = { "name", "tier", "keys", "rules", "etag" };
    const json_t *rows = json_object_get(reply->json, "tenants");
    struct sl_columns table;
    if (!json_is_array(rows))
        return false;
    sl_columns_init(&table, headings);
    for (size_t i = 0; i < json_array_size(rows) * table.columns; i++)
        sl_columns_add(&table, sl_cell_of(&table.arena, json_array_get(rows, i / table.columns),
                                          fields[i % table.columns]));
    sl_columns_print(&table, stdout);
    sl_columns_release(&table);
    return true;
}

static void show_keys(const json_t *keys)
{
    static const char *const headings[] = { "KEY", "LABEL", "TIER", "CREATED", "SHA-256", NULL };
    struct sl_columns table;
    sl_columns_init(&table, headings);
    for (size_t i = 0; i < json_array_size(keys); i++) {
        const json_t *key = json_array_get(keys, i);
        sl_columns_add(&table, sl_cell_of(&table.arena, key, "id"));
        sl_columns_add(&table, sl_cell_of(&table.arena, key, "label"));
        sl_columns_add(&table, sl_cell_of(&table.arena, key, "tier"));
        sl_columns_add(&table, sl_cell_moment(&table.arena, json_object_get(key, "created_at")));
        sl_columns_add(&table, sl_cell_of(&table.arena, key, "sha256"));
    }
    sl_columns_print(&table, stdout);
    sl_columns_release(&table);
}

static bool show_one(const struct sl_admin_reply *reply)
{
    const json_t *keys = json_object_get(reply->json, "keys");
    if (!sl_member(reply->json, "name") || !json_is_array(keys))
        return false;
    printf("tenant `%s`\n", sl_cell_of(reply->arena, reply->json, "name"));
    printf("  %-8s %s\n", "tier", sl_cell_of(reply->arena, reply->json, "tier"));
    printf("  %-8s %s\n", "rules", sl_cell_of(reply->arena, reply->json, "rules"));
    printf("  %-8s %s\n\n", "etag", sl_cell_of(reply->arena, reply->json, "etag"));
    show_keys(keys);
    return true;
}

static bool show_set(const struct sl_admin_reply *reply)
{
    return sl_admin_show_put(reply, "tenant", "changed");
}

static bool show_delete(const struct sl_admin_reply *reply)
{
    if (!json_is_object(reply->json))
        return false;
    sl_admin_tell(reply, "tenant", reply->asked->name, "deleted");
    putchar('\n');
    return true;
}

/* The key goes to standard output, what is said about it does not. */
static bool show_key(const struct sl_admin_reply *reply)
{
    static const char *const fields[] = { "key", "id", "label", "tier", "sha256" };
    if (!sl_member(reply->json, "id"))
        return false;
    if (reply->asked->dry_run)
        printf("dry run: a key would be made\n");
    for (size_t i = 0; i < sizeof fields / sizeof *fields && !reply->asked->dry_run; i++)
        if (sl_member(reply->json, fields[i]))
            printf("%-8s %s\n", fields[i], sl_cell_of(reply->arena, reply->json, fields[i]));
    fflush(stdout);
    if (sl_member(reply->json, "key") && !reply->asked->dry_run)
        fprintf(stderr, "keep the key now: it is not shown again\n");
    return true;
}

static bool show_key_gone(const struct sl_admin_reply *reply)
{
    if (!json_is_object(reply->json))
        return false;
    sl_admin_tell(reply, "key", reply->asked->second, "removed");
    putchar('\n');
    return true;
}

/* ---- the commands ------------------------------------------------------------ */

#define NAME                                                                                       \
    {                                                                                              \
        "NAME", "which tenant? give its name", SL_OPTION_OPERAND, SL_ASKED(name), "the tenant"     \
    }

static const struct sl_option list_options[] = { SL_ADMIN_SERVER };
static const struct sl_option show_options[] = { NAME, SL_ADMIN_SERVER };
static const struct sl_option set_options[] = {
    NAME,
    { "--tier", "TIER", SL_OPTION_TEXT, SL_ASKED(tier), "the tier of its requests" },
    { "--no-tier", NULL, SL_OPTION_FLAG, SL_ASKED(no_tier), "none" },
    SL_ADMIN_DRY_RUN,
    SL_ADMIN_IF_MATCH,
    SL_ADMIN_NEW,
    SL_ADMIN_SERVER,
};
static const struct sl_option delete_options[] = { NAME, SL_ADMIN_DRY_RUN, SL_ADMIN_IF_MATCH,
                                                   SL_ADMIN_SERVER };
static const struct sl_option key_add_options[] = {
    NAME,
    { "--label", "TEXT", SL_OPTION_TEXT, SL_ASKED(label), "what it is for" },
    { "--tier", "TIER", SL_OPTION_TEXT, SL_ASKED(tier), "a tier of its own" },
    { "--sha256", "HEX", SL_OPTION_TEXT, SL_ASKED(sha256),
      "the digest of a key that only its owner knows" },
    SL_ADMIN_DRY_RUN,
    SL_ADMIN_SERVER,
};
static const struct sl_option key_remove_options[] = {
    NAME,
    { "ID", "which key? give its id", SL_OPTION_OPERAND, SL_ASKED(second), "the key" },
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
    .body = tenant,
    .show = show_set,
};

static const struct sl_admin_call delete = {
    SL_ADMIN_COMMAND("tenant delete", "NAME [options]",
                     "Deletes a tenant with its keys and its own rules.", delete_options, ""),
    .method = "DELETE",
    .path = "/v1/tenants/{name}",
    .show = show_delete,
};

static const struct sl_admin_call key_add = {
    SL_ADMIN_COMMAND("tenant key add", "NAME [options]", "Makes a key, and shows it this once.",
                     key_add_options, "\n  sluice tenant key add acme --label ci\n"),
    .method = "POST",
    .path = "/v1/tenants/{name}/keys",
    .body = new_key,
    .show = show_key,
};

static const struct sl_admin_call key_remove = {
    SL_ADMIN_COMMAND("tenant key remove", "NAME ID [options]", "Ends a key, at once.",
                     key_remove_options, ""),
    .method = "DELETE",
    .path = "/v1/tenants/{name}/keys/{second}",
    .show = show_key_gone,
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
