/* Commands of the admin API: a row for each call gives its path, its body and how its
 * answer is shown; one function runs them all.
 *
 *   rules set NAME JSON  →  PUT /v1/rules/NAME, JSON  →  "rule `api` created"
 *
 * All rows share one struct of arguments; a command's options say which of its fields it
 * fills. */
#ifndef SL_CMD_ADMIN_ADMIN_H
#define SL_CMD_ADMIN_ADMIN_H

#include <jansson.h>
#include <stddef.h>

#include "cmd/admin/client.h"
#include "cmd/options.h"
#include "cmd/terminal/columns.h"

struct sl_admin {
    struct sl_client client;
    const char *name;   /* of the rule, tier, user or tenant; an exemption's kind */
    const char *second; /* an exemption's value, a key's id */
    const char *body;   /* JSON */
    const char *file;   /* the same in a file */
    const char *tenant, *tier, *label, *sha256, *until, *reason;
    const char *rule, *resource, *user, *ip, *client_id, *method; /* of a reset */
    const char *event, *severity, *identifier, *since, *limit;    /* of events */
    struct sl_attrs attrs;
    const char *if_match;
    bool is_new, dry_run, undo, no_tier, json;
};

/* A successful answer: JSON, and no problem. */
struct sl_admin_reply {
    const struct sl_admin_call *call;
    const struct sl_admin *args;
    struct sluice_text text; /* as it came */
    const json_t *json;
    int status;
    struct sl_arena *arena; /* for what is printed */
};

/* A parameter of the query, sent if its argument was given. */
struct sl_admin_parameter {
    const char *name;
    size_t offset; /* of a const char * */
};

struct sl_admin_call {
    struct sl_command command; /* with sl_admin_run as its run */
    const char *method;
    /* {name}, {second} and {tenant} stand for the arguments; the second path is used
     * if --tenant was given. */
    const char *path, *tenant_path;
    const struct sl_admin_parameter *query; /* ended by a row without a name; NULL: none */
    /* Appends the body; NULL: there is none. Returns false with error->text set. */
    bool (*body)(const struct sl_admin *args, struct sl_buffer *out, struct sluice_error *error);
    /* Prints the answer for people. Returns false if it is no answer to this call. */
    bool (*show)(const struct sl_admin_reply *reply);
    const char *noun; /* of what is changed: "rule" */
    const char *verb; /* what has happened to it then: "replaced", "forgotten" */
};

/* Returns 0 if done, 1 if the server said no, 2 if it could not be asked. */
int sl_admin_run(const struct sl_command *command, int argc, char **argv);
/* The same with a command line that has been parsed. */
int sl_admin_ask(const struct sl_admin_call *call, const struct sl_admin *args);

extern const struct sl_admin_call sl_call_reset;
extern const struct sl_admin_call sl_call_reload;

/* ---- bodies ---- */

/* Appends the JSON operand or the contents of --file, unchanged. */
bool sl_admin_given(const struct sl_admin *args, struct sl_buffer *out, struct sluice_error *error);

/* Adds a text, unless it is NULL. Returns false if it is no UTF-8. */
bool sl_admin_put(json_t *object, const char *member, const char *text);
/* Frees the object, and appends it if it is `good`: every member could be added. */
bool sl_admin_print(json_t *object, bool good, struct sl_buffer *out, struct sluice_error *error);

/* ---- answers ---- */

/* Returns the server's own sentence on why it refused, in the arena; NULL if the answer is none of
 * Sluice's. */
const char *sl_admin_why_not(struct sl_arena *arena, const struct sl_http_response *answer);

/* Prints on standard error why the server refused. Returns false if the answer is no problem. */
bool sl_admin_say_no(const struct sl_admin_call *call, const struct sl_admin *args,
                     const struct sl_http_response *answer);

/* Prints a line on standard error, behind the command's name, safe for a terminal. */
__attribute__((format(printf, 2, 3))) void sl_admin_say(const struct sl_command *command,
                                                        const char *format, ...);

/* Prints the JSON, indented. */
bool sl_admin_show_json(const struct sl_admin_reply *reply);

/* "rule `api` created (etag "r12")", of the answer to PUT. The call's verb says what happened to
 * the thing if it was there before. */
bool sl_admin_show_put(const struct sl_admin_reply *reply);

/* "rule `api` deleted", and what is in force under that name now. */
bool sl_admin_show_delete(const struct sl_admin_reply *reply);

/* "user `u1` forgotten", or with a second name "key `k1` removed". */
bool sl_admin_show_gone(const struct sl_admin_reply *reply);

/* Prints the member's rows as a table; add_row adds a cell for each heading. Returns false if the
 * answer has no such list. */
bool sl_admin_show_rows(const struct sl_admin_reply *reply, const char *member,
                        const char *const *headings,
                        void (*add_row)(struct sl_columns *table, const json_t *row));

/* Returns the source of a rule or a tier: "file", "api", "api, replaces file". */
const char *sl_admin_source(struct sl_arena *arena, const json_t *row);
/* Prints which rules or tiers of the file the API has hidden, if any; `group` is the command that
 * brings them back. */
void sl_admin_tell_hidden(const struct sl_admin_reply *reply, const char *group);

/* ---- options ---- */

#define SL_ADMIN_FIELD(field) offsetof(struct sl_admin, field)

/* Every table of options ends with one of these three: of a call that reads, that sets, that
 * deletes. */
#define SL_ADMIN_SERVER                                                                            \
    { "--server", "URL", SL_OPTION_TEXT, SL_ADMIN_FIELD(client.server),                            \
      "the server: http://HOST:PORT, https://… or unix:PATH" },                                    \
        { "--token-file", "FILE", SL_OPTION_TEXT, SL_ADMIN_FIELD(client.token_file),               \
          "file that holds the admin's token" },                                                   \
        { "--ca-file", "FILE", SL_OPTION_TEXT, SL_ADMIN_FIELD(client.ca_file),                     \
          "PEM file: the CAs of an https:// server" },                                             \
        { "--plain", NULL, SL_OPTION_FLAG, SL_ADMIN_FIELD(client.plain),                           \
          "send a token unencrypted over a network" },                                             \
        { "--timeout", "TIME", SL_OPTION_WAIT, SL_ADMIN_FIELD(client.timeout_us),                  \
          "how long to wait for the answer (30s)" },                                               \
        { "--json", NULL, SL_OPTION_FLAG, SL_ADMIN_FIELD(json), "print the answer as it came" },   \
    {                                                                                              \
        0                                                                                          \
    }

#define SL_ADMIN_SET_END    SL_ADMIN_DRY_RUN, SL_ADMIN_IF_MATCH, SL_ADMIN_NEW, SL_ADMIN_SERVER
#define SL_ADMIN_DELETE_END SL_ADMIN_DRY_RUN, SL_ADMIN_IF_MATCH, SL_ADMIN_SERVER

/* The operand that says which one; `noun` is a literal. */
#define SL_ADMIN_NAME(noun) SL_ADMIN_OPERAND("NAME", noun, "its name", name)
#define SL_ADMIN_OPERAND(operand, noun, asks_for, field)                                           \
    {                                                                                              \
        operand, "which " noun "? give " asks_for, SL_OPTION_OPERAND, SL_ADMIN_FIELD(field),       \
            "the " noun                                                                            \
    }
#define SL_ADMIN_TENANT(help)                                                                      \
    {                                                                                              \
        "--tenant", "T", SL_OPTION_TEXT, SL_ADMIN_FIELD(tenant), help                              \
    }
#define SL_ADMIN_DRY_RUN                                                                           \
    {                                                                                              \
        "--dry-run", NULL, SL_OPTION_FLAG, SL_ADMIN_FIELD(dry_run),                                \
            "check it and say what would happen; change nothing"                                   \
    }
#define SL_ADMIN_IF_MATCH                                                                          \
    {                                                                                              \
        "--if-match", "ETAG", SL_OPTION_TEXT, SL_ADMIN_FIELD(if_match),                            \
            "only if its etag is still this one; *: only if it exists"                             \
    }
#define SL_ADMIN_NEW                                                                               \
    {                                                                                              \
        "--new", NULL, SL_OPTION_FLAG, SL_ADMIN_FIELD(is_new),                                     \
            "only if none of that name exists yet"                                                 \
    }
/* The body: as an operand, or in a file. */
#define SL_ADMIN_BODY(help)                                                                        \
    { "JSON", NULL, SL_OPTION_OPERAND, SL_ADMIN_FIELD(body), help },                               \
    {                                                                                              \
        "--file", "FILE", SL_OPTION_TEXT, SL_ADMIN_FIELD(file),                                    \
            "the JSON is in this file; - for input"                                                \
    }
#define SL_ADMIN_UNDO                                                                              \
    {                                                                                              \
        "--undo", NULL, SL_OPTION_FLAG, SL_ADMIN_FIELD(undo), "take back what the API has changed" \
    }

/* A row's command; `example` stands below the help, and may be "". */
#define SL_ADMIN_COMMAND(name_, usage_, summary_, options_, example)                               \
    .command = {                                                                                   \
        .name = name_,                                                                             \
        .usage = usage_,                                                                           \
        .summary = summary_,                                                                       \
        .options = options_,                                                                       \
        .more = SL_ADMIN_MORE example,                                                             \
        .run = sl_admin_run,                                                                       \
    }

#define SL_ADMIN_MORE                                                                              \
    "The server is that of --server, else of $SLUICE_SERVER, else http://127.0.0.1:8080. The\n"    \
    "token is in --token-file or in $SLUICE_TOKEN; a tenant's key in $SLUICE_API_KEY.\n\n"         \
    "Exit: 0 done, 1 the server said no, 2 the server could not be asked.\n"

#endif
