/* Puts the rules file and the database of the admin API together. */
#include "cmd/input/offline_state.h"

#include <stdio.h>

#include "base/clock.h"
#include "cmd/input/load.h"
#include "registry/path.h"
#include "registry/users/load_users.h"

/* Returns the rules file with the database on top, or NULL with a message. */
static struct sl_ruleset *compose(const char *rules_file, struct sl_registry *registry)
{
    struct sl_arena scratch = { 0 };
    struct sl_buffer text = sl_buffer(SL_RULES_FILE_MAX_BYTES);
    struct sl_report report = { .file = rules_file };
    struct sluice_error error = { 0 };
    struct sl_overlay overlay;
    struct sl_ruleset *rules = NULL;
    if (!sl_registry_overlay(registry, sl_walltime_us(), &scratch, &overlay, &error))
        fprintf(stderr, "sluice: %s\n", error.text);
    else if (sl_load_file(rules_file, &text))
        rules = sl_ruleset_parse_over(rules_file, (struct sluice_text){ text.at, text.len },
                                      &overlay, &report);
    sl_report_print(&report, stderr);
    sl_report_release(&report);
    sl_buffer_release(&text);
    sl_arena_release(&scratch);
    return rules;
}

/* Returns the user table, or NULL with a message. */
static struct sl_users *load_users(struct sl_registry *registry, const struct sl_settings *settings)
{
    struct sluice_error error = { "out of memory" };
    struct sl_users *users = sl_users_open(&(struct sl_users_config){
        .hash_identifiers = settings->hash_identifiers,
        .ids_are_digests = settings->identity.user_id_sha256_email_ip,
    });
    uint64_t revision = 0;
    if (users && sl_users_fill(users, registry, sl_walltime_us(), &revision, &error))
        return users;
    fprintf(stderr, "sluice: %s\n", error.text);
    if (users)
        sl_users_close(users);
    return NULL;
}

static bool load_from(const char *rules_file, struct sl_registry *registry,
                      struct sl_offline_state *out)
{
    struct sl_offline_state state = { .rules = compose(rules_file, registry) };
    if (!state.rules)
        return false;
    state.users = load_users(registry, &state.rules->settings);
    if (!state.users) {
        sl_ruleset_free(state.rules);
        return false;
    }
    *out = state;
    return true;
}

bool sl_offline_state_load(const char *rules_file, struct sl_offline_state *out)
{
    struct sl_arena scratch = { 0 };
    struct sluice_error error = { 0 };
    struct sl_registry *registry = NULL;
    struct sl_ruleset *alone = sl_load_rules(rules_file);
    if (!alone)
        return false;
    bool from_input = strcmp(rules_file, "-") == 0;
    const char *path =
        sl_registry_path(&alone->settings, from_input ? NULL : rules_file, &scratch, NULL);
    if (from_input || !path) { /* standard input can be read only once */
        *out = (struct sl_offline_state){ .rules = alone };
        sl_arena_release(&scratch);
        return true;
    }
    registry = sl_registry_open(path, true, &error);
    if (!registry)
        fprintf(stderr, "sluice: %s\n", error.text);
    sl_ruleset_free(alone);
    sl_arena_release(&scratch);
    bool good = registry && load_from(rules_file, registry, out);
    sl_registry_close(registry);
    return good;
}

void sl_offline_state_release(struct sl_offline_state *state)
{
    if (state->users)
        sl_users_close(state->users);
    sl_ruleset_free(state->rules);
}
