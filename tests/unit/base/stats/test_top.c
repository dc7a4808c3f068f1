#include "base/stats/top.h"

#include "unit/base/unit.h"

enum { KEYS = 5000 };

static struct sl_hash128 key_of(uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, number);
    return sl_hash128(sl_text(text), 1);
}

static void add_named(struct sl_top *top, const char *name, uint64_t weight)
{
    struct sl_top_entry *entry = sl_top_add(top, sl_hash128(sl_text(name), 1), weight);
    if (!entry->name)
        assert_true(sl_top_name(entry, SL_TEXT("acme"), sl_text(name)));
}

static const struct sl_top_entry *first_of(const struct sl_top *top)
{
    const struct sl_top_entry *first = NULL;
    assert_int_equal(sl_top_sorted(top, &first, 1), 1);
    return first;
}

TEST(few_are_counted_exactly)
{
    struct sl_top top = { 0 };
    const struct sl_top_entry *sorted[SL_TOP_ENTRIES];
    assert_int_equal(sl_top_sorted(&top, sorted, SL_TOP_ENTRIES), 0);
    for (uint64_t i = 1; i <= SL_TOP_ENTRIES; i++) {
        for (uint64_t j = 0; j < i; j++)
            sl_top_add(&top, key_of(i), 10);
    }
    assert_int_equal(sl_top_sorted(&top, sorted, SL_TOP_ENTRIES), SL_TOP_ENTRIES);
    for (uint64_t i = 0; i < SL_TOP_ENTRIES; i++) {
        assert_int_equal(sorted[i]->count, 10 * (SL_TOP_ENTRIES - i));
        assert_int_equal(sorted[i]->error, 0);
        assert_int_equal(sorted[i]->key.low, key_of(SL_TOP_ENTRIES - i).low);
    }
    assert_int_equal(top.total, 10 * SL_TOP_ENTRIES * (SL_TOP_ENTRIES + 1) / 2);
    sl_top_release(&top);
}

TEST(a_newcomer_takes_the_smallest_place)
{
    struct sl_top top = { 0 };
    for (uint64_t i = 0; i < SL_TOP_ENTRIES; i++)
        sl_top_add(&top, key_of(i), i == 7 ? 2 : 5);
    assert_true(sl_top_name(sl_top_add(&top, key_of(7), 0), SL_TEXT(""), SL_TEXT("seven")));
    struct sl_top_entry *entry = sl_top_add(&top, key_of(100), 4);
    assert_int_equal(entry->count, 6);
    assert_int_equal(entry->error, 2);
    assert_null(entry->name);
    assert_int_equal(top.count, SL_TOP_ENTRIES);
    assert_ptr_equal(entry, sl_top_add(&top, key_of(100), 1));
    assert_int_equal(first_of(&top)->count, 7);
    sl_top_release(&top);
}

TEST(names_are_copies)
{
    struct sl_top top = { 0 };
    char name[] = "u1", owner[] = "acme";
    struct sl_top_entry *entry = sl_top_add(&top, key_of(1), 1);
    assert_null(entry->name);
    assert_true(sl_top_name(entry, sl_text(owner), (struct sluice_text){ name, 2 }));
    name[0] = owner[0] = '?';
    assert_string_equal(entry->name, "u1");
    assert_string_equal(entry->owner, "acme");
    assert_true(sl_top_name(entry, (struct sluice_text){ 0 }, SL_TEXT("")));
    assert_string_equal(entry->name, "");
    assert_null(entry->owner);
    sl_top_clear(&top);
    assert_int_equal(top.count + top.total, 0);
    assert_null(sl_top_add(&top, key_of(1), 1)->name);
    sl_top_release(&top);
}

/* Behind it there may be nothing that could be read. */
TEST(a_name_ends_where_its_text_does)
{
    struct sl_top top = { 0 };
    char *exact = malloc(2);
    memcpy(exact, "u1", 2);
    struct sl_top_entry *entry = sl_top_add(&top, key_of(1), 1);
    assert_true(
        sl_top_name(entry, (struct sluice_text){ exact, 2 }, (struct sluice_text){ exact, 2 }));
    free(exact);
    assert_string_equal(entry->name, "u1");
    assert_string_equal(entry->owner, "u1");
    sl_top_release(&top);
}

TEST(the_same_count_is_in_order_of_names)
{
    static const char *const wanted[] = { "z", "a", "b", "c" };
    struct sl_top top = { 0 };
    const struct sl_top_entry *sorted[SL_TOP_ENTRIES];
    add_named(&top, "c", 1);
    add_named(&top, "a", 1);
    sl_top_add(&top, key_of(1), 1);
    add_named(&top, "z", 2);
    add_named(&top, "b", 1);
    assert_int_equal(sl_top_sorted(&top, sorted, SL_TOP_ENTRIES), 5);
    for (size_t i = 0; i < COUNT(wanted); i++)
        assert_string_equal(sorted[i]->name, wanted[i]);
    assert_null(sorted[4]->name);
    assert_int_equal(sl_top_sorted(&top, sorted, 2), 2);
    sl_top_release(&top);
}

TEST(merging_adds_up_and_copies_names)
{
    struct sl_top to = { 0 }, from = { 0 };
    const struct sl_top_entry *sorted[SL_TOP_ENTRIES];
    add_named(&to, "both", 3);
    add_named(&to, "here", 5);
    add_named(&from, "both", 4);
    add_named(&from, "there", 6);
    sl_top_add(&to, sl_hash128(SL_TEXT("late"), 1), 1);
    add_named(&from, "late", 1);
    sl_top_merge(&to, &from);
    sl_top_release(&from);
    assert_int_equal(sl_top_sorted(&to, sorted, SL_TOP_ENTRIES), 4);
    static const struct {
        const char *name;
        uint64_t count;
    } wanted[] = { { "both", 7 }, { "there", 6 }, { "here", 5 }, { "late", 2 } };
    for (size_t i = 0; i < COUNT(wanted); i++) {
        assert_string_equal(sorted[i]->name, wanted[i].name);
        assert_string_equal(sorted[i]->owner, "acme");
        assert_int_equal(sorted[i]->count, wanted[i].count);
        assert_int_equal(sorted[i]->error, 0);
    }
    assert_int_equal(to.total, 20);
    sl_top_release(&to);
}

TEST(what_a_full_side_may_have_forgotten_is_an_error)
{
    struct sl_top to = { 0 }, from = { 0 };
    add_named(&to, "here", 50);
    for (uint64_t i = 0; i < SL_TOP_ENTRIES; i++)
        add_named(&from, i == 0 ? "there" : (char[]){ (char)('0' + i), 0 }, i == 0 ? 70 : 9);
    sl_top_merge(&to, &from);
    assert_int_equal(to.count, SL_TOP_ENTRIES);
    const struct sl_top_entry *sorted[2];
    assert_int_equal(sl_top_sorted(&to, sorted, 2), 2);
    assert_string_equal(sorted[0]->name, "there");
    assert_int_equal(sorted[0]->count, 70);
    assert_int_equal(sorted[0]->error, 0);
    assert_string_equal(sorted[1]->name, "here");
    assert_int_equal(sorted[1]->count, 59);
    assert_int_equal(sorted[1]->error, 9);
    sl_top_release(&to);
    sl_top_release(&from);
}

/* ---- against exact counts ---- */

static struct sl_hash128 keys[KEYS];
static uint64_t exact[KEYS];

static void it_holds(const struct sl_top *top, uint64_t total)
{
    size_t found = 0;
    assert_int_equal(top->total, total);
    for (uint64_t k = 0; k < KEYS; k++) {
        const struct sl_top_entry *entry = NULL;
        for (uint32_t i = 0; i < top->count && !entry; i++) {
            if (memcmp(&top->entries[i].key, &keys[k], sizeof keys[k]) == 0)
                entry = &top->entries[i];
        }
        if (!entry) {
            assert_true(exact[k] * SL_TOP_ENTRIES <= total);
            continue;
        }
        found++;
        assert_true(entry->count - entry->error <= exact[k]);
        assert_true(exact[k] <= entry->count);
    }
    assert_int_equal(found, top->count);
}

/* The k-th key comes about 1/k^skew as often as the first: a walk over the shares. */
static uint64_t zipf(const double *shares, uint64_t *seed)
{
    double at = (double)(unit_random(seed) >> 11) / 9007199254740992.0 * shares[KEYS - 1];
    size_t low = 0, high = KEYS - 1;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (shares[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Skew in halves: 0 is even, 2 is Zipf's own. */
static void fill_shares(double *shares, int halves)
{
    double sum = 0;
    for (int k = 0; k < KEYS; k++) {
        double root = 1, part = 1;
        for (int i = 0; i < 40; i++)
            root = (root + (k + 1) / root) / 2;
        for (int i = 0; i < halves; i++)
            part /= root;
        shares[k] = sum += part;
    }
}

TEST(the_bounds_hold_on_skewed_streams)
{
    static double shares[KEYS];
    for (uint64_t k = 0; k < KEYS; k++)
        keys[k] = key_of(k);
    for (int run = 0; run < 24; run++) {
        struct sl_top parts[3] = { { 0 } };
        uint64_t seed = (uint64_t)run, total = 0;
        fill_shares(shares, run % 6);
        memset(exact, 0, sizeof exact);
        for (int i = 0; i < 30000; i++) {
            /* Each part prefers other keys, as workers do whose connections differ. */
            uint64_t part = (uint64_t)unit_up_to(&seed, 2), shift = run % 2 ? part * 40 : 0;
            uint64_t k = (zipf(shares, &seed) + shift) % KEYS;
            uint64_t weight = 1 + (uint64_t)unit_up_to(&seed, run % 4);
            sl_top_add(&parts[part], keys[k], weight);
            exact[k] += weight;
            total += weight;
        }
        sl_top_merge(&parts[0], &parts[1]);
        sl_top_merge(&parts[0], &parts[2]);
        it_holds(&parts[0], total);
        uint64_t k = (uint64_t)unit_up_to(&seed, KEYS - 1);
        sl_top_add(&parts[0], keys[k], 5);
        exact[k] += 5;
        it_holds(&parts[0], total + 5);
    }
}

TEST(the_bounds_hold_without_merging)
{
    static double shares[KEYS];
    for (int run = 0; run < 12; run++) {
        struct sl_top top = { 0 };
        uint64_t seed = (uint64_t)run + 500;
        fill_shares(shares, run % 6);
        memset(exact, 0, sizeof exact);
        for (uint64_t i = 0; i < 20000; i++) {
            uint64_t k = zipf(shares, &seed);
            sl_top_add(&top, keys[k], 1);
            exact[k]++;
            if (i % 5000 == 4999)
                it_holds(&top, i + 1);
        }
    }
}
