/* Metrics of the process, under the names that all programs use. */
#include "server/metrics/metrics_internal.h"

static const struct sl_single singles[] = {
#define AT(field) offsetof(struct sl_process_figures, field)
    { "process_resident_memory_bytes", "gauge", "Memory of the process that is in use.",
      AT(resident_bytes) },
    { "process_virtual_memory_bytes", "gauge", "Memory that the process has mapped.",
      AT(virtual_bytes) },
    { "process_open_fds", "gauge", "Files and connections open, a few seconds ago.",
      AT(open_files) },
    { "process_max_fds", "gauge", "Files and connections that may be open.", AT(most_files) },
#undef AT
};

void sl_metrics_print_process(struct sl_metrics_page *page, const struct sl_metrics *metrics)
{
    sl_page_singles(page, singles, SL_COUNT_OF(singles), &metrics->process);
    sl_page_family(page, "process_cpu_seconds_total", "counter",
                   "Time that processors have worked for it, in seconds.");
    sl_page_decimal(page, metrics->process.cpu_us, 6);
    sl_page_family(page, "process_start_time_seconds", "gauge",
                   "When it started, in seconds since 1970.");
    sl_page_number(page, metrics->start_time_s);
}
