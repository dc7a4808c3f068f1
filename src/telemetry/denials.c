#include "telemetry/denials.h"

#include <stdlib.h>

#include "algo/algo.h"

enum { PLACES = 2048 }; /* a power of two, and more than twice as many */

struct sl_denials {
    size_t count;
    size_t text_len;
    uint64_t missed;
    int64_t missed_us;
    uint16_t places[PLACES]; /* number in `noted` + 1, by key; 0: none */
    struct sl_noted noted[SL_DENIALS_MAX];
    char text[SL_DENIALS_TEXT_BYTES];
};

struct sl_denials *sl_denials_new(void)
{
    return calloc(1, sizeof(struct sl_denials));
}

void sl_denials_free(struct sl_denials *denials)
{
    free(denials);
}

/* ---- folding ---- */

static bool keep(struct sl_denials *denials, struct sluice_text *text)
{
    if (!text->at)
        return true;
    if (text->len > SL_DENIALS_TEXT_BYTES - denials->text_len)
        return false;
    char *copy = denials->text + denials->text_len;
    memcpy(copy, text->at, text->len);
    denials->text_len += text->len;
    text->at = copy;
    return true;
}

static void fold(struct sl_noted *into, const struct sl_noted *more)
{
    if (more->denied && (!into->denied || more->first_us < into->first_us)) {
        into->first_us = more->first_us;
        into->retry_after_us = more->retry_after_us;
        into->capacity = more->capacity;
        into->remaining = more->remaining;
    }
    if (more->warned || more->blocked) {
        into->request_count = more->request_count;
        into->guard_us = more->guard_us;
    }
    into->denied += more->denied;
    into->warned += more->warned;
    into->blocked += more->blocked;
}

void sl_denials_miss(struct sl_denials *denials, uint64_t count, int64_t at_us)
{
    if (count && !denials->missed)
        denials->missed_us = at_us;
    denials->missed += count;
}

void sl_denials_add(struct sl_denials *denials, const struct sl_noted *noted)
{
    size_t place = noted->key.low % PLACES;
    if (!noted->denied && !noted->warned && !noted->blocked)
        return;
    for (; denials->places[place]; place = (place + 1) % PLACES) {
        struct sl_noted *old = &denials->noted[denials->places[place] - 1];
        if (old->key.low == noted->key.low && old->key.high == noted->key.high) {
            fold(old, noted);
            return;
        }
    }
    struct sl_noted copy = *noted;
    if (denials->count == SL_DENIALS_MAX || !keep(denials, &copy.tenant) ||
        !keep(denials, &copy.identifier) || !keep(denials, &copy.resource)) {
        sl_denials_miss(denials, noted->denied, noted->first_us);
        return;
    }
    denials->noted[denials->count++] = copy;
    denials->places[place] = (uint16_t)denials->count;
}

/* ---- telling ---- */

struct telling {
    struct sl_audit_event event;
    struct sl_audit_figure figures[SL_AUDIT_FIGURES_MAX];
};

static void say_number(struct telling *telling, const char *name, int64_t number)
{
    telling->figures[telling->event.figure_count++] =
        (struct sl_audit_figure){ .name = name, .type = SL_FIGURE_NUMBER, .number = number };
}

static void say_shadow(struct telling *telling)
{
    telling->figures[telling->event.figure_count++] =
        (struct sl_audit_figure){ .name = "shadow", .type = SL_FIGURE_BOOL, .number = 1 };
}

static struct telling start(const struct sl_noted *noted, const struct sl_enrolled *rule,
                            enum sl_audit_kind kind)
{
    return (struct telling){ .event = { .kind = kind,
                                        .tenant = noted->tenant,
                                        .identifier = noted->identifier,
                                        .limit_type = sl_text(rule->limit_type),
                                        .resource = noted->resource,
                                        .rule = sl_text(rule->name) } };
}

static void tell(struct sl_audit *audit, struct telling *telling, int64_t at_us)
{
    telling->event.figures = telling->figures;
    sl_audit_write(audit, &telling->event, at_us);
}

static void tell_denials(struct sl_audit *audit, const struct sl_noted *noted,
                         const struct sl_enrolled *rule)
{
    bool is_counter = strcmp(rule->algorithm, "sliding_window_counter") == 0;
    struct telling telling =
        start(noted, rule, is_counter ? SL_AUDIT_WINDOW_EXCEEDED : SL_AUDIT_EXCEEDED);
    int64_t retry_us = noted->retry_after_us;
    if (is_counter)
        say_number(&telling, "estimated_count", noted->capacity - noted->remaining);
    say_number(&telling, "capacity", noted->capacity);
    say_number(&telling, "retry_after", retry_us == SL_NEVER ? -1 : (retry_us + 999999) / 1000000);
    say_number(&telling, "count", (int64_t)noted->denied);
    if (noted->is_shadow)
        say_shadow(&telling);
    tell(audit, &telling, noted->first_us);
}

static void tell_burst(struct sl_audit *audit, const struct sl_noted *noted,
                       const struct sl_enrolled *rule, enum sl_audit_kind kind)
{
    struct telling telling = start(noted, rule, kind);
    say_number(&telling, "request_count", noted->request_count);
    if (noted->is_shadow)
        say_shadow(&telling);
    tell(audit, &telling, noted->guard_us);
}

static void tell_noted(struct sl_audit *audit, const struct sl_noted *noted,
                       const struct sl_enrolled *rule)
{
    if (!rule->name)
        return;
    if (noted->warned)
        tell_burst(audit, noted, rule, SL_AUDIT_BURST_WARNING);
    if (noted->blocked)
        tell_burst(audit, noted, rule, SL_AUDIT_BURST_BLOCKED);
    if (noted->denied)
        tell_denials(audit, noted, rule);
}

static void tell_missed(struct sl_audit *audit, const struct sl_denials *denials)
{
    struct telling telling = { .event = { .kind = SL_AUDIT_EXCEEDED } };
    say_number(&telling, "count", (int64_t)denials->missed);
    tell(audit, &telling, denials->missed_us);
}

void sl_denials_flush(struct sl_denials *denials, const struct sl_rule_ids *ids,
                      struct sl_audit *audit)
{
    for (size_t i = 0; i < denials->count; i++)
        tell_noted(audit, &denials->noted[i], &ids->rules[denials->noted[i].rule]);
    if (denials->missed)
        tell_missed(audit, denials);
    if (denials->count)
        memset(denials->places, 0, sizeof denials->places);
    denials->count = denials->text_len = denials->missed = 0;
}
