/* The user id sha256(email_ip): a digest of a request's email and address. */
#include "auth/user_id.h"

#include "rules/index.h"

bool sl_user_id_apply(struct sl_sha256 *hasher, struct sluice_request *request,
                      char room[SL_DIGEST_HEX + 1])
{
    static const struct sl_part email_part = { SL_ATTR_OTHER, { "email", 5 } };
    struct sluice_text email = sl_attribute_of(request, &email_part), ip = request->ip;
    char canonical[SL_ADDRESS_PRINT_MAX];
    struct sl_address address;
    struct sl_digest digest;
    if (sl_text_missing(email) || sl_text_missing(ip))
        return false;
    if (sl_address_parse(ip, &address))
        ip = (struct sluice_text){ canonical, sl_address_print(&address, canonical) };
    sl_sha256_of_pair(hasher, email, ip, &digest);
    sl_digest_print(&digest, room);
    request->user = (struct sluice_text){ room, SL_DIGEST_HEX };
    return true;
}
