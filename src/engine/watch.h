/* watch.h: files that somebody waits for. Private to engine/.
 *
 * Two kinds: the DONE markers, all in HOME/done, and the artifacts that tasks are made from. Folders are
 * watched, not tasks: one watch per folder, however many wait for something in it. Where the kernel
 * gives no watch, one look a minute takes its place, while somebody waits.
 *
 * An artifact is looked for until it is seen; then the gate stays open, whatever becomes of the file. One
 * below the parent's folder counts only when the parent is done, so it is looked for from then on.
 *
 * Life:  watch_new → watch_loading with each new core, watch_loaded_task for its tasks → watch_tell in each turn
 *        → watch_free. What was seen is told in the next turn; if that fails, the new core is told all
 *        over again. */
#pragma once

#include "engine/engine_internal.h"

/* It waits for an artifact; where that is, the store is asked for. */
void watch_loaded_task(struct engine *e, task_id task);

bool watch_has_work(const struct engine *e);
/* After a change of state: those who wait for what it leaves are looked at, and told of in the next turn. */
void watch_state_changed(struct engine *e, const struct order *order);

/* --- DONE markers ---------------------------------------------------------------------------- */

enum marker {
    MARKER_NONE,
    MARKER_FILE,
    MARKER_NO_FILE, /* a directory, a FIFO: the task is held until it is removed, and nothing is counted */
};
/* In a turn: holds a task that waits and whose marker is MARKER_NO_FILE, with an alert. It goes on by itself when
 * that is removed. A directory that appears between the decision and the launch is seen at the end of that run. */
void marker_hold(struct engine *e, task_id task);
struct alert;
bool marker_alert_is_over(const struct engine *e, const struct alert *alert);
/* After each fact that was applied: what is done again has no marker, what may start is looked at. */
void marker_see_fact(struct engine *e, const struct fact *fact);
/* Its marker was not a file when the daemon stopped. */
void watch_loaded_marker(struct engine *e, task_id task);
/* It may wait now: then its marker, if it is there, ends that in the next turn. */
void watch_note_marker(struct engine *e, task_id task);
enum marker marker_look(const struct engine *e, task_id task);
/* The sentence about MARKER_NO_FILE. */
int marker_complain(const struct engine *e, task_id task, struct error *err);

/* --- artifacts (artifact.c) ------------------------------------------------------------------ */

/* Is the artifact of a task that comes there? `parent`: its number, or 0. */
bool artifact_is_there(const struct engine *e, const char *artifact, task_id parent);
/* From now on it is looked for. */
void artifact_want(struct engine *e, task_id task, const char *artifact, task_id parent);
void artifact_forget(struct engine *e, task_id task); /* the task is gone */
