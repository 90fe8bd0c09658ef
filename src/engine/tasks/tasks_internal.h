/* tasks_internal.h: projects, groups, blockers, deleted tasks, markers and artifacts, as other parts know them. Private to engine/. */
#pragma once

#include "base/id_map.h"
#include "engine/engine_internal.h"

/* --- projects ------------------------------------------------------------------------------------- */

/* After a start or a new configuration: which projects have lost their section, which have one again? */
int projects_settle(struct engine *e, struct error *err);

/* --- blocked -------------------------------------------------------------------------------------- */

/* A task came, or was scheduled: tells what it waits for, if anything. */
void blocked_added(struct engine *e, task_id task);
/* What it waits for, as a number; then its dependencies were changed. */
uint64_t blocked_digest(struct engine *e, task_id task);
void blocked_rewired(struct engine *e, task_id task, uint64_t before);
/* An order that the core gave, with those behind it. The first that finishes a task (or makes it unfinished)
 * tells all tasks that are concerned by any of them, before their own orders. True: it was that one.
 * `told`: there was one before, in this turn. */
bool blocked_on_order(struct engine *e, const struct order *orders, size_t count, bool told);

/* --- groups --------------------------------------------------------------------------------------- */

void group_from_row(struct engine *e, const struct group_row *row);
/* A task of it is no more: it goes with the last one. 0: of none. */
void group_left(struct engine *e, uint32_t id);
void groups_on_order(struct engine *e, const struct order *order);

/* --- gone ----------------------------------------------------------------------------------------- */

/* In the turn: this task is no more, once the turn is committed. */
void gone_note(struct engine *e, const char *id);

/* --- watch ---------------------------------------------------------------------------------------- */

/* Files that somebody waits for.
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

/* --- artifacts ----------------------------------------------------------------------------- */

/* Is the artifact of a task that comes there? `parent`: its number, or 0. */
bool artifact_is_there(const struct engine *e, const char *artifact, task_id parent);
/* From now on it is looked for. */
void artifact_want(struct engine *e, task_id task, const char *artifact, task_id parent);
void artifact_forget(struct engine *e, task_id task); /* the task is gone */

/* A task that waits for an artifact. It is in one list: of a folder that is watched, of its parent that is
 * not done yet, or in none and looked for once a minute. */
struct wanted {
    task_id task, parent; /* parent: of an artifact below its folder; else 0 */
    char *artifact;       /* as it was told */
    uint32_t spot;        /* the folder that is watched; 0: none */
    uint32_t name;        /* hash of the name that is missing in it */
    uint32_t next, previous;
    uint32_t position; /* in watch.all */
    bool waits_for_parent, seen;
};

/* A folder that is watched. */
struct spot {
    int wd;
    char *path;
    uint32_t first; /* of those who wait for something in it */
};

/* Children of one task that wait until it is done. */
struct brood {
    task_id parent;
    uint32_t first;
};

struct watch {
    int fd; /* of inotify; -1: there is none */
    struct loop_watch *ready;
    int done_wd; /* HOME/done; -1: not watched */
    bool scan;   /* look at every marker that is there */
    LIST(task_id) marked;

    struct slab wanted, spots, broods;
    struct id_map by_task, by_wd, by_parent;
    LIST(uint32_t) all;   /* every struct wanted */
    LIST(task_id) found;  /* their artifacts were seen */
    LIST(task_id) slow;   /* nobody would tell us of theirs */
    LIST(task_id) unread; /* from the store: their artifacts are not known yet */
    size_t read;          /* so many of these are */
    bool asking;
    uint32_t generation; /* of the core */
    time_ms look_at;
};

static inline struct watch *watch_of(const struct engine *e) {
    return e->part[PART_watch];
}
