#include "wire/grpc/descriptor.h"

#include "unit/base/unit.h"

enum { ROOM = 4096 };
static struct sl_scratch memory;
static struct sluice_attribute entries[SL_DESCRIPTOR_ENTRIES_MAX + 1];

/* "a=x b=y" as entries of the domain "shop"; without `=` a value is empty. */
static struct sl_descriptor descriptor_of(const char *text)
{
    static char copy[ROOM];
    struct sl_descriptor descriptor = { SL_TEXT("shop"), entries, 0 };
    snprintf(copy, sizeof copy, "%s", text);
    char *rest = copy;
    for (char *word; (word = strsep(&rest, " "));) {
        char *value = strchr(word, '=');
        struct sluice_text name = { word, value ? (size_t)(value - word) : strlen(word) };
        entries[descriptor.count++] =
            (struct sluice_attribute){ name, value ? sl_text(value + 1) : SL_TEXT("") };
    }
    return descriptor;
}

static void add_member(char *out, const char *name, struct sluice_text value)
{
    size_t at = strlen(out);
    if (value.at)
        snprintf(out + at, ROOM - at, "%s%s=%.*s", at ? " " : "", name, (int)value.len, value.at);
}

/* "user=u; a=x": fields, then the others in their order. */
static const char *printed(const struct sluice_request *request)
{
    static char out[ROOM];
    char name[256];
    *out = 0;
    add_member(out, "resource", request->resource);
    add_member(out, "method", request->method);
    add_member(out, "user", request->user);
    add_member(out, "ip", request->ip);
    add_member(out, "client", request->client);
    add_member(out, "tier", request->tier);
    strcat(out, ";");
    for (size_t i = 0; i < request->other_count; i++) {
        const struct sluice_attribute *other = &request->others[i];
        snprintf(name, sizeof name, "%.*s", (int)other->name.len, other->name.at);
        add_member(out, name, other->value);
    }
    return out;
}

TEST(entries_become_attributes_and_no_name_is_there_twice)
{
    static const struct {
        const char *entries, *attributes;
    } rows[] = {
        { "a=x", "; a=x descriptor=a" },
        { "a=x b=y", "; a=x b=y descriptor=a,b" },
        { "b=y a=x", "; b=y a=x descriptor=b,a" },
        { "a", "; a= descriptor=a" },
        /* Fields. */
        { "user=u ip=192.0.2.1 client=c resource=/r method=GET tier=pro",
          "resource=/r method=GET user=u ip=192.0.2.1 client=c tier=pro; "
          "descriptor=user,ip,client,resource,method,tier" },
        { "user=u user=v", "user=u; user.2=v descriptor=user,user" },
        { "user user=v", "user=; user.2=v descriptor=user,user" },
        /* What Envoy's actions call them. */
        { "remote_address=192.0.2.1 path=/p",
          "resource=/p ip=192.0.2.1; remote_address=192.0.2.1 path=/p "
          "descriptor=remote_address,path" },
        { "remote_address=192.0.2.1 ip=192.0.2.2 path=/p resource=/r",
          "resource=/r ip=192.0.2.2; remote_address=192.0.2.1 path=/p "
          "descriptor=remote_address,ip,path,resource" },
        { "path=/p path=/q", "resource=/p; path=/p path.2=/q descriptor=path,path" },
        /* Again, and again. */
        { "a=x a=y a=z", "; a=x a.2=y a.3=z descriptor=a,a,a" },
        { "a=x a=y a.2=z", "; a=x a.2=y a.2.2=z descriptor=a,a,a.2" },
        { "a.2=z a=x a=y", "; a.2=z a=x a.3=y descriptor=a.2,a,a" },
        /* Names that mean something else. */
        { "tenant=t cost=1 trust_score=1 peek=1 wait=1 explain=1 at_us=1 descriptor=1",
          "; descriptor.tenant=t descriptor.cost=1 descriptor.trust_score=1 descriptor.peek=1 "
          "descriptor.wait=1 descriptor.explain=1 descriptor.at_us=1 descriptor.descriptor=1 "
          "descriptor=tenant,cost,trust_score,peek,wait,explain,at_us,descriptor" },
        { "tenant=t tenant=u descriptor.tenant=v",
          "; descriptor.tenant=t descriptor.tenant.2=u descriptor.tenant.3=v "
          "descriptor=tenant,tenant,descriptor.tenant" },
        { "Tenant=t User=u", "; Tenant=t User=u descriptor=Tenant,User" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_descriptor descriptor = descriptor_of(rows[i].entries);
        struct sluice_request request = sluice_request();
        SAME(rows[i].entries, sl_descriptor_wrong(&descriptor) == NULL, true);
        SAME(rows[i].entries, sl_descriptor_name(&descriptor, &memory, &request), true);
        SAME_TEXT(rows[i].entries, request.tenant, "shop");
        SAME_TEXT(rows[i].entries, sl_text(printed(&request)), rows[i].attributes);
    }
}

TEST(with_its_own_limit_it_is_known_by_all_its_entries)
{
    static const struct {
        const char *entries, *attributes;
    } rows[] = {
        { "a=x", "; @key=a=x a=x" },
        { "a=x b=y", "; @key=a=x,b=y a=x b=y" },
        { "@key=x tenant=y", "; @key=@key=x,tenant=y @key=x" },
        { "a", "; @key=a= a=" },
        { "a=x,b=y", "; @key=a=x%2Cb%3Dy a=x,b=y" },
        { "a=%2C", "; @key=a=%252C a=%2C" },
        { "user=u user=v remote_address=192.0.2.1 path=/p",
          "resource=/p user=u ip=192.0.2.1; @key=user=u,user=v,remote_address=192.0.2.1,path=/p "
          "remote_address=192.0.2.1 path=/p" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_descriptor descriptor = descriptor_of(rows[i].entries);
        struct sluice_request request = sluice_request();
        SAME(rows[i].entries, sl_descriptor_name_alone(&descriptor, "@key", &memory, &request),
             true);
        SAME_TEXT(rows[i].entries, request.tenant, "shop");
        SAME_TEXT(rows[i].entries, sl_text(printed(&request)), rows[i].attributes);
    }
}

TEST(what_is_wrong_with_one_is_said)
{
    static struct sluice_attribute many[SL_DESCRIPTOR_ENTRIES_MAX + 1];
    for (size_t i = 0; i < COUNT(many); i++)
        many[i] = (struct sluice_attribute){ SL_TEXT("a"), SL_TEXT("x") };
    struct sluice_attribute nameless[] = { many[0], { SL_TEXT(""), SL_TEXT("x") } };
    const struct {
        struct sl_descriptor descriptor;
        const char *says;
    } rows[] = {
        { { SL_TEXT(""), many, 1 }, "`domain` is empty" },
        { { SL_TEXT("d"), many, 0 }, "no entries" },
        { { SL_TEXT("d"), nameless, 2 }, "empty key" },
        { { SL_TEXT("d"), many, SL_DESCRIPTOR_ENTRIES_MAX + 1 }, "more than 64 entries" },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_non_null(strstr(sl_descriptor_wrong(&rows[i].descriptor), rows[i].says));
    struct sl_descriptor most = { SL_TEXT("d"), many, SL_DESCRIPTOR_ENTRIES_MAX };
    struct sluice_request request = sluice_request();
    assert_null(sl_descriptor_wrong(&most));
    assert_true(sl_descriptor_name(&most, &memory, &request));
    SAME_TEXT("the last", request.others[SL_DESCRIPTOR_ENTRIES_MAX - 1].name, "a.64");
}

/* Its names are all that is made of it: the shape, and each key once more with its number. */
TEST(one_key_over_and_over_takes_no_more_memory_than_its_names)
{
    static char key[250];
    memset(key, 'k', sizeof key);
    for (size_t i = 0; i < SL_DESCRIPTOR_ENTRIES_MAX; i++)
        entries[i] = (struct sluice_attribute){ { key, sizeof key }, SL_TEXT("v") };
    struct sl_descriptor most = { SL_TEXT("d"), entries, SL_DESCRIPTOR_ENTRIES_MAX };
    struct sluice_request request = sluice_request();
    size_t before = memory.taken_bytes, said = most.count * sizeof key;
    assert_true(sl_descriptor_name(&most, &memory, &request));
    assert_true(memory.taken_bytes - before < 2 * said + most.count * 64);
}

TEST(units_are_as_long_as_they_are)
{
    static const int64_t seconds[] = { 0, 1, 60, 3600, 86400, 2592000, 31536000, 604800 };
    for (int32_t i = 0; i < (int32_t)COUNT(seconds); i++) {
        SAME("unit", sl_unit_us(i), seconds[i] * 1000000);
        SAME("back", sl_unit_of(seconds[i] * 1000000), i);
        SAME("one less", sl_unit_of(seconds[i] * 1000000 - 1), 0);
    }
    SAME("unknown", sl_unit_us(8), 0);
    SAME("unknown", sl_unit_us(-1), 0);
    SAME("no window", sl_unit_of(SLUICE_NONE), 0);
}

static int open_memory(void **unused)
{
    (void)unused;
    memory = sl_scratch(ROOM);
    return 0;
}

static int close_memory(void **unused)
{
    (void)unused;
    sl_scratch_release(&memory);
    return 0;
}

TESTS_WITH(open_memory, close_memory)
