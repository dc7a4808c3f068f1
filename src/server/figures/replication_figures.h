/* Figures of replication: how far this instance has followed the others' changes. */
#ifndef SL_SERVER_FIGURES_REPLICATION_FIGURES_H
#define SL_SERVER_FIGURES_REPLICATION_FIGURES_H

#include <stdatomic.h>

#include "registry/replication/replica.h"

/* The main thread writes, any may read. */
struct sl_replication_figures {
    bool is_on; /* set before there are other threads */
    _Atomic uint64_t versions[SL_LOG_COUNT];
    _Atomic int64_t looked_us; /* by sl_link_now_us, the last answer of Redis; 0: none yet */
    _Atomic uint64_t applied;  /* rows that other instances changed */
    _Atomic uint64_t conflicts, failures;
    _Atomic bool is_refused; /* the rules in Redis contradict the rules file here */
};

#endif
