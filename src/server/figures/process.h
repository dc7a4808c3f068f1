/* Figures of the process, such as memory, processor time and open files: the `process_…` metrics
 * that every program gives Prometheus. */
#ifndef SL_SERVER_FIGURES_PROCESS_H
#define SL_SERVER_FIGURES_PROCESS_H

#include <stdatomic.h>
#include <stdint.h>

struct sl_process {
    uint64_t looks;
    _Atomic uint64_t open_files;
};

struct sl_process_figures {
    uint64_t resident_bytes, virtual_bytes;
    uint64_t open_files, most_files;
    uint64_t cpu_us; /* user and system */
};

/* Called by the main thread, every time it looks at its figures. Counts open files, which takes
 * milliseconds where there are tens of thousands: so not every time, and in no worker. */
void sl_process_look(struct sl_process *process);

/* Any thread. A figure that cannot be read is 0. */
void sl_process_read(const struct sl_process *process, struct sl_process_figures *out);

#endif
