/* gone_internal.h: what tasks that are no more have left on disk. Private to engine/. */
#pragma once

#include "engine/engine_internal.h"

/* In the turn: this task is no more, once the turn is committed. */
void gone_note(struct engine *e, const char *id);
