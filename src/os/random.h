/* random.h: unpredictable bytes from the kernel. */
#pragma once

#include <stddef.h>

/* Always fills all of it. Waits only in the first seconds of a machine that has nothing to draw
 * from. */
void random_bytes(void *ret_bytes, size_t size);
