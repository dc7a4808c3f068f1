/* Reading a store's URL.
 *
 *   memory                                              and memory:
 *   memory:FILE[?size=64M&log=16M&sync=1s]
 *   redis://[user:password@]host[:port][/database]      and rediss:// with TLS
 *   redis+unix://PATH
 *   redis-cluster://[user:password@]host[:port],…       and rediss-cluster:// with TLS
 *   redis-sentinel://[user:password@]host[:port],…/master[/database][?sentinel_password=password]
 *                                                       and rediss-sentinel:// with TLS
 *
 * A URL is cut from the front: scheme, then the parts of that scheme. `rest` is
 * the text left to read. Missing ports are filled in here, so that no other code has a
 * default of its own. Messages name the part that is wrong and not the whole URL: it
 * may hold a password, and messages are logged. */
#include "rules/store_url.h"

#include "base/text/number.h"
#include "rules/host.h"
#include "rules/tree/read.h"

#define SIZE_MIN_BYTES (UINT64_C(1) << 20)
#define SIZE_MAX_BYTES (UINT64_C(1) << 40)
#define SYNC_MIN_US    (INT64_C(10) * 1000)
#define SYNC_MAX_US    (INT64_C(24) * 3600 * 1000000)

enum { PORT_REDIS = 6379, PORT_SENTINEL = 26379, DATABASE_MAX = 65535 };

/* The state of one reading: every result lives in `arena`. */
struct url_parser {
    struct sl_arena *arena;
    struct sluice_text folder;
    struct sluice_text rest;
};

/* Cuts off the text before the first `mark`, and the mark; returns false if there is
 * none. */
static bool cut_before(struct sluice_text *rest, char mark, struct sluice_text *out)
{
    const char *at = rest->len ? memchr(rest->at, mark, rest->len) : NULL;
    if (!at)
        return false;
    *out = (struct sluice_text){ rest->at, (size_t)(at - rest->at) };
    rest->at = at + 1;
    rest->len -= out->len + 1;
    return true;
}

/* The same, but the end of the text serves as a mark too. */
static struct sluice_text cut_part(struct sluice_text *rest, char mark)
{
    struct sluice_text part = *rest;
    if (!cut_before(rest, mark, &part))
        rest->len = 0;
    return part;
}

/* Bytes, with K, M, G or T behind them for powers of 1024; not more than 1T. */
static bool parse_bytes(struct sluice_text text, uint64_t *out)
{
    static const char suffixes[] = "KMGT";
    uint32_t shift = 0;
    uint64_t number;
    const char *suffix = text.len ? memchr(suffixes, text.at[text.len - 1], 4) : NULL;
    if (suffix) {
        shift = 10 * ((uint32_t)(suffix - suffixes) + 1);
        text.len--;
    }
    if (!sl_parse_u64(text, &number) || number > SIZE_MAX_BYTES >> shift)
        return false;
    *out = number << shift;
    return true;
}

static const char *read_size(struct sluice_text value, struct sl_store_url *url)
{
    uint64_t bytes;
    if (!parse_bytes(value, &bytes) || bytes < SIZE_MIN_BYTES)
        return "`size` in the store's URL is from 1M to 1T; write it like 64M or 2G";
    url->size_bytes = bytes;
    return NULL;
}

static const char log_is_part[] =
    "`log` in the store's URL is a part of `size`, which is 64M if not given; write less than "
    "that, like 16M, or 0 for none";

static const char *read_log(struct sluice_text value, struct sl_store_url *url)
{
    uint64_t bytes;
    if (!parse_bytes(value, &bytes))
        return log_is_part;
    url->log_bytes = bytes;
    return NULL;
}

static const char *read_sync(struct sluice_text value, struct sl_store_url *url)
{
    int64_t every_us;
    if (!url->path)
        return "`sync` in the store's URL needs a file to write; write `memory:FILE?sync=1s`, or "
               "leave it out";
    if (sl_text_is(value, "off"))
        every_us = SL_STORE_SYNC_OFF;
    else if (sl_text_is(value, "close"))
        every_us = SL_STORE_SYNC_CLOSE;
    else if (!sl_parse_duration_us(value, &every_us) || every_us < SYNC_MIN_US ||
             every_us > SYNC_MAX_US)
        return "`sync` in the store's URL is when its file is written to disk; write `off`, "
               "`close`, or how often, from 10ms to 24h, like 1s";
    url->sync_us = every_us;
    return NULL;
}

static const struct parameter {
    const char *name;
    const char *(*read)(struct sluice_text value, struct sl_store_url *url);
} parameters[] = {
    { "size", read_size },
    { "log", read_log },
    { "sync", read_sync },
};

enum { PARAMETER_COUNT = sizeof parameters / sizeof *parameters };

/* Reads one "name=value". `seen` has a bit for each name that was there already. */
static const char *read_parameter(struct sl_arena *arena, struct sluice_text value,
                                  struct sl_store_url *url, uint32_t *seen)
{
    struct sluice_text name = cut_part(&value, '=');
    size_t i = 0;
    while (i < PARAMETER_COUNT && !sl_text_is(name, parameters[i].name))
        i++;
    if (name.len == 0)
        return "a parameter is missing behind `?` or `&` in the store's URL; write one, as in "
               "`memory:limits.slu?size=64M`, or leave out the sign";
    if (i == PARAMETER_COUNT)
        return sl_arena_print(arena,
                              "`%.*s` is not a parameter of a memory store; it has `size`, `log` "
                              "and `sync`, as in `memory:limits.slu?size=64M&sync=1s`",
                              (int)name.len, name.at);
    if (*seen & 1u << i)
        return sl_arena_print(arena, "`%s` is twice in the store's URL; write it once",
                              parameters[i].name);
    *seen |= 1u << i;
    return parameters[i].read(value, url);
}

static const char *read_memory(struct url_parser *cut, struct sl_store_url *url)
{
    struct sluice_text path = cut->rest;
    uint32_t seen = 0;
    bool more = cut_before(&cut->rest, '?', &path);
    if (path.len >= 2 && path.at[0] == '/' && path.at[1] == '/')
        return "a memory store has no `//`; write `memory:FILE`";
    if (path.len)
        url->path = sl_path_join(cut->arena, cut->folder, path);
    while (more) {
        struct sluice_text parameter = cut->rest;
        more = cut_before(&cut->rest, '&', &parameter);
        const char *wrong = read_parameter(cut->arena, parameter, url, &seen);
        if (wrong)
            return wrong;
    }
    uint64_t size_bytes = url->size_bytes ? url->size_bytes : SL_STORE_SIZE_BYTES;
    bool log_fits = url->log_bytes == SL_STORE_LOG_DEFAULT || url->log_bytes < size_bytes;
    return log_fits ? NULL : log_is_part;
}

/* Returns NULL if it is not a text with %XX in it, or a byte in it is zero. */
static const char *percent_decode(struct sl_arena *arena, struct sluice_text text)
{
    char *out = sl_arena_take(arena, text.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (c == '%') {
            int high = i + 2 < text.len ? sl_hex_digit(text.at[i + 1]) : -1;
            int low = high >= 0 ? sl_hex_digit(text.at[i + 2]) : -1;
            if (low < 0 || high + low == 0)
                return NULL;
            c = (char)(high * 16 + low);
            i += 2;
        }
        out[len++] = c;
    }
    return out;
}

/* Cuts [user]:password@ off the front of `authority`. */
static const char *read_login(struct url_parser *cut, struct sluice_text *authority,
                              struct sl_store_url *url)
{
    const char *at = authority->len ? memrchr(authority->at, '@', authority->len) : NULL;
    if (!at)
        return NULL;
    struct sluice_text login = { authority->at, (size_t)(at - authority->at) };
    authority->at = at + 1;
    authority->len -= login.len + 1;
    struct sluice_text user;
    if (!cut_before(&login, ':', &user) || login.len == 0)
        return "a store's login is user:password@ or :password@";
    const char *user_text = percent_decode(cut->arena, user);
    const char *password = percent_decode(cut->arena, login);
    if (!user_text || !password)
        return "`%` in the store's login starts %XX; write a percent sign as %25";
    url->user = user.len ? user_text : NULL;
    url->password = password;
    return NULL;
}

/* Adds "host:port" to url->hosts. Messages never quote a port: without its `@`
 * a password looks like one. */
static const char *read_host(struct url_parser *cut, struct sluice_text text,
                             struct sl_store_url *url)
{
    struct sluice_text host, digits;
    uint32_t port = url->kind == SL_STORE_REDIS_SENTINEL ? PORT_SENTINEL : PORT_REDIS;
    sl_host_cut(text, &host, &digits);
    if (digits.at && (!sl_port_parse(digits, &port) || port == 0))
        return "the store's port is not a number from 1 to 65535; write host:6379, and an IPv6 "
               "address in brackets";
    if (host.len == 0)
        return "the store's host is missing; write a name or an address";
    if (!sl_host_is_good(host))
        return sl_arena_print(cut->arena,
                              "`%.*s` is not a host of the store; write a name, an IPv4 address "
                              "or an IPv6 address in brackets",
                              (int)host.len, host.at);
    url->hosts = sl_arena_print(cut->arena, "%s%s%.*s:%u", url->hosts ? url->hosts : "",
                                url->hosts ? "," : "", (int)host.len, host.at, port);
    return NULL;
}

static const char *read_database(struct sluice_text text, struct sl_store_url *url)
{
    uint64_t number = 0;
    if (text.len && (!sl_parse_u64(text, &number) || number > DATABASE_MAX))
        return "a Redis database is a number from 0 to 65535, as in redis://host/0";
    url->database = (uint32_t)number;
    return NULL;
}

/* Reads login and hosts; leaves the text behind the first slash in cut->rest. */
static const char *read_authority(struct url_parser *cut, struct sl_store_url *url)
{
    if (cut->rest.len && memchr(cut->rest.at, '?', cut->rest.len))
        return "a Redis URL has no parameters here; leave out what follows the `?`, and write one "
               "in a password as %3F";
    struct sluice_text authority = cut_part(&cut->rest, '/');
    if (cut->rest.len && memchr(cut->rest.at, '@', cut->rest.len))
        return "there is a `/` in the store's login; write it as %2F";
    const char *wrong = read_login(cut, &authority, url);
    if (wrong)
        return wrong;
    if (url->kind == SL_STORE_REDIS)
        return read_host(cut, authority, url);
    struct sluice_text host;
    while (!wrong && cut_before(&authority, ',', &host))
        wrong = read_host(cut, host, url);
    return wrong ? wrong : read_host(cut, authority, url);
}

static const char *read_redis(struct url_parser *cut, struct sl_store_url *url)
{
    const char *wrong = read_authority(cut, url);
    return wrong ? wrong : read_database(cut->rest, url);
}

static const char *read_unix(struct url_parser *cut, struct sl_store_url *url)
{
    if (cut->rest.len == 0)
        return "the store's socket is missing; write redis+unix:///run/redis/redis.sock";
    url->path = sl_path_join(cut->arena, cut->folder, cut->rest);
    return NULL;
}

static const char *read_cluster(struct url_parser *cut, struct sl_store_url *url)
{
    const char *wrong = read_authority(cut, url);
    if (!wrong && cut->rest.len)
        wrong = "a Redis Cluster has one database; leave out what follows the `/`";
    return wrong;
}

/* The login in the URL is for the Redis behind the Sentinels, which may have another one. */
static const char *read_sentinel_password(struct url_parser *cut, struct sluice_text value,
                                          struct sl_store_url *url)
{
    struct sluice_text name = cut_part(&value, '=');
    if (!sl_text_is(name, "sentinel_password") || value.len == 0 ||
        memchr(value.at, '&', value.len))
        return "a Sentinel URL has one parameter, `?sentinel_password=PASSWORD`; write a `?` or "
               "`&` in a password as %3F or %26";
    url->sentinel_password = percent_decode(cut->arena, value);
    return url->sentinel_password ? NULL
                                  : "`%` in the Sentinels' password starts %XX; write a percent "
                                    "sign as %25";
}

static const char *read_sentinel(struct url_parser *cut, struct sl_store_url *url)
{
    struct sluice_text front;
    const char *wrong = NULL;
    if (cut_before(&cut->rest, '?', &front)) {
        wrong = read_sentinel_password(cut, cut->rest, url);
        cut->rest = front;
    }
    if (!wrong)
        wrong = read_authority(cut, url);
    if (wrong)
        return wrong;
    struct sluice_text master = cut_part(&cut->rest, '/');
    if (master.len == 0)
        return "the master's name is missing; write redis-sentinel://host:26379/mymaster";
    url->master = sl_arena_copy(cut->arena, master);
    return read_database(cut->rest, url);
}

static const struct scheme {
    const char *prefix;
    enum sl_store_kind kind;
    bool tls;
    const char *(*read)(struct url_parser *cut, struct sl_store_url *url);
} schemes[] = {
    { "memory:", SL_STORE_MEMORY, false, read_memory },
    { "redis://", SL_STORE_REDIS, false, read_redis },
    { "rediss://", SL_STORE_REDIS, true, read_redis },
    { "redis+unix://", SL_STORE_REDIS_UNIX, false, read_unix },
    { "redis-cluster://", SL_STORE_REDIS_CLUSTER, false, read_cluster },
    { "rediss-cluster://", SL_STORE_REDIS_CLUSTER, true, read_cluster },
    { "redis-sentinel://", SL_STORE_REDIS_SENTINEL, false, read_sentinel },
    { "rediss-sentinel://", SL_STORE_REDIS_SENTINEL, true, read_sentinel },
};

enum { SCHEME_COUNT = sizeof schemes / sizeof *schemes };

static const char *list_schemes(struct sl_arena *arena)
{
    const char *prefixes[SCHEME_COUNT + 1] = { 0 };
    for (size_t i = 0; i < SCHEME_COUNT; i++)
        prefixes[i] = schemes[i].prefix;
    return sl_arena_print(arena,
                          "this is not where counts can live; write `memory`, or a URL that starts "
                          "with %s",
                          sl_words_join(arena, prefixes, "or"));
}

const char *sl_store_url_parse(struct sl_arena *arena, struct sluice_text url,
                               struct sluice_text folder, struct sl_store_url *out)
{
    /* To YAML an unquoted `memory:` is a key without its value. */
    struct sluice_text whole = sl_text_is(url, "memory") ? SL_TEXT("memory:") : url;
    for (size_t i = 0; i < SCHEME_COUNT; i++) {
        const struct scheme *scheme = &schemes[i];
        size_t len = strlen(scheme->prefix);
        if (whole.len < len || memcmp(whole.at, scheme->prefix, len) != 0)
            continue;
        struct url_parser cut = { arena, folder, { whole.at + len, whole.len - len } };
        struct sl_store_url read = {
            .kind = scheme->kind,
            .tls = scheme->tls,
            .log_bytes = SL_STORE_LOG_DEFAULT,
            .sync_us = SL_STORE_SYNC_OFF,
        };
        const char *wrong = scheme->read(&cut, &read);
        if (wrong)
            return wrong;
        read.text = sl_arena_copy(arena, url);
        *out = read;
        return NULL;
    }
    return list_schemes(arena);
}

const char *sl_store_url_name(const struct sl_store_url *url)
{
    if (url->path)
        return url->path;
    return url->hosts ? url->hosts : "memory";
}
