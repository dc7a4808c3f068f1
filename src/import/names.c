/* Making rule names of foreign ones, each different. */
#include "import/names.h"

#include "base/buffer.h"
#include "rules/ruleset.h"

/* A name that is too long keeps its beginning and its end, where paths differ. */
enum { HEAD = 30, TAIL = SL_RULE_NAME_MAX - HEAD - 3 };

static bool is_good(char c)
{
    return sl_rule_name_is_good((struct sluice_text){ &c, 1 });
}

static struct sluice_text shorten(char *at, size_t len)
{
    if (len > SL_RULE_NAME_MAX) {
        memmove(at + HEAD + 3, at + len - TAIL, TAIL);
        memcpy(at + HEAD, "...", 3);
        len = SL_RULE_NAME_MAX;
    }
    return (struct sluice_text){ at, len };
}

/* A name while it is made. */
struct making {
    char *at;
    size_t len;
    bool has_gap; /* characters were left out since the last one */
};

/* Adds a character. A gap becomes a dash, but not at the ends of a part. */
static void put_character(struct making *name, char c)
{
    bool is_start = name->len == 0 || memchr("._-", name->at[name->len - 1], 3);
    if (name->has_gap && !is_start && c != '.' && c != '-')
        name->at[name->len++] = '-';
    name->has_gap = false;
    if (c != '.' || name->len)
        name->at[name->len++] = c;
}

/* Other characters become a gap, several of them one; a star becomes a word. */
static struct sluice_text make_legal(struct sl_arena *arena, struct sluice_text text)
{
    enum { LONGEST = sizeof "-any-" };
    struct making name = { .at = sl_arena_take(arena, LONGEST * text.len + 1) };
    for (size_t i = 0; i < text.len; i++) {
        bool is_star = text.at[i] == '*';
        name.has_gap |= is_star || !is_good(text.at[i]);
        for (const char *any = "any"; is_star && *any; any++)
            put_character(&name, *any);
        if (is_good(text.at[i]))
            put_character(&name, text.at[i]);
        name.has_gap |= is_star;
    }
    return shorten(name.at, name.len);
}

/* Finds the number that this name was last given with, 0 at first. */
static uint32_t *find_count(struct sl_names *names, struct sluice_text name)
{
    uint32_t place = sl_textmap_get(&names->counts, 0, name);
    if (place)
        return &names->last[place - 1];
    if (names->count == names->room) {
        size_t room = names->room ? 2 * names->room : 64;
        uint32_t *larger = sl_arena_take(names->arena, room * sizeof *larger);
        if (names->count)
            memcpy(larger, names->last, names->count * sizeof *larger);
        names->last = larger;
        names->room = room;
    }
    sl_textmap_add(names->arena, &names->counts, 0, name, (uint32_t)++names->count);
    return &names->last[names->count - 1];
}

/* Numbers are given in turn, so that of n rules with one name each is tried at most twice. */
const char *sl_names_take(struct sl_names *names, struct sluice_text text)
{
    struct sluice_text base = make_legal(names->arena, text);
    if (base.len == 0)
        base = SL_TEXT("limit");
    uint32_t *last = find_count(names, base);
    for (;;) {
        uint32_t number = ++*last;
        const char *suffix = number > 1 ? sl_arena_print(names->arena, "-%u", number) : "";
        size_t most = SL_RULE_NAME_MAX - strlen(suffix);
        int len = (int)(base.len < most ? base.len : most);
        struct sluice_text name =
            sl_text(sl_arena_print(names->arena, "%.*s%s", len, base.at, suffix));
        if (sl_textmap_get(&names->taken, 0, name))
            continue;
        sl_textmap_add(names->arena, &names->taken, 0, name, 1);
        return name.at;
    }
}
