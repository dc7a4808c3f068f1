/* Runs a call of the admin API: builds its request, sends it, and shows the answer. */
#include "cmd/admin/admin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "cmd/admin/server_url.h"
#include "cmd/terminal/printable.h"

enum { BODY_MAX_BYTES = 1024 * 1024 }; /* the server takes no more */

/* ---- the request ------------------------------------------------------------- */

static const struct option_slot {
    const char *name;
    size_t offset;
} places[] = {
    { "name", SL_ADMIN_FIELD(name) },
    { "second", SL_ADMIN_FIELD(second) },
    { "tenant", SL_ADMIN_FIELD(tenant) },
};

static struct sluice_text argument_at(const struct sl_admin *args, size_t offset)
{
    return sl_text(*(const char *const *)(const void *)((const char *)args + offset));
}

static struct sluice_text argument_named(const struct sl_admin *args, struct sluice_text name)
{
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (sl_text_is(name, places[i].name))
            return argument_at(args, places[i].offset);
    return (struct sluice_text){ 0 };
}

static void add_parameter(struct sl_buffer *out, const char *name, struct sluice_text value)
{
    sl_buffer_add(out, out->len && memchr(out->at, '?', out->len) ? SL_TEXT("&") : SL_TEXT("?"));
    sl_buffer_add(out, sl_text(name));
    sl_buffer_add(out, SL_TEXT("="));
    sl_url_escape(out, value);
}

/* Writes the row's path, with the arguments in their places, and the query. */
static void make_path(const struct sl_admin_call *call, const struct sl_admin *args,
                      struct sl_buffer *out)
{
    const char *at = args->tenant && call->tenant_path ? call->tenant_path : call->path;
    while (*at) {
        size_t plain = strcspn(at, "{");
        sl_buffer_add(out, (struct sluice_text){ at, plain });
        at += plain;
        if (*at) {
            size_t len = strcspn(at, "}");
            sl_url_escape(out, argument_named(args, (struct sluice_text){ at + 1, len - 1 }));
            at += len + 1;
        }
    }
    for (const struct sl_admin_parameter *by = call->query; by && by->name; by++)
        if (argument_at(args, by->offset).at)
            add_parameter(out, by->name, argument_at(args, by->offset));
    if (args->dry_run)
        add_parameter(out, "dry_run", SL_TEXT("true"));
    if (args->undo)
        add_parameter(out, "undo", SL_TEXT("true"));
}

bool sl_admin_given(const struct sl_admin *args, struct sl_buffer *out, struct sluice_error *error)
{
    bool given = args->body && *args->body;
    if (given == (args->file != NULL))
        return sl_error_say(error, given ? "the JSON is given twice: there, and with `--file`"
                                         : "what should it be? give JSON, or `--file FILE`");
    if (given) {
        sl_buffer_add(out, sl_text(args->body));
        return !out->failed || sl_error_say(error, "the JSON has more than 1 MiB");
    }
    bool from_input = strcmp(args->file, "-") == 0;
    int wrong = from_input ? sl_file_read_fd(STDIN_FILENO, out) : sl_file_read(args->file, out);
    if (wrong == EFBIG)
        return sl_error_say(error, "`%s` has more than 1 MiB", args->file);
    if (wrong)
        return sl_error_say(error, "cannot read `%s`: %s", args->file, strerror(wrong));
    return out->len > 0 || sl_error_say(error, "`%s` is empty", args->file);
}

bool sl_admin_put(json_t *object, const char *member, const char *text)
{
    return !text || json_object_set_new(object, member, json_string(text)) == 0;
}

bool sl_admin_print(json_t *object, bool good, struct sl_buffer *out, struct sluice_error *error)
{
    char *text = good ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    if (!text)
        return sl_error_say(error, "an argument is not UTF-8");
    sl_buffer_add(out, sl_text(text));
    free(text);
    return !out->failed || sl_error_say(error, "the arguments have more than 1 MiB");
}

/* ---- the answer -------------------------------------------------------------- */

/* Prints the bytes as they came; on a terminal, control characters are escaped. */
static void print_raw(struct sluice_text text)
{
    if (!isatty(STDOUT_FILENO)) {
        fwrite(text.at, 1, text.len, stdout);
        return;
    }
    struct sl_buffer out = sl_buffer(SIZE_MAX);
    sl_printable_add(&out, text, SL_KEEP_LINES);
    fwrite(out.at, 1, out.len, stdout);
    if (!out.len || out.at[out.len - 1] != '\n')
        putchar('\n');
    sl_buffer_release(&out);
}

/* Shows a successful answer. Returns NULL, or what is wrong with it. */
static const char *show_answer(const struct sl_admin_call *call, const struct sl_admin_reply *reply)
{
    bool dry = json_is_true(json_object_get(reply->json, "dry_run"));
    if (!reply->json)
        return "no JSON";
    if (reply->args->dry_run && !dry)
        return "not said to be a dry run, so it may have been done";
    if (reply->args->json) {
        print_raw(reply->text);
        return NULL;
    }
    return call->show(reply) ? NULL : "about something else";
}

static int finish_answered(const struct sl_admin_call *call, const struct sl_admin *args,
                           const struct sl_http_response *answer)
{
    struct sluice_text text = { answer->body.at, answer->body.len };
    struct sl_arena arena = { 0 };
    json_t *json = json_loadb(text.at ? text.at : "", text.len, JSON_ALLOW_NUL, NULL);
    struct sl_admin_reply reply = { call, args, text, json, answer->status, &arena };
    const char *wrong = show_answer(call, &reply);
    if (wrong)
        sl_admin_say(&call->command, "the answer (%d) is %s: is it the right server?",
                     answer->status, wrong);
    json_decref(json);
    sl_arena_release(&arena);
    return wrong ? 2 : 0;
}

static int finish_refused(const struct sl_admin_call *call, const struct sl_admin *args,
                          const struct sl_http_response *answer)
{
    if (!answer->is_problem || !sl_admin_say_no(call, args, answer)) {
        sl_admin_say(&call->command,
                     "the answer (%d) is not one of Sluice's: is it the right server?",
                     answer->status);
        return 2;
    }
    if (args->json)
        print_raw((struct sluice_text){ answer->body.at, answer->body.len });
    return 1;
}

int sl_admin_ask(const struct sl_admin_call *call, const struct sl_admin *args)
{
    struct sluice_error error = { 0 };
    struct sl_buffer path = sl_buffer(1024 * 1024), body = sl_buffer(BODY_MAX_BYTES);
    struct sl_http_response answer = { 0 };
    make_path(call, args, &path);
    bool good = !call->body || call->body(args, &body, &error);
    struct sl_question question = {
        .method = call->method,
        .path = { path.at, path.len },
        .body = { body.at, body.len },
        .if_match = args->if_match,
        .if_none = args->is_new,
    };
    int code = 2;
    if (good && sl_client_ask(&args->client, &question, &answer, &error))
        code = answer.status < 400 ? finish_answered(call, args, &answer)
                                   : finish_refused(call, args, &answer);
    else
        sl_admin_say(&call->command, "%s", error.text);
    sl_answer_release(&answer);
    sl_buffer_release(&path);
    sl_buffer_release(&body);
    return code;
}

int sl_admin_run(const struct sl_command *command, int argc, char **argv)
{
    const struct sl_admin_call *call = (const struct sl_admin_call *)(const void *)command;
    struct sl_admin args = { 0 };
    enum sl_parsed parsed = sl_options_parse(command, argc, argv, &args);
    if (parsed != SL_PARSED)
        return parsed == SL_PARSED_HELP ? 0 : 2;
    if (args.is_new && args.if_match)
        return sl_command_wrong(command, "`--new` and `--if-match` exclude each other");
    if (args.tenant && !*args.tenant)
        return sl_command_wrong(command, "`--tenant` is empty");
    return sl_admin_ask(call, &args);
}
