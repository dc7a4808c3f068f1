/* Users in memory, one thread. */
#include "unit/registry/crowd.h"

/* ---- records ---- */

WITH_USERS(no_user_is_known_at_first)
{
    assert_int_equal(users->count, 0);
    assert_false(knows("u"));
    assert_false(knows_at("acme", "u", NOON));
    assert_false(sl_users_find_kept(users, "", "u", NOON, &found));
}

WITH_USERS(a_record_is_found_as_it_was_put)
{
    assert_true(PUT(.has_created_at = true, .created_at_us = 7 * S, .has_email_verified = true,
                    .email_verified = true, .tier = "pro"));
    assert_int_equal(users->count, 1);
    assert_true(knows("u"));
    assert_true(found.has_created_at && found.has_email_verified && found.email_verified);
    assert_false(found.is_exempt);
    assert_int_equal(found.created_at_us, 7 * S);
    assert_string_equal(found.tier, "pro");
    assert_int_equal(found.calls + found.successes + found.violations, 0);
    assert_int_equal(found.violated_minute, -1);
    assert_int_equal(found.own_count, 0);
    PUT(.has_email_verified = true); /* all of it is replaced */
    assert_true(knows("u"));
    assert_false(found.has_created_at || found.email_verified);
    assert_true(found.has_email_verified);
    assert_string_equal(found.tier, "");
    assert_int_equal(users->count, 1);
    PUT(.email_verified = true); /* but the fact is not set */
    assert_true(knows("u"));
    assert_false(found.email_verified || found.has_email_verified);
    assert_true(sl_users_find_kept(users, "", "u", NOON, &found));
    assert_false(sl_users_find_kept(users, "acme", "u", NOON, &found));
}

WITH_USERS(a_tenant_is_part_of_the_name)
{
    PUT(.tier = "none");
    PUT(.tenant = "acme", .tier = "acme");
    PUT(.tenant = "ac", .id = "meu", .tier = "other");
    PUT(.tenant = "acmeu", .id = "", .tier = "nameless");
    assert_int_equal(users->count, 4);
    assert_true(knows("u"));
    assert_string_equal(found.tier, "none");
    assert_true(knows_at("", "u", NOON)); /* an empty tenant is none */
    assert_string_equal(found.tier, "none");
    assert_true(knows_at("acme", "u", NOON));
    assert_string_equal(found.tier, "acme");
    assert_true(knows_at("ac", "meu", NOON));
    assert_string_equal(found.tier, "other");
    assert_false(knows("acmeu"));
    assert_false(knows_at("u", "acme", NOON));
}

WITH_USERS(names_may_be_long)
{
    static char names[3][700];
    for (size_t i = 0; i < 3; i++) {
        memset(names[i], 'n', sizeof names[i] - 1);
        names[i][i ? 650 : 10] = 'm';
    }
    names[2][100] = 'm';
    PUT(.id = names[0], .tier = "0");
    PUT(.tenant = names[1], .id = names[0], .tier = "1");
    PUT(.tenant = names[1], .id = names[2], .tier = "2");
    assert_true(knows(names[0]));
    assert_string_equal(found.tier, "0");
    assert_true(knows_at(names[1], names[0], NOON));
    assert_string_equal(found.tier, "1");
    assert_true(knows_at(names[1], names[2], NOON));
    assert_string_equal(found.tier, "2");
    assert_false(knows(names[1]));
    assert_false(knows_at(names[0], names[1], NOON));
}

WITH_USERS(a_tier_has_at_most_64_bytes)
{
    char tier[66];
    memset(tier, 't', sizeof tier);
    tier[64] = '\0';
    PUT(.tier = tier);
    assert_true(knows("u"));
    assert_string_equal(found.tier, tier);
    tier[64] = 't';
    tier[65] = '\0';
    PUT(.tier = tier);
    assert_true(knows("u"));
    assert_string_equal(found.tier, ""); /* and not one cut off */
}

WITH_USERS(a_dropped_user_is_forgotten)
{
    PUT(.limits = "{\"api\":{\"capacity\":5}}");
    ADD(.calls = 4);
    violate(NULL, "u", NOON);
    violate(NULL, "v", NOON);
    violate("acme", "u", NOON);
    assert_int_equal(users->count, 3);
    sl_users_drop(users, "", "u");
    sl_users_drop(users, "", "nobody");
    assert_false(knows("u"));
    assert_int_equal(users->count, 2);
    struct sl_violation waiting[4]; /* nor will the registry hear of it */
    assert_int_equal(sl_users_take_violations(users, waiting, 4), 2);
    assert_string_equal(waiting[0].id, "v");
    assert_string_equal(waiting[1].tenant, "acme");
    for (size_t i = 0; i < 2; i++) {
        free(waiting[i].tenant);
        free(waiting[i].id);
    }
    violate(NULL, "u", NOON); /* of the same minute, and news again */
    assert_true(knows("u"));
    assert_int_equal(found.violations, 1);
    assert_int_equal(found.calls, 0);
    assert_int_equal(found.own_count, 0);
}

/* ---- own limits ---- */

WITH_USERS(own_limits_are_found_in_their_order)
{
    PUT(.limits = "{\"b\":{\"capacity\":5,\"refill_rate\":0.083},\"a\":{\"refill_rate\":2}}");
    assert_true(knows("u"));
    assert_int_equal(found.own_count, 2);
    assert_string_equal(found.own[0].rule, "b");
    assert_int_equal(found.own[0].capacity, 5);
    assert_int_equal(found.own[0].rate.digits, 83);
    assert_int_equal(found.own[0].rate.places, 3);
    assert_string_equal(found.own[1].rule, "a");
    assert_int_equal(found.own[1].capacity, 0);
    assert_int_equal(found.own[1].rate.digits, 2);
    PUT(.limits = "{}");
    assert_true(knows("u"));
    assert_int_equal(found.own_count, 0);
    PUT(.limits = "{\"b\":{\"capacity\":true}}"); /* a database changed by hand */
    assert_true(knows("u"));
    assert_int_equal(found.own_count, 0);
}

WITH_USERS(a_revision_of_own_limits_is_never_seen_twice)
{
    uint64_t seen[8];
    size_t count = 0;
    for (int i = 0; i < 2; i++) {
        PUT(.limits = "{\"a\":{\"capacity\":1}}");
        knows("u");
        seen[count++] = found.own_revision;
        PUT(.id = "v", .limits = "{\"a\":{\"capacity\":2},\"b\":{\"capacity\":2}}");
        knows("v");
        seen[count++] = found.own_revision;
        PUT();
        PUT(.limits = "{\"a\":{\"capacity\":3}}");
        knows("u");
        seen[count++] = found.own_revision;
    }
    for (size_t i = 0; i < count; i++) {
        assert_true(seen[i] != 0);
        for (size_t k = 0; k < i; k++)
            assert_true(seen[i] != seen[k]);
    }
    ADD(.calls = 1); /* other facts leave them as they are */
    violate(NULL, "u", NOON);
    EXEMPT({ SL_EXEMPT_USER, "u", 0, NULL });
    assert_true(knows("u"));
    assert_int_equal(found.own_revision, seen[count - 1]);
    assert_int_equal(found.own_count, 1);
    assert_int_equal(found.own[0].capacity, 3);
}

WITH_USERS(sixteen_own_limits_of_the_longest_names_fit)
{
    char json[4096] = "{";
    for (size_t i = 0; i < 16; i++)
        sprintf(json + strlen(json), "%s\"%064zu\":{\"capacity\":%zu}", i ? "," : "", i, i + 1);
    strcat(json, "}");
    for (int again = 0; again < 100; again++) { /* in the room of the last */
        PUT(.limits = json);
        assert_true(knows("u"));
        assert_int_equal(found.own_count, 16);
        for (size_t i = 0; i < 16; i++) {
            char name[65];
            snprintf(name, sizeof name, "%064zu", i);
            assert_string_equal(found.own[i].rule, name);
            assert_int_equal(found.own[i].capacity, i + 1);
        }
    }
}

/* ---- days ---- */

WITH_USERS(outcomes_and_violations_are_summed_up_to_now)
{
    PUT_DAY(.day = TODAY - 7, .calls = 1000, .successes = 1000);
    PUT_DAY(.day = TODAY - 6, .calls = 100, .successes = 90);
    PUT_DAY(.day = TODAY - 29, .violations = 2, .last_minute = (TODAY - 29) * 1440);
    PUT_DAY(.day = TODAY - 30, .violations = 16);
    ADD(.calls = 3, .successes = 2);
    ADD(.calls = 1, .successes = 1);
    assert_true(knows("u"));
    assert_int_equal(found.calls, 104);
    assert_int_equal(found.successes, 93);
    assert_int_equal(found.violations, 2);
    assert_int_equal(found.violated_minute, (TODAY - 29) * 1440);
    assert_true(knows_at(NULL, "u", (TODAY + 1) * DAY - 1));
    assert_int_equal(found.calls, 104);
    assert_true(knows_at(NULL, "u", (TODAY + 1) * DAY));
    assert_int_equal(found.calls, 4);
    assert_int_equal(found.violations, 0);
    PUT_DAY(.calls = 9, .successes = 9);
    assert_true(knows("u"));
    assert_int_equal(found.calls, 109);
    assert_true(knows_at(NULL, "u", (TODAY + 6) * DAY));
    assert_false(knows_at(NULL, "u", (TODAY + 7) * DAY)); /* nothing that would be missed */
}

WITH_USERS(a_day_without_calls_adds_no_user)
{
    PUT_DAY();
    PUT_DAY(.day = -5, .calls = 1);
    assert_int_equal(users->count, 0);
}

WITH_USERS(a_violation_is_a_minute)
{
    for (int64_t at_us = NOON; at_us < NOON + 10 * MINUTE; at_us += S)
        violate("acme", "u", at_us);
    assert_true(knows_at("acme", "u", NOON));
    assert_int_equal(found.violations, 10);
    assert_int_equal(found.violated_minute, NOON / MINUTE + 9);
    assert_false(knows("u"));
    struct sl_violation waiting[20];
    assert_int_equal(sl_users_take_violations(users, waiting, 3), 3);
    assert_int_equal(sl_users_take_violations(users, waiting + 3, 17), 7);
    assert_int_equal(sl_users_take_violations(users, waiting, 0), 0);
    for (int i = 0; i < 10; i++) {
        assert_string_equal(waiting[i].tenant, "acme");
        assert_string_equal(waiting[i].id, "u");
        assert_int_equal(waiting[i].minute, NOON / MINUTE + i);
        free(waiting[i].tenant);
        free(waiting[i].id);
    }
    violate("acme", "u", NOON); /* it is over */
    assert_int_equal(sl_users_take_violations(users, waiting, 1), 0);
}

WITH_USERS(the_newest_of_too_many_violations_are_dropped)
{
    static struct sl_violation waiting[SL_VIOLATIONS_WAITING_MAX + 1];
    struct sl_users_counts counts;
    char id[16];
    for (int i = 0; i < SL_VIOLATIONS_WAITING_MAX + 10; i++) {
        snprintf(id, sizeof id, "u%d", i);
        violate(NULL, id, NOON);
        violate(NULL, id, NOON);
    }
    sl_users_measure(users, &counts);
    assert_int_equal(counts.violations_dropped, 10);
    assert_int_equal(users->count, SL_VIOLATIONS_WAITING_MAX + 10);
    assert_true(knows(id)); /* here it counts all the same */
    assert_int_equal(found.violations, 1);
    size_t count = sl_users_take_violations(users, waiting, COUNT(waiting));
    assert_int_equal(count, SL_VIOLATIONS_WAITING_MAX);
    assert_string_equal(waiting[0].id, "u0");
    assert_string_equal(waiting[count - 1].id, "u4095");
    for (size_t i = 0; i < count; i++) {
        free(waiting[i].tenant);
        free(waiting[i].id);
    }
    violate(NULL, "more", NOON);
    assert_int_equal(sl_users_take_violations(users, waiting, 1), 1);
    free(waiting[0].tenant);
    free(waiting[0].id);
}

WITH_USERS(a_name_that_no_database_holds_is_passed_over)
{
    struct sluice_text odd = { "u\0v", 3 };
    users->ops->violated(users, odd, SL_TEXT("u"), NOON);
    users->ops->violated(users, SL_TEXT(""), odd, NOON);
    users->ops->violated(users, SL_TEXT(""), SL_TEXT("u"), -1);
    assert_int_equal(users->count, 0);
    struct sl_violation waiting[1];
    assert_int_equal(sl_users_take_violations(users, waiting, 1), 0);
}

/* ---- exemptions ---- */

WITH_USERS(an_exemption_ends_to_the_microsecond)
{
    assert_true(EXEMPT({ SL_EXEMPT_USER, "u", NOON, NULL }, { SL_EXEMPT_USER, "acme/a/b", 0, NULL },
                       { SL_EXEMPT_CLIENT, "c", 0, NULL }));
    assert_int_equal(users->count, 2);
    assert_true(knows_at(NULL, "u", NOON - 1));
    assert_true(found.is_exempt);
    assert_string_equal(found.tier, "");
    assert_false(knows_at(NULL, "u", NOON));
    assert_true(knows_at("acme", "a/b", INT64_C(4000000000) * S));
    assert_true(found.is_exempt);
    assert_false(knows("acme/a/b"));
    assert_false(knows("c"));
}

WITH_USERS(a_new_set_of_exemptions_replaces_the_old)
{
    PUT(.id = "r", .tier = "pro");
    violate(NULL, "s", NOON);
    EXEMPT({ SL_EXEMPT_USER, "r", 0, NULL }, { SL_EXEMPT_USER, "s", 0, NULL },
           { SL_EXEMPT_USER, "t", 0, NULL }, { SL_EXEMPT_USER, "u", 0, NULL });
    assert_int_equal(users->count, 4);
    assert_true(knows("r") && found.is_exempt);
    assert_string_equal(found.tier, "pro");
    assert_true(knows("s") && found.is_exempt);
    EXEMPT({ SL_EXEMPT_USER, "u", NOON + 5, NULL }, { SL_EXEMPT_USER, "w", 0, NULL });
    assert_true(knows("r") && !found.is_exempt);
    assert_true(knows("s") && !found.is_exempt);
    assert_int_equal(found.violations, 1);
    assert_false(knows("t"));
    assert_true(knows("u") && found.is_exempt);
    assert_false(knows_at(NULL, "u", NOON + 5));
    assert_true(knows("w") && found.is_exempt);
    assert_int_equal(users->count, 4); /* t is gone, w has come */
    sl_users_set_exempt(users, NULL, 0);
    assert_false(knows("u") || knows("w"));
    assert_int_equal(users->count, 2);
}

WITH_USERS(a_record_and_an_exemption_come_and_go_apart)
{
    EXEMPT({ SL_EXEMPT_USER, "u", 0, NULL });
    PUT(.tier = "pro");
    assert_true(knows("u") && found.is_exempt);
    sl_users_drop(users, "", "u");
    assert_true(knows("u") && found.is_exempt);
    assert_string_equal(found.tier, "");
    PUT(.tier = "pro");
    sl_users_set_exempt(users, NULL, 0);
    assert_true(knows("u") && !found.is_exempt);
    assert_string_equal(found.tier, "pro");
}

/* ---- digests ---- */

/* of "u1" */
static const char u1_hex[] = "bb82030dbc2bcaba32a90bf2e207a84a856fc5f033b77c480836ab6f77f40f19";

WITH_USERS(ids_can_be_kept_as_digests)
{
    struct sl_arena arena = { 0 };
    close_crowd(NULL);
    users = sl_users_open(&(struct sl_users_config){ .hash_identifiers = true });
    const char *digest = sl_users_id(users, SL_TEXT("u1"), &arena);
    assert_string_equal(digest, u1_hex);
    assert_string_equal(sl_users_id(users, sl_text(u1_hex), &arena), u1_hex);
    PUT(.id = digest, .tier = "pro");
    assert_true(knows("u1"));
    assert_string_equal(found.tier, "pro");
    assert_true(sl_users_find_kept(users, "", digest, NOON, &found));
    assert_false(sl_users_find_kept(users, "", "u1", NOON, &found));
    assert_false(knows(digest)); /* no other user becomes u1 by that name */
    violate("acme", "u1", NOON);
    struct sl_violation waiting[1];
    assert_int_equal(sl_users_take_violations(users, waiting, 1), 1);
    assert_string_equal(waiting[0].tenant, "acme");
    assert_string_equal(waiting[0].id, u1_hex);
    free(waiting[0].tenant);
    free(waiting[0].id);
    assert_true(knows_at("acme", "u1", NOON));
    EXEMPT({ SL_EXEMPT_USER, digest, 0, NULL });
    assert_true(knows("u1") && found.is_exempt);
    sl_arena_release(&arena);
}

WITH_USERS(ids_that_are_digests_are_kept_as_they_are)
{
    struct sl_arena arena = { 0 };
    close_crowd(NULL);
    users = sl_users_open(
        &(struct sl_users_config){ .hash_identifiers = true, .ids_are_digests = true });
    PUT(.id = u1_hex, .tier = "pro");
    assert_true(knows(u1_hex));
    assert_true(knows("u1")); /* a request that came without what the digest is made of */
    sl_arena_release(&arena);
}

WITH_USERS(ids_are_kept_as_they_are)
{
    struct sl_arena arena = { 0 };
    assert_string_equal(sl_users_id(users, SL_TEXT("u1"), &arena), "u1");
    assert_string_equal(sl_users_id(users, sl_text(u1_hex), &arena), u1_hex);
    sl_arena_release(&arena);
}
