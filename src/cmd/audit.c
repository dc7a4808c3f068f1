/* sluice audit: the latest events of a running server. */
#include "cmd/audit.h"

#include <stdio.h>

#include "cmd/admin/admin.h"

/* Returns true for members that have a column of their own, or do not fit into one. */
static bool is_shown_elsewhere(const char *name, const json_t *value)
{
    static const char *const elsewhere[] = { "at",         "event", "severity",   "tenant",
                                             "identifier", "rule",  "limit_type", NULL };
    for (size_t i = 0; elsewhere[i]; i++)
        if (strcmp(elsewhere[i], name) == 0)
            return true;
    return json_is_null(value) || json_is_object(value) || json_is_object(json_array_get(value, 0));
}

/* "actor: admin, change: replace" */
static const char *details(struct sl_arena *arena, const json_t *event)
{
    const char *all = "", *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)event, name, value)
    {
        if (is_shown_elsewhere(name, value))
            continue;
        all =
            sl_arena_print(arena, "%s%s%s: %s", all, *all ? ", " : "", name, sl_cell(arena, value));
    }
    return *all ? all : "-";
}

static void add_row(struct sl_columns *table, const json_t *event)
{
    static const char *const members[] = { "at",         "severity", "event", "tenant",
                                           "identifier", "rule",     NULL };
    for (size_t i = 0; members[i]; i++)
        sl_columns_add(table, sl_cell_of(&table->arena, event, members[i]));
    sl_columns_add(table, details(&table->arena, event));
}

static bool show_list(const struct sl_admin_reply *reply)
{
    static const char *const headings[] = { "AT",         "SEVERITY", "EVENT",   "TENANT",
                                            "IDENTIFIER", "RULE",     "DETAILS", NULL };
    return sl_admin_show_rows(reply, "events", headings, add_row);
}

/* ---- the commands ------------------------------------------------------------ */

static const struct sl_option list_options[] = {
    { "--event", "E", SL_OPTION_TEXT, SL_ADMIN_FIELD(event), "only these: rate_limit_exceeded, …" },
    { "--severity", "S", SL_OPTION_TEXT, SL_ADMIN_FIELD(severity), "only info, warning or error" },
    { "--rule", "NAME", SL_OPTION_TEXT, SL_ADMIN_FIELD(rule), "only of this rule" },
    { "--tenant", "T", SL_OPTION_TEXT, SL_ADMIN_FIELD(tenant), "only of this tenant" },
    { "--identifier", "I", SL_OPTION_TEXT, SL_ADMIN_FIELD(identifier),
      "only of this user, address, …" },
    { "--since", "TIME", SL_OPTION_TEXT, SL_ADMIN_FIELD(since),
      "only from then on: 2026-12-01T00:00:00Z, or microseconds since 1970" },
    { "--limit", "N", SL_OPTION_TEXT, SL_ADMIN_FIELD(limit), "at most so many (100; up to 1000)" },
    SL_ADMIN_SERVER,
};

static const struct sl_admin_parameter list_query[] = {
    { "event", SL_ADMIN_FIELD(event) }, { "severity", SL_ADMIN_FIELD(severity) },
    { "rule", SL_ADMIN_FIELD(rule) },   { "tenant", SL_ADMIN_FIELD(tenant) },
    { "since", SL_ADMIN_FIELD(since) }, { "identifier", SL_ADMIN_FIELD(identifier) },
    { "limit", SL_ADMIN_FIELD(limit) }, { 0 },
};

static const struct sl_admin_call list = {
    SL_ADMIN_COMMAND("audit list", "[options]", "Lists what happened of late, the newest first.",
                     list_options,
                     "\n  sluice audit list --event rate_limit_config_updated\n"
                     "  sluice audit list --identifier u1 --limit 20\n"),
    .method = "GET",
    .path = "/v1/audit",
    .query = list_query,
    .show = show_list,
};

static const struct sl_command *const members[] = {
    &list.command,
    &sl_command_audit_verify,
    NULL,
};

/* `audit` alone is `audit list`. */
static int run_audit(const struct sl_command *group, int argc, char **argv)
{
    bool is_help = argc > 0 && (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h"));
    if (argc == 0 || (argv[0][0] == '-' && !is_help))
        return list.command.run(&list.command, argc, argv);
    return sl_command_choose(group, argc, argv);
}

const struct sl_command sl_command_audit = {
    .name = "audit",
    .summary = "Lists what happened of late, and checks the audit log.",
    .members = members,
    .run = run_audit,
};
