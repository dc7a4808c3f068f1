/* Checking audit lines one after the other: numbers, hashes, order. */
#include "telemetry/audit/verify.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "base/check.h"
#include "telemetry/audit/audit.h"

void sl_verify_init(struct sl_verify *verify, struct sl_sha256 *hasher)
{
    *verify = (struct sl_verify){ .hasher = hasher };
    sl_chain_init(&verify->last);
}

size_t sl_verify_want(struct sl_verify *verify, const char hash[SL_DIGEST_HEX + 1])
{
    SL_CHECK(verify->wanted_count < SL_VERIFY_WANTED_MAX);
    memcpy(verify->wanted[verify->wanted_count].hash, hash, SL_DIGEST_HEX + 1);
    return verify->wanted_count++;
}

/* Returns true if events of that name are chained. */
static bool is_change(const char *name)
{
    for (size_t i = 0; name && i < SL_AUDIT_KIND_COUNT; i++)
        if (sl_audit_rows[i].sort == SL_AUDIT_CHANGE && strcmp(sl_audit_rows[i].name, name) == 0)
            return true;
    return false;
}

static const char *check_unchained(struct sl_verify *verify, const json_t *json)
{
    if (json_object_get(json, "chain"))
        return "its `chain` is not as it was written";
    if (is_change(json_string_value(json_object_get(json, "event"))))
        return "is a change that is not in the chain";
    verify->others++;
    return NULL;
}

/* Checks the line's number against that of the last one. */
static const char *check_number(struct sl_verify *verify, const struct sl_chain_link *link)
{
    uint64_t next = verify->last.n + 1;
    if (link->n == next)
        return NULL;
    if (link->n < next)
        snprintf(verify->wrong, sizeof verify->wrong,
                 "is n=%" PRIu64 " behind n=%" PRIu64 ": it was moved, or is there twice", link->n,
                 verify->last.n);
    else if (link->n == next + 1)
        snprintf(verify->wrong, sizeof verify->wrong, "n=%" PRIu64 " before it is missing", next);
    else
        snprintf(verify->wrong, sizeof verify->wrong,
                 "n=%" PRIu64 " to %" PRIu64 " before it are missing", next, link->n - 1);
    return verify->wrong;
}

static const char *check_place(struct sl_verify *verify, const struct sl_chain_link *link)
{
    bool is_first = verify->first == 0;
    if (is_first) {
        verify->first = link->n;
        if (link->n != 1)
            return NULL; /* lines before the first cannot be checked */
    }
    const char *wrong = check_number(verify, link);
    if (wrong || strcmp(link->prev, verify->last.hash) == 0)
        return wrong;
    return is_first ? "is the first, and its `prev` is not zeros"
                    : "its `prev` is not the hash of the line before it: one of them was replaced";
}

static const char *check_link(struct sl_verify *verify, struct sluice_text line,
                              const struct sl_chain_link *link)
{
    char hash[SL_DIGEST_HEX + 1];
    const char *wrong = check_place(verify, link);
    verify->chained++;
    verify->last.n = link->n;
    memcpy(verify->last.hash, link->hash, sizeof link->hash);
    for (size_t i = 0; i < verify->wanted_count; i++)
        verify->wanted[i].is_seen |= strcmp(verify->wanted[i].hash, link->hash) == 0;
    if (!sl_chain_hash(line, verify->hasher, hash))
        return "there is no memory to check it";
    return strcmp(hash, link->hash) == 0 ? wrong : "was edited: its hash is not that of its text";
}

const char *sl_verify_line(struct sl_verify *verify, struct sluice_text line)
{
    struct sl_chain_link link;
    if (line.len == 0)
        return NULL;
    json_t *json = json_loadb(line.at, line.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    const char *wrong;
    if (!json_is_object(json))
        wrong = "is no JSON object";
    else if (sl_chain_read(line, &link))
        wrong = check_link(verify, line, &link);
    else
        wrong = check_unchained(verify, json);
    json_decref(json);
    return wrong;
}
