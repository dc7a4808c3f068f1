/* sluice tier: the tiers in force, and changes to them. */
#include "cmd/admin/admin.h"

static void add_row(struct sl_columns *table, const json_t *row)
{
    const json_t *tier = json_object_get(row, "tier");
    sl_columns_add(table, sl_cell_of(&table->arena, row, "name"));
    sl_columns_add(table, sl_admin_source(&table->arena, row));
    sl_columns_add(table, sl_cell_of(&table->arena, tier, "scale"));
    sl_columns_add(table, sl_cell_of(&table->arena, tier, "unlimited"));
    sl_columns_add(table, sl_cell_of(&table->arena, tier, "algorithms"));
}

static bool show_list(const struct sl_admin_reply *reply)
{
    static const char *const headings[] = { "NAME",      "SOURCE",     "SCALE",
                                            "UNLIMITED", "ALGORITHMS", NULL };
    if (!sl_admin_show_rows(reply, "tiers", headings, add_row))
        return false;
    sl_admin_tell_hidden(reply, "tier");
    return true;
}

/* ---- the commands ------------------------------------------------------------ */

#define NAME SL_ADMIN_NAME("tier")

static const struct sl_option list_options[] = { SL_ADMIN_SERVER };
static const struct sl_option get_options[] = { NAME, SL_ADMIN_SERVER };
static const struct sl_option set_options[] = {
    NAME,
    SL_ADMIN_BODY("what a rules file has under its name"),
    SL_ADMIN_SET_END,
};
static const struct sl_option delete_options[] = {
    NAME,
    SL_ADMIN_UNDO,
    SL_ADMIN_DELETE_END,
};

static const struct sl_admin_call list = {
    SL_ADMIN_COMMAND("tier list", "[options]", "Lists the tiers.", list_options, ""),
    .method = "GET",
    .path = "/v1/tiers",
    .show = show_list,
};

static const struct sl_admin_call get = {
    SL_ADMIN_COMMAND("tier get", "NAME", "Shows a tier, with its source and its etag.", get_options,
                     ""),
    .method = "GET",
    .path = "/v1/tiers/{name}",
    .show = sl_admin_show_json,
};

static const struct sl_admin_call set = {
    SL_ADMIN_COMMAND("tier set", "NAME (JSON | --file FILE) [options]",
                     "Creates a tier, or replaces it.", set_options,
                     "\n  sluice tier set pro '{\"scale\": 10}'\n"),
    .method = "PUT",
    .path = "/v1/tiers/{name}",
    .body = sl_admin_given,
    .show = sl_admin_show_put,
    .noun = "tier",
    .verb = "replaced",
};

static const struct sl_admin_call delete = {
    SL_ADMIN_COMMAND("tier delete", "NAME [--undo] [options]",
                     "Deletes a tier that is not in use; a tier of the file is hidden instead.",
                     delete_options, ""),
    .method = "DELETE",
    .path = "/v1/tiers/{name}",
    .show = sl_admin_show_delete,
    .noun = "tier",
};

static const struct sl_command *const members[] = {
    &list.command, &get.command, &set.command, &delete.command, NULL,
};

const struct sl_command sl_command_tier = {
    .name = "tier",
    .summary = "Lists and changes the tiers of a running server.",
    .members = members,
    .run = sl_command_choose,
};
