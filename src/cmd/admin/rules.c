/* sluice rules: the rules in force, and changes to them. */
#include "cmd/admin/admin.h"

/* Returns "100/1m", whichever keys the rule has. */
static const char *limit_cell(struct sl_arena *arena, const json_t *rule)
{
    const char *capacity = sl_cell_of(arena, rule, "capacity");
    if (json_object_get(rule, "limit"))
        return sl_cell_of(arena, rule, "limit");
    if (json_object_get(rule, "refill_rate"))
        return sl_arena_print(arena, "%s, %s/s", capacity, sl_cell_of(arena, rule, "refill_rate"));
    if (json_object_get(rule, "window"))
        return sl_arena_print(arena, "%s/%s", capacity, sl_cell_of(arena, rule, "window"));
    return capacity;
}

static const char *name_cell(struct sl_arena *arena, const json_t *row)
{
    const char *name = sl_cell_of(arena, row, "name");
    return sl_member(row, "tenant")
               ? sl_arena_print(arena, "%s/%s", sl_cell_of(arena, row, "tenant"), name)
               : name;
}

static const char *notes_cell(const json_t *rule)
{
    bool shadow = json_is_true(json_object_get(rule, "shadow"));
    bool adaptive = json_is_true(json_object_get(rule, "adaptive"));
    return shadow && adaptive ? "shadow, adaptive"
           : shadow           ? "shadow"
           : adaptive         ? "adaptive"
                              : "-";
}

static void add_row(struct sl_columns *table, const json_t *row)
{
    struct sl_arena *arena = &table->arena;
    const json_t *rule = json_object_get(row, "rule");
    sl_columns_add(table, name_cell(arena, row));
    sl_columns_add(table, sl_admin_source(arena, row));
    sl_columns_add(table, sl_cell_of(arena, rule, "per"));
    sl_columns_add(table, limit_cell(arena, rule));
    sl_columns_add(table, sl_cell_of(arena, rule, "algorithm"));
    sl_columns_add(table, sl_cell_of(arena, rule, "resource"));
    sl_columns_add(table, notes_cell(rule));
}

static bool show_list(const struct sl_admin_reply *reply)
{
    static const char *const headings[] = { "NAME",      "SOURCE",   "PER",   "LIMIT",
                                            "ALGORITHM", "RESOURCE", "NOTES", NULL };
    if (!sl_admin_show_rows(reply, "rules", headings, add_row))
        return false;
    sl_admin_tell_hidden(reply, "rules");
    return true;
}

/* ---- the commands ------------------------------------------------------------ */

#define TENANT SL_ADMIN_TENANT("of this tenant's own rules")
#define NAME   SL_ADMIN_NAME("rule")

static const struct sl_option list_options[] = { TENANT, SL_ADMIN_SERVER };
static const struct sl_option get_options[] = { NAME, TENANT, SL_ADMIN_SERVER };
static const struct sl_option set_options[] = {
    NAME,
    SL_ADMIN_BODY("the rule, with the keys of a rules file"),
    TENANT,
    SL_ADMIN_SET_END,
};
static const struct sl_option delete_options[] = {
    NAME,
    SL_ADMIN_UNDO,
    TENANT,
    SL_ADMIN_DELETE_END,
};

static const struct sl_admin_call list = {
    SL_ADMIN_COMMAND("rules list", "[--tenant T]", "Lists the rules in force, in their order.",
                     list_options, ""),
    .method = "GET",
    .path = "/v1/rules",
    .tenant_path = "/v1/tenants/{tenant}/rules",
    .show = show_list,
};

static const struct sl_admin_call get = {
    SL_ADMIN_COMMAND("rules get", "NAME [--tenant T]",
                     "Shows a rule, with its source and its etag.", get_options, ""),
    .method = "GET",
    .path = "/v1/rules/{name}",
    .tenant_path = "/v1/tenants/{tenant}/rules/{name}",
    .show = sl_admin_show_json,
};

static const struct sl_admin_call set = {
    SL_ADMIN_COMMAND(
        "rules set", "NAME (JSON | --file FILE) [options]", "Creates a rule, or replaces it.",
        set_options,
        "\n  sluice rules set api '{\"per\": \"user\", \"limit\": \"100/1m\"}' --dry-run\n"),
    .method = "PUT",
    .path = "/v1/rules/{name}",
    .tenant_path = "/v1/tenants/{tenant}/rules/{name}",
    .body = sl_admin_given,
    .show = sl_admin_show_put,
    .noun = "rule",
    .verb = "replaced",
};

static const struct sl_admin_call delete = {
    SL_ADMIN_COMMAND("rules delete", "NAME [--undo] [options]",
                     "Deletes a rule; a rule of the file is hidden instead.", delete_options, ""),
    .method = "DELETE",
    .path = "/v1/rules/{name}",
    .tenant_path = "/v1/tenants/{tenant}/rules/{name}",
    .show = sl_admin_show_delete,
    .noun = "rule",
};

static const struct sl_command *const members[] = {
    &list.command, &get.command, &set.command, &delete.command, NULL,
};

const struct sl_command sl_command_rules = {
    .name = "rules",
    .summary = "Lists and changes the rules of a running server.",
    .members = members,
    .run = sl_command_choose,
};
