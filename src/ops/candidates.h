/* candidates.h: a task with `best_of` brings its candidates, and its chooser, into the batch of its
 * request. Private to ops/. The rules are in engine/best_of.h. */
#pragma once

#include "ops/task_batch.h"

/* Members that exclude or require each other. */
int candidates_check(const struct submission *s, struct error *err);
/* How many submissions it adds to the batch. */
size_t candidates_count(const struct submission *s);
/* Number `i` of these, as a new object. */
json_t *candidates_make(const struct submission *s, size_t i);
/* The task itself runs nothing: what it waits for is what its candidates wait for. */
void candidates_hold_parent(struct submission *s);
/* After the batch was added. */
void candidates_added(const struct batch *batch);
