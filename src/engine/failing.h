/* failing.h: a store that refuses commits, and what that costs. Part of engine.h, for ops/.
 *
 * Each refused commit costs a new core, built from all rows: 2 s with a million tasks, in which nobody is served. So
 * when that takes long, requests that write are refused until the store is tried again, which is not more often than a
 * tenth of the time (turn.c). What runs have told is kept meanwhile, and those who only look are served. */
#pragma once

#include "engine/engine.h"

/* True: whoever writes now is told `ret_why`, as if his commit had been refused. */
bool engine_is_failing(const struct engine *engine, struct error *ret_why);
