/* runs_internal.h: the runs that live: how they begin and how they end. Private to engine/.
 *
 * Part of engine_internal.h, which includes it. */
#pragma once

#include "engine/agents.h"
#include "engine/engine_internal.h"

/* --- runs.c: live runs ----------------------------------------------------------------------- */

struct live_run *run_find(const struct engine *e, task_id task);
size_t run_count(const struct engine *e);
struct live_run *run_live_at(const struct engine *e, size_t index);
struct live_run *run_add(struct engine *e, task_id task, uint32_t attempt);
void run_remove(struct engine *e, task_id task);
/* What the shim of a run was given; refused when it was changed since. */
int run_read_spec(const struct engine *e, const struct live_run *run, struct run_spec_read **ret,
                  struct error *err);

/* --- launch.c -------------------------------------------------------------------------------- */

/* --- launch_order.c -------------------------------------------------------------------------- */

/* A start order that is committed. */
void launch_later(struct engine *e, task_id task);
/* Carries out a few of them, oldest first. */
void launch_stop(struct engine *e, const struct order *order);
/* launch_deadline.c: from now on its command must be seen to run within the time of the configuration. */
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
/* What came of the work of a run whose end was withheld (workspace.h). */
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
