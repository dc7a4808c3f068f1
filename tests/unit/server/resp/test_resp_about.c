/* INFO, TIME, CONFIG GET and COMMAND: what clients want to know of a server. */
#include "server/resp/resp.h"

#include "unit/server/on_resp.h"

#define RULES "rules: [{ name: all, per: user, limit: 100/h }]\n"

IN_RESP(info_tells_what_clients_look_for, RULES)
{
    told("SLUICE.CHECK user a");
    told("SLUICE.PEEK user a");
    const char *answer = told("INFO");
    static const char *const parts[] = { "# Server|redis_version:7.0.15|redis_mode:standalone|",
                                         "|sluice_version:0.1.0|",
                                         "|uptime_in_seconds:",
                                         "||# Clients|connected_clients:",
                                         "||# Persistence|loading:0|",
                                         "|total_commands_processed:2|",
                                         "|sluice_decisions:1|",
                                         "||# Replication|role:master|" };
    for (size_t i = 0; i < COUNT(parts); i++)
        if (!strstr(answer, parts[i]))
            fail_msg("no %s in %s", parts[i], answer);
}

IN_RESP(info_tells_the_sections_that_are_asked_for, RULES)
{
    static const struct talk rows[] = {
        { "INFO persistence", "$26|# Persistence|loading:0||" },
        { "info PERSISTENCE nonsense", "$26|# Persistence|loading:0||" },
        { "INFO nonsense", "$0||" },
    };
    check_talk(rows, COUNT(rows));
    check_has("INFO persistence replication", "loading:0||# Replication|");
    check_has("INFO everything", "# Server|");
    told("HELLO 3");
    assert_string_equal(told("INFO persistence"), "=30|txt:# Persistence|loading:0||");
}

IN_RESP(time_is_two_numbers, RULES)
{
    long long seconds = 0, micros = -1;
    assert_int_equal(sscanf(told("TIME"), "*2|$10|%lld|$%*d|%lld|", &seconds, &micros), 2);
    assert_true(seconds > 1700000000 && micros >= 0 && micros < 1000000);
}

IN_RESP(config_tells_what_benchmarks_ask, RULES)
{
    static const struct talk rows[] = {
        { "CONFIG GET save", "*2|$4|save|$0||" },
        { "CONFIG GET APPENDONLY", "*2|$10|appendonly|$2|no|" },
        { "CONFIG GET save appendonly", "*4|$4|save|$0||$10|appendonly|$2|no|" },
        { "CONFIG GET *", "*4|$4|save|$0||$10|appendonly|$2|no|" },
        { "CONFIG GET maxmemory", "*0|" },
        { "CONFIG GET", "-ERR wrong number of arguments for 'config|get' command|" },
        { "CONFIG SET save 1", "-ERR unknown subcommand 'SET'. Try CONFIG HELP.|" },
    };
    check_talk(rows, COUNT(rows));
}

/* ---- COMMAND ---- */

static size_t row_count(const struct sl_resp_row *rows)
{
    size_t count = 0;
    while (rows[count].name.at)
        count++;
    return count;
}

IN_RESP(every_row_of_the_table_is_told, RULES)
{
    char start[32], count[32];
    size_t rows = row_count(sl_resp_rows);
    snprintf(count, sizeof count, ":%zu|", rows);
    snprintf(start, sizeof start, "*%zu|", rows);
    assert_string_equal(told("COMMAND COUNT"), count);
    assert_int_equal(strncmp(told("COMMAND"), start, strlen(start)), 0);
    assert_int_equal(strncmp(told("COMMAND INFO"), start, strlen(start)), 0);
    const char *list = told("COMMAND LIST");
    assert_int_equal(strncmp(list, start, strlen(start)), 0);
    for (size_t i = 0; i < rows; i++)
        assert_non_null(strstr(list, sl_resp_rows[i].name.at));
}

TEST(rows_are_complete)
{
    for (const struct sl_resp_row *row = sl_resp_rows; row->name.at; row++) {
        assert_true(row->arity && row->summary && row->since && row->group);
        assert_true(row->run || row->below);
        for (const struct sl_resp_row *sub = row->below; sub && sub->name.at; sub++)
            assert_true(sub->arity && sub->run && sub->summary && sub->since);
    }
}

IN_RESP(entries_are_told_as_redis_does, RULES)
{
    static const struct talk rows[] = {
        { "COMMAND INFO echo nonsense", "*2|*10|$4|echo|:2|*1|+fast|:0|:0|:0|*0|*0|*0|*0|$-1|" },
        { "COMMAND INFO CL.THROTTLE",
          "*1|*10|$11|cl.throttle|:-1|*2|+write|+fast|:1|:1|:1|*0|*0|*0|*0|" },
        { "COMMAND INFO config", "*1|*10|$6|config|:-2|*1|+admin|:0|:0|:0|*0|*0|*0|*2|*10|$10|"
                                 "config|get|:-3|*1|+admin|:0|:0|"
                                 ":0|*0|*0|*0|*0|*10|$11|config|help|:2|*0|:0|:0|:0|*0|*0|*0|*0|" },
        { "COMMAND DOCS echo",
          "*2|$4|echo|*6|$7|summary|$26|Answers with what was said|$5|since|$5|1.0.0|$5|group|$10|"
          "connection|" },
        { "COMMAND DOCS nonsense", "*0|" },
        { "COMMAND GETKEYS a", "-ERR unknown subcommand 'GETKEYS'. Try COMMAND HELP.|" },
        { "HELLO 3 AUTH", "-ERR Syntax error in HELLO option 'AUTH'|" },
    };
    check_talk(rows, COUNT(rows));
    told("HELLO 3");
    assert_string_equal(told("COMMAND INFO echo"),
                        "*1|*10|$4|echo|:2|~1|+fast|:0|:0|:0|~0|*0|*0|*0|");
    check_has("COMMAND DOCS client", "$11|subcommands|%10|$14|client|setname|%3|");
}

/* As many as there are commands, also if it is the longest time and again. */
IN_RESP(names_that_are_asked_for_have_a_bound, RULES)
{
    char line[1024] = "COMMAND INFO", start[64], wanted[128];
    size_t rows = row_count(sl_resp_rows);
    for (size_t i = 0; i < rows; i++)
        strcat(line, " client");
    snprintf(start, sizeof start, "*%zu|*10|$6|client|", rows);
    assert_int_equal(strncmp(told(line), start, strlen(start)), 0);
    strcat(line, " client");
    snprintf(wanted, sizeof wanted,
             "-ERR Too many names: at most %zu, as many as there are commands|", rows);
    assert_string_equal(told(line), wanted);
}

/* What an unknown subcommand is told to try. */
IN_RESP(help_tells_what_there_is, RULES)
{
    assert_string_equal(told("CONFIG HELP"),
                        "*5|+Subcommands of CONFIG|+GET|+    `save` and "
                        "`appendonly`, for clients that expect them|+HELP|+    This list|");
    for (const struct sl_resp_row *row = sl_resp_rows; row->name.at; row++) {
        char line[64], start[64];
        snprintf(line, sizeof line, "%s help", row->name.at);
        if (!row->below)
            continue;
        snprintf(start, sizeof start, "*%zu|+", 1 + 2 * row_count(row->below));
        assert_int_equal(strncmp(told(line), start, strlen(start)), 0);
    }
    assert_string_equal(told("CLIENT HELP me"),
                        "-ERR wrong number of arguments for 'client|help' command|");
}
