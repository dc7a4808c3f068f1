#include "rules/popularity.h"

#include "unit/base/unit.h"

static const struct sluice_text gets[] = { SL_TEXT("GET") };
static const struct sluice_text both[] = { SL_TEXT("GET"), SL_TEXT("POST") };
static const struct sluice_text golds[] = { SL_TEXT("gold") };
static const struct sluice_text silvers[] = { SL_TEXT("silver") };

#define METHOD(values)                                                                             \
    {                                                                                              \
        { SL_ATTR_METHOD, SL_TEXT("method") }, values, COUNT(values)                               \
    }
#define PLAN(values)                                                                               \
    {                                                                                              \
        { SL_ATTR_OTHER, SL_TEXT("plan") }, values, COUNT(values)                                  \
    }
#define PLANE(values)                                                                              \
    {                                                                                              \
        { SL_ATTR_OTHER, SL_TEXT("plane") }, values, COUNT(values)                                 \
    }

TEST(the_rarest_condition_tells_rules_apart)
{
    static const struct sl_condition whens[][2] = {
        { METHOD(gets), PLAN(golds) },   /* GET is asked for by all, gold by one */
        { METHOD(gets), PLAN(silvers) }, /* silver by two */
        { METHOD(both), PLAN(silvers) }, /* POST by one, but GET as well */
        { PLANE(golds), METHOD(gets) },  /* another attribute's gold */
    };
    static const size_t rarest[] = { 1, 1, 1, 0 };
    struct sl_popularity popularity = { 0 };
    for (size_t i = 0; i < COUNT(whens); i++)
        sl_popularity_count(&popularity, &(struct sl_rule){ .when = whens[i], .when_count = 2 });
    for (size_t i = 0; i < COUNT(whens); i++) {
        struct sl_rule rule = { .when = whens[i], .when_count = 2 };
        assert_ptr_equal(sl_popularity_rarest(&popularity, &rule), &whens[i][rarest[i]]);
    }
    sl_popularity_release(&popularity);
}

/* What is only not to be, or like something, cannot be looked up. */
TEST(a_condition_without_values_is_never_the_rarest)
{
    static const struct sl_condition when[] = {
        { .attribute = { SL_ATTR_OTHER, SL_TEXT("plan") }, .is_more = true, .like = { golds, 1 } },
        METHOD(gets),
        { .attribute = { SL_ATTR_OTHER, SL_TEXT("x") }, .is_more = true, .unequal = { golds, 1 } },
    };
    struct sl_popularity popularity = { 0 };
    struct sl_rule rule = { .when = when, .when_count = 3 };
    sl_popularity_count(&popularity, &rule);
    assert_ptr_equal(sl_popularity_rarest(&popularity, &rule), &when[1]);
    rule.when_count = 1;
    assert_null(sl_popularity_rarest(&popularity, &rule));
    rule.when_count = 0;
    assert_null(sl_popularity_rarest(&popularity, &rule));
    sl_popularity_release(&popularity);
}

TEST(a_lone_condition_is_the_rarest)
{
    static const struct sl_condition when[] = { METHOD(gets) };
    struct sl_rule rule = { .when = when, .when_count = 1 };
    struct sl_popularity popularity = { 0 };
    sl_popularity_count(&popularity, &rule);
    sl_popularity_count(&popularity, &(struct sl_rule){ 0 }); /* a rule without any */
    assert_ptr_equal(sl_popularity_rarest(&popularity, &rule), when);
    sl_popularity_release(&popularity);
}
