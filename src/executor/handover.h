/* handover.h: what a shim gets through a descriptor, and no file ever has. Private to executor/. */
#pragma once

#include "base/error.h"

/* A file without a name that holds the secrets of a run, each with a NUL behind it; the caller closes it.
 * *ret_fd is -1 when there are none. */
int handover_secrets(const char *const *secrets, int *ret_fd, struct error *err);
