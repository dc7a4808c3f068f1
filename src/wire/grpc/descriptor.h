/* A descriptor of Envoy's rate limit service as a request: an ordered list of keys and values
 * becomes attributes that rules match and count by.
 *
 *   domain "shop", (method, GET), (path, /buy), (plan, free), (plan, trial), (cost, high)
 *   →  tenant shop, method GET, resource /buy; path /buy, plan free, plan.2 trial,
 *      descriptor.cost high, descriptor "method,path,plan,plan,cost"
 *
 * `descriptor` says which shape it is, so that a rule can mean that one alone. No name is given
 * twice, and none is one that means something else in a request. Pure. */
#ifndef SL_WIRE_GRPC_DESCRIPTOR_H
#define SL_WIRE_GRPC_DESCRIPTOR_H

#include "base/scratch.h"

enum { SL_DESCRIPTOR_ENTRIES_MAX = 64 };

struct sl_descriptor {
    struct sluice_text domain;
    const struct sluice_attribute *entries; /* their keys and values, in order */
    size_t count;
};

/* What is wrong with it, for its sender; NULL: nothing. */
const char *sl_descriptor_wrong(const struct sl_descriptor *descriptor);

/* Gives *out, which asks for nothing yet, the attributes of a descriptor that is not wrong. What
 * it points to is the descriptor's, or in `memory`. False: no memory. */
bool sl_descriptor_name(const struct sl_descriptor *descriptor, struct sl_scratch *memory,
                        struct sluice_request *out);

/* The same for one that brings its own limit: the first of its others is whom it counts, under the
 * name `key`: a text that no other entries have. The entries are there so that they can be compared
 * with what is known of the caller. */
bool sl_descriptor_name_alone(const struct sl_descriptor *descriptor, const char *key,
                              struct sl_scratch *memory, struct sluice_request *out);

/* Units of a limit by their numbers, which are Envoy's: 1 a second to 7 a week; a month is 30
 * days, a year 365. 0: there is no such unit. */
int64_t sl_unit_us(int32_t number);

/* The unit that is exactly so long; 0: none is. */
int32_t sl_unit_of(int64_t us);

#endif
