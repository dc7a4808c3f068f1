/* One registry in memory, in the middle of a transaction. */
#ifndef TEST_REGISTRY_IN_MEMORY_H
#define TEST_REGISTRY_IN_MEMORY_H

#include "unit/registry/on_registry.h"

static struct sl_registry *registry;
static struct sl_arena arena;

static inline int open_it(void **unused)
{
    (void)unused;
    registry = sl_registry_open(NULL, false, &error);
    return registry && sl_registry_begin(registry, SL_CARE_POWER_CUT, &error) ? 0 : -1;
}

static inline int close_it(void **unused)
{
    (void)unused;
    sl_registry_close(registry);
    sl_arena_release(&arena);
    return 0;
}

/* The revision that this transaction's changes have got. */
static inline uint64_t next_transaction(void)
{
    commit(registry);
    uint64_t revision = sl_registry_revision(registry);
    begin(registry);
    return revision;
}

#define IN_MEMORY(name) TEST_WITH(name, open_it, close_it)

#endif
