/* allowance.h: tokens that a task may use, and how many of them it may still hand to its children.
 *
 * A task has an allowance when somebody gave it one (`tokens`), or when it was asked for children and
 * capability.tokens bounds that. What a child gets is taken from its parent in the same commit, so that no tree
 * has more than its top was given. What its ended runs have used is taken off, too. A run that reports more
 * than is left of it is canceled, once.
 *
 * Kept as notes of the store, one for each; inside a turn. */
#pragma once

#include <stdint.h>

#include "core/model.h"

struct engine;
struct live_run;
struct note_row;

#define ALLOWANCE_NONE INT64_C(-1) /* it has none: it may use what it likes */

/* What is left of it. */
int64_t engine_tokens_left(const struct engine *engine, task_id task);
/* For its own runs and those of its children. */
void engine_give_tokens(struct engine *engine, task_id task, int64_t tokens);
/* Of a task that a person has added, on the first time: to hand out, not for its own runs. */
void engine_lend_tokens(struct engine *engine, task_id task, int64_t tokens);
/* At most as many as are left. */
void engine_take_tokens(struct engine *engine, task_id task, int64_t tokens);

/* --- inside the engine ----------------------------------------------------------------------- */

void allowance_load(struct engine *e, const struct note_row *row);
void allowance_free(struct engine *e);
/* A live run has reported so many in all; it is canceled when that is too much. */
void allowance_reported(struct engine *e, const struct live_run *run, int64_t tokens);
/* A run has ended. */
void allowance_used(struct engine *e, task_id task, int64_t tokens);
void allowance_forget(struct engine *e, task_id task);
