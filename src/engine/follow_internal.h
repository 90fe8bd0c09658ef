/* follow_internal.h: the followers, as the turn knows them. Private to engine/. */
#pragma once

#include "engine/engine_internal.h"

/* A note of the store; those of others are left alone. */
void follow_load(struct engine *e, const struct note_row *row);
/* Everything is loaded: new followers begin behind the last event. */
void follow_loaded(struct engine *e);
/* An event that is committed. */
void follow_publish(struct engine *e, const struct event_row *event);
/* Hands the next ones to those that are behind. */
void follow_some(struct engine *e);
/* Is there a cursor for which it is worth making a commit? */
bool follow_must_write(const struct engine *e);
/* Puts the cursors that may go along into the batch; then it was stored, or not. */
void follow_write(struct engine *e);
void follow_stored(struct engine *e);
void follow_undone(struct engine *e);
void follow_free(struct engine *e);
