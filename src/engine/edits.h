/* edits.h: changes of stored submissions. Call inside a turn. */
#pragma once

#include "engine/engine.h"

/* Rises with every edit and every attempt of a task. A client that edits a task sends the version
 * that it has read, and is refused if the task has another one. */
uint64_t engine_task_version(const struct engine *engine, task_id task);
/* For a request that reads a submission or a context and writes it back: how many were written until now, and
 * whether that of this task was written since then. May be true if it was not: read again. */
uint64_t engine_text_writes(const struct engine *engine);
bool engine_text_changed(const struct engine *engine, task_id task, uint64_t since);
/* It was written in this turn: the store still answers with the old one. */
bool engine_is_edited_now(const struct engine *engine, task_id task);

struct engine_edit {
    const char *title, *json; /* replace the stored ones */
    const char *const *members;
    size_t member_count; /* names of what has changed, for the event */
    const char *by;      /* or NULL */
};
void engine_edit_task(struct engine *engine, task_id task, const struct engine_edit *edit);
