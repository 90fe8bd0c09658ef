/* debug_outcome.h: `debug outcome`, what Sluice makes of an agent's output. */
#pragma once

#include "cli/cmd.h"

extern const struct cmd debug_outcome;
