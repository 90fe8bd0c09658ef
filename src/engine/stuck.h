/* stuck.h: iterations that change nothing. Private to engine/. */
#pragma once

#include "engine/engine_internal.h"

/* True: its work tree is looked at first; finish_take_end follows. */
bool stuck_look(struct engine *e, struct run_key key, const struct run_end *end);
/* In the turn that tells the end: OUTCOME_STUCK, and `end` says so, when there were too many. */
enum outcome stuck_judge(struct engine *e, const struct live_run *run, struct run_end *end,
                         enum outcome outcome);
void stuck_drop_over(struct engine *e); /* those whose end is committed */
