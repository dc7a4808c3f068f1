/* Handles on a store whose time is a number. */
#ifndef TEST_LIB_ON_MODEL_H
#define TEST_LIB_ON_MODEL_H

#include "lib/handles.h"
#include "unit/limiter/decisions.h"
#include "unit/limiter/model_store.h"

#define S   INT64_C(1000000)
#define DAY (86400 * S)

/* Limits that every algorithm can have, one each: ten in a minute. */
static inline struct sluice_limit_config ten_a_minute(const struct sl_algo *algo)
{
    return (struct sluice_limit_config){
        .name = "ten",
        .algorithm = algo->name,
        .capacity = 10,
        .window_us = 60 * S,
    };
}

static inline struct sluice_limit *limit_of(struct sluice_store *store,
                                            const struct sluice_limit_config *config)
{
    struct sluice_limit *limit = NULL;
    struct sluice_error error;
    int status = sluice_limit_new(store, config, &limit, &error);
    if (status != SLUICE_OK)
        print_error("%s: %s\n", config->algorithm, error.text);
    assert_int_equal(status, SLUICE_OK);
    assert_string_equal(error.text, "");
    assert_non_null(limit);
    return limit;
}

/* What is left on a clock that runs: of a bucket that took something back, up
 * to one less, because it takes back only what has not drained meanwhile. */
static inline void assert_left(const struct sl_algo *algo, int64_t got, int64_t wanted)
{
    SAME(algo->name, algo->is_bucket && got == wanted - 1 ? wanted : got, wanted);
}

static inline struct sluice_limiter *limiter_of(struct sluice_store *store, const char *yaml)
{
    struct sluice_limiter *limiter = NULL;
    struct sluice_error error;
    int status = sluice_limiter_parse(store, "rules.yaml", sluice_text(yaml), &limiter, &error);
    if (status != SLUICE_OK)
        print_error("%s\n", error.text);
    assert_int_equal(status, SLUICE_OK);
    assert_string_equal(error.text, "");
    return limiter;
}

#endif
