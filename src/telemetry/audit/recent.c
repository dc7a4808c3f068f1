/* Two rings of recent events: denials, and all others. */
#include "telemetry/audit/recent.h"

#include <stdlib.h>

/* The newest at `next - 1`, before it the older ones. */
struct ring {
    struct sl_audit_kept *kept[SL_RECENT_DENIALS_MAX];
    size_t most, most_bytes;
    size_t next, count, bytes;
};

struct sl_audit_recent {
    struct ring denials, others;
    uint64_t last; /* number */
};

struct sl_audit_recent *sl_audit_recent_new(void)
{
    struct sl_audit_recent *recent = calloc(1, sizeof *recent);
    if (!recent)
        return NULL;
    recent->denials.most = SL_RECENT_DENIALS_MAX;
    recent->denials.most_bytes = 1 << 20;
    recent->others.most = SL_RECENT_OTHERS_MAX;
    recent->others.most_bytes = 1 << 20;
    return recent;
}

static size_t size_in_bytes(const struct sl_audit_kept *kept)
{
    return sizeof *kept + kept->tenant.len + kept->identifier.len + kept->rule.len + kept->line.len;
}

/* The i-th newest, from 0. */
static struct sl_audit_kept **nth_newest(struct ring *ring, size_t i)
{
    return &ring->kept[(ring->next + ring->most - 1 - i) % ring->most];
}

static void drop_oldest(struct ring *ring)
{
    struct sl_audit_kept **oldest = nth_newest(ring, ring->count - 1);
    ring->bytes -= size_in_bytes(*oldest);
    ring->count--;
    free(*oldest);
    *oldest = NULL;
}

void sl_audit_recent_free(struct sl_audit_recent *recent)
{
    if (!recent)
        return;
    while (recent->denials.count)
        drop_oldest(&recent->denials);
    while (recent->others.count)
        drop_oldest(&recent->others);
    free(recent);
}

/* Copies the text to *end, moves *end behind it, and returns the copy. */
static struct sluice_text copy(char **end, struct sluice_text text)
{
    if (!text.at)
        return text;
    struct sluice_text copied = { *end, text.len };
    memcpy(*end, text.at, text.len);
    *end += text.len;
    return copied;
}

void sl_audit_recent_add(struct sl_audit_recent *recent, const struct sl_audit_event *event,
                         int64_t at_us, struct sluice_text line)
{
    bool is_denial = sl_audit_rows[event->kind].sort == SL_AUDIT_DENIAL;
    struct ring *ring = is_denial ? &recent->denials : &recent->others;
    struct sl_audit_kept kept = { ++recent->last,    at_us,       event->kind, event->tenant,
                                  event->identifier, event->rule, line };
    size_t bytes = size_in_bytes(&kept);
    struct sl_audit_kept *own = bytes <= ring->most_bytes ? malloc(bytes) : NULL;
    if (!own)
        return;
    char *end = (char *)(own + 1);
    *own = kept;
    own->tenant = copy(&end, kept.tenant);
    own->identifier = copy(&end, kept.identifier);
    own->rule = copy(&end, kept.rule);
    own->line = copy(&end, kept.line);
    while (ring->count == ring->most || ring->bytes + bytes > ring->most_bytes)
        drop_oldest(ring);
    ring->kept[ring->next] = own;
    ring->next = (ring->next + 1) % ring->most;
    ring->count++;
    ring->bytes += bytes;
}

size_t sl_audit_recent_count(const struct sl_audit_recent *recent)
{
    return recent->denials.count + recent->others.count;
}

/* Finds the newest event with a smaller number. Numbers fall from newest to oldest: bisection. */
static const struct sl_audit_kept *newest_before(const struct ring *ring, uint64_t number)
{
    struct ring *own = (struct ring *)(uintptr_t)ring;
    size_t low = 0, high = ring->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((*nth_newest(own, middle))->number < number)
            high = middle;
        else
            low = middle + 1;
    }
    return low < ring->count ? *nth_newest(own, low) : NULL;
}

const struct sl_audit_kept *sl_audit_recent_before(const struct sl_audit_recent *recent,
                                                   uint64_t number)
{
    const struct sl_audit_kept *denial = newest_before(&recent->denials, number);
    const struct sl_audit_kept *other = newest_before(&recent->others, number);
    if (!denial || !other)
        return denial ? denial : other;
    return denial->number > other->number ? denial : other;
}
