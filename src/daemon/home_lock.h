/* home_lock.h: one daemon per home. */
#pragma once

#include "base/error.h"
#include "os/home.h"

/* Locks the home for as long as the descriptor is open, which the kernel ends with the process. -EBUSY:
 * another process has it; the sentence names it. */
int home_lock(const struct home *home, int *ret_fd, struct error *err);
