/* Prints decisions and denials as JSON. */
#include "wire/json/decision.h"

#include "base/check.h"
#include "base/text/number.h"
#include "base/text/utf8.h"

const char *sl_reason_name(enum sluice_reason reason)
{
    static const char *const names[] = {
#define NAME(constant, name) [constant] = name,
        SLUICE_REASONS(NAME)
#undef NAME
    };
    SL_CHECK((size_t)reason < sizeof names / sizeof *names);
    return names[reason];
}

int64_t sl_whole_seconds(int64_t us)
{
    return us < 0 ? us : sl_div_ceil(us, 1000000);
}

static void add_escape(struct sl_buffer *out, unsigned unit)
{
    static const char digits[] = "0123456789abcdef";
    char escape[] = { '\\',
                      'u',
                      digits[unit >> 12],
                      digits[unit >> 8 & 15],
                      digits[unit >> 4 & 15],
                      digits[unit & 15] };
    sl_buffer_add(out, (struct sluice_text){ escape, sizeof escape });
}

/* Returns the code of a control character beyond ASCII, or of one of the two separators that some
 * readers take for the end of a line; 0 for any other character. */
static unsigned odd_character(const unsigned char *at, size_t len)
{
    if (len == 2 && at[0] == 0xc2 && at[1] < 0xa0)
        return at[1];
    if (len == 3 && at[0] == 0xe2 && at[1] == 0x80 && (at[2] | 1) == 0xa9)
        return 0x2000 | (at[2] & 0x3f);
    return 0;
}

/* Adds a character beyond ASCII; a byte that begins none becomes U+FFFD. Returns how many bytes of
 * the text it used. */
static size_t add_character(struct sl_buffer *out, struct sluice_text text)
{
    size_t len = sl_utf8_len(text);
    unsigned odd = odd_character((const unsigned char *)text.at, len);
    if (len == 0 || odd)
        add_escape(out, len ? odd : 0xfffd);
    else
        sl_buffer_add(out, (struct sluice_text){ text.at, len });
    return len ? len : 1;
}

void sl_json_print_string(struct sl_buffer *out, struct sluice_text text)
{
    SL_CHECK(text.at || text.len == 0);
    sl_buffer_add(out, SL_TEXT("\""));
    for (size_t i = 0; i < text.len;) {
        unsigned char c = (unsigned char)text.at[i];
        if (c >= 0x80) {
            i += add_character(out, (struct sluice_text){ text.at + i, text.len - i });
            continue;
        }
        if (c == '"' || c == '\\')
            sl_buffer_add(out, SL_TEXT("\\"));
        if (c < 0x20 || c == 0x7f)
            add_escape(out, c);
        else
            sl_buffer_add(out, (struct sluice_text){ text.at + i, 1 });
        i++;
    }
    sl_buffer_add(out, SL_TEXT("\""));
}

/* Names of rules and algorithms hold no character that JSON would escape. */
static void add_name(struct sl_buffer *out, struct sluice_text key, const char *name)
{
    sl_buffer_add(out, key);
    if (!name) {
        sl_buffer_add(out, SL_TEXT("null"));
        return;
    }
    sl_buffer_add(out, SL_TEXT("\""));
    sl_buffer_add(out, sl_text(name));
    sl_buffer_add(out, SL_TEXT("\""));
}

static void add_number(struct sl_buffer *out, struct sluice_text key, int64_t number)
{
    sl_buffer_add(out, key);
    sl_buffer_add_i64(out, number);
}

/* A negative limit or time means that there is none. */
static void add_maybe(struct sl_buffer *out, struct sluice_text key, int64_t number)
{
    sl_buffer_add(out, key);
    if (number == SLUICE_NONE)
        sl_buffer_add(out, SL_TEXT("null"));
    else
        sl_buffer_add_i64(out, number);
}

static void add_bool(struct sl_buffer *out, struct sluice_text key, bool value)
{
    sl_buffer_add(out, key);
    sl_buffer_add(out, value ? SL_TEXT("true") : SL_TEXT("false"));
}

static void add_row(struct sl_buffer *out, const struct sluice_explained *row)
{
    add_name(out, SL_TEXT("{\"rule\": "), row->rule);
    add_name(out, SL_TEXT(", \"algorithm\": "), row->algorithm);
    add_bool(out, SL_TEXT(", \"shadow\": "), row->shadow);
    add_bool(out, SL_TEXT(", \"allowed\": "), row->allowed);
    add_number(out, SL_TEXT(", \"limit\": "), row->limit);
    add_number(out, SL_TEXT(", \"remaining\": "), row->remaining);
    add_maybe(out, SL_TEXT(", \"reset_at_us\": "), row->reset_at_us);
    add_number(out, SL_TEXT(", \"retry_after_us\": "), row->retry_after_us);
    sl_buffer_add(out, SL_TEXT("}"));
}

void sl_json_print_decision(struct sl_buffer *out, const struct sluice_decision *decision,
                            const struct sluice_explained *rows, size_t row_count)
{
    SL_CHECK(out && decision);
    add_bool(out, SL_TEXT("{\"allowed\": "), decision->allowed);
    add_name(out, SL_TEXT(", \"rule\": "), decision->rule);
    add_name(out, SL_TEXT(", \"algorithm\": "), decision->algorithm);
    add_name(out, SL_TEXT(", \"reason\": "), sl_reason_name(decision->reason));
    add_maybe(out, SL_TEXT(", \"limit\": "), decision->limit);
    add_number(out, SL_TEXT(", \"remaining\": "), decision->remaining);
    add_maybe(out, SL_TEXT(", \"reset_at_us\": "), decision->reset_at_us);
    add_number(out, SL_TEXT(", \"retry_after_us\": "), decision->retry_after_us);
    add_number(out, SL_TEXT(", \"delay_us\": "), decision->delay_us);
    add_maybe(out, SL_TEXT(", \"reset_at\": "), sl_whole_seconds(decision->reset_at_us));
    add_number(out, SL_TEXT(", \"retry_after\": "), sl_whole_seconds(decision->retry_after_us));
    if (rows) {
        sl_buffer_add(out, SL_TEXT(", \"rules\": ["));
        for (size_t i = 0; i < row_count; i++) {
            if (i)
                sl_buffer_add(out, SL_TEXT(", "));
            add_row(out, &rows[i]);
        }
        sl_buffer_add(out, SL_TEXT("]"));
    }
    sl_buffer_add(out, SL_TEXT("}"));
}

/* ---- denials ---- */

/* Denied because the store does not answer. A denial by the table that stands in for it has a
 * limit to show, and is none. */
static bool is_failure(const struct sluice_decision *decision)
{
    return decision->reason == SLUICE_REASON_STORE && decision->limit == SLUICE_NONE;
}

uint32_t sl_decision_status(const struct sluice_decision *decision)
{
    if (decision->allowed)
        return 200;
    return is_failure(decision) ? 503 : 429;
}

static void add_description(struct sl_buffer *out, const struct sluice_decision *decision)
{
    if (is_failure(decision)) {
        sl_buffer_add(out, SL_TEXT("The store of the counts does not answer, and the rules deny "
                                   "then."));
    } else if (decision->reason == SLUICE_REASON_MISSING) {
        sl_buffer_add(out, SL_TEXT("This request lacks an attribute that the rule counts by."));
    } else if (decision->retry_after_us == SLUICE_NEVER) {
        sl_buffer_add(out, SL_TEXT("This request can never pass: its cost exceeds the limit."));
    } else {
        sl_buffer_add(out, SL_TEXT("Too many requests. Please retry after "));
        sl_buffer_add_i64(out, sl_whole_seconds(decision->retry_after_us));
        sl_buffer_add(out, SL_TEXT(" seconds."));
    }
}

/* A denial by the stand-in table is like any other, but for its reason. */
static const char *error_of(const struct sluice_decision *decision)
{
    bool is_stand_in = decision->reason == SLUICE_REASON_STORE && !is_failure(decision);
    return sl_reason_name(is_stand_in ? SLUICE_REASON_LIMITED : decision->reason);
}

/* If members precede the decision's, its opening brace becomes a space. */
void sl_denial_print(struct sl_buffer *out, struct sluice_text before,
                     const struct sluice_decision *decision, struct sl_explained_rows rows)
{
    SL_CHECK(before.len == 0 || before.at[before.len - 1] == ',');
    sl_buffer_add(out, before);
    if (!decision->allowed) {
        sl_buffer_add(out, before.len ? SL_TEXT(" \"error\": \"") : SL_TEXT("{\"error\": \""));
        sl_buffer_add(out, sl_text(error_of(decision)));
        sl_buffer_add(out, SL_TEXT("\", \"error_description\": \""));
        add_description(out, decision);
        sl_buffer_add(out, SL_TEXT("\","));
    }
    size_t start = out->len;
    sl_json_print_decision(out, decision, rows.at, rows.count);
    if ((before.len || !decision->allowed) && !out->failed) {
        SL_CHECK(start < out->len && out->at[start] == '{');
        out->at[start] = ' ';
    }
}
