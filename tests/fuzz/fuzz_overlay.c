/* Any bytes as a rules file and what lies on top of it, in lines that no rules file can
 * have:
 *
 *   rules: [{ name: a, per: ip, limit: 1/s }]
 *   %rule a                a rule for all; the JSON is in the lines behind it
 *   {"per": "ip", "limit": "2/s"}
 *   %own acme b            a tenant's
 *   {"per": "ip", "limit": "3/s"}
 *   %tier pro
 *   {"scale": 2}
 *   %hide c
 *   %hide-tier free
 *   %ip 10.0.0.0/8         an exemption; %client, %api_key
 *
 * What comes out is linted and printed; and once around: laid on the same file, the JSON of
 * every rule and tier must make the same ruleset again. The bytes are read as a rule's JSON
 * too: printed and read and printed, it stays the same. */
#include <ctype.h>
#include <stdio.h>

#include "rules/reading/parts.h"
#include "rules/tree/node_json.h"
#include "rules/tree/tree_json.h"
#include "unit/rules/same_rules.h"

enum { SECTIONS_MAX = 32, END_US = 1000 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* What was read of the input. */
struct input {
    struct sl_arena arena;
    struct sluice_text yaml;
    struct sl_overlay_rule rules[SECTIONS_MAX];
    struct sl_overlay_tier tiers[SECTIONS_MAX];
    struct sl_overlay_exemption exemptions[SECTIONS_MAX];
    struct sl_overlay overlay;
};

/* Up to the next line that starts with `%`; *rest begins there. */
static struct sluice_text cut_section(struct sluice_text *rest)
{
    size_t at = 0;
    for (; at < rest->len; at++)
        if (rest->at[at] == '%' && (at == 0 || rest->at[at - 1] == '\n'))
            break;
    struct sluice_text section = { rest->at, at };
    *rest = (struct sluice_text){ rest->at + at, rest->len - at };
    return section;
}

/* The first word of a text, which begins behind it then. */
static const char *cut_word(struct input *in, struct sluice_text *text, bool is_last)
{
    size_t at = 0;
    while (at < text->len && text->at[at] != '\n' && (is_last || text->at[at] != ' '))
        at++;
    const char *word = sl_arena_copy(&in->arena, (struct sluice_text){ text->at, at });
    bool space = at < text->len && text->at[at] == ' ';
    *text = (struct sluice_text){ text->at + at + space, text->len - at - space };
    return word;
}

static void add_rule(struct input *in, const char *tenant, const char *name, const char *json)
{
    size_t count = in->overlay.rule_count++;
    in->rules[count] = (struct sl_overlay_rule){ name, tenant, json, count + 1 };
}

static void add_tier(struct input *in, const char *name, const char *json)
{
    size_t count = in->overlay.tier_count++;
    in->tiers[count] = (struct sl_overlay_tier){ name, json, count + 1 };
}

static void add_exemption(struct input *in, enum sl_exempt_kind kind, const char *value)
{
    size_t count = in->overlay.exemption_count++;
    in->exemptions[count] = (struct sl_overlay_exemption){ kind, value, count % 2 ? END_US : 0 };
}

/* A section behind its `%`. What is none of them is left out. */
static void take_section(struct input *in, struct sluice_text text)
{
    const char *kind = cut_word(in, &text, false);
    const char *tenant = strcmp(kind, "own") == 0 ? cut_word(in, &text, false) : NULL;
    const char *name = cut_word(in, &text, true);
    const char *json = sl_arena_copy(&in->arena, text);
    if (tenant || strcmp(kind, "rule") == 0)
        add_rule(in, tenant, name, json);
    else if (strcmp(kind, "hide") == 0)
        add_rule(in, NULL, name, NULL);
    else if (strcmp(kind, "tier") == 0)
        add_tier(in, name, json);
    else if (strcmp(kind, "hide-tier") == 0)
        add_tier(in, name, NULL);
    else if (strcmp(kind, "ip") == 0)
        add_exemption(in, SL_EXEMPT_IP, name);
    else if (strcmp(kind, "client") == 0)
        add_exemption(in, SL_EXEMPT_CLIENT, name);
    else if (strcmp(kind, "api_key") == 0)
        add_exemption(in, SL_EXEMPT_API_KEY, name);
}

static void read_input(struct input *in, struct sluice_text text)
{
    in->yaml = cut_section(&text);
    for (int i = 0; i < SECTIONS_MAX && text.len; i++) {
        text = (struct sluice_text){ text.at + 1, text.len - 1 };
        take_section(in, cut_section(&text));
    }
    in->overlay.rules = in->rules;
    in->overlay.tiers = in->tiers;
    in->overlay.exemptions = in->exemptions;
}

/* Says what is wrong, and stops. */
static void must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "not so: %s\n", what);
    abort();
}

/* Every line is one that a terminal and a JSON can take. */
static void print(struct sl_report *report)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    if (!out)
        return;
    sl_report_print(report, out);
    fclose(out);
    for (size_t i = 0; i < len; i++)
        must(!iscntrl((unsigned char)text[i]) || text[i] == '\n', "problems are printable");
    free(text);
}

static void go_around(const struct input *in, const struct sl_ruleset *rules)
{
    struct sl_arena arena = { 0 };
    struct sl_report report = { .file = "again" };
    struct sl_overlay overlay = overlay_of(&arena, rules);
    overlay.exemptions = in->exemptions;
    overlay.exemption_count = in->overlay.exemption_count;
    struct sl_ruleset *again = sl_ruleset_parse_over("rules.yaml", in->yaml, &overlay, &report);
    if (!again)
        sl_report_print(&report, stderr);
    must(again != NULL, "what a ruleset's JSON says can be read");
    const char *differs = rules_differ(rules, again);
    must(!differs, differs);
    sl_ruleset_free(again);
    sl_report_release(&report);
    sl_arena_release(&arena);
}

static void lay_overlay(const struct input *in)
{
    struct sl_report report = { .file = "rules.yaml" };
    struct sl_ruleset *rules = sl_ruleset_parse_over("rules.yaml", in->yaml, &in->overlay, &report);
    must(!rules == (report.errors > 0), "a ruleset or errors, never both");
    must(report.subject == NULL, "a subject ends");
    if (rules) {
        sl_ruleset_lint(rules, &report);
        must(report.subject == NULL, "a subject ends");
        go_around(in, rules);
    }
    print(&report);
    sl_ruleset_free(rules);
    sl_report_release(&report);
}

/* The bytes as JSON: whatever is read is printed as what reads the same. */
static void read_and_print(struct sluice_text json)
{
    struct sl_arena arena = { 0 };
    struct sl_report report = { .file = "json" };
    const struct sl_node *map = sl_tree_json_parse(&arena, json, &report);
    must(map || report.errors, "what is refused is reported");
    if (map) {
        const char *once = sl_node_json(&arena, map, &sl_rule_table);
        const struct sl_node *again = sl_tree_json_parse(&arena, sl_text(once), &report);
        must(again != NULL, "what is printed can be read");
        must(strcmp(sl_node_json(&arena, again, &sl_rule_table), once) == 0, "and is the same");
    }
    print(&report);
    sl_report_release(&report);
    sl_arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct input in = { .yaml = { 0 } };
    struct sluice_text text = { len ? (const char *)bytes : "", len };
    read_and_print(text);
    read_input(&in, text);
    lay_overlay(&in);
    sl_arena_release(&in.arena);
    return 0;
}
