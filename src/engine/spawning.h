/* spawning.h: the children that a run leaves behind. Private to engine/. */
#pragma once

#include "engine/engine_internal.h"

/* The task as it was submitted is at hand. */
void spawning_launched(struct live_run *run, const char *spec, size_t size, bool spawns);
/* The store must be asked first: the end is told again when it has answered. */
bool spawning_must_wait(struct engine *e, struct live_run *run, const struct happening *end);
/* Would they be added? Asked before work is merged that another iteration is to mend, and after
 * spawning_must_wait; else the end has a sentence. */
enum outcome spawning_check(struct engine *e, const struct live_run *run, struct run_end *end);
/* The run has ended well. What comes of it when its children are added; else the end has a sentence. */
enum outcome spawning_children(struct engine *e, const struct live_run *run, struct run_end *end);
