/* Prints the answers of a server for people. Texts in them may come from anyone, such as a
 * user's id or an exemption's reason: none goes to the terminal unescaped. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/admin/admin.h"
#include "cmd/terminal/pretty.h"
#include "cmd/terminal/printable.h"

void sl_admin_say(const struct sl_command *command, const char *format, ...)
{
    struct sl_arena arena = { 0 };
    va_list arguments;
    va_start(arguments, format);
    const char *text = sl_arena_vprint(&arena, format, arguments);
    va_end(arguments);
    fprintf(stderr, "sluice %s: %s\n", command->name, sl_printable_copy(&arena, sl_text(text)));
    sl_arena_release(&arena);
}

/* ---- refusals------------------------------------------------------------------- */

/* Returns true if the error is about the file that we sent: its subject has the name we gave. */
static bool is_ours(const struct sl_admin *args, const char *subject)
{
    char quoted[256];
    if (!args->file || strcmp(args->file, "-") == 0 || !args->name)
        return false;
    snprintf(quoted, sizeof quoted, "`%s`", args->name);
    return !subject || strstr(subject, quoted);
}

/* Prints one of a problem's `errors` with its place as editors know it: in our file, in a file
 * of the server, or in the body that was sent. */
static void say_error(struct sl_arena *arena, const struct sl_admin *args, const json_t *wrong)
{
    long long line = json_integer_value(json_object_get(wrong, "line"));
    long long column = json_integer_value(json_object_get(wrong, "column"));
    const char *subject = sl_member(wrong, "subject");
    const char *shown = sl_cell_of(arena, wrong, "subject");
    const char *detail = sl_cell_of(arena, wrong, "detail");
    if (is_ours(args, subject))
        fprintf(stderr, "%s:%lld:%lld: %s\n", args->file, line, column, detail);
    else if (subject && !strchr(subject, '`'))
        fprintf(stderr, "%s:%lld:%lld: %s\n", shown, line, column, detail);
    else
        fprintf(stderr, "  %s%sline %lld, column %lld: %s\n", subject ? shown : "",
                subject ? ", " : "", line, column, detail);
}

static void say_problem(const struct sl_admin_call *call, const struct sl_admin *args,
                        const struct sl_http_response *answer, const json_t *problem)
{
    struct sl_arena arena = { 0 };
    const json_t *errors = json_object_get(problem, "errors");
    const char *detail =
        sl_cell_of(&arena, problem, sl_member(problem, "detail") ? "detail" : "title");
    /* With `errors`, the detail only points to them or repeats the only one. */
    fprintf(stderr, "sluice %s: the server said no (%d)%s%s\n", call->command.name, answer->status,
            json_array_size(errors) ? "" : ": ", json_array_size(errors) ? "" : detail);
    for (size_t i = 0; i < json_array_size(errors); i++)
        say_error(&arena, args, json_array_get(errors, i));
    if (answer->was_anonymous && (answer->status == 401 || answer->status == 403))
        fprintf(stderr, "  no token was sent: name its file with `--token-file FILE`, or set "
                        "$SLUICE_TOKEN\n");
    sl_arena_release(&arena);
}

bool sl_admin_say_no(const struct sl_admin_call *call, const struct sl_admin *args,
                     const struct sl_http_response *answer)
{
    const struct sl_buffer *body = &answer->body;
    json_t *problem = json_loadb(body->at ? body->at : "", body->len, JSON_ALLOW_NUL, NULL);
    bool is_one = sl_member(problem, "detail") || sl_member(problem, "title");
    if (is_one)
        say_problem(call, args, answer, problem);
    json_decref(problem);
    return is_one;
}

const char *sl_admin_why_not(struct sl_arena *arena, const struct sl_http_response *answer)
{
    const struct sl_buffer *body = &answer->body;
    json_t *problem = json_loadb(body->at ? body->at : "", body->len, JSON_ALLOW_NUL, NULL);
    const char *member = sl_member(problem, "detail") ? "detail" : "title";
    const char *why = NULL;
    if (answer->is_problem && sl_member(problem, member))
        why = sl_cell_of(arena, problem, member);
    json_decref(problem);
    return why;
}

/* ---- successes------------------------------------------------------------------ */

bool sl_admin_show_json(const struct sl_admin_reply *reply)
{
    struct sl_buffer laid_out = sl_buffer(SIZE_MAX), out = sl_buffer(SIZE_MAX);
    if (!json_is_object(reply->json))
        return false;
    sl_pretty_print(&laid_out, reply->text);
    sl_printable_add(&out, (struct sluice_text){ laid_out.at, laid_out.len }, SL_KEEP_LINES);
    fwrite(out.at, 1, out.len, stdout);
    sl_buffer_release(&laid_out);
    sl_buffer_release(&out);
    return true;
}

/* "rule `api` deleted", or "dry run: rule `api` would be deleted". */
static void print_change(const struct sl_admin_reply *reply, const char *noun, const char *name,
                         const char *verb)
{
    bool dry = reply->args->dry_run;
    printf("%s%s `%s` %s%s", dry ? "dry run: " : "", noun,
           sl_printable_copy(reply->arena, sl_text(name)), dry ? "would be " : "", verb);
}

static void print_counts(const struct sl_admin_reply *reply)
{
    const char *counts = sl_member(reply->json, "counts");
    bool dry = reply->args->dry_run;
    if (counts && strcmp(counts, "kept") == 0)
        printf("; counts %s kept", dry ? "would be" : "are");
    else if (counts && strcmp(counts, "afresh") == 0)
        printf("; its counts %s afresh", dry ? "would start" : "start");
}

static void print_warnings(const struct sl_admin_reply *reply)
{
    const json_t *warnings = json_object_get(reply->json, "warnings");
    fflush(stdout); /* so that warnings come after the line they are about */
    for (size_t i = 0; i < json_array_size(warnings); i++) {
        const json_t *warning = json_array_get(warnings, i);
        fprintf(stderr, "warning: %s\n",
                json_is_object(warning) ? sl_cell_of(reply->arena, warning, "detail")
                                        : sl_cell(reply->arena, warning));
    }
}

bool sl_admin_show_put(const struct sl_admin_reply *reply)
{
    const char *verb = reply->call->verb;
    const char *etag = sl_member(reply->json, "etag");
    const char *replaces = sl_member(reply->json, "replaces");
    const char *would = sl_member(reply->json, "would");
    bool is_new = reply->status == 201 || (would && strcmp(would, "create") == 0);
    bool is_unsaid = reply->args->dry_run && !would; /* whether there was one before */
    if (!json_is_object(reply->json))
        return false;
    print_change(reply, reply->call->noun, reply->args->name,
                 is_unsaid ? sl_arena_print(reply->arena, "created or %s", verb)
                 : is_new  ? "created"
                           : verb);
    if (replaces && strcmp(replaces, "file") == 0)
        printf("; it %s in for the file's", reply->args->dry_run ? "would stand" : "stands");
    print_counts(reply);
    if (etag && !reply->args->dry_run)
        printf(" (etag %s)", sl_cell_of(reply->arena, reply->json, "etag"));
    putchar('\n');
    print_warnings(reply);
    return true;
}

bool sl_admin_show_delete(const struct sl_admin_reply *reply)
{
    const char *noun = reply->call->noun;
    const json_t *now = json_object_get(reply->json, "now");
    const char *source = sl_member(now, "source");
    if (!sl_member(reply->json, "name"))
        return false;
    print_change(reply,
                 reply->args->undo ? sl_arena_print(reply->arena, "change of %s", noun) : noun,
                 reply->args->name, reply->args->undo ? "taken back" : "deleted");
    if (json_is_true(json_object_get(reply->json, "hidden")))
        printf("; it is the file's, and %s hidden: `--undo` brings it back",
               reply->args->dry_run ? "would be" : "is");
    else if (source)
        printf("; %s the %s's is in force", reply->args->dry_run ? "then" : "now",
               strcmp(source, "file") == 0 ? "file" : "API");
    else if (reply->args->undo)
        printf("; there is none of that name %s", reply->args->dry_run ? "then" : "now");
    putchar('\n');
    return true;
}

bool sl_admin_show_gone(const struct sl_admin_reply *reply)
{
    const struct sl_admin *args = reply->args;
    if (!json_is_object(reply->json))
        return false;
    print_change(reply, reply->call->noun, args->second ? args->second : args->name,
                 reply->call->verb);
    putchar('\n');
    return true;
}

bool sl_admin_show_rows(const struct sl_admin_reply *reply, const char *member,
                        const char *const *headings,
                        void (*add_row)(struct sl_columns *table, const json_t *row))
{
    const json_t *rows = json_object_get(reply->json, member);
    struct sl_columns table;
    if (!json_is_array(rows))
        return false;
    sl_columns_init(&table, headings);
    for (size_t i = 0; i < json_array_size(rows); i++)
        add_row(&table, json_array_get(rows, i));
    sl_columns_print(&table, stdout);
    sl_columns_release(&table);
    return true;
}

const char *sl_admin_source(struct sl_arena *arena, const json_t *row)
{
    const char *source = sl_cell_of(arena, row, "source");
    return sl_member(row, "replaces") ? sl_arena_print(arena, "%s, replaces %s", source,
                                                       sl_cell_of(arena, row, "replaces"))
                                      : source;
}

void sl_admin_tell_hidden(const struct sl_admin_reply *reply, const char *group)
{
    const json_t *hidden = json_object_get(reply->json, "hidden");
    if (json_array_size(hidden))
        printf("\nhidden, of the file: %s (`sluice %s delete NAME --undo` brings one back)\n",
               sl_cell(reply->arena, hidden), group);
}
