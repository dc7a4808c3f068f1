/* sluice exempt: the exemptions, callers that are never counted. */
#include <stdio.h>

#include "base/text/number.h"
#include "cmd/admin/admin.h"

static bool print_exemption(const struct sl_admin *args, struct sl_buffer *out,
                            struct sluice_error *error)
{
    uint64_t seconds = 0;
    bool is_number =
        args->until && sl_parse_u64(sl_text(args->until), &seconds) && seconds <= INT64_MAX;
    json_t *body = json_object();
    bool good = sl_admin_put(body, "kind", args->name) &&
                sl_admin_put(body, "value", args->second) &&
                sl_admin_put(body, "until", is_number ? NULL : args->until) &&
                sl_admin_put(body, "reason", args->reason);
    if (is_number)
        json_object_set_new(body, "until", json_integer((json_int_t)seconds));
    return sl_admin_print(body, good, out, error);
}

static void add_row(struct sl_columns *table, const json_t *row)
{
    sl_columns_add(table, sl_cell_of(&table->arena, row, "kind"));
    sl_columns_add(table, sl_cell_of(&table->arena, row, "value"));
    sl_columns_add(table, sl_cell_moment(&table->arena, json_object_get(row, "until")));
    sl_columns_add(table, sl_cell_of(&table->arena, row, "reason"));
    sl_columns_add(table, sl_cell_of(&table->arena, row, "source"));
}

static bool show_list(const struct sl_admin_reply *reply)
{
    static const char *const headings[] = { "KIND", "VALUE", "UNTIL", "REASON", "SOURCE", NULL };
    return sl_admin_show_rows(reply, "exemptions", headings, add_row);
}

/* Prints the server's value: it writes an address in one way only. */
static bool show_add(const struct sl_admin_reply *reply)
{
    const json_t *until = json_object_get(reply->json, "until");
    bool dry = reply->args->dry_run;
    if (!sl_member(reply->json, "kind") || !sl_member(reply->json, "value"))
        return false;
    printf("%s%s %s %s exempt", dry ? "dry run: " : "",
           sl_cell_of(reply->arena, reply->json, "kind"),
           sl_cell_of(reply->arena, reply->json, "value"), dry ? "would be" : "is");
    if (until && !json_is_null(until))
        printf(" until %s", sl_cell_moment(reply->arena, until));
    printf("%s\n", reply->status == 201 || dry ? "" : ", in place of what was said before");
    return true;
}

static bool show_remove(const struct sl_admin_reply *reply)
{
    bool dry = reply->args->dry_run;
    if (!sl_member(reply->json, "kind") || !sl_member(reply->json, "value"))
        return false;
    printf("%s%s %s %s exempt any more\n", dry ? "dry run: " : "",
           sl_cell_of(reply->arena, reply->json, "kind"),
           sl_cell_of(reply->arena, reply->json, "value"), dry ? "would not be" : "is not");
    return true;
}

/* ---- the commands ------------------------------------------------------------ */

#define KIND                                                                                       \
    {                                                                                              \
        "KIND", "which caller? give a kind and a value, such as ip 203.0.113.0/24",                \
            SL_OPTION_OPERAND, SL_ADMIN_FIELD(name), "user, client, ip or api_key"                 \
    }
#define VALUE                                                                                      \
    {                                                                                              \
        "VALUE", "which caller? give a value behind the kind, such as ip 203.0.113.0/24",          \
            SL_OPTION_OPERAND, SL_ADMIN_FIELD(second),                                             \
            "tenant/name, an address or network, a key's SHA-256"                                  \
    }

static const struct sl_option list_options[] = { SL_ADMIN_SERVER };
static const struct sl_option add_options[] = {
    KIND,
    VALUE,
    { "--until", "TIME", SL_OPTION_TEXT, SL_ADMIN_FIELD(until),
      "when it ends: 2026-12-01T00:00:00Z, or seconds since 1970" },
    { "--reason", "TEXT", SL_OPTION_TEXT, SL_ADMIN_FIELD(reason), "why; the list shows it" },
    SL_ADMIN_DRY_RUN,
    SL_ADMIN_SERVER,
};
static const struct sl_option remove_options[] = { KIND, VALUE, SL_ADMIN_DRY_RUN, SL_ADMIN_SERVER };

static const struct sl_admin_call list = {
    SL_ADMIN_COMMAND("exempt list", "[options]", "Lists the exemptions.", list_options, ""),
    .method = "GET",
    .path = "/v1/exemptions",
    .show = show_list,
};

static const struct sl_admin_call add = {
    SL_ADMIN_COMMAND("exempt add", "KIND VALUE [options]",
                     "Adds an exemption: this caller is never counted.", add_options,
                     "\n  sluice exempt add ip 203.0.113.0/24 --until 2026-12-01T00:00:00Z\n"
                     "  sluice exempt add user acme/root --reason \"load test\"\n"),
    .method = "POST",
    .path = "/v1/exemptions",
    .body = print_exemption,
    .show = show_add,
};

static const struct sl_admin_call remove_one = {
    SL_ADMIN_COMMAND("exempt remove", "KIND VALUE [options]",
                     "Removes an exemption: this caller is counted again.", remove_options, ""),
    .method = "DELETE",
    .path = "/v1/exemptions?kind={name}&value={second}",
    .show = show_remove,
};

static const struct sl_command *const members[] = {
    &list.command,
    &add.command,
    &remove_one.command,
    NULL,
};

const struct sl_command sl_command_exempt = {
    .name = "exempt",
    .summary = "Lists and changes the exemptions of a running server.",
    .members = members,
    .run = sl_command_choose,
};
