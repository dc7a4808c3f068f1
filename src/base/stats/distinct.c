/* The estimator of a HyperLogLog sketch, and merging. */
#include "base/stats/distinct.h"

static void raise_to(uint8_t *seen, uint8_t rank)
{
    if (rank > *seen)
        *seen = rank;
}

void sl_distinct_take(struct sl_distinct *into, _Atomic uint8_t *registers)
{
    for (int i = 0; i < SL_DISTINCT_REGISTERS; i++) {
        /* Most are empty, and an exchange would take the cache line from the writing thread. */
        if (atomic_load_explicit(&registers[i], memory_order_relaxed) == 0)
            continue;
        raise_to(&into->registers[i],
                 atomic_exchange_explicit(&registers[i], 0, memory_order_relaxed));
    }
}

void sl_distinct_add(struct sl_distinct *distinct, uint64_t hash)
{
    raise_to(&distinct->registers[hash % SL_DISTINCT_REGISTERS], sl_distinct_rank(hash));
}

void sl_distinct_merge(struct sl_distinct *to, const struct sl_distinct *from)
{
    for (int i = 0; i < SL_DISTINCT_REGISTERS; i++)
        raise_to(&to->registers[i], from->registers[i]);
}

/* Returns the weight of the untouched registers: x + x^2 + 2·x^4 + 4·x^8 + …, x being their share.
 * It grows without end towards x = 1, so that small counts come out as by linear counting. */
static double untouched_weight(double share)
{
    double weight = share, times = 1, before;
    do {
        before = weight;
        share *= share;
        weight += share * times;
        times += times;
    } while (weight != before);
    return weight;
}

/* Otmar Ertl's estimator ("New cardinality estimation algorithms for HyperLogLog sketches",
 * 2017): one formula from one to billions. The older way, linear counting up to a threshold
 * and the harmonic mean above, is off by another 2 % where they meet. */
uint64_t sl_distinct_count(const struct sl_distinct *distinct)
{
    const double registers = SL_DISTINCT_REGISTERS, alpha = 0.721347520444; /* 1 / (2 ln 2) */
    unsigned of_rank[SL_DISTINCT_RANK_MAX + 1] = { 0 };
    double sum = 0;
    for (int i = 0; i < SL_DISTINCT_REGISTERS; i++)
        of_rank[distinct->registers[i]]++;
    if (of_rank[0] == SL_DISTINCT_REGISTERS)
        return 0;
    for (int rank = SL_DISTINCT_RANK_MAX; rank > 0; rank--)
        sum = (sum + of_rank[rank]) / 2;
    sum += registers * untouched_weight(of_rank[0] / registers);
    return (uint64_t)(alpha * registers * registers / sum + 0.5);
}
