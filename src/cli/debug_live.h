/* debug_live.h: the candidates of the daemon's queue, as `debug scheduler` lists them. */
#pragma once

#include "cli/cmd.h"

int debug_live_run(const struct cmd_call *call);

/* Two or three words for a gate's code ("project-budget"), or the code itself: the column is
 * narrow, and `sluice why` has the sentence. */
const char *debug_short_reason(const char *gate);
