/* The sections of bench-table that are not about speed beside something else. */
#ifndef BENCH_TABLE_H
#define BENCH_TABLE_H

#include <stdint.h>

/* A file in /dev/shm of this run; good until the next call. */
const char *shm_path(const char *name);

void run_memory(void);
void run_million(uint64_t million);

#endif
