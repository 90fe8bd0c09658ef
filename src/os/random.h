/* random.h: unpredictable bytes from the kernel. */
#pragma once

#include <stddef.h>

/* Always fills the buffer. Blocks only shortly after boot, until the kernel has entropy. */
void random_bytes(void *ret_bytes, size_t size);
