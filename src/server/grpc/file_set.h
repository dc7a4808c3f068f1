/* What is inside a FileDescriptorSet: files by their names, or by a name that they define. It is
 * walked at every question, for there are few and it is short. */
#ifndef SL_SERVER_GRPC_FILE_SET_H
#define SL_SERVER_GRPC_FILE_SET_H

#include "base/text.h"

/* The FileDescriptorProto of the file with that name; false: there is none. */
bool sl_file_named(struct sluice_text set, struct sluice_text name, struct sluice_text *out);

/* The same of the file in which a service, method, message or enum with that full name is. */
bool sl_file_defining(struct sluice_text set, struct sluice_text symbol, struct sluice_text *out);

/* The full name of the next service, in `room` bytes of `name`. *place is 0 at first. False: there
 * are no more, or it is longer. */
bool sl_file_set_service(struct sluice_text set, size_t *place, char *name, size_t room);

#endif
