/* iteration.h: what one iteration of a task is told and leaves behind. Private to engine/.
 *
 *   HOME/tasks/<id>/iterations/<NNN>/prompt.md     what the agent was told
 *                                    feedback.md   what it was told about the iteration before; or nothing
 *                                    artifacts/    what it leaves for others
 *                                    diff.json     what it changed (workspace/diff_record.h); in a worktree
 *
 * Made at the launch; made again, it changes nothing. They go with the task. */
#pragma once

#include "engine/engine_internal.h"

#define ITERATION_ARTIFACTS "artifacts"
#define ITERATION_FEEDBACK  "feedback.md"
#define ITERATION_PROMPT    "prompt.md"
#define ITERATION_OWN       "own" /* of the task: where a run in a sandbox puts its marker */

/* `name`: one of these, or NULL for the folder itself. */
void iteration_path(const struct engine *e, const char *id, uint32_t iteration, const char *name,
                    struct strbuf *out);

/* The folders of this run's iteration. */
int iteration_prepare(struct engine *e, const char *id, uint32_t iteration, struct error *err);
bool iteration_has_feedback(const struct engine *e, const char *id, uint32_t iteration);
/* The submitted prompt with what the configuration puts around it, behind `out`; also in prompt.md. */
int iteration_prompt(const struct engine *e, const struct live_run *run, const char *prompt,
                     struct strbuf *out, struct error *err);
/* Where the run writes the tasks that shall follow it. */
void iteration_spawn_path(const struct engine *e, const char *id, uint32_t iteration,
                          const char *spawn, struct strbuf *out);
/* The task is finished: folders without anything in them go, or are kept for another task. */
void iteration_tidy(struct engine *e, task_id task, uint32_t iteration);
/* A run has ended: what retention.iterations does not keep of its task goes. */
void iterations_keep_newest(struct engine *e, const struct live_run *run);

/* The task is gone: its folders go with its run folders. Called before executor_forget. */
void iteration_forget(const struct engine *e, const char *id);

/* --- feedback.c ------------------------------------------------------------------------------ */

/* The run has ended and another iteration follows: what was wrong, for that one. */
/* `of_check`: the message of the end without the words of the agent. */
void feedback_write(struct engine *e, const struct live_run *run, const struct run_end *end,
                    const char *of_check, enum outcome outcome);
