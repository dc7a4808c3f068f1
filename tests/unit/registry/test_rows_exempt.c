#include "registry/replication/replica.h"

#include "unit/registry/in_memory.h"

static bool put(enum sl_exempt_kind kind, const char *value, int64_t until_us, const char *reason)
{
    bool is_new;
    struct sl_exemption exemption = { kind, value, until_us, reason };
    DONE(sl_registry_put_exemption(registry, &exemption, &is_new, &error));
    return is_new;
}

static bool drop_exemption(enum sl_exempt_kind kind, const char *value)
{
    bool found;
    DONE(sl_registry_drop_exemption(registry, kind, value, &found, &error));
    return found;
}

/* "1:10.0.0.0/8>0(-)" for each: kind, value, until, reason. */
static const char *listed(int64_t now_us)
{
    struct sl_exemption *all;
    size_t count;
    DONE(sl_registry_exemptions(registry, now_us, &arena, &all, &count, &error));
    written[0] = 0;
    for (size_t i = 0; i < count; i++)
        write_down("%s%d:%s>%lld(%s)", i ? " " : "", (int)all[i].kind, all[i].value,
                   (long long)all[i].until_us, or_dash(all[i].reason));
    return written;
}

static const char *in_overlay(int64_t now_us)
{
    struct sl_overlay overlay;
    DONE(sl_registry_overlay(registry, now_us, &arena, &overlay, &error));
    written[0] = 0;
    for (size_t i = 0; i < overlay.exemption_count; i++)
        write_down("%s%d:%s>%lld", i ? " " : "", (int)overlay.exemptions[i].kind,
                   overlay.exemptions[i].value, (long long)overlay.exemptions[i].until_us);
    return written;
}

IN_MEMORY(they_come_in_the_order_in_which_they_were_made)
{
    assert_true(put(SL_EXEMPT_IP, "203.0.113.0/24", 0, "load test"));
    assert_true(put(SL_EXEMPT_USER, "acme/root", 500, NULL));
    assert_true(put(SL_EXEMPT_CLIENT, "batch", 0, NULL));
    assert_true(put(SL_EXEMPT_API_KEY, "00ff", 0, ""));
    assert_string_equal(listed(0), "2:203.0.113.0/24>0(load test) 0:acme/root>500(-) 1:batch>0(-) "
                                   "3:00ff>0()");
}

IN_MEMORY(a_replaced_one_keeps_its_place)
{
    assert_true(put(SL_EXEMPT_USER, "a", 1, "one"));
    assert_true(put(SL_EXEMPT_USER, "b", 2, "two"));
    assert_false(put(SL_EXEMPT_USER, "a", 0, NULL));
    assert_string_equal(listed(0), "0:a>0(-) 0:b>2(two)");
}

IN_MEMORY(kinds_do_not_mix)
{
    assert_true(put(SL_EXEMPT_USER, "a", 0, NULL));
    assert_true(put(SL_EXEMPT_CLIENT, "a", 0, NULL));
    assert_false(drop_exemption(SL_EXEMPT_IP, "a"));
    assert_true(drop_exemption(SL_EXEMPT_USER, "a"));
    assert_false(drop_exemption(SL_EXEMPT_USER, "a"));
    assert_string_equal(listed(0), "1:a>0(-)");
}

IN_MEMORY(it_is_over_from_its_moment_on)
{
    put(SL_EXEMPT_IP, "10.0.0.0/8", 1000, NULL);
    assert_string_equal(listed(999), "2:10.0.0.0/8>1000(-)");
    assert_string_equal(listed(1000), "");
    assert_string_equal(in_overlay(999), "2:10.0.0.0/8>1000");
    assert_string_equal(in_overlay(1000), "");
}

IN_MEMORY(the_overlay_has_all_but_users)
{
    put(SL_EXEMPT_USER, "root", 0, NULL);
    put(SL_EXEMPT_API_KEY, "00ff", 7, NULL);
    put(SL_EXEMPT_USER, "admin", 0, NULL);
    put(SL_EXEMPT_CLIENT, "batch", 0, NULL);
    assert_string_equal(in_overlay(0), "3:00ff>7 1:batch>0");
}

static bool has_more;

IN_MEMORY(sweeping_deletes_what_is_over_and_nothing_else)
{
    put(SL_EXEMPT_USER, "over", 1000, NULL);
    put(SL_EXEMPT_USER, "not yet", 1001, NULL);
    put(SL_EXEMPT_USER, "never", 0, NULL);
    DONE(sl_registry_sweep(registry, 1000, &has_more, &error));
    assert_false(has_more);
    assert_string_equal(listed(0), "0:not yet>1001(-) 0:never>0(-)");
    assert_true(put(SL_EXEMPT_USER, "over", 0, NULL));
}

IN_MEMORY(sweeping_nothing_is_no_change)
{
    put(SL_EXEMPT_USER, "not yet", 1001, NULL);
    uint64_t before = next_transaction();
    DONE(sl_registry_sweep(registry, 1000, &has_more, &error));
    assert_int_equal(next_transaction(), before);
}

static size_t sweep_noting(size_t *kept)
{
    struct sl_row *rows;
    size_t count;
    sl_replica_note(registry, sl_change_new(1));
    DONE(sl_registry_sweep(registry, 1000, &has_more, &error));
    DONE(sl_replica_noted(registry, &arena, &rows, &count, &error));
    for (size_t i = 0; i < count; i++)
        assert_true(rows[i].is_gone && rows[i].name.kind == SL_ROW_EXEMPTION);
    struct sl_exemption *all;
    DONE(sl_registry_exemptions(registry, 0, &arena, &all, kept, &error));
    next_transaction();
    return count;
}

/* One change has them all, so there are not too many. */
IN_MEMORY(a_sweep_is_bounded_and_notes_exactly_what_goes)
{
    char value[16];
    size_t kept;
    for (int i = 0; i < 2 * SL_SWEEP_MAX + 1; i++) {
        snprintf(value, sizeof value, "u%d", i);
        put(SL_EXEMPT_USER, value, 1000 - i % 2, NULL);
    }
    put(SL_EXEMPT_USER, "stays", 1001, NULL);
    next_transaction();
    assert_int_equal(sweep_noting(&kept), SL_SWEEP_MAX);
    assert_int_equal(kept, SL_SWEEP_MAX + 2);
    assert_true(has_more);
    assert_int_equal(sweep_noting(&kept), SL_SWEEP_MAX);
    assert_true(has_more);
    assert_int_equal(sweep_noting(&kept), 1);
    assert_false(has_more);
    assert_int_equal(kept, 1);
}

IN_MEMORY(a_sweep_of_long_values_is_of_fewer)
{
    size_t kept, len = 200 << 10;
    char *value = test_calloc(1, len + 1);
    for (int i = 0; i < 4; i++) {
        memset(value, 'a' + i, len);
        put(SL_EXEMPT_USER, value, 1, NULL);
    }
    test_free(value);
    next_transaction();
    assert_int_equal(sweep_noting(&kept), 2);
    assert_int_equal(kept, 2);
    assert_true(has_more);
    assert_int_equal(sweep_noting(&kept), 2);
    sweep_noting(&kept);
    assert_int_equal(kept, 0);
    assert_false(has_more);
}
