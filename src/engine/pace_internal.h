/* pace_internal.h: the pace as a note in the store. Private to engine/. */
#pragma once

#include "engine/engine_internal.h"

/* For core_take_changes; `ctx` is the engine. */
void pace_write(void *ctx, const struct pace_spec *pace);
/* Any note; tells the core if it is this one. */
int pace_load(struct engine *e, const struct note_row *row, struct error *err);
