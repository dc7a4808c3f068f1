/* Reading a program's limit as if it stood in a rules file.
 *
 * The same numbers must mean the same limit, and the same mistakes must be refused
 * with the same words. So the values are written as the nodes that a file with
 * them would have made, and the one reader of rules reads these. That costs
 * microseconds, once per limit. */
#include "rules/reading/rule_config.h"

#include "rules/reading/parts.h"

enum { KEYS_MAX = 8 };

struct draft {
    struct sl_node map;
    struct sl_node keys[KEYS_MAX];
};

/* A value that is not given is not written. */
static void write_key(struct draft *draft, const char *key, const char *value)
{
    if (!value)
        return;
    struct sl_node *node = &draft->keys[draft->map.count];
    *node = (struct sl_node){
        .kind = SL_NODE_SCALAR,
        .plain = true,
        .key = sl_text(key),
        .text = sl_text(value),
    };
    if (draft->map.count++)
        node[-1].next = node;
}

/* Prints a window as a file would have it: in seconds, to the microsecond. */
static const char *print_window(struct sl_arena *arena, int64_t window_us)
{
    if (window_us < 0)
        return sl_arena_print(arena, "%lld µs", (long long)window_us);
    return sl_arena_print(arena, "%lld.%06lld", (long long)window_us / 1000000,
                          (long long)window_us % 1000000);
}

bool sl_rule_of_config(struct sl_arena *arena, const struct sluice_limit_config *config,
                       struct sl_report *report, struct sl_rule *out)
{
    static const struct sl_ruleset no_rules;
    struct sl_arena scratch = { 0 };
    struct sl_reader in = { .arena = arena, .scratch = &scratch, .report = report };
    struct draft draft = { .map = { .kind = SL_NODE_MAP, .first = draft.keys } };
    write_key(&draft, "name", config->name);
    write_key(&draft, "per", "global");
    write_key(&draft, "algorithm", config->algorithm);
    write_key(&draft, "capacity", sl_arena_print(&scratch, "%lld", (long long)config->capacity));
    write_key(&draft, "window",
              config->window_us ? print_window(&scratch, config->window_us) : NULL);
    write_key(&draft, "refill_rate", config->refill_rate);
    write_key(&draft, "burst_allowance", config->burst_allowance);
    write_key(&draft, "align", config->first_request ? "first_request" : NULL);
    struct sl_rule rule;
    bool good = sl_read_rule(&in, &draft.map, &no_rules, &rule);
    sl_arena_release(&scratch);
    if (good)
        *out = rule;
    return good;
}
