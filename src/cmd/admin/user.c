/* sluice user: the record of a user, and how the trust score is made.
 *
 * The parts of a score are shown as a sum that can be checked by eye. They have at most
 * nine decimals and are added here as whole billionths, so that the sum is exact. */
#include <stdio.h>
#include <stdlib.h>

#include "cmd/admin/admin.h"
#include "cmd/terminal/printable.h"

enum { BILLION = 1000000000 };

static int64_t billionths(const json_t *value)
{
    double number = json_number_value(value) * BILLION;
    bool sane = number > -1e15 && number < 1e15;
    return sane ? (int64_t)(number < 0 ? number - 0.5 : number + 0.5) : 0;
}

/* "+0.3", "-0.05", "+0": without zeros at the end. */
static const char *decimal(struct sl_arena *arena, int64_t count, const char *plus)
{
    int64_t size = count < 0 ? -count : count;
    char digits[16];
    int len = snprintf(digits, sizeof digits, ".%09d", (int)(size % BILLION));
    while (len > 0 && (digits[len - 1] == '0' || digits[len - 1] == '.'))
        digits[--len] = 0;
    return sl_arena_print(arena, "%s%lld%s", count < 0 ? "-" : plus, (long long)(size / BILLION),
                          digits);
}

/* Prints a part of the score, {"value": 0.3, …}, and adds it to the sum. */
static void show_part(const struct sl_admin_reply *reply, const char *name, const char *why,
                      int64_t *sum)
{
    const json_t *trust = json_object_get(reply->json, "trust");
    int64_t value = billionths(json_object_get(json_object_get(trust, name), "value"));
    *sum += value;
    printf("  %-12s %-12s %s\n", name, decimal(reply->arena, value, "+"), why);
}

/* Returns why the score is not the sum, or "" if it is. */
static const char *correction(int64_t sum, int64_t score)
{
    if (sum == score)
        return "";
    if (sum < 0 && score == 0)
        return ", and never below 0";
    if (sum > BILLION && score == BILLION)
        return ", and never above 1";
    return sum - score > 0 && sum - score < BILLION / 1000 ? ", floored to thousandths" : "";
}

static const char *figure(const struct sl_admin_reply *reply, const char *part, const char *member)
{
    const json_t *trust = json_object_get(reply->json, "trust");
    return sl_cell_of(reply->arena, json_object_get(trust, part), member);
}

static void show_trust(const struct sl_admin_reply *reply, const json_t *trust)
{
    struct sl_arena *arena = reply->arena;
    int64_t sum = 0;
    int64_t score = billionths(json_object_get(trust, "score"));
    bool verified = json_is_true(json_object_get(json_object_get(trust, "email"), "verified"));
    printf("\ntrust %s\n", decimal(arena, score, ""));
    show_part(reply, "age", sl_arena_print(arena, "%s days", figure(reply, "age", "days")), &sum);
    show_part(reply, "email", verified ? "verified" : "not verified", &sum);
    show_part(reply, "success",
              sl_arena_print(arena, "%s of %s calls succeeded in 7 days",
                             figure(reply, "success", "successes"),
                             figure(reply, "success", "calls")),
              &sum);
    show_part(reply, "violations",
              sl_arena_print(arena, "%s in 30 days", figure(reply, "violations", "count")), &sum);
    printf("  %-12s %s%s\n", "together", decimal(arena, sum, " "), correction(sum, score));
}

static void show_limits(const struct sl_admin_reply *reply)
{
    const char *name;
    json_t *numbers, *limits = json_object_get(reply->json, "limits");
    json_object_foreach(limits, name, numbers)
    {
        printf("  %-12s %s: capacity %s", "own limit",
               sl_printable_copy(reply->arena, sl_text(name)),
               sl_cell_of(reply->arena, numbers, "capacity"));
        if (json_object_get(numbers, "refill_rate"))
            printf(", %s/s", sl_cell_of(reply->arena, numbers, "refill_rate"));
        putchar('\n');
    }
}

static bool show_user(const struct sl_admin_reply *reply)
{
    struct sl_arena *arena = reply->arena;
    const json_t *user = reply->json;
    const json_t *trust = json_object_get(user, "trust");
    const json_t *verified = json_object_get(user, "email_verified");
    const char *tenant = sl_member(user, "tenant");
    if (!sl_member(user, "user") || !json_is_object(trust))
        return false;
    printf("user `%s`", sl_cell_of(arena, user, "user"));
    if (tenant && *tenant)
        printf(" of tenant `%s`", sl_cell_of(arena, user, "tenant"));
    printf("%s\n",
           json_is_false(json_object_get(user, "known")) ? ", which the server does not know" : "");
    printf("  %-12s %s\n", "created", sl_cell_moment(arena, json_object_get(user, "created_at")));
    printf("  %-12s %s\n", "email",
           json_is_true(verified)    ? "verified"
           : json_is_false(verified) ? "not verified"
                                     : "-");
    printf("  %-12s %s\n", "tier", sl_cell_of(arena, user, "tier"));
    show_limits(reply);
    printf("  %-12s %s\n", "etag", sl_cell_of(arena, user, "etag"));
    show_trust(reply, trust);
    return true;
}

/* ---- the commands ------------------------------------------------------------ */

#define ID     SL_ADMIN_OPERAND("ID", "user", "the id", name)
#define TENANT SL_ADMIN_TENANT("the user's tenant; without: a user of none")

static const struct sl_option show_options[] = { ID, TENANT, SL_ADMIN_SERVER };
static const struct sl_option set_options[] = {
    ID,
    SL_ADMIN_BODY("any of created_at, email_verified, tier, limits; null takes it away"),
    TENANT,
    SL_ADMIN_SET_END,
};
static const struct sl_option forget_options[] = {
    ID,
    TENANT,
    SL_ADMIN_DELETE_END,
};

#define PATHS .path = "/v1/users/{name}", .tenant_path = "/v1/users/{name}?tenant={tenant}"

static const struct sl_admin_call show = {
    SL_ADMIN_COMMAND("user show", "ID [--tenant T]",
                     "Shows what is known about a user, and the trust score part by part.",
                     show_options, ""),
    .method = "GET",
    PATHS,
    .show = show_user,
};

static const struct sl_admin_call set = {
    SL_ADMIN_COMMAND("user set", "ID (JSON | --file FILE) [options]",
                     "Changes what is known about a user; what is not given stays.", set_options,
                     "\n  sluice user set u1 --tenant acme '{\"email_verified\": true}'\n"),
    .method = "PUT",
    PATHS,
    .body = sl_admin_given,
    .show = sl_admin_show_put,
    .noun = "user",
    .verb = "changed",
};

static const struct sl_admin_call forget = {
    SL_ADMIN_COMMAND("user forget", "ID [--tenant T] [options]",
                     "Forgets a user, with all outcomes and violations.", forget_options, ""),
    .method = "DELETE",
    PATHS,
    .show = sl_admin_show_gone,
    .noun = "user",
    .verb = "forgotten",
};

static const struct sl_command *const members[] = {
    &show.command,
    &set.command,
    &forget.command,
    NULL,
};

const struct sl_command sl_command_user = {
    .name = "user",
    .summary = "Shows and changes what a running server knows about a user.",
    .members = members,
    .run = sl_command_choose,
};
