/* loops.h: iterations of a task, and what its runs leave for others. Call inside a turn. */
#pragma once

#include "engine/engine.h"

/* The full path of the artifact that the task waits for. False: none. */
bool engine_artifact(const struct engine *engine, task_id task, struct strbuf *out);
/* The folder of one iteration; 0: the parent of all of them. */
void engine_iteration_folder(const struct engine *engine, task_id task, uint32_t iteration,
                             struct strbuf *out);

/* How many quick ends in a row another attempt has followed or will (agents/runaway.c). */
uint32_t engine_quick_ends(const struct engine *engine, task_id task);

/* What is wrong with the last iteration of a task that was just ordered to begin another, as
 * feedback for the next one. NULL: nothing. */
void engine_give_feedback(struct engine *engine, task_id task, const char *reason);

/* Adds the tasks of a spawn file. Called in the turn in which the run of `task` succeeded, before
 * its end is applied; the end and the children share one commit. <0: the file is invalid; then it
 * must not have applied anything, and the run failed. Else how many were added. */
struct engine_spawn {
    task_id task;
    const char *spec;   /* as submitted, JSON */
    const char *path;   /* absolute */
    const char *shown;  /* as the task writes it */
    const char *folder; /* base of relative paths in it */
    bool check_only;    /* validate only and add nothing; also outside of a turn */
};
typedef int (*engine_spawn_tasks)(void *ctx, struct engine *engine,
                                  const struct engine_spawn *spawn, struct error *err);
void engine_set_spawner(struct engine *engine, engine_spawn_tasks spawn, void *ctx);

/* Called for each deleted task after its commit; again at the next start if the daemon dies
 * meanwhile. Set before engine_start. */
typedef void (*engine_forgotten)(void *ctx, const char *project, const char *id);
void engine_set_forgotten(struct engine *engine, engine_forgotten forgotten, void *ctx);
