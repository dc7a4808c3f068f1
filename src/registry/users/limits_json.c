/* Reading and printing a user's own limits as JSON. */
#include "registry/users/limits_json.h"

#include <stdlib.h>

#include "base/error.h"
#include "wire/json/scan.h"

enum { JSON_MAX_BYTES = 65536 };

/* As in a rules file. */
#define CAPACITY_MAX (UINT64_C(1) << 53)
#define RATE_MAX     UINT64_C(1000000000)

struct limits_reader {
    struct sl_json_scan scan;
    struct sl_user_limit *out;
    size_t count;
    struct sluice_error *error;
};

static bool refuse_json(struct limits_reader *in, const char *what)
{
    return sl_error_say(in->error, "`limits`: %s", in->scan.error ? in->scan.error : what);
}

static bool refuse_in_rule(struct limits_reader *in, const char *what)
{
    return sl_error_say(in->error, "`limits.%s`: %s", in->out[in->count].rule,
                        in->scan.error ? in->scan.error : what);
}

static bool read_name(struct limits_reader *in, struct sluice_text name)
{
    if (!sl_rule_name_is_good(name))
        return refuse_json(in, "a rule's name is 1 to 64 letters, digits, `.`, `_` or `-`");
    if (in->count == SL_USER_LIMITS_MAX)
        return refuse_json(in, "at most 16 rules");
    struct sl_user_limit *own = &in->out[in->count];
    *own = (struct sl_user_limit){ .capacity = 0 };
    memcpy(own->rule, name.at, name.len);
    for (size_t i = 0; i < in->count; i++)
        if (strcmp(in->out[i].rule, own->rule) == 0)
            return refuse_in_rule(in, "the rule is there twice");
    return true;
}

static bool read_capacity(struct limits_reader *in, struct sluice_text number)
{
    uint64_t *capacity = &in->out[in->count].capacity;
    if (*capacity)
        return refuse_in_rule(in, "`capacity` is there twice");
    uint64_t value;
    if (!sl_parse_u64(number, &value) || value < 1 || value > CAPACITY_MAX)
        return refuse_in_rule(in, "`capacity` must be a whole number from 1 to 9007199254740992");
    *capacity = value;
    return true;
}

static bool read_rate(struct limits_reader *in, struct sluice_text number)
{
    struct sl_decimal *rate = &in->out[in->count].rate;
    if (rate->digits)
        return refuse_in_rule(in, "`refill_rate` is there twice");
    struct sl_decimal value;
    if (!sl_parse_decimal(number, &value) || value.digits == 0 ||
        value.digits > RATE_MAX * sl_power_of_ten(value.places))
        return refuse_in_rule(
            in, "`refill_rate` must be a decimal above 0 and at most 1000000000, with "
                "at most 9 places");
    *rate = value;
    return true;
}

static bool read_member(struct limits_reader *in)
{
    struct sluice_text name, number;
    if (!sl_json_string(&in->scan, &name) || !sl_json_take(&in->scan, ':'))
        return refuse_in_rule(in, "expected `capacity` or `refill_rate`, and a number");
    if (!sl_text_is(name, "capacity") && !sl_text_is(name, "refill_rate"))
        return refuse_in_rule(in, "there are only `capacity` and `refill_rate`");
    if (sl_json_scalar(&in->scan, &number) != SL_JSON_NUMBER)
        number = SL_TEXT("");
    return sl_text_is(name, "capacity") ? read_capacity(in, number) : read_rate(in, number);
}

static bool read_numbers(struct limits_reader *in)
{
    if (!sl_json_take(&in->scan, '{'))
        return refuse_in_rule(in, "expected an object with `capacity` or `refill_rate`");
    if (sl_json_take(&in->scan, '}'))
        return refuse_in_rule(in, "give `capacity`, `refill_rate` or both");
    do {
        if (!read_member(in))
            return false;
    } while (sl_json_take(&in->scan, ','));
    return sl_json_take(&in->scan, '}') || refuse_in_rule(in, "expected `,` or `}`");
}

static bool read_rule(struct limits_reader *in)
{
    struct sluice_text name;
    if (!sl_json_string(&in->scan, &name) || !sl_json_take(&in->scan, ':'))
        return refuse_json(in, "expected a rule's name and an object");
    if (!read_name(in, name) || !read_numbers(in))
        return false;
    in->count++;
    return true;
}

static bool read_all(struct limits_reader *in)
{
    if (!sl_json_take(&in->scan, '{'))
        return refuse_json(in, "expected an object of rules");
    if (!sl_json_take(&in->scan, '}')) {
        do {
            if (!read_rule(in))
                return false;
        } while (sl_json_take(&in->scan, ','));
        if (!sl_json_take(&in->scan, '}'))
            return refuse_json(in, "expected `,` or `}`");
    }
    sl_json_skip_space(&in->scan);
    return in->scan.at == in->scan.end || refuse_json(in, "expected nothing more");
}

bool sl_limits_read(struct sluice_text json, struct sl_user_limit *out, size_t *count,
                    struct sluice_error *error)
{
    if (json.len > JSON_MAX_BYTES)
        return sl_error_say(error, "`limits`: at most %d bytes", JSON_MAX_BYTES);
    char *copy = malloc(json.len + 1); /* reading destroys it */
    if (!copy)
        return sl_error_say(error, "out of memory");
    if (json.len)
        memcpy(copy, json.at, json.len);
    struct sl_user_limit read[SL_USER_LIMITS_MAX];
    struct limits_reader in = { sl_json_scan(copy, json.len), read, 0, error };
    bool good = read_all(&in);
    if (good) {
        memcpy(out, read, in.count * sizeof *read);
        *count = in.count;
    }
    free(copy);
    return good;
}

/* ---- printing ---- */

static void print_u64(struct sl_buffer *out, uint64_t number)
{
    sl_buffer_add_i64(out, (int64_t)number); /* at most 2^60 here */
}

static void print_decimal(struct sl_buffer *out, struct sl_decimal decimal)
{
    uint64_t unit = sl_power_of_ten(decimal.places);
    print_u64(out, decimal.digits / unit);
    if (decimal.places == 0)
        return;
    sl_buffer_add(out, SL_TEXT("."));
    for (uint64_t rest = decimal.digits % unit; unit > 1; rest %= unit) {
        unit /= 10;
        print_u64(out, rest / unit);
    }
}

void sl_limits_print(struct sl_buffer *out, const struct sl_user_limit *own, size_t count)
{
    sl_buffer_add(out, SL_TEXT("{"));
    for (size_t i = 0; i < count; i++) {
        sl_buffer_add(out, i ? SL_TEXT(", \"") : SL_TEXT("\""));
        sl_buffer_add(out, sl_text(own[i].rule));
        sl_buffer_add(out, SL_TEXT("\": {"));
        if (own[i].capacity) {
            sl_buffer_add(out, SL_TEXT("\"capacity\": "));
            print_u64(out, own[i].capacity);
        }
        if (own[i].rate.digits) {
            sl_buffer_add(out, own[i].capacity ? SL_TEXT(", \"refill_rate\": ")
                                               : SL_TEXT("\"refill_rate\": "));
            print_decimal(out, own[i].rate);
        }
        sl_buffer_add(out, SL_TEXT("}"));
    }
    sl_buffer_add(out, SL_TEXT("}"));
}
