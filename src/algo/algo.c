/* The array of all algorithms, from list.def. */
#include "algo/algo.h"

const struct sl_algo *const sl_algos[] = {
#define SL_ALGO(name) &sl_##name,
#include "algo/list.def"
#undef SL_ALGO
    NULL,
};
