/* Commands are no part of the library, so the file itself is taken in. */
#include "cmd/admin/server_url.h"

#include "unit/base/unit.h"

TEST(a_server_is_a_url_or_a_unix_socket)
{
    static const struct {
        const char *text, *base, *socket;
        bool is_private;
    } rows[] = {
        { "http://127.0.0.1:8080", "http://127.0.0.1:8080", NULL, true },
        { "http://127.0.0.1:8080/", "http://127.0.0.1:8080", NULL, true },
        { "HTTP://127.255.0.9", "http://127.255.0.9", NULL, true },
        { "http://localhost:8080", "http://localhost:8080", NULL, true },
        { "http://LocalHost", "http://LocalHost", NULL, true },
        { "http://[::1]:8080", "http://[::1]:8080", NULL, true },
        { "http://127.1:80/", "http://127.0.0.1:80", NULL, true },
        { "http://example.com", "http://example.com", NULL, false },
        { "http://192.0.2.1:8080", "http://192.0.2.1:8080", NULL, false },
        { "http://128.0.0.1", "http://128.0.0.1", NULL, false },
        { "http://126.255.255.255", "http://126.255.255.255", NULL, false },
        { "http://[::2]", "http://[::2]", NULL, false },
        { "http://0.0.0.0", "http://0.0.0.0", NULL, false },
        { "http://localhost.example.com", "http://localhost.example.com", NULL, false },
        { "http://127.0.0.1.example.com", "http://127.0.0.1.example.com", NULL, false },
        { "http://notlocalhost", "http://notlocalhost", NULL, false },
        { "http://localhost.", "http://localhost.", NULL, false },
        { "https://example.com", "https://example.com", NULL, true },
        { "https://example.com/limits/", "https://example.com/limits", NULL, true },
        { "https://example.com/a/../b", "https://example.com/a/../b", NULL, true },
        { "unix:/run/sluice.sock", "http://localhost", "/run/sluice.sock", true },
        { "unix:sluice.sock", "http://localhost", "sluice.sock", true },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_server_url url = { 0 };
        struct sluice_error error = { 0 };
        SAME(rows[i].text, sl_server_url_parse(rows[i].text, &url, &error), true);
        SAME_TEXT(rows[i].text, sl_text(url.base), rows[i].base);
        SAME_TEXT(rows[i].text, sl_text(url.socket), rows[i].socket);
        SAME(rows[i].text, url.is_private, rows[i].is_private);
        sl_server_url_release(&url);
    }
}

TEST(what_is_no_server_is_refused_with_what_one_is)
{
    static const char *const rows[] = {
        "",
        "unix:",
        "localhost:8080",
        "127.0.0.1:8080",
        "example.com",
        "ftp://example.com",
        "file:///etc/passwd",
        "http://",
        "http://exa mple.com",
        "http://example.com:99999",
        "http://example.com:x",
        "http://example.com/?a=b",
        "http://example.com?",
        "http://example.com/#top",
        "http://[::1",
        "http://example.com/\r\nX-Evil: 1",
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_server_url url = { 0 };
        struct sluice_error error = { 0 };
        SAME(rows[i], sl_server_url_parse(rows[i], &url, &error), false);
        SAME(rows[i],
             strstr(error.text, "http://HOST:PORT, https://HOST:PORT or unix:PATH") != NULL, true);
        SAME(rows[i], url.base == NULL, true);
    }
}

TEST(a_password_in_an_address_is_refused_and_not_repeated)
{
    static const char *const rows[] = {
        "http://root:sesame@127.0.0.1",
        "https://sesame@example.com",
        "root:sesame@127.0.0.1",
        "http://root:sesame@",
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_server_url url = { 0 };
        struct sluice_error error = { 0 };
        SAME(rows[i], sl_server_url_parse(rows[i], &url, &error), false);
        SAME(rows[i], strstr(error.text, "--token-file") != NULL, true);
        SAME(rows[i], strstr(error.text, "sesame") == NULL, true);
        SAME(rows[i], url.base == NULL, true);
    }
}

TEST(a_name_cannot_leave_its_place_in_the_path)
{
    struct sl_buffer out = sl_buffer(SIZE_MAX);
    sl_url_escape(&out, SL_TEXT("aZ09-._~"));
    sl_url_escape(&out, SL_TEXT("/?#&=+% \"\r\n\xc3\xb6"));
    SAME_TEXT("escaped", ((struct sluice_text){ out.at, out.len }),
              "aZ09-._~%2F%3F%23%26%3D%2B%25%20%22%0D%0A%C3%B6");
    sl_buffer_release(&out);
}
