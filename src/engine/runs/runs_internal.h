/* runs_internal.h: live runs: how they begin and how they end. Private to engine/. */
#pragma once

#include "engine/agents.h"
#include "engine/engine_internal.h"

/* --- runs ----------------------------------------------------------------------------------------- */

struct live_run *run_find(const struct engine *e, task_id task);
size_t run_count(const struct engine *e);
struct live_run *run_live_at(const struct engine *e, size_t index);
struct live_run *run_add(struct engine *e, task_id task, uint32_t attempt);
void run_remove(struct engine *e, task_id task);
/* What the shim of a run was given; refused when it was changed since. */
int run_read_spec(const struct engine *e, const struct live_run *run, struct run_spec_read **ret,
                  struct error *err);

/* A start order that is committed. */
void launch_later(struct engine *e, task_id task);
/* Carries out a few of them, oldest first. */
void launch_stop(struct engine *e, const struct order *order);
/* From now on its command must be seen to run within the time of the configuration. */
void launch_set_deadline(struct engine *e, struct live_run *run);
/* The marker file of a task with until: done. */
void launch_marker_path(const struct engine *e, task_id task, struct strbuf *out);
void launch_remove_marker(const struct engine *e, const char *id);

/* --- stopping.c ------------------------------------------------------------------------------ */

void stopping_told(struct engine *e, struct live_run *run);  /* its shim has the stop */
void stopping_heard(struct engine *e, struct live_run *run); /* its command runs, or never will */
/* True: this request is answered later. */
bool stopping_holds(struct engine *e, struct engine_request *request);
bool stopping_drop(struct engine *e, struct engine_request *request); /* false: it is not held */

/* --- finish.c -------------------------------------------------------------------------------- */

extern const struct executor_events finish_events;
/* Tells the core what happened. */
void finish_tell_happened(struct engine *e);
/* As if the executor had told it: an end for which nothing ran. */
void finish_note_end(struct engine *e, const struct live_run *run, enum run_end_kind kind,
                     const struct error *why);
/* What came of the work of a run whose end was withheld (git_internal.h). */
struct finish_note {
    const enum outcome *outcome; /* NULL: as the end says */
    const char *text;
    bool is_empty; /* its task has changed no file */
};
void finish_note_outcome(struct engine *e, struct run_key run, const struct run_end *end,
                         const struct finish_note *note);
void finish_note_validating(struct engine *e, struct run_key run);
/* The executor has told it, or would have told it now if the store had not been asked something first. */
void finish_take_end(struct engine *e, struct run_key run, const struct run_end *end);
/* The same, when everything that its agent has printed was read. */
void finish_hear_end(struct engine *e, struct run_key run, const struct run_end *end);
/* What the end of a run means for its task. `ret_bad_file`: all was well but its spawn file; `end` says what
 * is wrong with that. */
enum outcome finish_outcome(struct engine *e, const struct live_run *run, struct run_end *end,
                            bool *ret_bad_file);
/* Inside a turn: this end is on record with it. `run` is gone. */
void finish_end_now(struct engine *e, struct live_run *run, const struct run_end *end);
/* The end of an attempt that others have followed: on record, and nothing comes of it. */
void finish_record_end(struct engine *e, const struct live_run *run, struct run_end *end);

/* --- agents.c -------------------------------------------------------------------------------- */

void agents_know_all(struct engine *e); /* those that the configuration names */
int agents_check(const struct engine *e,
                 struct error *err); /* those that take over can be told a prompt */
/* A new configuration: those that the old one knew. */
void agents_stay_known(struct engine *e, const struct config *old);

/* --- spawning ------------------------------------------------------------------------------------- */

/* The task as it was submitted is at hand. */
void spawning_launched(struct live_run *run, const char *spec, size_t size, bool spawns);
/* The store must be asked first: the end is told again when it has answered. */
bool spawning_must_wait(struct engine *e, struct live_run *run, const struct happening *end);
/* Would they be added? Asked before work is merged that another iteration is to mend, and after
 * spawning_must_wait; else the end has a sentence. */
enum outcome spawning_check(struct engine *e, const struct live_run *run, struct run_end *end);
/* The run has ended well. What comes of it when its children are added; else the end has a sentence. */
enum outcome spawning_children(struct engine *e, const struct live_run *run, struct run_end *end);

/* --- stuck ---------------------------------------------------------------------------------------- */

/* True: its work tree is looked at first; finish_take_end follows. */
bool stuck_look(struct engine *e, struct run_key key, const struct run_end *end);
/* In the turn that tells the end: OUTCOME_STUCK, and `end` says so, when there were too many. */
enum outcome stuck_judge(struct engine *e, const struct live_run *run, struct run_end *end,
                         enum outcome outcome);
void stuck_drop_over(struct engine *e); /* those whose end is committed */

/* --- iteration ------------------------------------------------------------------------------------ */

/* What one iteration of a task is told and leaves behind.
 *
 *   HOME/tasks/<id>/iterations/<NNN>/prompt.md     what the agent was told
 *                                    feedback.md   what it was told about the iteration before; or nothing
 *                                    artifacts/    what it leaves for others
 *                                    diff.json     what it changed (workspace/diff_record.h); in a worktree
 *
 * Made at the launch; made again, it changes nothing. They go with the task. */

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
