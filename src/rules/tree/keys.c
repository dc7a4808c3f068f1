/* Reading a map with a table of keys.
 *
 * The configuration of a program grows by keys, and a parser that grows by
 * `else if` is soon the largest file of all. So a key is a row, and there is
 * one loop. Defaults are text in the same row and go through the same reader:
 * the printed list of keys shows what the program does. */
#include "rules/tree/keys.h"

#include "base/check.h"

static size_t count_keys(const struct sl_key_table *table)
{
    size_t count = 0;
    while (table->keys[count].name)
        count++;
    return count;
}

/* Returns the key that was probably meant, or NULL. */
static const char *report_unknown(struct sl_reader *in, const struct sl_node *entry,
                                  const struct sl_key_table *table)
{
    if (sl_report_is_full(in->report)) {
        sl_report_error(in->report, entry->key_mark, "unknown key");
        return NULL;
    }
    size_t count = count_keys(table);
    const char **names = sl_arena_take(in->scratch, (count + 1) * sizeof *names);
    for (size_t i = 0; i < count; i++)
        names[i] = table->keys[i].name;
    const char *unknown = sl_report_quote(in->report, entry->key);
    const char *close = sl_did_you_mean(entry->key, names);
    if (close)
        sl_report_error(in->report, entry->key_mark, "unknown key `%s`; did you mean `%s`?",
                        unknown, close);
    else
        sl_report_error(in->report, entry->key_mark, "unknown key `%s`; %s has %s", unknown,
                        table->what, sl_words_join(in->scratch, names, "and"));
    return close;
}

/* A misspelt key is then read as the key that was probably meant: its value may be wrong
 * too, and the key is not reported as missing as well. */
static bool check_known(struct sl_reader *in, const struct sl_node *map,
                        const struct sl_key_table *table)
{
    bool good = true;
    for (struct sl_node *entry = map->first; entry; entry = entry->next) {
        const struct sl_key *key = table->keys;
        while (key->name && !sl_text_is(entry->key, key->name))
            key++;
        if (key->name)
            continue;
        const char *meant = report_unknown(in, entry, table);
        if (meant && !sl_node_get(map, meant))
            entry->key = sl_text(meant);
        good = false;
    }
    return good;
}

/* The node of a key that is not written: its default, or an empty map. Tiers and
 * rules are read even then: an overlay may bring some. */
static bool stand_in(const struct sl_node *map, const struct sl_key *key, struct sl_node *out)
{
    *out = (struct sl_node){ .mark = map->mark, .key = sl_text(key->name), .key_mark = map->mark };
    if (key->standard) {
        out->kind = SL_NODE_SCALAR;
        out->plain = true;
        out->text = sl_text(key->standard);
    } else {
        out->kind = key->read == sl_read_keys ? SL_NODE_MAP : key->empty;
    }
    return out->kind != SL_NODE_BROKEN;
}

static bool read_key(struct sl_reader *in, const struct sl_node *map, const struct sl_key *key,
                     void *out)
{
    struct sl_node standard;
    const struct sl_node *node = sl_node_get(map, key->name);
    if (!node && stand_in(map, key, &standard))
        node = &standard;
    if (!node)
        return true;
    const void *shape = key->shape ? key->shape : key->below;
    return key->read(in, node, shape, (char *)out + key->offset);
}

bool sl_read_keys(struct sl_reader *in, const struct sl_node *node, const void *shape, void *out)
{
    const struct sl_key_table *table = shape;
    if (node->kind != SL_NODE_MAP)
        return sl_refuse(in, node, "a map: %s has keys such as `%s`", table->what,
                         table->keys[0].name);
    bool good = check_known(in, node, table);
    for (const struct sl_key *key = table->keys; key->name; key++) {
        if (key->required && !sl_node_get(node, key->name)) {
            sl_report_error(in->report, node->mark, "%s needs `%s`: %s", table->what, key->name,
                            key->help);
            good = false;
        } else {
            good &= read_key(in, node, key, out);
        }
    }
    return good;
}

static void print_table(FILE *out, const struct sl_key_table *table, const char *prefix)
{
    for (const struct sl_key *key = table->keys; key->name; key++) {
        char path[128];
        int len = snprintf(path, sizeof path, "%s%s", prefix, key->name);
        SL_CHECK(len > 0 && (size_t)len < sizeof path);
        const char *missing = key->required   ? "required"
                              : key->standard ? key->standard
                              : key->missing  ? key->missing
                                              : "-";
        fprintf(out, "%-34s  %-24s  %s\n", path, missing, key->help);
        if (!key->below)
            continue;
        len = snprintf(path, sizeof path, "%s%s%s", prefix, key->name,
                       key->below_by ? key->below_by : ".");
        SL_CHECK(len > 0 && (size_t)len < sizeof path);
        print_table(out, key->below, path);
    }
}

void sl_keys_print(FILE *out, const struct sl_key_table *table)
{
    fprintf(out, "%-34s  %-24s  %s\n", "KEY", "DEFAULT", "WHAT IT IS");
    print_table(out, table, "");
}
