/* Parses command lines by tables of options, and prints help from them. */
#include "cmd/options.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/text/number.h"
#include "rules/tree/report.h"
#include "wire/json/request.h"

int sl_command_wrong(const struct sl_command *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "sluice %s: ", command->name);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "; try `sluice %s --help`\n", command->name);
    va_end(arguments);
    return 2;
}

static bool is_operand(const struct sl_option *option)
{
    return option->kind == SL_OPTION_OPERAND || option->kind == SL_OPTION_OPERANDS;
}

static void print_help(const struct sl_command *command)
{
    printf("usage: sluice %s %s\n\n%s\n\n", command->name, command->usage, command->summary);
    for (const struct sl_option *option = command->options; option->name; option++) {
        char left[64];
        bool operand = is_operand(option);
        snprintf(left, sizeof left, "%s %s", option->name,
                 option->value && !operand ? option->value : "");
        printf("  %-20s %s\n", left, option->help);
    }
    printf("  %-20s %s\n", "-h, --help", "this text");
    if (command->more)
        printf("\n%s", command->more);
}

static bool add_attr(struct sl_attrs *attrs, struct sluice_text text)
{
    const char *equals = memchr(text.at, '=', text.len);
    if (!equals || equals == text.at || attrs->count == SL_ATTRS_MAX)
        return false;
    size_t name_len = (size_t)(equals - text.at);
    attrs->at[attrs->count++] = (struct sluice_attribute){
        { text.at, name_len },
        { equals + 1, text.len - name_len - 1 },
    };
    return true;
}

/* Accepts plain decimals only, which JSON numbers are not. */
static bool read_trust(struct sluice_text text, int32_t *out)
{
    struct sl_decimal decimal;
    return sl_parse_decimal(text, &decimal) && sl_json_read_trust(text, out);
}

static bool read_wait(struct sluice_text text, int64_t *out_us)
{
    int64_t us = 0;
    if (!sl_parse_duration_us(text, &us) || us < 1000 || us > INT64_C(86400000000))
        return false;
    *out_us = us;
    return true;
}

/* Stores the value. Returns NULL, or what the value should have been. */
static const char *store_value(const struct sl_option *option, const char *value, void *out)
{
    void *field = (char *)out + option->offset;
    struct sluice_text text = sl_text(value);
    uint64_t number = 0;
    switch (option->kind) {
    case SL_OPTION_OPERANDS: /* store_operand's */
        return NULL;
    case SL_OPTION_TEXT:
    case SL_OPTION_OPERAND:
        *(const char **)field = value;
        return NULL;
    case SL_OPTION_FLAG:
        *(bool *)field = true;
        return NULL;
    case SL_OPTION_COST:
        if (!sl_parse_u64(text, &number) || number > UINT32_MAX)
            return "a whole number from 0 to 4294967295";
        *(uint32_t *)field = (uint32_t)number;
        return NULL;
    case SL_OPTION_TIMES:
        if (!sl_parse_u64(text, &number) || number < 1 || number > 1000000000)
            return "a whole number from 1 to 1000000000";
        *(uint64_t *)field = number;
        return NULL;
    case SL_OPTION_TRUST:
        return read_trust(text, field) ? NULL : "a decimal from 0 to 1";
    case SL_OPTION_ATTRS:
        return add_attr(field, text) ? NULL : "NAME=VALUE, at most 64 times";
    case SL_OPTION_WAIT:
        return read_wait(text, field) ? NULL : "a time from 1ms to 24h, such as 5s";
    }
    return NULL;
}

static const struct sl_option *find_option(const struct sl_command *command,
                                           struct sluice_text name)
{
    const struct sl_option *option = command->options;
    while (option->name && (is_operand(option) || !sl_text_is(name, option->name)))
        option++;
    return option->name ? option : NULL;
}

/* `what` is an option or a command; `names` ends with NULL. */
static int refuse_unknown(const struct sl_command *command, const char *what,
                          struct sluice_text name, const char *const *names)
{
    const char *meant = sl_did_you_mean(name, names);
    if (meant)
        return sl_command_wrong(command, "unknown %s `%.*s` (did you mean `%s`?)", what,
                                (int)name.len, name.at, meant);
    return sl_command_wrong(command, "unknown %s `%.*s`", what, (int)name.len, name.at);
}

static int refuse_unknown_option(const struct sl_command *command, struct sluice_text name)
{
    const char *names[64] = { 0 };
    size_t count = 0;
    for (const struct sl_option *option = command->options; option->name && count < 63; option++)
        names[count++] = option->name;
    return refuse_unknown(command, "option", name, names);
}

static bool store_operand(const struct sl_command *command, const char *value, void *out)
{
    for (const struct sl_option *option = command->options; option->name; option++) {
        void *field = (char *)out + option->offset;
        struct sl_operands *all = field;
        const char **one = field;
        if (option->kind == SL_OPTION_OPERAND && !*one) {
            *one = value;
            return true;
        }
        if (option->kind == SL_OPTION_OPERANDS && all->count < SL_OPERANDS_MAX) {
            all->at[all->count++] = value;
            return true;
        }
    }
    sl_command_wrong(command, "`%s` is one argument too many", value);
    return false;
}

/* Parses one option with its value, which may be the next argument. Returns how many
 * arguments it used, 0 if it is wrong. */
static int parse_option(const struct sl_command *command, char **argv, void *out)
{
    const char *equals = strchr(argv[0], '=');
    struct sluice_text name = sl_text(argv[0]);
    if (equals && strncmp(argv[0], "--", 2) == 0)
        name.len = (size_t)(equals - argv[0]);
    else
        equals = NULL;
    const struct sl_option *option = find_option(command, name);
    if (!option) {
        refuse_unknown_option(command, name);
        return 0;
    }
    bool takes_next = option->value && !equals;
    const char *value = equals ? equals + 1 : takes_next ? argv[1] : NULL;
    if (option->value && !value) {
        sl_command_wrong(command, "`%s` wants a value", option->name);
        return 0;
    }
    if (!option->value && equals) {
        sl_command_wrong(command, "`%s` takes no value", option->name);
        return 0;
    }
    const char *right = store_value(option, value, out);
    if (right) {
        sl_command_wrong(command, "`%s %s` is not %s", option->name, value, right);
        return 0;
    }
    return 1 + takes_next;
}

/* Checks that every required operand is there; asks for it if not. */
static enum sl_parsed check_operands(const struct sl_command *command, void *out)
{
    for (const struct sl_option *option = command->options; option->name; option++) {
        /* Of several operands this is the first. */
        const char **field = (const char **)(void *)((char *)out + option->offset);
        if (is_operand(option) && option->value && (!*field || !**field)) {
            sl_command_wrong(command, "%s", option->value);
            return SL_PARSED_WRONG;
        }
    }
    return SL_PARSED;
}

enum sl_parsed sl_options_parse(const struct sl_command *command, int argc, char **argv, void *out)
{
    bool only_operands = false;
    for (int i = 0; i < argc;) {
        bool option = !only_operands && argv[i][0] == '-' && argv[i][1];
        if (option && strcmp(argv[i], "--") == 0) {
            only_operands = true;
            i++;
        } else if (option && (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help"))) {
            print_help(command);
            return SL_PARSED_HELP;
        } else if (option) {
            int taken = parse_option(command, argv + i, out);
            if (!taken)
                return SL_PARSED_WRONG;
            i += taken;
        } else if (!store_operand(command, argv[i++], out)) {
            return SL_PARSED_WRONG;
        }
    }
    return check_operands(command, out);
}

/* ---- groups ------------------------------------------------------------------ */

/* Returns "list" for "rules list". */
static const char *last_word(const char *name)
{
    const char *space = strrchr(name, ' ');
    return space ? space + 1 : name;
}

static int print_members(const struct sl_command *group)
{
    printf("usage: sluice %s COMMAND [options]\n\n%s\n\n", group->name, group->summary);
    for (const struct sl_command *const *member = group->members; *member; member++)
        printf("  %-10s %s\n", last_word((*member)->name), (*member)->summary);
    printf("\n  sluice %s COMMAND --help    what a command takes\n", group->name);
    if (group->more)
        printf("\n%s", group->more);
    return 0;
}

int sl_command_choose(const struct sl_command *group, int argc, char **argv)
{
    const char *names[16] = { 0 };
    if (argc == 0 || !*argv[0]) {
        fprintf(stderr, "sluice %s: which command? try `sluice %s --help`\n", group->name,
                group->name);
        return 2;
    }
    struct sluice_text name = sl_text(argv[0]);
    if (sl_text_is(name, "--help") || sl_text_is(name, "-h") || sl_text_is(name, "help"))
        return print_members(group);
    for (size_t i = 0; group->members[i] && i < 15; i++) {
        names[i] = last_word(group->members[i]->name);
        if (sl_text_is(name, names[i]))
            return group->members[i]->run(group->members[i], argc - 1, argv + 1);
    }
    return refuse_unknown(group, *argv[0] == '-' ? "option" : "command", name, names);
}
