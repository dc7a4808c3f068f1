/* What clients say before they ask for anything: HELLO, SELECT, CLIENT; and PING, ECHO, RESET. */
#include "unit/server/on_resp.h"

#define RULES "rules: [{ name: all, per: user, limit: 1/h }]\n"
#define HELLO2                                                                                     \
    "*14|$6|server|$5|redis|$7|version|$6|7.0.15|$5|proto|:2|$2|id|:1|$4|mode|$10|standalone|$4|"  \
    "role|$6|master|$7|modules|*0|"
#define HELLO3                                                                                     \
    "%7|$6|server|$5|redis|$7|version|$6|7.0.15|$5|proto|:3|$2|id|:1|$4|mode|$10|standalone|$4|"   \
    "role|$6|master|$7|modules|*0|"

IN_RESP(hello_chooses_the_form, RULES)
{
    static const struct talk rows[] = {
        { "HELLO", HELLO2 },
        { "HELLO 3", HELLO3 },
        { "hello", HELLO3 },
        { "CLIENT GETNAME", "_|" },
        { "HELLO 3 SETNAME me", HELLO3 },
        { "CLIENT GETNAME", "$2|me|" },
        { "HELLO 4", "-NOPROTO unsupported protocol version|" },
        { "HELLO 1", "-NOPROTO unsupported protocol version|" },
        { "HELLO x", "-ERR Protocol version is not an integer or out of range|" },
        { "HELLO 2 NONSENSE", "-ERR Syntax error in HELLO option 'NONSENSE'|" },
        { "HELLO 2 SETNAME", "-ERR Syntax error in HELLO option 'SETNAME'|" },
        { "HELLO 2 AUTH a", "-ERR Syntax error in HELLO option 'AUTH'|" },
        { "HELLO 2 SETNAME 'a b'",
          "-ERR Client names cannot contain spaces, newlines or special characters.|" },
        { "HELLO", HELLO3 }, /* none of these has changed anything */
        { "HELLO 2", HELLO2 },
    };
    check_talk(rows, COUNT(rows));
}

IN_RESP(small_commands_are_answered, RULES)
{
    static const struct talk rows[] = {
        { "PING", "+PONG|" },
        { "ping 'a b'", "$3|a b|" },
        { "PING a b", "-ERR wrong number of arguments for 'ping' command|" },
        { "ECHO \"a\\x00b\"", "$3|a?b|" },
        { "SELECT 0", "+OK|" },
        { "SELECT 1", "-ERR DB index is out of range|" },
        { "SELECT x", "-ERR value is not an integer or out of range|" },
        { "SELECT", "-ERR wrong number of arguments for 'select' command|" },
        { "AUTH a",
          "-ERR AUTH <password> called without any password configured for the default user. Are "
          "you sure your configuration is correct?|" },
        { "AUTH a b c", "-ERR syntax error|" },
    };
    check_talk(rows, COUNT(rows));
}

IN_RESP(a_client_may_be_named, RULES)
{
    static const struct talk rows[] = {
        { "CLIENT ID", ":1|" },
        { "CLIENT ID", ":1|" },
        { "CLIENT GETNAME", "$-1|" },
        { "CLIENT SETNAME me", "+OK|" },
        { "CLIENT GETNAME", "$2|me|" },
        { "CLIENT SETNAME ''", "+OK|" },
        { "CLIENT GETNAME", "$-1|" },
        { "CLIENT SETNAME 'a\\nb'", "+OK|" }, /* in single quotes that is a backslash */
        { "CLIENT SETNAME \"a\\nb\"",
          "-ERR Client names cannot contain spaces, newlines or special characters.|" },
        { "CLIENT SETNAME aaaaaaaabbbbbbbbaaaaaaaabbbbbbbbaaaaaaaabbbbbbbbaaaaaaaabbbbbbbbc",
          "+OK|" },
        { "CLIENT GETNAME",
          "$64|aaaaaaaabbbbbbbbaaaaaaaabbbbbbbbaaaaaaaabbbbbbbbaaaaaaaabbbbbbbb|" },
        { "CLIENT SETINFO LIB-NAME redis-py", "+OK|" },
        { "client setinfo lib-ver 8.0.0", "+OK|" },
        { "CLIENT SETINFO LIB-AGE 1", "-ERR Unrecognized option 'LIB-AGE'|" },
        { "CLIENT SETINFO LIB-NAME 'a b'",
          "-ERR Client names cannot contain spaces, newlines or special characters.|" },
        { "CLIENT SETNAME me", "+OK|" },
        { "CLIENT INFO",
          "$237|id=1 addr=192.0.2.1 fd=-1 name=me age=0 idle=0 flags=N db=0 sub=0 psub=0 ssub=0 "
          "multi=-1 qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 obl=0 oll=0 omem=0 tot-mem=0 "
          "events=r cmd=client|info user=default resp=2 lib-name=redis-py lib-ver=8.0.0||" },
        { "CLIENT NO-EVICT on", "+OK|" },
        { "CLIENT NO-TOUCH OFF", "+OK|" },
        { "CLIENT NO-TOUCH maybe", "-ERR syntax error|" },
        { "CLIENT REPLY ON", "+OK|" },
        { "CLIENT REPLY OFF", "-ERR syntax error: every command is answered here|" },
        { "CLIENT MAINT_NOTIFICATIONS ON",
          "-ERR unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP.|" },
        { "CLIENT", "-ERR wrong number of arguments for 'client' command|" },
        { "CLIENT SETNAME", "-ERR wrong number of arguments for 'client|setname' command|" },
        { "Client Id x", "-ERR wrong number of arguments for 'client|id' command|" },
    };
    check_talk(rows, COUNT(rows));
}

IN_RESP(each_connection_has_a_number, RULES)
{
    assert_string_equal(told("CLIENT ID"), ":1|");
    speak_resp("192.0.2.1");
    assert_string_equal(told("CLIENT ID"), ":2|");
}

IN_RESP(a_reset_makes_it_as_new, RULES)
{
    told("HELLO 3 SETNAME me");
    assert_string_equal(told("RESET"), "+RESET|");
    assert_string_equal(told("CLIENT GETNAME"), "$-1|");
    assert_string_equal(told("CLIENT ID"), ":1|");
}
