/* Prints families and samples in Prometheus' text format (see metrics_print.h). */
#include "server/metrics/metrics_print.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text/number.h"

void sl_page_family(struct sl_metrics_page *page, const char *name, const char *type,
                    const char *help)
{
    struct sl_buffer *out = page->out;
    page->family = name;
    sl_buffer_add(out, SL_TEXT("# HELP "));
    sl_buffer_add(out, sl_text(name));
    sl_buffer_add(out, SL_TEXT(" "));
    sl_buffer_add(out, sl_text(help));
    sl_buffer_add(out, SL_TEXT("\n# TYPE "));
    sl_buffer_add(out, sl_text(name));
    sl_buffer_add(out, SL_TEXT(" "));
    sl_buffer_add(out, sl_text(type));
    sl_buffer_add(out, SL_TEXT("\n"));
}

/* ---- a sample ---- */

/* A histogram has three kinds of samples, which differ in the end of their name. */
static void begin_sample(struct sl_metrics_page *page, const char *suffix)
{
    if (page->has_name)
        return;
    sl_buffer_add(page->out, sl_text(page->family));
    sl_buffer_add(page->out, sl_text(suffix));
    page->has_name = true;
}

static void begin_label(struct sl_metrics_page *page, const char *name)
{
    begin_sample(page, "");
    sl_buffer_add(page->out, page->has_label ? SL_TEXT("\",") : SL_TEXT("{"));
    sl_buffer_add(page->out, sl_text(name));
    sl_buffer_add(page->out, SL_TEXT("=\""));
    page->has_label = true;
}

static bool is_special(char c)
{
    return c == '\\' || c == '"' || c == '\n';
}

void sl_page_label(struct sl_metrics_page *page, const char *name, struct sluice_text value)
{
    begin_label(page, name);
    for (size_t at = 0, plain; at < value.len; at += plain) {
        for (plain = 0; at + plain < value.len && !is_special(value.at[at + plain]); plain++)
            ;
        sl_buffer_add(page->out, (struct sluice_text){ value.at + at, plain });
        if (at + plain == value.len)
            break;
        char c = value.at[at + plain++];
        sl_buffer_add(page->out, (struct sluice_text){ (char[]){ '\\', c == '\n' ? 'n' : c }, 2 });
    }
}

void sl_page_label_i64(struct sl_metrics_page *page, const char *name, int64_t value)
{
    begin_label(page, name);
    sl_buffer_add_i64(page->out, value);
}

void sl_page_text(struct sl_metrics_page *page, struct sluice_text value)
{
    begin_sample(page, "");
    sl_buffer_add(page->out, page->has_label ? SL_TEXT("\"} ") : SL_TEXT(" "));
    sl_buffer_add(page->out, value);
    sl_buffer_add(page->out, SL_TEXT("\n"));
    page->has_name = page->has_label = false;
}

void sl_page_number(struct sl_metrics_page *page, uint64_t value)
{
    sl_page_decimal(page, value, 0);
}

void sl_page_decimal(struct sl_metrics_page *page, uint64_t units, uint32_t places)
{
    char text[48];
    uint64_t one = sl_power_of_ten(places), part = units % one;
    int len = snprintf(text, sizeof text, "%" PRIu64, units / one);
    for (; part; places--, part /= 10)
        if (part % 10) {
            len +=
                snprintf(text + len, sizeof text - (size_t)len, ".%0*" PRIu64, (int)places, part);
            break;
        }
    sl_page_text(page, (struct sluice_text){ text, (size_t)len });
}

/* ---- several families ---- */

void sl_page_singles(struct sl_metrics_page *page, const struct sl_single *singles, size_t count,
                     const void *figures)
{
    for (const struct sl_single *single = singles; single < singles + count; single++) {
        sl_page_family(page, single->name, single->type, single->help);
        sl_page_number(page, *(const uint64_t *)((const char *)figures + single->offset));
    }
}

static void begin_histogram(struct sl_metrics_page *page, const struct sl_page_buckets *histogram,
                            const char *suffix)
{
    begin_sample(page, suffix);
    if (histogram->label)
        sl_page_label(page, histogram->label, sl_text(histogram->value));
}

void sl_page_histogram(struct sl_metrics_page *page, const struct sl_page_buckets *histogram)
{
    uint64_t so_far = 0;
    for (size_t i = 0; i <= histogram->bound_count; i++) {
        const char *bound = i < histogram->bound_count ? histogram->bounds[i] : "+Inf";
        so_far += histogram->counts[i];
        begin_histogram(page, histogram, "_bucket");
        sl_page_label(page, "le", sl_text(bound));
        sl_page_number(page, so_far);
    }
    begin_histogram(page, histogram, "_sum");
    sl_page_decimal(page, histogram->sum, histogram->sum_places);
    begin_histogram(page, histogram, "_count");
    sl_page_number(page, so_far);
}
