/* care_internal.h: when the store does its own work. Private to engine/. */
#pragma once

#include "engine/engine_internal.h"

/* After a commit: lets the store do its own work, soon if there is much, when it is quiet if not. */
void care_after_commit(struct engine *e);
void care_due(void *ctx);
