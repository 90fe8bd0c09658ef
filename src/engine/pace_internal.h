/* pace_internal.h: the pace as a note in the store. Private to engine/. */
#pragma once

#include "engine/engine_internal.h"

/* Accepts any note; applies it to the core if it is the pace. */
int pace_load(struct engine *e, const struct note_row *row, struct error *err);
