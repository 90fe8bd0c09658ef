/* runs_internal.h: live runs, their start and their end. Private to engine/. */
#pragma once

#include "engine/agents.h"
#include "engine/engine_internal.h"

/* --- runs ------------------------------------------------------------------------------------- */

struct live_run *run_find(const struct engine *e, task_id task);
size_t run_count(const struct engine *e);
struct live_run *run_live_at(const struct engine *e, size_t index);
struct live_run *run_add(struct engine *e, task_id task, uint32_t attempt);
void run_remove(struct engine *e, task_id task);
/* The spec that the shim got; refused if it was changed since. */
int run_read_spec(const struct engine *e, const struct live_run *run, struct run_spec_read **ret,
                  struct error *err);

/* A start order that is committed. */
void launch_later(struct engine *e, task_id task);
void launch_stop(struct engine *e, const struct order *order);
/* Its command must be seen to run within the configured time from now on. */
void launch_set_deadline(struct engine *e, struct live_run *run);
/* The marker file of a task with until: done. */
void launch_marker_path(const struct engine *e, task_id task, struct strbuf *out);
void launch_remove_marker(const struct engine *e, const char *id);

/* --- stopping.c ------------------------------------------------------------------------------ */

void stopping_told(struct engine *e, struct live_run *run);  /* its shim has the stop */
void stopping_heard(struct engine *e, struct live_run *run); /* its command runs, or never will */
/* True: this request is answered later. */
bool stopping_holds(struct engine *e, struct engine_request *request);
bool stopping_drop(struct engine *e, struct engine_request *request); /* false: not held */

/* --- finish.c -------------------------------------------------------------------------------- */

extern const struct executor_events finish_events;
/* Applies what happened to the core. */
void finish_tell_happened(struct engine *e);
/* As if reported by the executor: an end without a run. */
void finish_note_end(struct engine *e, const struct live_run *run, enum run_end_kind kind,
                     const struct error *why);
/* What became of the work of a run whose end was withheld (git_internal.h). */
struct finish_note {
    const enum outcome *outcome; /* NULL: by the end */
    const char *text;
    bool is_empty; /* its task changed no file */
};
void finish_note_outcome(struct engine *e, struct run_key run, const struct run_end *end,
                         const struct finish_note *note);
void finish_note_validating(struct engine *e, struct run_key run);
/* Reported by the executor, now or before the store had to be asked. */
void finish_take_end(struct engine *e, struct run_key run, const struct run_end *end);
/* The same, after all output of its agent was read. */
void finish_hear_end(struct engine *e, struct run_key run, const struct run_end *end);
/* What the end of a run means for its task. `ret_bad_file`: everything succeeded but its spawn
 * file; `end` has the message. */
enum outcome finish_outcome(struct engine *e, const struct live_run *run, struct run_end *end,
                            bool *ret_bad_file);
/* Inside a turn: records this end at once. Frees `run`. */
void finish_end_now(struct engine *e, struct live_run *run, const struct run_end *end);
/* Records the end of an attempt that others have followed; no other effect. */
void finish_record_end(struct engine *e, const struct live_run *run, struct run_end *end);

/* --- agents.c -------------------------------------------------------------------------------- */

void agents_know_all(struct engine *e); /* those that the configuration names */
int agents_check(const struct engine *e,
                 struct error *err); /* those that take over accept a prompt */
/* After a new configuration: keeps the agents of the old one. */
void agents_stay_known(struct engine *e, const struct config *old);

/* --- spawning --------------------------------------------------------------------------------- */

/* The task as submitted is known. */
void spawning_launched(struct live_run *run, const char *spec, size_t size, bool spawns);
/* The store must be asked first: the end is applied again when it has answered. */
bool spawning_must_wait(struct engine *e, struct live_run *run, const struct happening *end);
/* Whether the children could be added. Called before merging work that another iteration would have
 * to fix, and after spawning_must_wait; on failure `end` has the message. */
enum outcome spawning_check(struct engine *e, const struct live_run *run, struct run_end *end);
/* After success: the outcome once its children are added; on failure `end` has the message. */
enum outcome spawning_children(struct engine *e, const struct live_run *run, struct run_end *end);

/* --- stuck ------------------------------------------------------------------------------------ */

/* True: its work tree is examined first; finish_take_end follows. */
bool stuck_look(struct engine *e, struct run_key key, const struct run_end *end);
/* In the turn that applies the end: OUTCOME_STUCK, with a message in `end`, at the limit. */
enum outcome stuck_judge(struct engine *e, const struct live_run *run, struct run_end *end,
                         enum outcome outcome);
void stuck_drop_over(struct engine *e); /* those whose end is committed */

/* --- iteration -------------------------------------------------------------------------------- */

/* Files of one iteration of a task.
 *
 *   HOME/tasks/<id>/iterations/<NNN>/prompt.md     what the agent got
 *                                    feedback.md   about the previous iteration; optional
 *                                    artifacts/    what it leaves for others
 *                                    diff.json its changes (workspace/diff_record.h); in a worktree
 *
 * Created at the launch, idempotently. Deleted with the task. */

#define ITERATION_ARTIFACTS "artifacts"
#define ITERATION_FEEDBACK  "feedback.md"
#define ITERATION_PROMPT    "prompt.md"
#define ITERATION_OWN       "own" /* of the task: where a run in a sandbox puts its marker */

/* `name`: one of these, or NULL for the folder itself. */
void iteration_path(const struct engine *e, const char *id, uint32_t iteration, const char *name,
                    struct strbuf *out);

/* Creates the folders of this run's iteration. */
int iteration_prepare(struct engine *e, const char *id, uint32_t iteration, struct error *err);
bool iteration_has_feedback(const struct engine *e, const char *id, uint32_t iteration);
/* Appends the submitted prompt with the configured additions to `out`; also writes prompt.md. */
int iteration_prompt(const struct engine *e, const struct live_run *run, const char *prompt,
                     struct strbuf *out, struct error *err);
/* Where the run writes the tasks that shall follow it. */
void iteration_spawn_path(const struct engine *e, const char *id, uint32_t iteration,
                          const char *spawn, struct strbuf *out);
/* The task is finished: empty folders are deleted, or kept for another task. */
void iteration_tidy(struct engine *e, task_id task, uint32_t iteration);
/* A run has ended: deletes what retention.iterations does not keep of its task. */
void iterations_keep_newest(struct engine *e, const struct live_run *run);

/* The task was deleted: its folders go with its run folders. Call before executor_forget. */
void iteration_forget(const struct engine *e, const char *id);

/* --- feedback.c ------------------------------------------------------------------------------ */

/* The run has ended and another iteration follows: writes what was wrong. */
/* `of_check`: the message of the end without the agent's text. */
void feedback_write(struct engine *e, const struct live_run *run, const struct run_end *end,
                    const char *of_check, enum outcome outcome);
