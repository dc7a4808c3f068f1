/* A descriptor of Envoy's rate limit service as a request: an ordered list of keys and values
 * becomes attributes that rules match and count by.
 *
 *   domain "shop", (method, GET), (path, /buy), (plan, free), (plan, trial), (cost, high)
 *   →  tenant shop, method GET, resource /buy; path /buy, plan free, plan.2 trial,
 *      descriptor.cost high, descriptor "method,path,plan,plan,cost"
 *
 * `descriptor` names the descriptor's shape, so that a rule can match that shape alone. No name is
 * given twice, and no name of an entry clashes with one that has a meaning in a request. Pure. */
#ifndef SL_WIRE_GRPC_DESCRIPTOR_H
#define SL_WIRE_GRPC_DESCRIPTOR_H

#include "base/scratch.h"

enum { SL_DESCRIPTOR_ENTRIES_MAX = 64 };

struct sl_descriptor {
    struct sluice_text domain;
    const struct sluice_attribute *entries; /* their keys and values, in order */
    size_t count;
};

/* Returns what is wrong with the descriptor, in a sentence for its sender; NULL: nothing. */
const char *sl_descriptor_wrong(const struct sl_descriptor *descriptor);

/* Fills *out, a fresh request, with the attributes of a descriptor that is not wrong. *out points
 * into the descriptor and into `memory`. Returns false if there is no memory. */
bool sl_descriptor_name(const struct sl_descriptor *descriptor, struct sl_scratch *memory,
                        struct sluice_request *out);

/* The same for a descriptor that brings its own limit. The first of out->others, named `key`, is
 * the identifier: a text that differs for different entries. The entries follow, so that they can
 * be compared with what is known of the caller. */
bool sl_descriptor_name_alone(const struct sl_descriptor *descriptor, const char *key,
                              struct sl_scratch *memory, struct sluice_request *out);

/* Returns the length of a unit by Envoy's number for it: 1 is a second, 7 a week; a month has 30
 * days, a year 365. Returns 0 if there is no such unit. */
int64_t sl_unit_us(int32_t number);

/* Returns the number of the unit of exactly this length; 0: there is none. */
int32_t sl_unit_of(int64_t us);

#endif
