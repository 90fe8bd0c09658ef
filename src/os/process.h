/* process.h: other processes of this machine. */
#pragma once

#include <stdbool.h>

/* It does not exist, or is a zombie, which only waits to be collected. */
bool process_has_ended(long pid);
