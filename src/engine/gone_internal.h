/* gone_internal.h: what tasks that are no more have left on disk. Private to engine/. */
#pragma once

#include "engine/engine_internal.h"

/* In the turn: this task is no more, once the turn is committed. */
void gone_note(struct engine *e, const char *id);
/* Puts their ids into the batch, or takes those out whose folders have gone since. */
void gone_write(struct engine *e);
/* It is committed: the folders go. Or it was not. */
void gone_stored(struct engine *e);
void gone_undone(struct engine *e);
/* A note of the store; those of others are left alone. */
void gone_load(struct engine *e, const struct note_row *row);
/* At the start, when the runs were looked at: those of the daemon before, if it came not so far. */
void gone_start(struct engine *e);
void gone_free(struct engine *e);
