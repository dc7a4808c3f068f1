/* Command lines read by a table: one row an option, from which the help is
 * printed too. A command that is a group (`sluice rules`) has a table of commands of its
 * own (`rules list`), and theirs may be groups again (`tenant key add`). */
#ifndef SL_CMD_OPTIONS_H
#define SL_CMD_OPTIONS_H

#include "base/text.h"

enum sl_option_kind {
    SL_OPTION_TEXT,    /* const char * */
    SL_OPTION_FLAG,    /* bool */
    SL_OPTION_COST,    /* uint32_t */
    SL_OPTION_TIMES,   /* uint64_t, at least 1 */
    SL_OPTION_TRUST,   /* int32_t, thousandths */
    SL_OPTION_ATTRS,   /* struct sl_attrs */
    SL_OPTION_WAIT,    /* int64_t, microseconds: 1ms to 24h */
    SL_OPTION_OPERAND, /* const char *: the argument that is no option */
    SL_OPTION_OPERANDS /* struct sl_operands: all of them, and at least one */
};

struct sl_option {
    const char *name;  /* "--times", "-c" or "TRACE" */
    const char *value; /* what the help calls its value; NULL for flags. Of an operand: what is
                        * asked where it is missing or empty, NULL if it need not be there */
    enum sl_option_kind kind;
    size_t offset; /* of what it fills */
    const char *help;
};

enum { SL_ATTRS_MAX = 64 };

struct sl_attrs {
    struct sluice_attribute at[SL_ATTRS_MAX];
    size_t count;
};

enum { SL_OPERANDS_MAX = 1024 };

struct sl_operands {
    const char *at[SL_OPERANDS_MAX];
    size_t count;
};

struct sl_command {
    const char *name;                /* "check"; within a group with its name: "rules list" */
    const char *summary;             /* one line */
    const char *usage;               /* behind the name, as in "-c FILE [TRACE]" */
    const char *more;                /* below the options; may be NULL */
    const struct sl_option *options; /* ended by a row without a name */
    int (*run)(const struct sl_command *command, int argc, char **argv);
    const struct sl_command *const *members; /* of a group, ended by NULL; else NULL */
};

/* Commands print to standard output; main sees to it that it was written. */
enum sl_parsed { SL_PARSED, SL_PARSED_HELP, SL_PARSED_WRONG };

/* Fills *out from the arguments behind the command's name. After HELP the help
 * has been printed, after WRONG what is wrong. */
enum sl_parsed sl_options_parse(const struct sl_command *command, int argc, char **argv, void *out);

/* "sluice check: …; try `sluice check --help`", and 2, the exit of an error. */
__attribute__((format(printf, 2, 3))) int sl_command_wrong(const struct sl_command *command,
                                                           const char *format, ...);

/* How a group runs: as the member that the first argument names. */
int sl_command_choose(const struct sl_command *group, int argc, char **argv);

extern const struct sl_command sl_command_serve;
extern const struct sl_command sl_command_check;
extern const struct sl_command sl_command_replay;
extern const struct sl_command sl_command_lint;
extern const struct sl_command sl_command_import;
extern const struct sl_command sl_command_table;
extern const struct sl_command sl_command_top;
extern const struct sl_command sl_command_bench;
extern const struct sl_command sl_command_rules;
extern const struct sl_command sl_command_tier;
extern const struct sl_command sl_command_exempt;
extern const struct sl_command sl_command_user;
extern const struct sl_command sl_command_tenant;
extern const struct sl_command sl_command_audit;

#endif
