/* tally_internal.h: the tally's place in the engine. Private to engine/. */
#pragma once

#include "engine/tally.h"

/* A run has ended in this turn; counted by tally_settle, or never. */
void tally_note(struct engine *e, const struct spent_row *spent, enum outcome outcome);
void tally_turn(struct engine *e, int64_t took_us);
