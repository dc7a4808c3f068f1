/* The text format, line by line. */
#include "server/metrics/metrics_print.h"

#include "unit/base/unit.h"

static struct sl_buffer out;
static struct sl_metrics_page page;

static int set_up(void **unused)
{
    (void)unused;
    out = sl_buffer(1 << 16);
    page = (struct sl_metrics_page){ .out = &out, .family = "x" };
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    sl_buffer_release(&out);
    return 0;
}

/* What was printed since the last time. */
static const char *printed(void)
{
    static char text[4096];
    assert_false(out.failed);
    snprintf(text, sizeof text, "%.*s", (int)out.len, out.at ? out.at : "");
    sl_buffer_clear(&out);
    return text;
}

#define ON_A_PAGE(name) TEST_WITH(name, set_up, tear_down)

ON_A_PAGE(a_family_is_its_lines_and_then_its_samples)
{
    sl_page_family(&page, "a_total", "counter", "Of a.");
    sl_page_number(&page, 0);
    sl_page_label(&page, "b", SL_TEXT("c"));
    sl_page_number(&page, UINT64_MAX);
    sl_page_label(&page, "b", SL_TEXT(""));
    sl_page_label_i64(&page, "d", 7);
    sl_page_text(&page, SL_TEXT("0.5"));
    assert_string_equal(printed(), "# HELP a_total Of a.\n"
                                   "# TYPE a_total counter\n"
                                   "a_total 0\n"
                                   "a_total{b=\"c\"} 18446744073709551615\n"
                                   "a_total{b=\"\",d=\"7\"} 0.5\n");
}

ON_A_PAGE(the_values_of_labels_are_escaped_wherever_it_stands)
{
    static const char *const cases[][2] = {
        { "\"", "\\\"" },
        { "\\", "\\\\" },
        { "\n", "\\n" },
        { "\"\"", "\\\"\\\"" },
        { "a\\\"b\nc", "a\\\\\\\"b\\nc" },
        { "/a/\"x", "/a/\\\"x" },
        { "x\n", "x\\n" },
        { "ä\t{}=,", "ä\t{}=," },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char wanted[64];
        sl_page_label(&page, "l", sl_text(cases[i][0]));
        sl_page_number(&page, 1);
        snprintf(wanted, sizeof wanted, "x{l=\"%s\"} 1\n", cases[i][1]);
        assert_string_equal(printed(), wanted);
    }
}

ON_A_PAGE(decimals_have_no_zeros_at_their_end)
{
    static const struct {
        uint64_t units;
        uint32_t places;
        const char *text;
    } cases[] = {
        { 0, 0, "x 0\n" },
        { 0, 6, "x 0\n" },
        { 1, 6, "x 0.000001\n" },
        { 1000000, 6, "x 1\n" },
        { 900000000, 6, "x 900\n" },
        { 1050000, 6, "x 1.05\n" },
        { 999999, 6, "x 0.999999\n" },
        { 100, 1, "x 10\n" },
        { UINT64_MAX, 6, "x 18446744073709.551615\n" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        sl_page_decimal(&page, cases[i].units, cases[i].places);
        assert_string_equal(printed(), cases[i].text);
    }
}

ON_A_PAGE(a_histogram_s_buckets_hold_all_below_their_bound)
{
    static const char *const bounds[] = { "0.5", "1" };
    struct sl_page_buckets histogram = { .bounds = bounds,
                                         .bound_count = 2,
                                         .counts = (const uint64_t[]){ 3, 0, 4 },
                                         .sum = 12500,
                                         .sum_places = 3 };
    sl_page_histogram(&page, &histogram);
    assert_string_equal(printed(), "x_bucket{le=\"0.5\"} 3\n"
                                   "x_bucket{le=\"1\"} 3\n"
                                   "x_bucket{le=\"+Inf\"} 7\n"
                                   "x_sum 12.5\n"
                                   "x_count 7\n");
    histogram.label = "of";
    histogram.value = "\"";
    sl_page_histogram(&page, &histogram);
    assert_string_equal(printed(), "x_bucket{of=\"\\\"\",le=\"0.5\"} 3\n"
                                   "x_bucket{of=\"\\\"\",le=\"1\"} 3\n"
                                   "x_bucket{of=\"\\\"\",le=\"+Inf\"} 7\n"
                                   "x_sum{of=\"\\\"\"} 12.5\n"
                                   "x_count{of=\"\\\"\"} 7\n");
}
