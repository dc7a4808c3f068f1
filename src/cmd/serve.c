/* sluice serve: the server. */
#include <stddef.h>
#include <stdio.h>

#include "cmd/input/load.h"
#include "cmd/options.h"
#include "rules/reading/listen.h"
#include "server/http/assets.h"
#include "server/server.h"

struct serve {
    const char *rules;
    const char *http, *grpc, *resp;
};

static const struct sl_option options[] = {
    { "-c", "FILE", SL_OPTION_TEXT, offsetof(struct serve, rules), "the rules file" },
    { "--http", "ADDRESS", SL_OPTION_TEXT, offsetof(struct serve, http),
      "listen here instead of at the file's `listen.http`" },
    { "--grpc", "ADDRESS", SL_OPTION_TEXT, offsetof(struct serve, grpc),
      "Envoy's rate limit service here, instead of at `listen.grpc`" },
    { "--resp", "ADDRESS", SL_OPTION_TEXT, offsetof(struct serve, resp),
      "the Redis protocol here, instead of at `listen.resp`" },
    { 0 },
};

static bool read_file(void *about, struct sl_buffer *out, struct sl_report *report)
{
    const struct serve *serve = about;
    return sl_load_text(serve->rules, out, report);
}

static bool read_default(void *about, struct sl_buffer *out, struct sl_report *report)
{
    (void)about;
    (void)report;
    sl_buffer_add(out, sl_asset_default_rules());
    return true;
}

/* Returns false, with a message, if it is no address. */
static bool is_address(const struct sl_command *command, const char *option, const char *text)
{
    if (!text || sl_listen_address_is_good(sl_text(text)))
        return true;
    sl_command_wrong(command,
                     "`%s %s` is not address:port such as 127.0.0.1:8080, [::1]:8080, or unix:PATH",
                     option, text);
    return false;
}

static int run_serve(const struct sl_command *command, int argc, char **argv)
{
    struct serve serve = { 0 };
    enum sl_parsed parsed = sl_options_parse(command, argc, argv, &serve);
    if (parsed != SL_PARSED)
        return parsed == SL_PARSED_HELP ? 0 : 2;
    if (serve.rules && strcmp(serve.rules, "-") == 0)
        return sl_command_wrong(command, "the rules must be in a file: they are read again on "
                                         "SIGHUP and when they change");
    if (!is_address(command, "--http", serve.http) || !is_address(command, "--grpc", serve.grpc) ||
        !is_address(command, "--resp", serve.resp))
        return 2;
    struct sl_serve_config config = {
        .read = serve.rules ? read_file : read_default,
        .about = &serve,
        .rules_name = serve.rules ? serve.rules : "built-in rules (name yours with -c FILE)",
        .rules_path = serve.rules ? serve.rules : "built-in rules",
        .rules_file = serve.rules,
        .http = serve.http,
        .grpc = serve.grpc,
        .resp = serve.resp,
    };
    return sl_serve(&config);
}

const struct sl_command sl_command_serve = {
    .name = "serve",
    .summary = "Answers over HTTP, gRPC and the Redis protocol; metrics, dashboard.",
    .usage = "[-c FILE] [--http ADDRESS] [--grpc ADDRESS] [--resp ADDRESS]",
    .more = "Without a file it serves built-in rules: 600 a minute per address, 20 a second per\n"
            "user, 10 logins in 15 minutes.\n\n"
            "SIGHUP, or a change of the file, reads the rules again; SIGTERM answers what was\n"
            "read and ends.\n\n"
            "Exit: 0 after a signal to stop, 2 if it cannot start.\n\n"
            "  sluice serve -c examples/sluice.yaml\n"
            "  sluice serve --grpc 127.0.0.1:8081 --resp 127.0.0.1:6380\n",
    .options = options,
    .run = run_serve,
};
