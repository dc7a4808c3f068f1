/* How it goes with changes that spread. */
#ifndef SL_SERVER_FIGURES_REPLICATION_FIGURES_H
#define SL_SERVER_FIGURES_REPLICATION_FIGURES_H

#include <stdatomic.h>

#include "registry/replication/replica.h"

/* For whoever watches; the main thread writes, any may read. */
struct sl_replication_figures {
    bool is_on; /* set before there are others */
    _Atomic uint64_t versions[SL_LOG_COUNT];
    _Atomic int64_t looked_us; /* by sl_link_now_us, when Redis was last heard; 0: never */
    _Atomic uint64_t applied;  /* rows from elsewhere */
    _Atomic uint64_t conflicts, failures;
    _Atomic bool is_refused; /* what Redis holds does not go together with the rules file here */
};

#endif
