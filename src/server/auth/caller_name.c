/* Writing a caller's attributes into the request: sl_caller_name. */
#include "auth/user_id.h"
#include "server/auth/caller.h"
#include "server/conn.h"
#include "server/worker.h"

static bool refuse_contradiction(struct sl_message *message, uint32_t status, const char *detail)
{
    sl_message_refuse(message, status, detail);
    return false;
}

struct sluice_text *sl_request_field(struct sluice_request *request, enum sl_attribute attribute)
{
    switch (attribute) {
    case SL_ATTR_TENANT:
        return &request->tenant;
    case SL_ATTR_RESOURCE:
        return &request->resource;
    case SL_ATTR_METHOD:
        return &request->method;
    case SL_ATTR_USER:
        return &request->user;
    case SL_ATTR_IP:
        return &request->ip;
    case SL_ATTR_CLIENT:
        return &request->client;
    case SL_ATTR_TIER:
        return &request->tier;
    default:
        return NULL;
    }
}

/* Where the value of this attribute is stored; `others` has room for one more. */
static struct sluice_text *place_of(struct sluice_request *request, struct sluice_attribute *others,
                                    const struct sl_part *part)
{
    struct sluice_text *field = sl_request_field(request, part->attribute);
    if (field)
        return field;
    for (size_t i = 0; i < request->other_count; i++)
        if (sl_text_equal(others[i].name, part->name))
            return &others[i].value;
    others[request->other_count] = (struct sluice_attribute){ .name = part->name };
    return &others[request->other_count++].value;
}

static bool set_attribute(struct sluice_text *place, struct sluice_text value, bool is_said)
{
    if (is_said && !sl_text_missing(*place) && !sl_text_equal(*place, value))
        return false;
    *place = value;
    return true;
}

static bool name_by_token(const struct sl_caller *caller, struct sluice_request *request,
                          struct sluice_attribute *others, bool is_said)
{
    const struct sl_claim_map *maps = caller->mapping->jwt.claims;
    size_t count = caller->has_token ? caller->mapping->jwt.claim_count : 0;
    for (size_t i = 0; i < count; i++) {
        struct sluice_text value = caller->token.values[i];
        struct sluice_text *place = place_of(request, others, &maps[i].attribute);
        if (value.at ? !set_attribute(place, value, is_said) : is_said && !sl_text_missing(*place))
            return false; /* a claim that the token does not have cannot be added by the request */
    }
    return !caller->has_token || !is_said || request->trust_thousandths == SLUICE_NO_TRUST;
}

/* Only the operator sets a tenant's tier and trust. */
static bool oversteps(const struct sl_key_owner *owner, const struct sluice_request *said)
{
    bool chooses_tier = !owner->tier.at && !sl_text_missing(said->tier);
    return chooses_tier || said->trust_thousandths != SLUICE_NO_TRUST;
}

/* A tenant's key is good for this tenant alone. */
static bool name_by_key(const struct sl_caller *caller, struct sluice_request *request,
                        struct sluice_attribute *others, bool is_said)
{
    static const struct sl_part api_key = { SL_ATTR_OTHER, SL_TEXT("api_key") };
    const struct sl_key_owner *owner = caller->owner;
    struct sluice_text *place = place_of(request, others, &api_key);
    if (!set_attribute(place, caller->api_key, is_said && owner))
        return false;
    if (!owner)
        return true;
    return set_attribute(&request->tenant, owner->tenant, is_said || caller->has_token) &&
           (!owner->tier.at || set_attribute(&request->tier, owner->tier, is_said));
}

static const char contradiction[] =
    "The request contradicts its credentials: a token's claims and an API key's tenant and tier "
    "cannot "
    "be changed or added to, and neither goes with a `trust_score`. Leave them out.";

static bool is_signed(const struct sl_caller *caller, const char *attribute)
{
    const struct sl_identity *mapping = caller->mapping;
    for (size_t i = 0; caller->has_token && i < mapping->jwt.claim_count; i++)
        if (sl_text_is(mapping->jwt.claims[i].attribute.name, attribute))
            return caller->token.values[i].at;
    return false;
}

/* Makes the id of `identity.user_id`; an email that is only said does not replace a signed id. */
static bool make_user_id(const struct sl_caller *caller, struct sl_message *message,
                         struct sluice_request *request)
{
    if (!message->round->settings->identity.user_id_sha256_email_ip ||
        (is_signed(caller, "user") && !is_signed(caller, "email")))
        return true;
    char *room = sl_round_take(message->round, SL_DIGEST_HEX + 1);
    if (!room)
        return refuse_contradiction(message, 500, NULL);
    sl_user_id_apply(message->conn->worker->hasher, request, room);
    return true;
}

bool sl_caller_name(const struct sl_caller *caller, struct sl_message *message,
                    struct sluice_request *request, bool is_said)
{
    if (caller->is_anybody)
        return make_user_id(caller, message, request);
    size_t room = request->other_count + caller->token.count + 1;
    struct sluice_attribute *others = sl_round_take(message->round, room * sizeof *others);
    if (!others)
        return refuse_contradiction(message, 500, NULL);
    if (request->other_count)
        memcpy(others, request->others, request->other_count * sizeof *others);
    request->others = others;
    if (caller->owner && !is_said) /* set by a header, which a key overrules */
        request->tenant = (struct sluice_text){ 0 };
    if ((caller->owner && is_said && oversteps(caller->owner, request)) ||
        !name_by_token(caller, request, others, is_said) ||
        (caller->api_key.at && !name_by_key(caller, request, others, is_said)))
        return refuse_contradiction(message, 403, contradiction);
    return make_user_id(caller, message, request);
}
