#include "wire/http/forwarded.h"

#include "unit/base/unit.h"

typedef enum sl_forwarded_kind take_last(struct sluice_text *list, struct sl_address *out);

/* All elements from the right, as a text: "192.0.2.1 ? 2001:db8::1", `?` for what
 * is opaque. The list lies in a block of exactly its size. */
static struct sluice_text walk(take_last *last, struct sluice_text list)
{
    static char out[1024];
    size_t len = 0;
    char *block = malloc(list.len ? list.len : 1);
    assert_non_null(block);
    memcpy(block, list.at, list.len);
    struct sluice_text rest = { block, list.len };
    for (;;) {
        struct sl_address address;
        size_t before = rest.len;
        enum sl_forwarded_kind kind = last(&rest, &address);
        assert_ptr_equal(rest.at, block);
        if (kind == SL_FORWARDED_END)
            break;
        assert_true(rest.len < before);
        char text[SL_ADDRESS_PRINT_MAX] = "?";
        if (kind == SL_FORWARDED_ADDRESS)
            sl_address_print(&address, text);
        len += (size_t)snprintf(out + len, sizeof out - len, "%s%s", len ? " " : "", text);
        assert_true(len < sizeof out);
    }
    assert_int_equal(rest.len, 0);
    free(block);
    return (struct sluice_text){ out, len };
}

struct row {
    struct sluice_text list;
    const char *wanted;
};

static void check_rows(take_last *last, const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        SAME_TEXT(rows[i].list.at, walk(last, rows[i].list), rows[i].wanted);
}

/* ---- X-Forwarded-For -------------------------------------------------------------- */

TEST(an_address_loses_its_port_and_brackets)
{
    static const struct row rows[] = {
        { SL_TEXT("1.2.3.4"), "1.2.3.4" },
        { SL_TEXT("1.2.3.4:567"), "1.2.3.4" },
        { SL_TEXT("1.2.3.4:0"), "1.2.3.4" },
        { SL_TEXT("1.2.3.4:65535"), "1.2.3.4" },
        { SL_TEXT("2001:db8::1"), "2001:db8::1" },
        { SL_TEXT("2001:db8::1:567"), "2001:db8::1:567" },
        { SL_TEXT("[2001:db8::1]"), "2001:db8::1" },
        { SL_TEXT("[2001:db8::1]:567"), "2001:db8::1" },
        { SL_TEXT("2001:DB8:0:0:0:0:0:1"), "2001:db8::1" },
        { SL_TEXT("::"), "::" },
        { SL_TEXT("::ffff:1.2.3.4"), "1.2.3.4" },
        { SL_TEXT("[::ffff:1.2.3.4]:567"), "1.2.3.4" },
        { SL_TEXT("[::FFFF:0102:0304]"), "1.2.3.4" },
    };
    check_rows(sl_x_forwarded_for_last, rows, COUNT(rows));
}

TEST(a_list_is_read_from_the_right)
{
    static const struct row rows[] = {
        { SL_TEXT("1.1.1.1,2.2.2.2"), "2.2.2.2 1.1.1.1" },
        { SL_TEXT("1.1.1.1, [2001:db8::2]:80 ,\t3.3.3.3:1 "), "3.3.3.3 2001:db8::2 1.1.1.1" },
        { SL_TEXT("1.1.1.1, unknown, 3.3.3.3"), "3.3.3.3 ? 1.1.1.1" },
        { SL_TEXT("\"1.1.1.1, 2.2.2.2\""), "? ?" }, /* quotes mean nothing here */
    };
    check_rows(sl_x_forwarded_for_last, rows, COUNT(rows));
}

TEST(empty_elements_are_passed_over)
{
    static const struct row rows[] = {
        { SL_TEXT(""), "" },
        { SL_TEXT(" \t "), "" },
        { SL_TEXT(","), "" },
        { SL_TEXT(" , ,\t,"), "" },
        { SL_TEXT(",1.1.1.1,, ,2.2.2.2, "), "2.2.2.2 1.1.1.1" },
    };
    check_rows(sl_x_forwarded_for_last, rows, COUNT(rows));
}

TEST(nothing_is_an_empty_list)
{
    struct sl_address address;
    struct sluice_text list = { 0 };
    assert_int_equal(sl_x_forwarded_for_last(&list, &address), SL_FORWARDED_END);
    assert_int_equal(sl_forwarded_last(&list, &address), SL_FORWARDED_END);
}

TEST(what_is_no_address_is_opaque)
{
    static const struct row rows[] = {
        { SL_TEXT("unknown"), "?" },
        { SL_TEXT("_hidden"), "?" },
        { SL_TEXT("localhost"), "?" },
        { SL_TEXT("1.2.3"), "?" },
        { SL_TEXT("1.2.3.04"), "?" },
        { SL_TEXT("1.2.3.256"), "?" },
        { SL_TEXT("1.2.3.4:"), "?" },
        { SL_TEXT("1.2.3.4:x"), "?" },
        { SL_TEXT("1.2.3.4:-1"), "?" },
        { SL_TEXT("1.2.3.4:65536"), "?" },
        { SL_TEXT("1.2.3.4:000001"), "?" },
        { SL_TEXT("1.2.3.4:_x"), "?" },
        { SL_TEXT("1.2.3.4 5.6.7.8"), "?" },
        { SL_TEXT("1.2.3.4\0"), "?" },
        { SL_TEXT("1.2.3.4/32"), "?" },
        { SL_TEXT(":80"), "?" },
        { SL_TEXT("["), "?" },
        { SL_TEXT("[]"), "?" },
        { SL_TEXT("[]:80"), "?" },
        { SL_TEXT("[1.2.3.4]"), "?" }, /* brackets are for IPv6 */
        { SL_TEXT("[2001:db8::1"), "?" },
        { SL_TEXT("2001:db8::1]"), "?" },
        { SL_TEXT("[2001:db8::1]80"), "?" },
        { SL_TEXT("[2001:db8::1]:"), "?" },
        { SL_TEXT("[2001:db8::1]]:80"), "?" },
        { SL_TEXT("[[2001:db8::1]]"), "?" },
        { SL_TEXT("[ 2001:db8::1 ]"), "?" },
        { SL_TEXT("fe80::1%eth0"), "?" },
        { SL_TEXT("\"1.2.3.4\""), "?" },
        { SL_TEXT("for=1.2.3.4"), "?" },
        { SL_TEXT("1.2.3.4;5.6.7.8"), "?" },
    };
    check_rows(sl_x_forwarded_for_last, rows, COUNT(rows));
}

/* ---- Forwarded -------------------------------------------------------------------- */

TEST(the_for_of_an_element_is_its_address)
{
    static const struct row rows[] = {
        { SL_TEXT("for=192.0.2.1"), "192.0.2.1" },
        { SL_TEXT("For=192.0.2.1"), "192.0.2.1" },
        { SL_TEXT("FOR=\"192.0.2.1\""), "192.0.2.1" },
        { SL_TEXT("for=\"192.0.2.1:4711\""), "192.0.2.1" },
        { SL_TEXT("for=\"192.0.2.1:_x-1.Y_\""), "192.0.2.1" },
        { SL_TEXT("for=\"[2001:db8::1]\""), "2001:db8::1" },
        { SL_TEXT("for=\"[2001:db8::1]:4711\""), "2001:db8::1" },
        { SL_TEXT("for=\"[::ffff:192.0.2.1]\""), "192.0.2.1" },
        { SL_TEXT("for=\"\\1\\92.0.2.\\1\""), "192.0.2.1" },
        { SL_TEXT("by=10.0.0.1;for=192.0.2.1;proto=https"), "192.0.2.1" },
        { SL_TEXT("proto=https ; for=192.0.2.1 ;\thost=a"), "192.0.2.1" },
        { SL_TEXT(";;for=192.0.2.1;"), "192.0.2.1" },
        { SL_TEXT("x=\"for=1.1.1.1\";for=192.0.2.1"), "192.0.2.1" },
        { SL_TEXT("x=\"\";for=192.0.2.1"), "192.0.2.1" },
        { SL_TEXT("forx=1.1.1.1;xfor=1.1.1.1;for=192.0.2.1"), "192.0.2.1" },
    };
    check_rows(sl_forwarded_last, rows, COUNT(rows));
}

TEST(quoted_strings_hold_commas_and_semicolons)
{
    static const struct row rows[] = {
        { SL_TEXT("for=1.1.1.1, for=2.2.2.2"), "2.2.2.2 1.1.1.1" },
        { SL_TEXT("for=1.1.1.1;x=\"a, for=9.9.9.9\""), "1.1.1.1" },
        { SL_TEXT("x=\"a,b;c\";for=1.1.1.1 , for=2.2.2.2;x=\",\""), "2.2.2.2 1.1.1.1" },
        { SL_TEXT("for=1.1.1.1;x=\"\\\"\",for=2.2.2.2"), "2.2.2.2 1.1.1.1" },
        { SL_TEXT("for=1.1.1.1;x=\"\\\\\",for=2.2.2.2"), "2.2.2.2 1.1.1.1" },
        { SL_TEXT("for=1.1.1.1;x=\",\\\\\\\",\",for=2.2.2.2"), "2.2.2.2 1.1.1.1" },
        { SL_TEXT("for=1.1.1.1,,\t, for=\"[2001:db8::2]\" ,"), "2001:db8::2 1.1.1.1" },
        { SL_TEXT(" , \t,"), "" },
    };
    check_rows(sl_forwarded_last, rows, COUNT(rows));
}

TEST(an_element_without_an_address_is_opaque)
{
    static const struct row rows[] = {
        { SL_TEXT("for=1.1.1.1, for=unknown, for=3.3.3.3"), "3.3.3.3 ? 1.1.1.1" },
        { SL_TEXT("for=1.1.1.1, for=_hidden"), "? 1.1.1.1" },
        { SL_TEXT("for=1.1.1.1, for=\"_hidden:_port\""), "? 1.1.1.1" },
        { SL_TEXT("for=1.1.1.1, proto=https"), "? 1.1.1.1" },
        { SL_TEXT("for=1.1.1.1, ;"), "? 1.1.1.1" },
        { SL_TEXT("for=1.1.1.1, for=\"\""), "? 1.1.1.1" },
        { SL_TEXT("for=1.1.1.1, for=\" 2.2.2.2\""), "? 1.1.1.1" },
        { SL_TEXT("for=1.1.1.1, for=\"2001:db8::2\""), "? 1.1.1.1" }, /* an address and a port? */
        { SL_TEXT("for=1.1.1.1, for=\"[2.2.2.2]\""), "? 1.1.1.1" },
        { SL_TEXT("for=1.1.1.1, for=\"2.2.2.2:\""), "? 1.1.1.1" },
        { SL_TEXT("for=1.1.1.1, for=\"2.2.2.2:65536\""), "? 1.1.1.1" },
        { SL_TEXT("for=1.1.1.1, for=\"2.2.2.2:_\""), "? 1.1.1.1" },
        { SL_TEXT("for=1.1.1.1, for=\"2.2.2.2:_a b\""), "? 1.1.1.1" },
        { SL_TEXT("for=1.1.1.1, for=\"[2001:db8::2\""), "? 1.1.1.1" },
    };
    check_rows(sl_forwarded_last, rows, COUNT(rows));
}

TEST(behind_a_malformed_element_nothing_is_trusted)
{
    static const struct row rows[] = {
        { SL_TEXT("for=1.1.1.1, for=2.2.2.2;for=2.2.2.2"), "?" },
        { SL_TEXT("for=1.1.1.1, for=2.2.2.2;For=unknown"), "?" },
        { SL_TEXT("for=1.1.1.1, 2.2.2.2"), "?" },
        { SL_TEXT("for=1.1.1.1, for"), "?" },
        { SL_TEXT("for=1.1.1.1, for="), "?" },
        { SL_TEXT("for=1.1.1.1, =2.2.2.2"), "?" },
        { SL_TEXT("for=1.1.1.1, for =2.2.2.2"), "?" },
        { SL_TEXT("for=1.1.1.1, for= 2.2.2.2"), "?" },
        { SL_TEXT("for=1.1.1.1, for=2.2.2.2 proto=http"), "?" },
        { SL_TEXT("for=1.1.1.1, for=2.2.2.2:80"), "?" }, /* no token: wants quotes */
        { SL_TEXT("for=1.1.1.1, for=[2001:db8::2]"), "?" },
        { SL_TEXT("for=1.1.1.1, for=\"2.2.2.2"), "?" },
        { SL_TEXT("for=1.1.1.1, for=2.2.2.2\""), "?" },
        { SL_TEXT("for=1.1.1.1, for=\"2.2.2.2\"x"), "?" },
        { SL_TEXT("for=1.1.1.1, for=\"2.2.2.2\"\"\""), "?" },
        { SL_TEXT("for=1.1.1.1, for=x\"2.2.2.2\""), "?" },
        { SL_TEXT("for=1.1.1.1, \"for\"=2.2.2.2"), "?" },
        { SL_TEXT("for=1.1.1.1, for=\"2.2.2.2\\\""), "?" },
        { SL_TEXT("for=1.1.1.1, for=2.2.2.2\\\""), "?" },
        { SL_TEXT("for=1.1.1.1, for=\"2.2.2.2\0\""), "?" },
        { SL_TEXT("for=1.1.1.1, for=\"2.2.2.2\\\0\""), "?" },
        { SL_TEXT("for=1.1.1.1, for=\"2.2.2.2\n\""), "?" },
        { SL_TEXT("for=1.1.1.1, for=2.2.2.2, \""), "?" },
        { SL_TEXT("\""), "?" },
        { SL_TEXT("\\\""), "?" },
        { SL_TEXT("\\"), "?" },
    };
    check_rows(sl_forwarded_last, rows, COUNT(rows));
}

TEST(a_hidden_port_may_be_as_long_as_its_room)
{
    char list[256];
    for (int bytes = 126; bytes <= 131; bytes++) {
        int port = bytes - (int)strlen("192.0.2.1:_");
        int len = snprintf(list, sizeof list, "for=\"192.0.2.1:_%0*d\"", port, 0);
        struct sluice_text wanted =
            walk(sl_forwarded_last, (struct sluice_text){ list, (size_t)len });
        SAME_TEXT(list, wanted, bytes <= 128 ? "192.0.2.1" : "?");
    }
}

/* ---- what a client may have sent before ------------------------------------------- */

static const struct sluice_text strangers[] = {
    SL_TEXT(""),
    SL_TEXT("for=9.9.9.9"),
    SL_TEXT("for=\"a"),
    SL_TEXT("for=\""),
    SL_TEXT("for=\"\\"),
    SL_TEXT("for=\"\\\\"),
    SL_TEXT("\\"),
    SL_TEXT("\\\\\\"),
    SL_TEXT("\""),
    SL_TEXT("\"\""),
    SL_TEXT("\"\"\""),
    SL_TEXT("for=9.9.9.9;x=\""),
    SL_TEXT("for=9.9.9.9;x=\"\\"),
    SL_TEXT("for=9.9.9.9;x="),
    SL_TEXT("for=9.9.9.9;"),
    SL_TEXT("for=9.9.9.9,"),
    SL_TEXT("for=9.9.9.9,x=\"\\\""),
    SL_TEXT("for=\"9.9.9.9\", for=\",;\\\",\""),
    SL_TEXT("\0\xff\n"),
};

TEST(nothing_sent_before_changes_what_a_proxy_appended)
{
    static const char *const appended[] = {
        ",for=192.0.2.1",
        ", for=192.0.2.1",
        " , for=\"192.0.2.1\"",
        ", for=\"192.0.2.1:80\";host=\"a\"",
        ", host=\"\\\"\";for=192.0.2.1",
        ", host=\"\\\\\";for=192.0.2.1;x=\"\\\\\\\"\"",
        ", host=\"a,b;c\";for=192.0.2.1;x=\"\"",
        ", x=\",for=8.8.8.8\";for=192.0.2.1;x=\",for=8.8.8.8,\"",
    };
    for (size_t i = 0; i < COUNT(strangers); i++) {
        for (size_t k = 0; k < COUNT(appended); k++) {
            char line[128];
            size_t len = strangers[i].len + strlen(appended[k]);
            memcpy(line, strangers[i].at, strangers[i].len);
            memcpy(line + strangers[i].len, appended[k], strlen(appended[k]) + 1);
            struct sluice_text list = { line, len };
            struct sl_address address, wanted;
            assert_true(sl_address_parse(SL_TEXT("192.0.2.1"), &wanted));
            SAME(line, sl_forwarded_last(&list, &address), SL_FORWARDED_ADDRESS);
            SAME(line, memcmp(&address, &wanted, sizeof wanted), 0);
            SAME(line, list.len, strangers[i].len + (appended[k][0] == ' '));
        }
    }
}

TEST(two_trusted_elements_behind_an_open_quote_are_both_read)
{
    static const struct row rows[] = {
        { SL_TEXT("for=\"a, for=192.0.2.1, for=10.0.0.1"), "10.0.0.1 192.0.2.1 ?" },
        { SL_TEXT("for=9.9.9.9;x=\", for=192.0.2.1;x=\"y\", for=10.0.0.1"),
          "10.0.0.1 192.0.2.1 ?" },
        { SL_TEXT("for=\"9.9.9.9\\\", for=\"192.0.2.1\", for=10.0.0.1"), "10.0.0.1 192.0.2.1 ?" },
    };
    check_rows(sl_forwarded_last, rows, COUNT(rows));
}

TEST(the_address_is_left_alone_unless_there_is_one)
{
    static const char *const lists[] = {
        "",       "unknown",         "[::1]:x",           "1.2.3.4:x",
        "for=_x", "for=\"[::1]:x\"", "for=\"1.2.3.4:x\"", "\""
    };
    for (size_t i = 0; i < COUNT(lists); i++) {
        struct sl_address address, before;
        memset(&before, 0xa5, sizeof before);
        address = before;
        struct sluice_text list = sl_text(lists[i]);
        assert_int_not_equal(sl_x_forwarded_for_last(&list, &address), SL_FORWARDED_ADDRESS);
        list = sl_text(lists[i]);
        assert_int_not_equal(sl_forwarded_last(&list, &address), SL_FORWARDED_ADDRESS);
        assert_memory_equal(&address, &before, sizeof before);
    }
}
