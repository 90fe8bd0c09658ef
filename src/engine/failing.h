/* failing.h: a store that refuses commits. Part of engine.h, for ops/.
 *
 * Each refused commit costs a rebuild of the core from all rows: 2 s with a million tasks, in which
 * no client is served. If rebuilding is slow, writing requests are refused until the store is
 * retried, which takes at most a tenth of the time (turn.c). Meanwhile reports of runs are kept,
 * and read-only requests are served. */
#pragma once

#include "engine/engine.h"

/* True: writing requests fail with `ret_why`, as if their commit had been refused. */
bool engine_is_failing(const struct engine *engine, struct error *ret_why);
