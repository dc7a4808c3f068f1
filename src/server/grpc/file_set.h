/* Looking up a file in a FileDescriptorSet, by its name or by a name that it defines. Every look-up
 * walks the set, which is short. */
#ifndef SL_SERVER_GRPC_FILE_SET_H
#define SL_SERVER_GRPC_FILE_SET_H

#include "base/text.h"

/* The FileDescriptorProto of the file with that name. Returns false if there is none. */
bool sl_file_named(struct sluice_text set, struct sluice_text name, struct sluice_text *out);

/* The same for the file that defines a service, method, message or enum with that full name. */
bool sl_file_defining(struct sluice_text set, struct sluice_text symbol, struct sluice_text *out);

/* The full name of the next service, in `room` bytes of `name`. *place is 0 at first. Returns false
 * if there are no more, or if the name is longer. */
bool sl_file_set_service(struct sluice_text set, size_t *place, char *name, size_t room);

#endif
