/* Folding denials by identifier and rule, and writing them to the audit log. */
#include "telemetry/denials.h"

#include <stdlib.h>

#include "algo/algo.h"

enum { PLACES = 2048 }; /* a power of two, more than 2 * SL_DENIALS_MAX: a search ends */

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

static bool copy_text(struct sl_denials *denials, struct sluice_text *text)
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

static void add_to_denial(struct sl_noted *into, const struct sl_noted *more)
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
            add_to_denial(old, noted);
            return;
        }
    }
    struct sl_noted copy = *noted;
    if (denials->count == SL_DENIALS_MAX || !copy_text(denials, &copy.tenant) ||
        !copy_text(denials, &copy.identifier) || !copy_text(denials, &copy.resource)) {
        sl_denials_miss(denials, noted->denied, noted->first_us);
        return;
    }
    denials->noted[denials->count++] = copy;
    denials->places[place] = (uint16_t)denials->count;
}

/* ---- writing events ---- */

struct event_draft {
    struct sl_audit_event event;
    struct sl_audit_figure figures[SL_AUDIT_FIGURES_MAX];
};

static void add_number(struct event_draft *draft, const char *name, int64_t number)
{
    draft->figures[draft->event.figure_count++] =
        (struct sl_audit_figure){ .name = name, .type = SL_FIGURE_NUMBER, .number = number };
}

static void add_shadow(struct event_draft *draft)
{
    draft->figures[draft->event.figure_count++] =
        (struct sl_audit_figure){ .name = "shadow", .type = SL_FIGURE_BOOL, .number = 1 };
}

static struct event_draft start_event(const struct sl_noted *noted, const struct sl_enrolled *rule,
                                      enum sl_audit_kind kind)
{
    return (struct event_draft){ .event = { .kind = kind,
                                            .tenant = noted->tenant,
                                            .identifier = noted->identifier,
                                            .limit_type = sl_text(rule->limit_type),
                                            .resource = noted->resource,
                                            .rule = sl_text(rule->name) } };
}

static void write_event(struct sl_audit *audit, struct event_draft *draft, int64_t at_us)
{
    draft->event.figures = draft->figures;
    sl_audit_write(audit, &draft->event, at_us);
}

static void write_denials(struct sl_audit *audit, const struct sl_noted *noted,
                          const struct sl_enrolled *rule)
{
    bool is_counter = strcmp(rule->algorithm, "sliding_window_counter") == 0;
    struct event_draft draft =
        start_event(noted, rule, is_counter ? SL_AUDIT_WINDOW_EXCEEDED : SL_AUDIT_EXCEEDED);
    int64_t retry_us = noted->retry_after_us;
    if (is_counter)
        add_number(&draft, "estimated_count", noted->capacity - noted->remaining);
    add_number(&draft, "capacity", noted->capacity);
    add_number(&draft, "retry_after", retry_us == SL_NEVER ? -1 : (retry_us + 999999) / 1000000);
    add_number(&draft, "count", (int64_t)noted->denied);
    if (noted->is_shadow)
        add_shadow(&draft);
    write_event(audit, &draft, noted->first_us);
}

static void write_burst(struct sl_audit *audit, const struct sl_noted *noted,
                        const struct sl_enrolled *rule, enum sl_audit_kind kind)
{
    struct event_draft draft = start_event(noted, rule, kind);
    add_number(&draft, "request_count", noted->request_count);
    if (noted->is_shadow)
        add_shadow(&draft);
    write_event(audit, &draft, noted->guard_us);
}

static void write_noted(struct sl_audit *audit, const struct sl_noted *noted,
                        const struct sl_enrolled *rule)
{
    if (!rule->name)
        return;
    if (noted->warned)
        write_burst(audit, noted, rule, SL_AUDIT_BURST_WARNING);
    if (noted->blocked)
        write_burst(audit, noted, rule, SL_AUDIT_BURST_BLOCKED);
    if (noted->denied)
        write_denials(audit, noted, rule);
}

static void write_missed(struct sl_audit *audit, const struct sl_denials *denials)
{
    struct event_draft draft = { .event = { .kind = SL_AUDIT_EXCEEDED } };
    add_number(&draft, "count", (int64_t)denials->missed);
    write_event(audit, &draft, denials->missed_us);
}

void sl_denials_flush(struct sl_denials *denials, const struct sl_rule_ids *ids,
                      struct sl_audit *audit)
{
    for (size_t i = 0; i < denials->count; i++)
        write_noted(audit, &denials->noted[i], &ids->rules[denials->noted[i].rule]);
    if (denials->missed)
        write_missed(audit, denials);
    if (denials->count)
        memset(denials->places, 0, sizeof denials->places);
    denials->count = denials->text_len = denials->missed = 0;
}
