/* sluice tier: the tiers in force, and changes to them. */
#include <stdio.h>

#include "cmd/admin/admin.h"

static bool show_list(const struct sl_admin_reply *reply)
{
    static const char *const headings[] = { "NAME",      "SOURCE",     "SCALE",
                                            "UNLIMITED", "ALGORITHMS", NULL };
    const json_t *rows = json_object_get(reply->json, "tiers");
    struct sl_columns table;
    if (!json_is_array(rows))
        return false;
    sl_columns_init(&table, headings);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const json_t *tier = json_object_get(row, "tier");
        sl_columns_add(&table, sl_cell_of(&table.arena, row, "name"));
        sl_columns_add(&table, sl_admin_source(&table.arena, row));
        sl_columns_add(&table, sl_cell_of(&table.arena, tier, "scale"));
        sl_columns_add(&table, sl_cell_of(&table.arena, tier, "unlimited"));
        sl_columns_add(&table, sl_cell_of(&table.arena, tier, "algorithms"));
    }
    sl_columns_print(&table, stdout);
    sl_admin_tell_hidden(reply, "tier");
    sl_columns_release(&table);
    return true;
}

static bool show_set(const struct sl_admin_reply *reply)
{
    return sl_admin_show_put(reply, "tier", "replaced");
}

static bool show_delete(const struct sl_admin_reply *reply)
{
    return sl_admin_show_delete(reply, "tier");
}

/* ---- the commands ------------------------------------------------------------ */

#define NAME                                                                                       \
    {                                                                                              \
        "NAME", "which tier? give its name", SL_OPTION_OPERAND, SL_ASKED(name), "the tier"         \
    }

static const struct sl_option list_options[] = { SL_ADMIN_SERVER };
static const struct sl_option get_options[] = { NAME, SL_ADMIN_SERVER };
static const struct sl_option set_options[] = {
    NAME,
    { "JSON", NULL, SL_OPTION_OPERAND, SL_ASKED(body), "what a rules file has under its name" },
    SL_ADMIN_FILE,
    SL_ADMIN_DRY_RUN,
    SL_ADMIN_IF_MATCH,
    SL_ADMIN_NEW,
    SL_ADMIN_SERVER,
};
static const struct sl_option delete_options[] = {
    NAME,
    { "--undo", NULL, SL_OPTION_FLAG, SL_ASKED(undo), "take back what the API has changed" },
    SL_ADMIN_DRY_RUN,
    SL_ADMIN_IF_MATCH,
    SL_ADMIN_SERVER,
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
    .show = show_set,
};

static const struct sl_admin_call delete = {
    SL_ADMIN_COMMAND("tier delete", "NAME [--undo] [options]",
                     "Deletes a tier that nobody names any more; one of the file is hidden.",
                     delete_options, ""),
    .method = "DELETE",
    .path = "/v1/tiers/{name}",
    .show = show_delete,
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
