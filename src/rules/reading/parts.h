/* The parts of a rules file, each in its own .c: its table of keys, and the
 * checks that look at several keys together. Only the readers include this. */
#ifndef SL_RULES_READING_PARTS_H
#define SL_RULES_READING_PARTS_H

#include "rules/ruleset.h"
#include "rules/tree/keys.h"

extern const struct sl_key_table sl_file_table;      /* settings.c; fills a struct sl_ruleset */
extern const struct sl_key_table sl_listen_table;    /* listen.c; a struct sl_settings */
extern const struct sl_key_table sl_tls_table;       /* listen.c; sl_settings.tls */
extern const struct sl_key_table sl_identity_table;  /* identity.c; a struct sl_identity */
extern const struct sl_key_table sl_exempt_table;    /* exempt.c; a struct sl_exempt */
extern const struct sl_key_table sl_tier_table;      /* tier.c; a struct sl_tier */
extern const struct sl_key_table sl_rule_table;      /* rule.c; a struct sl_rule_draft */
extern const struct sl_key_table sl_condition_table; /* condition.c; a struct sl_condition */

/* A short way to write a row's range. */
#define SL_RANGE(least, most) (&(const struct sl_range){ (least), (most) })

/* Readers of keys with more than one value. Out: struct sl_ruleset. */
sl_reading sl_read_tiers;
sl_reading sl_read_rules;

sl_reading sl_read_failure_policy; /* out: enum sl_failure_policy */
sl_reading sl_read_choice;         /* shape: two words; out: bool, true for the second */

sl_reading sl_read_network; /* an address or a network; out: struct sl_network */
sl_reading sl_read_pattern; /* out: struct sl_pattern */

/* An attribute's name; out: struct sl_part. Only in `per` is `global` one. */
sl_reading sl_read_attribute;
sl_reading sl_read_per;        /* a name or a list of them; out: struct sl_rule */
sl_reading sl_read_conditions; /* `when`; out: struct sl_rule */
sl_reading sl_read_condition;  /* of one attribute; out: struct sl_condition, which names it */

/* attribute: source, into a list of struct sl_claim_map. Shape: struct sl_each,
 * whose `read` is for the source alone. */
sl_reading sl_read_sources;

/* The name of a rule or a tenant: 1 to 64 letters, digits and a few signs; out: const char *. */
sl_reading sl_read_name;

/* `off`, `auto` or a number; out: int64_t */
sl_reading sl_read_lease;

extern const char *const sl_algorithm_names[]; /* rule.c; as sl_algos, ended by NULL */

/* Makes a node of an entry's key, for the readers above. */
struct sl_node sl_node_of_key(const struct sl_node *entry);

/* Sets the defaults that cannot be written as the text of one value. */
void sl_settings_init(struct sl_settings *settings);

/* Checks several keys together. */
void sl_listen_check(struct sl_reader *in, const struct sl_node *file,
                     const struct sl_settings *settings);

/* A rule's numbers for one tier. */
struct sl_tier_numbers {
    const struct sl_node *node; /* NULL: nothing */
    uint64_t capacity;          /* 0: not given */
    struct sl_decimal rate;     /* 0: not given */
    bool unlimited;
};

/* A rule while it is read: the values of the file, before its numbers are composed.
 * Zero means "not given" and "was refused". */
struct sl_rule_draft {
    struct sl_rule rule;
    const struct sl_ruleset *rules; /* settings and tiers are read already */
    uint64_t capacity;
    int64_t window_us;
    struct sl_decimal rate;
    struct sl_decimal burst;
    bool first_request;
    struct sl_tier_numbers *own; /* by tier; NULL: none */
};

/* The rule's `tiers`; out: struct sl_rule_draft. */
sl_reading sl_read_tier_numbers;
extern const struct sl_key_table sl_tier_numbers_table;

/* Checks that the rule's number keys fit its algorithm, and composes the numbers, for no tier and
 * for each. rule_numbers.c */
bool sl_rule_compose(struct sl_reader *in, const struct sl_node *node, struct sl_rule_draft *draft);

/* The ranges of a rule's capacity and rate, for all tiers or one. rule.c */
extern const struct sl_range sl_capacity_range;
extern const struct sl_decimal_range sl_rate_range;

/* One rule; shape: struct sl_ruleset; out: struct sl_rule. */
sl_reading sl_read_rule;

/* A rule or a tier to be read: the file's, or the overlay's. */
struct sl_layer {
    const struct sl_node *node;         /* its map; NULL: the overlay's, not read yet */
    const struct sl_overlay_rule *over; /* NULL: it comes from the file */
    bool replaces_files;
};

/* All layers in force, in their order. overlay.c */
struct sl_layers {
    struct sl_layer *at;
    size_t count;
    const char **hidden; /* of the file; in in->arena */
    size_t hidden_count;
};

/* `base` is the part of the file: the list of rules, or the map of tiers. */
struct sl_layers sl_layers_of(struct sl_reader *in, const struct sl_node *base);

/* Starts one layer: problems from now on are about it; `what` is "rule" or "tier". */
void sl_layer_begin(struct sl_reader *in, const struct sl_layer *layer, const char *what);
/* Problems from now on are about the file again. */
void sl_layers_end(struct sl_reader *in);

/* Starts a rule's layer and returns its map; NULL: it was refused. A tier's key is its name. */
const struct sl_node *sl_layer_open_rule(struct sl_reader *in, struct sl_layer *layer);
const struct sl_node *sl_layer_open_tier(struct sl_reader *in, struct sl_layer *layer);

/* Marks a rule read from an open layer with its origin; restricts a tenant's own rule to that
 * tenant. Returns false if the rule names another tenant. */
bool sl_layer_mark_rule(struct sl_reader *in, const struct sl_layer *layer, struct sl_rule *rule);

/* `replaces`: names of rules. Its row checks each name alone; when all rules are read,
 * sl_replaces_resolve writes their numbers into each sl_rule. replaces.c */
sl_reading sl_read_replaces;
bool sl_replaces_resolve(struct sl_reader *in, const struct sl_layers *layers,
                         struct sl_ruleset *rules);

/* Reads the overlay's exemptions; exempt.c */
bool sl_read_exempt_until(struct sl_reader *in, struct sl_ruleset *rules);

#endif
