/* COMMAND: prints the table of commands, as Redis does its own. */
#include "server/resp/resp.h"

#include <stdio.h>

#include "base/check.h"

enum { ENTRY_PARTS = 10 };

static const struct {
    enum sl_resp_flag flag;
    struct sluice_text name;
} flags[] = {
    { SL_RESP_WRITES, SL_TEXT("write") },
    { SL_RESP_ADMIN, SL_TEXT("admin") },
    { SL_RESP_FAST, SL_TEXT("fast") },
    { SL_RESP_OPEN, SL_TEXT("no_auth") },
};

static size_t count_rows(const struct sl_resp_row *rows)
{
    size_t count = 0;
    while (rows && rows[count].name.at)
        count++;
    return count;
}

/* ---- entries ---- */

static void print_flags(struct sl_resp_out out, const struct sl_resp_row *row)
{
    sl_resp_print_set(out, (size_t)__builtin_popcount(row->flags));
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (row->flags & flags[i].flag)
            sl_resp_print_simple(out, flags[i].name);
}

/* "client|setname" */
static void print_name(struct sl_resp_out out, const struct sl_resp_row *row,
                       const struct sl_resp_row *parent)
{
    char name[64];
    if (!parent) {
        sl_resp_print_bulk(out, row->name);
        return;
    }
    char *at = mempcpy(name, parent->name.at, parent->name.len);
    *at++ = '|';
    at = mempcpy(at, row->name.at, row->name.len);
    sl_resp_print_bulk(out, (struct sluice_text){ name, (size_t)(at - name) });
}

/* Name, arity, flags, where keys are; no categories, tips or specifications of keys; and
 * subcommands, which have none themselves. */
static void print_entry(struct sl_resp_out out, const struct sl_resp_row *row,
                        const struct sl_resp_row *parent)
{
    size_t below = count_rows(row->below);
    sl_resp_print_array(out, ENTRY_PARTS);
    print_name(out, row, parent);
    sl_resp_print_integer(out, row->arity);
    print_flags(out, row);
    sl_resp_print_integer(out, row->key);
    sl_resp_print_integer(out, row->key);
    sl_resp_print_integer(out, row->key ? 1 : 0);
    sl_resp_print_set(out, 0);
    sl_resp_print_array(out, 0);
    sl_resp_print_array(out, 0);
    sl_resp_print_array(out, below);
    for (size_t i = 0; i < below; i++)
        print_entry(out, &row->below[i], row);
}

void sl_resp_commands(struct sl_resp_ask *ask)
{
    struct sl_resp_out out = sl_resp_begin(ask);
    size_t count = count_rows(sl_resp_rows);
    sl_resp_print_array(out, count);
    for (size_t i = 0; i < count; i++)
        print_entry(out, &sl_resp_rows[i], NULL);
    sl_resp_end(ask);
}

/* ---- subcommands ---- */

static void tell_count(struct sl_resp_ask *ask)
{
    sl_resp_print_integer(sl_resp_begin(ask), (int64_t)count_rows(sl_resp_rows));
    sl_resp_end(ask);
}

static void tell_list(struct sl_resp_ask *ask)
{
    struct sl_resp_out out = sl_resp_begin(ask);
    size_t count = count_rows(sl_resp_rows);
    sl_resp_print_array(out, count);
    for (size_t i = 0; i < count; i++)
        sl_resp_print_bulk(out, sl_resp_rows[i].name);
    sl_resp_end(ask);
}

/* Prints the commands that are named, nil for unknown ones; without names all. A name may be there
 * twice, so the number of names bounds the answer. */
static void tell_entries(struct sl_resp_ask *ask)
{
    size_t most = count_rows(sl_resp_rows);
    if (ask->count == 2) {
        sl_resp_commands(ask);
        return;
    }
    if (ask->count - 2 > most) {
        sl_resp_fail(ask, "ERR", "Too many names: at most %zu, as many as there are commands",
                     most);
        return;
    }
    struct sl_resp_out out = sl_resp_begin(ask);
    sl_resp_print_array(out, ask->count - 2);
    for (size_t i = 2; i < ask->count; i++) {
        const struct sl_resp_row *row = sl_resp_find(sl_resp_rows, ask->args[i]);
        if (row)
            print_entry(out, row, NULL);
        else
            sl_resp_print_null(out);
    }
    sl_resp_end(ask);
}

/* ---- help ---- */

static void print_line(struct sl_resp_out out, const char *before, const char *text)
{
    char line[256];
    int len = snprintf(line, sizeof line, "%s%s", before, text);
    SL_CHECK(len > 0 && (size_t)len < sizeof line);
    sl_resp_print_simple(out, (struct sluice_text){ line, (size_t)len });
}

/* Two lines each, as Redis prints help. */
void sl_resp_help(struct sl_resp_ask *ask)
{
    const struct sl_resp_row *parent = sl_resp_find(sl_resp_rows, ask->args[0]);
    size_t below = count_rows(parent->below);
    char name[SL_RESP_NAME_MAX_BYTES];
    struct sl_resp_out out = sl_resp_begin(ask);
    sl_resp_upper(parent, name);
    sl_resp_print_array(out, 1 + 2 * below);
    print_line(out, "Subcommands of ", name);
    for (size_t i = 0; i < below; i++) {
        sl_resp_upper(&parent->below[i], name);
        print_line(out, "", name);
        print_line(out, "    ", parent->below[i].summary);
    }
    sl_resp_end(ask);
}

/* ---- documents ---- */

static void print_pair(struct sl_resp_out out, struct sluice_text name, const char *text)
{
    sl_resp_print_bulk(out, name);
    sl_resp_print_bulk(out, sl_text(text));
}

static void print_document(struct sl_resp_out out, const struct sl_resp_row *row,
                           const struct sl_resp_row *parent)
{
    size_t below = count_rows(row->below);
    print_name(out, row, parent);
    sl_resp_print_map(out, below ? 4 : 3);
    print_pair(out, SL_TEXT("summary"), row->summary);
    print_pair(out, SL_TEXT("since"), row->since);
    print_pair(out, SL_TEXT("group"), parent ? parent->group : row->group);
    if (!below)
        return;
    sl_resp_print_bulk(out, SL_TEXT("subcommands"));
    sl_resp_print_map(out, below);
    for (size_t i = 0; i < below; i++)
        print_document(out, &row->below[i], row);
}

static bool is_named(const struct sl_resp_ask *ask, const struct sl_resp_row *row)
{
    for (size_t i = 2; i < ask->count; i++)
        if (sl_resp_word_is(ask->args[i], row->name))
            return true;
    return ask->count == 2;
}

static void tell_documents(struct sl_resp_ask *ask)
{
    size_t count = 0;
    for (const struct sl_resp_row *row = sl_resp_rows; row->name.at; row++)
        count += is_named(ask, row);
    struct sl_resp_out out = sl_resp_begin(ask);
    sl_resp_print_map(out, count);
    for (const struct sl_resp_row *row = sl_resp_rows; row->name.at; row++)
        if (is_named(ask, row))
            print_document(out, row, NULL);
    sl_resp_end(ask);
}

const struct sl_resp_row sl_resp_command_rows[] = {
    { SL_TEXT("count"), 2, 0, tell_count, .since = "2.8.13", .summary = "How many there are" },
    { SL_TEXT("docs"), -2, 0, tell_documents, .since = "7.0.0", .summary = "What they are for" },
    { SL_TEXT("info"), -2, 0, tell_entries, .since = "2.8.13", .summary = "Those of these names" },
    { SL_TEXT("list"), 2, 0, tell_list, .since = "7.0.0", .summary = "Their names" },
    { SL_TEXT("help"), 2, 0, sl_resp_help, .since = "5.0.0", .summary = "This list" },
    { .arity = 0 },
};
