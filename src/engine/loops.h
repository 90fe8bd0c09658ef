/* loops.h: what lies between two iterations of a task, and what its runs leave for others.
 *
 * Part of engine.h, which see; all of it is called inside a turn. */
#pragma once

#include "engine/engine.h"

/* The artifact that the task waits for, with its whole path. False: for none. */
bool engine_artifact(const struct engine *engine, task_id task, struct strbuf *out);
/* The folder of one iteration; 0: of all of them. */
void engine_iteration_folder(const struct engine *engine, task_id task, uint32_t iteration,
                             struct strbuf *out);

/* How many runs in a row have ended quickly, and another attempt has followed or will (agents/runaway.c). */
uint32_t engine_quick_ends(const struct engine *engine, task_id task);

/* What is wrong with the last iteration of a task that was just told to begin another one: for that one.
 * NULL: nothing. */
void engine_give_feedback(struct engine *engine, task_id task, const char *reason);

/* Who adds the tasks of a spawn file: called in the turn in which the run of `task` has ended well, before
 * that is told. The same commit holds the end and the children. <0: the file is wrong; then it must not
 * have told anything, and the run has failed. Else how many were added. */
struct engine_spawn {
    task_id task;
    const char *spec;   /* as it was submitted, JSON */
    const char *path;   /* of the file, absolute; */
    const char *shown;  /* as the task calls it */
    const char *folder; /* where relative paths in it begin */
    bool check_only;    /* is the file good? Nothing is added; also outside of a turn */
};
typedef int (*engine_spawn_tasks)(void *ctx, struct engine *engine,
                                  const struct engine_spawn *spawn, struct error *err);
void engine_set_spawner(struct engine *engine, engine_spawn_tasks spawn, void *ctx);

/* Told of each task that is no more, after its commit; again at the next start if the daemon dies
 * meanwhile. Set before engine_start. */
typedef void (*engine_forgotten)(void *ctx, const char *project, const char *id);
void engine_set_forgotten(struct engine *engine, engine_forgotten forgotten, void *ctx);
