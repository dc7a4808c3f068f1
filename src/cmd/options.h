/* Command lines read by a table: one row an option, from which the help is
 * printed too. */
#ifndef SL_CMD_OPTIONS_H
#define SL_CMD_OPTIONS_H

#include "base/text.h"

enum sl_option_kind {
    SL_OPTION_TEXT,   /* const char * */
    SL_OPTION_FLAG,   /* bool */
    SL_OPTION_COST,   /* uint32_t */
    SL_OPTION_TIMES,  /* uint64_t, at least 1 */
    SL_OPTION_TRUST,  /* int32_t, thousandths */
    SL_OPTION_ATTRS,  /* struct sl_attrs */
    SL_OPTION_OPERAND /* const char *: the argument that is no option */
};

struct sl_option {
    const char *name;  /* "--times", "-c" or "TRACE" */
    const char *value; /* what the help calls its value; NULL for flags */
    enum sl_option_kind kind;
    size_t offset; /* of what it fills */
    const char *help;
};

enum { SL_ATTRS_MAX = 64 };

struct sl_attrs {
    struct sluice_attribute at[SL_ATTRS_MAX];
    size_t count;
};

struct sl_command {
    const char *name;
    const char *summary;             /* one line */
    const char *usage;               /* behind the name, as in "-c FILE [TRACE]" */
    const char *more;                /* below the options; may be NULL */
    const struct sl_option *options; /* ended by a row without a name */
    int (*run)(const struct sl_command *command, int argc, char **argv);
};

/* Commands print to standard output; main sees to it that it was written. */
enum sl_parsed { SL_PARSED, SL_PARSED_HELP, SL_PARSED_WRONG };

/* Fills *out from the arguments behind the command's name. After HELP the help
 * has been printed, after WRONG what is wrong. */
enum sl_parsed sl_options_parse(const struct sl_command *command, int argc, char **argv, void *out);

/* "sluice check: …; try `sluice check --help`", and 2, the exit of an error. */
__attribute__((format(printf, 2, 3))) int sl_command_wrong(const struct sl_command *command,
                                                           const char *format, ...);

extern const struct sl_command sl_command_serve;
extern const struct sl_command sl_command_check;
extern const struct sl_command sl_command_replay;
extern const struct sl_command sl_command_lint;
extern const struct sl_command sl_command_table;
extern const struct sl_command sl_command_bench;

#endif
