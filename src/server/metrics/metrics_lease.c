/* Metrics of leases: what became of units, how many are held and may be, how calls ended; for rules
 * that lease. Summed over a fleet, `held` is what is missing from a limit, and `most` its bound. */
#include "base/clock.h"
#include "server/metrics/metrics_internal.h"

static const char *const ends[] = {
#define NAME(constant, name) [constant] = name,
    SL_LEASE_ENDS(NAME)
};

static const char *const results[] = { SL_LEASE_RESULTS(NAME)
#undef NAME
};

/* A rule that leases. */
struct lease_row {
    const struct sl_rule *rule;
    const struct sl_lease_counts *counts;
    struct sl_lease_held held;
};

static void print_labelled_counts(struct sl_metrics_page *page, const struct lease_row *leased,
                                  const char *label, const char *const *names,
                                  const _Atomic uint64_t *counts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sl_page_label(page, "rule", sl_text(leased->rule->name));
        sl_page_label(page, label, sl_text(names[i]));
        sl_page_number(page, sl_count_read(&counts[i]));
    }
}

static void print_units(struct sl_metrics_page *page, const struct lease_row *leased)
{
    print_labelled_counts(page, leased, "end", ends, leased->counts->units, SL_LEASE_END_COUNT);
}

static void print_calls(struct sl_metrics_page *page, const struct lease_row *leased)
{
    print_labelled_counts(page, leased, "result", results, leased->counts->calls,
                          SL_LEASE_RESULT_COUNT);
}

static void print_rule_number(struct sl_metrics_page *page, const struct lease_row *leased,
                              uint64_t number)
{
    sl_page_label(page, "rule", sl_text(leased->rule->name));
    sl_page_number(page, number);
}

static void print_held(struct sl_metrics_page *page, const struct lease_row *leased)
{
    print_rule_number(page, leased, leased->held.units);
}

static void print_most(struct sl_metrics_page *page, const struct lease_row *leased)
{
    print_rule_number(page, leased, leased->held.most);
}

static void print_short(struct sl_metrics_page *page, const struct lease_row *leased)
{
    print_rule_number(page, leased, sl_count_read(&leased->counts->short_of));
}

static const struct of_leased {
    const char *name, *type, *help;
    void (*print)(struct sl_metrics_page *page, const struct lease_row *leased);
} families[] = {
    { "sluice_lease_units_total", "counter", "Units taken ahead, and what became of them.",
      print_units },
    { "sluice_lease_held_units", "gauge", "Units taken ahead and not spent yet.", print_held },
    { "sluice_lease_most_units", "gauge", "Units that its leases began with.", print_most },
    { "sluice_lease_calls_total", "counter", "Calls for leases, by how they ended.", print_calls },
    { "sluice_lease_short_total", "counter",
      "Requests denied by such a call that would have passed if nothing had been out.",
      print_short },
};

void sl_metrics_print_leases(struct sl_metrics_page *page, const struct sl_metrics *metrics)
{
    const struct sl_ruleset *rules = metrics->ruleset;
    struct sl_lease_held held[SL_LEASE_RULES];
    if (!metrics->leases)
        return;
    sl_leases_held(metrics->leases, held, sl_boottime_us());
    for (size_t k = 0; k < SL_COUNT_OF(families); k++) {
        sl_page_family(page, families[k].name, families[k].type, families[k].help);
        for (size_t i = 0; i < rules->rule_count; i++) {
            uint32_t number = metrics->numbers ? metrics->numbers[i] : (uint32_t)i;
            struct lease_row leased = { &rules->rules[i],
                                        sl_leases_counts(metrics->leases, number),
                                        { 0 } };
            if (!leased.counts || sl_rule_lease(leased.rule) == SL_LEASE_OFF)
                continue;
            leased.held = held[number];
            families[k].print(page, &leased);
        }
    }
}
