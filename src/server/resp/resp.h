/* The Redis protocol's front from the inside: a connection's session, a command on its way to an
 * answer, and the table of commands.
 *
 *   front_resp.c      bytes → commands, one after the other
 *   resp_command.c    finds the row of the table; checks permission
 *   resp_throttle.c, resp_check.c, resp_session.c, resp_client.c, resp_about.c    the rows
 *   resp_reply.c      answers that need no decision, and refusals
 *
 * Every answer goes through the round, so that a pipeline is answered in order, and each answer in
 * the form that was in force when its command was read, whatever a later HELLO sets. */
#ifndef SL_SERVER_RESP_RESP_H
#define SL_SERVER_RESP_RESP_H

#include "server/conn.h"
#include "server/http/route.h"
#include "wire/resp/print.h"
#include "wire/resp/resp.h"

#define SL_RESP_REDIS_VERSION "7.0.15" /* the Redis version whose commands these are */

enum { SL_RESP_LABEL_MAX_BYTES = 64 };

/* A name that the client gives itself. */
struct sl_resp_label {
    size_t len;
    char text[SL_RESP_LABEL_MAX_BYTES];
};

enum { SL_RESP_NAME_MAX_BYTES = 16 }; /* of a row */

struct sl_resp_row;

/* The session of a connection; zero is a client that has said nothing. */
struct sl_resp_session {
    struct sl_resp_reader reader;
    enum sl_timer timing; /* the timer of this command */
    bool is_resp3;
    bool has_last; /* it had a command since shutdown began */
    bool is_token; /* the secret is a token; else an API key */
    char *secret;  /* "Bearer " and the password; NULL: no AUTH yet. Wiped when it is freed */
    size_t secret_len;
    uint64_t id;                            /* 0: not given out yet */
    const struct sl_resp_row *last;         /* command, */
    char last_word[SL_RESP_NAME_MAX_BYTES]; /* as the client spelled it */
    struct sl_resp_label name, library, library_version;
};

/* A command on its way to becoming a call. */
struct sl_resp_ask {
    struct sl_message message; /* the command as an HTTP message, for caller.h and route.h */
    struct sl_resp_session *session;
    const struct sl_resp_row *row;
    const struct sluice_text *args; /* its name is the first */
    size_t count;
    size_t ready_bytes;       /* of answers made in this read */
    struct sl_http_head head; /* the message's: its only fields are the credentials */
};

enum sl_resp_flag {
    SL_RESP_OPEN = 1,   /* allowed before AUTH, where AUTH is required */
    SL_RESP_WRITES = 2, /* these three are only for COMMAND's answers */
    SL_RESP_ADMIN = 4,
    SL_RESP_FAST = 8,
};

struct sl_resp_row {
    struct sluice_text name; /* in lower case */
    int arity;               /* number of words, its name included; negative: that many or more */
    uint32_t flags;          /* of enum sl_resp_flag */
    void (*run)(struct sl_resp_ask *ask); /* adds the call; NULL: it has only subcommands */
    const struct sl_resp_row *below;      /* subcommands, by the second word; or NULL */
    uint32_t key;                         /* which word is one; 0: none */
    const char *group, *since, *summary;
};

extern const struct sl_resp_row sl_resp_rows[]; /* ended by a row without a name */

/* Returns NULL if there is no command of that name. */
const struct sl_resp_row *sl_resp_find(const struct sl_resp_row *rows, struct sluice_text name);

/* A row's name in upper case, terminated. */
void sl_resp_upper(const struct sl_resp_row *row, char out[SL_RESP_NAME_MAX_BYTES]);

/* Makes a call of the command. */
void sl_resp_run(struct sl_resp_ask *ask);

/* ---- the caller ---- */

/* Is AUTH required before other commands? */
bool sl_resp_is_stranger(const struct sl_resp_ask *ask);

/* Refuses a command of a client without AUTH. */
bool sl_resp_refuse_stranger(struct sl_resp_ask *ask);

/* Writes the session's secret into the message's head. */
void sl_resp_know(struct sl_resp_ask *ask);

/* Wipes and frees the secret. */
void sl_resp_forget(struct sl_resp_session *session);

/* ---- answering: resp_reply.c ---- */

/* Flags of call->form besides enum sl_resp_form. */
enum {
    SL_RESP_FORM = 0xf,
    SL_RESP_AUTH = 0x10,     /* the command is AUTH: its credentials are refused */
    SL_RESP_FAMILIAR = 0x20, /* the session has credentials that were right before */
};

/* Prints to the connection, in the call's form. */
struct sl_resp_out sl_resp_to(const struct sl_call *call);

/* The bytes printed between these two are the answer. */
struct sl_resp_out sl_resp_begin(struct sl_resp_ask *ask);
void sl_resp_end(struct sl_resp_ask *ask);

/* Adds the call with this reply, which reads nothing but the call. */
void sl_resp_add(struct sl_resp_ask *ask, sl_reply *reply);

/* "+OK" */
void sl_resp_ok(struct sl_resp_ask *ask);

/* Answers with an error: its first word, and a text. */
__attribute__((format(printf, 3, 4))) void sl_resp_fail(struct sl_resp_ask *ask, const char *code,
                                                        const char *format, ...);
/* "wrong number of arguments for 'x' command" */
void sl_resp_fail_count(struct sl_resp_ask *ask);

/* Prints call->status and call->detail as an error. */
sl_reply sl_resp_problem;

/* ---- the commands ---- */

void sl_resp_throttle(struct sl_resp_ask *ask); /* resp_throttle.c */

void sl_resp_check(struct sl_resp_ask *ask); /* resp_check.c */
void sl_resp_peek(struct sl_resp_ask *ask);
void sl_resp_reset_counts(struct sl_resp_ask *ask); /* resp_reset.c */

void sl_resp_hello(struct sl_resp_ask *ask); /* resp_session.c */
void sl_resp_auth(struct sl_resp_ask *ask);
void sl_resp_ping(struct sl_resp_ask *ask);
void sl_resp_echo(struct sl_resp_ask *ask);
void sl_resp_quit(struct sl_resp_ask *ask);
void sl_resp_select(struct sl_resp_ask *ask);
void sl_resp_reset(struct sl_resp_ask *ask);

/* Accepts the password, or refuses the call. The user's name (null `at`: there is none) matters
 * only if it is `default`, and only where there are no passwords. resp_auth.c */
bool sl_resp_believe(struct sl_resp_ask *ask, struct sluice_text user, struct sluice_text password);

extern const struct sl_resp_row sl_resp_client_rows[]; /* resp_client.c */
uint64_t sl_resp_id(struct sl_resp_ask *ask);
bool sl_resp_set_label(struct sl_resp_ask *ask, struct sl_resp_label *label,
                       struct sluice_text text);

void sl_resp_info(struct sl_resp_ask *ask); /* resp_about.c */
void sl_resp_time(struct sl_resp_ask *ask);
extern const struct sl_resp_row sl_resp_config_rows[];

void sl_resp_commands(struct sl_resp_ask *ask); /* resp_catalog.c */
void sl_resp_help(struct sl_resp_ask *ask);     /* the subcommands of the first word */
extern const struct sl_resp_row sl_resp_command_rows[];

#endif
